//! A phase on a lab: subscribers and publishers are started, measured together with the machine, and judged.
use std::thread;
use std::time::Duration;

use lab::Lab;
use lab::probe::{Probes, monotonic};
use serde_json::Value;

use crate::judge::{Stall, judge};
use crate::member::wall;
use crate::program::{Folder, Program, Stopped, own};
use crate::record;
use crate::report::{Phase, Row};
use crate::setting::Topic;

/// A wake so much later than asked for is a stall of the machine.
const LATE: Duration = Duration::from_millis(1);
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
    /// Nobody's.
    Nobody,
    /// Those of the first topics, so many, with samples of theirs.
    Samples(usize),
}

/// What a run needs.
pub(crate) struct Stage<'s> {
    pub(crate) lab: &'s Lab,
    pub(crate) folder: &'s Folder,
    pub(crate) topics: &'s [Topic],
    pub(crate) seconds: f64,
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
}

impl Stage<'_> {
    /// Plays a phase.
    ///
    /// # Errors
    /// In words: what ended or did not answer, or that the user wants an end.
    pub(crate) fn play(&self, scene: &Scene) -> Result<Played, String> {
        (self.progress)(&format!("{}: publishers and subscribers find each other", scene.title));
        let mut subscribers = Vec::new();
        for topic in self.topics {
            subscribers.push(self.subscriber(topic)?);
        }
        let mut publishers = Vec::new();
        for (index, topic) in self.topics.iter().enumerate() {
            publishers.push(self.publisher(topic, scene.babbling.has(index))?);
        }
        let mut real_time = true;
        for (index, publisher) in publishers.iter().enumerate() {
            let said = publisher.hear("ready", MEETING, self.stopped)?;
            real_time &= scene.babbling.has(index) || said.get("real_time") == Some(&Value::Bool(true));
        }
        let probes = Probes::start(LATE).map_err(|error| error.to_string())?;
        real_time &= probes.real_time();
        // Probes and the kernel's stamps have different clocks; both run alike.
        let ahead = wall().saturating_sub(monotonic().cast_signed());
        for publisher in &mut publishers {
            publisher.order(&format!("go {}", self.seconds))?;
        }
        (self.progress)(&format!("{}: measuring {:.0} s", scene.title, self.seconds));
        for publisher in &publishers {
            publisher.hear("done", Duration::from_secs_f64(self.seconds) + SPARE, self.stopped)?;
        }
        thread::sleep(UNDER_WAY);
        let stalls: Vec<Stall> = probes
            .stop()
            .iter()
            .map(|stall| Stall {
                from: stall.from.cast_signed().saturating_add(ahead),
                to: stall.to.cast_signed().saturating_add(ahead),
            })
            .collect();
        for subscriber in &mut subscribers {
            subscriber.order("end")?;
        }
        for subscriber in &subscribers {
            subscriber.hear("done", SPARE, self.stopped)?;
        }
        publishers.into_iter().chain(subscribers).for_each(Program::end);
        let longest = stalls.iter().map(|stall| stall.to - stall.from).max().unwrap_or(0);
        Ok(Played { phase: self.judged(scene, &stalls)?, real_time, stalls: (stalls.len(), longest) })
    }

    fn judged(&self, scene: &Scene, stalls: &[Stall]) -> Result<Phase, String> {
        let mut rows = Vec::new();
        for (index, topic) in self.topics.iter().enumerate() {
            let sent = record::read(&self.folder.file(&format!("{}.sent", topic.name)))?;
            let received = record::read(&self.folder.file(&format!("{}.received", topic.name)))?;
            let limit = if scene.managed { topic.planned.clone()? } else { topic.limit }.cast_signed();
            let judged = judge(&sent, &received, stalls, limit);
            rows.push(if scene.babbling.has(index) {
                let arrived = judged.points.len();
                Row::Babbler {
                    topic: index,
                    said: format!("it wrote {} samples, and {arrived} of them arrived whole", judged.sent),
                }
            } else {
                Row::Measured { topic: index, limit, judged }
            });
        }
        Ok(Phase {
            title: scene.title,
            about: scene.about.to_owned(),
            promised: scene.managed,
            seconds: self.seconds,
            rows,
        })
    }

    fn subscriber(&self, topic: &Topic) -> Result<Program, String> {
        let mut command = self.lab.command(&topic.subscriber, own()?).map_err(|error| error.to_string())?;
        command.args(["midas", "subscriber", "--topic", &topic.name, "--size", &topic.size.to_string()]);
        command.arg("--records").arg(self.folder.file(&format!("{}.received", topic.name)));
        Program::start(&format!("subscriber to {}", topic.name), command, self.folder)
    }

    fn publisher(&self, topic: &Topic, babbles: bool) -> Result<Program, String> {
        let mut command = self.lab.command(&topic.publisher, own()?).map_err(|error| error.to_string())?;
        command.args(["midas", "publisher", "--topic", &topic.name, "--size", &topic.size.to_string()]);
        // Half as much again as the link carries.
        let separation = if babbles { topic.wire_time() * 2 / 3 } else { topic.separation };
        command.args(["--separation", &separation.to_string()]);
        command.arg("--records").arg(self.folder.file(&format!("{}.sent", topic.name)));
        if babbles {
            command.arg("--babbles");
        }
        Program::start(&format!("publisher of {}", topic.name), command, self.folder)
    }
}

impl Babbling {
    fn has(self, topic: usize) -> bool {
        match self {
            Self::Nobody => false,
            Self::Samples(topics) => topic < topics,
        }
    }
}
