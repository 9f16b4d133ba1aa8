//! Whether a request with losses is in itself what can be asked, and about what is announced.
use alloc::format;
use alloc::string::String;

use latency::repair::MOST_FRAGMENTS;
use wire::admission::{Address, Losses, OfferedRepairs, Request, RequestedLosses, Socket};

use crate::action::Facts;

/// Checks what a request says of losses.
///
/// # Errors
/// The reason why the request cannot be served, for people.
pub(super) fn check(request: &Request, losses: &Losses, facts: &Facts) -> Result<(), String> {
    if request.maximum_separation > 0 {
        return Err("a bound with losses is not stated together with a maximum separation".into());
    }
    if losses.within / 2 < request.maximum_latency {
        return Err("the time in which frames may be lost must be at least twice the maximum latency".into());
    }
    if losses.kept < request.maximum_latency {
        return Err(format!(
            "the writer can repeat a sample for {} us only, and the maximum latency is {} us: it needs a longer history",
            losses.kept / 1_000,
            request.maximum_latency.div_ceil(1_000)
        ));
    }
    let apart =
        losses.repairs.port != request.source.port && losses.questions.port != request.destination.port;
    let there = |socket: Socket, address: Address| socket.port > 0 && socket.address == address;
    let is_whole = there(losses.repairs, request.source.address)
        && there(losses.questions, request.destination.address)
        && there(losses.answered_at, request.source.address);
    if !is_whole || !apart {
        return Err("repairs and questions need sockets of their own at the addresses of the flow".into());
    }
    let said = OfferedRepairs { source: losses.repairs, kept: losses.kept };
    if facts.contract.is_some() && facts.repairs != Some(said) {
        return Err("the request is not about the repairs that the writer has announced: ask again".into());
    }
    let said = RequestedLosses { frames: losses.frames, within: losses.within, source: losses.questions };
    if facts.maximum_latency.is_some() && facts.losses != Some(said) {
        return Err("the request is not about the losses that the reader has announced: ask again".into());
    }
    Ok(())
}

/// Whether samples of this many frames can be asked for at once.
///
/// # Errors
/// They cannot, for people.
pub(super) fn check_frames(frames: u64) -> Result<(), String> {
    if frames <= MOST_FRAGMENTS {
        return Ok(());
    }
    Err(format!(
        "its samples have {frames} frames, and a bound with losses is stated for {MOST_FRAGMENTS} at most"
    ))
}
