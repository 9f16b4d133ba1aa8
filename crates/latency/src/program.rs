//! Linear programs as they are given to a solver, which is not part of this crate: it proposes, and exact arithmetic decides.
use alloc::vec::Vec;

/// A row: the sum of some columns, each with its factor, is at most `most`.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Columns and their factors; each column once.
    pub terms: Vec<(usize, f64)>,
    /// The most that the sum may be.
    pub most: f64,
}

/// The column with the number `largest` is to be as large as the rows allow.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// For each column whether it may be less than 0.
    pub may_be_negative: Vec<bool>,
    /// The rows. Without them nothing is forbidden; with all columns 0 each of them holds.
    pub rows: Vec<Row>,
    /// The column that is to be large.
    pub largest: usize,
}

/// A solver: for each row how many times it has to be added, not less than 0, so that the sum says what the column is at most. `None` if none
/// are found. Equal programs must have equal answers, so that what was promised once is promised again after a start.
pub type Solver = fn(&Program) -> Option<Vec<f64>>;

/// The solver of a ledger. Ledgers that promise the same are equal whatever solver they have.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Chosen(pub(crate) Option<Solver>);

impl PartialEq for Chosen {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Chosen {}
