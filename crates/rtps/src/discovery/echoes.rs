//! Answers to the probes of participants that are not validated here, or that come from addresses which are not known for them.
//!
//! An answer goes back to where the probe came from, one for each address at a time, and has fewer bytes than the probe.
use alloc::collections::VecDeque;
use core::net::SocketAddr;

use wire::message::{Gap, Heartbeat};
use wire::{GuidPrefix, SequenceNumberSet};

use super::message_reader::MessageReader;
use super::probe::Window;

/// Most answers that wait to be sent.
const MAX_ECHOES: usize = 256;

#[derive(Clone, Copy, Debug)]
pub(super) struct Echo {
    pub(super) prefix: GuidPrefix,
    pub(super) to: SocketAddr,
    pub(super) set: SequenceNumberSet,
}

#[derive(Debug, Default)]
pub(super) struct Echoes {
    waiting: VecDeque<Echo>,
    /// The last GAP: that of a probe comes right before its HEARTBEAT.
    gap: Option<(GuidPrefix, SocketAddr, Gap)>,
}

impl Echoes {
    pub(super) const fn on_gap(&mut self, prefix: GuidPrefix, from: SocketAddr, gap: &Gap) {
        self.gap = Some((prefix, from, *gap));
    }

    pub(super) fn on_heartbeat(&mut self, prefix: GuidPrefix, from: SocketAddr, heartbeat: &Heartbeat) {
        let gap = self.gap.take().filter(|(of, at, _)| (*of, *at) == (prefix, from));
        let len = heartbeat.last.next().distance_from(heartbeat.first);
        // A GAP, and so many numbers at most: then the answer is shorter than the two of them.
        if heartbeat.is_final || len > 0 && (gap.is_none() || len > Window::LEN) {
            return;
        }
        let mut reader = MessageReader::new();
        gap.inspect(|(.., gap)| reader.on_gap(gap));
        reader.on_heartbeat(heartbeat);
        self.waiting.retain(|echo| echo.to != from);
        if self.waiting.len() < MAX_ECHOES {
            self.waiting.push_back(Echo { prefix, to: from, set: reader.set() });
        }
    }

    pub(super) fn pop(&mut self) -> Option<Echo> {
        self.waiting.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}
