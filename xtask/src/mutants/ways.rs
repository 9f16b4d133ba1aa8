//! Mistakes of `latency` in bounds that are not sums of shares, in limits that rest on them, and in the checker of such evidence.
use super::list::{Mutant, mutant};

pub(crate) const MUTANTS: &[Mutant] = &[
    mutant(
        "along a way, a frame that is not whole counts as sent",
        "tandem.rs",
        "let partial = if of == hop { 0 } else { stage.frame };",
        "let partial = if of == hop { 0 } else { 0 };",
    ),
    mutant(
        "along a way, nothing below is on the wire",
        "tandem.rs",
        "let mut held = i128::from(blocking(&server, contenders, level));",
        "let mut held = i128::from(blocking(&server, contenders, 0).min(server.ahead));",
    ),
    mutant(
        "along a way, levels above come without bursts",
        "tandem.rs",
        "held += i128::from(above.arrival.burst()?);",
        "held += i128::from(above.arrival.burst()?) * 0;",
    ),
    mutant(
        "along a way, others are followed out of the host",
        "tandem.rs",
        "(hop > 0 && same_link",
        "(same_link",
    ),
    mutant(
        "along a way, nothing overtakes a frame between hops",
        "tandem.rs",
        "stage.link.checked_mul(behind.varies)",
        "stage.link.checked_mul(behind.varies * 0)",
    ),
    mutant(
        "along a way, what a proposal leaves over of instants costs nothing",
        "plp.rs",
        "Column::Date(_) => left.checked_abs()?,",
        "Column::Date(_) => 0,",
    ),
    mutant(
        "a limit that rests on a method may be missed by later changes",
        "resting.rs",
        "            cover.keeps(id, admitted, shares)?;",
        "            let _ = cover.keeps(id, admitted, shares);",
    ),
    mutant(
        "who is put back need not leave limits that rest on a method",
        "ledger.rs",
        "if let Err(reason) = self.all_rest(id) {",
        "if let Err(reason) = self.all_rest(id).or(Ok(())) {",
    ),
    mutant(
        "the checker lets what is left over of instants pass",
        "check/way.rs",
        "Column::Date(_) => said.checked_abs()?.checked_mul(furthest)?,",
        "Column::Date(_) => 0,",
    ),
];
