//! Models of switches: what a kind of device can do, and what a port of it then is in the analysis.
use crate::framing::{ETHERNET_HEADER, FRAME_AROUND, LEAST_FRAME};
use crate::network::{Buffer, Imperfections, Policing, Port};
use crate::policing::Counts;
use crate::port::Control;
use crate::units::{MICROSECOND, NANOSECOND, scale_down};

/// The most bytes, preamble and gap included, that a preemptable frame keeps the link after an express frame has come
/// (IEEE 802.3, clause 99, with fragments of at least 64 bytes).
///
/// A frame is cut only if both pieces, each with its check sequence, have 64 bytes. One of 123 bytes cannot be cut:
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

/// What an interface does to its link besides sending frames; it does so only if the other end does it, too.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Interface {
    /// Whether PAUSE frames (IEEE 802.3, annex 31B, or those of priorities, 802.1Qbb) stop it; `None` if that is not known.
    pub pause: Option<bool>,
    /// The longest time that it needs to wake the link (Energy-Efficient Ethernet), in picoseconds, 0 if the link never sleeps; `None` if
    /// that is not known.
    pub wake: Option<u64>,
}

/// What two interfaces make of the link between them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Agreed {
    /// Whether PAUSE frames may stop it; `None` if that is not known of either end.
    pub pause: Option<bool>,
    /// The longest time to wake it, in picoseconds.
    pub wake: u64,
}

impl Interface {
    /// What a link of `rate` bits per second between this interface and another one does. Where nothing is known of the time to wake, it is
    /// that of the standard for the rate.
    pub fn with(self, other: Self, rate: u64) -> Agreed {
        let both = [self, other];
        let off = both.iter().any(|end| end.pause == Some(false));
        let pause = if off { Some(false) } else { self.pause.or(other.pause) };
        let stated = both.iter().filter_map(|end| end.wake);
        let asleep = both.iter().all(|end| end.wake != Some(0));
        let wake = if asleep { stated.max().unwrap_or_else(|| time_to_wake(rate)) } else { 0 };
        Agreed { pause, wake }
    }
}

/// The time to wake a link of twisted pairs, in picoseconds (IEEE 802.3, 78.5, the least that a transmitter has to wait, in its slowest
/// case; below 1 Gb/s that of 100 Mb/s).
fn time_to_wake(rate: u64) -> u64 {
    match rate {
        0..1_000_000_000 => 30 * MICROSECOND,
        1_000_000_000 => 16_500 * NANOSECOND,
        1_000_000_001..5_000_000_000 => 29_440 * NANOSECOND,
        5_000_000_000..10_000_000_000 => 14_720 * NANOSECOND,
        _ => 7_360 * NANOSECOND,
    }
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
    /// What the queues of assured flows have at a port, in bytes of whole cells; see [`Self::memory`].
    pub buffer: Buffer,
    /// Whether all ports together have that buffer, and not each of them; of no matter if queues have their own.
    pub pooled: bool,
    /// Bytes of a cell of it: a frame takes whole ones. 1 if bytes are counted.
    pub cell: u32,
    /// What its interfaces do to their links.
    pub interface: Interface,
    /// What it has against flows that break their contracts.
    pub guard: Guard,
    /// Least time from the end of reception of a frame to its place in the queue, in picoseconds.
    pub least_multiplexing: u64,
    /// Most time for the same.
    pub most_multiplexing: u64,
    /// Whether frames of one flow keep their order from reception to queue.
    pub keeps_order: bool,
    /// Bytes that frames on its links have more than untagged ones.
    pub overhead: u32,
    /// Whether assured frames interrupt those of best effort (IEEE 802.3br). Assured frames do not interrupt each other.
    pub preemption: bool,
    /// Bytes of payload in a frame at most, 1,500 on Ethernet without jumbo frames.
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
    /// The largest frame has less than 46 bytes of payload or more than 65,535.
    Mtu,
    /// A cell of the buffer has no bytes, or more than 65,535.
    Cell,
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
            () if !(1..=65_535).contains(&self.cell) => Err(ModelError::Cell),
            () => Ok(()),
        }
    }

    /// Bytes of the largest frame on a link of the switch.
    pub fn largest_frame(&self) -> u32 {
        let around = u32::try_from(FRAME_AROUND + ETHERNET_HEADER).unwrap_or(u32::MAX);
        self.mtu.saturating_add(around).saturating_add(self.overhead)
    }

    /// What the queues of assured flows have at a port if so many ports share a common buffer: bytes on the wire of frames of any size,
    /// which take no more than that in cells.
    pub fn memory(&self, ports: u32) -> Buffer {
        let usable = |bytes: u64| {
            let cell = u64::from(self.cell.max(1));
            let least = LEAST_FRAME + FRAME_AROUND;
            // Of frames with as many cells the smallest one wastes most: the least one of all, or the least one with a cell more.
            let cells = least.div_ceil(cell);
            let whole = bytes / cell * cell;
            let worst = [(least, cells), (cells * cell + 1, cells + 1)];
            let worst = worst.map(|(frame, cells)| scale_down(whole, frame, cells * cell).unwrap_or(0));
            worst.into_iter().fold(bytes, u64::min)
        };
        match self.buffer {
            Buffer::PerQueue(bytes) => Buffer::PerQueue(usable(bytes)),
            Buffer::Shared(bytes) if self.pooled => Buffer::Shared(usable(bytes / u64::from(ports.max(1)))),
            Buffer::Shared(bytes) => Buffer::Shared(usable(bytes)),
        }
    }

    /// A port of the switch with a link of `rate` bits per second and `propagation` picoseconds, to an interface that does nothing to it. A
    /// common buffer is divided among all ports.
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
            buffer: self.memory(self.ports),
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
            pooled: false,
            cell: 1,
            interface: Interface::default(),
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
    fn frames_take_whole_cells() {
        let of = |bytes, cell, pooled| {
            let model = SwitchModel { buffer: Buffer::Shared(bytes), cell, pooled, ..model() };
            let Buffer::Shared(usable) = model.memory(4) else { panic!() };
            usable
        };
        assert_eq!(of(1_000, 1, false), 1_000);
        // The smallest frame takes 256; of 1,000 bytes three cells are there.
        assert_eq!(of(1_000, 256, false), 3 * 84);
        // One of 101 bytes takes two cells of 100.
        assert_eq!(of(1_000, 100, false), 505);
        assert_eq!(of(4_000, 100, true), 505);
        assert_eq!(of(u64::MAX, 1, false), u64::MAX);
        // Whatever the frames, they take no more than there is.
        for cell in [1, 64, 80, 84, 100, 208, 256, 2_048] {
            let usable = of(500_000, cell, false);
            for frame in 84..=1_538_u64 {
                let frames = usable / frame;
                assert!(frames * frame.next_multiple_of(cell.into()) <= 500_000, "{cell} {frame}");
            }
        }
    }

    #[test]
    fn both_ends_have_to_do_it() {
        let end = |pause, wake| Interface { pause, wake };
        let unknown = Interface::default();
        let gigabit = |one: Interface, other: Interface| {
            let agreed = one.with(other, 1_000_000_000);
            assert_eq!(other.with(one, 1_000_000_000), agreed);
            (agreed.pause, agreed.wake)
        };
        assert_eq!(gigabit(unknown, unknown), (None, 16_500_000));
        assert_eq!(gigabit(unknown, end(Some(true), Some(9))), (Some(true), 9));
        assert_eq!(gigabit(end(Some(false), Some(0)), end(Some(true), Some(9))), (Some(false), 0));
        assert_eq!(gigabit(end(None, Some(7)), end(None, Some(9))), (None, 9));
        let wake = |rate| unknown.with(unknown, rate).wake;
        assert_eq!([10_000_000, 100_000_000, 999_999_999].map(wake), [30_000_000; 3]);
        assert!(wake(2_500_000_000) > wake(5_000_000_000) && wake(5_000_000_000) > wake(40_000_000_000));
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
        assert_eq!(error(&|model| model.cell = 0), ModelError::Cell);
        let others = Others { best_effort: false, control: None };
        assert_eq!(model().port(2_000_000_000, 0, others), Err(ModelError::Rate));
    }
}
