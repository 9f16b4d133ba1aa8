//! Figures 23 to 25: several writers and readers, with one copy of each sample over the link.
use std::collections::BTreeSet;

use wan_server::protocol::Flow;

use super::cases::{MEGABIT, Run, Shown, data, topic, wanted};
use super::member::WRITER;
use super::play::{HOSTS, Heard, Played, Schedule, Topic, user_port};
use super::report::{Figure, Series};
use super::site::{Site, Sites, Wanted};
use crate::record::Record;

/// The sessions of a topic: one for each writer over the link, and one for the copies of each reader.
#[derive(Default)]
struct Sessions {
    /// The host that asked, and what it is called.
    all: Vec<(String, String)>,
    /// The bound of each writer's, in nanoseconds.
    over: Vec<i64>,
    /// The bound of each reader's, if there is a relay.
    inner: Vec<i64>,
}

/// What readers of a reliable topic answer to a writer: each HEARTBEAT at most once.
fn answers(topic: &Topic, port: u16) -> Flow {
    let packet = 150;
    let rate = (u64::from(packet) * 8_000_000_000).div_ceil(topic.least_separation().max(1));
    Flow {
        kind: "acknack".to_owned(),
        direction: "reverse".to_owned(),
        rate,
        least_rate: rate,
        most_loss: wan::ANY_LOSS,
        bucket: u64::from(packet),
        largest_packet: packet,
        ..data(topic, "ef", port)
    }
}

impl Run<'_> {
    /// Figures 23 to 25: from one to eight writers and readers over 100 Mbit/s and 12 ms, with one copy over the link.
    pub(crate) fn fans(&mut self) -> Result<(), String> {
        let names = |letter: &str| (1..=8).map(|at| format!("{letter}{at}")).collect::<Vec<_>>();
        let (writers, readers) = (names("w"), names("r"));
        let sites = Sites {
            hosts: vec![writers.clone(), [vec!["relay".to_owned()], readers.clone()].concat()],
            delay: 12,
            // What a domain reserves between its hosts counts at each of their links.
            edges: 1_000 * MEGABIT,
            ceilings: vec![("control", 5, 1_000), ("ef", 75, 16_000), ("af4", 10, 4_000)],
            ..Sites::line(2, 100 * MEGABIT)
        };
        let site = self.up(&sites)?;
        let counts: &[usize] = if self.short { &[2] } else { &[2, 4, 8] };
        for (key, many_writers, many_readers) in
            [("23", false, true), ("24", true, false), ("25", true, true)]
        {
            let (mut series, mut all) = (Vec::new(), Vec::new());
            for count in counts {
                let of = |many: bool| if many { *count } else { 1 };
                let topic = Topic {
                    writers: writers.iter().take(of(many_writers)).cloned().collect(),
                    readers: readers.iter().take(of(many_readers)).cloned().collect(),
                    relay: many_readers.then(|| "relay".to_owned()),
                    reliable: key == "25",
                    ..topic("fan", "w1", "r1")
                };
                let case = match (many_writers, *count) {
                    (_, 2) => "2",
                    (_, 4) => "4",
                    _ => "8",
                };
                (self.progress)(&format!("figure {key}: {case}"));
                let sessions = self.sessions(&site, &topic)?;
                let schedule =
                    if self.short { Schedule::seconds(3, 0, 0) } else { Schedule::seconds(8, 0, 0) };
                let played = self.stage(&site).play(std::slice::from_ref(&topic), &[], schedule)?;
                for (from, session) in &sessions.all {
                    site.stop(from, session)?;
                }
                site.settled(self.stopped)?;
                series.extend(fan_series(case, &topic, &played, &sessions));
                all.push(played);
            }
            self.added(fan_figure(key, series), &all.iter().collect::<Vec<_>>());
        }
        site.down()
    }

    /// Asks for the sessions of a topic.
    fn sessions(&self, site: &Site, topic: &Topic) -> Result<Sessions, String> {
        let mut sessions = Sessions::default();
        let taker = topic.relay.as_ref().or(topic.readers.first()).ok_or("a topic has no reader")?;
        let admit = |wanted: &Wanted, all: &mut Vec<(String, String)>| -> Result<i64, String> {
            let admitted = site.establish(wanted)?.map_err(|refused| refused.text)?;
            all.push((wanted.from.clone(), admitted.session));
            let bounds = admitted.bounds.iter().filter(|bound| bound.flow == 0);
            let bound = bounds.map(|bound| bound.delay.cast_signed()).max();
            bound.ok_or_else(|| "a session has no bound".to_owned())
        };
        for from in &topic.writers {
            let mut flows = vec![data(topic, "ef", user_port(0))];
            if topic.reliable {
                flows.push(answers(topic, user_port(0)));
            }
            let bound = admit(&wanted(from, taker, flows), &mut sessions.all)?;
            sessions.over.push(bound);
        }
        if let Some(relay) = &topic.relay {
            for to in &topic.readers {
                let mut flow = data(topic, "ef", user_port(0));
                let writers = topic.writers.len() as u64;
                (flow.rate, flow.least_rate, flow.bucket) =
                    (flow.rate * writers, flow.least_rate * writers, flow.bucket * writers);
                let bound = admit(&wanted(relay, to, vec![flow]), &mut sessions.all)?;
                sessions.inner.push(bound);
            }
        }
        Ok(sessions)
    }
}

/// What came over the link, and what readers behind a relay got, each sample by the bounds of its writer's and of its reader's session. Writers with
/// the same bound are one series: most often all of them.
fn fan_series(case: &'static str, topic: &Topic, played: &Played, sessions: &Sessions) -> Vec<Series> {
    let Some(Heard { sent, relayed, received }) = played.topics.first() else { return Vec::new() };
    let bounds: BTreeSet<i64> = sessions.over.iter().copied().collect();
    let mut series = Vec::new();
    for over in &bounds {
        let of_these = |record: &&Record| {
            let writer = usize::try_from(record.number / WRITER).unwrap_or(usize::MAX);
            sessions.over.get(writer) == Some(over)
        };
        let named = |flow: String| match bounds.len() {
            1 => flow,
            _ => format!("{flow}, writers with {} ms", crate::text::milliseconds(*over)),
        };
        let sent: Vec<Record> = sent.iter().filter(of_these).copied().collect();
        let mut add = |flow: String, bound: i64, hosts: i64, received: &[Record]| {
            let shown = Shown { case, flow: named(flow), topic, bound: Some(bound), limit: bound + hosts };
            series.push(shown.series(&sent, received, played, false));
        };
        if let Some(relayed) = relayed {
            add("over the link, to the relay".to_owned(), *over, HOSTS, relayed);
        }
        for (at, received) in received.iter().enumerate() {
            // What goes through a relay passes its host, too.
            let (bound, hosts) = match sessions.inner.get(at) {
                Some(inner) => (over + inner, 2 * HOSTS),
                None => (*over, HOSTS),
            };
            add(format!("to reader {}", at + 1), bound, hosts, received);
        }
    }
    series
}

fn fan_figure(key: &'static str, series: Vec<Series>) -> Figure {
    let (title, about, paper): (_, _, &'static [(&'static str, &'static str)]) = match key {
        "23" => (
            "Figure 23: one writer, several readers",
            "500 kbit/s from one writer to readers in the other domain, over a link of 100 Mbit/s and 12 ms. One copy goes over the link, to a relay in the domain of the readers: \
             a reader that writes what it takes again, for each of them.",
            &[("to 2, 4, 8 readers", "13, 12, 12 ms"), ("to more than 30", "15 ms")],
        ),
        "24" => (
            "Figure 24: several writers, one reader",
            "500 kbit/s from each of several writers to one reader in the other domain, over a link of 100 Mbit/s and 12 ms.",
            &[("from 2, 4, 8 writers", "13, 13, 13 ms")],
        ),
        _ => (
            "Figure 25: several writers, several readers, reliable",
            "500 kbit/s from each of several writers to each of as many readers in the other domain, reliable, over a link of 100 Mbit/s and 12 ms. One copy of each sample goes over the link, \
             to a relay in the domain of the readers. Acknowledgements have flows of their own.",
            &[("2, 4, 8 of both", "14, 22, 45 ms")],
        ),
    };
    Figure {
        key,
        title: title.to_owned(),
        about,
        paper,
        series,
        refusals: Vec::new(),
        notes: Vec::new(),
        broken: Vec::new(),
        void: Vec::new(),
    }
}
