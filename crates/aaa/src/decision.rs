//! Whether a request is granted: the user, its contract, and what is already granted to it. Pure, and says why not.
use std::net::IpAddr;

use diameter::command::{AaRequest, AuthRequestType};
use diameter::qos::{Direction, EndSpec, FilterRule, Negated, QosResources};
use diameter::result_code::ResultCode;
use serde::{Deserialize, Serialize};
use wan::{Class, Prefix};

use crate::users::{Contract, User, Users};

/// Most rules of a session.
const MOST_RULES: usize = 64;
/// Most addresses of one end of a rule.
const MOST_ADDRESSES: usize = 64;

/// Why nothing is granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Denial {
    /// For the program that asks.
    pub code: ResultCode,
    /// For people: what is wrong, with the value.
    pub reason: String,
}

/// One rule of a session, as far as contracts are concerned.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Flow {
    /// The codepoint of its packets.
    pub dscp: u8,
    /// Toward the destinations; otherwise from them.
    pub forward: bool,
    /// Bits per second.
    pub rate: u64,
    /// The destinations: where packets go, or come from if it is not forward.
    pub destinations: Vec<IpAddr>,
}

/// What a user has of its contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Sessions.
    pub sessions: usize,
    /// Bits per second toward destinations.
    pub rate: u64,
}

/// What may be granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Permit {
    /// The name of the user.
    pub user: String,
    /// Its rules.
    pub flows: Vec<Flow>,
    /// What the session takes of the quota, in bits per second.
    pub rate: u64,
    /// Seconds until the contract ends.
    pub seconds_left: u32,
}

fn denied<T>(code: ResultCode, reason: impl Into<String>) -> Result<T, Denial> {
    Err(Denial { code, reason: reason.into() })
}

/// Who asks.
///
/// # Errors
/// The request names no user of the file, or does not show that it is this user.
pub fn authenticate<'u>(users: &'u Users, request: &AaRequest) -> Result<&'u User, Denial> {
    let Some(name) = &request.user_name else {
        return denied(ResultCode::MISSING_AVP, "User-Name is missing: say who asks");
    };
    let secret = match (request.auth_request_type, &request.user_password) {
        (AuthRequestType::AuthorizeOnly, None) => None,
        (AuthRequestType::AuthorizeAuthenticate, Some(secret)) => Some(secret.as_slice()),
        (AuthRequestType::AuthenticateOnly, _) => {
            return denied(
                ResultCode::INVALID_AVP_VALUE,
                "Auth-Request-Type AUTHENTICATE_ONLY asks for nothing that is granted here",
            );
        }
        (AuthRequestType::AuthorizeAuthenticate, None) => {
            return denied(
                ResultCode::MISSING_AVP,
                "User-Password is missing, and the request is to authenticate",
            );
        }
        (AuthRequestType::AuthorizeOnly, Some(_)) => {
            return denied(
                ResultCode::CONTRADICTING_AVPS,
                "User-Password is there, and Auth-Request-Type is AUTHORIZE_ONLY",
            );
        }
    };
    match users.authenticate(name, secret) {
        Some(user) => Ok(user),
        // A wrong name and a wrong secret are not told apart.
        None => denied(ResultCode::AUTHENTICATION_REJECTED, "no user has this name and shows this"),
    }
}

/// Decides about a request of a user that is known. `unix` is the time in seconds; `usage` is what the user has besides this
/// session.
///
/// # Errors
/// Why not.
pub fn decide(
    user: &User,
    usage: Usage,
    resources: Option<&QosResources>,
    unix: u64,
) -> Result<Permit, Denial> {
    let flows = flows(resources)?;
    allow(user, usage, &flows, unix)
}

/// The same for a session whose flows are known.
///
/// # Errors
/// Why not.
pub fn allow(user: &User, usage: Usage, flows: &[Flow], unix: u64) -> Result<Permit, Denial> {
    let contract = &user.contract;
    if unix < contract.begins {
        return denied(ResultCode::AUTHORIZATION_REJECTED, "the contract has not begun yet");
    }
    let seconds_left = contract.ends.saturating_sub(unix);
    if seconds_left == 0 {
        return denied(ResultCode::AUTHORIZATION_REJECTED, "the contract has ended");
    }
    if usage.sessions >= contract.most_sessions {
        return denied(
            ResultCode::RESOURCES_EXCEEDED,
            format!("the contract allows {} sessions at a time", contract.most_sessions),
        );
    }
    let mut rate = 0_u64;
    for flow in flows {
        let class = contract.classes.iter().any(|class| class.dscp() == flow.dscp);
        if !class {
            return denied(
                ResultCode::AUTHORIZATION_REJECTED,
                format!("the contract has no class with codepoint {}", flow.dscp),
            );
        }
        let copies = copies(contract, flow)?;
        if flow.forward {
            rate = rate.saturating_add(flow.rate.saturating_mul(copies));
        }
    }
    let left = contract.quota.saturating_sub(usage.rate);
    if rate > left {
        return denied(
            ResultCode::RESOURCES_EXCEEDED,
            format!("{rate} b/s are asked for, and {left} of {} b/s are left", contract.quota),
        );
    }
    Ok(Permit {
        user: user.name.clone(),
        flows: flows.to_vec(),
        rate,
        seconds_left: u32::try_from(seconds_left).unwrap_or(u32::MAX - 1),
    })
}

/// In how many of the contract's destinations a flow has addresses: so many copies of it leave.
fn copies(contract: &Contract, flow: &Flow) -> Result<u64, Denial> {
    let mut reached: Vec<&Prefix> = Vec::new();
    for address in &flow.destinations {
        let longest = contract.destinations.iter().filter(|prefix| prefix.contains(*address));
        match longest.max_by_key(|prefix| prefix.length) {
            Some(prefix) if reached.contains(&prefix) => {}
            Some(prefix) => reached.push(prefix),
            None => {
                return denied(
                    ResultCode::AUTHORIZATION_REJECTED,
                    format!("the contract does not reach {address}"),
                );
            }
        }
    }
    Ok(reached.len() as u64)
}

/// The flows of a request: each rule names its class, its traffic and where it goes, one by one. What is left open would allow
/// anything, and is refused.
///
/// # Errors
/// Which rule says too little, or what cannot be.
pub fn flows(resources: Option<&QosResources>) -> Result<Vec<Flow>, Denial> {
    let rules = resources.map_or(&[][..], |resources| &resources.rules);
    if rules.is_empty() {
        return denied(ResultCode::MISSING_AVP, "QoS-Resources has no Filter-Rule: say what is asked for");
    }
    if rules.len() > MOST_RULES {
        return denied(ResultCode::AVP_OCCURS_TOO_MANY_TIMES, format!("more than {MOST_RULES} rules"));
    }
    let flows: Vec<Flow> =
        rules.iter().enumerate().map(|(number, rule)| flow(number + 1, rule)).collect::<Result<_, _>>()?;
    if !flows.iter().any(|flow| flow.forward) {
        return denied(ResultCode::MISSING_AVP, "no Filter-Rule is of a flow from the caller");
    }
    Ok(flows)
}

fn flow(number: usize, rule: &FilterRule) -> Result<Flow, Denial> {
    let lacks = |what: &str| denied(ResultCode::MISSING_AVP, format!("Filter-Rule {number}: {what}"));
    let Some(classifier) = &rule.classifier else { return lacks("Classifier is missing") };
    let [dscp] = classifier.dscp[..] else { return lacks("one Diffserv-Code-Point is needed") };
    let dscp = dscp.number();
    if ![Class::Ef, Class::Af4, Class::Af1].iter().any(|class| class.dscp() == dscp) {
        let reason = format!("Filter-Rule {number}: no class has codepoint {dscp}");
        return denied(ResultCode::AUTHORIZATION_REJECTED, reason);
    }
    let forward = classifier.direction != Some(Direction::Out);
    let far = if forward { &classifier.to } else { &classifier.from };
    let Some(destinations) = addresses(far) else {
        return lacks(
            "its far end has to be single addresses: IP-Address in To-Spec, or in From-Spec for Direction OUT",
        );
    };
    let parameters = rule.parameters.as_ref();
    if let Some(class) = parameters.and_then(|parameters| parameters.phb_class)
        && class >> 26 != u32::from(dscp)
    {
        let reason = format!("Filter-Rule {number}: PHB-Class is not that of Diffserv-Code-Point {dscp}");
        return denied(ResultCode::CONTRADICTING_AVPS, reason);
    }
    let Some(bucket) = parameters.and_then(|parameters| parameters.token_bucket.as_ref()) else {
        return lacks("TMOD-1 is missing");
    };
    if let Err(contradiction) = bucket.check() {
        let reason = format!("Filter-Rule {number}: {contradiction}");
        return denied(ResultCode::CONTRADICTING_AVPS, reason);
    }
    if bucket.rate.0 == 0 {
        return lacks("Token-Rate is 0");
    }
    Ok(Flow { dscp, forward, rate: bucket.rate.0.saturating_mul(8), destinations })
}

/// The single addresses of an end; `None` if there are none, or if it means more than these.
fn addresses(ends: &[EndSpec]) -> Option<Vec<IpAddr>> {
    let mut all = Vec::new();
    for end in ends {
        let plain = end.masks.is_empty() && end.negated != Some(Negated::True) && !end.addresses.is_empty();
        // An end that names something else, such as a link-layer address, is not understood.
        if !plain || !end.other.is_empty() {
            return None;
        }
        all.extend(&end.addresses);
    }
    (!all.is_empty() && all.len() <= MOST_ADDRESSES).then_some(all)
}
