//! Answers of etcd to a manager, and messages of a controller to the agent of a bridge.
use core::time::Duration;

use bridge::datapath::{DataPath, Found};
use bridge::switch::Switch;
use bridge::tables::{MOST_FLOWS, MOST_GROUPS, Tables};
use bridge::translate::{Ports, translate};
use openflow::channel::{Channel, Config, Event};
use openflow::flow::FlowMod;
use openflow::hello::Hello;
use openflow::matching::Match;
use openflow::multipart::PortStats;
use openflow::port::Port;
use openflow::words::PortNo;
use openflow::{Message, Xid};
use system::Error;

use super::switches::{encoded, messages};

/// Answers of etcd: to a range, to transactions, a lease, an error of a stream.
pub(super) fn answers() -> Vec<Vec<u8>> {
    [
        r#"{"header":{"revision":"7"},"kvs":[{"key":"YQ==","create_revision":"5","value":"Yg=="}],"count":"1"}"#,
        r#"{"succeeded":true,"responses":[{"response_range":{"kvs":[{"key":"YQ==","create_revision":"5","value":"Yg=="},{"key":"Yg=="}]}},{"response_put":{}}]}"#,
        r#"{"header":{"revision":"8"},"ID":"7587848943239472601","TTL":"2"}"#,
        r#"{"error":{"grpc_code":5,"http_code":404,"message":"lease not found"}}"#,
    ]
    .map(|text| text.as_bytes().to_vec())
    .into()
}

/// Reads an answer of etcd: no more entries than there are bytes, or it is said what is wrong, in short.
pub fn etcd_answer(bytes: &[u8]) {
    match store::read_answer(bytes) {
        Ok(entries) => assert!(entries <= bytes.len(), "{entries} entries in {} bytes", bytes.len()),
        Err(error) => assert!(!error.is_empty() && error.len() < 4_000, "{} bytes", error.len()),
    }
}

/// A bridge without a kernel: rules are made of the tables, and not set.
struct Rules(Ports);

impl DataPath for Rules {
    fn ports(&mut self) -> Vec<Port> {
        Vec::new()
    }

    fn counted(&mut self, _: PortNo) -> Vec<PortStats> {
        Vec::new()
    }

    fn apply(&mut self, tables: &Tables) -> Result<(), Error> {
        drop(translate(tables, &self.0, 6_653));
        Ok(())
    }

    fn read(&mut self, _: &Tables) -> Result<Found, Error> {
        Ok(Found::default())
    }

    fn send(&mut self, _: u32, _: &[u8]) -> Result<(), Error> {
        Ok(())
    }
}

/// Messages of controllers.
pub(super) fn orders() -> Vec<Vec<u8>> {
    let add = Message::FlowMod(FlowMod::add(1, Match::new(), Vec::new()));
    let said = messages().into_iter().chain([add, Message::BarrierRequest]);
    let said: Vec<Vec<u8>> = said.zip(10..).map(|(message, xid)| encoded(xid, &message)).collect();
    vec![said.concat(), said.iter().rev().flatten().copied().collect()]
}

/// A controller is there and says this to a fresh agent: what the agent keeps is within its limits, and rules can be made of it.
pub fn bridge_orders(bytes: &[u8]) {
    const CONTROLLER: u64 = 1;
    let ports = (1..=2).map(|port| (port, format!("eth{port}"))).collect();
    let mut agent = Switch::new(1, Rules(ports));
    let mut channel = Channel::new(Config::switch(), Duration::ZERO);
    agent.connected(CONTROLLER);
    channel.handle_input(Duration::ZERO, &encoded(1, &Message::Hello(Hello::ours())));
    channel.handle_input(Duration::ZERO, bytes);
    let now = Duration::from_secs(1);
    while let Some(event) = channel.poll_event() {
        let heard: Option<(Xid, Message)> = match event {
            Event::Message { xid, message } => Some((xid, message)),
            _ => None,
        };
        if let Some((xid, message)) = heard {
            agent.hear(CONTROLLER, xid, &message, now);
        }
    }
    agent.settle();
    agent.tick(Duration::from_secs(3_600));
    let (said, tables) = (agent.take_said(), agent.tables());
    assert!(tables.entries().count() <= MOST_FLOWS && tables.groups().count() <= MOST_GROUPS);
    assert!(said.len() <= 64 + bytes.len(), "{} answers to {} bytes", said.len(), bytes.len());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_right() {
        let read: Vec<Option<usize>> =
            answers().iter().map(|answer| store::read_answer(answer).ok()).collect();
        assert_eq!(read, [Some(1), Some(2), Some(0), None]);
        for seed in orders() {
            bridge_orders(&seed);
        }
    }
}
