//! What an operator does by hand: a flow is released or revoked.
use alloc::format;
use alloc::string::String;
use core::time::Duration;

use crate::action::Pair;
use crate::requests::{Asked, Progress};
use crate::resource_manager::ResourceManager;

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
        let Some(asked) = self.requests.get(pair) else {
            return Err("no reader asks for this flow: it is gone, or was never there".into());
        };
        let grant = Some(asked).filter(|asked| asked.is_admitted()).and_then(|asked: &Asked| asked.grant);
        let Some(number) = grant else {
            return Err("this flow is not admitted: there is nothing to end".into());
        };
        let is_settled = matches!(asked.progress, Progress::Answered { .. });
        let held = self.reservations.get(number).filter(|grant| grant.is_held() || grant.is_restored());
        let Some(held) = held.filter(|_| is_settled) else {
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
        self.requests.end_by_hand(pair, how == ByHand::Revoke);
        if how == ByHand::Release {
            self.requests.look_again();
        }
        self.work(now);
        Ok(())
    }

    /// A pair loses a flow that serves others, too.
    fn part(&mut self, now: Duration, number: u64, pair: Pair, reason: &str) {
        self.requests.revoke(pair, reason);
        self.publish(pair);
        self.leave(now, number, pair, reason);
    }

    /// The topic and hosts of a pair, for those who write what was done.
    pub fn described(&self, pair: Pair) -> Option<String> {
        self.requests.get(pair).map(|asked| format!("{}", self.ends(&asked.request)))
    }
}
