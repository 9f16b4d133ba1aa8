//! How late a sample of a reliable flow may be of which frames were lost, or frames of its repair.
//!
//! A reader learns that something is missing from a HEARTBEAT: one that came with a later frame, or one that the writer sends by itself when
//! no acknowledgement has come. It asks, and the writer repeats. Each frame that is lost on the way costs one wait: of the writer, as long as the
//! reader does not know, and of the reader from then on. The waits are those of Punctual's machines, see [`Conduct::PUNCTUAL`]; the
//! test `losses` of `rtps` loses any few datagrams of the machines themselves and compares.
//!
//! It says nothing of what repairs, questions and HEARTBEATs do to each other and to flows: their ways must have bounds of their own.

/// What writer and reader promise, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conduct {
    /// A writer that waits for an acknowledgement asks by a HEARTBEAT so long after a sample; each time after twice the wait before,
    pub heartbeat: u64,
    /// and at most after that.
    pub longest_heartbeat: u64,
    /// A reader asks so long after a HEARTBEAT that wants no answer has shown that something is missing.
    pub patience: u64,
    /// It asks for the same again so long after it has asked,
    pub again: u64,
    /// so many times; then after twice the wait before,
    pub times: u32,
    /// which doubles so often at most.
    pub doublings: u32,
    /// A writer passes over the same question so long after it has heard it.
    pub deaf: u64,
}

const MILLISECOND: u64 = crate::units::MILLISECOND;

impl Conduct {
    /// What Punctual's writers and readers do.
    pub const PUNCTUAL: Self = Self {
        heartbeat: 20 * MILLISECOND,
        longest_heartbeat: 500 * MILLISECOND,
        patience: MILLISECOND / 2,
        again: 20 * MILLISECOND,
        times: 4,
        doublings: 3,
        deaf: 10 * MILLISECOND,
    };

    /// How long a reader that asks may have heard nothing of the writer's, if so many HEARTBEATs were lost.
    fn unheard(&self, lost: u32) -> Option<u64> {
        let mut sum = 0_u64;
        let mut wait = self.heartbeat;
        for _ in 0..lost {
            sum = sum.checked_add(wait)?;
            wait = wait.checked_mul(2)?.min(self.longest_heartbeat).max(self.heartbeat);
        }
        Some(sum)
    }

    /// How long a reader waits that asks in vain so many times.
    fn in_vain(&self, lost: u32) -> Option<u64> {
        (1..=lost).try_fold(0_u64, |sum, time| {
            let doublings = time.saturating_sub(self.times).min(self.doublings);
            sum.checked_add(self.again.checked_mul(1 << doublings)?)
        })
    }
}

/// The bounds of the ways between the two hosts, in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ways {
    /// Of a sample, from its first frame at the writer's port to the reception of the last one.
    pub sample: u64,
    /// Of a HEARTBEAT that goes alone.
    pub heartbeat: u64,
    /// Of a question (ACKNACK, NACK_FRAG) to the writer.
    pub question: u64,
    /// Of all that is repeated of a sample.
    pub repair: u64,
}

/// Most time from the first frame of a sample at the writer's port until it is whole at the reader, if no more than `lost` frames of it, of HEARTBEATs,
/// questions and repairs are lost until then, in picoseconds.
///
/// `None` if nothing can be said: a repair may take longer than the reader waits, so that it is sent twice; or a question that comes late may be
/// followed so soon by the next one that the writer passes over that.
pub fn latest(conduct: &Conduct, ways: &Ways, lost: u32) -> Option<u64> {
    if lost == 0 {
        return Some(ways.sample);
    }
    let round = ways.question.checked_add(ways.repair)?;
    if round >= conduct.again || ways.question >= conduct.again.checked_sub(conduct.deaf)? {
        return None;
    }
    (1..=lost).try_fold(0_u64, |worst, before| {
        // So many are lost before the reader knows that something is missing, the others behind that.
        // An acknowledgement of an earlier sample that is asked for already sets the writer's wait anew.
        let asked = ways.heartbeat.checked_add(ways.question)?;
        let silent = conduct.unheard(before)?.checked_add(asked)?.checked_add(ways.heartbeat)?;
        let knows = silent.max(ways.sample.checked_add(conduct.patience)?);
        let whole = knows.checked_add(conduct.in_vain(lost - before)?)?.checked_add(round)?;
        Some(whole.max(worst))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAYS: Ways = Ways {
        sample: MILLISECOND,
        heartbeat: 2 * MILLISECOND,
        question: 3 * MILLISECOND,
        repair: 4 * MILLISECOND,
    };

    #[test]
    fn each_loss_costs_the_longer_wait() {
        let late = |lost| latest(&Conduct::PUNCTUAL, &WAYS, lost).map(|time| time / MILLISECOND);
        // 20, 20 + 40, 20 + 40 + 80 ms, and 14 for five ways.
        assert_eq!([0, 1, 2, 3].map(late), [1, 34, 74, 154].map(Some));
        // A writer that asks each 20 ms leaves the reader's waits as the longer ones.
        let quick = Conduct { longest_heartbeat: 0, ..Conduct::PUNCTUAL };
        assert_eq!(latest(&quick, &WAYS, 7), Some((20 + 4 * 20 + 40 + 80 + 14) * MILLISECOND));
    }

    #[test]
    fn ways_as_long_as_the_waits_have_no_bound() {
        let late = |ways| latest(&Conduct::PUNCTUAL, &ways, 1);
        assert_eq!(late(Ways { question: 10 * MILLISECOND, ..WAYS }), None);
        assert_eq!(late(Ways { repair: 17 * MILLISECOND, ..WAYS }), None);
        assert_eq!(late(Ways { sample: u64::MAX, ..WAYS }), None);
        assert_eq!(latest(&Conduct::PUNCTUAL, &WAYS, u32::MAX), None);
    }
}
