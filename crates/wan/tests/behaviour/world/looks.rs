//! What the judge looks at after each event.
use std::collections::BTreeMap;

use wan::{Asking, Asn, Body, Class, FlowRequest, LegId, LinkId, Message};

use super::World;
use crate::model::burst;

impl World {
    /// All that edges let in is held by every domain of the path.
    pub(super) fn look_at_cover(&mut self, aggregate: wan::AggregateId) {
        let origin = &self.domains[aggregate.tunnel.origin.0 as usize - 1];
        if origin.manager.is_none() || self.now < origin.excused || self.spoils.is_some() {
            return;
        }
        let open: Vec<(&LegId, &FlowRequest, &Vec<u32>)> = origin
            .backend
            .open
            .iter()
            .filter(|(_, (of, ..))| *of == aggregate)
            .map(|(leg, (_, flow, path))| (leg, flow, path))
            .collect();
        let Some((_, _, path)) = open.iter().find(|(_, _, path)| !path.is_empty()) else { return };
        let rate: u64 = open.iter().map(|(_, flow, _)| flow.desired.rate).sum();
        let bucket: u64 = open.iter().map(|(_, flow, _)| flow.desired.bucket).sum();
        for asn in *path {
            let domain = &self.domains[*asn as usize - 1];
            if self.now < domain.excused {
                continue;
            }
            let held = domain.backend.held.get(&aggregate).map_or((0, 0), |held| (held.rate, held.burst));
            assert!(
                held.0 >= rate && held.1 >= bucket,
                "{}, {}: edges let in {rate} bit/s and {bucket} bytes of {aggregate:?}, domain {asn} holds {held:?}: {open:?}",
                self.context,
                self.now
            );
        }
        self.counts.covered += 1;
    }

    /// No link of a domain is reserved more than it carries, as the judge adds it up, nor as the manager says.
    pub(super) fn look(&self, at: usize) {
        let domain = &self.domains[at];
        let Some(manager) = &domain.manager else { return };
        // Two copies of a flow that are let in meet in no domain on the way.
        for (leg, (_, _, path)) in &domain.backend.open {
            let other = LegId { flow: leg.flow ^ 0x80, ..*leg };
            let Some((_, _, beside)) = domain.backend.open.get(&other) else { continue };
            let between = |path: &[u32]| path.iter().skip(1).rev().skip(1).copied().collect::<Vec<_>>();
            let meets = between(path).iter().any(|asn| between(beside).contains(asn));
            assert!(
                !meets && (path != beside || path.is_empty()),
                "{}, {}: both copies of {leg:?} go {path:?} and {beside:?}",
                self.context,
                self.now
            );
        }
        let records = manager.aggregates().map(|(id, held)| (id.class, held));
        let sums = self.sums(at, records);
        for ((next, link, class), (rate, burst)) in sums {
            let agreed = &self.topology.agreed[&(at as u32 + 1, next, link, class.dscp())];
            let most = if domain.down.contains(&link) { 0 } else { agreed.rate };
            let most = most.min(domain.measured.get(&(link, class)).copied().unwrap_or(u64::MAX));
            let said = manager.reserved(LinkId(link), class);
            assert!(said.0 >= rate && said.1 >= burst, "{}: {said:?} counts less than {rate}", self.context);
            assert!(
                said.0 <= most && said.1 <= agreed.burst,
                "{}, {}: {said:?} reserved of {most} on link {link} of {}",
                self.context,
                self.now,
                at + 1
            );
        }
    }

    /// What a crash would leave fits what is agreed.
    pub(super) fn look_at_store(&self, at: usize) {
        let records = self.domains[at].store.iter().filter_map(|(key, record)| match (key, record) {
            (wan::Key::Aggregate(id), wan::Record::Aggregate(held)) => Some((id.class, held)),
            _ => None,
        });
        for ((next, link, class), (rate, burst)) in self.sums(at, records) {
            let agreed = &self.topology.agreed[&(at as u32 + 1, next, link, class.dscp())];
            let fits = rate <= agreed.rate && burst <= agreed.burst;
            assert!(
                fits,
                "{}, {}: the store of {} has {rate} bit/s on {link}",
                self.context,
                self.now,
                at + 1
            );
        }
    }

    pub(super) fn sums<'a>(
        &self,
        at: usize,
        held: impl Iterator<Item = (Class, &'a wan::HeldAggregate)>,
    ) -> BTreeMap<(u32, u32, Class), (u64, u64)> {
        let mut sums: BTreeMap<(u32, u32, Class), (u64, u64)> = BTreeMap::new();
        for (class, held) in held {
            let Some(link) = held.link_out else { continue };
            let next = held.asked.path[usize::from(held.asked.position) + 1];
            let inside = self.topology.inside[&(at as u32 + 1, class.dscp())];
            let sum = sums.entry((next.0, link.0, class)).or_default();
            sum.0 += held.asked.traffic.rate;
            sum.1 += burst(held.asked.traffic.bucket, held.asked.traffic.rate, held.asked.jitter + inside.1);
        }
        sums
    }

    /// A message between an origin and a domain that it asks itself, as agreements on the path let it.
    pub(super) fn is_direct(&mut self, message: &Message) -> bool {
        let (origin, asked) = match &message.body {
            Body::Reserve(reserve) if reserve.asking == Asking::Direct => {
                let at = usize::from(reserve.position);
                let is_here = reserve.path[0] == message.from && reserve.path[at] == message.to;
                // What ends is told all domains, whether they have heard of it or not.
                let (sender, link) = (reserve.path[at - 1], reserve.link);
                // A response that was changed on its way may have named any link.
                let is_it = |(from, by)| from == sender && (by == link || self.spoils.is_some());
                let lets = self.lets(message.from, message.to, is_it);
                return is_here && (at == 1 || reserve.traffic.is_none() || lets);
            }
            Body::Response(response) => {
                if response.verdict.is_err() {
                    // A domain answers all that ask.
                    return message.to == response.aggregate.tunnel.origin;
                }
                (response.aggregate.tunnel.origin, message.from)
            }
            Body::Notify(notify) => (notify.aggregate.tunnel.origin, message.from),
            _ => return false,
        };
        let is_let = message.to == origin && self.lets(origin, asked, |_| true);
        self.counts.granted_directly += u64::from(is_let && matches!(message.body, Body::Response(_)));
        is_let
    }

    /// An agreement of what another domain sends to this one lets an origin ask.
    fn lets(&self, origin: Asn, asked: Asn, is_it: impl Fn((Asn, Option<LinkId>)) -> bool) -> bool {
        let of = &self.domains[asked.0 as usize - 1].config.agreements;
        of.iter()
            .any(|one| one.to == asked && one.direct.contains(&origin) && is_it((one.from, Some(one.link))))
    }

    /// No message has a number of an agreement between others. What is offered in place of what was refused is not looked at.
    pub(super) fn knows_no_secret(&self, message: &Message) {
        let mut text = format!("{:?}", message.body);
        if let Body::Response(_) | Body::Notify(_) | Body::Session(..) | Body::QueryResponse(_) =
            &message.body
            && let Some(at) = text.find("reason:")
        {
            text.truncate(at);
        }
        let secrets = &self.secrets[message.to.0 as usize - 1];
        for digits in text.split(|c: char| !c.is_ascii_digit()) {
            if let Ok(number) = digits.parse::<u64>() {
                assert!(!secrets.contains(&number), "{}: {number} is told to {:?}", self.context, message);
            }
        }
    }
}
