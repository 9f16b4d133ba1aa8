//! A phase on a lab: subscribers and publishers are started, measured together with the machine, and judged.
use std::process::Command;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use gate::Contract;
use gate::protocol::ContractState;
use lab::Lab;
use lab::probe::{Probes, both_clocks};
use serde_json::Value;

use crate::flood::{AROUND, PACKET};
use crate::judge::judge;
use crate::losses::Counted;
use crate::program::{Folder, INTERRUPTED, Program, Stopped, own};
use crate::record;
use crate::report::{Phase, Row};
use crate::setting::Topic;
use crate::stalls::{LATE, Stalls};

const LOOK: Duration = Duration::from_millis(100);
/// How long programs may take to find each other.
const MEETING: Duration = Duration::from_secs(60);
/// How much longer than asked for a publisher may take.
const SPARE: Duration = Duration::from_secs(20);
/// After the last send call, the time for what is under way.
const UNDER_WAY: Duration = Duration::from_millis(500);

/// What is played in a phase.
#[derive(Clone, Debug)]
pub(crate) struct Scene {
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    pub(crate) babbling: Babbling,
    pub(crate) managed: bool,
}

/// Whose publishers babble, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Babbling {
    /// No publisher does.
    Nobody,
    /// Those of the first topics, so many, with samples of theirs.
    Samples(usize),
    /// The same, with datagrams that look like those of their admitted flows.
    Flows(usize),
}

/// What a run needs.
#[derive(Clone, Copy)]
pub(crate) struct Stage<'s> {
    pub(crate) lab: &'s Lab,
    pub(crate) folder: &'s Folder,
    pub(crate) topics: &'s [Topic],
    pub(crate) seconds: f64,
    /// What a stall of the machine is, at least, in nanoseconds.
    pub(crate) stood_still: u64,
    pub(crate) stopped: Stopped<'s>,
    pub(crate) progress: &'s dyn Fn(&str),
}

/// What a phase showed.
pub(crate) struct Played {
    pub(crate) phase: Phase,
    /// Whether all threads that are measured had real-time priority, and the probes.
    pub(crate) real_time: bool,
    /// How often the machine stood still, and the longest time in nanoseconds.
    pub(crate) stalls: (usize, i64),
    /// Where frames were lost, in words.
    pub(crate) lost: Option<String>,
    /// Promises that were not given, or not kept where that is not seen from samples.
    pub(crate) broken: Vec<String>,
}

/// What the manager said to a subscriber.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    /// What it promises, in nanoseconds.
    pub(crate) bound: Option<i64>,
    /// Why it does not, and what it could offer.
    pub(crate) refusal: Option<String>,
}

/// How a subscriber asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wish {
    pub(crate) latency: u64,
    pub(crate) separation: Option<u64>,
}

impl Stage<'_> {
    /// Plays a phase.
    ///
    /// # Errors
    /// In words: what ended or did not answer, or that the user wants an end.
    pub(crate) fn play(&self, scene: &Scene) -> Result<Played, String> {
        let played = self.act(scene);
        match (self.lab.ended(), played) {
            (None, played) => played,
            (Some(ended), Ok(_)) => Err(ended),
            (Some(ended), Err(error)) => Err(format!("{error}; {ended}")),
        }
    }

    fn act(&self, scene: &Scene) -> Result<Played, String> {
        (self.progress)(&format!("{}: publishers and subscribers find each other", scene.title));
        self.settle()?;
        let mut subscribers = Vec::new();
        for topic in self.topics {
            let wish = scene.managed.then_some(Wish { latency: topic.limit, separation: None });
            subscribers.push(self.subscriber(topic, wish)?);
        }
        let mut publishers = Vec::new();
        for (index, topic) in self.topics.iter().enumerate() {
            publishers.push(self.publisher(topic, index, scene)?);
        }
        let mut promises = Vec::new();
        let mut broken = Vec::new();
        if scene.managed {
            (self.progress)(&format!("{}: the manager decides", scene.title));
            for (subscriber, topic) in subscribers.iter_mut().zip(self.topics) {
                let answer = self.ask(subscriber)?;
                broken.extend(disagreement(topic, &answer).map(|what| format!("{}: {what}", scene.title)));
                promises.push(answer.bound);
            }
        }
        let mut real_time = true;
        for (index, publisher) in publishers.iter().enumerate() {
            let said = publisher.hear("ready", MEETING, self.stopped)?;
            real_time &= scene.babbling.has(index) || said.get("real_time") == Some(&Value::Bool(true));
        }
        let probes = Probes::start(Duration::from_nanos(LATE)).map_err(|error| error.to_string())?;
        real_time &= probes.real_time();
        // Probes and the kernel's stamps have different clocks; both run alike.
        let (now, wall) = both_clocks();
        let ahead = wall.cast_signed().saturating_sub(now.cast_signed());
        let before = Counted::now(self.lab, self.topics)?;
        for publisher in &mut publishers {
            publisher.order(&format!("go {}", self.seconds))?;
        }
        (self.progress)(&format!("{}: measuring {:.0} s", scene.title, self.seconds));
        let mut sent = Vec::new();
        for publisher in &publishers {
            sent.push(publisher.hear("done", Duration::from_secs_f64(self.seconds) + SPARE, self.stopped)?);
        }
        thread::sleep(UNDER_WAY);
        let seen = probes.stop();
        let stalls = Stalls::of(seen, ahead, self.stood_still);
        let after = Counted::now(self.lab, self.topics)?;
        for subscriber in &mut subscribers {
            subscriber.order("end")?;
        }
        for subscriber in &subscribers {
            subscriber.hear("done", SPARE, self.stopped)?;
        }
        publishers.into_iter().chain(subscribers).for_each(Program::end);
        let mut rows = Vec::new();
        for (index, topic) in self.topics.iter().enumerate() {
            if let (Babbling::Flows(_), true) = (scene.babbling, scene.babbling.has(index)) {
                let frames = sent.get(index).and_then(|said| said.get("frames")?.as_u64()).unwrap_or(0);
                let passed = Passed::between(before.gates.get(index), after.gates.get(index));
                let (said, wrong) = held(frames, passed, topic, self.seconds);
                broken.extend(wrong.map(|wrong| format!("{}: {wrong}", scene.title)));
                rows.push(Row::Babbler { topic: index, said });
                continue;
            }
            let asked = topic.limit.cast_signed();
            let limit = promises.get(index).copied().flatten().unwrap_or(asked);
            rows.push(self.row(index, topic, scene, limit, &stalls)?);
        }
        let phase = Phase {
            title: scene.title,
            about: scene.about.to_owned(),
            promised: scene.managed,
            repeated: false,
            seconds: self.seconds,
            rows,
            notes: Vec::new(),
        };
        let lost = after.lost_since(&before, self.topics);
        Ok(Played { phase, real_time, stalls: (stalls.count, stalls.longest.cast_signed()), lost, broken })
    }

    /// Waits until the grants of those that have left are gone: the next ones ask for their place.
    fn settle(&self) -> Result<(), String> {
        let end = Instant::now() + MEETING;
        while Counted::now(self.lab, self.topics)?.gates.iter().any(Option::is_some) {
            if self.stopped.load(Ordering::Relaxed) {
                return Err(INTERRUPTED.to_owned());
            }
            if Instant::now() > end {
                return Err(
                    "the manager does not take back the grants of publishers that have left".to_owned()
                );
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }

    /// What the manager says to a publisher that promises a greatest separation, and a subscriber that wants something of it.
    ///
    /// # Errors
    /// As for [`Stage::play`].
    pub(crate) fn wish(&self, topic: &Topic, wish: Wish, promised: u64) -> Result<Answer, String> {
        self.settle()?;
        let mut subscriber = self.subscriber(topic, Some(wish))?;
        let mut command = self.publishing(topic, topic.separation)?;
        command.args(["--assured", "--maximum-separation", &promised.to_string()]);
        let publisher = Program::start(&format!("publisher of {}", topic.name), command, self.folder)?;
        let answer = self.ask(&mut subscriber)?;
        publisher.end();
        subscriber.end();
        Ok(answer)
    }

    fn ask(&self, subscriber: &mut Program) -> Result<Answer, String> {
        subscriber.order("verdict")?;
        let said = subscriber.hear("verdict", MEETING, self.stopped)?;
        let text = |key: &str| said.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        if said.get("admitted") == Some(&Value::Bool(true)) {
            return Ok(Answer { bound: said.get("bound").and_then(Value::as_i64), refusal: None });
        }
        if said.get("silent").is_some() {
            return Ok(Answer { bound: None, refusal: None });
        }
        let offer = said
            .get("offered_latency")
            .and_then(Value::as_i64)
            .map(|offer| format!("; {} ms would be admitted", crate::text::milliseconds(offer)));
        Ok(Answer {
            bound: None,
            refusal: Some(format!("refused: {}{}", text("reason"), offer.unwrap_or_default())),
        })
    }

    fn row(
        &self,
        index: usize,
        topic: &Topic,
        scene: &Scene,
        limit: i64,
        stalls: &Stalls,
    ) -> Result<Row, String> {
        let sent = record::read(&self.folder.file(&format!("{}.sent", topic.name)))?;
        let received = record::read(&self.folder.file(&format!("{}.received", topic.name)))?;
        let judged = judge(&sent, &received, stalls, limit);
        if !scene.babbling.has(index) {
            return Ok(Row::Measured { topic: index, limit, judged });
        }
        let arrived = judged.points.len();
        let said =
            format!("its publisher wrote {} samples, and {arrived} of them arrived whole", judged.sent);
        Ok(Row::Babbler { topic: index, said })
    }

    fn subscriber(&self, topic: &Topic, wish: Option<Wish>) -> Result<Program, String> {
        let mut command = self.lab.command(&topic.subscriber, own()?).map_err(|error| error.to_string())?;
        command.args(["midas", "subscriber", "--topic", &topic.name, "--size", &topic.size.to_string()]);
        command.arg("--records").arg(self.folder.file(&format!("{}.received", topic.name)));
        if let Some(Wish { latency, separation }) = wish {
            command.args(["--within", &latency.to_string()]);
            if let Some(separation) = separation {
                command.args(["--apart", &separation.to_string()]);
            }
        }
        Program::start(&format!("subscriber to {}", topic.name), command, self.folder)
    }

    fn publishing(&self, topic: &Topic, separation: u64) -> Result<Command, String> {
        let mut command = self.lab.command(&topic.publisher, own()?).map_err(|error| error.to_string())?;
        command.args(["midas", "publisher", "--topic", &topic.name, "--size", &topic.size.to_string()]);
        command.args(["--separation", &separation.to_string()]);
        command.args(["--emission", &topic.emission.to_string(), "--slack", &topic.slack.to_string()]);
        command.arg("--records").arg(self.folder.file(&format!("{}.sent", topic.name)));
        Ok(command)
    }

    fn publisher(&self, topic: &Topic, index: usize, scene: &Scene) -> Result<Program, String> {
        let babbles = scene.babbling.has(index);
        let samples = babbles && matches!(scene.babbling, Babbling::Samples(_));
        let mut command =
            self.publishing(topic, if samples { faster(topic.wire_time()) } else { topic.separation })?;
        if scene.managed {
            command.arg("--assured");
        }
        if babbles {
            command.arg("--babbles");
        }
        if babbles && !samples {
            let datagram = (PACKET + AROUND) * 8_000_000_000 / topic.rate.max(1);
            command.args(["--flood", &almost_all(datagram).to_string()]);
        }
        Program::start(&format!("publisher of {}", topic.name), command, self.folder)
    }
}

/// The separation with which something that takes so long on the wire is sent half as often again as the link carries.
const fn faster(wire_time: u64) -> u64 {
    wire_time * 2 / 3
}

/// The separation with which it takes all of the link but a twentieth, which keeps the host's discovery alive: a publisher that is not heard of
/// any more has no contract.
const fn almost_all(wire_time: u64) -> u64 {
    wire_time * 20 / 19
}

/// How an answer disagrees with the plan, if it does: a promise is at least the worst case of the plan, and at most what was asked for.
fn disagreement(topic: &Topic, answer: &Answer) -> Option<String> {
    let name = &topic.name;
    let milliseconds = crate::text::milliseconds;
    match (answer.bound, &topic.planned) {
        (Some(bound), Ok(planned)) => {
            let (planned, limit) = (planned.cast_signed(), topic.limit.cast_signed());
            (!(planned..=limit).contains(&bound)).then(|| {
                format!(
                    "{name}: the manager promises {} ms, the plan has {} ms at worst, {} ms were asked for",
                    milliseconds(bound),
                    milliseconds(planned),
                    milliseconds(limit)
                )
            })
        }
        (Some(_), Err(reason)) => Some(format!("{name}: the manager admits what the plan refuses: {reason}")),
        (None, _) => {
            let reason = answer.refusal.clone().unwrap_or_else(|| "no verdict has come".to_owned());
            Some(format!("{name}: the plan admits it, and the manager does not: {reason}"))
        }
    }
}

/// What a gate did in a phase.
#[derive(Clone, Copy, Debug)]
struct Passed {
    contract: Contract,
    frames: u64,
    octets: u64,
    dropped: u64,
}

impl Passed {
    fn between(
        before: Option<&Option<ContractState>>,
        after: Option<&Option<ContractState>>,
    ) -> Option<Self> {
        let (before, after) = (before?.as_ref()?, after?.as_ref()?);
        let (from, to) = (&before.counters, &after.counters);
        Some(Self {
            contract: after.contract,
            frames: to.frames.saturating_sub(from.frames),
            octets: to.octets.saturating_sub(from.octets),
            dropped: to.dropped().saturating_sub(from.dropped()),
        })
    }
}

/// What to say of a host that flooded, and what is wrong if it was not held to its contract.
fn held(sent: u64, passed: Option<Passed>, topic: &Topic, seconds: f64) -> (String, Option<String>) {
    let Some(Passed { contract, frames, octets, dropped }) = passed else {
        let said = format!("it sent {sent} datagrams, and there was no gate for its flow");
        return (said.clone(), Some(format!("{}: {said}", topic.name)));
    };
    let time = Duration::from_secs_f64(seconds) + SPARE;
    let most = contract.most_in(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    let nominal =
        contract.most_in(u64::try_from(Duration::from_secs_f64(seconds).as_nanos()).unwrap_or(u64::MAX));
    let [said_sent, said_frames, said_dropped] = [sent, frames, dropped].map(pages::thousands);
    let [passed, allowed] = [octets, nominal].map(megabytes);
    let said = format!(
        "its host sent {said_sent} datagrams. Of the frames that the link carried, the gate let {said_frames} pass and stopped {said_dropped}. \
         What passed is {passed} MB; its contract allows {allowed} MB in this time"
    );
    let wrong = (octets > most || dropped == 0)
        .then(|| format!("{}: the gate let {octets} bytes pass, and stopped {dropped} frames", topic.name));
    (said, wrong)
}

/// Millions of bytes with one digit behind the point.
fn megabytes(bytes: u64) -> String {
    let tenths = bytes / 100_000;
    format!("{}.{}", tenths / 10, tenths % 10)
}

impl Babbling {
    fn has(self, topic: usize) -> bool {
        match self {
            Self::Nobody => false,
            Self::Samples(topics) | Self::Flows(topics) => topic < topics,
        }
    }
}
