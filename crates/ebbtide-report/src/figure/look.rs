//! The look of a method, the same wherever methods are side by side.

use ebbtide::objective::Method;

use crate::chart::{Colour, Symbol};

const LOOKS: [(Method, Colour, Symbol); 8] = [
    (Method::TbFixed, Colour::GOLD, Symbol::Triangle),
    (Method::TbVariance, Colour::GREEN, Symbol::Square),
    (Method::TbTlm, Colour::PURPLE, Symbol::Diamond),
    (Method::TbTb, Colour::BLUE, Symbol::Disc),
    (Method::PisFixed, Colour::GOLD, Symbol::Plus),
    (Method::PisVariance, Colour::GREEN, Symbol::Box),
    (Method::PisTlm, Colour::PURPLE, Symbol::Cross),
    (Method::PisVarGrad, Colour::BLUE, Symbol::Ring),
];

/// Colours go by what is learned, symbols by the objective too.
///
/// ```
/// use ebbtide_report::chart::{Colour, Mark, Stroke, Symbol};
/// use ebbtide_report::look;
///
/// let line = |method: &str, elbo: [(f64, f64); 2]| {
///     let (colour, symbol) = look(method);
///     if symbol.is_open() { Mark::dashes(elbo, colour) } else { Mark::line(elbo, colour) }
/// };
/// let elbo = [(5.0, -0.3), (10.0, -0.1)];
/// let (solid, dashed) = (line("tb-tb", elbo), line("pis-vargrad", elbo));
/// assert!(matches!(solid, Mark::Line { colour: Colour::BLUE, stroke: Stroke::Solid, .. }));
/// assert!(matches!(dashed, Mark::Line { colour: Colour::BLUE, stroke: Stroke::Dashed, .. }));
/// // What is no method of the paper has a look too.
/// assert_eq!(look("custom"), (Colour::VERMILION, Symbol::Diamond));
/// ```
pub fn look(method: &str) -> (Colour, Symbol) {
    let found = LOOKS.iter().find(|(known, _, _)| known.name() == method);
    found.map_or((Colour::VERMILION, Symbol::Diamond), |(_, colour, symbol)| (*colour, *symbol))
}
