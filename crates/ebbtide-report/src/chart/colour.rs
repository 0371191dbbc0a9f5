//! Colours that colour-blind readers can tell apart, each with a twin for dark pages.

/// A colour on white, and what takes its place on a dark page.
///
/// A drawing has the first written into it, so that it stands alone as a file; a page puts the second in its place by rules that
/// look for the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    /// On white.
    pub light: &'static str,
    /// On black.
    pub dark: &'static str,
}

impl Colour {
    /// Behind everything.
    pub const PAPER: Self = Self::new("#ffffff", "#14181d");
    /// Text and frames.
    pub const INK: Self = Self::new("#2b323b", "#d5dbe2");
    /// Numbers at axes.
    pub const PENCIL: Self = Self::new("#59636f", "#a3adb8");
    /// Lines of the grid.
    pub const HAIR: Self = Self::new("#e4e8ed", "#2a313a");
    /// The truth, where it is known.
    pub const TRUTH: Self = Self::new("#6b7480", "#9aa4b0");
    /// Generation, and what it generates.
    pub const BLUE: Self = Self::new("#0a6ebd", "#5fb3f4");
    /// Destruction.
    pub const VERMILION: Self = Self::new("#cc4f00", "#ff9457");
    /// Further lines.
    pub const GREEN: Self = Self::new("#00805c", "#42c99e");
    /// Further lines.
    pub const PURPLE: Self = Self::new("#9c4a7c", "#e395c3");
    /// Further lines.
    pub const GOLD: Self = Self::new("#a87300", "#efb83c");
    /// Where a density is low to where it is high.
    pub const DENSITY: [Self; 5] = [
        Self::new("#edf2f7", "#1b232c"),
        Self::new("#dbe5ef", "#222e3a"),
        Self::new("#c3d4e5", "#2c3c4d"),
        Self::new("#a6c0d9", "#394e65"),
        Self::new("#86a9ca", "#48637f"),
    ];

    const fn new(light: &'static str, dark: &'static str) -> Self {
        Self { light, dark }
    }

    fn all() -> impl Iterator<Item = Self> {
        let lines = [Self::BLUE, Self::VERMILION, Self::GREEN, Self::PURPLE, Self::GOLD];
        let rest = [Self::PAPER, Self::INK, Self::PENCIL, Self::HAIR, Self::TRUTH];
        lines.into_iter().chain(rest).chain(Self::DENSITY)
    }

    /// Style rules that turn drawings within `scope` dark.
    pub(crate) fn dark_rules(scope: &str) -> String {
        let rule = |attribute: &str, Self { light, dark }: Self| {
            format!("{scope} [{attribute}=\"{light}\"]{{{attribute}:{dark}}}\n")
        };
        Self::all().map(|colour| rule("fill", colour) + &rule("stroke", colour)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance of the W3C's guidelines.
    fn luminance(colour: &str) -> f64 {
        let part =
            |i: usize| f64::from(u8::from_str_radix(&colour[i..i + 2], 16).expect("two digits")) / 255.0;
        let linear = |c: f64| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) };
        0.2126 * linear(part(1)) + 0.7152 * linear(part(3)) + 0.0722 * linear(part(5))
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn text_and_lines_stand_out_from_the_page() {
        for (colour, least) in [
            (Colour::INK, 7.0),
            (Colour::PENCIL, 4.5),
            (Colour::TRUTH, 3.0),
            (Colour::BLUE, 3.0),
            (Colour::VERMILION, 3.0),
            (Colour::GREEN, 3.0),
            (Colour::PURPLE, 3.0),
            (Colour::GOLD, 3.0),
        ] {
            for (ink, paper) in [(colour.light, Colour::PAPER.light), (colour.dark, Colour::PAPER.dark)] {
                let found = contrast(ink, paper);
                assert!(found >= least, "{ink} on {paper}: {found:.2}");
            }
        }
    }

    #[test]
    fn no_two_colours_look_for_the_same() {
        let mut lights: Vec<&str> = Colour::all().map(|colour| colour.light).collect();
        let all = lights.len();
        lights.sort_unstable();
        lights.dedup();
        assert_eq!(lights.len(), all);
    }
}
