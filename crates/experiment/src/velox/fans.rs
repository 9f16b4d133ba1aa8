//! Figures 23 to 25: several writers and readers, with one copy of each sample over the link.
use wan_server::protocol::Flow;

use super::cases::{MEGABIT, Run, Shown, data, topic, wanted};
use super::play::{HOSTS, Heard, Played, Schedule, Topic, user_port};
use super::report::{Figure, Series};
use super::site::{Site, Sites, Wanted};

/// What readers of a reliable topic answer to a writer: each HEARTBEAT at most once.
fn answers(topic: &Topic, port: u16) -> Flow {
    let packet = 150;
    let rate = (u64::from(packet) * 8_000_000_000).div_ceil(topic.least_separation().max(1));
    Flow {
        kind: "acknack".to_owned(),
        direction: "reverse".to_owned(),
        rate,
        least_rate: rate,
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
                let (over, inner, sessions) = self.sessions(&site, &topic)?;
                let schedule =
                    if self.short { Schedule::seconds(3, 0, 0) } else { Schedule::seconds(8, 0, 0) };
                let played = self.stage(&site).play(std::slice::from_ref(&topic), &[], schedule)?;
                for (from, session) in &sessions {
                    site.stop(from, session)?;
                }
                site.settled(self.stopped)?;
                series.extend(fan_series(case, &topic, &played, over, inner));
                all.push(played);
            }
            self.added(fan_figure(key, series), &all.iter().collect::<Vec<_>>());
        }
        site.down()
    }

    /// Sessions of a topic: one for each writer over the link, and one for the copies of each reader. The longest bound of both, and all of them.
    #[expect(clippy::type_complexity, reason = "said above")]
    fn sessions(
        &self,
        site: &Site,
        topic: &Topic,
    ) -> Result<(i64, Option<i64>, Vec<(String, String)>), String> {
        let (mut sessions, mut over, mut inner) = (Vec::new(), 0, None);
        let taker = topic.relay.as_ref().or(topic.readers.first()).ok_or("a topic has no reader")?;
        let admit = |wanted: &Wanted, sessions: &mut Vec<(String, String)>| -> Result<i64, String> {
            let admitted = site.establish(wanted)?.map_err(|refused| refused.text)?;
            sessions.push((wanted.from.clone(), admitted.session));
            let bounds = admitted.bounds.iter().filter(|bound| bound.flow == 0);
            Ok(bounds.map(|bound| bound.delay.cast_signed()).max().unwrap_or(0))
        };
        for from in &topic.writers {
            let mut flows = vec![data(topic, "ef", user_port(0))];
            if topic.reliable {
                flows.push(answers(topic, user_port(0)));
            }
            over = admit(&wanted(from, taker, flows), &mut sessions)?.max(over);
        }
        if let Some(relay) = &topic.relay {
            for to in &topic.readers {
                let mut flow = data(topic, "ef", user_port(0));
                let writers = topic.writers.len() as u64;
                (flow.rate, flow.least_rate, flow.bucket) =
                    (flow.rate * writers, flow.least_rate * writers, flow.bucket * writers);
                let bound = admit(&wanted(relay, to, vec![flow]), &mut sessions)?;
                inner = inner.max(Some(bound));
            }
        }
        Ok((over, inner, sessions))
    }
}

/// What came over the link, and what readers behind a relay got.
fn fan_series(
    case: &'static str,
    topic: &Topic,
    played: &Played,
    over: i64,
    inner: Option<i64>,
) -> Vec<Series> {
    let Some(Heard { sent, relayed, received }) = played.topics.first() else { return Vec::new() };
    let shown = |flow: String, bound: i64, limit: i64| Shown { case, flow, topic, bound: Some(bound), limit };
    let mut series = Vec::new();
    if let Some(relayed) = relayed {
        series.push(
            shown("over the link, to the relay".to_owned(), over, over + HOSTS)
                .series(sent, relayed, played, false),
        );
    }
    for (at, received) in (1..).zip(received) {
        // What goes through a relay passes its host, too.
        let (bound, hosts) = match inner {
            Some(inner) => (over + inner, 2 * HOSTS),
            None => (over, HOSTS),
        };
        series.push(
            shown(format!("to reader {at}"), bound, bound + hosts).series(sent, received, played, false),
        );
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
