//! What an operator does by hand: a flow is released or revoked.
use alloc::format;
use alloc::string::String;
use core::time::Duration;

use wire::admission::State;

use crate::action::Pair;
use crate::requests::cut;
use crate::resource_manager::ResourceManager;
use crate::state::{GrantPhase, Progress};

/// How a flow ends by hand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByHand {
    /// It gives back its place, and its request is decided anew at once: it may be admitted another way, or refused.
    Release,
    /// It gives back its place, and its request stays revoked as long as its reader asks for the same without withdrawing it. A manager that starts again does not know of it.
    Revoke,
}

impl ResourceManager {
    /// Ends the flow of an admitted pair; its participants hear of it with the reason, and other readers of the flow keep it.
    ///
    /// # Errors
    /// Why that cannot be now, and what to do. Nothing is changed then.
    pub fn by_hand(&mut self, now: Duration, pair: Pair, how: ByHand, reason: &str) -> Result<(), String> {
        let Some(asked) = self.asked.get(&pair) else {
            return Err("no reader asks for this flow: it is gone, or was never there".into());
        };
        let grant = asked.grant.filter(|_| asked.verdict.state == State::Admitted);
        let Some(number) = grant else {
            return Err("this flow is not admitted: there is nothing to end".into());
        };
        let is_settled = matches!(asked.progress, Progress::Answered { .. });
        let held = self.grants.get(&number);
        let is_held =
            |grant: &&crate::state::Granted| matches!(grant.phase, GrantPhase::Held | GrantPhase::Restored);
        let Some(held) = held.filter(is_held).filter(|_| is_settled) else {
            return Err("this flow is being changed: try again in a moment".into());
        };
        let alone = held.pairs.iter().all(|other| *other == pair);
        let words = match how {
            ByHand::Release => format!("released by hand: {reason}"),
            ByHand::Revoke => format!("revoked by hand: {reason}"),
        };
        if alone {
            self.revoke(now, number, &words);
        } else {
            self.part(now, number, pair, &words);
        }
        if let Some(asked) = self.asked.get_mut(&pair) {
            asked.progress = Progress::Answered { retry: how == ByHand::Release };
            asked.barred = how == ByHand::Revoke;
        }
        if how == ByHand::Release {
            self.look_again();
        }
        self.work(now);
        Ok(())
    }

    /// A pair loses a flow that serves others, too.
    fn part(&mut self, now: Duration, number: u64, pair: Pair, reason: &str) {
        if let Some(asked) = self.asked.get_mut(&pair) {
            asked.grant = None;
            asked.repeat_at = None;
            asked.verdict.state = State::Revoked;
            asked.verdict.reason = cut(reason);
            (asked.verdict.bound, asked.verdict.dscp) = (0, 0);
            (asked.verdict.octets, asked.verdict.separation) = (0, 0);
        }
        self.publish(pair);
        self.leave(now, number, pair, reason);
    }

    /// The topic and hosts of a pair, for those who write what was done.
    pub fn described(&self, pair: Pair) -> Option<String> {
        self.asked.get(&pair).map(|asked| format!("{}", self.ends(&asked.request)))
    }
}
