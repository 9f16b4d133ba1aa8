//! How fast links are: as the network file says, or slower, as ports say that have negotiated less.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use latency::network::Port as Planned;
use latency::reserve::Edge;
use openflow::port::Port;

use super::Fabric;
use crate::network::Network;
use crate::report::CablingAlarm;

/// How much more control is looked at that may come together when links are slower: so many eighths of what the file has.
const MOST_EIGHTHS: u64 = 64;

impl Fabric {
    /// A port has this speed now: what is to be told of it, if that is something new.
    pub(crate) fn see_speed(&mut self, switch: usize, port: &Port) -> Option<Result<CablingAlarm, String>> {
        let link = self.network.link_at(switch, port.number.0)?;
        let needs = self.network.links.get(link)?.port.rate;
        let has = u64::from(port.current_speed) * 1_000;
        let is_slow = has != 0 && has < needs;
        let before = if is_slow { self.slow.insert(link, has) } else { self.slow.remove(&link) };
        match before {
            None if !is_slow => None,
            before if is_slow && before == Some(has) => None,
            _ if is_slow => Some(Ok(self.slow_alarm(link, has))),
            _ => Some(Err(self.slow_alarm(link, has).subject)),
        }
    }

    fn slow_alarm(&self, link: usize, has: u64) -> CablingAlarm {
        let found = self.network.links.get(link);
        let (node, number, needs) = found.map_or((0, 0, 0), |link| (link.from, link.number, link.port.rate));
        let subject = format!("the speed of port {number} of {}", self.network.node_name(node));
        let what = format!(
            "port {number} of {} has {has} b/s, and the network file says {needs}: flows that fit no more are revoked; is a cable broken?",
            self.network.node_name(node)
        );
        CablingAlarm { subject, what }
    }

    /// Ports that are slower than they should be.
    pub(crate) fn slow_alarms(&self) -> impl Iterator<Item = CablingAlarm> {
        self.slow.iter().map(|(link, has)| self.slow_alarm(*link, *has))
    }

    /// Whether a port of a link, at either end, is slower than it should be.
    pub(crate) fn is_slow(&self, link: usize) -> bool {
        self.slow.contains_key(&link) || self.slow.contains_key(&Network::back(link))
    }

    /// What ports are in the analysis, as fast as they are now. `None` if discovery would have no bound then.
    pub(crate) fn ports_now(&self, planned: &[Planned], domains: usize) -> Option<Vec<Planned>> {
        let mut ports = planned.to_vec();
        for (link, has) in &self.slow {
            for link in [*link, Network::back(*link)] {
                if let Some(port) = ports.get_mut(link) {
                    port.rate = port.rate.min(*has);
                }
            }
        }
        let Ok(reserved) = &self.reserved else { return Some(ports) };
        if self.slow.is_empty() {
            return Some(ports);
        }
        // Frames of discovery spend more time on the way, so that more of them come together: buckets stay as they are, and flows pay for it.
        let models: Vec<_> = self.network.switches.iter().map(|switch| &switch.model).collect();
        let links: Vec<_> = self.network.links.iter().map(|link| (link.from, link.to)).collect();
        (0..=MOST_EIGHTHS).find_map(|eighths| {
            let more = |burst: u64| burst.saturating_add(burst.saturating_mul(eighths) / 8);
            let mut ports = ports.clone();
            for control in ports.iter_mut().filter_map(|port| port.control.as_mut()) {
                control.burst = more(control.burst);
            }
            let edge =
                Edge { hosts: self.network.hosts.len(), models: &models, ports: &ports, links: &links };
            let enough = edge.reserve(domains).is_ok_and(|share| share.octets >= reserved.share.octets);
            enough.then_some(ports)
        })
    }

    /// These links are to have another rate than flows are planned with, and get no new ones until they have.
    pub(crate) fn set_changing(&mut self, links: impl Iterator<Item = usize>) {
        self.changing = links.collect();
    }
}
