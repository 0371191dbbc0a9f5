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
pub fn look(method: &str) -> (Colour, Symbol) {
    let found = LOOKS.iter().find(|(known, _, _)| known.name() == method);
    found.map_or((Colour::VERMILION, Symbol::Diamond), |(_, colour, symbol)| (*colour, *symbol))
}
