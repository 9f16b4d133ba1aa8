//! How late a sample of a reliable flow may be if no more than so many frames are lost in a stated time: docs/decisions/0016-losses.md.
//!
//! A reader learns from a HEARTBEAT that something is missing: one that comes with a later sample, or one that the writer sends by itself when no
//! acknowledgement has come. It asks, and the writer repeats. HEARTBEATs that go alone and repairs go along a flow of their own to each
//! reader, and questions along one to the writer, so that each has a bound. Each frame that is lost costs one wait: of the writer as long as the
//! reader does not know, and of the reader from then on.
use crate::policing::stretched;

/// The most lost frames that a bound is stated for: of so many incomplete samples a reader asks for all at once.
pub const MOST_FRAMES: u32 = 4;
/// The most fragments of a sample that a reader asks for at once.
pub const MOST_FRAGMENTS: u64 = 256;
/// Samples that may be announced while one of them may be on its way: a reader remembers 16 announcements, and while a sample may be
/// on its way those of twice that time come.
pub const MOST_UNDER_WAY: u64 = 7;

/// The bounds of the ways between two hosts, and what the hosts take, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ways {
    /// Of a sample, from its first frame at the writer's port to the reception of the last one.
    pub sample: u64,
    /// Of a datagram to the writer.
    pub question: u64,
    /// Of a repair or a HEARTBEAT to the reader.
    pub repair: u64,
    /// The least time between two questions, and between two repairs.
    pub spacing: u64,
    /// The longest time that a host takes to do what is due: from a reception, or the end of a wait, to the datagram's place at its port.
    pub reaction: u64,
    /// By how much its clocks run apart from a perfect one, in parts of a million.
    pub drift: u32,
}

/// What writer and reader have to keep, in picoseconds of their own clocks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conduct {
    /// A writer that waits for an acknowledgement asks for it so long after a sample, and again each time.
    pub heartbeat: u64,
    /// A reader asks for a sample so long after it was announced.
    pub patience: u64,
    /// A reader asks again so long after it has asked.
    pub again: u64,
}

/// The terms of a bound with losses, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Terms {
    /// Until the reader has heard that the sample was sent.
    pub known: u64,
    /// Until its question has left.
    pub asked: u64,
    /// Until the last question has left, if those before it, or their repairs, were lost.
    pub again: u64,
    /// From there until the repair has come.
    pub repaired: u64,
}

impl Terms {
    /// The bound.
    pub fn sum(&self) -> Option<u64> {
        self.known.checked_add(self.asked)?.checked_add(self.again)?.checked_add(self.repaired)
    }
}

impl Ways {
    /// The longest time from one datagram beside the messages to the next, if one waits.
    fn slot(&self) -> Option<u64> {
        stretched(self.spacing, self.drift)?.checked_add(self.reaction)
    }

    /// Slots that may pass until the last repair leaves: of the datagram before the question came, of a HEARTBEAT or two, and of `frames`
    /// repairs, the first of which waits for no other.
    fn slots(&self, frames: u32) -> Option<u64> {
        self.slot()?.checked_mul(u64::from(frames) + 2)
    }

    /// From a question to what was asked for.
    fn round(&self, frames: u32) -> Option<u64> {
        self.question.checked_add(self.reaction)?.checked_add(self.slots(frames)?)?.checked_add(self.repair)
    }

    /// The shortest waits with which no question is put too early.
    pub fn conduct(&self, frames: u32) -> Option<Conduct> {
        Some(Conduct {
            heartbeat: stretched(self.slots(frames)?, self.drift)?.max(1),
            patience: stretched(self.sample, self.drift)?,
            // A question is on its way to the port for a part of that.
            again: stretched(self.round(frames)?.checked_add(self.reaction)?, self.drift)?,
        })
    }

    /// The terms of the bound: most time from the first frame of a sample at the writer's port until it and all samples before it are whole at the
    /// reader, if no more than `frames` frames are lost, of samples, HEARTBEATs, questions and repairs between the two, from as long before the sample until then.
    ///
    /// `None` if there is none: a number is out of its range, or waits are shorter than those of [`Ways::conduct`].
    pub fn latest(&self, conduct: &Conduct, frames: u32) -> Option<Terms> {
        if !(1..=MOST_FRAMES).contains(&frames) {
            return None;
        }
        let least = self.conduct(frames)?;
        if conduct.heartbeat < least.heartbeat
            || conduct.patience < least.patience
            || conduct.again < least.again
        {
            return None;
        }
        let slot = self.slot()?;
        let wait = |time: u64| stretched(time, self.drift)?.checked_add(self.reaction);
        let asked = wait(conduct.patience)?.checked_add(slot)?;
        let repaired = self.round(frames)?;
        let mut worst: Option<Terms> = None;
        for before in 1..=frames {
            // So many are lost before the reader knows that something is missing, the sample's own among them, and the others behind that.
            let beats = wait(conduct.heartbeat)?.checked_mul(u64::from(before))?;
            let known = beats.checked_add(slot)?.checked_add(self.repair)?.max(self.sample);
            let again = wait(conduct.again)?.checked_add(slot)?.checked_mul(u64::from(frames - before))?;
            let terms = Terms { known, asked, again, repaired };
            let is_later = |worst: &Terms| terms.sum() > worst.sum();
            terms.sum()?;
            if worst.as_ref().is_none_or(is_later) {
                worst = Some(terms);
            }
        }
        worst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAYS: Ways = Ways { sample: 300, question: 20, repair: 50, spacing: 100, reaction: 0, drift: 0 };

    #[test]
    fn a_lost_frame_costs_a_wait_and_the_way_there_and_back() {
        let conduct = WAYS.conduct(1).unwrap();
        // Three slots; a sample; a question, three slots, a repair.
        assert_eq!(conduct, Conduct { heartbeat: 300, patience: 300, again: 370 });
        let terms = WAYS.latest(&conduct, 1).unwrap();
        assert_eq!(terms, Terms { known: 450, asked: 400, again: 0, repaired: 370 });
        let conduct = WAYS.conduct(2).unwrap();
        assert_eq!(conduct, Conduct { heartbeat: 400, patience: 300, again: 470 });
        let terms = WAYS.latest(&conduct, 2).unwrap();
        assert_eq!(terms, Terms { known: 550, asked: 400, again: 570, repaired: 470 });
        // A writer that asks seldom is what the losses are best spent on.
        let seldom = Conduct { heartbeat: 1_000, ..conduct };
        assert_eq!(
            WAYS.latest(&seldom, 2).unwrap(),
            Terms { known: 2_150, asked: 400, again: 0, repaired: 470 }
        );
    }

    #[test]
    fn clocks_and_hosts_make_waits_longer() {
        let ways = Ways { reaction: 7, drift: 100_000, ..WAYS };
        let conduct = ways.conduct(1).unwrap();
        let slot = stretched(100, 100_000).unwrap() + 7;
        let round = 20 + 7 + 3 * slot + 50;
        assert_eq!(conduct.again, stretched(round + 7, 100_000).unwrap());
        let terms = ways.latest(&conduct, 1).unwrap();
        assert_eq!(terms.known, stretched(conduct.heartbeat, 100_000).unwrap() + 7 + slot + 50);
        assert_eq!(terms.asked, stretched(conduct.patience, 100_000).unwrap() + 7 + slot);
        assert_eq!(terms.repaired, round);
    }

    #[test]
    fn shorter_waits_and_other_numbers_have_no_bound() {
        let conduct = WAYS.conduct(2).unwrap();
        assert_eq!(WAYS.latest(&conduct, 0), None);
        assert_eq!(WAYS.latest(&conduct, 3), None);
        assert_eq!(WAYS.latest(&Conduct { again: u64::MAX, ..conduct }, 2), None);
        for less in [
            Conduct { heartbeat: conduct.heartbeat - 1, ..conduct },
            Conduct { patience: conduct.patience - 1, ..conduct },
            Conduct { again: conduct.again - 1, ..conduct },
        ] {
            assert_eq!(WAYS.latest(&less, 2), None);
        }
        assert_eq!(Ways { sample: u64::MAX, drift: 1, ..WAYS }.conduct(1), None);
    }
}
