//! How many requests may be known: of all, of a user, of a host, of a participant.
use alloc::format;
use alloc::string::String;
use core::cmp::Reverse;

use wire::admission::Request;

use super::{Asked, Requests};
use crate::action::{Asker, Facts, Pair};
use crate::config::Config;

/// No more requests may be known that share a limit.
#[derive(Debug)]
pub(crate) struct QuotaReached {
    /// Which limit, in words.
    pub(crate) reason: String,
    /// Who has to yield, if anybody.
    pub(crate) yields: Option<Pair>,
}

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

impl Requests {
    /// Why there is no place for a request, and the pair that has to yield to it, if there is one: of those that share what is used up the least
    /// important, rather one that is not admitted, and of these the youngest.
    pub(crate) fn quota_reached(
        &self,
        config: &Config,
        request: &Request,
        facts: &Facts,
        host_name: impl Fn([u8; 4]) -> String,
    ) -> Option<QuotaReached> {
        let (participant, host) = (request.pair().1.prefix, asker(request, facts));
        let of_participant = |pair: &Pair, _: &Asked| pair.1.prefix == participant;
        let of_host = |_: &Pair, asked: &Asked| asked.asker == host;
        let of_user = |_: &Pair, asked: &Asked| asked.facts.asker == facts.asker;
        let user = match &facts.asker {
            Asker::User(name) => {
                Some((config.most_requests_of_user, format!("user {name} has"), &of_user as &Shares<'_>))
            }
            Asker::Anyone | Asker::Unknown(_) => None,
        };
        let quotas: [(usize, String, &Shares<'_>); 3] = [
            (config.most_requests_of_participant, "the participant has".into(), &of_participant),
            (config.most_requests_of_host, format!("host {} has", host_name(host)), &of_host),
            (config.most_requests, "there are".into(), &|_, _| true),
        ];
        user.into_iter().chain(quotas).find_map(|(most, who, is)| {
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
                QuotaReached { reason, yields: least.map(|(_, pair)| pair) }
            })
        })
    }
}
