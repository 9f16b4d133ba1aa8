//! Who yields where no more requests may be known.
use alloc::format;
use core::time::Duration;

use wire::admission::Request;

use crate::action::Facts;
use crate::note::Note;
use crate::requests::QuotaReached;
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// Makes sure that a request that is not known yet has a place among those that are. False if it has none, which it is told.
    pub(crate) fn has_place(&mut self, now: Duration, request: &Request, facts: &Facts) -> bool {
        let host_name = |address| self.fabric.host_name(address);
        let host_of = |address| self.fabric.host_of(address);
        let reached = self.requests.quota_reached(&self.config, request, facts, host_name, host_of);
        let Some(QuotaReached { reason, yields }) = reached else { return true };
        let Some(yields) = yields else {
            self.turn_away(now, request, &reason);
            return false;
        };
        let reason = format!("a more important request took its place: {reason}");
        for pair in yields {
            let Some(asked) = self.requests.remove(pair) else { continue };
            self.requests.settle_room(pair);
            self.turn_away(now, &asked.request, &reason);
        }
        true
    }

    /// A request that has no place, or may not be made, is refused, and loses what it has. It is not looked at again unless its participant asks
    /// again. Where a flow goes that it had, it hears of that first.
    pub(crate) fn turn_away(&mut self, now: Duration, request: &Request, reason: &str) {
        let note = Note::Refused(self.ends(request), reason.into());
        self.note(note);
        let pair = request.pair();
        self.requests.turn_away(request, reason);
        for number in self.reservations.serving(pair) {
            self.leave(now, number, pair, reason);
        }
        // Where it has left flows that others keep, that was said last.
        let is_unsaid = self.requests.turned_away(pair).is_some();
        if is_unsaid && !self.operations.says_farewell_to(pair) {
            self.say_last(pair);
        }
    }
}
