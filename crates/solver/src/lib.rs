//! Solves the linear programs of `latency` in floating point. What it answers is a proposal: `latency` computes in integers what follows from it,
//! so that a wrong answer may cost an admission, and breaks no promise. No program draws random numbers or looks at a clock, so that equal
//! programs have equal answers.
#![forbid(unsafe_code)]

use std::panic::{AssertUnwindSafe, catch_unwind};

use latency::program::{Program, Row};
use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem};

/// For each row of a program how many times it has to be added, so that the sum says the least that is known to be the most of the column; `None`
/// if none are found.
///
/// What is solved is the dual program, which has the multipliers for its variables. No factor of the objective is less than 0 there, so that the
/// dual simplex method begins at once.
pub fn multipliers(program: &Program) -> Option<Vec<f64>> {
    // A fault of the solver is not one of the program that asks.
    catch_unwind(AssertUnwindSafe(|| solve(program))).ok().flatten()
}

fn solve(program: &Program) -> Option<Vec<f64>> {
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let add = |row: &Row| problem.add_var(row.most, (0.0, f64::INFINITY));
    let variables: Vec<_> = program.rows.iter().map(add).collect();
    let mut columns = vec![LinearExpr::empty(); program.may_be_negative.len()];
    for (row, variable) in program.rows.iter().zip(&variables) {
        for (column, factor) in &row.terms {
            columns.get_mut(*column)?.add(*variable, *factor);
        }
    }
    for (at, (column, may_be_negative)) in columns.into_iter().zip(&program.may_be_negative).enumerate() {
        let operator = if *may_be_negative { ComparisonOp::Eq } else { ComparisonOp::Ge };
        problem.add_constraint(column, operator, if at == program.largest { 1.0 } else { 0.0 });
    }
    let solution = problem.solve().ok()?.into_solution().ok()?;
    Some(variables.into_iter().map(|variable| solution.var_value(variable)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(terms: &[(usize, f64)], most: f64) -> Row {
        Row { terms: terms.to_vec(), most }
    }

    #[test]
    fn the_multipliers_say_what_the_column_is_at_most() {
        // x + y at most 4, x - y at most 2, y at least 0: x is 3 at most.
        let rows =
            vec![row(&[(0, 1.0), (1, 1.0)], 4.0), row(&[(0, 1.0), (1, -1.0)], 2.0), row(&[(1, 1.0)], 9.0)];
        let program = Program { may_be_negative: vec![true, false], rows, largest: 0 };
        assert_eq!(multipliers(&program), Some(vec![0.5, 0.5, 0.0]));
    }

    #[test]
    fn what_has_no_end_has_no_multipliers() {
        let rows = vec![row(&[(0, 1.0), (1, -1.0)], 2.0)];
        assert_eq!(multipliers(&Program { may_be_negative: vec![true, false], rows, largest: 0 }), None);
        let rows = vec![row(&[(7, 1.0)], 2.0)];
        assert_eq!(multipliers(&Program { may_be_negative: vec![true], rows, largest: 0 }), None);
    }
}
