//! The figures: which domains, which flows, which sessions, which floods.
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use wan_server::protocol::{Admitted, Answer, Ask, Flow, SessionAsked};

use super::judge::{SECOND, judge, kept, seconds};
use super::play::{Flood, HOSTS, Played, Schedule, Stage, Topic, user_port};
use super::report::{Figure, Refusal, Report, Series, Span};
use super::site::{Site, Sites, Wanted, ask_at};
use crate::program::{Folder, Stopped};
use crate::record::Record;
use crate::stalls::Stalls;

/// Bytes that RTPS, UDP and IP add to a sample at most, best effort, and with a HEARTBEAT.
const AROUND_SAMPLE: u32 = 112;
const AROUND_RELIABLE: u32 = 160;
/// The bytes of a sample and the nanoseconds to the next one: 500 kbit/s, as in the paper.
const SIZE: u32 = 500;
const SEPARATION: u64 = 8_000_000;
/// What sessions ask for at most, in nanoseconds: they hear what they get.
const LIMIT: u64 = 1_000_000_000;
/// Bytes of IP of a datagram of a flood.
const DATAGRAM: u64 = 1_028;
/// Bytes of the largest packet at the links of hosts.
const LARGEST: u64 = 1_500;
pub(super) const MEGABIT: u64 = 1_000_000;

/// What a run needs, and hears.
pub(crate) struct Run<'r> {
    pub(crate) folder: &'r Folder,
    pub(crate) stopped: Stopped<'r>,
    pub(crate) progress: &'r dyn Fn(&str),
    /// Some seconds of each phase, for tests of the experiment itself.
    pub(crate) short: bool,
    pub(crate) report: Report,
}

/// A flow of samples of a topic, from each of its writers, in a class.
pub(super) fn data(topic: &Topic, class: &str, port: u16) -> Flow {
    let around = if topic.reliable { AROUND_RELIABLE } else { AROUND_SAMPLE };
    let packet = topic.size + around;
    // Beside each sample a reliable writer may have to say what there is.
    let packets = if topic.reliable { 2 } else { 1 };
    let rate = (u64::from(packet) * packets * 8_000_000_000).div_ceil(topic.least_separation().max(1));
    let packets = packets * (1 + held_back(topic.separation));
    Flow {
        kind: "data".to_owned(),
        direction: "forward".to_owned(),
        protocol: 17,
        source_port: 0,
        destination_port: port,
        class: class.to_owned(),
        rate,
        bucket: u64::from(packet) * packets,
        largest_packet: packet,
        least_rate: rate,
        most_loss: wan::ANY_LOSS,
        limit: LIMIT,
        copies: 1,
        asking: "hop-by-hop".to_owned(),
    }
}

/// Samples besides the one that is due which come at once where hosts hold back what is sent, for as long as they may: so many more are let in.
const fn held_back(separation: u64) -> u64 {
    HOSTS.unsigned_abs() / if separation == 0 { 1 } else { separation }
}

pub(super) fn topic(name: &str, from: &str, to: &str) -> Topic {
    Topic {
        name: name.to_owned(),
        writers: vec![from.to_owned()],
        readers: vec![to.to_owned()],
        relay: None,
        size: SIZE,
        separation: SEPARATION,
        reliable: false,
    }
}

pub(super) fn wanted(from: &str, to: &str, flows: Vec<Flow>) -> Wanted {
    Wanted { from: from.to_owned(), to: vec![to.to_owned()], flows }
}

fn flood(from: &str, to: &str, rate: u64) -> Flood {
    Flood { from: from.to_owned(), to: to.to_owned(), rate, size: DATAGRAM }
}

/// How a flow of a case came out.
pub(super) struct Shown<'s> {
    pub(super) case: &'static str,
    pub(super) flow: String,
    pub(super) topic: &'s Topic,
    pub(super) bound: Option<i64>,
    pub(super) limit: i64,
}

impl Shown<'_> {
    /// What was received of what was sent. With a schedule, the time is split by the flood, and the rate is judged.
    pub(super) fn series(self, sent: &[Record], received: &[Record], played: &Played, split: bool) -> Series {
        let Self { case, flow, topic, bound, limit } = self;
        let stalls: &Stalls = &played.stalls;
        // A reliable sample that a stall has lost comes again much later.
        let judge = if topic.reliable { crate::judge::judge } else { judge };
        let whole = judge(sent, received, stalls, limit);
        let first = sent.first().map_or(0, |record| record.at);
        let last = sent.last().map_or(0, |record| record.at);
        let (from, to) = played.flooded;
        let part = |name: &'static str, of: &dyn Fn(i64) -> bool| {
            let sent: Vec<Record> = sent.iter().filter(|record| of(record.at)).copied().collect();
            Span { name, judged: judge(&sent, received, stalls, limit) }
        };
        let spans = match split {
            true => vec![
                part("alone", &|at| at < from),
                part("under the flood", &|at| (from..to).contains(&at)),
                part("after it", &|at| at >= to),
            ],
            false => vec![Span { name: "", judged: whole.clone() }],
        };
        let due = (1_000_000_000 / topic.separation.max(1)) * topic.writers.len() as u64;
        // The first sample that comes begins a second, so that edges of seconds are between samples.
        let begun = received.iter().map(|record| record.at).min().unwrap_or(first);
        let all = split.then(|| seconds(received, stalls, begun - SECOND / 1_000, last));
        let kept = all.as_ref().filter(|_| bound.is_some()).map(|all| kept(all, due));
        let since = |at: i64| crate::plot::seconds(at.saturating_sub(first));
        Series {
            case,
            flow,
            bound,
            limit,
            judged: whole,
            spans,
            seconds: all.map(|all| (all, due)),
            kept,
            flooded: split.then(|| (since(from), since(to))),
            time: since(last),
            size: topic.size,
        }
    }
}

impl Run<'_> {
    pub(super) fn up(&self, sites: &Sites) -> Result<Site, String> {
        (self.progress)("building domains");
        Site::up(sites, self.folder, self.stopped)
    }

    pub(super) const fn stage<'s>(&'s self, site: &'s Site) -> Stage<'s> {
        Stage { site, folder: self.folder, stopped: self.stopped }
    }

    fn schedule(&self) -> Schedule {
        if self.short { Schedule::seconds(1, 3, 1) } else { Schedule::seconds(11, 20, 11) }
    }

    pub(super) fn added(&mut self, figure: Figure, played: &[&Played]) {
        let mut figure = figure;
        if played.iter().any(|played| !played.real_time) {
            figure.notes.push("Real-time priority was not granted to all that is measured: other programs of this machine are in the times.".to_owned());
        }
        let count: usize = played.iter().map(|played| played.stalls.count).sum();
        let longest = played.iter().map(|played| played.stalls.longest).max().unwrap_or(0);
        if count > 0 {
            let longest = crate::text::milliseconds(longest.cast_signed());
            figure
                .notes
                .push(format!("The probes saw the machine stand still {count} times, {longest} ms at most."));
        }
        self.report.figures.push(figure);
    }

    /// Asks for sessions of which only the first so many have room; those that are there end.
    fn refused(&self, site: &Site, asked: &str, wanted: &[Wanted], room: usize) -> Result<Refusal, String> {
        let mut admitted: Vec<(&str, Admitted)> = Vec::new();
        let (mut answer, mut reason) = (None, String::new());
        for one in wanted {
            match site.establish(one)? {
                Ok(session) => admitted.push((&one.from, session)),
                Err(refused) => {
                    reason = refused.reason;
                    answer = Some(match (admitted.len(), wanted.len()) {
                        (0, 1) => refused.text,
                        (there, of) => format!("{there} of {of} are admitted, and then: {}", refused.text),
                    });
                    break;
                }
            }
        }
        for (from, session) in &admitted {
            site.stop(from, &session.session)?;
        }
        site.settled(self.stopped)?;
        Ok(Refusal { asked: asked.to_owned(), answer, reason, admitted: admitted.len(), room })
    }

    /// Figures 21 and 22: 500 kbit/s in both directions over a link of 1 Mbit/s, alone and beside a flood, without a session and with one.
    pub(crate) fn protection(&mut self) -> Result<(), String> {
        let site = self.up(&Sites::line(2, MEGABIT))?;
        let topics = [topic("forward", "a", "c"), topic("backward", "c", "a")];
        // A tenth more than the link carries with the samples, as in the paper.
        let floods = [flood("flood1", "flood2", 600_000), flood("flood2", "flood1", 600_000)];
        let refusals = self.too_much(&site)?;
        (self.progress)("figure 21: one queue for all");
        let open = self.stage(&site).play(&topics, &floods, self.schedule())?;
        let mut bounds = Vec::new();
        for topic in &topics {
            let (from, to) = (&topic.writers[0], &topic.readers[0]);
            bounds.push(site.admitted(&wanted(from, to, vec![data(topic, "ef", user_port(0))]))?);
        }
        (self.progress)("figure 21: with sessions");
        let held = self.stage(&site).play(&topics, &floods, self.schedule())?;
        site.down()?;
        let shares = self.shares()?;
        let mut series = Vec::new();
        for (case, played, with) in
            [("default: one queue", &open, false), ("ours: a session in EF", &held, true)]
        {
            for ((topic, heard), bound) in topics.iter().zip(&played.topics).zip(&bounds) {
                let shown = Shown {
                    case,
                    flow: topic.name.clone(),
                    topic,
                    bound: with.then_some(*bound),
                    limit: bound + HOSTS,
                };
                let received = heard.received.first().map(Vec::as_slice).unwrap_or_default();
                series.push(shown.series(&heard.sent, received, played, true));
            }
        }
        let mut notes = Vec::new();
        let median = |at: usize| series.get(at)?.spans.first()?.judged.median;
        if let (Some(without), Some(with)) = (median(0), median(2)) {
            let milliseconds = crate::text::milliseconds;
            notes.push(format!(
                "What a session costs without load: the median forward is {} ms alone without one, and {} ms with it, which goes through the policer of the edge and in a tunnel.",
                milliseconds(without),
                milliseconds(with)
            ));
        }
        for (case, played) in [("default", &open), ("ours", &held)] {
            let floods = played.floods.iter().map(|(sent, came)| format!("{came} of {sent}"));
            let floods: Vec<String> = floods.collect();
            notes.push(format!("Datagrams of the floods that arrived, {case}: {}.", floods.join(" and ")));
        }
        let mut void = held.calm(&floods, true);
        void.extend(open.calm(&floods, false));
        void.extend(series.iter().filter(|series| series.bound.is_none()).filter_map(undisturbed));
        let figure = Figure {
            key: "21",
            title: "Figures 21 and 22: rate and latency beside a flood".to_owned(),
            about: "500 kbit/s of samples of 500 bytes go in both directions over a link of 1 Mbit/s between two domains, alone, beside a flood of 600 kbit/s \
                    of UDP in each direction, and alone again. At first there is no session, and all that passes is in one queue; then each direction has one.",
            paper: &[
                ("21a, one queue", "the flow does not keep its 500 kbit/s once the flood has begun"),
                ("21b, EF with 30 % of the link", "it keeps them"),
                ("22, latency", "more than twice as long without QoS as with it; under one load, on average"),
            ],
            series,
            refusals: refusals.into_iter().chain([shares]).collect(),
            notes,
            broken: Vec::new(),
            void,
        };
        self.added(figure, &[&open, &held]);
        Ok(())
    }

    /// What the paper asks of a link of 1 Mbit/s, and it does not carry.
    fn too_much(&self, site: &Site) -> Result<Vec<Refusal>, String> {
        let of = topic("forward", "a", "c");
        let flow = |at: u8| data(&of, "ef", user_port(at));
        let mut copies = flow(0);
        (copies.rate, copies.least_rate) = (copies.rate * 8, copies.least_rate * 8);
        let each = |count: u8| (0..count).map(|at| wanted("a", "c", vec![flow(at)])).collect::<Vec<_>>();
        Ok(vec![
            self.refused(
                site,
                "figure 23 at 1 Mbit/s: a copy for each of 8 readers, 8 times 500 kbit/s",
                &[wanted("a", "c", vec![copies])],
                0,
            )?,
            self.refused(site, "figure 24 at 1 Mbit/s: 2 writers of 500 kbit/s each", &each(2), 1)?,
            self.refused(
                site,
                "figure 25 at 1 Mbit/s: 8 writers of 500 kbit/s each, with one copy each",
                &each(8),
                1,
            )?,
        ])
    }

    /// The paper's shares: 30 % of 1 Mbit/s for EF are less than its flow of 500 kbit/s.
    fn shares(&self) -> Result<Refusal, String> {
        let ceilings = vec![("control", 5, 300), ("ef", 30, 1_500), ("af4", 20, 1_500)];
        let site = self.up(&Sites { ceilings, ..Sites::line(2, MEGABIT) })?;
        let of = topic("forward", "a", "c");
        let asked = "figure 21 with the paper's shares (best effort 40 %, EF 30 %, AF 20 %, control 5 %): 500 kbit/s in EF";
        let refusal =
            self.refused(&site, asked, &[wanted("a", "c", vec![data(&of, "ef", user_port(0))])], 0)?;
        site.down()?;
        Ok(refusal)
    }

    /// Three classes at 1.9 times what a link carries.
    pub(crate) fn classes(&mut self, megabits: u64) -> Result<(), String> {
        let rate = megabits * MEGABIT;
        // On the wire a sample of 500 bytes is 678 bytes with its tunnel: 12 % and 21 % of the link.
        let every = |percent: u64| 678 * 8 * 1_000_000_000 * 100 / (rate * percent);
        // What is at once grows with the link, so that the same packets are, and with what hosts hold back.
        let burst = |each: u64, percent: u64| 900 + megabits * each + 678 * held_back(every(percent));
        let ceilings =
            vec![("control", 5, 300 + megabits * 2), ("ef", 30, burst(10, 12)), ("af4", 40, burst(20, 21))];
        let site = self.up(&Sites { ceilings, edges: 1_000 * MEGABIT, ..Sites::line(2, rate) })?;
        let topics = [
            Topic { separation: every(12), ..topic("EF", "a", "c") },
            Topic { separation: every(21), ..topic("AF4", "a", "c") },
        ];
        let mut bounds = Vec::new();
        for ((topic, class), at) in topics.iter().zip(["ef", "af4"]).zip(0..) {
            bounds.push(site.admitted(&wanted("a", "c", vec![data(topic, class, user_port(at))]))?);
        }
        (self.progress)(&format!("three classes over {megabits} Mbit/s"));
        let schedule = if self.short { Schedule::seconds(0, 3, 0) } else { Schedule::seconds(0, 10, 0) };
        // What is missing to 190 %, in packets of full size, and by two programs: one does not send so many in a second.
        let half = || Flood { size: LARGEST, ..flood("flood1", "flood2", rate * 157 / 200) };
        let floods = [half(), half()];
        let played = self.stage(&site).play(&topics, &floods, schedule)?;
        site.down()?;
        let mut series = Vec::new();
        for ((topic, heard), bound) in topics.iter().zip(&played.topics).zip(&bounds) {
            let limit = bound + HOSTS;
            let shown =
                Shown { case: "with a session", flow: topic.name.clone(), topic, bound: Some(*bound), limit };
            let received = heard.received.first().map(Vec::as_slice).unwrap_or_default();
            series.push(shown.series(&heard.sent, received, &played, false));
        }
        let said: Vec<String> =
            played.floods.iter().map(|(sent, came)| format!("{came} of {sent}")).collect();
        let said = said.join(", ");
        let sent = sent_permille(&played, &floods, rate);
        let figure = Figure {
            key: "classes",
            title: format!("Three classes at 1.9 times what a link of {megabits} Mbit/s carries"),
            about: "EF has 12 % of the link and AF4 21 %, both in samples of 500 bytes, 678 bytes on the wire; best effort sends 157 % in datagrams of 1,538 bytes on the wire.",
            paper: &[("EF and AF together", "not evaluated; AF is left for later")],
            series,
            refusals: Vec::new(),
            notes: vec![format!(
                "Datagrams of best effort that arrived: {said}. It sent {} % of what the link carries.",
                sent / 10
            )],
            broken: Vec::new(),
            void: played.calm(&floods, true),
        };
        self.added(figure, &[&played]);
        Ok(())
    }

    /// Tunnels over five domains in a line, each link flooded.
    pub(crate) fn tunnels(&mut self) -> Result<(), String> {
        let sites = Sites {
            ceilings: vec![("control", 5, 500), ("ef", 40, 3_500), ("af4", 20, 3_500)],
            edges: 1_000 * MEGABIT,
            ..Sites::line(5, 20 * MEGABIT)
        };
        let site = self.up(&sites)?;
        let topic = Topic { separation: 4_000_000, ..topic("EF", "a", "c") };
        let bound = site.admitted(&wanted("a", "c", vec![data(&topic, "ef", user_port(0))]))?;
        let [built, connected] = site.up.map(|time| time.as_secs_f64());
        (self.progress)("five domains in a line");
        let floods: Vec<Flood> =
            (1..5).map(|at| flood(&format!("flood{at}"), "flood5", 24 * MEGABIT)).collect();
        let schedule = if self.short { Schedule::seconds(0, 3, 0) } else { Schedule::seconds(0, 15, 0) };
        let played = self.stage(&site).play(std::slice::from_ref(&topic), &floods, schedule)?;
        site.down()?;
        let heard = played.topics.first().ok_or("nothing was played")?;
        let shown = Shown {
            case: "SRv6, four links",
            flow: topic.name.clone(),
            topic: &topic,
            bound: Some(bound),
            limit: bound + HOSTS,
        };
        let received = heard.received.first().map(Vec::as_slice).unwrap_or_default();
        let series = vec![shown.series(&heard.sent, received, &played, false)];
        let void = played.calm(&floods, true);
        let floods: Vec<String> =
            played.floods.iter().map(|(sent, came)| format!("{came} of {sent}")).collect();
        let figure = Figure {
            key: "tunnels",
            title: "A tunnel through five domains".to_owned(),
            about: "Five domains in a line with links of 20 Mbit/s between them, and a flood of 24 Mbit/s from a host of each of the first four to the last: each link has more to carry than it can. \
                    A session of 1 Mbit/s goes from the first domain to the last in tunnels of SRv6. MPLS is not measured: the kernels here cannot route it.",
            paper: &[(
                "figure 7: one MPLS tunnel from the first to the last domain",
                "no figure has one of more than two domains",
            )],
            series,
            refusals: Vec::new(),
            notes: vec![
                format!(
                    "The five domains were built in {built:.1} s, and their managers were connected after {connected:.1} s."
                ),
                format!("Datagrams of the floods that arrived: {}.", floods.join(", ")),
            ],
            broken: Vec::new(),
            void,
        };
        self.added(figure, &[&played]);
        Ok(())
    }

    /// Hundreds of sessions through a domain in between, which has for all of them what it has for one; and how fast they are set up.
    pub(crate) fn transit(&mut self) -> Result<(), String> {
        let sites = Sites {
            ceilings: vec![("control", 5, 1_000), ("ef", 75, 400_000), ("af4", 10, 4_000)],
            ..Sites::line(3, 100 * MEGABIT)
        };
        let site = self.up(&sites)?;
        let of = Topic { separation: 1_000_000_000, size: 100, ..topic("EF", "a", "c") };
        let (socket, asked) = site.asked(&wanted("a", "c", vec![data(&of, "ef", 0)]))?;
        let (stopped, flow) = (self.stopped, asked.flows.first().cloned().ok_or("a session has no flow")?);
        let ask = |number: u16| {
            let flow = Flow { destination_port: 10_000 + number, ..flow.clone() };
            let asked = SessionAsked { flows: vec![flow], ..asked.clone() };
            let begun = Instant::now();
            match ask_at(&socket, &Ask::Establish(asked), stopped)? {
                Answer::Admitted(_) => Ok(begun.elapsed()),
                Answer::Refused(refused) => Err(format!("session {number} is refused: {}", refused.text)),
                other => Err(format!("a manager says {other:?}")),
            }
        };
        ask(0)?;
        let before = site.rules(1)?;
        let (count, at_once) = if self.short { (10, 4) } else { (300, 64) };
        (self.progress)(&format!("{count} sessions"));
        let next = AtomicU16::new(1);
        let begun = Instant::now();
        let times: Vec<Result<Vec<Duration>, String>> = std::thread::scope(|scope| {
            let ask_some = || {
                let numbers = std::iter::from_fn(|| {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let goes_on = !stopped.load(Ordering::Relaxed);
                    (number < count && goes_on).then_some(number)
                });
                numbers.map(ask).collect::<Result<Vec<_>, _>>()
            };
            let threads: Vec<_> = (0..at_once).map(|_| scope.spawn(ask_some)).collect();
            let ended = threads.into_iter().map(|thread| thread.join());
            ended.map(|times| times.unwrap_or_else(|_| Err("a thread has ended".to_owned()))).collect()
        });
        let whole = begun.elapsed().as_secs_f64();
        let mut times: Vec<_> =
            times.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        times.sort_unstable();
        let after = site.rules(1)?;
        site.down()?;
        let median = times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e3);
        let each = f64::from(count - 1) / whole.max(1e-3);
        let broken = (after != before)
            .then(|| format!("the router in between has {before} rules, routes and policers with one session, and {after} with {count}"));
        let figure = Figure {
            key: "transit",
            title: "Sessions through a domain in between".to_owned(),
            about: "Sessions are set up from the first of three domains to the last. The router in between has rules, routes and policers for the tunnel and its class, and for no session.",
            paper: &[("no reservation for each flow in transit", "said, not measured")],
            series: Vec::new(),
            refusals: Vec::new(),
            notes: vec![
                format!(
                    "With one session the router in between has {before} lines of rules, routes and policers, with {count} sessions {after}."
                ),
                format!(
                    "{} sessions were set up, {at_once} at a time: {each:.0} a second, {median:.1} ms in the median from the request to the answer, with all routers set and all stores on disk.",
                    count - 1
                ),
            ],
            broken: broken.into_iter().collect(),
            void: Vec::new(),
        };
        self.added(figure, &[]);
        Ok(())
    }
}

/// Why a flow in one queue with a flood shows nothing, in words: all of it came as early as with a session.
fn undisturbed(series: &Series) -> Option<String> {
    let flooded = series.spans.iter().find(|span| span.name == "under the flood")?;
    let all = [flooded.judged.misses, flooded.judged.excused];
    let none = all.iter().all(|misses| misses.lost + misses.late == 0);
    none.then(|| format!("the flood was not in the way of the flow {} without a session", series.flow))
}

/// What floods sent, in thousandths of a rate.
fn sent_permille(played: &Played, floods: &[Flood], rate: u64) -> u64 {
    let (from, to) = played.flooded;
    let time = u128::from(to.saturating_sub(from).unsigned_abs()).max(1);
    let bits =
        |(flood, (sent, _)): (&Flood, &(u64, u64))| u128::from(flood.on_wire() * 8) * u128::from(*sent);
    let bits: u128 = floods.iter().zip(&played.floods).map(bits).sum();
    u64::try_from(bits * 1_000_000_000_000 / time / u128::from(rate.max(1))).unwrap_or(u64::MAX)
}
