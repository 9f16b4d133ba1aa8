//! Participants that do not meet: they do not hear us, or are in another domain.
use std::collections::BTreeMap;

use rtps::discovery::Rejection;

use super::{About, Finding, Neighbour, Scene};

pub(super) fn findings(scene: &Scene) -> Vec<Finding> {
    let mut findings: Vec<Finding> = scene
        .strangers
        .iter()
        .map(|(from, person)| {
            Finding::problem(About::Participants,
                format!("participant {person} is heard from {from}, and has not answered: it does not hear us"),
                format!(
                    "Let UDP through to it and back (firewall, route, VPN, container): its ports are {} and up. A wrong address in its announcement does the same.",
                    dds_port(scene.domain)
                ),
            )
        })
        .collect();
    findings.extend(nobody(scene));
    findings.extend(neighbours(scene));
    findings.extend(scene.rejections.iter().filter_map(|(reason, count)| rejected(scene, *reason, *count)));
    findings
}

/// No other participant is heard.
fn nobody(scene: &Scene) -> Option<Finding> {
    let heard = scene.people.iter().next().is_some()
        || !scene.strangers.is_empty()
        || !scene.neighbours.is_empty()
        || scene.rejections.iter().any(|(reason, _)| *reason == Rejection::OtherDomain);
    // A question about a topic is answered about that.
    (!heard && scene.topic.is_none()).then(|| {
        Finding::problem(About::Participants,
            format!("no other participant is heard in domain {}, nor in another, in {}", scene.domain, scene.time),
            format!(
                "Let multicast and UDP ports from {} on through (switch, firewall, container), choose the interface with --interface, or name hosts with --peer. Some announce themselves every 30 s only: --duration 35s.",
                rtps::ports::metatraffic_multicast(scene.domain).unwrap_or(7400)
            ),
        )
    })
}

/// Other domains and tags, each once.
fn neighbours(scene: &Scene) -> Vec<Finding> {
    let mut groups: BTreeMap<(u32, &str), Vec<&Neighbour>> = BTreeMap::new();
    for neighbour in &scene.neighbours {
        groups.entry((neighbour.domain, &neighbour.tag)).or_default().push(neighbour);
    }
    groups.into_iter().filter_map(|((domain, tag), group)| told(scene, domain, tag, &group)).collect()
}

fn told(scene: &Scene, domain: u32, tag: &str, group: &[&Neighbour]) -> Option<Finding> {
    let first = group.first()?;
    let others = if group.len() > 1 { format!(" and {} more", group.len() - 1) } else { String::new() };
    let (place, here, todo) = if domain == scene.domain {
        (
            format!("has the domain tag {tag:?}"),
            format!("here it is {:?}", scene.tag),
            format!("Give both programs the same domain tag; --domain-tag {tag:?} looks into that one."),
        )
    } else {
        let tagged = if tag.is_empty() { String::new() } else { format!(" with the domain tag {tag:?}") };
        (
            format!("is in domain {domain}{tagged}"),
            format!("this is domain {}", scene.domain),
            format!(
                "Give both programs the same domain id (for ROS 2: ROS_DOMAIN_ID); --domain {domain} looks into that one."
            ),
        )
    };
    // What is asked about is there, and here something is missing.
    let asked = scene.topic.as_deref();
    let there = group.iter().find_map(|neighbour| Some((neighbour, neighbour.endpoints.first()?)));
    let complete = match asked {
        Some(_) => !scene.is_incomplete(),
        None => scene.people.iter().next().is_some(),
    };
    if let (Some(asked), Some((neighbour, data)), false) = (asked, there, complete) {
        let does = if data.guid.entity_id.is_writer() { "writes" } else { "reads" };
        return Some(Finding::problem(
            About::Participants,
            format!("participant {} {does} topic {asked:?}, but it {place}, and {here}", neighbour.person),
            todo,
        ));
    }
    let what = format!("participant {}{others} {place}; {here}", first.person);
    Some(if complete {
        Finding::note(About::Participants, what, todo)
    } else {
        Finding::problem(About::Participants, what, todo)
    })
}

/// What was not believed; what happens at every beginning is left out.
fn rejected(scene: &Scene, reason: Rejection, count: u64) -> Option<Finding> {
    let todo = match reason {
        Rejection::UnknownParticipant | Rejection::NotValidated | Rejection::UnknownEndpoint => return None,
        // It was told who that is.
        Rejection::OtherDomain if !scene.neighbours.is_empty() => return None,
        Rejection::OtherDomain => {
            "A participant has another domain tag, or sends to a port of this domain: compare domain ids and tags."
        }
        Rejection::Malformed => {
            "A program sends what is no announcement of RTPS 2: `tshark -Y rtps` shows which."
        }
        Rejection::Version => "A participant speaks another version of RTPS: 2 is spoken here.",
        Rejection::ForeignRecord => {
            "A participant announces others in their name; a discovery server does that, an attacker too."
        }
        Rejection::Lease => "A participant announces a lease of zero: give it a lease above that.",
        Rejection::UnknownAddress => {
            "A participant sends from an address that it did not announce, as after a change of its network: wait, or start it anew."
        }
        Rejection::UserSource => {
            "Samples or acknowledgements in the name of a participant come from a socket where it has not answered and that it does not announce: look with `tshark -Y rtps` from where, and whether that program is what it claims to be."
        }
        Rejection::SourceAddress => "A host forges source addresses.",
        Rejection::ParticipantLimit => "There are more participants than are held: split the domain.",
        Rejection::EndpointLimit => "A participant has more endpoints than are held: split it.",
        Rejection::MemoryLimit => "All participants together announce more than is held: split the domain.",
        Rejection::Evicted => "Many announce themselves and never answer: see who floods the network.",
        Rejection::EndpointKind => {
            "A participant announces endpoints with ids that make no sense: report it to its makers."
        }
        Rejection::EventsNotTaken => {
            "This command was too slow for so much discovery: run it on a host that is less busy."
        }
        _ => "See the documentation of discovery.",
    };
    let what = match reason {
        Rejection::UserSource => "messages of writers and readers",
        _ => "announcements or the like",
    };
    Some(Finding::note(About::Participants, format!("{count} {what} were not believed: {reason}"), todo))
}

fn dds_port(domain: u32) -> u16 {
    rtps::ports::metatraffic_unicast(domain, 0).unwrap_or(7410)
}
