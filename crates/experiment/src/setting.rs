//! What is measured: the topics of the network file, and what the plan promises for each.
use network::{Network, SwitchKind};

use crate::scale::Scale;

/// The network file of the experiment.
pub(crate) const NETWORK: &str = include_str!("../networks/midas.toml");
/// What it is called where something is wrong with it.
pub(crate) const FILE: &str = "crates/experiment/networks/midas.toml";
/// What the plan counts around a sample: its encapsulation header.
const ENCAPSULATION: u32 = 4;
const PICOSECONDS: u64 = 1_000;

/// A topic of the experiment. Times are in nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Topic {
    /// Its name, also that of its flow.
    pub(crate) name: String,
    /// The host that publishes it.
    pub(crate) publisher: String,
    /// The host that subscribes to it.
    pub(crate) subscriber: String,
    /// Bytes of a sample, serialized, without the encapsulation header.
    pub(crate) size: u32,
    /// Least time between two samples.
    pub(crate) separation: u64,
    /// Most time from the first frame of a sample in the publisher's queue to its last.
    pub(crate) emission: u64,
    /// How much longer than that the gate waits for the rest of a sample.
    pub(crate) slack: u64,
    /// The latency that the subscriber asks for.
    pub(crate) limit: u64,
    /// What the plan says: the bound, or why there is none.
    pub(crate) planned: Result<u64, String>,
    /// Bits per second of the publisher's link.
    pub(crate) rate: u64,
    /// The port of the switch that leads to the subscriber.
    pub(crate) port: u32,
}

/// The network and the topics of the experiment.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) scale: Scale,
    /// What its switch is in a lab.
    pub(crate) kind: SwitchKind,
    /// The network file.
    pub(crate) text: String,
    pub(crate) network: Network,
    pub(crate) topics: Vec<Topic>,
}

impl Setting {
    /// Reads the network file in a scale, for a switch of a kind, and plans it. The model of the switch is the same for all kinds: what the
    /// experiment allows a switch, each keeps.
    ///
    /// # Errors
    /// What is wrong with the file, in words.
    pub(crate) fn new(scale: Scale, kind: SwitchKind) -> Result<Self, String> {
        let none = |_: &std::path::Path| Err("the experiment's network file names no other".to_owned());
        let mut text = scale.network();
        if kind == SwitchKind::Bridge {
            text = text.replace("\n[[switch]]\n", "\n[[switch]]\nkind = \"bridge\"\n");
        }
        let network = Network::parse(FILE, &text, none).map_err(|problem| problem.to_string())?;
        let report = plan::plan(&network);
        let mut topics = Vec::new();
        for asked in network.flows() {
            let incomplete = || format!("{FILE}: the flow \"{}\" is not complete", asked.name);
            let host = |node: usize| network.node_name(node).map(str::to_owned).ok_or_else(incomplete);
            let subscriber = asked.subscribers.first().copied().ok_or_else(incomplete)?;
            let limit = asked.flow.subscribers.first().ok_or_else(incomplete)?.limit;
            let planned = report.flows.iter().find(|flow| flow.name == asked.name).ok_or_else(incomplete)?;
            let bound = planned.subscribers.first().and_then(|subscriber| subscriber.bound_ps);
            let link =
                network.cables().iter().find(|link| link.ends.iter().any(|end| end.node == asked.publisher));
            topics.push(Topic {
                name: asked.topic.clone(),
                publisher: host(asked.publisher)?,
                subscriber: host(subscriber)?,
                size: asked.flow.largest_message.saturating_sub(ENCAPSULATION),
                separation: asked.flow.separation / PICOSECONDS,
                emission: asked.flow.emission / PICOSECONDS,
                slack: asked.flow.slack / PICOSECONDS,
                limit: limit / PICOSECONDS,
                // A picosecond less would be claimed than promised: rounded up.
                planned: bound
                    .map(|bound| bound.div_ceil(PICOSECONDS))
                    .ok_or_else(|| planned.reason.clone().unwrap_or_else(|| "refused".to_owned())),
                rate: link.map_or(0, |link| link.rate),
                port: port_to(&network, subscriber),
            });
        }
        Ok(Self { scale, kind, text, network, topics })
    }
}

/// The port of a switch that leads to a host; 0 if there is none.
fn port_to(network: &Network, host: usize) -> u32 {
    let mut ends =
        network.cables().iter().map(|link| link.ends).flat_map(|[one, other]| [(one, other), (other, one)]);
    ends.find(|(end, _)| end.node == host).map_or(0, |(_, switch)| switch.port)
}

impl Topic {
    /// Nanoseconds that a sample occupies the publisher's link, at least.
    pub(crate) fn wire_time(&self) -> u64 {
        u64::from(self.size) * 8_000_000_000 / self.rate.max(1)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Table II of the paper: bytes, and milliseconds of separation and of maximum latency.
    const TABLE_TWO: [(u32, u64, u64); 3] = [(192_192, 3, 2), (96_000, 3, 3), (64_000, 11, 8)];

    #[test]
    fn the_topics_are_those_of_the_paper_scaled() {
        for (scale, times) in Scale::ALL.into_iter().zip([2_500_000, 5_000_000, 25_000_000]) {
            let setting = Setting::new(scale, SwitchKind::default()).unwrap();
            assert_eq!(setting.topics.len(), TABLE_TWO.len());
            for (topic, (size, separation, limit)) in setting.topics.iter().zip(TABLE_TWO) {
                assert_eq!(topic.size, size / 4);
                assert_eq!((topic.separation, topic.limit), (separation * times, limit * times));
                assert_eq!((topic.rate * times, topic.port), (250_000_000_000_000, 4));
            }
        }
    }

    #[test]
    fn the_switch_is_of_the_kind_that_is_asked_for_and_promises_the_same() {
        let [usual, bridge] = [SwitchKind::OpenVswitch, SwitchKind::Bridge]
            .map(|kind| Setting::new(Scale::ALL[0], kind).unwrap());
        let kinds =
            |setting: &Setting| setting.network.switches().iter().map(|one| one.made).collect::<Vec<_>>();
        assert_eq!(
            (kinds(&usual), kinds(&bridge)),
            (vec![SwitchKind::OpenVswitch], vec![SwitchKind::Bridge])
        );
        assert_eq!(usual.topics, bridge.topics);
    }

    #[test]
    fn the_plan_promises_all_topics() {
        for topic in Scale::ALL
            .into_iter()
            .flat_map(|scale| Setting::new(scale, SwitchKind::default()).unwrap().topics)
        {
            let bound = topic.planned.clone().unwrap();
            assert!(topic.wire_time() < bound && bound <= topic.limit, "{}: {bound}", topic.name);
        }
    }
    #[test]
    fn the_busy_network_has_the_same_flows_and_promises_all() {
        let text = include_str!("../networks/busy.toml");
        let busy = Network::parse("busy.toml", text, |_| Err(String::new())).unwrap();
        let usual = Setting::new(Scale::ALL[0], SwitchKind::default()).unwrap().network;
        let flows = |network: &Network| -> Vec<_> {
            let shape = |asked: &network::Asked| {
                (asked.name.clone(), asked.flow.largest_message, asked.flow.separation)
            };
            network.flows().iter().map(shape).collect()
        };
        assert_eq!(flows(&busy), flows(&usual));
        assert!(plan::plan(&busy).flows.iter().all(|flow| flow.admitted));
    }
}
