//! Models of switches: what a kind of device can do, and what a port of it then is in the analysis.
use crate::framing::{ETHERNET_HEADER, FRAME_AROUND};
use crate::network::{Buffer, Imperfections, Policing, Port};
use crate::policing::Counts;
use crate::port::Control;

/// The most octets, preamble and gap included, that a preemptable frame keeps the link after an express frame has come
/// (IEEE 802.3, clause 99, with fragments of at least 64 octets).
///
/// A frame is cut only if both pieces, each with its check sequence, have 64 octets. One of 123 octets cannot be cut:
/// with a preamble of 8 and a gap of 12 it is the longest piece.
pub const LARGEST_FRAGMENT: u32 = 123 + 8 + 12;

/// What holds flows to their contracts at the ports of a switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guard {
    /// The switch has neither gates nor meters.
    None,
    /// Message gates.
    Gates {
        /// How many; `None` if as many as flows.
        count: Option<u32>,
        /// Their times are multiples of this, in picoseconds; not 0.
        tick: u64,
    },
    /// Token buckets.
    Meters {
        /// How many; `None` if as many as flows.
        count: Option<u32>,
        /// Rates are multiples of this, in bits per second; not 0.
        rate_step: u64,
        /// Bursts are multiples of this, in bits; not 0.
        burst_step: u64,
        /// What they count of a frame.
        counts: Counts,
    },
}

/// A kind of switch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SwitchModel {
    /// Number of ports.
    pub ports: u32,
    /// Queues of a port, from 1 to 255, served by strict priority: the lowest is for best effort, and the highest is for
    /// control if there is any.
    pub queues: u8,
    /// Bits per second of a port at most.
    pub rate: u64,
    /// What the queues of assured flows have at a port, in octets.
    pub buffer: Buffer,
    /// What it has against flows that break their contracts.
    pub guard: Guard,
    /// Least time from the end of reception of a frame to its place in the queue, in picoseconds.
    pub least_multiplexing: u64,
    /// Most time for the same.
    pub most_multiplexing: u64,
    /// Whether frames of one flow keep their order from reception to queue.
    pub keeps_order: bool,
    /// Octets that frames on its links have more than untagged ones.
    pub overhead: u32,
    /// Whether assured frames interrupt those of best effort (IEEE 802.3br). Assured frames do not interrupt each other.
    pub preemption: bool,
    /// Octets of payload in a frame at most, 1,500 on Ethernet without jumbo frames.
    pub mtu: u32,
}

/// What is wrong with a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelError {
    /// It has no port.
    Ports,
    /// No queue is left for assured flows.
    Queues,
    /// Its rate is 0, or the link is faster than its ports.
    Rate,
    /// The least multiplexing latency is above the largest.
    Multiplexing,
    /// A step of gates or meters is 0.
    Step,
    /// The largest frame has less than 46 octets of payload or more than 65,535.
    Mtu,
}

/// What is at a port besides assured flows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Others {
    /// Whether there is best effort: then in frames as large as the link carries.
    pub best_effort: bool,
    /// Control above all assured flows.
    pub control: Option<Control>,
}

impl SwitchModel {
    /// Checks the numbers of the model.
    pub fn check(&self) -> Result<(), ModelError> {
        let steps = match self.guard {
            Guard::None => true,
            Guard::Gates { tick, .. } => tick > 0,
            Guard::Meters { rate_step, burst_step, .. } => rate_step > 0 && burst_step > 0,
        };
        match () {
            () if self.ports == 0 => Err(ModelError::Ports),
            () if self.queues == 0 => Err(ModelError::Queues),
            () if self.rate == 0 => Err(ModelError::Rate),
            () if self.least_multiplexing > self.most_multiplexing => Err(ModelError::Multiplexing),
            () if !steps => Err(ModelError::Step),
            () if !(46..=65_535).contains(&self.mtu) => Err(ModelError::Mtu),
            () => Ok(()),
        }
    }

    /// Octets of the largest frame on a link of the switch.
    pub fn largest_frame(&self) -> u32 {
        let around = u32::try_from(FRAME_AROUND + ETHERNET_HEADER).unwrap_or(u32::MAX);
        self.mtu.saturating_add(around).saturating_add(self.overhead)
    }

    /// A port of the switch with a link of `rate` bits per second and `propagation` picoseconds.
    pub fn port(&self, rate: u64, propagation: u64, others: Others) -> Result<Port, ModelError> {
        self.check()?;
        if rate == 0 || rate > self.rate {
            return Err(ModelError::Rate);
        }
        let taken = u8::from(others.best_effort) + u8::from(others.control.is_some());
        let queues = self.queues.checked_sub(taken).filter(|queues| *queues > 0).ok_or(ModelError::Queues)?;
        let largest_frame = self.largest_frame();
        let best_effort = match (others.best_effort, self.preemption) {
            (false, _) => 0,
            (true, false) => largest_frame,
            (true, true) => LARGEST_FRAGMENT.saturating_add(self.overhead),
        };
        Ok(Port {
            rate,
            propagation,
            least_multiplexing: self.least_multiplexing,
            most_multiplexing: self.most_multiplexing,
            keeps_order: self.keeps_order,
            queues,
            best_effort,
            control: others.control,
            tag: self.overhead,
            largest_frame,
            buffer: self.buffer,
            imperfections: Imperfections::default(),
        })
    }

    /// How the switch holds flows to their contracts that enter the network here.
    pub fn policing(&self) -> Policing {
        match self.guard {
            Guard::None => Policing::Trusted,
            Guard::Gates { tick, .. } => Policing::Gate { tick },
            Guard::Meters { rate_step, burst_step, counts, .. } => {
                Policing::Meter { rate_step, burst_step, counts }
            }
        }
    }

    /// How many flows can be held to their contracts here; `None` if any number.
    pub fn guards(&self) -> Option<u32> {
        match self.guard {
            Guard::None => None,
            Guard::Gates { count, .. } | Guard::Meters { count, .. } => count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model() -> SwitchModel {
        SwitchModel {
            ports: 8,
            queues: 8,
            rate: 1_000_000_000,
            buffer: Buffer::Shared(500_000),
            guard: Guard::Meters {
                count: Some(4),
                rate_step: 1_000,
                burst_step: 1_000,
                counts: Counts::Frame,
            },
            least_multiplexing: 0,
            most_multiplexing: 5_000_000,
            keeps_order: true,
            overhead: 4,
            preemption: false,
            mtu: 1_500,
        }
    }

    #[test]
    fn queues_are_left_for_best_effort_and_control() {
        let control = Some(Control { burst: 8_000, rate: 1_000_000 });
        let queues = |best_effort, control| {
            model().port(1_000_000_000, 0, Others { best_effort, control }).unwrap().queues
        };
        assert_eq!(queues(false, None), 8);
        assert_eq!(queues(true, None), 7);
        assert_eq!(queues(true, control), 6);
        let one = SwitchModel { queues: 1, ..model() };
        let others = Others { best_effort: true, control: None };
        assert_eq!(one.port(1_000, 0, others), Err(ModelError::Queues));
    }

    #[test]
    fn preemption_leaves_a_fragment_of_best_effort() {
        let others = Others { best_effort: true, control: None };
        let best_effort = |model: SwitchModel| model.port(1_000_000_000, 0, others).unwrap().best_effort;
        assert_eq!(best_effort(model()), 1_542);
        assert_eq!(best_effort(SwitchModel { preemption: true, ..model() }), 147);
        assert_eq!(best_effort(SwitchModel { preemption: true, overhead: 0, ..model() }), 143);
    }

    #[test]
    fn impossible_models_are_refused() {
        let error = |change: &dyn Fn(&mut SwitchModel)| {
            let mut model = model();
            change(&mut model);
            model.check().unwrap_err()
        };
        assert_eq!(error(&|model| model.ports = 0), ModelError::Ports);
        assert_eq!(error(&|model| model.queues = 0), ModelError::Queues);
        assert_eq!(error(&|model| model.rate = 0), ModelError::Rate);
        assert_eq!(error(&|model| model.least_multiplexing = u64::MAX), ModelError::Multiplexing);
        assert_eq!(error(&|model| model.guard = Guard::Gates { count: None, tick: 0 }), ModelError::Step);
        assert_eq!(error(&|model| model.mtu = 45), ModelError::Mtu);
        let others = Others { best_effort: false, control: None };
        assert_eq!(model().port(2_000_000_000, 0, others), Err(ModelError::Rate));
    }
}
