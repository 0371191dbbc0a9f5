//! From a formula to a tape: names get their meaning, sums are written out.

use std::ops::Range;

use super::error::{FormulaError, FormulaProblem};
use super::function::{self, Call};
use super::syntax::{Expression, Shape};
use super::tape::{Operation, Place, Writer};
use crate::target::Placement;

/// Operations that any formula may have. Beyond that, only as many as its words and coordinates account for: whoever hands over a short
/// text does not take much memory with it.
const ALWAYS: usize = 1 << 16;
/// Operations for each byte of it and each coordinate.
const FOR_EACH: usize = 4;
/// Parts that may be gone through for each of these operations, most of which come out the same as others before.
const PARTS: usize = 4;

/// Operations, the last of which gives the value.
pub fn lower(
    text: &str,
    formula: &Expression,
    parameters: &[(&str, f64)],
    placement: &Placement,
) -> Result<Vec<Operation>, FormulaError> {
    let dim = placement.dim();
    let words = FOR_EACH.saturating_mul(text.len()).saturating_mul(dim);
    // Where coordinates are mixed, each factor is an operation too.
    let factors = placement.row(0).map_or(0, |row| row.len() * dim);
    let mut lowering = Lowering {
        text,
        dim,
        placement,
        parameters: parameters.iter().map(|&(name, value)| (name, value, false)).collect(),
        indices: Vec::new(),
        writer: Writer::default(),
        most: ALWAYS.saturating_add(words).saturating_add(factors),
        parts: 0,
    };
    for (name, ..) in &lowering.parameters {
        let is_word = name.chars().next().is_some_and(|first| first.is_alphabetic() || first == '_')
            && name.chars().all(|c| c.is_alphabetic() || c == '_' || c.is_ascii_digit());
        if !is_word || coordinate(name).is_some() || RESERVED.contains(name) || function::find(name).is_some()
        {
            return Err(lowering.error(FormulaProblem::Reserved((*name).to_owned()), 0..0));
        }
    }
    let value = lowering.place(formula)?;
    let volume = lowering.writer.constant(placement.log_volume());
    let last = lowering.writer.add(value, volume);
    if let Some((name, ..)) = lowering.parameters.iter().find(|(.., is_used)| !is_used) {
        return Err(lowering.error(FormulaProblem::Idle((*name).to_owned()), 0..text.trim_end().len()));
    }
    let operations = lowering.writer.finish(last);
    let mut occurs = vec![false; dim];
    for operation in &operations {
        if let Operation::Coordinate(index) = operation {
            occurs[*index] = true;
        }
    }
    match occurs.iter().position(|occurs| !occurs) {
        Some(index) => {
            let place = 0..text.trim_end().len();
            Err(FormulaError::new(FormulaProblem::Unused(index), place, text))
        }
        None => Ok(operations),
    }
}

/// Names with a meaning of their own.
const RESERVED: [&str; 5] = ["x", "pi", "π", "e", "dim"];

/// The number of a coordinate's name: 3 for `x3`.
fn coordinate(name: &str) -> Option<f64> {
    let digits = name.strip_prefix('x').filter(|rest| !rest.is_empty())?;
    digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().unwrap_or(f64::INFINITY))
}

struct Lowering<'a> {
    text: &'a str,
    dim: usize,
    /// What coordinates are in those that points have.
    placement: &'a Placement,
    /// Name, value, and whether anything asked for it.
    parameters: Vec<(&'a str, f64, bool)>,
    /// Indices of the sums around: names and values. That of a sum over all coordinates has no name, and makes `x` one of them.
    indices: Vec<(Option<&'a str>, i64)>,
    writer: Writer,
    /// How many operations there may be.
    most: usize,
    /// How many parts of the formula were gone through, those within sums as often as they are summed.
    parts: usize,
}

impl<'a> Lowering<'a> {
    fn error(&self, problem: FormulaProblem, place: Range<usize>) -> FormulaError {
        FormulaError::new(problem, place, self.text)
    }

    fn place(&mut self, expression: &'a Expression) -> Result<Place, FormulaError> {
        self.parts += 1;
        if self.writer.len() > self.most || self.parts > PARTS.saturating_mul(self.most) {
            return Err(self.error(FormulaProblem::Size(self.most), expression.place.clone()));
        }
        match &expression.shape {
            Shape::Number(value) => Ok(self.writer.constant(*value)),
            Shape::Name(name) => self.name(name, &expression.place),
            Shape::Coordinate(index) => {
                let value = self.whole(index)?;
                self.coordinate(value as f64, &index.place)
            }
            Shape::Negative(inner) => {
                let inner = self.place(inner)?;
                Ok(self.writer.negate(inner))
            }
            Shape::Chain(first, others) => {
                let mut left = self.place(first)?;
                for (sign, right) in others {
                    let right = self.place(right)?;
                    left = match sign {
                        '+' => self.writer.add(left, right),
                        '-' => self.writer.subtract(left, right),
                        '*' => self.writer.multiply(left, right),
                        _ => self.writer.divide(left, right),
                    };
                }
                Ok(left)
            }
            Shape::Power(base, exponent) => {
                let (base, exponent) = (self.place(base)?, self.place(exponent)?);
                Ok(self.writer.power(base, exponent))
            }
            Shape::Call(name, arguments) => self.call(name, arguments, &expression.place),
        }
    }

    fn name(&mut self, name: &str, place: &Range<usize>) -> Result<Place, FormulaError> {
        if let Some((_, index)) = self.indices.iter().rev().find(|(own, _)| *own == Some(name)) {
            return Ok(self.writer.constant(*index as f64));
        }
        if let Some((_, value, is_used)) = self.parameters.iter_mut().find(|(own, ..)| *own == name) {
            *is_used = true;
            return Ok(self.writer.constant(*value));
        }
        if let Some(index) = coordinate(name) {
            return self.coordinate(index, place);
        }
        let around = self.indices.iter().rev().find(|(own, _)| own.is_none()).map(|(_, index)| *index);
        match (name, around) {
            ("pi" | "π", _) => Ok(self.writer.constant(std::f64::consts::PI)),
            ("e", _) => Ok(self.writer.constant(std::f64::consts::E)),
            ("dim", _) => Ok(self.writer.constant(self.dim as f64)),
            ("x", Some(index)) => Ok(self.x(index as usize)),
            ("i", Some(index)) => Ok(self.writer.constant(index as f64)),
            ("x", None) if self.dim == 1 => Ok(self.x(0)),
            _ => Err(self.error(self.unknown(name), place.clone())),
        }
    }

    fn unknown(&self, name: &str) -> FormulaProblem {
        if let Some((function, _)) = function::find(name) {
            return FormulaProblem::Bare(function);
        }
        let known = self.parameters.iter().map(|(own, ..)| *own).chain(["dim", "pi"]);
        let nearest = nearest(name, known).map(str::to_owned);
        FormulaProblem::Name { name: name.to_owned(), nearest, dim: self.dim }
    }

    fn coordinate(&mut self, index: f64, place: &Range<usize>) -> Result<Place, FormulaError> {
        if !(0.0..self.dim as f64).contains(&index) {
            return Err(self.error(FormulaProblem::Coordinate { index, dim: self.dim }, place.clone()));
        }
        Ok(self.x(index as usize))
    }

    /// location + scale · F z.
    fn x(&mut self, index: usize) -> Place {
        let (location, scale) = (self.placement.location()[index], self.placement.scale()[index]);
        let z = match self.placement.row(index) {
            None => self.writer.coordinate(index),
            Some(row) => {
                let terms: Vec<Place> =
                    row.iter().enumerate().map(|(other, factor)| self.scaled(other, *factor)).collect();
                self.writer.total(&terms)
            }
        };
        let scale = self.writer.constant(scale);
        let scaled = self.writer.multiply(z, scale);
        let location = self.writer.constant(location);
        self.writer.add(scaled, location)
    }

    fn scaled(&mut self, index: usize, by: f64) -> Place {
        let (z, by) = (self.writer.coordinate(index), self.writer.constant(by));
        self.writer.multiply(z, by)
    }

    /// A whole number that is the same for all points.
    fn whole(&mut self, expression: &'a Expression) -> Result<i64, FormulaError> {
        let place = self.place(expression)?;
        let value = self.writer.value(place).filter(|value| value.fract() == 0.0 && value.abs() < 1e9);
        match value {
            Some(value) => Ok(value as i64),
            None => Err(self.error(FormulaProblem::Whole, expression.place.clone())),
        }
    }

    fn call(
        &mut self,
        name: &str,
        arguments: &'a [Expression],
        place: &Range<usize>,
    ) -> Result<Place, FormulaError> {
        let Some((function, call)) = function::find(name) else {
            let problem =
                FormulaProblem::Function { name: name.to_owned(), nearest: nearest(name, function::names()) };
            return Err(self.error(problem, place.clone()));
        };
        let wrong =
            |wanted: &'static str| FormulaProblem::Arguments { function, wanted, given: arguments.len() };
        match (call, arguments) {
            (Call::Of(function), [argument]) => {
                let argument = self.place(argument)?;
                Ok(self.writer.apply(function, argument))
            }
            (Call::Pow, [base, exponent]) => {
                let (base, exponent) = (self.place(base)?, self.place(exponent)?);
                Ok(self.writer.power(base, exponent))
            }
            (Call::Min, [_, _, ..]) => self.fold(arguments, Writer::min),
            (Call::Max, [_, _, ..]) => self.fold(arguments, Writer::max),
            (Call::LogSumExp, [_, _, ..]) => {
                let terms: Vec<Place> =
                    arguments.iter().map(|term| self.place(term)).collect::<Result<_, _>>()?;
                Ok(self.writer.log_sum_exp(&terms))
            }
            (Call::Sum, [term]) => self.sum(None, 0..self.dim as i64, term),
            (Call::Sum, [index, first, last, term]) => {
                let Shape::Name(name) = &index.shape else {
                    return Err(self.error(FormulaProblem::Index, index.place.clone()));
                };
                let (first, last) = (self.whole(first)?, self.whole(last)?);
                self.sum(Some(name), first..last + 1, term)
            }
            (Call::Of(_), _) => Err(self.error(wrong("one argument"), place.clone())),
            (Call::Pow, _) => Err(self.error(wrong("two arguments"), place.clone())),
            (Call::Sum, _) => Err(self.error(
                wrong("a term for every coordinate x, or an index, its first and last value, and a term"),
                place.clone(),
            )),
            (Call::Min | Call::Max | Call::LogSumExp, _) => {
                Err(self.error(wrong("two arguments or more"), place.clone()))
            }
        }
    }

    fn fold(
        &mut self,
        arguments: &'a [Expression],
        with: fn(&mut Writer, Place, Place) -> Place,
    ) -> Result<Place, FormulaError> {
        let mut all = self.place(&arguments[0])?;
        for argument in &arguments[1..] {
            let next = self.place(argument)?;
            all = with(&mut self.writer, all, next);
        }
        Ok(all)
    }

    fn sum(
        &mut self,
        name: Option<&'a str>,
        range: Range<i64>,
        term: &'a Expression,
    ) -> Result<Place, FormulaError> {
        let mut terms = Vec::new();
        for index in range {
            self.indices.push((name, index));
            terms.push(self.place(term)?);
            self.indices.pop();
        }
        Ok(self.writer.total(&terms))
    }
}

/// A known name that somebody may have meant.
fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let near = known.map(|known| (strsim::damerau_levenshtein(name, known), known));
    near.filter(|(distance, known)| *distance <= known.len().max(3) / 3).min().map(|(_, known)| known)
}
