//! A selection: which rows somebody means.

use ebbtide_run::settings::nearest;

use crate::figure::{FIGURES, SHOWN, Shows};
use crate::{Paper, Row};

/// What is asked for. Nothing means everything.
///
/// ```
/// use ebbtide_paper::{Paper, Selection, Unknown};
///
/// let paper = Paper::new();
/// let funnels = Selection { names: vec!["funnel".to_owned()], ..Selection::default() };
/// let short = Selection { steps: vec![5, 10], methods: vec!["tb-tb".to_owned()], ..funnels.clone() };
/// assert_eq!((funnels.rows(&paper)?.len(), short.rows(&paper)?.len()), (48, 4));
///
/// // A figure of samples needs the run itself, of one seed; a table is content with what was found of it.
/// let samples = Selection { names: vec!["figure-3".to_owned()], ..Selection::default() };
/// let row = samples.rows(&paper)?[0];
/// assert!(samples.shows_samples_of(row, 0) && !samples.shows_samples_of(row, 1));
/// assert!(!funnels.shows_samples_of(row, 0));
///
/// let wrong = Selection { targets: vec!["easy-funel".to_owned()], ..funnels };
/// let unknown: Unknown = wrong.rows(&paper).expect_err("there is no such target");
/// assert!(unknown.to_string().starts_with("funnel has no target `easy-funel`; did you mean `easy-funnel`?"));
/// # Ok::<(), Unknown>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Names of tables and figures.
    pub names: Vec<String>,
    /// Names of targets.
    pub targets: Vec<String>,
    /// Names of methods, or of rows of the ablation.
    pub methods: Vec<String>,
    /// Numbers of steps.
    pub steps: Vec<usize>,
}

/// A name that none of the rows has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place} no {what} `{given}`{}", help(.nearest, .known))]
pub struct Unknown {
    place: String,
    what: &'static str,
    given: String,
    nearest: Option<String>,
    known: Vec<String>,
}

fn help(nearest: &Option<String>, known: &[String]) -> String {
    let listed =
        if known.len() == 1 { format!("is {}", known[0]) } else { format!("are {}", known.join(", ")) };
    match nearest {
        Some(nearest) => format!("; did you mean `{nearest}`? There {listed}"),
        None => format!("; there {listed}"),
    }
}

/// What rows are told apart by: its name, which are wanted, and which a row has.
type Axis<'a> = (&'static str, &'a [String], fn(&Row) -> String);

impl Selection {
    /// The rows that are meant, in the order of the paper.
    pub fn rows<'a>(&self, paper: &'a Paper) -> Result<Vec<&'a Row>, Unknown> {
        let mut rows = self.named(paper)?;
        let place = match &self.names[..] {
            [] => "the paper has".to_owned(),
            names => format!("{} {}", names.join(" and "), if names.len() == 1 { "has" } else { "have" }),
        };
        let steps: Vec<String> = self.steps.iter().map(usize::to_string).collect();
        let axes: [Axis; 3] = [
            ("target", &self.targets, |row| row.target.to_string()),
            ("method", &self.methods, |row| row.label.to_owned()),
            ("number of steps", &steps, |row| row.steps.to_string()),
        ];
        for (what, wanted, of) in axes {
            let known = distinct(rows.iter().map(|row| of(row)));
            if let Some(given) = wanted.iter().find(|given| !known.contains(given)) {
                let near = nearest(given, known.iter().map(String::as_str)).map(str::to_owned);
                let (place, given) = (place.clone(), given.clone());
                return Err(Unknown { place, what, given, nearest: near, known });
            }
            rows.retain(|row| wanted.is_empty() || wanted.contains(&of(row)));
        }
        Ok(rows)
    }

    /// Whether a figure that is named shows samples of a row's run with this seed. Those are in the run's own folder: that the run was
    /// written down once is not enough.
    pub fn shows_samples_of(&self, row: &Row, seed: u64) -> bool {
        let shows = |name: &String| {
            let figure = FIGURES.iter().find(|figure| figure.name == *name);
            figure.is_some_and(|figure| matches!(figure.shows, Shows::Samples { .. }) && figure.has(row))
        };
        seed == SHOWN && self.names.iter().any(shows)
    }

    /// The rows of all tables and figures that are named.
    fn named<'a>(&self, paper: &'a Paper) -> Result<Vec<&'a Row>, Unknown> {
        let known: Vec<&str> = paper.names().collect();
        if let Some(given) = self.names.iter().find(|name| !known.contains(&name.as_str())) {
            return Err(Unknown {
                place: "the paper has".to_owned(),
                what: "table or figure",
                given: given.clone(),
                nearest: nearest(given, known.iter().copied()).map(str::to_owned),
                known: known.into_iter().map(str::to_owned).collect(),
            });
        }
        let has = |row: &Row, name: &str| {
            row.table == name || FIGURES.iter().any(|figure| figure.name == name && figure.has(row))
        };
        let is_meant = |row: &&Row| self.names.is_empty() || self.names.iter().any(|name| has(row, name));
        Ok(paper.rows().filter(is_meant).collect())
    }
}

/// Each once, in the order of their first appearance.
fn distinct(values: impl Iterator<Item = String>) -> Vec<String> {
    let mut distinct = Vec::new();
    for value in values {
        if !distinct.contains(&value) {
            distinct.push(value);
        }
    }
    distinct
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(names: &[&str], targets: &[&str], methods: &[&str], steps: &[usize]) -> Selection {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Selection {
            names: owned(names),
            targets: owned(targets),
            methods: owned(methods),
            steps: steps.to_vec(),
        }
    }

    #[test]
    fn rows_are_counted_as_the_paper_has_them() {
        let paper = Paper::new();
        let count = |selection: Selection| selection.rows(&paper).expect("rows").len();
        assert_eq!(count(Selection::default()), 344);
        assert_eq!(count(selection(&["funnel"], &["easy-funnel"], &["tb-tb"], &[5, 10])), 2);
        assert_eq!(count(selection(&["figure-1"], &[], &[], &[])), 24 + 24 + 32 + 32);
        assert_eq!(count(selection(&["figure-3"], &[], &[], &[])), 6);
        assert_eq!(count(selection(&["figure-3", "funnel"], &[], &[], &[])), 48);
        assert_eq!(count(selection(&["contours"], &[], &[], &[])), 0);
        assert_eq!(count(selection(&["ablation"], &[], &["replay-4"], &[])), 1);
    }

    #[test]
    fn what_there_is_not_is_answered_with_what_there_is() {
        let paper = Paper::new();
        let message = |selection: Selection| selection.rows(&paper).expect_err("unknown").to_string();
        assert_eq!(
            message(selection(&["funel"], &[], &[], &[])),
            "the paper has no table or figure `funel`; did you mean `funnel`? There are 125gmm, 25gmm, 40gmm, funnel, manywell, ablation, recommended, figure-1, figure-2, figure-3, contours"
        );
        assert_eq!(
            message(selection(&["funnel"], &[], &["pis-tlm"], &[])),
            "funnel has no method `pis-tlm`; did you mean `tb-tlm`? There are tb-fixed, tb-variance, tb-tlm, tb-tb"
        );
        assert_eq!(
            message(selection(&["manywell"], &[], &[], &[7])),
            "manywell has no number of steps `7`; there are 5, 10, 20"
        );
    }
}
