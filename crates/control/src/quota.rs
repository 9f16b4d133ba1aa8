//! Who yields where no more requests may be known.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::time::Duration;

use wire::admission::Request;

use crate::action::{Action, Facts};
use crate::note::Note;
use crate::requests::QuotaReached;
use crate::resource_manager::ResourceManager;

impl ResourceManager {
    /// Makes sure that a request that is not known yet has a place among those that are. False if it has none, which it is told.
    pub(crate) fn has_place(&mut self, now: Duration, request: &Request, facts: &Facts) -> bool {
        let host_name = |address| self.fabric.host_name(address);
        let reached = self.requests.quota_reached(&self.config, request, facts, host_name);
        let Some(QuotaReached { reason, yields }) = reached else { return true };
        let Some(victim) = yields else {
            self.turn_away(request, reason);
            return false;
        };
        let reason = format!("a more important request took its place: {reason}");
        let Some(asked) = self.requests.remove(victim) else { return true };
        if asked.grant.is_none() {
            self.turn_away(&asked.request, reason.clone());
        }
        self.requests.settle_room(victim);
        for number in self.reservations.serving(victim) {
            self.leave(now, number, victim, &reason);
        }
        true
    }

    /// A request that may not be made is refused, and has nothing of what it may have had before the manager was started.
    pub(crate) fn turn_away_for_good(&mut self, now: Duration, request: &Request, reason: String) {
        let pair = request.pair();
        for number in self.reservations.serving(pair) {
            self.leave(now, number, pair, &reason);
        }
        self.turn_away(request, reason);
    }

    /// A request that has no place is refused; it is not looked at again unless its participant asks again.
    fn turn_away(&mut self, request: &Request, reason: String) {
        let note = Note::Refused(self.ends(request), reason.clone());
        self.note(note);
        let verdict = self.requests.turned_away(request, &reason);
        self.operations.act(Action::Publish { token: None, verdict: Box::new(verdict) });
    }
}
