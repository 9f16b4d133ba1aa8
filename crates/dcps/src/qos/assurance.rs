//! ASSURANCE: what a writer promises about its samples, and the latency that a reader wants to be assured of. It is no policy of the
//! standard; see docs/decisions/0009-admission.md.
use alloc::format;
use alloc::string::String;
use core::ops::RangeInclusive;

use wire::Duration;
use wire::admission::{Contract, MOST_LOST, RequestedLosses, Socket};
use wire::qos::{Durability, EndpointQos, History, LivelinessKind, ReliabilityKind};

use crate::error::{Error, ReturnCode};

/// Most bytes that a writer may declare as its largest sample, 1 MiB: all of it leaves at once, without waiting for acknowledgements.
pub const LARGEST_MESSAGE: u32 = 1 << 20;

/// How long the sender's host may need between the first and the last frame of a message that one segmented send call carries
/// (docs/decisions/0003-gate.md, "Senders": 124 us were seen).
const EMISSION: Duration = Duration::from_micros(300);
/// The same without segmented send, and for each datagram.
const EMISSION_ONE_BY_ONE: (Duration, Duration) = (Duration::from_micros(600), Duration::from_micros(20));

/// Inline QoS of a dispose or unregister, with its sentinel: key hash 20 bytes, status 8, sentinel 4, and the header of the serialized key.
const END_OF_INSTANCE: u32 = 36;
/// A serialized key is written with so many bytes at least.
const LEAST_KEY: u32 = 20;

/// ASSURANCE of a writer: its contract. A sample begins to leave `minimum_separation` after the one before has left, or later; what is
/// written earlier waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields))]
pub struct OfferedAssurance {
    /// Least time between two samples; above zero. A writer whose period is exactly this has no way to catch up: declare a little less.
    pub minimum_separation: Duration,
    /// Most time between two samples, at least the minimum; `None` promises nothing.
    pub maximum_separation: Option<Duration>,
    /// Bytes of the largest sample, serialized, with the encapsulation header; 1 to [`LARGEST_MESSAGE`]. `None`: what the type's bounds
    /// give; a type without bounds needs it. Larger samples are refused by `write`.
    pub maximum_size: Option<u32>,
    /// Bytes of the smallest sample, counted the same way; at most the largest. Samples that are all alike are promised more than
    /// others: what is small overtakes its own gate. `None`: anything. Smaller samples are refused by `write`.
    pub minimum_size: Option<u32>,
    /// If not all flows can be admitted, those with the smaller number yield. Default 0.
    #[cfg_attr(feature = "serde", serde(default))]
    pub importance: u8,
    /// How much later than the send call the host may hand the first frame to its port. Default zero.
    #[cfg_attr(feature = "serde", serde(default))]
    pub jitter: Duration,
    /// Most time from the first frame of a sample to its last one. `None`: zero for samples of one frame, 300 us for each segmented send
    /// call that a sample takes, and 600 us and 20 us for each frame where the host has no segmented send.
    pub emission: Option<Duration>,
    /// How much longer than that the network waits for the rest of a sample before its gate drops it. Such a sample is promised
    /// nothing, but what the host holds up now and then still arrives; other flows get a little less room. Default zero.
    #[cfg_attr(feature = "serde", serde(default))]
    pub slack: Duration,
}

impl OfferedAssurance {
    /// At most one sample in this time; the rest as the defaults say.
    pub const fn every(minimum_separation: Duration) -> Self {
        Self {
            minimum_separation,
            maximum_separation: None,
            maximum_size: None,
            minimum_size: None,
            importance: 0,
            jitter: Duration::ZERO,
            emission: None,
            slack: Duration::ZERO,
        }
    }
}

/// ASSURANCE of a reader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields))]
pub struct RequestedAssurance {
    /// Most time from the writer's call to the reception of a sample; above zero. A writer's LATENCY_BUDGET, as long as samples may wait
    /// in it for company, is subtracted from what the network is asked for.
    pub maximum_latency: Duration,
    /// Most time between two samples that is acceptable; a writer that does not promise that is refused. `None`: it does not matter.
    pub maximum_separation: Option<Duration>,
    /// The losses with which `maximum_latency` is to hold; `None`, the default: it is that of samples of which nothing is lost. See
    /// `docs/decisions/0016-losses.md`.
    #[cfg_attr(feature = "serde", serde(default))]
    pub losses: Option<Losses>,
    /// What happens with a writer that cannot be assured.
    #[cfg_attr(feature = "serde", serde(default))]
    pub when_refused: WhenRefused,
}

impl RequestedAssurance {
    /// Within this time, or unassured.
    pub const fn within(maximum_latency: Duration) -> Self {
        Self {
            maximum_latency,
            maximum_separation: None,
            losses: None,
            when_refused: WhenRefused::RunUnassured,
        }
    }

    /// The latency is to hold even if so many frames, 1 to 4, of samples, repairs and questions are lost in any time of this length, which is at least
    /// twice the latency.
    pub const fn losses(self, frames: u8, within: Duration) -> Self {
        Self { losses: Some(Losses { frames, within }), ..self }
    }
}

/// So many lost frames in such a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields))]
pub struct Losses {
    /// Frames, 1 to 4.
    pub frames: u8,
    /// Any time of this length, at least twice the maximum latency.
    pub within: Duration,
}

/// What happens with a pair of writer and reader that is refused, or not assured any more.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum WhenRefused {
    /// The reader takes the samples without a bound.
    #[default]
    RunUnassured,
    /// The pair is not matched.
    Fail,
}

/// What a contract depends on besides QoS.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sending {
    /// Bytes of the largest serialized sample by the bounds of the type, encapsulation header included.
    pub type_bound: Option<u32>,
    /// The type has a key.
    pub has_key: bool,
    /// Most bytes of UDP payload in a datagram.
    pub datagram: u32,
    /// The host sends several datagrams by one call.
    pub segmented: bool,
}

impl OfferedAssurance {
    pub(super) fn check(&self) -> Result<(), Error> {
        let Self { minimum_separation: least, maximum_separation: most, .. } = *self;
        if least <= Duration::ZERO || least.is_infinite() {
            let what = format!("minimum_separation of {least}");
            return Err(wrong(what, "use more than zero: the least time between two samples"));
        }
        if let Some(most) = most.filter(|most| *most < least || most.is_infinite()) {
            return Err(Error::new(
                ReturnCode::InconsistentPolicy,
                PLACE,
                format!("maximum_separation of {most} with minimum_separation of {least}"),
                "make the maximum at least the minimum, or leave it out",
            ));
        }
        if let (Some(least), Some(most)) = (self.minimum_size, self.maximum_size)
            && least > most
        {
            let what = format!("minimum_size of {least} bytes with maximum_size of {most}");
            return Err(Error::new(
                ReturnCode::InconsistentPolicy,
                PLACE,
                what,
                "make the maximum at least the minimum, or leave it out",
            ));
        }
        if let Some(size) = self.maximum_size.filter(|size| !(1..=LARGEST_MESSAGE).contains(size)) {
            return Err(too_large(size));
        }
        let emission = self.emission.unwrap_or(Duration::ZERO);
        for (name, time) in [("jitter", self.jitter), ("emission", emission), ("slack", self.slack)] {
            if time < Duration::ZERO || time >= least {
                return Err(Error::new(
                    ReturnCode::InconsistentPolicy,
                    PLACE,
                    format!("{name} of {time} with minimum_separation of {least}"),
                    "a sample has to have left before the next one begins: use zero or more, and less than the separation",
                ));
            }
        }
        Ok(())
    }

    /// Bytes of the largest sample, as declared or as the type says, and up to a multiple of four, to which samples are padded.
    ///
    /// # Errors
    /// `InconsistentPolicy` if neither says it; `BadParameter` if it is above [`LARGEST_MESSAGE`].
    pub fn largest_sample(&self, type_bound: Option<u32>) -> Result<u32, Error> {
        let Some(size) = self.maximum_size.or(type_bound) else {
            return Err(Error::new(
                ReturnCode::InconsistentPolicy,
                PLACE,
                "the type has no greatest size, and none is declared",
                "declare maximum_size, or give strings and sequences of the type a bound",
            ));
        };
        if size > LARGEST_MESSAGE { Err(too_large(size)) } else { Ok(size.next_multiple_of(4)) }
    }

    /// Bytes of the smallest and of the largest sample, as they are held.
    ///
    /// # Errors
    /// What [`OfferedAssurance::largest_sample`] says; `InconsistentPolicy` if the smallest is larger than what the type allows.
    pub fn samples(&self, type_bound: Option<u32>) -> Result<RangeInclusive<u32>, Error> {
        let (least, most) = (self.minimum_size.unwrap_or(0), self.largest_sample(type_bound)?);
        if least > most {
            let what = format!("minimum_size of {least} bytes, and the type has {most} at most");
            return Err(Error::new(
                ReturnCode::InconsistentPolicy,
                PLACE,
                what,
                "declare less, or leave it out",
            ));
        }
        Ok(least..=most)
    }

    /// What is announced, and held.
    ///
    /// # Errors
    /// What [`OfferedAssurance::samples`] says.
    pub fn contract(&self, sending: &Sending) -> Result<Contract, Error> {
        let (smallest, largest) = self.samples(sending.type_bound)?.into_inner();
        // The end of an instance is a message too, a small one.
        let smallest = if sending.has_key { 4 } else { smallest.max(4) };
        let largest =
            if sending.has_key { largest.max(LEAST_KEY).saturating_add(END_OF_INSTANCE) } else { largest };
        Ok(Contract {
            largest_message: largest,
            smallest_message: smallest.min(largest),
            datagram: sending.datagram,
            minimum_separation: nanos(self.minimum_separation),
            maximum_separation: self.maximum_separation.map_or(0, nanos),
            jitter: nanos(self.jitter),
            emission: nanos(self.emission.unwrap_or_else(|| emission(largest, sending))),
            slack: nanos(self.slack),
            importance: self.importance,
        })
    }
}

impl OfferedAssurance {
    /// How long a writer of this QoS can repeat a sample, in nanoseconds; 2^64 - 1 if for as long as it is needed. `None` if it repeats nothing, or sends
    /// more besides than a bound with losses allows for.
    pub fn kept(&self, qos: &EndpointQos) -> Option<u64> {
        let repeats = qos.reliability.kind == ReliabilityKind::Reliable
            && qos.liveliness.kind != LivelinessKind::ManualByTopic;
        let held = match qos.history {
            History::KeepAll => Duration::INFINITE,
            History::KeepLast(depth) => self.minimum_separation.scaled(depth, 1),
        };
        let kept = held.min(qos.lifespan);
        repeats.then(|| if kept.is_infinite() { u64::MAX } else { nanos(kept) })
    }
}

impl RequestedAssurance {
    pub(super) fn check(&self) -> Result<(), Error> {
        let times = [
            ("maximum_latency", Some(self.maximum_latency)),
            ("maximum_separation", self.maximum_separation),
        ];
        for (name, time) in times {
            if let Some(time) = time.filter(|time| *time <= Duration::ZERO || time.is_infinite()) {
                let what = format!("{name} of {time}");
                return Err(wrong(what, "use more than zero and less than infinite"));
            }
        }
        let Some(Losses { frames, within }) = self.losses else { return Ok(()) };
        if !(1..=MOST_LOST).contains(&frames) {
            return Err(wrong(
                format!("losses of {frames} frames"),
                "use 1 to 4: a bound is stated for no more",
            ));
        }
        if self.maximum_separation.is_some() {
            let what = format!("losses of {frames} frames with a maximum_separation");
            return Err(inconsistent(
                what,
                "leave one of both out: a lost sample comes later than the next one",
            ));
        }
        if within.is_infinite() || within < self.maximum_latency.scaled(2, 1) {
            let what = format!("losses within {within} with maximum_latency of {}", self.maximum_latency);
            return Err(inconsistent(what, "use at least twice the latency, and less than infinite"));
        }
        Ok(())
    }

    /// Whether a reader of this QoS can have a bound with losses, if it asks for one.
    pub(super) fn check_with(&self, qos: &EndpointQos) -> Result<(), Error> {
        if self.losses.is_none() {
            return Ok(());
        }
        if qos.reliability.kind != ReliabilityKind::Reliable {
            let what = "losses of a best-effort reader".into();
            return Err(inconsistent(what, "make RELIABILITY RELIABLE: what is lost has to be asked for"));
        }
        if qos.durability != Durability::Volatile {
            let what = "losses of a reader that asks for history".into();
            return Err(inconsistent(what, "make DURABILITY VOLATILE: history would delay repairs"));
        }
        Ok(())
    }

    /// The announcement; questions leave from this socket.
    pub fn announced(&self, questions: Socket) -> wire::admission::RequestedAssurance {
        wire::admission::RequestedAssurance {
            maximum_latency: nanos(self.maximum_latency),
            maximum_separation: self.maximum_separation.map_or(0, nanos),
            is_required: self.when_refused == WhenRefused::Fail,
            losses: self.losses.map(|losses| RequestedLosses {
                frames: losses.frames,
                within: nanos(losses.within),
                source: questions,
            }),
        }
    }
}

/// An enabled endpoint has its socket and its hidden partners or not; what it asks for can be changed.
pub(super) fn presence_unchanged(before: bool, after: bool) -> Result<(), Error> {
    if before == after {
        return Ok(());
    }
    Err(Error::new(
        ReturnCode::ImmutablePolicy,
        PLACE,
        "it is added or taken away",
        "make another writer or reader; values of an assurance that is there can be changed",
    ))
}

const PLACE: &str = "ASSURANCE";

/// What a sample takes from its first frame to its last one.
fn emission(largest: u32, sending: &Sending) -> Duration {
    // RTPS header, INFO_DST, INFO_TS, DATA_FRAG header and HEARTBEAT around each fragment.
    let room = sending.datagram.saturating_sub(116).max(64) & !3;
    let frames = largest.saturating_add(107).div_ceil(room);
    if largest.saturating_add(107) <= sending.datagram {
        return Duration::ZERO;
    }
    let per_call = (65_507 / sending.datagram.max(1)).clamp(1, 64);
    if sending.segmented {
        return EMISSION.scaled(frames.div_ceil(per_call), 1);
    }
    let (fixed, each) = EMISSION_ONE_BY_ONE;
    fixed.saturating_add(each.scaled(frames, 1))
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(0)
}

fn inconsistent(what: String, advice: &'static str) -> Error {
    Error::new(ReturnCode::InconsistentPolicy, PLACE, what, advice)
}

fn wrong(what: String, advice: &'static str) -> Error {
    Error::new(ReturnCode::BadParameter, PLACE, what, advice)
}

fn too_large(size: u32) -> Error {
    wrong(
        format!("a largest sample of {size} bytes"),
        "use 1 to 1048576 bytes: all of a sample leaves at once; divide larger ones",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENDING: Sending = Sending { type_bound: None, has_key: false, datagram: 1_472, segmented: true };

    fn offered(size: u32) -> OfferedAssurance {
        OfferedAssurance { maximum_size: Some(size), ..OfferedAssurance::every(Duration::from_millis(5)) }
    }

    #[test]
    fn separations_and_times_that_contradict_each_other_are_refused() {
        assert!(offered(100).check().is_ok());
        let with_most = |nanos| {
            let most = Some(Duration::from_nanos(nanos));
            OfferedAssurance { maximum_separation: most, ..offered(100) }.check()
        };
        assert!(with_most(5_000_000).is_ok());
        let error = with_most(4_999_999).unwrap_err();
        assert_eq!(error.code, ReturnCode::InconsistentPolicy);
        assert!(error.what.contains("4.999999 ms") && error.what.contains("of 5 ms"), "{error}");
        for wrong in [0, LARGEST_MESSAGE + 1] {
            assert_eq!(offered(wrong).check().unwrap_err().code, ReturnCode::BadParameter);
        }
        assert!(offered(LARGEST_MESSAGE).check().is_ok());
        for nanos in [-1, 5_000_000] {
            assert!(OfferedAssurance { jitter: Duration::from_nanos(nanos), ..offered(1) }.check().is_err());
        }
        for least in [Duration::ZERO, Duration::INFINITE, Duration::from_nanos(-1)] {
            assert!(OfferedAssurance::every(least).check().is_err());
        }
        for most in [Duration::ZERO, Duration::INFINITE] {
            assert!(RequestedAssurance::within(most).check().is_err());
        }
    }

    #[test]
    fn a_type_without_bound_needs_a_declared_size() {
        let undeclared = OfferedAssurance::every(Duration::from_millis(5));
        let error = undeclared.contract(&SENDING).unwrap_err();
        assert!(error.advice.contains("maximum_size"), "{error}");
        let bounded = Sending { type_bound: Some(20), ..SENDING };
        assert_eq!(undeclared.contract(&bounded).unwrap().largest_message, 20);
        assert_eq!(offered(10).contract(&bounded).unwrap().largest_message, 12, "padded");
        // The end of an instance is a message: its key and 36 bytes of inline QoS.
        let keyed = Sending { has_key: true, ..bounded };
        assert_eq!(offered(10).contract(&keyed).unwrap().largest_message, 56);
        let huge = Sending { type_bound: Some(u32::MAX), ..SENDING };
        assert_eq!(undeclared.contract(&huge).unwrap_err().code, ReturnCode::BadParameter);
    }

    #[test]
    fn emission_counts_the_send_calls_of_a_sample() {
        let emission = |size, segmented| {
            offered(size).contract(&Sending { segmented, ..SENDING }).unwrap().emission / 1_000
        };
        // What fits one datagram; 44 datagrams of 1,472 bytes fit one call.
        assert_eq!(emission(1_364, true), 0);
        assert_eq!(emission(1_365, true), 300);
        assert_eq!(emission(48_052, true), 300);
        assert_eq!(emission(192_196, true), 1_200);
        assert_eq!(emission(1_366, false), 640);
    }
}
