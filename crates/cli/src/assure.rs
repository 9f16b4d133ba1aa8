//! ASSURANCE on the command line, and what became of it.
use std::collections::BTreeMap;

use clap::Args;
use dds::assurance::{PairAssurance, Stage, State};
use dds::qos::{Losses, OfferedAssurance, RequestedAssurance, WhenRefused};
use dds::{DomainParticipant, Duration, Guid};

use crate::describe::{People, Person};
use crate::span;

/// ASSURANCE of a reader.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    /// ASSURANCE: samples are to come within this time, as a resource manager promises, or unassured if it does not.
    #[arg(long, value_name = "TIME", value_parser = span::parse, help_heading = "QoS")]
    within: Option<Duration>,
    /// With --within: that time is to hold even if so many frames are lost in such a time, as in 2/1s: 1 to 4, in at least twice the time of --within. Needs a
    /// reliable reader.
    #[arg(long, requires = "within", value_name = "FRAMES/TIME", value_parser = losses, help_heading = "QoS")]
    losses: Option<Losses>,
    /// With --within: takes nothing from a writer whose samples are not promised in that time.
    #[arg(long, requires = "within", help_heading = "QoS")]
    or_fail: bool,
}

impl Wanted {
    pub(crate) fn qos(self) -> Option<RequestedAssurance> {
        let when_refused = if self.or_fail { WhenRefused::Fail } else { WhenRefused::RunUnassured };
        let losses = self.losses;
        self.within.map(|within| RequestedAssurance {
            when_refused,
            losses,
            ..RequestedAssurance::within(within)
        })
    }
}

/// Reads so many frames in such a time: `2/1s`.
fn losses(text: &str) -> Result<Losses, String> {
    let parts = text.split_once('/').and_then(|(frames, within)| Some((frames.trim().parse().ok()?, within)));
    let Some((frames, within)) = parts else { return Err("write 2/1s: two frames in any second".to_owned()) };
    Ok(Losses { frames, within: span::parse(within)? })
}

/// Reads what a writer promises: `separation=5ms,size=48060,most=8ms,importance=3,jitter=100us,emission=300us,slack=50us`.
pub(crate) fn parse(text: &str) -> Result<OfferedAssurance, String> {
    let mut offered = OfferedAssurance::every(Duration::ZERO);
    let mut has_separation = false;
    for pair in text.split(',') {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("{pair:?} has no value; write separation=5ms,size=48060"))?;
        let number = |most: u32| {
            let read = value.trim().parse().ok().filter(|number| *number <= most);
            read.ok_or_else(|| format!("{name} of {value:?}; give a number up to {most}"))
        };
        match name.trim() {
            "separation" => {
                (offered.minimum_separation, has_separation) = (span::parse(value)?, true);
            }
            "most" => offered.maximum_separation = Some(span::parse(value)?),
            "size" => offered.maximum_size = Some(number(dds::qos::LARGEST_MESSAGE)?),
            "importance" => offered.importance = u8::try_from(number(255)?).unwrap_or(u8::MAX),
            "jitter" => offered.jitter = span::parse(value)?,
            "emission" => offered.emission = Some(span::parse(value)?),
            "slack" => offered.slack = span::parse(value)?,
            other => {
                return Err(format!(
                    "{other:?} is none of separation, most, size, importance, jitter, emission, slack"
                ));
            }
        }
    }
    if has_separation {
        Ok(offered)
    } else {
        Err("give the least time between two samples: separation=5ms".to_owned())
    }
}

/// What has been said of the pairs of a local endpoint: the same is not said twice.
#[derive(Default, Debug)]
pub(crate) struct Told(BTreeMap<(Guid, Guid), String>);

impl Told {
    /// A line about each pair of which there is something new.
    pub(crate) fn news(
        &mut self,
        participant: &DomainParticipant,
        topic: &str,
        pairs: &[PairAssurance],
    ) -> Vec<String> {
        let people = participant.get_discovered_participants();
        let people = People::new(people.iter().map(|found| Person::of(&found.data)));
        let mut lines = Vec::new();
        for pair in pairs {
            let is_own = pair.writer.prefix == participant.prefix();
            let other = if is_own { ("to", pair.reader) } else { ("from", pair.writer) };
            let line = line(&format!("{topic:?} {} {}", other.0, people.participant(other.1.prefix)), pair);
            if self.0.insert((pair.writer, pair.reader), line.clone()).as_ref() != Some(&line) {
                lines.push(line);
            }
        }
        lines
    }
}

fn line(names: &str, pair: &PairAssurance) -> String {
    let runs = match pair.stage {
        Stage::Waiting => "not matched",
        Stage::Unassured => "unassured",
        Stage::Assured => "assured",
    };
    let state = decided(pair.state, pair.bound, &pair.reason);
    format!("{names}: {state}; {runs}{}", offer(pair.offered_latency, pair.offered_separation))
}

/// What was decided about a pair, in words.
pub(crate) fn decided(state: State, bound: Option<Duration>, reason: &str) -> String {
    match (state, bound) {
        (State::Pending, _) => "waits for the verdict of a resource manager".to_owned(),
        (State::Admitted, Some(bound)) => format!("admitted within {bound}"),
        (State::Admitted, None) => "admitted".to_owned(),
        (State::Refused, _) => format!("refused: {reason}"),
        (State::Revoked, _) => format!("revoked: {reason}"),
    }
}

/// What would be admitted, in words, with a separator before it; empty if that is not known.
pub(crate) fn offer(latency: Option<Duration>, separation: Option<Duration>) -> String {
    let mut offers = Vec::new();
    offers.extend(latency.map(|latency| format!("within {latency}")));
    offers.extend(separation.map(|separation| format!("with a separation of {separation}")));
    if offers.is_empty() {
        return String::new();
    }
    format!("; it would be admitted {}", offers.join(", or "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_read() {
        let within = Duration::from_secs(1);
        assert_eq!(losses("2/1s"), Ok(Losses { frames: 2, within }));
        for text in ["2", "2/", "/1s", "x/1s", "256/1s", "2/often"] {
            assert!(losses(text).is_err(), "{text}");
        }
    }

    #[test]
    fn promises_are_read() {
        let offered = parse("separation=5ms,size=48060,importance=3,most=8ms").unwrap();
        assert_eq!(offered.minimum_separation, Duration::from_millis(5));
        assert_eq!((offered.maximum_size, offered.importance), (Some(48_060), 3));
        assert_eq!(offered.maximum_separation, Some(Duration::from_millis(8)));
        for (text, word) in [
            ("size=10", "separation"),
            ("separation=5ms,importance=256", "255"),
            ("separation=5ms,color=red", "color"),
            ("separation", "no value"),
            ("separation=often", "100ms"),
            ("separation=5ms,size=1048577", "1048576"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }
}
