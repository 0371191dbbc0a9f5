//! The words of a formula.

use std::ops::Range;

use super::error::{FormulaError, FormulaProblem};

/// A word, and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Token {
    pub kind: Kind,
    pub place: Range<usize>,
}

/// What a word is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    Number(f64),
    Name(String),
    /// One of `+ - * / ^ ( ) [ ] ,`.
    Sign(char),
}

/// All words of a formula.
pub fn tokens(text: &str) -> Result<Vec<Token>, FormulaError> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let start = text.len() - rest.len();
        let length = match first {
            _ if first.is_whitespace() => first.len_utf8(),
            '0'..='9' | '.' => number_length(rest),
            _ if is_name(first) => {
                rest.find(|c: char| !is_name(c) && !c.is_ascii_digit()).unwrap_or(rest.len())
            }
            _ => {
                // `**` is what a power is called elsewhere.
                if rest.starts_with("**") { 2 } else { first.len_utf8() }
            }
        };
        let (word, place) = (&rest[..length], start..start + length);
        rest = &rest[length..];
        let kind = match first {
            _ if first.is_whitespace() => continue,
            '0'..='9' | '.' => Kind::Number(word.parse().map_err(|_| {
                FormulaError::new(FormulaProblem::Number(word.to_owned()), place.clone(), text)
            })?),
            _ if is_name(first) => Kind::Name(word.to_owned()),
            _ if word == "**" => Kind::Sign('^'),
            '−' => Kind::Sign('-'),
            '·' | '×' => Kind::Sign('*'),
            '+' | '-' | '*' | '/' | '^' | '(' | ')' | '[' | ']' | ',' => Kind::Sign(first),
            _ => return Err(FormulaError::new(FormulaProblem::Character(first), place, text)),
        };
        tokens.push(Token { kind, place });
    }
    Ok(tokens)
}

fn is_name(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}

/// Digits, a point, and an exponent if one follows.
fn number_length(text: &str) -> usize {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let whole = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let Some(exponent) = text[whole..].strip_prefix(['e', 'E']) else { return whole };
    let unsigned = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    match digits(unsigned) {
        0 => whole,
        length => whole + 1 + (exponent.len() - unsigned.len()) + length,
    }
}
