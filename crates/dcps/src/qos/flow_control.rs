//! FLOW_CONTROL: how much a writer may send, and what becomes of samples that have to wait.
use alloc::format;

use rtps::writer::TokenBucket;

use crate::error::{Error, ReturnCode};

/// A token bucket for all that a writer sends: samples, fragments, repairs, heartbeats, each datagram with its headers of IP and UDP.
///
/// A datagram counts once, however many paths take it, so that each destination gets at most `bucket` bytes and what `rate` comes to, in
/// any time. It is a policy of the writer alone and is not announced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case", deny_unknown_fields))]
pub struct FlowController {
    /// Bits per second, 1 or more.
    pub rate: u64,
    /// Bytes at once after a silence, [`TokenBucket::LEAST`] or more.
    pub bucket: u32,
    /// Bytes of the largest IP packet, [`TokenBucket::LEAST`] to [`TokenBucket::LARGEST`], the default. Larger samples go in fragments. A
    /// datagram waits for tokens for such a packet, however small it is.
    #[cfg_attr(feature = "serde", serde(default = "largest_packet"))]
    pub largest_packet: u32,
    /// What a write does where tokens are missing. Default asynchronous.
    #[cfg_attr(feature = "serde", serde(default))]
    pub publishing: Publishing,
}

/// What a write does where tokens are missing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "kebab-case"))]
pub enum Publishing {
    /// The write returns; the sample leaves when there are tokens. With HISTORY KEEP_LAST a newer sample of the instance takes its
    /// place until then.
    #[default]
    Asynchronous,
    /// The write waits until the samples before have left, at most for RELIABILITY max_blocking_time, also of a best-effort writer. So
    /// one sample waits at most.
    Synchronous,
}

#[cfg(feature = "serde")]
const fn largest_packet() -> u32 {
    TokenBucket::LARGEST
}

impl FlowController {
    /// `rate` in bits per second, `bucket` in bytes; writes are asynchronous.
    pub const fn token_bucket(rate: u64, bucket: u32) -> Self {
        Self { rate, bucket, largest_packet: TokenBucket::LARGEST, publishing: Publishing::Asynchronous }
    }

    /// The same with writes that wait.
    pub const fn synchronous(self) -> Self {
        Self { publishing: Publishing::Synchronous, ..self }
    }

    /// The same with packets of at most so many bytes.
    pub const fn packets_up_to(self, bytes: u32) -> Self {
        Self { largest_packet: bytes, ..self }
    }

    pub(crate) const fn bucket(&self) -> TokenBucket {
        TokenBucket { rate: self.rate, bucket: self.bucket, largest_packet: self.largest_packet }
    }

    pub(super) fn check(&self, is_assured: bool) -> Result<(), Error> {
        let (least, largest) = (TokenBucket::LEAST, TokenBucket::LARGEST);
        let wrong = |code, what, advice| Err(Error::new(code, "FLOW_CONTROL", what, advice));
        if is_assured {
            return wrong(
                ReturnCode::InconsistentPolicy,
                format!("a token bucket of {} bit/s beside ASSURANCE", self.rate),
                "leave one of them out: the contract of ASSURANCE says already how often the writer sends",
            );
        }
        if self.rate == 0 || self.bucket < least {
            return wrong(
                ReturnCode::BadParameter,
                format!("rate {} bit/s, bucket {} bytes", self.rate, self.bucket),
                "use a rate of 1 or more and a bucket of 304 or more: the least packet that every reader can be sent",
            );
        }
        if !(least..=largest).contains(&self.largest_packet) {
            return wrong(
                ReturnCode::BadParameter,
                format!("largest_packet {} bytes", self.largest_packet),
                "use 304 to 1500 bytes: a larger packet would be cut on its way",
            );
        }
        Ok(())
    }
}
