//! Events with their stamps as samples of DDS, for connections between processes that chains pass.
use std::fs;
use std::sync::OnceLock;

use dds::DdsType;
use dds::cdr::{
    CdrType, DecodeError, Decoder, EncodeError, Encoder, Extensibility, LengthCode, Scope, Sink, SizeBound,
};

use super::frames::{self, Held};
use super::score::{EARLIER, MOST_HOPS, Spent, Stamp};
use super::track::id;
use crate::context::Clock;
use crate::event::Event;

/// Stamps of one sample that are read.
const MOST_STAMPS: usize = 64;

/// A sample of a topic that chains pass: the event, and behind it the stamps.
#[derive(Clone, Debug)]
pub(crate) struct Traced<T> {
    pub(crate) event: T,
    trace: Trace,
}

/// Stamps, with the machine whose clock they are of.
#[derive(DdsType, Clone, Default, Debug)]
struct Trace {
    machine: u64,
    stamps: Vec<Sent>,
}

/// A stamp on its way. Instants are nanoseconds of the machine's monotonic clock.
#[derive(DdsType, Clone, Default, Debug)]
struct Sent {
    chain: u64,
    run: u64,
    number: u64,
    newest: i64,
    oldest: i64,
    since: i64,
    hop: u8,
    /// Its instants are of a clock that the machine does not have.
    is_foreign: bool,
    earlier: Vec<i64>,
    /// Transfer, wait and run of each port before, in nanoseconds.
    spent: Vec<u64>,
}

/// The clock of a server beside that of the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Base {
    machine: u64,
    /// Nanoseconds by which the machine's clock is ahead.
    ahead: i64,
}

impl Base {
    /// Of a clock. Virtual time is that of one machine.
    pub(crate) fn of(clock: &Clock) -> Self {
        let ahead = match clock {
            Clock::Monotonic(_) => {
                let ahead = i128::from(udp::monotonic()) - i128::from(clock.now());
                i64::try_from(ahead).unwrap_or(i64::MAX)
            }
            Clock::Virtual(_) => 0,
        };
        Self { machine: machine(), ahead }
    }
}

/// A number of this machine since it was booted, and of the clock that the process has there: a time namespace has another one. 0 if the
/// system does not tell it.
fn machine() -> u64 {
    static MACHINE: OnceLock<u64> = OnceLock::new();
    *MACHINE.get_or_init(|| {
        let Ok(boot) = fs::read_to_string("/proc/sys/kernel/random/boot_id") else { return 0 };
        // A system without time namespaces has one clock.
        let namespace = fs::read_link("/proc/self/ns/time").unwrap_or_default();
        id(&format!("{boot}{}", namespace.display()))
    })
}

impl Sent {
    fn set(&mut self, stamp: &Stamp, base: Base) {
        let by_machine =
            |instant: i64| if stamp.is_foreign { instant } else { instant.saturating_add(base.ahead) };
        self.chain = stamp.chain;
        self.run = stamp.run;
        self.number = stamp.number;
        self.newest = by_machine(stamp.newest);
        self.oldest = by_machine(stamp.oldest);
        self.since = by_machine(stamp.since);
        self.hop = stamp.hop;
        self.is_foreign = stamp.is_foreign;
        self.earlier.clear();
        self.earlier.extend(stamp.earlier.iter().take(stamp.known.into()).copied().map(by_machine));
        self.spent.clear();
        let spent = stamp.spent.iter().take(stamp.hop.into());
        self.spent.extend(spent.flat_map(|spent| [spent.transfer, spent.wait, spent.run]));
    }

    /// The stamp in this server's time; `None` if it is none.
    fn stamp(&self, base: Base, is_near: bool) -> Option<Stamp> {
        if usize::from(self.hop) >= MOST_HOPS {
            return None;
        }
        let by_server = |instant: i64| instant.saturating_sub(base.ahead);
        let mut stamp = Stamp {
            chain: self.chain,
            run: self.run,
            number: self.number,
            newest: by_server(self.newest),
            oldest: by_server(self.oldest),
            earlier: [0; EARLIER],
            known: 0,
            hop: self.hop,
            is_foreign: self.is_foreign || !is_near,
            since: by_server(self.since),
            spent: [Spent::default(); MOST_HOPS],
        };
        for (place, instant) in stamp.earlier.iter_mut().zip(&self.earlier) {
            *place = by_server(*instant);
            stamp.known += 1;
        }
        for (place, spent) in stamp.spent.iter_mut().zip(self.spent.chunks_exact(3)) {
            if let [transfer, wait, run] = *spent {
                *place = Spent { transfer, wait, run };
            }
        }
        Some(stamp)
    }
}

impl<T: Event> Traced<T> {
    /// Of an event that is pushed now, with the stamps of the handler that pushes.
    pub(crate) fn fill(
        known: Option<Self>,
        event: &T,
        now: i64,
        base: Base,
        stamps: &mut Vec<Stamp>,
    ) -> Self {
        let mut traced = match known {
            Some(mut known) => {
                known.event.clone_from(event);
                known
            }
            None => Self { event: event.clone(), trace: Trace::default() },
        };
        stamps.clear();
        frames::pushed(now, stamps);
        traced.trace.machine = base.machine;
        traced.trace.stamps.resize_with(stamps.len(), Sent::default);
        for (sent, stamp) in traced.trace.stamps.iter_mut().zip(stamps) {
            sent.set(stamp, base);
        }
        traced
    }

    /// It has come: what is pushed until the guard is dropped has its stamps.
    pub(crate) fn arrived(&self, now: i64, base: Base) -> Held {
        let is_near = base.machine != 0 && self.trace.machine == base.machine;
        frames::arrive(|stamps| {
            for sent in self.trace.stamps.iter().take(MOST_STAMPS) {
                if let Some(mut stamp) = sent.stamp(base, is_near) {
                    stamp.arrived(now);
                    stamps.push(stamp);
                }
            }
        })
    }
}

impl<T: DdsType> CdrType for Traced<T> {
    const LENGTH_CODE: LengthCode = LengthCode::NextInt;
    const SIZE_XCDR1: SizeBound = T::SIZE_XCDR1.then(Trace::SIZE_XCDR1);
    const SIZE_XCDR2: SizeBound = T::SIZE_XCDR2.then(Trace::SIZE_XCDR2);
    const KEY_SIZE_XCDR1: SizeBound = T::KEY_SIZE_XCDR1;
    const KEY_SIZE_XCDR2: SizeBound = T::KEY_SIZE_XCDR2;

    fn initial() -> Self {
        Self { event: T::initial(), trace: Trace::default() }
    }

    fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        self.event.encode(encoder)?;
        if encoder.scope() == Scope::Data { self.trace.encode(encoder) } else { Ok(()) }
    }

    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        self.event.decode_into(decoder)?;
        if decoder.scope() == Scope::Data { self.trace.decode_into(decoder) } else { Ok(()) }
    }
}

impl<T: DdsType> DdsType for Traced<T> {
    const TYPE_NAME: &'static str = "punctual::Traced";
    const EXTENSIBILITY: Extensibility = Extensibility::Final;
    const HAS_KEY: bool = T::HAS_KEY;
}
