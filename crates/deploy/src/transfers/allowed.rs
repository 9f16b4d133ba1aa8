//! Whether the policies of a plan allow the flows that it needs, as the manager of the network would ask them.
use std::net::IpAddr;

use network::{Network, Texts};
use policy::{Ask, Held, Policy, Refusal, Subject};

use super::{Flow, NANOSECOND, with};
use crate::command::Failure;
use crate::files::{Loaded, PolicyFile};

/// What policies are asked of a flow.
struct Asking<'a> {
    /// What the flow is called: by its deployment.
    name: &'a str,
    topics: &'a [String],
    /// The host of the reader, which asks a manager.
    host: &'a str,
    addresses: &'a [IpAddr],
    importance: u8,
    maximum_latency: u64,
    rate: Option<u64>,
    /// The rate of the slowest link of the network.
    link: Option<u64>,
}

impl Asking<'_> {
    fn subject(&self) -> Subject<'_> {
        Subject::Host { name: self.host, addresses: self.addresses }
    }

    /// The rule that decides about it under one of the names that its topic may have.
    fn is_of_rule(&self, policy: &Policy, rule: Option<usize>) -> bool {
        self.topics.iter().any(|topic| policy.rule_for(self.subject(), topic) == rule)
    }
}

/// Refuses the flows for which the network has a bound, and which the policies do not allow that any of the plans is under: they are those of
/// the manager of the network.
///
/// # Errors
/// The network cannot be read again.
pub(super) fn ask(loaded: &[Loaded], texts: &Texts, flows: &mut [Flow]) -> Result<(), Failure> {
    let mut files: Vec<(usize, &PolicyFile)> = Vec::new();
    for (index, plan) in loaded.iter().enumerate().filter(|(_, plan)| !plan.policies().is_empty()) {
        let is_here = plan.network().ok().flatten().is_some_and(|(known, _)| known.is_same(texts));
        for file in plan.policies().iter().filter(|_| is_here) {
            if !files.iter().any(|(_, known)| known.text == file.text) {
                files.push((index, file));
            }
        }
    }
    if files.is_empty() {
        return Ok(());
    }
    let network = with(texts, flows)?;
    let mut refused = Vec::new();
    let of_flows: Vec<Option<Asking<'_>>> = flows.iter().map(|flow| asking(&network, flow)).collect();
    for (index, flow) in flows.iter().enumerate() {
        let Some(asking) = of_flows.get(index).and_then(Option::as_ref) else { continue };
        let before: Vec<&Asking<'_>> = of_flows.iter().take(index).flatten().collect();
        for (owner, file) in &files {
            if let Err((refusal, holders)) = check(&file.policy, asking, &before) {
                let of_other = loaded.get(*owner).filter(|_| *owner != flow.plan);
                let of_other = of_other.map(|plan| format!(" of {}", plan.source().file)).unwrap_or_default();
                let holders = if holders.is_empty() {
                    String::new()
                } else {
                    format!("; before it come {}", holders.join(", "))
                };
                let what = format!(
                    "{}{of_other} does not allow \"{}\" to {}: {refusal}{holders}",
                    file.name, flow.connection, flow.to
                );
                refused.push((index, what));
                break;
            }
        }
    }
    let remedy =
        "ask for less, or have the policy changed; punctual grm policy check asks it as a manager does";
    for (index, what) in refused {
        if let Some(flow) = flows.get_mut(index) {
            flow.bound = Err((what, remedy.to_owned()));
            flow.is_forbidden = true;
        }
    }
    Ok(())
}

/// What is asked for a flow; `None` if there is no bound that a manager would be asked for.
fn asking<'a>(network: &'a Network, flow: &'a Flow) -> Option<Asking<'a>> {
    let bound = *flow.bound.as_ref().ok()?;
    let asked = network.flows().iter().find(|asked| asked.name == flow.name)?;
    let host = network.hosts().iter().find(|host| host.name == flow.to)?;
    let frames = asked.flow.framing.frames(asked.flow.largest_message, asked.flow.tag);
    Some(Asking {
        name: &flow.name,
        topics: &flow.topics,
        host: &flow.to,
        addresses: &host.addresses,
        importance: asked.flow.importance,
        maximum_latency: bound.div_ceil(NANOSECOND),
        rate: frames.and_then(|frames| policy::rate(frames.bits, asked.flow.separation)),
        link: network.cables().iter().map(|link| link.rate).min(),
    })
}

/// Whether a policy allows a flow besides those before it; if not, with those that count.
fn check<'a>(
    policy: &Policy,
    asking: &Asking<'_>,
    before: &[&Asking<'a>],
) -> Result<(), (Refusal, Vec<&'a str>)> {
    for topic in asking.topics {
        let rule = policy.rule_for(asking.subject(), topic);
        let (mut held, mut holders) = (Held::default(), Vec::new());
        let others =
            before.iter().filter(|other| other.host == asking.host && other.is_of_rule(policy, rule));
        for other in others {
            holders.push(other.name);
            // What cannot be told counts as too much.
            let rate = other.rate.unwrap_or(u64::MAX);
            held = Held { flows: held.flows.saturating_add(1), rate: held.rate.saturating_add(rate) };
        }
        let ask = Ask {
            subject: asking.subject(),
            topic,
            importance: asking.importance,
            maximum_latency: asking.maximum_latency,
            rate: asking.rate,
            link: asking.link,
        };
        policy.check_with(&ask, held).map_err(|refusal| (refusal, holders))?;
    }
    Ok(())
}
