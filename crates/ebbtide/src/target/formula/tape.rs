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
    /// Plus what is the same for all points.
    Shift(Place, Number),
    /// Times what is the same for all points.
    Scale(Place, Number),
    Square(Place),
    Add(Place, Place),
    Subtract(Place, Place),
    Multiply(Place, Place),
    Divide(Place, Place),
    /// To a power that is the same for all points and not whole.
    Fixed(Place, Number),
    Power(Place, Place),
    Apply(Function, Place),
    Min(Place, Place),
    Max(Place, Place),
    /// The sum of three or more.
    Total(Box<[Place]>),
    /// The largest of several.
    Largest(Box<[Place]>),
    /// exp of the first less the second, which does not count for the gradient, nor at all where it is infinite.
    ExpBelow(Place, Place),
    /// The first, and the second where it is finite; again it does not count for the gradient.
    Above(Place, Place),
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
    pub fn finish(self, last: Place) -> Vec<Operation> {
        let mut is_used = vec![false; last + 1];
        is_used[last] = true;
        for place in (0..=last).rev() {
            if is_used[place] {
                self.operations[place].each(|other| is_used[other] = true);
            }
        }
        let mut places = vec![0; last + 1];
        let mut kept = Vec::new();
        for place in (0..=last).filter(|place| is_used[*place]) {
            places[place] = kept.len();
            kept.push(self.operations[place].map(|other| places[other]));
        }
        kept
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
            (None, None) => self.push(Operation::Add(a.min(b), a.max(b))),
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
            (None, None) => self.push(Operation::Subtract(a, b)),
        }
    }

    pub fn negate(&mut self, a: Place) -> Place {
        let minus = self.constant(-1.0);
        self.multiply(minus, a)
    }

    fn shift(&mut self, a: Place, by: f64) -> Place {
        if by == 0.0 { a } else { self.push(Operation::Shift(a, Number::new(by))) }
    }

    fn scale(&mut self, a: Place, by: f64) -> Place {
        match self.operations[a] {
            Operation::Scale(inner, other) => self.scale(inner, by * other.value()),
            _ if by == 1.0 => a,
            _ => self.push(Operation::Scale(a, Number::new(by))),
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
            _ => self.push(Operation::Total(others.into())),
        };
        self.shift(sum, constant)
    }

    /// log Σ exp, without overflow: relative to the largest.
    pub fn log_sum_exp(&mut self, terms: &[Place]) -> Place {
        let largest = self.push(Operation::Largest(terms.into()));
        let weights: Vec<Place> =
            terms.iter().map(|term| self.push(Operation::ExpBelow(*term, largest))).collect();
        let sum = self.total(&weights);
        let log = self.apply(Function::Log, sum);
        self.push(Operation::Above(log, largest))
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
                Operation::ExpBelow(a, _) | Operation::Above(a, _) => is_on_the_way[*a] = true,
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
        let mut all = |places: &[Place]| places.iter().map(|place| to(*place)).collect();
        match *self {
            Self::Constant(_) | Self::Coordinate(_) => self.clone(),
            Self::Total(ref terms) => Self::Total(all(terms)),
            Self::Largest(ref terms) => Self::Largest(all(terms)),
            Self::Shift(a, by) => Self::Shift(to(a), by),
            Self::Scale(a, by) => Self::Scale(to(a), by),
            Self::Square(a) => Self::Square(to(a)),
            Self::ExpBelow(a, b) => Self::ExpBelow(to(a), to(b)),
            Self::Above(a, b) => Self::Above(to(a), to(b)),
            Self::Add(a, b) => Self::Add(to(a), to(b)),
            Self::Subtract(a, b) => Self::Subtract(to(a), to(b)),
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
