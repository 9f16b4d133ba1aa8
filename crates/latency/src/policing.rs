//! What holds a flow to its contract at the first switch, with the parameters that let every conforming message pass.
use crate::framing::Frames;
use crate::network::{Flow, FlowError, Policing, Port};
use crate::units::{bits_in, least_time_of, rate_of, time_of};

/// A message gate: at most `octets` in a window of `window` from the first frame of a message; the next message opens
/// a window not before `separation` less `tolerance` after.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Gate {
    /// Octets of a message, counted as in [`crate::framing`].
    pub octets: u64,
    /// Picoseconds between messages.
    pub separation: u64,
    /// Picoseconds by which a message may be early.
    pub tolerance: u64,
    /// Picoseconds from the first frame of a message to its last.
    pub window: u64,
}

/// A token bucket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meter {
    /// Bits at once, counted as in [`crate::framing`].
    pub burst: u64,
    /// Bits per second.
    pub rate: u64,
}

/// What enforces the contract of a flow, with its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Enforcement {
    /// Nothing.
    Trust,
    /// A gate.
    Gate(Gate),
    /// A meter.
    Meter(Meter),
}

impl Flow {
    /// What is to be programmed where the flow enters the first switch, given its share (picoseconds) at the
    /// publisher's port: the delay that no frame of it exceeds there.
    pub fn enforcement(&self, ports: &[Port], first_share: u64) -> Result<Enforcement, FlowError> {
        let port = self.port(ports, 0)?;
        let frames = self.frames(port).ok_or(FlowError::Framing { hop: 0 })?;
        let alone = least_time_of(frames.bits, port.rate).ok_or(FlowError::Number)?;
        let spare = first_share.checked_sub(alone).ok_or(FlowError::Share { hop: 0 })?;
        let enforcement = match self.policing {
            Policing::Trusted => Some(Enforcement::Trust),
            Policing::Gate { tick } => {
                self.gate(port, &frames, first_share, spare, tick).map(Enforcement::Gate)
            }
            Policing::Meter { rate_step, burst_step } => {
                self.meter(port, &frames, first_share, rate_step, burst_step).map(Enforcement::Meter)
            }
        };
        enforcement.ok_or(FlowError::Number)
    }

    /// The first frame leaves the host before the rest of its message, so its delay varies by what the share has
    /// beyond the message; the last frame comes at most the share and the emission after the first.
    fn gate(&self, port: &Port, frames: &Frames, share: u64, spare: u64, tick: u64) -> Option<Gate> {
        let fixed = self.smallest_message == self.largest_message;
        let least_first = if fixed { frames.largest } else { frames.smallest };
        let sizes = time_of(frames.largest.checked_sub(least_first)?, port.rate)?;
        let tolerance = self.jitter.checked_add(spare)?.checked_add(sizes)?.checked_next_multiple_of(tick)?;
        let window = if frames.count > 1 {
            let stretch = share.checked_sub(least_time_of(least_first, port.rate)?)?;
            self.emission.checked_add(stretch)?.checked_next_multiple_of(tick)?
        } else {
            0
        };
        // A gate whose early message could meet the window of the one before needs room for that window, too.
        let early = tolerance.checked_add(window)?;
        let tolerance = if early >= self.separation { early } else { tolerance };
        Some(Gate { octets: frames.bits / 8, separation: self.separation, tolerance, window })
    }

    fn meter(
        &self,
        port: &Port,
        frames: &Frames,
        share: u64,
        rate_step: u64,
        burst_step: u64,
    ) -> Option<Meter> {
        let rate = rate_of(frames.bits, self.separation)?.checked_next_multiple_of(rate_step)?;
        let spread = self.input_spread(port, share)?;
        let jitter = match self.bundle {
            Some(_) => spread,
            None => serialised(spread, self.separation, frames.bits, frames.largest, port.rate, 0)?,
        };
        let burst = frames.bits.checked_add(bits_in(jitter, rate)?)?;
        Some(Meter { burst: burst.checked_next_multiple_of(burst_step)?, rate })
    }

    /// How far apart the frames of a message may be where they enter the first switch, measured from when the first
    /// could have come.
    pub(crate) fn input_spread(&self, port: &Port, share: u64) -> Option<u64> {
        let grown = share.checked_sub(least_time_of(self.frames(port)?.smallest, port.rate)?)?;
        self.jitter.checked_add(self.emission)?.checked_add(grown)
    }
}

/// The jitter, as in [`Arrival::Messages`](crate::port::Arrival::Messages), of messages of at most `bits` in frames of
/// at most `frame` bits, each within `spread`, that come by a link of `rate` and are queued up to `variation` later.
///
/// The end of one message and the beginning of a later one cannot both be whole within less time than the link
/// needs for them. Two partial messages have at most `rate * (time + variation) + frame` each, so that windows up to
/// `separation - (spread - message + 2 (frame + variation))` hold no more than one message, and so on.
pub(crate) fn serialised(
    spread: u64,
    separation: u64,
    bits: u64,
    frame: u64,
    rate: u64,
    variation: u64,
) -> Option<u64> {
    let message = least_time_of(bits, rate)?;
    if separation < message {
        return Some(spread);
    }
    let around = time_of(frame, rate)?.checked_add(variation)?.checked_mul(2)?;
    Some(spread.min(spread.checked_add(around)?.saturating_sub(message)))
}
