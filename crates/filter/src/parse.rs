//! Parses an expression, to comparisons that know where to go on.
use alloc::string::String;
use alloc::vec::Vec;

use crate::error::{SyntaxError, SyntaxProblem};
use crate::tokens::{Literal, Relation, Token, Tokens};

/// Limits of an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The length of the text, in bytes.
    pub bytes: usize,
    /// How many parentheses and NOT lie in each other.
    pub depth: usize,
    /// How many comparisons it has; BETWEEN is two. At most 65,000 in any case.
    pub comparisons: usize,
}

impl Default for Limits {
    /// 16 KiB, 64 in each other, 1,000 comparisons.
    fn default() -> Self {
        Self { bytes: 16 << 10, depth: 64, comparisons: 1_000 }
    }
}

/// The most comparisons that an expression can have: their numbers, and two more, fit in 16 bits.
const MOST_COMPARISONS: usize = 65_000;

/// A filter expression whose text is correct. Which fields there are is not known yet: [`Expression::compile`].
///
/// NOT is gone: it is moved inwards until it is at comparisons. What is left are comparisons in the order of the text, of which each knows the
/// next one for either result. That makes AND and OR, and evaluates from left to right, no more than is needed.
#[derive(Clone, PartialEq, Debug)]
pub struct Expression {
    pub(crate) comparisons: Vec<Comparison>,
}

/// A comparison.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Comparison {
    pub(crate) left: Placed,
    pub(crate) relation: Relation,
    pub(crate) right: Placed,
    pub(crate) flow: Flow,
}

/// The result of a comparison, and where it leads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Flow {
    /// Whether it is to be false.
    pub(crate) negated: bool,
    /// The next comparison if it is so; or an end.
    pub(crate) if_so: u16,
    /// The next comparison if it is not so, or is unknown; or an end.
    pub(crate) otherwise: u16,
}

/// The end of [`Flow`] where a sample passes.
pub(crate) const PASS: u16 = u16::MAX;
/// The end of [`Flow`] where it does not.
pub(crate) const DROP: u16 = u16::MAX - 1;

/// One side of a comparison, and where it stands in the text.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Placed {
    pub(crate) at: usize,
    pub(crate) term: Term,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Term {
    Field(String),
    Literal(Literal),
    Parameter(u8),
}

impl Expression {
    /// Parses a text within the usual limits.
    ///
    /// # Errors
    /// The text is no expression, or exceeds a limit; the error has the place.
    pub fn parse(text: &str) -> Result<Self, SyntaxError> {
        Self::parse_within(text, &Limits::default())
    }

    /// Parses a text within limits.
    ///
    /// # Errors
    /// The text is no expression, or exceeds a limit; the error has the place.
    pub fn parse_within(text: &str, limits: &Limits) -> Result<Self, SyntaxError> {
        if text.len() > limits.bytes {
            let problem = SyntaxProblem::TooLong(limits.bytes);
            return Err(SyntaxError { at: limits.bytes, problem });
        }
        let mut tokens = Tokens::new(text);
        let (at, next) = tokens.next()?;
        let mut parser = Parser { tokens, at, next, limits: *limits, depth: 0, comparisons: Vec::new() };
        let exits = parser.any_of(false)?;
        if parser.next != Token::End {
            return Err(parser.expected("AND, OR or the end"));
        }
        parser.lead(&exits.if_so, PASS, true);
        parser.lead(&exits.otherwise, DROP, false);
        Ok(Self { comparisons: parser.comparisons })
    }

    /// How many parameters it needs: one more than the largest `%n`.
    pub fn parameters(&self) -> usize {
        let sides = self.comparisons.iter().flat_map(|comparison| [&comparison.left, &comparison.right]);
        let numbers = sides.map(|side| match side.term {
            Term::Parameter(number) => usize::from(number) + 1,
            _ => 0,
        });
        numbers.max().unwrap_or(0)
    }

    /// The fields that it names, in the order of the text; a field that it names twice comes twice.
    pub fn fields(&self) -> impl Iterator<Item = crate::Path<'_>> {
        let sides = self.comparisons.iter().flat_map(|comparison| [&comparison.left, &comparison.right]);
        sides.filter_map(|side| match &side.term {
            Term::Field(path) => Some(crate::Path::of_parsed(path)),
            _ => None,
        })
    }
}

/// The comparisons whose results lead out of a condition, and do not know yet where to.
#[derive(Default)]
struct Exits {
    if_so: Vec<u16>,
    otherwise: Vec<u16>,
}

struct Parser<'a> {
    /// Behind the next token.
    tokens: Tokens<'a>,
    /// Where the next token begins.
    at: usize,
    next: Token,
    limits: Limits,
    depth: usize,
    comparisons: Vec<Comparison>,
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<Token, SyntaxError> {
        let (at, next) = self.tokens.next()?;
        self.at = at;
        Ok(core::mem::replace(&mut self.next, next))
    }

    fn expected(&self, expected: &'static str) -> SyntaxError {
        let found = self.tokens.written(self.at);
        SyntaxError { at: self.at, problem: SyntaxProblem::Expected { expected, found } }
    }

    /// Tells comparisons where one of their results leads.
    fn lead(&mut self, from: &[u16], to: u16, if_so: bool) {
        for number in from {
            if let Some(comparison) = self.comparisons.get_mut(usize::from(*number)) {
                let exit = if if_so { &mut comparison.flow.if_so } else { &mut comparison.flow.otherwise };
                *exit = to;
            }
        }
    }

    fn position(&self) -> u16 {
        u16::try_from(self.comparisons.len()).unwrap_or(DROP)
    }

    /// Conditions with OR between them; with `negated`, that none of them holds.
    fn any_of(&mut self, negated: bool) -> Result<Exits, SyntaxError> {
        self.chain(Token::Or, negated, |parser| parser.all_of(negated))
    }

    fn all_of(&mut self, negated: bool) -> Result<Exits, SyntaxError> {
        self.chain(Token::And, negated, |parser| parser.condition(negated))
    }

    /// Conditions with `between` between them. NOT turns an AND of conditions into an OR of the opposite conditions, and an OR into an AND.
    fn chain(
        &mut self,
        between: Token,
        negated: bool,
        mut part: impl FnMut(&mut Self) -> Result<Exits, SyntaxError>,
    ) -> Result<Exits, SyntaxError> {
        let goes_on_if_so = (between == Token::And) != negated;
        let mut exits = part(self)?;
        while self.next == between {
            self.advance()?;
            let here = self.position();
            let onward = if goes_on_if_so { &mut exits.if_so } else { &mut exits.otherwise };
            let onward = core::mem::take(onward);
            self.lead(&onward, here, goes_on_if_so);
            let more = part(self)?;
            exits.if_so.extend(more.if_so);
            exits.otherwise.extend(more.otherwise);
        }
        Ok(exits)
    }

    fn deeper(&mut self) -> Result<(), SyntaxError> {
        self.depth += 1;
        if self.depth > self.limits.depth {
            let problem = SyntaxProblem::TooDeep(self.limits.depth);
            return Err(SyntaxError { at: self.at, problem });
        }
        Ok(())
    }

    fn condition(&mut self, negated: bool) -> Result<Exits, SyntaxError> {
        match self.next {
            Token::Not => {
                self.deeper()?;
                self.advance()?;
                let exits = self.condition(!negated)?;
                self.depth -= 1;
                Ok(exits)
            }
            Token::Open => {
                self.deeper()?;
                self.advance()?;
                let exits = self.any_of(negated)?;
                if self.next != Token::Close {
                    return Err(self.expected("AND, OR or `)`"));
                }
                self.advance()?;
                self.depth -= 1;
                Ok(exits)
            }
            _ => self.predicate(negated),
        }
    }

    fn predicate(&mut self, negated: bool) -> Result<Exits, SyntaxError> {
        let left = self.term("a field, a value, a parameter, NOT or `(`")?;
        match self.next {
            Token::Relation(relation) => {
                self.advance()?;
                let right = self.term("a field, a value or a parameter")?;
                let number = self.comparison(left, relation, right, negated)?;
                Ok(Exits { if_so: Vec::from([number]), otherwise: Vec::from([number]) })
            }
            Token::Not | Token::Between if matches!(left.term, Term::Field(_)) => {
                let is_outside = self.next == Token::Not;
                if is_outside {
                    self.advance()?;
                    if self.next != Token::Between {
                        return Err(self.expected("BETWEEN"));
                    }
                }
                self.advance()?;
                self.range(left, negated != is_outside)
            }
            _ => Err(self.expected("an operator")),
        }
    }

    /// At least the one bound, and at most the other; with `negated`, less than the one or more than the other.
    fn range(&mut self, field: Placed, negated: bool) -> Result<Exits, SyntaxError> {
        let low = self.bound()?;
        if self.next != Token::And {
            return Err(self.expected("AND and the second bound"));
        }
        self.advance()?;
        let high = self.bound()?;
        let first = self.comparison(field.clone(), Relation::GreaterOrEqual, low, negated)?;
        let second = self.comparison(field, Relation::LessOrEqual, high, negated)?;
        self.lead(&[first], second, !negated);
        let both = Vec::from([first, second]);
        let last = Vec::from([second]);
        Ok(if negated {
            Exits { if_so: both, otherwise: last }
        } else {
            Exits { if_so: last, otherwise: both }
        })
    }

    fn bound(&mut self) -> Result<Placed, SyntaxError> {
        if matches!(self.next, Token::Path(_)) {
            return Err(self.expected("a value or a parameter"));
        }
        self.term("a value or a parameter")
    }

    fn term(&mut self, expected: &'static str) -> Result<Placed, SyntaxError> {
        if !matches!(self.next, Token::Path(_) | Token::Literal(_) | Token::Parameter(_)) {
            return Err(self.expected(expected));
        }
        let at = self.at;
        let term = match self.advance()? {
            Token::Path(path) => Term::Field(path),
            Token::Literal(literal) => Term::Literal(literal),
            Token::Parameter(number) => Term::Parameter(number),
            _ => return Err(self.expected(expected)),
        };
        Ok(Placed { at, term })
    }

    fn comparison(
        &mut self,
        left: Placed,
        relation: Relation,
        right: Placed,
        negated: bool,
    ) -> Result<u16, SyntaxError> {
        let limit = self.limits.comparisons.min(MOST_COMPARISONS);
        if self.comparisons.len() >= limit {
            return Err(SyntaxError { at: left.at, problem: SyntaxProblem::TooManyComparisons(limit) });
        }
        let number = self.position();
        let flow = Flow { negated, if_so: PASS, otherwise: DROP };
        self.comparisons.push(Comparison { left, relation, right, flow });
        Ok(number)
    }
}
