//! A tape: the operations of a formula in the order of their doing. What is done twice stands there once, and what comes out
//! the same for all points is done when the tape is written.

use std::collections::HashMap;

use super::function::Function;

/// The place of an operation on the tape.
pub type Place = usize;

/// A number that is compared by its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Number(u64);

impl Number {
    const ZERO: Self = Self(0);
    const ONE: Self = Self(1.0_f64.to_bits());

    fn new(value: f64) -> Self {
        Self(value.to_bits())
    }

    /// The number itself.
    pub fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// An operation on what earlier ones have found.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    Constant(Number),
    Coordinate(usize),
    Sum(Sum),
    Square(Place),
    Multiply(Place, Place),
    Divide(Place, Place),
    /// To a power that is the same for all points and not whole.
    Fixed(Place, Number),
    Power(Place, Place),
    Apply(Function, Place),
    Min(Place, Place),
    Max(Place, Place),
    /// The largest of several.
    Largest(Box<[Place]>),
    /// exp of the first less the second, unless that is infinite.
    ExpBelow(Place, Place),
    LogSumExp(LogSumExp),
}

/// log Σ exp of terms, after what it takes has been done. The gradient goes on to the terms directly.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LogSumExp {
    /// Terms, and exp of them less the largest.
    pub terms: Box<[(Place, Place)]>,
    /// The sum of those exponentials.
    pub sum: Place,
    pub largest: Place,
}

/// (factor · one + factor · another + …) · by + plus, done in this order; all numbers are the same for all points.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sum {
    pub terms: Box<[(Place, Number)]>,
    pub by: Number,
    pub plus: Number,
}

impl Sum {
    fn of(terms: impl IntoIterator<Item = (Place, f64)>) -> Self {
        let terms = terms.into_iter().map(|(place, factor)| (place, Number::new(factor))).collect();
        Self { terms, by: Number::ONE, plus: Number::ZERO }
    }

    /// The only term, with what it is multiplied by, if nothing is added to it.
    fn multiple(&self) -> Option<(Place, f64)> {
        self.multiple_of(&self.terms)
    }

    /// The same, its terms being these.
    fn multiple_of(&self, terms: &[(Place, Number)]) -> Option<(Place, f64)> {
        match *terms {
            [(place, factor)] if self.plus == Number::ZERO => Some((place, factor.value() * self.by.value())),
            _ => None,
        }
    }
}

/// A tape that is being written.
#[derive(Debug, Default)]
pub struct Writer {
    operations: Vec<Operation>,
    known: HashMap<Operation, Place>,
}

/// Whole powers up to this are products.
const LARGEST_WHOLE: f64 = 64.0;

impl Writer {
    /// How many operations there are.
    pub fn len(&self) -> usize {
        self.operations.len()
    }

    /// The value of an operation that is the same for all points.
    pub fn value(&self, place: Place) -> Option<f64> {
        match self.operations[place] {
            Operation::Constant(number) => Some(number.value()),
            _ => None,
        }
    }

    /// The operations that the value of `last` rests on, `last` at the end.
    pub fn finish(mut self, last: Place) -> Vec<Operation> {
        self.operations.truncate(last + 1);
        let mut operations = pruned(&self.operations);
        merge(&mut operations);
        pruned(&operations)
    }

    fn push(&mut self, operation: Operation) -> Place {
        let next = self.operations.len();
        let place = *self.known.entry(operation.clone()).or_insert(next);
        if place == next {
            self.operations.push(operation);
        }
        place
    }

    pub fn constant(&mut self, value: f64) -> Place {
        self.push(Operation::Constant(Number::new(value)))
    }

    pub fn coordinate(&mut self, index: usize) -> Place {
        self.push(Operation::Coordinate(index))
    }

    pub fn add(&mut self, a: Place, b: Place) -> Place {
        match (self.value(a), self.value(b)) {
            (Some(a), Some(b)) => self.constant(a + b),
            (Some(constant), None) => self.shift(b, constant),
            (None, Some(constant)) => self.shift(a, constant),
            (None, None) => self.push(Operation::Sum(Sum::of([(a.min(b), 1.0), (a.max(b), 1.0)]))),
        }
    }

    pub fn subtract(&mut self, a: Place, b: Place) -> Place {
        match (self.value(a), self.value(b)) {
            (Some(a), Some(b)) => self.constant(a - b),
            (None, Some(constant)) => self.shift(a, -constant),
            (Some(constant), None) => {
                let negative = self.scale(b, -1.0);
                self.shift(negative, constant)
            }
            (None, None) => self.push(Operation::Sum(Sum::of([(a, 1.0), (b, -1.0)]))),
        }
    }

    pub fn negate(&mut self, a: Place) -> Place {
        let minus = self.constant(-1.0);
        self.multiply(minus, a)
    }

    fn shift(&mut self, a: Place, by: f64) -> Place {
        match by {
            0.0 => a,
            _ => self.push(Operation::Sum(Sum { plus: Number::new(by), ..Sum::of([(a, 1.0)]) })),
        }
    }

    fn scale(&mut self, a: Place, by: f64) -> Place {
        match self.multiple(a) {
            Some((inner, other)) => self.scale(inner, by * other),
            None if by == 1.0 => a,
            None => self.push(Operation::Sum(Sum::of([(a, by)]))),
        }
    }

    fn multiple(&self, place: Place) -> Option<(Place, f64)> {
        match &self.operations[place] {
            Operation::Sum(sum) => sum.multiple(),
            _ => None,
        }
    }

    pub fn multiply(&mut self, a: Place, b: Place) -> Place {
        match (self.value(a), self.value(b)) {
            (Some(a), Some(b)) => self.constant(a * b),
            (Some(constant), None) => self.scale(b, constant),
            (None, Some(constant)) => self.scale(a, constant),
            (None, None) if a == b => self.push(Operation::Square(a)),
            (None, None) => self.push(Operation::Multiply(a.min(b), a.max(b))),
        }
    }

    pub fn divide(&mut self, a: Place, b: Place) -> Place {
        match (self.value(a), self.value(b)) {
            (Some(a), Some(b)) => self.constant(a / b),
            (None, Some(constant)) => self.scale(a, 1.0 / constant),
            _ => self.push(Operation::Divide(a, b)),
        }
    }

    pub fn power(&mut self, a: Place, b: Place) -> Place {
        match (self.value(a), self.value(b)) {
            (Some(a), Some(b)) => self.constant(a.powf(b)),
            (None, Some(b)) if b.fract() == 0.0 && b.abs() <= LARGEST_WHOLE => {
                let product = self.product(a, b.abs() as u32);
                let one = self.constant(1.0);
                if b < 0.0 { self.divide(one, product) } else { product }
            }
            (None, Some(b)) => self.push(Operation::Fixed(a, Number::new(b))),
            (_, None) => self.push(Operation::Power(a, b)),
        }
    }

    /// a · a · …, by repeated squaring.
    fn product(&mut self, a: Place, count: u32) -> Place {
        match count {
            0 => self.constant(1.0),
            1 => a,
            _ => {
                let half = self.product(a, count / 2);
                let square = self.multiply(half, half);
                if count % 2 == 1 { self.multiply(square, a) } else { square }
            }
        }
    }

    pub fn apply(&mut self, function: Function, a: Place) -> Place {
        match self.value(a) {
            Some(a) => self.constant(function.at(a)),
            None => self.push(Operation::Apply(function, a)),
        }
    }

    pub fn min(&mut self, a: Place, b: Place) -> Place {
        self.push(Operation::Min(a.min(b), a.max(b)))
    }

    pub fn max(&mut self, a: Place, b: Place) -> Place {
        self.push(Operation::Max(a.min(b), a.max(b)))
    }

    /// The sum of all; what is the same for all points is added once.
    pub fn total(&mut self, terms: &[Place]) -> Place {
        let constant = terms.iter().filter_map(|term| self.value(*term)).sum();
        let others: Vec<Place> = terms.iter().copied().filter(|term| self.value(*term).is_none()).collect();
        let sum = match others[..] {
            [] => return self.constant(constant),
            [only] => only,
            [a, b] => self.add(a, b),
            _ => self.push(Operation::Sum(Sum::of(others.into_iter().map(|term| (term, 1.0))))),
        };
        self.shift(sum, constant)
    }

    /// log Σ exp, without overflow: relative to the largest.
    pub fn log_sum_exp(&mut self, terms: &[Place]) -> Place {
        let largest = self.push(Operation::Largest(terms.into()));
        let weights: Vec<Place> =
            terms.iter().map(|term| self.push(Operation::ExpBelow(*term, largest))).collect();
        let sum = self.total(&weights);
        let terms = terms.iter().copied().zip(weights).collect();
        self.push(Operation::LogSumExp(LogSumExp { terms, sum, largest }))
    }
}

/// Those operations alone that the last one rests on.
fn pruned(operations: &[Operation]) -> Vec<Operation> {
    let mut is_used = vec![false; operations.len()];
    if let Some(last) = is_used.last_mut() {
        *last = true;
    }
    for (place, operation) in operations.iter().enumerate().rev() {
        if is_used[place] {
            operation.each(|other| is_used[other] = true);
        }
    }
    let mut places = vec![0; operations.len()];
    let mut kept = Vec::new();
    for (place, operation) in operations.iter().enumerate().filter(|(place, _)| is_used[*place]) {
        places[place] = kept.len();
        kept.push(operation.map(|other| places[other]));
    }
    kept
}

/// Makes one sum of several where additions keep their order, so that nothing is rounded that was not before, and none is done twice.
/// A sum that goes into the only one that uses it is left without terms: nothing rests on it any more.
fn merge(operations: &mut [Operation]) {
    let mut uses = vec![0_usize; operations.len()];
    operations.iter().for_each(|operation| operation.each(|used| uses[used] += 1));
    // They grow from sum to sum, and are moved on rather than copied: a chain of additions costs no more than it is long.
    let mut terms_of: Vec<Vec<(Place, Number)>> = vec![Vec::new(); operations.len()];
    for place in 0..operations.len() {
        let (before, rest) = operations.split_at_mut(place);
        let Operation::Sum(sum) = &mut rest[0] else { continue };
        let earlier = |place: Place| match &before[place] {
            Operation::Sum(sum) => Some(sum),
            _ => None,
        };
        let mut terms = Vec::new();
        for (place, factor) in std::mem::take(&mut sum.terms) {
            let is_plain = |sum: &Sum| (sum.by, sum.plus, factor) == (Number::ONE, Number::ZERO, Number::ONE);
            match earlier(place) {
                Some(inner) if let Some((place, other)) = inner.multiple_of(&terms_of[place]) => {
                    terms.push((place, Number::new(factor.value() * other)));
                }
                // The others come after it, as they would have anyhow.
                Some(first) if terms.is_empty() && uses[place] == 1 && is_plain(first) => {
                    terms = std::mem::take(&mut terms_of[place]);
                }
                _ => terms.push((place, factor)),
            }
        }
        if let [(only, factor)] = terms[..]
            && let Some(inner) = earlier(only).filter(|inner| uses[only] == 1 && inner.plus == Number::ZERO)
        {
            sum.by = Number::new(sum.by.value() * factor.value() * inner.by.value());
            terms = std::mem::take(&mut terms_of[only]);
        }
        terms_of[place] = terms;
    }
    for (operation, terms) in operations.iter_mut().zip(terms_of) {
        if let Operation::Sum(sum) = operation {
            sum.terms = terms.into();
        }
    }
}

/// Which operations the gradient of the last one goes through.
pub fn is_on_the_way(operations: &[Operation]) -> Vec<bool> {
    let mut is_on_the_way = vec![false; operations.len()];
    if let Some(last) = is_on_the_way.last_mut() {
        *last = true;
    }
    for (place, operation) in operations.iter().enumerate().rev() {
        if is_on_the_way[place] {
            match operation {
                Operation::LogSumExp(LogSumExp { terms, .. }) => {
                    terms.iter().for_each(|(term, _)| is_on_the_way[*term] = true);
                }
                _ => operation.each(|used| is_on_the_way[used] = true),
            }
        }
    }
    is_on_the_way
}

impl Operation {
    /// All that it is an operation on.
    fn each(&self, mut visit: impl FnMut(Place)) {
        self.map(|place| {
            visit(place);
            place
        });
    }

    /// The same operation on things that stand elsewhere.
    fn map(&self, mut to: impl FnMut(Place) -> Place) -> Self {
        match *self {
            Self::Constant(_) | Self::Coordinate(_) => self.clone(),
            Self::Sum(Sum { ref terms, by, plus }) => {
                let terms = terms.iter().map(|&(place, factor)| (to(place), factor)).collect();
                Self::Sum(Sum { terms, by, plus })
            }
            Self::Largest(ref terms) => Self::Largest(terms.iter().map(|place| to(*place)).collect()),
            Self::Square(a) => Self::Square(to(a)),
            Self::ExpBelow(a, b) => Self::ExpBelow(to(a), to(b)),
            Self::LogSumExp(LogSumExp { ref terms, sum, largest }) => {
                let terms = terms.iter().map(|&(term, weight)| (to(term), to(weight))).collect();
                Self::LogSumExp(LogSumExp { terms, sum: to(sum), largest: to(largest) })
            }
            Self::Multiply(a, b) => Self::Multiply(to(a), to(b)),
            Self::Divide(a, b) => Self::Divide(to(a), to(b)),
            Self::Fixed(a, power) => Self::Fixed(to(a), power),
            Self::Power(a, b) => Self::Power(to(a), to(b)),
            Self::Apply(function, a) => Self::Apply(function, to(a)),
            Self::Min(a, b) => Self::Min(to(a), to(b)),
            Self::Max(a, b) => Self::Max(to(a), to(b)),
        }
    }
}
