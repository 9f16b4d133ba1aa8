//! What the policy says of a request. The rules are evaluated by [`policy`]; here is who asks, what that comes to on the wire, and what the
//! asker has already.
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::net::IpAddr;

use policy::{Ask, Held, Policy, Subject};
use wire::admission::{Contract, Request};

use crate::action::{Asker, Facts, Pair};
use crate::losses::Part;
use crate::requests::{Asked, Wish, asker};
use crate::resource_manager::ResourceManager;
use crate::what_if::Question;

impl ResourceManager {
    /// Whether a request may be made, whatever there is already. What the operator's flow file asks for, the operator has allowed.
    pub(crate) fn may_ask(&self, request: &Request, facts: &Facts) -> Result<(), String> {
        if let Asker::Unknown(reason) = &facts.asker {
            return Err(reason.clone());
        }
        let Some(policy) = self.config.policy.as_ref().filter(|_| facts.aggregate.is_none()) else {
            return Ok(());
        };
        let address = asker(request, facts);
        let host = self.fabric.host_name(address);
        let addresses = self.fabric.addresses_with(address);
        let subject = subject(&facts.asker, &host, &addresses);
        policy.check(&ask(subject, request)).map_err(|refusal| refusal.to_string())
    }

    /// Whether a request may be granted besides what its asker has, and besides these pairs.
    pub(crate) fn within_policy(
        &self,
        asked: &Asked,
        wish: &Wish,
        others: &BTreeSet<Pair>,
    ) -> Result<(), String> {
        let Some(policy) = self.config.policy.as_ref().filter(|_| asked.facts.aggregate.is_none()) else {
            return Ok(());
        };
        let (address, asker) = (asked.asker(), &asked.facts.asker);
        let host = self.fabric.host_name(address);
        let addresses = self.fabric.addresses_with(address);
        let subject = subject(asker, &host, &addresses);
        let held = self.held_by(policy, subject, &asked.request.topic, wish.pair, others);
        let ask = self.measured_ask(ask(subject, &asked.request), wish);
        policy.check_with(&ask, held).map_err(|refusal| refusal.to_string())
    }

    /// The same for a request that is tried and not made.
    pub(crate) fn may_ask_this(&self, question: &Question, wish: &Wish) -> Result<(), String> {
        let Some(policy) = &self.config.policy else { return Ok(()) };
        if self.config.signed && question.user.is_empty() {
            return Err("requests are signed, and the policy goes by users: say which user would ask".into());
        }
        let host = self.fabric.network().hosts.iter().find(|host| host.name == question.to);
        let addresses = host.map(|host| host.all_addresses().map(|(address, _)| address.ip()).collect());
        let addresses: Vec<IpAddr> = addresses.unwrap_or_default();
        let subject = match question.user.as_str() {
            "" => Subject::Host { name: &question.to, addresses: &addresses },
            user => Subject::User(user),
        };
        let held = self.held_by(policy, subject, &question.topic, wish.pair, &BTreeSet::new());
        let ask = Ask {
            subject,
            topic: &question.topic,
            importance: question.contract.importance,
            maximum_latency: question.maximum_latency,
            rate: None,
            link: None,
        };
        policy.check_with(&self.measured_ask(ask, wish), held).map_err(|refusal| refusal.to_string())
    }

    /// Who may ask, for people.
    pub fn access(&self) -> String {
        let who = match self.config.signed {
            true => "Requests are signed: users with a key of the authority may ask",
            false => "Requests are not signed: anybody in the domain may ask",
        };
        match &self.config.policy {
            Some(policy) => format!("{who}, within {} rules of the policy", policy.rules.len()),
            None => format!("{who}, for anything"),
        }
    }

    /// What an asker has by the rule that is for it and a topic, but for one pair.
    fn held_by(
        &self,
        policy: &Policy,
        subject: Subject<'_>,
        topic: &str,
        but_for: Pair,
        others: &BTreeSet<Pair>,
    ) -> Held {
        let mut held = Held::default();
        let Some(rule) = policy.rule_for(subject, topic) else { return held };
        if policy
            .rules
            .get(rule)
            .is_none_or(|rule| (rule.limits.flows, rule.limits.rate, rule.limits.share) == (None, None, None))
        {
            return held;
        }
        for (pair, other) in self.requests.all().filter(|(pair, _)| *pair != but_for) {
            let asks = other.facts.aggregate.is_none();
            let is_served = asks && (other.grant.is_some() || other.is_working() || others.contains(&pair));
            if !is_served {
                continue;
            }
            let host = self.fabric.host_name(other.asker());
            let addresses = self.fabric.addresses_with(other.asker());
            let its = self::subject(&other.facts.asker, &host, &addresses);
            if is_same(its, subject) && policy.rule_for(its, &other.request.topic) == Some(rule) {
                let from = self.fabric.host_of(other.request.source.address);
                // What cannot be told counts as too much.
                let rate =
                    from.and_then(|from| self.rate_of(other.request.contract, from)).unwrap_or(u64::MAX);
                held = Held { flows: held.flows.saturating_add(1), rate: held.rate.saturating_add(rate) };
            }
        }
        held
    }

    /// With what it comes to on the wire. It could travel on any link between switches, and on those of its own hosts.
    fn measured_ask<'a>(&self, ask: Ask<'a>, wish: &Wish) -> Ask<'a> {
        let network = self.fabric.network();
        let ends = core::iter::once(wish.from).chain(wish.hosts()).filter_map(|host| network.access(host));
        let ends = ends.flat_map(|(out, into)| [out, into]);
        let between = (0..network.links.len()).filter(|link| network.is_trunk(*link));
        let rates = ends.chain(between).filter_map(|link| network.links.get(link)).map(|link| link.port.rate);
        Ask { rate: self.rate_of(wish.contract, wish.from), link: rates.min(), ..ask }
    }

    /// Bits per second of a flow on the first link, with all that its frames take there, rounded up.
    fn rate_of(&self, contract: Contract, from: usize) -> Option<u64> {
        let network = self.fabric.network();
        let wish = Wish {
            pair: (wire::Guid::UNKNOWN, wire::Guid::UNKNOWN),
            from,
            source: wire::admission::Socket::default(),
            destination: wire::admission::Socket::default(),
            contract,
            aggregate: None,
            tunnel: None,
            losses: None,
            part: Part::Whole,
            goals: Vec::new(),
        };
        let flow = network.flow(&wish)?;
        let (first, _) = network.access(from)?;
        policy::rate(flow.frames(&network.links.get(first)?.port)?.bits, flow.separation)
    }
}

fn subject<'a>(asker: &'a Asker, host: &'a str, addresses: &'a [IpAddr]) -> Subject<'a> {
    match asker {
        Asker::User(name) => Subject::User(name),
        Asker::Anyone | Asker::Unknown(_) => Subject::Host { name: host, addresses },
    }
}

/// Hosts are the same if they have the same name: one may have several addresses.
fn is_same(one: Subject<'_>, other: Subject<'_>) -> bool {
    match (one, other) {
        (Subject::User(one), Subject::User(other)) => one == other,
        (Subject::Host { name: one, .. }, Subject::Host { name: other, .. }) => one == other,
        _ => false,
    }
}

const fn ask<'a>(subject: Subject<'a>, request: &'a Request) -> Ask<'a> {
    Ask {
        subject,
        topic: request.topic.as_str(),
        importance: request.contract.importance,
        maximum_latency: request.maximum_latency,
        rate: None,
        link: None,
    }
}
