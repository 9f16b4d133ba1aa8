//! How many requests may be known: of all, of a user, of a host, of a participant.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use core::cmp::Reverse;
use wire::admission::Address;

use wire::admission::Request;

use super::{Asked, Requests};
use crate::action::{Asker, Facts, Pair};
use crate::config::Config;

/// No more requests may be known that share some limits.
#[derive(Debug)]
pub(crate) struct QuotaReached {
    /// The first limit that is reached, in words, or the first one for which no other request yields.
    pub(crate) reason: String,
    /// The requests that have to yield, if that is enough for every limit.
    pub(crate) yields: Option<BTreeSet<Pair>>,
}

/// Whether a request that is known shares a limit with another one.
type Shares<'a> = dyn Fn(&Pair, &Asked) -> bool + 'a;

/// Where a request comes from: the address of the reader's host.
pub(crate) fn asker(request: &Request, facts: &Facts) -> Address {
    match facts.reader_addresses.as_slice() {
        [] => request.destination.address,
        known if known.contains(&request.destination.address) => request.destination.address,
        [first, ..] => *first,
    }
}

impl Requests {
    /// Why there is no place for a request, and the pairs that have to yield to it, if that is enough: for each limit that is reached, of those that
    /// share it the least important, rather one that is not admitted, and of these the youngest. One pair may yield for several limits.
    pub(crate) fn quota_reached(
        &self,
        config: &Config,
        request: &Request,
        facts: &Facts,
        host_name: impl Fn(Address) -> String,
        host_of: impl Fn(Address) -> Option<usize>,
    ) -> Option<QuotaReached> {
        let (participant, host) = (request.pair().1.prefix, asker(request, facts));
        let of_participant = |pair: &Pair, _: &Asked| pair.1.prefix == participant;
        // A host has its limit once, however many addresses it has.
        let its_host = host_of(host);
        let of_host = |_: &Pair, asked: &Asked| {
            asked.asker == host || its_host.is_some() && host_of(asked.asker) == its_host
        };
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
        let mut yielding = BTreeSet::new();
        let mut first = None;
        for (most, who, is) in user.into_iter().chain(quotas) {
            let sharing =
                self.asked.iter().filter(|(pair, asked)| is(pair, asked) && !yielding.contains(*pair));
            let mut count = 0_usize;
            let mut less = BTreeSet::new();
            for (pair, asked) in sharing {
                count += 1;
                let importance = asked.request.contract.importance;
                if importance < request.contract.importance {
                    less.insert(((importance, asked.grant.is_some(), Reverse(asked.age)), *pair));
                }
            }
            let needed = (count + 1).saturating_sub(most);
            if needed == 0 {
                continue;
            }
            let reason = format!("{who} {most} requests already, which is the limit");
            if less.len() < needed {
                return Some(QuotaReached { reason, yields: None });
            }
            yielding.extend(less.into_iter().take(needed).map(|(_, pair)| pair));
            first.get_or_insert(reason);
        }
        first.map(|reason| QuotaReached { reason, yields: Some(yielding) })
    }
}
