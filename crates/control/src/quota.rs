//! How many requests may be known: of all, of a host, of a participant; and who yields where there is no more room.
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::cmp::Reverse;
use core::time::Duration;

use wire::admission::{Request, State, Verdict};

use crate::action::{Action, Facts, Pair};
use crate::note::Note;
use crate::requests::cut;
use crate::resource_manager::ResourceManager;
use crate::state::Asked;

/// Whether a request that is known shares a limit with another one.
type Shares<'a> = dyn Fn(&Pair, &Asked) -> bool + 'a;

/// Where a request comes from: the address of the reader's host.
pub(crate) fn asker(request: &Request, facts: &Facts) -> [u8; 4] {
    match facts.reader_addresses.as_slice() {
        [] => request.destination.address,
        known if known.contains(&request.destination.address) => request.destination.address,
        [first, ..] => *first,
    }
}

impl ResourceManager {
    /// Makes sure that a request that is not known yet has a place among those that are. False if it has none, which it is told.
    pub(crate) fn has_place(&mut self, now: Duration, request: &Request, facts: &Facts) -> bool {
        let Some((reason, victim)) = self.quota_reached(request, facts) else { return true };
        let Some(victim) = victim else {
            self.turn_away(request, reason);
            return false;
        };
        let reason = format!("a more important request took its place: {reason}");
        let Some(asked) = self.asked.remove(&victim) else { return true };
        if asked.grant.is_none() {
            self.turn_away(&asked.request, reason.clone());
        }
        self.settle_room(victim);
        for number in self.reservations.serving(victim) {
            self.leave(now, number, victim, &reason);
        }
        true
    }

    /// A request that has no place is refused; it is not looked at again unless its participant asks again.
    fn turn_away(&mut self, request: &Request, reason: String) {
        let note = Note::Refused(self.ends(request), reason.clone());
        self.note(note);
        let verdict = Verdict { state: State::Refused, reason: cut(&reason), ..self.verdict_of(request) };
        self.operations.act(Action::Publish { token: None, verdict: Box::new(verdict) });
    }

    /// Why there is no place for a request, and the pair that has to yield to it, if there is one: of those that share what is used up the least
    /// important, rather one that is not admitted, and of these the youngest.
    fn quota_reached(&self, request: &Request, facts: &Facts) -> Option<(String, Option<Pair>)> {
        let (participant, host) = (request.pair().1.prefix, asker(request, facts));
        let config = &self.config;
        let of_participant = |pair: &Pair, _: &Asked| pair.1.prefix == participant;
        let of_host = |_: &Pair, asked: &Asked| asked.asker == host;
        let quotas: [(usize, String, &Shares<'_>); 3] = [
            (config.most_requests_of_participant, "the participant has".into(), &of_participant),
            (config.most_requests_of_host, format!("host {} has", self.host_name(host)), &of_host),
            (config.most_requests, "there are".into(), &|_, _| true),
        ];
        quotas.into_iter().find_map(|(most, who, is)| {
            let mut count = 0;
            let mut least = None;
            for (pair, asked) in self.asked.iter().filter(|(pair, asked)| is(pair, asked)) {
                count += 1;
                let importance = asked.request.contract.importance;
                let rank = (importance, asked.grant.is_some(), Reverse(asked.age));
                if importance < request.contract.importance && least.is_none_or(|(least, _)| rank < least) {
                    least = Some((rank, *pair));
                }
            }
            (count >= most).then(|| {
                let reason = format!("{who} {most} requests already, which is the limit");
                (reason, least.map(|(_, pair)| pair))
            })
        })
    }
}
