//! The rule of the gate, frame by frame (decision 3).
use crate::contract::{Contract, Kind};

/// What becomes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It goes on under the contract.
    Pass {
        /// Whether it is the first frame of a message; true for every frame that a bucket has room for.
        opens: bool,
    },
    /// The bucket has too little for it: it goes on, if the limit of its port lets it, as what has no contract.
    Excess,
    /// It is dropped.
    Drop(Cause),
}

/// Why a frame is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cause {
    /// It would be the first of a message that comes before its time, or is larger than a whole message.
    Early,
    /// It is the rest of a message: of one that a frame shortly before was refused of, or of one that was open for too long.
    Rest,
    /// It comes while a message is open that has no room left for it.
    Cut,
}

impl Verdict {
    /// Whether the frame goes on under the contract.
    pub const fn passes(self) -> bool {
        matches!(self, Self::Pass { .. })
    }
}

/// The gate of one flow. Times are nanoseconds of one clock, from any start.
///
/// What is lost is a whole message and not frames here and there. So the gate has to know where messages begin, also after a stall
/// of the machine has moved them against its openings: after a pause that a sender which keeps its contract has before each message,
/// and behind the last byte of a whole one. None of this ever meets a sender that keeps its contract.
#[derive(Clone, Debug)]
pub struct Gate {
    contract: Contract,
    /// When the next message may begin, but for the tolerance; or when the bucket is full.
    next: u64,
    /// Bytes that the open message may still have.
    left: u32,
    open_until: u64,
    /// When the message began that frames came of last, passed or refused, and the bytes that a whole one has still to come.
    began: u64,
    rest: u32,
    last: u64,
    /// Whether that message was refused.
    refused: bool,
    /// Whether it had a pause before which it may have ended: then its bytes say nothing.
    paused: bool,
    /// Whether frames of the message that was opened last came too late and after a pause, and whether frames of the one before it did.
    late: [bool; 2],
}

impl Gate {
    /// A gate that has seen nothing yet.
    pub const fn new(contract: Contract) -> Self {
        Self {
            contract,
            next: 0,
            left: 0,
            open_until: 0,
            began: 0,
            rest: 0,
            last: 0,
            refused: false,
            paused: false,
            late: [false; 2],
        }
    }

    /// What the flow may send.
    pub const fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Changes what the flow may send from now on. What it has sent stays sent.
    pub const fn change(&mut self, contract: Contract) {
        self.contract = contract;
    }

    /// Judges a frame that takes `octets` on the wire ([`crate::contract::wire_octets`]), and counts it if it passes.
    /// A clock that steps back is taken to stand still.
    pub fn judge(&mut self, now: u64, octets: u32) -> Verdict {
        let now = now.max(self.last);
        let gap = now - self.last;
        self.last = now;
        if self.contract.kind == Kind::Bucket {
            return self.take(now, octets);
        }
        if now <= self.open_until && octets <= self.left {
            self.paused |= gap >= self.contract.quiet();
            self.left -= octets;
            self.rest = self.rest.saturating_sub(octets);
            return Verdict::Pass { opens: false };
        }
        if self.goes_on(now, gap, octets) {
            self.rest = self.rest.saturating_sub(octets);
            return Verdict::Drop(Cause::Rest);
        }
        let contract = &self.contract;
        if octets <= contract.octets && now.saturating_add(contract.tolerance) >= self.next {
            self.left = contract.octets - octets;
            self.rest = self.left;
            self.began = now;
            self.open_until = now.saturating_add(contract.window);
            self.next = now.max(self.next).saturating_add(contract.separation);
            self.refused = false;
            self.paused = false;
            let [late, _] = self.late;
            self.late = [false, late];
            return Verdict::Pass { opens: true };
        }
        // The end of a message that was held up on its way for long is lost, and the next one may begin in its time: one stall of the
        // machine must not cost the messages behind it. If that happens twice, one after the other, then what seems to be the end may be
        // the beginning of the next message.
        let late = self.began.saturating_add(contract.window).saturating_add(contract.separation / 2);
        if !self.refused
            && now > self.open_until
            && now <= late
            && octets <= self.rest
            && let [_, false] = self.late
        {
            self.late = [true, false];
            self.rest -= octets;
            return Verdict::Drop(Cause::Rest);
        }
        // All of this message is refused, and no more: the next one that passes has to be whole. An early one begins now.
        let cause = if now <= self.open_until { Cause::Cut } else { Cause::Early };
        if cause == Cause::Early {
            self.began = now;
        }
        self.left = 0;
        self.open_until = 0;
        self.rest = contract.octets.saturating_sub(octets);
        self.refused = true;
        self.paused = false;
        self.late = [false; 2];
        Verdict::Drop(cause)
    }

    /// Whether a frame that does not fit into an open message is of the one that frames came of last, and not the first of the next.
    fn goes_on(&self, now: u64, gap: u64, bytes: u32) -> bool {
        (bytes <= self.rest || self.paused) && now < self.over_at(gap)
    }

    /// When no frame can be of the message that frames came of last, if one comes so long after the last one.
    fn over_at(&self, gap: u64) -> u64 {
        let (quiet, window, separation) =
            (self.contract.quiet(), self.contract.window, self.contract.separation);
        if gap >= quiet && (quiet > 0 || !self.refused) {
            return 0;
        }
        // The last frame of a refused message may be late, the next message may be early, so the time between the two is halved.
        let most = if self.refused {
            window.max(window / 2 + separation / 2)
        } else {
            window.saturating_add(separation)
        };
        self.began.saturating_add(most)
    }

    /// Takes the bytes of a frame out of the bucket, which is measured by the time until it is full: so nothing has to be filled.
    fn take(&mut self, now: u64, bytes: u32) -> Verdict {
        let full = now.max(self.next).saturating_add(self.contract.filled_in(bytes));
        if full - now > self.contract.separation {
            return Verdict::Excess;
        }
        self.next = full;
        Verdict::Pass { opens: true }
    }

    /// When a message that uses no tolerance may begin, or the bucket is full. A frame within the contract that comes then, or later, passes, and so do
    /// those behind it within the window as long as all of them together are within the contract.
    pub fn next_opening(&self) -> u64 {
        // A message that is open then would take the frame for one of its own, and one that is not over for its rest.
        let over = if self.rest > 0 || self.paused {
            self.over_at(0).min(match self.contract.quiet() {
                0 => u64::MAX,
                quiet => self.last.saturating_add(quiet),
            })
        } else {
            0
        };
        self.next.max(over).max(self.open_until.saturating_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    const CONTRACT: Contract = Contract {
        kind: Kind::Messages,
        octets: 200,
        separation: 1_000,
        tolerance: 50,
        window: 100,
        dscp: 46,
    };
    const OPEN: Verdict = Verdict::Pass { opens: true };
    const MORE: Verdict = Verdict::Pass { opens: false };

    fn judged(frames: &[(u64, u32)]) -> Vec<Verdict> {
        let mut gate = Gate::new(CONTRACT);
        frames.iter().map(|(now, bytes)| gate.judge(*now, *bytes)).collect()
    }

    #[test]
    fn a_message_of_several_frames_passes_and_the_next_one_in_its_time() {
        assert_eq!(judged(&[(0, 100), (100, 100), (950, 200)]), [OPEN, MORE, OPEN]);
    }

    #[test]
    fn an_early_message_is_lost_as_a_whole() {
        let early = [(0, 100), (900, 100), (1_001, 50), (1_449, 50), (1_450, 100)];
        let rest = Verdict::Drop(Cause::Rest);
        assert_eq!(judged(&early), [OPEN, Verdict::Drop(Cause::Early), rest, rest, OPEN]);
        // After so much time it is over, whatever it still has.
        let less = [(0, 100), (900, 100), (1_449, 50), (1_450, 100)];
        assert_eq!(judged(&less), [OPEN, Verdict::Drop(Cause::Early), rest, OPEN]);
        // And after the pause that is before each message.
        assert_eq!(judged(&[(0, 50), (200, 50), (1_049, 50), (1_899, 50)]), [OPEN, rest, rest, OPEN]);
    }

    #[test]
    fn a_message_that_is_too_large_loses_its_end() {
        let large = [(0, 150), (10, 100), (20, 10)];
        assert_eq!(judged(&large), [OPEN, Verdict::Drop(Cause::Cut), Verdict::Drop(Cause::Rest)]);
        assert_eq!(judged(&[(0, 201)]), [Verdict::Drop(Cause::Cut)]);
        assert_eq!(judged(&[(1, 201)]), [Verdict::Drop(Cause::Early)]);
    }

    #[test]
    fn the_end_of_a_message_that_was_held_up_does_not_cost_the_next_one() {
        let rest = Verdict::Drop(Cause::Rest);
        let late = [(0, 50), (90, 50), (550, 50), (600, 50), (1_000, 100), (1_100, 100), (2_000, 200)];
        assert_eq!(judged(&late), [OPEN, MORE, rest, rest, OPEN, MORE, OPEN]);
        // What is more than its end is another message, and early.
        let more = [(0, 50), (550, 150), (560, 50), (1_110, 50)];
        assert_eq!(judged(&more), [OPEN, rest, Verdict::Drop(Cause::Early), OPEN]);
        let too_late = [(0, 50), (851, 50), (940, 50)];
        assert_eq!(judged(&too_late), [OPEN, Verdict::Drop(Cause::Early), rest]);
    }

    /// A stall holds a message up for so long that its end opens the gate, and the next message is cut. Those behind it pass.
    #[test]
    fn after_a_message_that_was_held_up_too_long_whole_ones_pass_again() {
        let mut gate = Gate::new(Contract { window: 600, ..CONTRACT });
        // Its two last frames come in the time of the next one.
        assert_eq!([2_000, 2_100].map(|now| gate.judge(now, 50).passes()), [true; 2]);
        assert_eq!([2_960, 2_970].map(|now| gate.judge(now, 50).passes()), [true; 2]);
        let mut message = |start: u64| {
            let frames = [0, 100, 200, 300].map(|after| gate.judge(start + after, 50).passes());
            frames.iter().filter(|passed| **passed).count()
        };
        assert_eq!(message(3_000), 2);
        assert_eq!([message(4_000), message(5_000), message(6_000)], [4; 3]);
    }

    /// A message that was held up is followed too closely by the next one, which is lost as a whole, also if it takes longer than its
    /// window; the one behind it passes.
    #[test]
    fn an_early_message_never_opens_the_gate_with_its_end() {
        let mut gate = Gate::new(Contract { window: 400, ..CONTRACT });
        let mut message = |start: u64, apart: u64| {
            let frames = [0, 1, 2, 3].map(|frame| gate.judge(start + frame * apart, 50).passes());
            frames.iter().filter(|passed| **passed).count()
        };
        assert_eq!(
            [message(300, 100), message(1_000, 190), message(2_000, 100), message(3_000, 100)],
            [4, 0, 4, 4]
        );
    }

    /// However a stall has shifted the gate against the messages, it does not stay shifted.
    #[test]
    fn a_gate_that_was_opened_in_the_middle_of_a_message_is_right_again_soon() {
        for shift in 0..400 {
            let mut gate = Gate::new(Contract { window: 450, tolerance: 20, ..CONTRACT });
            // The end of a message that nothing had opened.
            assert!(gate.judge(1_000 + shift, 50).passes());
            let whole: Vec<bool> = (2..9)
                .map(|message| {
                    let start = message * 1_005;
                    [0, 130, 260, 390].map(|after| gate.judge(start + after, 50).passes()) == [true; 4]
                })
                .collect();
            assert_eq!(whole[3..], [true; 4], "shifted by {shift}: {whole:?}");
        }
    }

    /// When what a link would have carried at `at` comes, if it stands still in these stalls (from, time) and then goes at twice the speed.
    fn held_up(at: u64, stalls: &[(u64, u64)]) -> u64 {
        stalls.iter().fold(at, |at, (from, time)| {
            at + time.saturating_sub(at.saturating_sub(*from) / 2) * u64::from(at >= *from)
        })
    }

    /// Messages of 35 frames that fill their link for more than half of the time: whenever a machine stands still three times in some
    /// milliseconds, those are lost that it held up and at most one more.
    #[test]
    fn a_cluster_of_stalls_costs_few_messages() {
        const EACH: u64 = 7_605;
        let contract =
            Contract { octets: 3_500, separation: 7_500, tolerance: 124, window: 4_337, ..CONTRACT };
        for start in (2 * EACH..3 * EACH).step_by(15) {
            let stalls = [(start, 1_500), (start + 4_000, 1_300), (start + 8_000, 2_950)];
            let mut gate = Gate::new(contract);
            let lost: Vec<u64> = (0..20)
                .filter(|message| {
                    let frames = (1..=35).map(|frame| held_up(message * EACH + frame * 121, &stalls));
                    frames.filter(|now| !gate.judge(*now, 100).passes()).count() > 0
                })
                .collect();
            let met = |message: &&u64| {
                stalls
                    .iter()
                    .any(|(from, time)| *message * EACH <= from + time && (*message + 1) * EACH > *from)
            };
            let others = lost.len() - lost.iter().filter(met).count();
            assert!(lost.len() <= 4 && others <= 1, "stalls from {start}: {lost:?}");
        }
    }

    #[test]
    fn tolerance_is_used_up_once() {
        let hasty = [(0, 200), (975, 200), (1_950, 200), (2_925, 200)];
        assert_eq!(judged(&hasty), [OPEN, OPEN, OPEN, Verdict::Drop(Cause::Early)]);
    }

    #[test]
    fn what_a_bucket_has_no_room_for_is_excess_and_takes_nothing() {
        let mut gate = Gate::new(Contract { kind: Kind::Bucket, tolerance: 0, window: 0, ..CONTRACT });
        let excess = Verdict::Excess;
        assert_eq!(
            [(0, 150), (0, 51), (0, 50), (0, 1)].map(|(t, n)| gate.judge(t, n)),
            [OPEN, excess, OPEN, excess]
        );
        // Empty at 0, it is full at 1,000 and holds no more later.
        assert_eq!([(499, 100), (500, 100), (500, 1)].map(|(t, n)| gate.judge(t, n)), [excess, OPEN, excess]);
        assert_eq!(gate.next_opening(), 1_500);
        assert_eq!(
            [(9_000, 201), (9_000, 200), (9_004, 1), (9_005, 1)].map(|(t, n)| gate.judge(t, n)),
            [excess, OPEN, excess, OPEN]
        );
    }

    #[test]
    fn a_clock_that_steps_back_stands_still() {
        let mut gate = Gate::new(CONTRACT);
        assert_eq!(gate.judge(5_000, 200), OPEN);
        assert_eq!(gate.judge(10, 200), Verdict::Drop(Cause::Cut));
        assert_eq!(gate.judge(u64::MAX, 200), OPEN);
        assert!(!gate.judge(u64::MAX, 200).passes() || gate.next_opening() == u64::MAX);
    }

    #[test]
    fn another_contract_does_not_forget_what_was_sent() {
        let mut gate = Gate::new(CONTRACT);
        assert_eq!(gate.judge(0, 200), OPEN);
        gate.change(Contract { separation: 10_000, ..CONTRACT });
        assert_eq!(gate.judge(1_000, 200), OPEN);
        assert_eq!(gate.judge(9_000, 200), Verdict::Drop(Cause::Early));
    }
}
