//! Gives the sides of comparisons their types, and refuses what does not compare (DDS 1.4, Annex B, "type comparison").
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::fields::{Field, Kind, Path, Schema};
use crate::parse::{Comparison, Expression, Placed, Term};
use crate::program::{Operand, Program, Test};
use crate::tokens::{Literal, Relation, literal};

/// An expression does not fit the fields or the parameters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompileError {
    /// The byte of the expression's text where the field, value or parameter begins, from 0.
    pub at: usize,
    /// The problem.
    pub problem: CompileProblem,
}

/// An expression that does not fit the fields.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum CompileProblem {
    /// There is no such field that could be compared.
    UnknownField(String),
    /// The enumeration has no such label.
    UnknownLabel(String),
    /// No value was given for this parameter.
    MissingParameter(u8),
    /// The text of this parameter begins with a quote, and is not a text in quotes.
    OpenParameter(u8),
    /// Two things that do not compare: what stands here, and what it is compared with.
    Incomparable(&'static str, &'static str),
    /// This is no text, and LIKE compares texts.
    NotLike(&'static str),
}

impl fmt::Display for CompileError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "at byte {}: ", self.at)?;
        match &self.problem {
            CompileProblem::UnknownField(path) => {
                write!(out, "there is no field `{path}` that can be compared")
            }
            CompileProblem::UnknownLabel(label) => write!(out, "the enumeration has no label `{label}`"),
            CompileProblem::MissingParameter(number) => write!(out, "parameter %{number} has no value"),
            CompileProblem::OpenParameter(number) => {
                write!(out, "the text of parameter %{number} begins with a quote and does not end with one")
            }
            CompileProblem::Incomparable(this, other) => {
                write!(out, "{this} cannot be compared with {other}")
            }
            CompileProblem::NotLike(this) => write!(out, "{this} is no text, and LIKE compares texts"),
        }
    }
}

impl core::error::Error for CompileError {}

/// A side of a comparison.
enum Side {
    Field(Field),
    Constant(Constant),
}

/// A literal or a parameter, whose type may still depend on the other side.
enum Constant {
    /// The value of a literal, or of a parameter whose text is in quotes.
    Value(Literal),
    /// The text of a parameter without quotes: it is a text or a label where one is wanted, and otherwise what it reads as.
    Bare(String),
}

impl Expression {
    /// Makes a program of it, with these fields and the texts of parameters `%0`, `%1` and so on.
    ///
    /// A parameter is of the type that it is compared with. Its text is what a literal would be; a text or a label may go without quotes. To
    /// change parameters, compile again: what decides meanwhile is the program that there is.
    ///
    /// # Errors
    /// The first thing that does not fit, and where it stands.
    pub fn compile<S: Schema + ?Sized>(
        &self,
        schema: &S,
        parameters: &[&str],
    ) -> Result<Program, CompileError> {
        let tests: Result<Vec<_>, _> =
            self.comparisons.iter().map(|comparison| test(comparison, schema, parameters)).collect();
        Ok(Program { tests: tests? })
    }
}

fn test<S: Schema + ?Sized>(
    comparison: &Comparison,
    schema: &S,
    parameters: &[&str],
) -> Result<Test, CompileError> {
    let left = side(&comparison.left, schema, parameters)?;
    let right = side(&comparison.right, schema, parameters)?;
    if comparison.relation == Relation::Like {
        for (side, placed) in [(&left, &comparison.left), (&right, &comparison.right)] {
            if !side.is_text() {
                let problem = CompileProblem::NotLike(side.describe());
                return Err(CompileError { at: placed.at, problem });
            }
        }
    }
    let operands = pair(left, right, comparison.relation, schema).map_err(|(is_left, problem)| {
        let placed = if is_left { &comparison.left } else { &comparison.right };
        CompileError { at: placed.at, problem }
    })?;
    Ok(Test { left: operands.0, relation: comparison.relation, right: operands.1, flow: comparison.flow })
}

fn side<S: Schema + ?Sized>(placed: &Placed, schema: &S, parameters: &[&str]) -> Result<Side, CompileError> {
    let error = |problem| CompileError { at: placed.at, problem };
    match &placed.term {
        Term::Field(path) => match schema.field(Path::of_parsed(path)) {
            Some(field) => Ok(Side::Field(field)),
            None => Err(error(CompileProblem::UnknownField(path.clone()))),
        },
        Term::Literal(value) => Ok(Side::Constant(Constant::Value(value.clone()))),
        Term::Parameter(number) => {
            let text = parameters.get(usize::from(*number));
            let text = text.ok_or_else(|| error(CompileProblem::MissingParameter(*number)))?;
            if !text.starts_with(['\'', '`']) {
                return Ok(Side::Constant(Constant::Bare((*text).to_owned())));
            }
            let value = literal(text).ok_or_else(|| error(CompileProblem::OpenParameter(*number)))?;
            Ok(Side::Constant(Constant::Value(value)))
        }
    }
}

/// Both operands; or what is wrong, and whether with the left one.
fn pair<S: Schema + ?Sized>(
    left: Side,
    right: Side,
    relation: Relation,
    schema: &S,
) -> Result<(Operand, Operand), (bool, CompileProblem)> {
    match (left, right) {
        (Side::Field(left), Side::Field(right)) => {
            if are_comparable(left.kind, right.kind) {
                Ok((Operand::Field(left.slot), Operand::Field(right.slot)))
            } else {
                let problem = CompileProblem::Incomparable(of_kind(right.kind), of_kind(left.kind));
                Err((false, problem))
            }
        }
        (Side::Field(field), Side::Constant(value)) => match constant(value, field.kind, schema) {
            Ok(constant) => Ok((Operand::Field(field.slot), constant)),
            Err(problem) => Err((false, problem)),
        },
        (Side::Constant(value), Side::Field(field)) => match constant(value, field.kind, schema) {
            Ok(constant) => Ok((constant, Operand::Field(field.slot))),
            Err(problem) => Err((true, problem)),
        },
        // Two values: each is what it reads as, unless a bare text is compared with a text, or by LIKE.
        (Side::Constant(left), Side::Constant(right)) => {
            let are_bare = matches!((&left, &right), (Constant::Bare(_), Constant::Bare(_)));
            let is_text = left.is_text() && right.is_text() && (relation == Relation::Like || !are_bare);
            let (left, right) = (left.by_itself(is_text), right.by_itself(is_text));
            if core::mem::discriminant(&left) == core::mem::discriminant(&right)
                || (is_number(&left) && is_number(&right))
            {
                Ok((operand(left), operand(right)))
            } else {
                Err((false, CompileProblem::Incomparable(of_literal(&right), of_literal(&left))))
            }
        }
    }
}

/// Which kinds of fields compare with each other.
fn are_comparable(left: Kind, right: Kind) -> bool {
    match (left, right) {
        (Kind::Boolean, Kind::Boolean) => true,
        (Kind::Integer | Kind::Float, Kind::Integer | Kind::Float) => true,
        (Kind::Char | Kind::String, Kind::Char | Kind::String) => true,
        (Kind::Enumeration(left), Kind::Enumeration(right)) => left == right,
        (Kind::Enumeration(_), Kind::Integer) | (Kind::Integer, Kind::Enumeration(_)) => true,
        _ => false,
    }
}

/// A literal or a parameter that is compared with a field of this kind.
fn constant<S: Schema + ?Sized>(value: Constant, kind: Kind, schema: &S) -> Result<Operand, CompileProblem> {
    let wants_text = match &value {
        // A label may look like TRUE or like a float, but not like an integer.
        Constant::Bare(text) if matches!(kind, Kind::Enumeration(_)) => {
            !matches!(literal(text), Some(Literal::Integer(_)))
        }
        _ => matches!(kind, Kind::Char | Kind::String),
    };
    match (kind, value.by_itself(wants_text)) {
        (Kind::Boolean, value @ Literal::Boolean(_))
        | (Kind::Integer | Kind::Float, value @ (Literal::Integer(_) | Literal::Float(_)))
        | (Kind::Char | Kind::String, value @ Literal::Text(_))
        | (Kind::Enumeration(_), value @ Literal::Integer(_)) => Ok(operand(value)),
        (Kind::Enumeration(enumeration), Literal::Text(label)) => match schema.label(enumeration, &label) {
            Some(value) => Ok(Operand::Integer(value.into())),
            None => Err(CompileProblem::UnknownLabel(label)),
        },
        (kind, value) => Err(CompileProblem::Incomparable(of_literal(&value), of_kind(kind))),
    }
}

impl Side {
    /// Whether LIKE may have it.
    fn is_text(&self) -> bool {
        match self {
            Self::Field(field) => matches!(field.kind, Kind::Char | Kind::String),
            Self::Constant(value) => value.is_text(),
        }
    }

    fn describe(&self) -> &'static str {
        match self {
            Self::Field(field) => of_kind(field.kind),
            Self::Constant(Constant::Value(value)) => of_literal(value),
            Self::Constant(Constant::Bare(_)) => "a text",
        }
    }
}

impl Constant {
    /// Whether it can be a text.
    fn is_text(&self) -> bool {
        matches!(self, Self::Bare(_) | Self::Value(Literal::Text(_)))
    }

    /// The value that it is; a bare text is a text if that is wanted, or if it reads as nothing else.
    fn by_itself(self, wants_text: bool) -> Literal {
        match self {
            Self::Value(value) => value,
            Self::Bare(text) if wants_text => Literal::Text(text),
            Self::Bare(text) => literal(&text).unwrap_or(Literal::Text(text)),
        }
    }
}

fn is_number(value: &Literal) -> bool {
    matches!(value, Literal::Integer(_) | Literal::Float(_))
}

fn operand(value: Literal) -> Operand {
    match value {
        Literal::Boolean(value) => Operand::Boolean(value),
        Literal::Integer(value) => Operand::Integer(value),
        Literal::Float(value) => Operand::Float(value),
        Literal::Text(text) => Operand::Text(Box::from(text)),
    }
}

fn of_kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Boolean => "a boolean",
        Kind::Integer => "an integer",
        Kind::Float => "a float",
        Kind::Char => "a character",
        Kind::String => "a string",
        Kind::Enumeration(_) => "an enumeration",
    }
}

fn of_literal(value: &Literal) -> &'static str {
    match value {
        Literal::Boolean(_) => "a boolean",
        Literal::Integer(_) => "an integer",
        Literal::Float(_) => "a float",
        Literal::Text(_) => "a text",
    }
}
