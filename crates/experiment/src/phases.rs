//! The phases of the experiment, in words, and what its last part asks for.

use crate::scale::Scale;
use crate::text::milliseconds;

pub(crate) const BEST_EFFORT: &str = "No manager is there: the port to the subscriber is one queue, first in, first out (the paper's \
    switch shared the port fairly among its inputs). A message of many frames is lost if one frame of it is.";
pub(crate) const BABBLE: &str = "The same network, and the publishers of video and ECG have gone mad: they send as fast as their links carry.";
pub(crate) const MANAGED: &str =
    "The subscribers ask for a latency, the manager admits them with a bound and programs the switch.";
pub(crate) const HELD: &str = "The hosts of video and ECG have gone mad and send with the addresses, ports and class of their own admitted \
    flows. The gates at the switch let through what was promised, and no more.";

/// A subscriber that asks for more than can be promised, as in the paper's Figure 1.
pub(crate) struct Asked {
    /// The topic.
    pub(crate) topic: &'static str,
    /// What it asks for, in words.
    pub(crate) said: String,
    /// Maximum latency, in nanoseconds.
    pub(crate) latency: u64,
    /// Most time between two messages that it accepts, in nanoseconds.
    pub(crate) separation: Option<u64>,
    /// Most time between two messages that the publisher promises, in nanoseconds.
    pub(crate) promised: u64,
}

/// Most time between two messages that the publisher promises in this part, in nanoseconds at scale 1.
const PROMISED_SEPARATION: u64 = 10_000_000;

/// One asks for messages closer together than they are sent, the other for less time than they take on the wire.
pub(crate) fn asked(scale: Scale) -> [Asked; 2] {
    let [ecg, apart, promised, video] =
        [7_500_000, 8_000_000, PROMISED_SEPARATION, 3_000_000].map(|time| scale.time(time));
    let short = |nanos: u64| {
        let text = milliseconds(nanos.cast_signed());
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    [
        Asked {
            topic: "ECG",
            said: format!(
                "ECG within {} ms, and never more than {} ms from one message to the next; its publisher promises at most {} ms",
                short(ecg),
                short(apart),
                short(promised)
            ),
            latency: ecg,
            separation: Some(apart),
            promised,
        },
        Asked {
            topic: "video",
            said: format!("video within {} ms", short(video)),
            latency: video,
            separation: None,
            promised,
        },
    ]
}

impl Asked {
    /// The network file, in which this subscriber asks for something else.
    pub(crate) fn changed(&self, network: &str) -> String {
        let mut flow = String::new();
        let mut out = String::with_capacity(network.len());
        for line in network.lines() {
            if let Some(name) = line.strip_prefix("topic = ") {
                flow = name.trim_matches('"').to_owned();
            }
            if flow == self.topic && line.starts_with("subscribers") {
                let separation = self
                    .separation
                    .map_or_else(String::new, |most| format!(", maximum-separation = \"{} ns\"", most));
                out.push_str(&format!(
                    "subscribers = [{{ host = \"display\", limit = \"{} ns\"{separation} }}]\nmaximum-separation = \"{} ns\"\n",
                    self.latency, self.promised
                ));
            } else {
                out.push_str(line);
                out.push('\n');
            }
        }
        out
    }
}
