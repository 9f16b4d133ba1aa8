//! An expression with its parameters, and what it says of payloads.
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt;

use filter::{Expression, Program, Value};

use crate::error::FilterError;
use crate::paths::{Fields, Node, SampleType};
use crate::walk::{Found, Values, locate};

/// Limits of a filter: for compiling it, and for each sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Of the expression.
    pub expression: filter::Limits,
    /// How many parameters there may be. DDS names at most 100, `%0` to `%99`.
    pub parameters: usize,
    /// Bytes of all parameters together.
    pub parameter_bytes: usize,
    /// Steps that a sample may take: one for each comparison, one for each byte of texts that are compared, and of LIKE the product of
    /// the lengths of text and pattern.
    pub steps: usize,
}

impl Limits {
    /// For expressions of the own application: those of [`filter::Limits::default`], 100 parameters of 16 KiB together, and any number of
    /// steps.
    pub const OWN: Self = Self {
        expression: filter::Limits { bytes: 16 << 10, depth: 64, comparisons: 1_000 },
        parameters: 100,
        parameter_bytes: 16 << 10,
        steps: usize::MAX,
    };
    /// For expressions that others announce: 4 KiB, 32 in each other, 128 comparisons, 100 parameters of 4 KiB together, and 65,536 steps
    /// for a sample.
    pub const REMOTE: Self = Self {
        expression: filter::Limits { bytes: 4 << 10, depth: 32, comparisons: 128 },
        parameters: 100,
        parameter_bytes: 4 << 10,
        steps: 1 << 16,
    };
}

/// The decision of a filter about a sample.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The expression is true.
    Passes,
    /// It is not.
    Filtered,
    /// It is not known: the payload cannot be read as far as the fields lie, or the work would be beyond the limit.
    Unknown,
}

/// A filter that decides about serialized samples of one type.
pub struct ContentFilter {
    ty: SampleType,
    limits: Limits,
    expression: Expression,
    compiled: Compiled,
}

/// The part of a filter that depends on the parameters.
struct Compiled {
    program: Program,
    root: Node,
    /// By slot; those of the sample that is looked at.
    found: Vec<Option<Found>>,
    /// Wide strings of it.
    wide: String,
}

impl ContentFilter {
    /// A filter for samples of a type.
    ///
    /// # Errors
    /// The expression or the parameters are wrong; the error has the place.
    pub fn new(
        ty: SampleType,
        expression: &str,
        parameters: &[impl AsRef<str>],
        limits: &Limits,
    ) -> Result<Self, FilterError> {
        let expression =
            Expression::parse_within(expression, &limits.expression).map_err(FilterError::Syntax)?;
        let compiled = compile(&ty, &expression, parameters, limits)?;
        Ok(Self { ty, limits: *limits, expression, compiled })
    }

    /// Other values of the parameters.
    ///
    /// # Errors
    /// As [`ContentFilter::new`]; the values are those from before then.
    pub fn set_parameters(&mut self, parameters: &[impl AsRef<str>]) -> Result<(), FilterError> {
        self.compiled = compile(&self.ty, &self.expression, parameters, &self.limits)?;
        Ok(())
    }

    /// How many parameters the expression needs.
    pub fn parameters(&self) -> usize {
        self.expression.parameters()
    }

    /// The decision about a payload, encapsulation header included.
    pub fn judge(&mut self, payload: &[u8]) -> Outcome {
        let Compiled { program, root, found, wide } = &mut self.compiled;
        let Some(body) = locate(&self.ty, root, payload, found, wide) else { return Outcome::Unknown };
        match program.passes_within(&Values { body, found, wide }, self.limits.steps) {
            Some(true) => Outcome::Passes,
            Some(false) => Outcome::Filtered,
            None => Outcome::Unknown,
        }
    }
}

impl fmt::Debug for ContentFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ContentFilter")
            .field("expression", &self.expression)
            .field("program", &self.compiled.program)
            .finish_non_exhaustive()
    }
}

fn compile(
    ty: &SampleType,
    expression: &Expression,
    parameters: &[impl AsRef<str>],
    limits: &Limits,
) -> Result<Compiled, FilterError> {
    if parameters.len() > limits.parameters {
        return Err(FilterError::TooManyParameters(limits.parameters));
    }
    let texts: Vec<&str> = parameters.iter().map(AsRef::as_ref).collect();
    if texts.iter().map(|text| text.len()).sum::<usize>() > limits.parameter_bytes {
        return Err(FilterError::ParametersTooLong(limits.parameter_bytes));
    }
    let fields = Fields::new(ty);
    let program = expression.compile(&fields, &texts).map_err(FilterError::Compile)?;
    let named = fields.into_found();
    let found = vec![None; named.slots as usize];
    Ok(Compiled { program, root: named.root, found, wide: String::new() })
}

impl filter::Fields for Values<'_> {
    fn value(&self, slot: u32) -> Option<Value<'_>> {
        Some(match self.found.get(slot as usize).copied().flatten()? {
            Found::Boolean(value) => Value::Boolean(value),
            Found::Signed(value) => Value::Signed(value),
            Found::Unsigned(value) => Value::Unsigned(value),
            Found::Float(value) => Value::Float(value),
            Found::Char(value) => Value::Char(value),
            Found::Enumeration(value) => Value::Enumeration(value),
            Found::Text(start, end) => {
                Value::String(core::str::from_utf8(self.body.get(start as usize..end as usize)?).ok()?)
            }
            Found::Wide(start, end) => Value::String(self.wide.get(start as usize..end as usize)?),
        })
    }
}
