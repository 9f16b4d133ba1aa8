//! The model: ports, flows and their trees.
use alloc::vec::Vec;

use crate::bundle::Bundle;
use crate::framing::{Frames, Framing};
use crate::policing::{Counts, MILLION};
use crate::port::{Control, Server};
use crate::units::{bits_in, scale_down};

/// An egress port with its link: of a switch, or of a host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Port {
    /// Bits per second of the link.
    pub rate: u64,
    /// Time that a signal needs to the other end, in picoseconds.
    pub propagation: u64,
    /// Least time from the end of reception of a frame to its place in the queue, in picoseconds; 0 at a host.
    pub least_multiplexing: u64,
    /// Most time from the end of reception of a frame to its place in the queue, in picoseconds; 0 at a host.
    pub most_multiplexing: u64,
    /// Whether frames of one flow keep their order from reception to queue, however long each takes; of no matter where that time
    /// does not vary.
    pub keeps_order: bool,
    /// Queues for assured flows, served by strict priority; best effort is below them, control above.
    /// A host whose port is first-in first-out has one, for all that it sends: see [`Imperfections::beside`].
    pub queues: u8,
    /// Bytes of the largest frame of best effort on the wire, or of the largest fragment if such frames are
    /// preempted; 0 without best effort.
    pub best_effort: u32,
    /// Traffic of control, above all levels.
    pub control: Option<Control>,
    /// Bytes of header that frames of this link have more than untagged ones.
    pub tag: u32,
    /// Bytes of the largest frame that the link carries, on the wire.
    pub largest_frame: u32,
    /// Bytes that the queues of assured flows have.
    pub buffer: Buffer,
    /// What it has besides, and an ideal one has not.
    pub imperfections: Imperfections,
}

/// What real ports have, and ideal ones have not: nothing by default.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Imperfections {
    /// What comes into the queue of assured flows without being admitted: of a host whose port is first-in first-out, all that it sends
    /// besides. Where there are several queues it counts beside the flows of each level.
    pub beside: Option<Control>,
    /// Bytes of frames, beside the one on the wire, that a card may have taken from the queues: they leave first, whatever they are.
    pub ring: u32,
    /// The longest time that the link needs before it sends after it was idle (IEEE 802.3, clause 78), in picoseconds.
    pub wake: u64,
    /// Whether the other end may stop it for as long as it likes (PAUSE): then no flow has a bound there.
    pub pauses: bool,
    /// Of a host's port: by how much its clock, that of what holds flows to their contracts at the other end, and a perfect one run apart
    /// at most, each from each, in parts of a million; below 1,000,000.
    pub drift: u32,
}

/// How the buffer of a port is divided, in bytes on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Buffer {
    /// Each queue has so many of its own.
    PerQueue(u64),
    /// The queues of assured flows share so many, which nothing else may take.
    Shared(u64),
}

/// What holds a flow to its contract where it enters the first switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policing {
    /// Nothing: the publisher is trusted to keep its separation and sizes.
    Trusted,
    /// A gate: one message for each separation.
    Gate {
        /// Times of the gate are multiples of this, in picoseconds; not 0.
        tick: u64,
    },
    /// A token bucket.
    Meter {
        /// Rates are multiples of this, in bits per second; not 0. OpenFlow 1.3: 1,000.
        rate_step: u64,
        /// Bursts are multiples of this, in bits; not 0. OpenFlow 1.3: 1,000.
        burst_step: u64,
        /// What it counts of a frame.
        counts: Counts,
    },
}

/// One egress port on the way of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hop {
    /// Index of the port in the network.
    pub port: usize,
    /// Index of the hop before, which is smaller; `None` for the first hop only, the publisher's own port.
    pub parent: Option<usize>,
}

/// How the messages of a flow are handed over to its publisher's port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Emission {
    /// How much later than the first frame of a message any frame of it may be handed over, in picoseconds.
    pub longest: u64,
    /// Bits by which a message and what may be late of another are more than what is left of the message behind its first frame.
    pub first: u64,
}

/// A subscriber of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Subscriber {
    /// Index of the last hop of its way.
    pub hop: usize,
    /// Its maximum latency, in picoseconds: from the publisher's send call to the last frame's reception.
    pub limit: u64,
    /// The most time it accepts between two messages, in picoseconds.
    pub maximum_separation: Option<u64>,
}

/// The data of one writer along one path or tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flow {
    /// Bytes of the largest message.
    pub largest_message: u32,
    /// Bytes of the smallest message.
    pub smallest_message: u32,
    /// How messages become frames.
    pub framing: Framing,
    /// Bytes of header that each of its frames has more than an untagged one on every link, beside [`Port::tag`]: 4 of a flow in a VLAN, whose
    /// tag is kept from the publisher to the subscribers, or 0.
    pub tag: u32,
    /// Least time between two messages, in picoseconds.
    pub separation: u64,
    /// Most time between two messages, in picoseconds; `None` if the writer promises none.
    pub maximum_separation: Option<u64>,
    /// How much later than it should the host hands over the first frame of a message, in picoseconds.
    pub jitter: u64,
    /// Most time from the moment when the host hands the first frame of a message to its port to the moment when it hands over the
    /// last one, in picoseconds; the frames come in their order. It matters to messages of several frames only: [`Self::emitting`].
    /// Of a bundle the longest of its flows that matters.
    pub emission: u64,
    /// What holds it to that.
    pub policing: Policing,
    /// How much longer than the contract needs a gate waits for the rest of a message, or a meter saves up for, in
    /// picoseconds. The flow is promised nothing for frames that are so late; other flows are charged for them.
    pub slack: u64,
    /// Its path, or its tree if there are several subscribers: the publisher's port first.
    pub tree: Vec<Hop>,
    /// Who receives it.
    pub subscribers: Vec<Subscriber>,
    /// If not all flows can be admitted, those with the smaller number yield.
    pub importance: u8,
    /// Several flows in one, which the network cannot tell apart; see [`crate::bundle`].
    pub bundle: Option<Bundle>,
}

/// Why a flow does not describe anything in the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlowError {
    /// A number is outside its range: the smallest message above the largest, a separation or a step of 0, or a sum
    /// of times above 64 bits.
    Number,
    /// The framing has no room for data in a datagram, or a frame is larger than the link carries.
    Framing {
        /// Index of the hop.
        hop: usize,
    },
    /// A hop that is no tree: the first one has a parent, or another one has none before it.
    Tree {
        /// Index of the hop.
        hop: usize,
    },
    /// The network has no such port.
    Port {
        /// Index of the hop.
        hop: usize,
    },
    /// Two hops of a flow use the same port, or it has no hops.
    Loop,
    /// A subscriber's hop is not in the tree, or there is no subscriber.
    Subscriber {
        /// Index of the subscriber.
        subscriber: usize,
    },
    /// A bundle behind a gate: its messages are not one.
    Bundle,
    /// A link on its way may be stopped by the other end.
    Paused {
        /// Index of the port.
        port: usize,
    },
    /// There are not as many shares as hops, or one is less than the message itself takes.
    Share {
        /// Index of the hop.
        hop: usize,
    },
}

impl Port {
    /// The server of the port.
    pub fn server(&self) -> Server {
        // No frame of control is larger than its burst.
        let frame = |control: Control| control.burst.min(u64::from(self.largest_frame) * 8);
        let Imperfections { beside, ring, wake, .. } = self.imperfections;
        // A time that does not fit is longer than any that is promised.
        let waking = bits_in(wake, self.rate).unwrap_or(u64::MAX >> 8);
        // Behind a frame of any level, on the wire, a card may have taken lower ones before the next frame of that level comes.
        let on_wire = if ring > 0 { self.best_effort.max(self.largest_frame) } else { self.best_effort };
        Server {
            rate: self.rate,
            best_effort: u64::from(on_wire) * 8,
            control: self.control,
            control_frame: self.control.map_or(0, frame),
            beside,
            beside_frame: beside.map_or(0, frame),
            ahead: waking.saturating_add(u64::from(ring) * 8),
        }
    }

    /// The server as plans take it: below each level there may be a frame as large as the link carries, unless there is
    /// one queue and no best effort. So a share stays good when a flow with such frames is placed below later.
    pub fn planning_server(&self) -> Server {
        let server = self.server();
        let below = if self.queues > 1 { u64::from(self.largest_frame) * 8 } else { 0 };
        Server { best_effort: server.best_effort.max(below), ..server }
    }

    /// How much the time from reception to queue varies, in picoseconds.
    pub(crate) fn variation(&self) -> u64 {
        self.most_multiplexing.saturating_sub(self.least_multiplexing)
    }
}

impl Flow {
    /// Checks the flow against the ports.
    pub fn check(&self, ports: &[Port]) -> Result<(), FlowError> {
        if self.smallest_message > self.largest_message || self.separation == 0 {
            return Err(FlowError::Number);
        }
        let steps_are_good = match self.policing {
            Policing::Trusted => true,
            Policing::Gate { tick } => tick > 0,
            Policing::Meter { rate_step, burst_step, .. } => rate_step > 0 && burst_step > 0,
        };
        if !steps_are_good {
            return Err(FlowError::Number);
        }
        if self.bundle.is_some() && matches!(self.policing, Policing::Gate { .. }) {
            return Err(FlowError::Bundle);
        }
        for (index, hop) in self.tree.iter().enumerate() {
            let port = ports.get(hop.port).ok_or(FlowError::Port { hop: index })?;
            if hop.parent.is_none() != (index == 0) || hop.parent.is_some_and(|parent| parent >= index) {
                return Err(FlowError::Tree { hop: index });
            }
            if port.imperfections.drift >= MILLION {
                return Err(FlowError::Number);
            }
            if port.imperfections.pauses {
                return Err(FlowError::Paused { port: hop.port });
            }
            let frames = self.frames(port).ok_or(FlowError::Framing { hop: index })?;
            if frames.largest > u64::from(port.largest_frame) * 8 || port.rate == 0 {
                return Err(FlowError::Framing { hop: index });
            }
        }
        let mut used: Vec<usize> = self.tree.iter().map(|hop| hop.port).collect();
        used.sort_unstable();
        used.dedup();
        if used.len() != self.tree.len() || used.is_empty() {
            return Err(FlowError::Loop);
        }
        if self.subscribers.is_empty() {
            return Err(FlowError::Subscriber { subscriber: 0 });
        }
        match self.subscribers.iter().position(|subscriber| subscriber.hop >= self.tree.len()) {
            Some(subscriber) => Err(FlowError::Subscriber { subscriber }),
            None => Ok(()),
        }
    }

    /// Bytes of header that its frames have more than untagged ones on the link of a port.
    pub(crate) const fn tag_at(&self, port: &Port) -> u32 {
        port.tag.saturating_add(self.tag)
    }

    /// The frames of any message on the link of a port.
    pub fn frames(&self, port: &Port) -> Option<Frames> {
        if let Some(bundle) = &self.bundle {
            return bundle.frames(self.tag_at(port));
        }
        self.framing.range(self.smallest_message, self.largest_message, self.tag_at(port))
    }

    /// How much later than the first frame of a message any frame of it may be handed over, in picoseconds: 0 if no message has a second one.
    pub fn emitting(&self) -> u64 {
        let single = || self.framing.frames(self.largest_message, 0).is_some_and(|frames| frames.count == 1);
        if self.bundle.is_none() && single() { 0 } else { self.emission }
    }

    /// How its messages are handed over to the publisher's port, if it goes alone or as one of the flows in a bundle. Of a bundle what
    /// holds for each of them.
    pub fn emission(&self, whole: &Self, port: &Port) -> Emission {
        let first = || {
            let frames = self.framing.frames(self.largest_message, self.tag_at(port))?;
            let late = match whole.bundle.and_then(|bundle| bundle.apart) {
                Some(_) => scale_down(frames.bits, self.spread()?, self.separation)?,
                None => 0,
            };
            frames.first.checked_add(late)
        };
        let first = if self.bundle.is_some() { None } else { first() };
        Emission { longest: self.emitting(), first: first.unwrap_or(0) }
    }

    /// How far after the instant at which a message should begin any frame of it may be handed over, in picoseconds.
    pub(crate) fn spread(&self) -> Option<u64> {
        self.jitter.checked_add(self.emitting())
    }

    /// The bits of the heaviest message on the link of a port, if switches pad frames that are too small without their tags.
    pub(crate) fn padded_bits(&self, port: &Port) -> Option<u64> {
        let tag = self.tag_at(port);
        match &self.bundle {
            None => Some(self.framing.padded(self.largest_message, tag, tag)?.bits),
            Some(bundle) => bundle.padded_bits(tag),
        }
    }

    /// By how much clocks run apart where it begins, in parts of a million.
    pub(crate) fn drift(&self, ports: &[Port]) -> u32 {
        self.tree.first().and_then(|hop| ports.get(hop.port)).map_or(0, |port| port.imperfections.drift)
    }

    pub(crate) fn port<'p>(&self, ports: &'p [Port], hop: usize) -> Result<&'p Port, FlowError> {
        self.tree.get(hop).and_then(|hop| ports.get(hop.port)).ok_or(FlowError::Port { hop })
    }

    /// For each hop, what is left to the hops up to it and behind it: the least of the limits of the subscribers behind it,
    /// each less what is fixed on its way, in picoseconds.
    pub(crate) fn budgets(&self, ports: &[Port]) -> Vec<u64> {
        let emitting = self.emitting();
        let mut fixed: Vec<u64> = Vec::with_capacity(self.tree.len());
        for hop in &self.tree {
            let before = hop.parent.and_then(|parent| fixed.get(parent)).copied().unwrap_or(emitting);
            let port =
                ports.get(hop.port).map_or(0, |port| port.propagation.saturating_add(port.most_multiplexing));
            fixed.push(before.saturating_add(port));
        }
        let mut budgets: Vec<u64> = self.tree.iter().map(|_| u64::MAX).collect();
        for subscriber in &self.subscribers {
            if let (Some(budget), Some(fixed)) = (budgets.get_mut(subscriber.hop), fixed.get(subscriber.hop))
            {
                *budget = subscriber.limit.saturating_sub(*fixed).min(*budget);
            }
        }
        // Parents have smaller numbers.
        for (index, hop) in self.tree.iter().enumerate().rev() {
            let behind = budgets.get(index).copied().unwrap_or(u64::MAX);
            if let Some(budget) = hop.parent.and_then(|parent| budgets.get_mut(parent)) {
                *budget = behind.min(*budget);
            }
        }
        budgets
    }

    /// The hops from the publisher to `hop`, both included.
    pub fn way_to(&self, hop: usize) -> Vec<usize> {
        let mut way = Vec::new();
        let mut next = Some(hop).filter(|hop| *hop < self.tree.len());
        while let Some(at) = next {
            way.push(at);
            // Parents have smaller numbers, so that this ends.
            next = self.tree.get(at).and_then(|hop| hop.parent).filter(|parent| *parent < at);
        }
        way.reverse();
        way
    }
}
