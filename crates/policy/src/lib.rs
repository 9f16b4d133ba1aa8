//! Who may ask a resource manager for what.
//!
//! A [`Policy`] is a list of rules. The first rule that is for the asker and the topic decides; without one [`Policy::otherwise`] does. All
//! numbers are integers, and what is not exact is rounded against the asker. Nothing here knows a file, a key or a network: `network` reads
//! policy files, and `control` asks.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod pattern;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;

pub use pattern::matches;

/// What may be asked for, and by whom.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Policy {
    /// What holds where no rule is for the asker and the topic.
    pub otherwise: Effect,
    /// The first one that fits decides.
    pub rules: Vec<Rule>,
}

/// Whether something may be asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It may, within limits.
    Allow,
    /// It may not.
    Deny,
}

/// A rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// Its line in the file, from 1.
    pub line: u32,
    /// Whether it allows.
    pub effect: Effect,
    /// For whom it is; empty: for all.
    pub who: Vec<Who>,
    /// Patterns of the topics that it is for; empty: all.
    pub topics: Vec<String>,
    /// What it allows at most.
    pub limits: Limits,
}

/// Whom a rule is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Who {
    /// Users whose names fit this pattern; requests without a signature are of no user.
    User(String),
    /// Hosts whose names fit this pattern, where requests are not signed.
    Host(String),
    /// Hosts with an address that begins with so many bits of this one, where requests are not signed.
    Address(IpAddr, u8),
}

/// What a rule allows at most; `None` is no limit. Each asker has these limits by itself.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Limits {
    /// Flows of an asker at a time, each reader counted.
    pub flows: Option<u32>,
    /// Bits per second, on the wire, of all these flows together.
    pub rate: Option<u64>,
    /// The same as parts of a million of the slowest link on which the flow could travel.
    pub share: Option<u32>,
    /// Importance of a flow.
    pub importance: Option<u8>,
    /// The least maximum latency that may be asked for, in nanoseconds.
    pub least_latency: Option<u64>,
}

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject<'a> {
    /// The user whose key has signed the request.
    User(&'a str),
    /// The host that it came from, where requests are not signed.
    Host {
        /// Its name, or its address as text.
        name: &'a str,
        /// Its addresses, of either version of IP: a rule about one of them is for the host, whichever it asks from.
        addresses: &'a [IpAddr],
    },
}

/// What is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ask<'a> {
    /// By whom.
    pub subject: Subject<'a>,
    /// What is written.
    pub topic: &'a str,
    /// Importance of the flow.
    pub importance: u8,
    /// The maximum latency in nanoseconds.
    pub maximum_latency: u64,
    /// Bits per second on the wire, rounded up; `None` if it is not known.
    pub rate: Option<u64>,
    /// Bits per second of the slowest link on which the flow could travel; `None` if it is not known.
    pub link: Option<u64>,
}

/// What the asker has already by the rule that decides, but for what is asked about.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Held {
    /// Flows.
    pub flows: u64,
    /// Their bits per second together, rounded up.
    pub rate: u64,
}

/// Why something may not be asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The line of the rule that says so; `None`: no rule is for it.
    pub line: Option<u32>,
    /// What is not allowed.
    pub what: String,
    /// What would be allowed.
    pub allowed: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => {
                write!(f, "the policy, line {line}, does not allow {}: {}", self.what, self.allowed)
            }
            None => write!(f, "the policy does not allow {}: {}", self.what, self.allowed),
        }
    }
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(name) => write!(f, "user {name}"),
            Self::Host { name, .. } => write!(f, "host {name}"),
        }
    }
}

impl Who {
    fn is_for(&self, subject: Subject<'_>) -> bool {
        match (self, subject) {
            (Self::User(pattern), Subject::User(name))
            | (Self::Host(pattern), Subject::Host { name, .. }) => matches(pattern, name),
            (Self::Address(first, bits), Subject::Host { addresses, .. }) => {
                addresses.iter().any(|address| begins(*first, *address, u32::from(*bits)))
            }
            _ => false,
        }
    }
}

/// Whether an address begins with so many bits of another one, of the same version of IP.
fn begins(first: IpAddr, address: IpAddr, bits: u32) -> bool {
    let (differ, all) = match (first, address) {
        (IpAddr::V4(first), IpAddr::V4(address)) => {
            (u128::from(first.to_bits() ^ address.to_bits()) << 96, 32)
        }
        (IpAddr::V6(first), IpAddr::V6(address)) => (first.to_bits() ^ address.to_bits(), 128),
        _ => return false,
    };
    differ.leading_zeros() >= bits.min(all)
}

impl Rule {
    /// Whether it is for an asker and a topic.
    pub fn is_for(&self, subject: Subject<'_>, topic: &str) -> bool {
        let is_meant = self.who.is_empty() || self.who.iter().any(|who| who.is_for(subject));
        is_meant && (self.topics.is_empty() || self.topics.iter().any(|pattern| matches(pattern, topic)))
    }
}

impl Policy {
    /// The rule that decides about an asker and a topic, by its place in the list.
    pub fn rule_for(&self, subject: Subject<'_>, topic: &str) -> Option<usize> {
        self.rules.iter().position(|rule| rule.is_for(subject, topic))
    }

    /// Whether something may be asked for at all: whatever rates are, and whatever the asker has already.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, ask: &Ask<'_>) -> Result<(), Refusal> {
        self.allowing(ask).map(|_| ())
    }

    /// Whether something may be asked for besides what the asker has already by the same rule ([`Self::rule_for`]).
    ///
    /// # Errors
    /// Why not.
    pub fn check_with(&self, ask: &Ask<'_>, held: Held) -> Result<(), Refusal> {
        let Some(rule) = self.allowing(ask)? else { return Ok(()) };
        let (subject, limits) = (ask.subject, &rule.limits);
        let refuse = |what: String, allowed: String| Err(Refusal { line: Some(rule.line), what, allowed });
        if let Some(most) = limits.flows.filter(|most| held.flows >= u64::from(*most)) {
            return refuse(format!("{subject} one more flow"), format!("it has {} of {most}", held.flows));
        }
        let mut most_rate = limits.rate;
        if let Some(share) = limits.share {
            let Some(link) = ask.link else {
                return refuse(
                    format!("{subject} a flow on a link of unknown rate"),
                    "a share of a link is limited".into(),
                );
            };
            let part = u128::from(link).saturating_mul(share.into()) / 1_000_000;
            let part = u64::try_from(part).unwrap_or(u64::MAX);
            most_rate = Some(most_rate.map_or(part, |most| most.min(part)));
        }
        if let Some(most) = most_rate {
            let Some(rate) = ask.rate else {
                return refuse(format!("{subject} a flow of unknown rate"), "the rate is limited".into());
            };
            if held.rate.checked_add(rate).is_none_or(|sum| sum > most) {
                let left = most.saturating_sub(held.rate);
                let what = format!("{subject} {rate} b/s more");
                return refuse(what, format!("{left} b/s are, of {most} b/s in all"));
            }
        }
        Ok(())
    }

    /// The rule that allows something, as far as that does not depend on rates and on what the asker has; `None` if no rule is for it.
    fn allowing(&self, ask: &Ask<'_>) -> Result<Option<&Rule>, Refusal> {
        let subject = ask.subject;
        let Some(rule) = self.rule_for(subject, ask.topic).and_then(|number| self.rules.get(number)) else {
            let allowed = "no rule is for it, and what no rule is for is denied".into();
            return match self.otherwise {
                Effect::Allow => Ok(None),
                Effect::Deny => Err(Refusal {
                    line: None,
                    what: format!("{subject} to ask for \"{}\"", ask.topic),
                    allowed,
                }),
            };
        };
        let refuse = |what: String, allowed: String| Err(Refusal { line: Some(rule.line), what, allowed });
        if rule.effect == Effect::Deny {
            return refuse(
                format!("{subject} to ask for \"{}\"", ask.topic),
                "nothing of it is allowed".into(),
            );
        }
        let limits = &rule.limits;
        if let Some(most) = limits.importance.filter(|most| ask.importance > *most) {
            let what = format!("{subject} an importance of {}", ask.importance);
            return refuse(what, format!("at most {most} is"));
        }
        if let Some(least) = limits.least_latency.filter(|least| ask.maximum_latency < *least) {
            let what = format!("{subject} a maximum latency of {}", time(ask.maximum_latency));
            return refuse(what, format!("{} or more is", time(least)));
        }
        Ok(Some(rule))
    }
}

/// Bits per second of messages of so many bits each, with this separation in picoseconds, rounded up. `None` if that is out of range.
pub fn rate(bits: u64, separation: u64) -> Option<u64> {
    let per_second = u128::from(bits).checked_mul(1_000_000_000_000)?;
    u64::try_from(per_second.checked_add(u128::from(separation.checked_sub(1)?))? / u128::from(separation))
        .ok()
}

/// Nanoseconds for people, exact.
fn time(nanoseconds: u64) -> String {
    let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let unit = units.into_iter().find(|(unit, _)| nanoseconds >= *unit && nanoseconds.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{nanoseconds} ns"), |(unit, name)| format!("{} {name}", nanoseconds / unit))
}
