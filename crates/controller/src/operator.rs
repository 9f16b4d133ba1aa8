//! What operators see, and what they do by hand: the manager's side of [`web`]. Nothing here waits.
use std::collections::VecDeque;
use std::time::{Duration, Instant};

use control::ResourceManager;
use control::action::Pair;
use control::drain::Drained;
use control::note::{Ends, Note};
use control::operator::ByHand;
use tracing::warn;
use web::{Alarm, Command, Place, Publisher, Refused, Said, Snapshot};

use crate::daemon::Daemon;
use crate::reports::{MOST_PAIRS, wall};

/// How often there is a new snapshot, and the least time between two of them when something happens.
const INTERVAL: Duration = Duration::from_secs(1);
const LEAST_INTERVAL: Duration = Duration::from_millis(100);
/// A snapshot takes one part of so many of the time at most.
const PART: u32 = 20;
/// What has happened and is not told yet, at most.
const MOST_NEWS: usize = 1_024;

/// The author of what no operator has asked for.
const MANAGER: &str = "the manager";

/// What is shown to operators.
pub(crate) struct Window<'w> {
    publisher: &'w mut Publisher,
    /// When the manager started, in milliseconds since 1970.
    started: u64,
    due: Duration,
    /// When the last snapshot was taken, and how long that took.
    shown: Duration,
    took: Duration,
}

/// Something that has happened and is to be told.
#[derive(Debug)]
pub(crate) struct News {
    pub(crate) what: &'static str,
    pub(crate) who: String,
    pub(crate) text: String,
    pub(crate) warning: bool,
}

/// News until they are told; the oldest go if that does not happen.
#[derive(Default, Debug)]
pub(crate) struct Board(VecDeque<News>);

impl Board {
    /// Something has happened.
    pub(crate) fn pin(&mut self, what: &'static str, who: &str, text: &str, warning: bool) {
        if self.0.len() >= MOST_NEWS {
            self.0.pop_front();
        }
        self.0.push_back(News { what, who: who.to_owned(), text: text.to_owned(), warning });
    }

    /// The oldest one.
    pub(crate) fn take(&mut self) -> Option<News> {
        self.0.pop_front()
    }
}

impl<'w> Window<'w> {
    pub(crate) fn new(publisher: &'w mut Publisher) -> Self {
        Self {
            publisher,
            started: milliseconds(),
            due: Duration::ZERO,
            shown: Duration::ZERO,
            took: Duration::ZERO,
        }
    }

    /// When [`Self::show`] wants to be called.
    pub(crate) const fn poll_timeout(&self) -> Duration {
        self.due
    }

    /// Shows what there is, if it is time.
    pub(crate) fn show(
        &mut self,
        now: Duration,
        manager: &ResourceManager,
        alarms: impl FnOnce() -> Vec<Alarm>,
    ) {
        if now < self.due {
            return;
        }
        let began = Instant::now();
        self.publisher.show(Snapshot {
            time: milliseconds(),
            started: self.started,
            report: manager.report_of(MOST_PAIRS),
            links: manager.link_reports(),
            alarms: alarms(),
        });
        (self.shown, self.took) = (now, began.elapsed());
        self.due = now.saturating_add(INTERVAL.max(self.took.saturating_mul(PART)));
    }

    /// Tells what has happened; what there is is shown soon.
    pub(crate) fn say(&mut self, said: Said) {
        self.publisher.say(said);
        let soon = LEAST_INTERVAL.max(self.took.saturating_mul(PART));
        self.due = self.due.min(self.shown.saturating_add(soon));
    }

    /// Tells a note.
    pub(crate) fn note(&mut self, note: &Note) {
        self.say(said(note));
    }
}

/// The time in milliseconds since 1970, UTC.
pub(crate) fn milliseconds() -> u64 {
    wall() / 1_000_000
}

/// A note as it is told.
fn said(note: &Note) -> Said {
    let reader = |ends: &Ends| format!("participant {} on {}", ends.reader.prefix, ends.to);
    let writer = |ends: &Ends| format!("participant {} on {}", ends.writer.prefix, ends.from);
    let frames = |ends: &Ends, place: &str, how, frames| {
        Some(Place { place: place.to_owned(), topic: ends.topic.clone(), how, frames })
    };
    let manager = || MANAGER.to_owned();
    let (what, who, ends, frames) = match note {
        Note::Admitted(ends, _) => ("admitted", reader(ends), Some(ends), None),
        Note::Refused(ends, _) => ("refused", reader(ends), Some(ends), None),
        Note::Revoked(ends, _) => ("revoked", manager(), Some(ends), None),
        Note::Withdrawn(ends) => ("withdrawn", reader(ends), Some(ends), None),
        Note::Ready(_) => ("ready", manager(), None, None),
        Note::Different { .. } => ("different", "not the manager".to_owned(), None, None),
        Note::PutRight(_) => ("put right", manager(), None, None),
        Note::NotPutRight { .. } | Note::NotReady { .. } => ("trouble", manager(), None, None),
        Note::Missing { ends, place, frames: count } => {
            ("missing", "the network".to_owned(), Some(ends), frames(ends, place, "missing", *count))
        }
        Note::Dropped { ends, place, frames: count } => {
            ("dropped", writer(ends), Some(ends), frames(ends, place, "dropped", *count))
        }
        Note::FalseClaim { place, from, claim, .. } => {
            let place = Place { place: place.clone(), topic: claim.clone(), how: "claimed", frames: 1 };
            ("claimed", from.clone(), None, Some(place))
        }
        Note::Tagged { place, from, frames } => {
            let topic = "frames with VLAN tags".to_owned();
            let place = Place { place: place.clone(), topic, how: "dropped", frames: *frames };
            ("dropped", from.clone(), None, Some(place))
        }
        Note::Cabling { .. } | Note::CablingRight(_) => ("cabling", "the network".to_owned(), None, None),
        Note::NotStored(_) => ("store", manager(), None, None),
        Note::StoreWorks => ("store", manager(), None, None),
        _ => ("other", manager(), None, None),
    };
    Said {
        time: milliseconds(),
        who,
        what,
        text: note.to_string(),
        warning: note.is_warning(),
        flow: ends.map(|ends| (ends.writer, ends.reader)),
        frames,
    }
}

impl Daemon<'_> {
    /// Does what an operator has asked for.
    pub(crate) fn commanded(&mut self, command: Command) {
        match command {
            // Who asked has waited for too long, and has been told so.
            Command::WhatIf(_, answer) if answer.is_closed() => {}
            Command::ByHand { answer, .. } if answer.is_closed() => {}
            Command::Drain { answer, .. } if answer.is_closed() => {}
            Command::Tunnels { answer, .. } if answer.is_closed() => {}
            Command::Tunnels { owner, wanted, answer } => self.hold_tunnels(owner, &wanted, answer),
            Command::Drain { switch, force, reason, who, answer } => {
                let _ = answer.send(self.drain(&switch, force, &reason, &who));
            }
            Command::Reload { answer, .. } if answer.is_closed() => {}
            Command::Reload { check, force, who, answer } => {
                let _ = answer.send(self.reload(check, force, &who));
            }
            Command::WhatIf(question, answer) => {
                let _ = answer.send(self.manager.what_if(&question));
            }
            Command::ByHand { pair, how, reason, who, answer } => {
                let _ = answer.send(self.end_by_hand(pair, how, &reason, &who));
            }
        }
    }

    fn end_by_hand(&mut self, pair: Pair, how: ByHand, reason: &str, who: &str) -> Result<String, Refused> {
        let ends = self.manager.described(pair).ok_or(Refused::Unknown)?;
        self.manager.by_hand(self.now(), pair, how, reason).map_err(Refused::Now)?;
        let what = match how {
            ByHand::Release => "released",
            ByHand::Revoke => "revoked",
        };
        let text = format!("{what} by hand by {who}: {ends}: {reason}");
        warn!("{text}");
        if let Some(window) = &mut self.window {
            let (time, who) = (milliseconds(), who.to_owned());
            let (what, text) = ("by hand", text.clone());
            window.say(Said { time, who, what, text, warning: true, flow: Some(pair), frames: None });
        }
        Ok(text)
    }

    /// Flows leave a switch, or may come back to it.
    fn drain(
        &mut self,
        switch: &str,
        force: Option<bool>,
        reason: &str,
        who: &str,
    ) -> Result<Drained, String> {
        let now = self.now();
        let (drained, text) = match force {
            Some(force) => {
                let mut drained = self.manager.drain(now, switch, force, reason)?;
                drained.stored = self.is_drain_stored(switch);
                let how = if force { "drained by force" } else { "drained" };
                let (leave, stay) = (drained.leaving.len(), drained.staying.len());
                let text = format!(
                    "switch {switch} is {how} by {who}: {reason}: {leave} flows leave, {stay} cannot{}",
                    if drained.stored {
                        ""
                    } else {
                        "; it could not be stored yet, and a manager that starts before it is would not know of it"
                    }
                );
                (drained, text)
            }
            None => {
                self.manager.undrain(now, switch)?;
                let stored = self.is_drain_stored(switch);
                let (leaving, staying) = (Vec::new(), Vec::new());
                let drained = Drained { switch: switch.to_owned(), leaving, staying, stored };
                let later = match stored {
                    true => "",
                    false => {
                        "; that could not be stored yet, and a manager that starts before it is drains it again"
                    }
                };
                (drained, format!("flows may come back to switch {switch}, says {who}{later}"))
            }
        };
        warn!("{text}");
        if let Some(window) = &mut self.window {
            let (time, who, warning) = (milliseconds(), who.to_owned(), force.is_some());
            window.say(Said { time, who, what: "by hand", text, warning, flow: None, frames: None });
        }
        Ok(drained)
    }

    /// Does what the manager wants, and says whether the store has what was said last of a switch.
    fn is_drain_stored(&mut self, switch: &str) -> bool {
        self.settle();
        self.manager.is_drain_stored(switch)
    }

    /// Tells operators what has happened, and shows them what there is.
    pub(crate) fn show(&mut self, now: Duration) {
        let Some(window) = &mut self.window else { return };
        while let Some(News { what, who, text, warning }) = self.journal.board.take() {
            window.say(Said { time: milliseconds(), who, what, text, warning, flow: None, frames: None });
        }
        window.show(now, &self.manager, || self.journal.alarms());
    }
}
