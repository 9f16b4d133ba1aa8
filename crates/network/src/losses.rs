//! Flows of which frames may be lost: what a file asks for (docs/decisions/0016-losses.md).
use diagnostics::{Problem, Source};
use latency::framing::Framing;
use latency::network::Flow;
use latency::repair::{MOST_FRAGMENTS, MOST_FRAMES};

use crate::document;

/// The time that hosts take to react if a file does not say.
const REACTION: u64 = latency::units::MILLISECOND;

/// Frames that may be lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Losses {
    /// So many at most, between the publisher and a subscriber, in both directions,
    pub frames: u32,
    /// in so many picoseconds.
    pub within: u64,
    /// Picoseconds that a host takes at most to do what is due.
    pub reaction: u64,
    /// Whether that is so because the file does not say otherwise.
    pub reaction_by_default: bool,
}

impl Losses {
    /// What a file says of a flow.
    pub(crate) fn read(
        source: Source<'_>,
        asked: &document::Flow,
        flow: &Flow,
    ) -> Result<Option<Self>, Problem> {
        let Some(losses) = &asked.losses else { return Ok(None) };
        let wrong = |what: String, remedy: &str| Err(source.problem(losses.span().start, what, remedy));
        let losses = losses.get_ref();
        let (frames, within) = (losses.frames, losses.within.0);
        let limit = flow.subscribers.iter().map(|subscriber| subscriber.limit).max().unwrap_or(0);
        if !(1..=MOST_FRAMES).contains(&frames) {
            return wrong(
                format!("losses of {frames} frames"),
                &format!("a bound is stated for 1 to {MOST_FRAMES} lost frames"),
            );
        }
        if within < limit.saturating_mul(2) {
            return wrong(
                "losses within less than twice the limit of the flow".to_owned(),
                "a sample is late by what is lost in twice its latency: write a longer time, or a smaller limit",
            );
        }
        if !matches!(flow.framing, Framing::Rtps { .. }) || asked.bundle.is_some() {
            return wrong(
                "losses of a flow that is no reliable one of its own".to_owned(),
                "repairs need framing = \"rtps\" and no bundle",
            );
        }
        let fragments = flow.framing.frames(flow.largest_message, 0).map_or(0, |frames| frames.count);
        if fragments > MOST_FRAGMENTS {
            return wrong(
                format!("losses of a flow whose samples have {fragments} frames"),
                &format!("a bound with losses is stated for samples of {MOST_FRAGMENTS} frames at most"),
            );
        }
        if flow.subscribers.iter().any(|subscriber| subscriber.maximum_separation.is_some()) {
            return wrong(
                "losses of a flow with a subscriber's maximum-separation".to_owned(),
                "only one of them can be promised",
            );
        }
        let reaction = losses.reaction.map_or(REACTION, |time| time.0);
        let reaction_by_default = losses.reaction.is_none();
        Ok(Some(Self { frames, within, reaction, reaction_by_default }))
    }
}
