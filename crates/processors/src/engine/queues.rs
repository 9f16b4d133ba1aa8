//! Queues with their policies, joins and registers.
use super::state::Delivery;
use super::{Engine, Event, Origins};
use crate::story::Happening;
use crate::system::{Entry, Full, Join, Keep, Target};

/// How a delivery came to a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Via {
    Source(usize),
    Connection(usize),
    Join,
}

impl Engine<'_> {
    fn is_full(&self, port: usize) -> bool {
        match self.system.parts.ports[port].entry {
            Entry::Queued { depth, .. } => self.ports[port].queue.len() >= depth,
            Entry::Direct => false,
        }
    }

    /// Whether a connection on this host refuses pushes now (D5).
    pub(super) fn refuses(&self, connection: usize) -> bool {
        let what = &self.system.parts.connections[connection];
        let is_queue = matches!(what.target, Target::Queue(_) | Target::Part(..)) && what.transfer.is_none();
        let port = what.target.port();
        let rejects = matches!(self.system.parts.ports[port].entry, Entry::Queued { full: Full::Reject, .. });
        is_queue && rejects && self.is_full(port)
    }

    /// Something was lost at the full queue of a port.
    pub(super) fn lose(&mut self, port: usize, called: u64) {
        let attempted = self.ports[port].queue.len() as u64 + 1;
        let now = self.now;
        self.outcome.backlog[port].add(attempted, called, now);
        match self.system.parts.ports[port].entry {
            Entry::Queued { full: Full::Block, .. } => self.outcome.would_block[port] += 1,
            _ => self.outcome.lost[port] += 1,
        }
        self.log(Happening::Loses { port });
    }

    /// Something comes over a connection, on this host or from another.
    pub(super) fn deliver(&mut self, connection: usize, origins: Origins, called: u64) {
        let port = self.system.parts.connections[connection].target.port();
        if !self.attack.is_present(self.system, port, self.now) {
            self.never_answered(&origins);
            return;
        }
        match self.system.parts.connections[connection].target {
            Target::Queue(port) => self.enqueue(port, origins, called, Via::Connection(connection), None),
            Target::Part(port, part) => self.join(port, part, origins),
            Target::Register(port, register) => {
                self.ports[port].registers[register] = origins;
                self.log(Happening::Writes { port });
                self.mark(port, &origins);
            }
            Target::Direct(_) => {}
        }
    }

    pub(super) fn enqueue(
        &mut self,
        port: usize,
        origins: Origins,
        called: u64,
        via: Via,
        run: Option<usize>,
    ) {
        let Entry::Queued { full, .. } = self.system.parts.ports[port].entry else { return };
        let mut front_changes = self.ports[port].queue.is_empty();
        if self.is_full(port) {
            self.lose(port, called);
            let same = || self.ports[port].queue.iter().position(|other| other.via == via);
            let victim = match full {
                Full::Reject | Full::DropNewest | Full::Block => {
                    self.never_answered(&origins);
                    return;
                }
                Full::DropOldest => 0,
                Full::Coalesce => same().unwrap_or(0),
            };
            if let Some(lost) = self.ports[port].queue.remove(victim) {
                self.never_answered(&lost.origins);
            }
            front_changes = victim == 0;
        } else {
            let waiting = self.ports[port].queue.len() as u64 + 1;
            let now = self.now;
            self.outcome.backlog[port].add(waiting, called, now);
        }
        self.numbers += 1;
        let delivery = Delivery { number: self.numbers, entered: self.now, called, origins, via, run };
        self.ports[port].queue.push_back(delivery);
        self.log(Happening::Enters { port, waiting: self.ports[port].queue.len() });
        self.mark(port, &origins);
        if front_changes {
            self.offer_work(port);
        }
    }

    /// An event comes to a part of a join (D6).
    fn join(&mut self, port: usize, part: usize, origins: Origins) {
        let Entry::Queued { join: Some(Join { keep, within, .. }), .. } = self.system.parts.ports[port].entry
        else {
            return;
        };
        let was_empty = self.ports[port].parts.iter().all(|part| part.is_empty());
        let kept = &mut self.ports[port].parts[part];
        let is_lost = match keep {
            Keep::First => !kept.is_empty(),
            Keep::Last => {
                let replaces = !kept.is_empty();
                kept.clear();
                self.outcome.given_up[port] += u64::from(replaces);
                false
            }
            Keep::All(most) => kept.len() >= usize::from(most),
        };
        if is_lost {
            self.outcome.given_up[port] += 1;
            self.log(Happening::GivesUp { port });
            return;
        }
        kept.push(origins);
        self.log(Happening::Keeps { port, part });
        self.mark(port, &origins);
        if self.ports[port].parts.iter().all(|part| !part.is_empty()) {
            let mut all = Origins::NONE;
            for part in 0..self.ports[port].parts.len() {
                for kept in core::mem::take(&mut self.ports[port].parts[part]) {
                    self.gather(&mut all, &kept);
                }
            }
            self.ports[port].joined += 1;
            self.enqueue(port, all, self.now, Via::Join, None);
        } else if let (true, Some(within)) = (was_empty, within) {
            let slack = self.system.parts.hosts[self.system.host(port)].slack;
            let late = self.choose(self.attack.slack, 0, slack);
            let version = self.ports[port].joined;
            self.schedule(self.now + within + late, self.port_rank(port), Event::Expire(port, version));
        }
    }

    /// A join gives up what it keeps.
    pub(super) fn expire(&mut self, port: usize, version: u64) {
        if self.ports[port].joined != version {
            return;
        }
        for part in &mut self.ports[port].parts {
            self.outcome.given_up[port] += part.len() as u64;
            part.clear();
        }
        self.ports[port].joined += 1;
        self.log(Happening::GivesUp { port });
    }
}
