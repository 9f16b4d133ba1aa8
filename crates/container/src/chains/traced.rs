//! Events with their stamps as samples of DDS, for connections between processes that chains pass.
use std::fs;
use std::sync::{Arc, OnceLock};

use dds::DdsType;
use dds::cdr::{
    CdrType, DecodeError, Decoder, EncodeError, Encoder, Extensibility, LengthCode, Scope, Sink, SizeBound,
};

use super::clocks::{Clocks, parted_in};
use super::frames::{self, Held};
use super::score::{EARLIER, MOST_HOPS, Spent, Stamp, between};
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
    /// By how much they may be wrong, since clocks of several machines were read.
    error: u64,
    /// By how many parts of 10^9 these clocks run apart at most.
    drift: u32,
    earlier: Vec<i64>,
    /// Transfer, wait and run of each port before, in nanoseconds.
    spent: Vec<u64>,
}

/// The clock of a server beside that of the machine, and those of other machines.
#[derive(Clone)]
pub(crate) struct Base {
    pub(super) machine: u64,
    /// Nanoseconds by which the machine's clock is ahead.
    pub(super) ahead: i64,
    clocks: Arc<Clocks>,
}

/// Nanoseconds by which the clock of the machine is ahead of that of a server; `None` if that is virtual.
pub(super) fn ahead(clock: &Clock) -> Option<i64> {
    let Clock::Monotonic(_) = clock else { return None };
    let ahead = i128::from(udp::monotonic()) - i128::from(clock.now());
    Some(i64::try_from(ahead).unwrap_or(i64::MAX))
}

impl Base {
    /// Of a clock. Virtual time is that of one machine.
    pub(crate) fn of(clock: &Clock, clocks: &Arc<Clocks>) -> Self {
        Self { machine: machine(), ahead: ahead(clock).unwrap_or(0), clocks: Arc::clone(clocks) }
    }

    /// By how much the instants of a machine's clock are ahead of this server's time, by how much that may be wrong, and the drift; `None` if nothing
    /// is known of that clock.
    fn ahead_of(&self, machine: u64, now: i64) -> Option<(i64, u64, u32)> {
        if machine == self.machine && machine != 0 {
            return Some((self.ahead, 0, 0));
        }
        if machine == 0 {
            return None;
        }
        let (ahead, error, drift) = self.clocks.ahead(machine, now.saturating_add(self.ahead))?;
        Some((ahead.saturating_add(self.ahead), error, drift))
    }
}

/// A number of this machine since it was booted, and of the clock that the process has there: a time namespace has another one. 0 if the
/// system does not tell it.
pub(crate) fn machine() -> u64 {
    static MACHINE: OnceLock<u64> = OnceLock::new();
    *MACHINE.get_or_init(|| {
        let Ok(boot) = fs::read_to_string("/proc/sys/kernel/random/boot_id") else { return 0 };
        // A system without time namespaces has one clock.
        let namespace = fs::read_link("/proc/self/ns/time").unwrap_or_default();
        id(&format!("{boot}{}", namespace.display()))
    })
}

impl Sent {
    fn set(&mut self, stamp: &Stamp, base: &Base) {
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
        self.error = stamp.error;
        self.drift = stamp.drift;
        self.earlier.clear();
        self.earlier.extend(stamp.earlier.iter().take(stamp.known.into()).copied().map(by_machine));
        self.spent.clear();
        let spent = stamp.spent.iter().take(stamp.hop.into());
        self.spent.extend(spent.flat_map(|spent| [spent.transfer, spent.wait, spent.run]));
    }

    /// The stamp in this server's time, which is `now`, if it is known by how much the clock that it is of is ahead; `None` if it is none.
    fn stamp(&self, now: i64, ahead: Option<(i64, u64, u32)>) -> Option<Stamp> {
        if usize::from(self.hop) >= MOST_HOPS {
            return None;
        }
        let (by, error, drift) = ahead.unwrap_or_default();
        let by_server = |instant: i64| instant.saturating_sub(by);
        // Bounds of the offset are for now: when the first event began it may have been another one.
        let first = self.earlier.iter().take(EARLIER).copied().fold(self.oldest.min(self.newest), i64::min);
        let age = between(by_server(first), now).saturating_add(error);
        let mut stamp = Stamp {
            chain: self.chain,
            run: self.run,
            number: self.number,
            newest: by_server(self.newest),
            oldest: by_server(self.oldest),
            earlier: [0; EARLIER],
            known: 0,
            hop: self.hop,
            ends_here: false,
            is_foreign: self.is_foreign || ahead.is_none(),
            error: self.error.saturating_add(error).saturating_add(parted_in(drift, age)),
            drift: self.drift.max(drift),
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
        base: &Base,
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
    pub(crate) fn arrived(&self, now: i64, base: &Base) -> Held {
        let ahead = base.ahead_of(self.trace.machine, now);
        frames::arrive(|stamps| {
            for sent in self.trace.stamps.iter().take(MOST_STAMPS) {
                if let Some(mut stamp) = sent.stamp(now, ahead) {
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

#[cfg(test)]
mod tests {
    use super::super::clocks::RoundTrip;
    use super::*;

    fn base(machine: u64, ahead: i64) -> Base {
        Base { machine, ahead, clocks: Arc::default() }
    }

    fn stamp(newest: i64) -> Stamp {
        Stamp {
            chain: 1,
            run: 2,
            number: 3,
            newest,
            oldest: newest - 100,
            earlier: [newest - 50, 0, 0, 0],
            known: 1,
            hop: 0,
            ends_here: false,
            is_foreign: false,
            error: 7,
            drift: 0,
            since: newest,
            spent: [Spent::default(); MOST_HOPS],
        }
    }

    /// What goes from a server of one machine to one of another one.
    fn across(stamp: &Stamp, from: &Base, to: &Base, now: i64) -> Stamp {
        let mut sent = Sent::default();
        sent.set(stamp, from);
        sent.stamp(now, to.ahead_of(from.machine, now)).unwrap()
    }

    #[test]
    fn stamps_of_another_machine_are_translated_and_say_how_wrong_they_may_be() {
        let (from, to) = (base(9, 5_000), base(7, 1_000));
        // Nothing is known of its clock: the stamp stays of it, and is not taken for another one on its further way.
        let unknown = across(&stamp(2_000_000), &from, &to, 1_100_000);
        assert!(unknown.is_foreign);
        assert!(across(&unknown, &to, &base(7, 0), 1_100_000).is_foreign, "it was of machine 9");
        // Its clock is ahead by a million, give or take 50.
        to.clocks.set_drift(400_000);
        let trip = RoundTrip { sent: 1_000_000, received: 2_000_050, answered: 2_000_060, came: 1_000_110 };
        to.clocks.note(9, &trip);
        let known = across(&stamp(2_000_000), &from, &to, 1_005_000);
        assert!(!known.is_foreign);
        assert_eq!((known.newest, known.oldest, known.since), (1_004_000, 1_003_900, 1_004_000));
        assert_eq!(known.earlier[0], 1_003_950);
        // 7 from before, 50 of the round trip, 1 of reading, and what clocks part since then and in the age of the stamp.
        assert!((58..=64).contains(&known.error), "{}", known.error);
        let older = across(&stamp(1_000_000), &from, &to, 1_005_000);
        assert!(older.error >= known.error + 400, "{}", older.error);
        // Events before it are older than all that it is made of.
        let earlier = [1_999_950, 1_000_000, 0, 0];
        let long = across(&Stamp { earlier, known: 2, ..stamp(2_000_000) }, &from, &to, 1_005_000);
        assert!(long.error >= known.error + 399, "{}", long.error);
        // Within the machine nothing is added, and the drift stays known.
        let near = across(&known, &to, &base(7, 0), 1_010_000);
        assert_eq!((near.newest, near.error, near.drift), (1_005_000, known.error, 400_000));
        // A machine that does not say which it is has no clock that is known.
        assert!(across(&stamp(0), &base(0, 0), &base(0, 0), 0).is_foreign);
    }
}
