//! Answers of a manager as text for people.
use std::fmt::Write as _;

use diagnostics::printable;
use time::OffsetDateTime;

use crate::protocol::{Admitted, Answer, Bound, BoundKind, Event, Paths, Refused, Status};

/// A number with a unit, exactly: in the largest of the units, which are powers of a thousand from the smallest on, that it has one of.
fn exact(number: u64, units: &[&str]) -> String {
    let (mut scale, mut unit) = (1_u64, units.first().copied().unwrap_or_default());
    for larger in units.iter().skip(1) {
        if number / 1_000 < scale {
            break;
        }
        (scale, unit) = (scale.saturating_mul(1_000), larger);
    }
    let (whole, rest) = (number / scale, number % scale);
    let digits = scale.checked_ilog10().unwrap_or(0) as usize;
    let fraction = if digits == 0 { String::new() } else { format!("{rest:0digits$}") };
    match fraction.trim_end_matches('0') {
        "" => format!("{whole} {unit}"),
        fraction => format!("{whole}.{fraction} {unit}"),
    }
}

/// Nanoseconds.
pub(crate) fn time(nanoseconds: u64) -> String {
    exact(nanoseconds, &["ns", "us", "ms", "s"])
}

/// Bits per second.
pub(crate) fn rate(bits: u64) -> String {
    exact(bits, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s"])
}

/// Nanoseconds since 1970, to the second.
fn date(nanoseconds: u64) -> String {
    let seconds = i64::try_from(nanoseconds / 1_000_000_000).unwrap_or(i64::MAX);
    match OffsetDateTime::from_unix_timestamp(seconds) {
        Ok(at) => format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            at.year(),
            u8::from(at.month()),
            at.day(),
            at.hour(),
            at.minute(),
            at.second()
        ),
        Err(_) => "the end of time".to_owned(),
    }
}

/// A bound, by its kind: one of every packet, or one of what arrives.
fn delayed(delay: u64, loss: u32) -> String {
    let delay = time(delay);
    match (BoundKind::of(loss), loss) {
        (BoundKind::EveryPacket, _) => format!("at most {delay}"),
        (BoundKind::WhatArrives, wan::ANY_LOSS) => {
            format!("what arrives takes at most {delay}, all may be lost")
        }
        (BoundKind::WhatArrives, loss) => {
            format!("what arrives takes at most {delay}, at most {loss} ppm are lost")
        }
    }
}

/// Each flow, or each copy of it, with its path.
fn bounds(all: &[Bound]) -> impl Iterator<Item = String> {
    let is_of_two = |bound: &Bound| {
        all.iter().any(|other| (other.flow, other.to) == (bound.flow, bound.to) && other.copy != bound.copy)
    };
    all.iter().map(move |one| bound(one, is_of_two(one)))
}

fn bound(bound: &Bound, is_of_two: bool) -> String {
    let Bound { flow, to, copy, path, delay, loss, price, rate: bits, dscp, .. } = bound;
    let copy = if is_of_two { format!(", copy {copy}") } else { String::new() };
    let path: Vec<String> = path.iter().map(ToString::to_string).collect();
    let path = if path.is_empty() { String::new() } else { format!(" along AS {}", path.join(" ")) };
    let price = match price {
        None => ", price not told".to_owned(),
        Some(0) => String::new(),
        Some(price) => format!(", price {price} for 1 Mbit/s and hour"),
    };
    let (delayed, bits) = (delayed(*delay, *loss), rate(*bits));
    format!("flow {flow} to AS {to}{copy}: {delayed}{path}, {bits} reserved, DSCP {dscp}{price}")
}

fn admitted(text: &mut String, admitted: &Admitted) {
    let peers: Vec<String> = admitted.peers.iter().map(|asn| format!("AS {asn}")).collect();
    // Writing into a text does not fail.
    let _ = writeln!(
        text,
        "session {} is admitted, with {}, until {}",
        admitted.session,
        peers.join(", "),
        date(admitted.ends)
    );
    for of in bounds(&admitted.bounds) {
        let _ = writeln!(text, "  {of}");
    }
    if let Some(caveat) = &admitted.caveat {
        let _ = writeln!(text, "  note: {caveat}");
    }
}

/// A refusal, with amounts in units that people read.
fn refused(refused: &Refused) -> String {
    let amount = |number: u64| match refused.unit.as_deref() {
        Some("ns") => time(number),
        Some("bit/s") => rate(number),
        unit => format!("{number} {}", unit.unwrap_or_default()),
    };
    let place = match refused.link {
        Some(link) => format!("AS {}, link {link}", refused.asn),
        None => format!("AS {}", refused.asn),
    };
    match (refused.missing, refused.offer) {
        (Some(missing), Some(offer)) => {
            let of = match refused.reason.as_str() {
                "quota" => "the quota of the user lacks",
                "service-full" => "the network service lacks",
                "delay" => "the limit lacks",
                _ => "there is too little by",
            };
            format!("{place}: {of} {}; {} can be had", amount(missing), amount(offer))
        }
        (None, Some(offer)) => {
            format!("{place}: no path meets the limit; the best one takes {}", amount(offer))
        }
        _ => refused.text.clone(),
    }
}

fn status(text: &mut String, status: &Status) {
    let mut say = |line: String| {
        text.push_str(&line);
        text.push('\n');
    };
    say(format!(
        "AS {}: {} sessions of its callers, {} with its callees, {} aggregates",
        status.asn,
        status.sessions.len(),
        status.hosted.len(),
        status.aggregates.len()
    ));
    for manager in &status.managers {
        let state = if manager.is_connected { "connected" } else { "away" };
        let dropped = match manager.dropped {
            0 => String::new(),
            count => format!("; {count} messages left out"),
        };
        say(format!("manager of AS {} at {}: {state}{dropped}", manager.asn, manager.address));
    }
    for link in &status.links {
        let loss = match link.loss {
            0 => String::new(),
            loss => format!("; {loss} ppm may be lost"),
        };
        say(format!(
            "link {} to AS {}, {}: {} of {} reserved, {} of {} bytes at once{loss}{}",
            link.link,
            link.to,
            link.class,
            rate(link.reserved),
            rate(link.rate),
            link.reserved_burst,
            link.burst,
            if link.is_up { "" } else { "; it is down" }
        ));
    }
    for session in &status.sessions {
        let callees: Vec<String> = session.callees.iter().map(ToString::to_string).collect();
        say(format!(
            "session {} of {}: {} to {}",
            session.session,
            session.user,
            session.caller,
            callees.join(", ")
        ));
        for of in bounds(&session.bounds) {
            say(format!("  {of}"));
        }
        for of in &session.measured {
            // Of two copies each one is a way that samples may have come.
            let ways = session.bounds.iter().filter(|bound| (bound.flow, bound.to) == (of.flow, of.to));
            let over = ways.map(|bound| bound.delay).max().is_some_and(|bound| bound < of.worst);
            let over = if over { ", which is longer than its bound" } else { "" };
            say(format!(
                "  flow {} to AS {}: {} samples measured, median {}, worst {}{over}",
                of.flow,
                of.to,
                of.samples,
                time(of.median),
                time(of.worst)
            ));
        }
    }
    for session in &status.hosted {
        say(format!("session {session} with callees here"));
    }
    for of in &status.delivered {
        say(format!(
            "flow {} of {} to AS {}: {} bytes in {} packets let in",
            of.flow, of.session, of.to, of.bytes, of.packets
        ));
    }
    for aggregate in &status.aggregates {
        let path: Vec<String> = aggregate.path.iter().map(ToString::to_string).collect();
        let label = |label: Option<u32>| label.map_or_else(|| "none".to_owned(), |label| label.to_string());
        say(format!(
            "aggregate {} {}: {} along AS {}, label {} to {}",
            aggregate.tunnel,
            aggregate.class,
            rate(aggregate.rate),
            path.join(" "),
            label(aggregate.label_in),
            label(aggregate.label_out)
        ));
    }
    if status.false_messages > 0 {
        say(format!("false messages left out: {}", status.false_messages));
    }
    if let Some(caveat) = &status.caveat {
        say(format!("note: {caveat}"));
    }
}

fn paths(text: &mut String, paths: &Paths) {
    let count = paths.paths.len();
    let _ = writeln!(text, "AS {}: {count} paths", paths.asn);
    for path in &paths.paths {
        let domains: Vec<String> = path.domains.iter().map(|asn| format!("AS {asn}")).collect();
        let told: Vec<String> =
            path.told.iter().map(|(class, delay)| format!("{class} {}", time(*delay))).collect();
        let told = if told.is_empty() { "no class".to_owned() } else { told.join(", ") };
        let source = if path.is_of_bgp { "BGP" } else { "the file" };
        let _ = writeln!(text, "{}: {told}; told by {source}", domains.join(", "));
    }
    if let Some(trouble) = paths.bgp.as_ref().and_then(|bgp| bgp.trouble.as_ref()) {
        let _ = writeln!(text, "the table of BGP cannot be read: {}", printable(trouble));
    }
}

/// An answer, in lines.
pub(crate) fn shown(answer: &Answer) -> String {
    let mut text = String::new();
    match answer {
        Answer::Admitted(of) => admitted(&mut text, of),
        Answer::Refused(of) => text = format!("refused: {}\n", refused(of)),
        Answer::Stopped { session } => text = format!("session {session} has ended\n"),
        Answer::Extended { ends } => text = format!("it lasts until {}\n", date(*ends)),
        Answer::Free { rate: bits, delay, jitter, loss } => {
            text = format!(
                "free: {}, with a delay that varies by at most {}: {}\n",
                rate(*bits),
                time(*jitter),
                delayed(*delay, *loss)
            );
        }
        Answer::Status(of) => status(&mut text, of),
        Answer::Paths(of) => paths(&mut text, of),
        Answer::Event(Event::Admitted(of)) => admitted(&mut text, of),
        Answer::Noted { session } => text = format!("noted for session {session}\n"),
        Answer::Event(Event::Refused { user, caller, callees, why }) => {
            let callees: Vec<String> = callees.iter().map(ToString::to_string).collect();
            text = format!(
                "a session of {} from {caller} to {} is refused: {}\n",
                printable(user),
                callees.join(", "),
                refused(why)
            );
        }
        Answer::Event(Event::Ended { session, why }) => {
            text = format!("session {session} has ended: {}\n", refused(why));
        }
        Answer::Event(Event::Rerouted { session, flow, to, delay, loss, why }) => {
            let why = match &*why.reason {
                "no-path" => format!("AS {}: BGP tells it no more", why.asn),
                _ => refused(why),
            };
            let delayed = delayed(*delay, *loss);
            text = format!(
                "session {session}: flow {flow} to AS {to} goes another way: {delayed}; the way before: {why}\n"
            );
        }
        Answer::Event(Event::CopyLost { session, flow, to, why }) => {
            text = format!(
                "session {session}: one copy of flow {flow} to AS {to} is left; the other one: {}\n",
                refused(why)
            );
        }
        Answer::Event(Event::CopyBack { session, flow, to, delay }) => {
            let delay = time(*delay);
            text = format!(
                "session {session}: two copies of flow {flow} to AS {to} go again, the new one in at most {delay}\n"
            );
        }
        Answer::Event(Event::Link { link, is_up, what }) => {
            let state = if *is_up { "up" } else { "down" };
            text = format!("link {link} is {state}: {what}\n");
        }
        Answer::Event(Event::Missed { count }) => text = format!("{count} events were missed here\n"),
        Answer::Wrong { what } | Answer::Unknown { what, .. } | Answer::Unavailable { what } => {
            text = format!("{what}\n")
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_of_what_arrives_are_told_as_such() {
        assert_eq!(delayed(7_400_000, 0), "at most 7.4 ms");
        let lossy = "what arrives takes at most 7.4 ms, at most 20100 ppm are lost";
        assert_eq!(delayed(7_400_000, 20_100), lossy);
        assert_eq!(delayed(1, wan::ANY_LOSS), "what arrives takes at most 1 ns, all may be lost");
    }

    #[test]
    fn quantities_are_shown_exactly() {
        for (nanoseconds, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1 us"),
            (7_200_000, "7.2 ms"),
            (1_000_000_001, "1.000000001 s"),
        ] {
            assert_eq!(time(nanoseconds), text);
        }
        assert_eq!(rate(1_500_000), "1.5 Mbit/s");
        assert_eq!(rate(u64::MAX), "18446744073.709551615 Gbit/s");
        assert_eq!(date(1_709_210_096_123_456_789), "2024-02-29T12:34:56Z");
    }
}
