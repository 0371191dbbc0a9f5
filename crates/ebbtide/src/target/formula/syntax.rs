//! The grammar of a formula: sums of products of powers, with the usual precedence.
//!
//! A minus in front binds less than a power, as on paper: −x^2 is −(x^2). Powers go from right to left: 2^3^2 is 2^9.

use std::ops::Range;

use super::error::{FormulaError, FormulaProblem};
use super::function;
use super::token::{Kind, Token, tokens};

/// A part of a formula, and where it stands.
#[derive(Clone, Debug)]
pub struct Expression {
    pub shape: Shape,
    pub place: Range<usize>,
}

/// What a part of a formula consists of.
#[derive(Clone, Debug)]
pub enum Shape {
    Number(f64),
    Name(String),
    /// `x[index]`.
    Coordinate(Box<Expression>),
    Negative(Box<Expression>),
    /// Parts with `+` and `-`, or `*` and `/`, between them: a long sum is not a deep one.
    Chain(Box<Expression>, Vec<(char, Expression)>),
    /// Base and exponent.
    Power(Box<Expression>, Box<Expression>),
    /// A name with arguments.
    Call(String, Vec<Expression>),
}

/// Brackets, powers and signs within each other.
const DEPTH: usize = 200;

/// Reads a formula.
pub fn parse(text: &str) -> Result<Expression, FormulaError> {
    let mut reader = Reader { text, tokens: tokens(text)?, next: 0, depth: 0 };
    if reader.tokens.is_empty() {
        return Err(FormulaError::new(FormulaProblem::Empty, 0..text.len(), text));
    }
    let whole = reader.sum()?;
    match reader.peek() {
        None => Ok(whole),
        Some(Token { kind: Kind::Number(_) | Kind::Name(_) | Kind::Sign('(' | '['), .. }) => {
            Err(reader.beside())
        }
        Some(Token { place, .. }) => {
            let place = place.clone();
            Err(reader.error(FormulaProblem::Missing { wanted: "an opening bracket before this" }, place))
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.next)
    }

    /// Goes past a sign, if it comes next.
    fn takes(&mut self, sign: char) -> Option<Range<usize>> {
        let token = self.tokens.get(self.next).filter(|token| token.kind == Kind::Sign(sign))?;
        self.next += 1;
        Some(token.place.clone())
    }

    fn takes_one_of(&mut self, signs: &[char]) -> Option<char> {
        signs.iter().copied().find(|sign| self.takes(*sign).is_some())
    }

    fn error(&self, problem: FormulaProblem, place: Range<usize>) -> FormulaError {
        FormulaError::new(problem, place, self.text)
    }

    /// The place of what comes next, or of the end.
    fn here(&self) -> Range<usize> {
        let end = self.text.trim_end().len();
        self.peek().map_or(end..end, |token| token.place.clone())
    }

    /// Two values stand beside each other: the first may be a function without parentheses.
    fn beside(&self) -> FormulaError {
        if let Some(Token { kind: Kind::Name(name), place }) =
            self.next.checked_sub(1).map(|last| &self.tokens[last])
            && let Some((function, _)) = function::find(name)
        {
            return self.error(FormulaProblem::Bare(function), place.clone());
        }
        self.error(FormulaProblem::Operator, self.here())
    }

    fn sum(&mut self) -> Result<Expression, FormulaError> {
        self.chain(&['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Expression, FormulaError> {
        self.chain(&['*', '/'], Self::signed)
    }

    fn chain(
        &mut self,
        signs: &[char],
        link: fn(&mut Self) -> Result<Expression, FormulaError>,
    ) -> Result<Expression, FormulaError> {
        let first = link(self)?;
        let mut others = Vec::new();
        while let Some(sign) = self.takes_one_of(signs) {
            others.push((sign, link(self)?));
        }
        let Some((_, last)) = others.last() else { return Ok(first) };
        let place = first.place.start..last.place.end;
        Ok(Expression { shape: Shape::Chain(Box::new(first), others), place })
    }

    /// A power, with signs in front.
    fn signed(&mut self) -> Result<Expression, FormulaError> {
        self.depth += 1;
        if self.depth > DEPTH {
            return Err(self.error(FormulaProblem::Depth(DEPTH), self.here()));
        }
        let start = self.here().start;
        let signed = match self.takes_one_of(&['-', '+']) {
            None => self.power()?,
            Some(sign) => {
                let inner = self.signed()?;
                let place = start..inner.place.end;
                match sign {
                    '-' => Expression { shape: Shape::Negative(Box::new(inner)), place },
                    _ => Expression { place, ..inner },
                }
            }
        };
        self.depth -= 1;
        Ok(signed)
    }

    fn power(&mut self) -> Result<Expression, FormulaError> {
        let base = self.atom()?;
        match self.takes('^') {
            // What stands above may have a sign, and be a power itself.
            Some(_) => {
                let exponent = self.signed()?;
                let place = base.place.start..exponent.place.end;
                Ok(Expression { shape: Shape::Power(Box::new(base), Box::new(exponent)), place })
            }
            None => Ok(base),
        }
    }

    fn atom(&mut self) -> Result<Expression, FormulaError> {
        let wanted = FormulaProblem::Missing { wanted: "a number, a name or a bracket" };
        let Some(Token { kind, place }) = self.peek().cloned() else {
            return Err(self.error(wanted, self.here()));
        };
        let shape = match kind {
            Kind::Number(value) => {
                self.next += 1;
                Shape::Number(value)
            }
            Kind::Name(name) => {
                self.next += 1;
                return self.named(name, place);
            }
            Kind::Sign('(') => {
                self.next += 1;
                let inner = self.sum()?;
                let end = self.closes(')', '(', &place)?;
                return Ok(Expression { shape: inner.shape, place: place.start..end });
            }
            Kind::Sign(_) => return Err(self.error(wanted, place)),
        };
        Ok(Expression { shape, place })
    }

    /// A name; a function's arguments or an index may follow.
    fn named(&mut self, name: String, place: Range<usize>) -> Result<Expression, FormulaError> {
        if let Some(open) = self.takes('[') {
            if name != "x" {
                return Err(self.error(FormulaProblem::Missing { wanted: "`x` before the bracket" }, place));
            }
            let index = self.sum()?;
            let end = self.closes(']', '[', &open)?;
            return Ok(Expression { shape: Shape::Coordinate(Box::new(index)), place: place.start..end });
        }
        let Some(open) = self.takes('(') else { return Ok(Expression { shape: Shape::Name(name), place }) };
        let mut arguments = Vec::new();
        if self.takes(')').is_none() {
            arguments.push(self.sum()?);
            while self.takes(',').is_some() {
                arguments.push(self.sum()?);
            }
            self.closes(')', '(', &open)?;
        }
        // Errors about a call point at its name.
        Ok(Expression { shape: Shape::Call(name, arguments), place })
    }

    /// Goes past a closing bracket; returns where it ends.
    fn closes(&mut self, sign: char, opened: char, open: &Range<usize>) -> Result<usize, FormulaError> {
        if let Some(place) = self.takes(sign) {
            return Ok(place.end);
        }
        match self.peek() {
            None => Err(self.error(FormulaProblem::Unclosed(opened), open.clone())),
            Some(Token { kind: Kind::Number(_) | Kind::Name(_) | Kind::Sign('(' | '['), .. }) => {
                Err(self.beside())
            }
            Some(_) => {
                let wanted = if sign == ')' { "`)`" } else { "`]`" };
                Err(self.error(FormulaProblem::Missing { wanted }, self.here()))
            }
        }
    }
}
