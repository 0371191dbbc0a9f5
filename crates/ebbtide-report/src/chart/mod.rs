//! Charts: scales, axes and marks, drawn as SVG.

mod colour;
mod draw;
mod legend;
mod mark;
mod paths;
mod scale;

pub use colour::Colour;
pub use ebbtide_run::number::number;
pub(crate) use mark::Point;
pub use mark::{Mark, Stroke, Symbol};
pub use scale::{Scale, Tick};

/// A chart: what it shows, in words and in marks.
///
/// ```
/// use ebbtide_report::chart::{Chart, Colour, Form, Mark, Scale, Tick, Tip};
///
/// let elbo = [(5.0, -0.42), (10.0, -0.17), (20.0, -0.06)];
/// let chart = Chart::new("elbo", Form::Broad, "ELBO over the number of steps.")
///     .alt("A line that rises from −0.42 to −0.06.")
///     .x("steps T", Scale::exact(0.0, 25.0))
///     .x_ticks(elbo.map(|(steps, _)| Tick { value: steps, label: format!("T{steps}") }).to_vec())
///     .y("ELBO", Scale::exact(-0.5, 0.1))
///     .mark(Mark::Level { at: 0.0, colour: Colour::TRUTH })
///     .named(Mark::line(elbo, Colour::BLUE), "tb-tlm")
///     .tips(elbo.map(|(steps, elbo)| Tip { x: steps, text: format!("{elbo} in {steps} steps") }));
///
/// let (file, page) = (chart.for_file(), chart.for_page());
/// for words in ["steps T", "T20", "tb-tlm", "A line that rises", Colour::BLUE.light] {
///     assert!(file.contains(words) && page.contains(words));
/// }
/// // There is no pointer over a file.
/// assert!(page.contains("-0.17 in 10 steps") && !file.contains("-0.17 in 10 steps"));
/// ```
#[derive(Clone, Debug)]
pub struct Chart {
    /// What it is called: the name of its file, and of its parts in a page.
    pub name: String,
    /// What stands beneath it.
    pub caption: String,
    /// What it shows, for those who cannot see it.
    pub alt: String,
    form: Form,
    x: Axis,
    y: Axis,
    marks: Vec<Mark>,
    legend: Vec<(Mark, String)>,
    tips: Vec<Tip>,
}

/// How large a chart is, and how much is said at its axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// For curves.
    Broad,
    /// For two coordinates of the same kind.
    Square,
    /// One of many: a few numbers beneath, no more.
    Small,
    /// One of a strip: nothing but what it shows.
    Stamp,
}

impl Form {
    /// Width and height, in pixels of a page that shows it as it is.
    pub(crate) fn size(self) -> (f64, f64) {
        match self {
            Form::Broad => (440.0, 280.0),
            Form::Square => (440.0, 440.0),
            Form::Small => (220.0, 150.0),
            Form::Stamp => (160.0, 160.0),
        }
    }
}

/// An axis.
#[derive(Clone, Debug)]
struct Axis {
    label: String,
    scale: Scale,
    /// Where ticks are wanted; none for round values.
    ticks: Vec<Tick>,
}

impl Axis {
    fn new(label: String, scale: Scale) -> Self {
        Self { label, scale, ticks: Vec::new() }
    }

    /// The ticks asked for, or about so many.
    fn ticks(&self, wanted: usize) -> Vec<Tick> {
        if self.ticks.is_empty() { self.scale.ticks(wanted) } else { self.ticks.clone() }
    }
}

/// What a pointer is told at a place of the x axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Tip {
    /// Where.
    pub x: f64,
    /// What, in lines.
    pub text: String,
}

impl Chart {
    /// An empty chart.
    pub fn new(name: impl Into<String>, form: Form, caption: impl Into<String>) -> Self {
        let axis = || Axis::new(String::new(), Scale::exact(0.0, 1.0));
        let caption = caption.into();
        Self {
            name: name.into(),
            alt: caption.clone(),
            caption,
            form,
            x: axis(),
            y: axis(),
            marks: Vec::new(),
            legend: Vec::new(),
            tips: Vec::new(),
        }
    }

    /// Says what it shows to those who cannot see it.
    pub fn alt(mut self, alt: impl Into<String>) -> Self {
        self.alt = alt.into();
        self
    }

    /// The horizontal axis.
    pub fn x(mut self, label: impl Into<String>, scale: Scale) -> Self {
        self.x = Axis::new(label.into(), scale);
        self
    }

    /// Ticks of the horizontal axis, instead of round values.
    pub fn x_ticks(mut self, ticks: Vec<Tick>) -> Self {
        self.x.ticks = ticks;
        self
    }

    /// The vertical axis.
    pub fn y(mut self, label: impl Into<String>, scale: Scale) -> Self {
        self.y = Axis::new(label.into(), scale);
        self
    }

    /// Puts a mark over those there are.
    pub fn mark(mut self, mark: Mark) -> Self {
        self.marks.push(mark);
        self
    }

    /// Puts marks over those there are.
    pub fn marks(mut self, marks: impl IntoIterator<Item = Mark>) -> Self {
        self.marks.extend(marks);
        self
    }

    /// Puts a mark over those there are, and its name into the legend.
    pub fn named(mut self, mark: Mark, name: impl Into<String>) -> Self {
        self.legend.push((mark.clone(), name.into()));
        self.mark(mark)
    }

    /// What a pointer is told, from left to right.
    pub fn tips(mut self, tips: impl IntoIterator<Item = Tip>) -> Self {
        self.tips = tips.into_iter().filter(|tip| tip.x.is_finite()).collect();
        self
    }

    /// The chart as part of a page: it fills the width it is given, and its colours follow the page's.
    pub fn for_page(&self) -> String {
        draw::svg(self, draw::Place::Page).to_string()
    }

    /// The chart as a file of its own, on white.
    pub fn for_file(&self) -> String {
        format!("{}\n", draw::svg(self, draw::Place::File))
    }
}
