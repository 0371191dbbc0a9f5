//! In which coordinates a density is learned.

use ebbtide::target::{Placement, PlacementError};

use super::setting::Setting;
use super::value::{Mismatch, Value};

/// In which coordinates a density is learned.
///
/// ```
/// use ebbtide::target::Placement;
/// use ebbtide_run::settings::Placing;
///
/// let hand = Placing::At(Placement::new(vec![100.0, 0.0], vec![2.0, 1.0])?);
/// assert_eq!(hand.at().map(Placement::scale), Some(&[2.0, 1.0][..]));
/// let mut points = [0.0, 0.0, 1.0, -1.0];
/// hand.apply(&mut points);
/// assert_eq!(points, [100.0, 0.0, 102.0, -1.0]);
/// // A pilot has not found anything yet.
/// assert!(Placing::Pilot.at().is_none());
/// # Ok::<(), ebbtide::target::PlacementError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Placing {
    /// In its own.
    #[default]
    AsIs,
    /// In those that a pilot finds before the training begins.
    Pilot,
    /// In these.
    At(Placement),
}

/// What each is called.
const WAYS: &[(&str, Way)] = &[("none", Way::None), ("pilot", Way::Pilot), ("hand", Way::Hand)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    None,
    Pilot,
    Hand,
}

/// All settings that say it.
pub const KEYS: [&str; 4] = ["placement.by", "placement.location", "placement.scale", "placement.factor"];

/// Which of them.
pub(super) const BY: Setting = Setting::new(
    KEYS[0],
    "In which coordinates the density is learned: in its own (\"none\"), or in others, z with x = location + scale · F z, in which it is about 0 ± 1. A \"pilot\" looks for them \
         before the training begins (a run's own file has what it found), or they are given by \"hand\".",
    |s, v| {
        s.placing = match (v.choice(WAYS)?, std::mem::take(&mut s.placing)) {
            (Way::None, _) => Placing::AsIs,
            (Way::Pilot, _) => Placing::Pilot,
            (Way::Hand, at @ Placing::At(_)) => at,
            (Way::Hand, _) => Placing::At(Placement::identity(s.target.dim())),
        };
        Ok(())
    },
    |s| super::setting::name(WAYS, s.placing.way()),
);

/// Where, if by hand.
pub(super) const LOCATION: Setting = Setting::new(
    KEYS[1],
    "Where the density is: a number for each coordinate.",
    |s, v| {
        let dim = s.target.dim();
        s.placing.change(|at| {
            let moved = Placement::new(numbers(v, dim)?, at.scale().to_vec());
            Ok(moved.and_then(|moved| moved.with_factor(at.factor().to_vec())))
        })
    },
    |s| list(s.placing.at().map(Placement::location)),
)
.idle_if(not_by_hand);

/// How wide, if by hand.
pub(super) const SCALE: Setting = Setting::new(
    KEYS[2],
    "How wide it is: a number above 0 for each coordinate.",
    |s, v| {
        let dim = s.target.dim();
        s.placing.change(|at| {
            let scaled = Placement::new(at.location().to_vec(), numbers(v, dim)?);
            Ok(scaled.and_then(|scaled| scaled.with_factor(at.factor().to_vec())))
        })
    },
    |s| list(s.placing.at().map(Placement::scale)),
)
.idle_if(not_by_hand);

/// Which coordinates go together, if by hand.
pub(super) const FACTOR: Setting = Setting::new(
    KEYS[3],
    "F, by which coordinates go together: the lower triangle of the Cholesky factor of their correlations, by rows, the diagonal with it. [] if none goes with another.",
    |s, v| {
        s.placing.change(|at| {
            let factor = v.numbers().ok_or_else(|| Mismatch { wanted: "a list of numbers".to_owned(), nearest: None })?;
            Ok(at.clone().with_factor(factor))
        })
    },
    |s| list(s.placing.at().map(Placement::factor)),
)
.idle_if(not_by_hand);

fn not_by_hand(settings: &super::Settings) -> Option<&'static str> {
    settings.placing.at().is_none().then_some("placement.by is not \"hand\"")
}

/// What would have been a placement.
fn wanted(error: &PlacementError) -> String {
    match error {
        PlacementError::Factor { dim } => {
            format!("the {} numbers of a lower triangle, those on the diagonal above 0", dim * (dim + 1) / 2)
        }
        _ => "a list of finite numbers, scales above 0".to_owned(),
    }
}

/// A number for each coordinate.
fn numbers(value: &Value, dim: usize) -> Result<Vec<f64>, Mismatch> {
    let numbers = value.numbers();
    let found = numbers.as_ref().map_or(String::new(), |numbers| format!(", not of {}", numbers.len()));
    let plural = if dim == 1 { "" } else { "s" };
    let wanted = format!("a list of {dim} number{plural}, one for each coordinate{found}");
    numbers.filter(|numbers| numbers.len() == dim).ok_or(Mismatch { wanted, nearest: None })
}

fn list(numbers: Option<&[f64]>) -> String {
    format!("{:?}", numbers.unwrap_or_default())
}

impl Placing {
    /// The coordinates, where they are known.
    pub fn at(&self) -> Option<&Placement> {
        match self {
            Self::At(placement) => Some(placement),
            Self::AsIs | Self::Pilot => None,
        }
    }

    /// Points (n × dim by rows) from the coordinates that were learned to the density's own, in place.
    pub fn apply(&self, points: &mut [f32]) {
        if let Self::At(placement) = self {
            placement.apply(points);
        }
    }

    /// Changes coordinates that are given by hand; others are not there to be changed.
    fn change(
        &mut self,
        to: impl FnOnce(&Placement) -> Result<Result<Placement, PlacementError>, Mismatch>,
    ) -> Result<(), Mismatch> {
        if let Self::At(placement) = self {
            *placement =
                to(placement)?.map_err(|error| Mismatch { wanted: wanted(&error), nearest: None })?;
        }
        Ok(())
    }

    fn way(&self) -> Way {
        match self {
            Self::AsIs => Way::None,
            Self::Pilot => Way::Pilot,
            Self::At(_) => Way::Hand,
        }
    }
}
