//! The bound of a way by a linear program. A solver in floating point proposes how many times each row is added; what the sum says is
//! computed here in integers, rounded against us. Whatever is left over of a column, because a proposal is not exact, counts with the most
//! that the column can be. So a bad proposal makes a bound larger, never wrong.
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::facts::{Column, Fact, PARTS};
use crate::program::{Program, Row, Solver};
use crate::tandem::{Line, Tandem};
use crate::work::Work;

/// How many rows a program may have.
const MOST_ROWS: usize = 2_500;
/// The steps of a program: those of any, and those for each row and column. They take as long as other steps, more or less.
const STEPS: u64 = 100_000;
const STEPS_OF_PAIR: usize = 40;
/// A row with a smaller multiplier is left out.
const LEAST: f64 = 1e-12;

/// Facts, and how many parts of one each of them counts.
pub(crate) type Multipliers = Vec<(Fact, u128)>;

/// A bound of the time from when a frame comes to the first queue until it has been sent by the last hop, in picoseconds, and what it rests on.
pub(crate) fn bound(tandem: &Tandem, solver: Solver, work: &Work) -> Option<(u64, Multipliers)> {
    let lines = tandem.lines()?;
    let mut columns: BTreeMap<Column, usize> = BTreeMap::new();
    for column in lines.iter().flat_map(|(_, (terms, _))| terms).map(|(column, _)| *column) {
        let next = columns.len();
        columns.entry(column).or_insert(next);
    }
    if lines.len() > MOST_ROWS {
        return None;
    }
    work.charge(STEPS)?;
    work.charge_each(STEPS_OF_PAIR * lines.len() * columns.len())?;
    let scale = Scale::of(tandem)?;
    let rows = lines.iter().map(|(_, line)| scale.row(line, &columns)).collect::<Option<_>>()?;
    let mut may_be_negative = alloc::vec![true; columns.len()];
    for (column, at) in &columns {
        *may_be_negative.get_mut(*at)? = matches!(column, Column::Date(_));
    }
    let proposed = solver(&Program { may_be_negative, rows, largest: *columns.get(&tandem.end())? })?;
    let counts = lines.iter().zip(proposed).filter(|(_, multiplier)| *multiplier > LEAST);
    let counts = counts.map(|((fact, line), multiplier)| (*fact, scale.parts(line, multiplier), line));
    let chosen: Vec<(Fact, u128, &Line)> = counts.filter(|(_, parts, _)| *parts > 0).collect();
    let latency = sum(tandem, chosen.iter().map(|(_, parts, line)| (*parts, *line)))?;
    Some((latency, chosen.into_iter().map(|(fact, parts, _)| (fact, parts)).collect()))
}

/// What rows say together of the last instant.
fn sum<'l>(tandem: &Tandem, rows: impl Iterator<Item = (u128, &'l Line)>) -> Option<u64> {
    let whole = i128::try_from(PARTS).ok()?;
    let mut most = 0_i128;
    let mut left: BTreeMap<Column, i128> = BTreeMap::from([(tandem.end(), whole)]);
    for (parts, (terms, at_most)) in rows {
        let parts = i128::try_from(parts).ok()?;
        most = most.checked_add(parts.checked_mul(*at_most)?)?;
        for (column, factor) in terms {
            let left = left.entry(*column).or_default();
            *left = left.checked_sub(parts.checked_mul(*factor)?)?;
        }
    }
    for (column, left) in left.into_iter().filter(|(_, left)| *left != 0) {
        let left = match column {
            Column::Date(_) => left.checked_abs()?,
            Column::Bits(..) => left.max(0),
        };
        most = most.checked_add(left.checked_mul(tandem.most(column)?)?)?;
    }
    u64::try_from(most.checked_add(whole - 1)?.div_euclid(whole)).ok()
}

/// Numbers of a program are about one: times in parts of the longest, bits in what the fastest link sends in that time.
struct Scale {
    time: f64,
    fastest: f64,
}

impl Scale {
    fn of(tandem: &Tandem) -> Option<Self> {
        let (time, fastest) = (tandem.longest()?, tandem.fastest());
        (time > 0 && fastest > 0).then_some(Self { time: time as f64, fastest: fastest as f64 })
    }

    fn counts_bits((terms, _): &Line) -> bool {
        terms.iter().any(|(column, _)| matches!(column, Column::Bits(..)))
    }

    fn row(&self, line: &Line, columns: &BTreeMap<Column, usize>) -> Option<Row> {
        let unit = if Self::counts_bits(line) { self.fastest } else { 1.0 };
        let term = |(column, factor): &(Column, i128)| {
            let of_column = if matches!(column, Column::Bits(..)) { self.fastest } else { 1.0 };
            Some((*columns.get(column)?, *factor as f64 * of_column / unit))
        };
        let terms = line.0.iter().map(term).collect::<Option<_>>()?;
        Some(Row { terms, most: line.1 as f64 / (unit * self.time) })
    }

    fn parts(&self, line: &Line, multiplier: f64) -> u128 {
        let unit = if Self::counts_bits(line) { self.fastest } else { 1.0 };
        (multiplier * (PARTS as f64) / unit) as u128
    }
}
