//! Compiled filters: comparisons over numbered fields, each with where to go on.
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cmp::Ordering;

use crate::compare::{holds, integer_and_float, is_like};
use crate::fields::{Fields, Value};
use crate::parse::{Flow, PASS};
use crate::tokens::Relation;

/// A filter that decides about samples.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    pub(crate) tests: Vec<Test>,
}

/// A comparison whose types are in order.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Test {
    pub(crate) left: Operand,
    pub(crate) relation: Relation,
    pub(crate) right: Operand,
    pub(crate) flow: Flow,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Operand {
    Field(u32),
    Boolean(bool),
    /// From -2^63 to 2^64 - 1: the value of a literal, or of a label.
    Integer(i128),
    Float(f64),
    Text(Box<str>),
}

/// The operands of a comparison, once kinds that compare alike are one.
enum Compared<'a> {
    Boolean(bool),
    Integer(i128),
    Float(f64),
    Char(char),
    Text(&'a str),
}

impl Program {
    /// Whether a sample passes. Fields are asked for from left to right, and no more of them than the answer needs.
    ///
    /// Nothing is allocated. The work is in proportion to the comparisons and to the texts that are compared; of LIKE, to the product of
    /// text and pattern at most.
    pub fn passes<F: Fields + ?Sized>(&self, sample: &F) -> bool {
        self.passes_within(sample, usize::MAX).unwrap_or(false)
    }

    /// As [`Program::passes`], in so many steps at most; `None` if they do not suffice. A comparison takes one step, another one for each
    /// byte of texts that it compares, and LIKE as many as the product of the lengths of text and pattern.
    pub fn passes_within<F: Fields + ?Sized>(&self, sample: &F, steps: usize) -> Option<bool> {
        let (mut next, mut left) = (0, steps);
        // Each comparison leads to later ones only.
        while let Some(test) = self.tests.get(usize::from(next)) {
            left = left.checked_sub(1)?;
            let is_so = test.result(sample, &mut left)?.is_some_and(|result| result != test.flow.negated);
            next = if is_so { test.flow.if_so } else { test.flow.otherwise };
        }
        Some(next == PASS)
    }

    /// How many comparisons it has; BETWEEN is two.
    pub fn comparisons(&self) -> usize {
        self.tests.len()
    }
}

impl Test {
    /// `None` if there are not steps enough; inside of it `None` if a field is missing.
    fn result<F: Fields + ?Sized>(&self, sample: &F, steps: &mut usize) -> Option<Option<bool>> {
        // The most frequent comparison.
        if let (Operand::Field(slot), Operand::Integer(right)) = (&self.left, &self.right) {
            let left = match sample.value(*slot) {
                None => return Some(None),
                Some(Value::Signed(left) | Value::Enumeration(left)) => Some(i128::from(left)),
                Some(Value::Unsigned(left)) => Some(i128::from(left)),
                Some(_) => None,
            };
            if let Some(left) = left {
                return Some(Some(holds(self.relation, Some(left.cmp(right)))));
            }
        }
        let (Some(left), Some(right)) = (self.left.value(sample), self.right.value(sample)) else {
            return Some(None);
        };
        let len = |side: &Compared<'_>| if let Compared::Text(text) = side { text.len() } else { 0 };
        let (one, other) = (len(&left), len(&right));
        if one > 0 || other > 0 {
            let work = match self.relation {
                Relation::Like => one.saturating_mul(other.saturating_add(1)),
                _ => one.saturating_add(other),
            };
            // Without a limit no work is too much.
            if *steps < usize::MAX >> 1 {
                *steps = steps.checked_sub(work)?;
            }
        }
        Some(self.compare(&left, &right))
    }

    /// `None` if a field is missing.
    fn compare(&self, left: &Compared<'_>, right: &Compared<'_>) -> Option<bool> {
        let mut buffers = ([0; 4], [0; 4]);
        if self.relation == Relation::Like {
            return Some(is_like(left.text(&mut buffers.0)?, right.text(&mut buffers.1)?));
        }
        let order = match (left, right) {
            (Compared::Integer(left), Compared::Integer(right)) => Some(left.cmp(right)),
            (Compared::Float(left), Compared::Float(right)) => left.partial_cmp(right),
            (Compared::Integer(left), Compared::Float(right)) => integer_and_float(*left, *right),
            (Compared::Float(left), Compared::Integer(right)) => {
                integer_and_float(*right, *left).map(Ordering::reverse)
            }
            (Compared::Boolean(left), Compared::Boolean(right)) => Some(left.cmp(right)),
            (left, right) => Some(left.text(&mut buffers.0)?.cmp(right.text(&mut buffers.1)?)),
        };
        Some(holds(self.relation, order))
    }
}

impl Operand {
    fn value<'a, F: Fields + ?Sized>(&'a self, sample: &'a F) -> Option<Compared<'a>> {
        Some(match self {
            Self::Field(slot) => match sample.value(*slot)? {
                Value::Boolean(value) => Compared::Boolean(value),
                Value::Signed(value) | Value::Enumeration(value) => Compared::Integer(value.into()),
                Value::Unsigned(value) => Compared::Integer(value.into()),
                Value::Float(value) => Compared::Float(value),
                Value::Char(value) => Compared::Char(value),
                Value::String(value) => Compared::Text(value),
            },
            Self::Boolean(value) => Compared::Boolean(*value),
            Self::Integer(value) => Compared::Integer(*value),
            Self::Float(value) => Compared::Float(*value),
            Self::Text(value) => Compared::Text(value),
        })
    }
}

impl<'a> Compared<'a> {
    /// The text that it is; `None` if it is none.
    fn text<'b>(&self, buffer: &'b mut [u8; 4]) -> Option<&'b str>
    where
        'a: 'b,
    {
        match self {
            Self::Text(text) => Some(text),
            Self::Char(character) => Some(character.encode_utf8(buffer)),
            Self::Boolean(_) | Self::Integer(_) | Self::Float(_) => None,
        }
    }
}
