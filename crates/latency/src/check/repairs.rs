//! Checks a bound with losses again, in fractions that are not rounded: every order in which frames may be lost is walked through.
use super::Fault;

/// What is claimed of a flow with losses to a subscriber: limits are in picoseconds, each of them certified for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Repaired {
    /// Lost frames.
    pub frames: u32,
    /// The time in which no more than these are lost.
    pub within: u64,
    /// The limit with losses.
    pub limit: u64,
    /// Limits of a first transmission, of a question, and of a repair.
    pub ways: [u64; 3],
    /// The least separations of questions and of repairs.
    pub spacing: u64,
    /// What a host takes to react.
    pub reaction: u64,
    /// By how much clocks run apart, in parts of a million.
    pub drift: u32,
    /// What the writer waits before it asks for an acknowledgement, and the reader before it asks, and before it asks again.
    pub waits: [u64; 3],
}

/// Hosts' clocks may show a million for so much less.
const MILLION: u128 = 1_000_000;

/// Checks that no sample is later than the limit.
///
/// # Errors
/// [`Fault::Limit`] if one may be, [`Fault::Shape`] if waits are too short or numbers out of range.
pub fn check_repaired(claim: &Repaired) -> Result<(), Fault> {
    let slow = MILLION.checked_sub(claim.drift.into()).filter(|slow| *slow > 0).ok_or(Fault::Shape)?;
    if !(1..=4).contains(&claim.frames) || u128::from(claim.within) < 2 * u128::from(claim.limit) {
        return Err(Fault::Shape);
    }
    // In units of a picosecond by `slow`: then what a clock shows is a million of them at most for each picosecond, and no less than
    // `slow` squared by a million; nothing is above 2^127 as long as times are below 2^64.
    let real = |time: u64| u128::from(time) * slow;
    let shown = |time: u64| u128::from(time) * MILLION;
    let [sample, question, repair] = claim.ways.map(real);
    let [heartbeat, patience, again] = claim.waits;
    let react = real(claim.reaction);
    let slot = shown(claim.spacing) + react;
    let frames = u128::from(claim.frames);
    // From a question until all that it asks for has come: a datagram that has just left, HEARTBEATs twice, and a repair for each lost frame.
    let mut answered = question + react;
    for _ in 0..claim.frames + 2 {
        answered += slot;
    }
    answered += repair;
    // A wait ends early by a clock that is fast.
    let least = |time: u64| u128::from(time) * slow * slow / MILLION;
    if least(patience) < sample || least(again) < answered + react || least(heartbeat) < (frames + 2) * slot {
        return Err(Fault::Shape);
    }
    for announcements in 1..=claim.frames {
        let mut now = 0;
        for _ in 0..announcements {
            now += shown(heartbeat) + react;
        }
        now = sample.max(now + slot + repair);
        now += shown(patience) + react + slot;
        for _ in announcements..claim.frames {
            now += shown(again) + react + slot;
        }
        if now + answered > real(claim.limit) {
            return Err(Fault::Limit { subscriber: 0 });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repair::Ways;

    /// A claim is right with the bound of the other arithmetic, and hardly with less.
    #[test]
    fn both_arithmetics_agree() {
        let mut random = testkit::random::Random::new(7);
        for _ in 0..2_000 {
            let mut time = |most: u64| random.range(1, most);
            let ways = Ways {
                sample: time(10_000_000_000),
                question: time(1_000_000_000),
                repair: time(1_000_000_000),
                spacing: time(1_000_000_000),
                reaction: time(1_000_000_000),
                drift: time(90_000) as u32,
            };
            let frames = time(4) as u32;
            let conduct = ways.conduct(frames).unwrap();
            let limit = ways.latest(&conduct, frames).unwrap().sum().unwrap();
            let claim = Repaired {
                frames,
                within: 2 * limit,
                limit,
                ways: [ways.sample, ways.question, ways.repair],
                spacing: ways.spacing,
                reaction: ways.reaction,
                drift: ways.drift,
                waits: [conduct.heartbeat, conduct.patience, conduct.again],
            };
            assert_eq!(check_repaired(&claim), Ok(()), "{claim:?}");
            // Each of a few times is rounded up.
            let less = Repaired { limit: limit - 60, ..claim };
            assert_eq!(check_repaired(&less), Err(Fault::Limit { subscriber: 0 }), "{claim:?}");
            for at in 0..3 {
                let mut hasty = claim;
                hasty.waits[at] -= 60;
                assert_eq!(check_repaired(&hasty), Err(Fault::Shape), "{claim:?}");
            }
            assert_eq!(check_repaired(&Repaired { within: 2 * limit - 1, ..claim }), Err(Fault::Shape));
            assert_eq!(check_repaired(&Repaired { frames: 5, ..claim }), Err(Fault::Shape));
            assert_eq!(check_repaired(&Repaired { drift: 1_000_000, ..claim }), Err(Fault::Shape));
        }
    }
}
