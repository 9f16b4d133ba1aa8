//! What holds when nothing fails any more: every domain has what a replay of the surviving sessions gives, and nothing else.
use std::collections::{BTreeMap, BTreeSet};

use wan::{AggregateId, Direction, Key, LegId, OpenLeg, SessionId};

use crate::model::{Carried, Expected, Flow, Held, Pinned, SurvivingFlow};
use crate::world::{Outcome, World};

fn carried(id: AggregateId) -> Carried {
    (id.tunnel.origin.0, id.tunnel.number, id.class.dscp())
}

fn flow(id: LegId) -> Flow {
    (id.session.origin.0, id.session.number, id.flow, id.peer.0)
}

fn surviving(leg: &OpenLeg) -> SurvivingFlow {
    SurvivingFlow {
        flow: flow(leg.leg),
        carried: carried(leg.aggregate),
        path: leg.path.iter().map(|asn| asn.0).collect(),
        rate: leg.flow.desired.rate,
        bucket: leg.flow.desired.bucket,
        largest: leg.flow.desired.largest_packet,
        limit: leg.flow.limit,
        delay: leg.delay,
        most_loss: leg.flow.most_loss,
        loss: leg.loss,
        price: leg.price,
    }
}

impl World {
    /// Looks at everything. The number of sessions that survive.
    pub(crate) fn at_rest(&mut self) -> usize {
        self.settle();
        let context = &self.context;
        let mut flows = Vec::new();
        let mut sessions: BTreeSet<SessionId> = BTreeSet::new();
        let mut hosted: BTreeSet<(u32, SessionId)> = BTreeSet::new();
        for domain in &self.domains {
            let manager = domain.manager.as_ref().unwrap();
            let own = manager.asn();
            for (id, request, rates) in manager.sessions() {
                assert_eq!(id.origin, own, "{context}: a session of another domain");
                sessions.insert(id);
                let peers: BTreeSet<u32> =
                    request.callees.iter().map(|callee| u32::from(owner(*callee))).collect();
                let mut legs: BTreeMap<LegId, OpenLeg> = BTreeMap::new();
                for peer in &peers {
                    let of = if *peer == own.0 { own.0 } else { *peer };
                    let there = self.domains[of as usize - 1].manager.as_ref().unwrap();
                    legs.extend(there.legs(id).into_iter().map(|leg| (leg.leg, leg)));
                    if *peer != own.0 {
                        hosted.insert((*peer, id));
                        let other = there.hosted().find(|(other, _)| *other == id);
                        let other =
                            other.unwrap_or_else(|| panic!("{context}: {id:?} is not known to AS {peer}"));
                        assert_eq!(other.1, rates, "{context}: other rates of {id:?}");
                    }
                }
                legs.extend(manager.legs(id).into_iter().map(|leg| (leg.leg, leg)));
                // One flow for each domain of callees and each flow that was asked for: no more, no less.
                let mut expected = 0;
                for peer in &peers {
                    for (at, asked) in request.flows.iter().enumerate() {
                        let copies = [0, 0x80].iter().filter_map(|copy| {
                            legs.get(&LegId { session: id, flow: at as u8 | copy, peer: wan::Asn(*peer) })
                        });
                        let copies: Vec<&OpenLeg> = copies.collect();
                        expected += copies.len();
                        // One copy may have been lost for good; what has one copy has no second one.
                        assert!(
                            !copies.is_empty() && copies.len() <= usize::from(asked.copies),
                            "{context}: flow {at} of {id:?} to {peer}: {copies:?}"
                        );
                        for found in copies {
                            let (from, to) = match asked.direction {
                                Direction::Forward => (own.0, *peer),
                                Direction::Reverse => (*peer, own.0),
                            };
                            let ends = (found.path[0].0, found.path.last().unwrap().0);
                            assert_eq!(ends, (from, to), "{context}: {found:?}");
                            let rate = found.flow.desired.rate;
                            assert!(asked.least_rate <= rate && rate <= rates[at], "{context}: {found:?}");
                            assert_eq!(found.flow.desired.bucket, asked.desired.bucket, "{context}");
                            assert_eq!(
                                (found.flow.class, found.aggregate.class),
                                (asked.class, asked.class),
                                "{context}"
                            );
                            flows.push(surviving(found));
                        }
                    }
                }
                assert_eq!(legs.len(), expected, "{context}: flows of {id:?} that were not asked for");
            }
        }
        self.clients_know(&sessions);
        self.accounts_are_closed();
        let pinned = |domain: u32, of: Carried| {
            let manager = self.domains[domain as usize - 1].manager.as_ref().unwrap();
            let held = manager.aggregates().find(|(id, _)| carried(*id) == of)?.1;
            let (link_out, label_out) = (held.link_out.map(|link| link.0), held.label_out);
            Some(Pinned { link_out, label_in: held.label_in, label_out })
        };
        let expected = self.topology.replay(&flows, pinned, context);
        self.tables_are(&expected, &hosted);
        sessions.len()
    }

    /// What callers were told is what there is.
    fn clients_know(&self, sessions: &BTreeSet<SessionId>) {
        let context = &self.context;
        for (ticket, outcome) in &self.outcomes {
            if let Outcome::Admitted(id) = outcome {
                let (at, epoch, _) = &self.requests[ticket];
                let is_ended = self.ended.contains_key(id);
                assert!(!is_ended || !sessions.contains(id), "{context}: {id:?} is said to have ended");
                // A manager that crashes between forgetting and saying so says it to those that ask again.
                let has_crashed = self.domains[*at].epoch > *epoch;
                assert!(
                    is_ended || sessions.contains(id) || has_crashed,
                    "{context}: {id:?} is gone without a word"
                );
            }
        }
        for ticket in self.requests.keys() {
            assert!(self.outcomes.contains_key(ticket), "{context}: request {ticket} is not answered");
        }
    }

    fn tables_are(&self, expected: &Expected, hosted: &BTreeSet<(u32, SessionId)>) {
        let context = &self.context;
        let mut held: BTreeMap<(u32, Carried), Held> = BTreeMap::new();
        for (domain, own) in self.domains.iter().zip(1_u32..) {
            let manager = domain.manager.as_ref().unwrap();
            let mut labels: BTreeMap<u32, wan::TunnelId> = BTreeMap::new();
            for (id, found) in manager.aggregates() {
                let asked = &found.asked;
                held.insert(
                    (own, carried(id)),
                    Held {
                        path: asked.path.iter().map(|asn| asn.0).collect(),
                        rate: asked.traffic.rate,
                        bucket: asked.traffic.bucket,
                        largest: asked.traffic.largest_packet,
                        before: (asked.delay, asked.jitter, asked.loss),
                        links: (asked.link_in.map(|link| link.0), found.link_out.map(|link| link.0)),
                    },
                );
                if asked.position > 0 {
                    let other = labels.insert(found.label_in, id.tunnel).unwrap_or(id.tunnel);
                    assert_eq!(other, id.tunnel, "{context}: one label for two tunnels at {own}");
                }
                // The back-end holds and forwards just that.
                let demand = domain.backend.held.get(&id);
                assert_eq!(
                    demand.map(|demand| demand.rate),
                    Some(asked.traffic.rate),
                    "{context}: inside {own}"
                );
                let label_in = (asked.position > 0).then_some(found.label_in);
                assert_eq!(
                    domain.backend.committed.get(&id),
                    Some(&(label_in, found.label_out)),
                    "{context}: {own}"
                );
            }
            let known: BTreeSet<_> = manager.aggregates().map(|(id, _)| id).collect();
            let left: Vec<_> = domain.backend.held.iter().filter(|(id, _)| !known.contains(id)).collect();
            assert!(left.is_empty(), "{context}: {own} has {left:?} inside, and its manager has not");
            let open: BTreeSet<Flow> = domain.backend.open.keys().map(|leg| flow(*leg)).collect();
            assert_eq!(
                open,
                expected.open.get(&own).cloned().unwrap_or_default(),
                "{context}: edges of {own}"
            );
            let there: BTreeSet<(u32, SessionId)> =
                manager.hosted_or_asked().map(|(id, _)| (own, id)).collect();
            let should: BTreeSet<(u32, SessionId)> =
                hosted.iter().filter(|(at, _)| *at == own).copied().collect();
            assert_eq!(there, should, "{context}: sessions with callees in {own}");
            // The store has neither more nor less.
            let mut stored = (0, 0, 0);
            for key in domain.store.keys() {
                match key {
                    Key::Aggregate(_) => stored.0 += 1,
                    Key::Own(_) => stored.1 += 1,
                    Key::Hosted(_) => stored.2 += 1,
                }
            }
            let is = (manager.aggregates().count(), manager.sessions().count(), should.len());
            assert_eq!(stored, is, "{context}: the store of {own}");
        }
        assert_eq!(held, expected.held, "{context}: what domains hold, and what they should");
    }
}

fn owner(address: std::net::IpAddr) -> u8 {
    match address {
        std::net::IpAddr::V4(address) => address.octets()[1],
        std::net::IpAddr::V6(_) => panic!("no such address here"),
    }
}
