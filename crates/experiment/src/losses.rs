//! Where frames were lost on their way, as far as the lab counts it: at the gates, in the queues of the port to the subscriber, and in the
//! sockets of the subscriber's host.
use gate::protocol::{Answer, ContractState, Request};
use lab::Lab;

use crate::setting::Topic;

/// The switch of the network.
const SWITCH: &str = "s1";

/// What has been counted so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counted {
    /// What the gate has counted of each topic's flow, where it has a contract.
    pub(crate) gates: Vec<Option<ContractState>>,
    /// Frames that gates stopped because too many came without a contract.
    limited: u64,
    /// Frames that found no room in a queue of the port to the subscriber.
    queues: u64,
    /// Datagrams that the subscriber's host had no room for, or that were broken.
    sockets: u64,
}

impl Counted {
    /// Counts.
    ///
    /// # Errors
    /// In words: who does not answer.
    pub(crate) fn now(lab: &Lab, topics: &[Topic]) -> Result<Self, String> {
        let failed = |error: lab::Error| error.to_string();
        let Answer::List { contracts, ports } =
            lab.gate(SWITCH).map_err(failed)?.ask(&Request::List).map_err(failed)?
        else {
            return Err("the gates of the switch do not say what they have counted".to_owned());
        };
        let of = |topic: &Topic| {
            let address = lab.host_address(&topic.publisher).ok()?;
            contracts.iter().find(|state| state.key.source == address && state.key.source_port != 0).copied()
        };
        let mut counted = Self {
            gates: topics.iter().map(of).collect(),
            limited: ports.iter().map(|port| port.others.limited).sum(),
            ..Self::default()
        };
        if let Some(topic) = topics.first() {
            if let Some(port) = lab.port(SWITCH, topic.port).map_err(failed)? {
                counted.queues = port.queues.iter().map(|queue| queue.dropped).sum();
            }
            let table = lab.on(&topic.subscriber, || std::fs::read_to_string("/proc/thread-self/net/snmp"));
            counted.sockets = datagrams_without_room(&table.map_err(failed)?.unwrap_or_default());
        }
        Ok(counted)
    }

    /// What was lost since, in words; `None` if nothing was.
    pub(crate) fn lost_since(&self, before: &Self, topics: &[Topic]) -> Option<String> {
        let mut said = Vec::new();
        for ((after, before), topic) in self.gates.iter().zip(&before.gates).zip(topics) {
            let (Some(after), Some(before)) = (after, before) else { continue };
            let (from, to) = (&before.counters, &after.counters);
            let [early, rest, cut] = [to.early - from.early, to.rest - from.rest, to.cut - from.cut]
                .map(|count| count.to_string());
            if to.dropped() > from.dropped() {
                said.push(format!(
                    "the gate stopped frames of {}: {early} that came early, {rest} behind those, {cut} too many",
                    topic.name
                ));
            }
        }
        for (after, before, what) in [
            (self.limited, before.limited, "frames without a contract were above the limit of their port"),
            (self.queues, before.queues, "frames found no room at the port to the subscriber"),
            (self.sockets, before.sockets, "datagrams found no room at the subscriber"),
        ] {
            if after > before {
                said.push(format!("{} {what}", after - before));
            }
        }
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// `InErrors` of UDP, of what the kernel's table of counters says: a line of names, and one of numbers.
fn datagrams_without_room(table: &str) -> u64 {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (Some(names), Some(numbers)) = (lines.next(), lines.next()) else { return 0 };
    let found = names.split(' ').zip(numbers.split(' ')).find(|(name, _)| *name == "InErrors");
    found.and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counters_of_kernels_are_read() {
        let table = "Tcp: A B\nTcp: 1 2\nUdp: InDatagrams NoPorts InErrors OutDatagrams\nUdp: 100 2 7 99\nUdpLite: InErrors\nUdpLite: 1\n";
        assert_eq!(datagrams_without_room(table), 7);
        assert_eq!(datagrams_without_room(""), 0);
    }
}
