//! Admission: samples of its topics, to those who hear them; and what the agent of a switch's gates is asked and answers.
use core::time::Duration;
use std::collections::BTreeSet;

use control::ResourceManager;
use control::action::{Action, Done, Facts, GatesContent, SwitchContent, SwitchReport};
use control::config::Config;
use control::network::{Host, Link, Network, Switch};
use gate::protocol::{
    Answer, ContractState, Counters, Others as OtherFrames, PortState as GatedPort, Refusal,
    Request as GateRequest,
};
use latency::network::{Buffer, Port};
use latency::split::Split;
use latency::switch::{Guard, Interface, Others, SwitchModel};
use openflow::multipart::GroupFeatures;
use openflow::port::{PortConfig, PortFeatures, PortState};
use openflow::switch::{Capabilities, Features};
use openflow::words::PortNo;
use wire::admission::{Contract, Losses, Measured, Repairs, Report, Request, Socket, Stage, State, Verdict};
use wire::cdr::{DdsType, Encoding, Representation};
use wire::cursor::Endianness;

/// Requests that the manager under test may know.
const MOST_REQUESTS: usize = 8;

fn guid(number: u8) -> [u8; 16] {
    [1, number, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 1, 2]
}

fn contract() -> Contract {
    Contract {
        largest_message: 1_000,
        smallest_message: 100,
        datagram: 1_472,
        minimum_separation: 5_000_000,
        maximum_separation: 10_000_000,
        jitter: 100_000,
        emission: 200_000,
        slack: 0,
        importance: 1,
    }
}

fn request(number: u8) -> Request {
    Request {
        writer: guid(number),
        reader: guid(number + 1),
        serial: 3,
        topic: "Pulse".to_owned(),
        contract: contract(),
        maximum_latency: 20_000_000,
        maximum_separation: 0,
        source: Socket { address: [10, 0, 0, 1].into(), port: 5_000 + u16::from(number) },
        destination: Socket { address: [10, 0, 0, 2].into(), port: 7_411 },
        stage: Stage::Waiting,
        manager: [0; 16],
        losses: Losses {
            frames: number % 6,
            repairs: Socket { address: [10, 0, 0, 1].into(), port: 6_000 + u16::from(number) },
            questions: Socket { address: [10, 0, 0, 2].into(), port: 6_000 + u16::from(number) },
            answered_at: Socket { address: [10, 0, 0, 1].into(), port: 7_411 },
            within: 1_000_000_000,
            kept: u64::MAX,
        },
    }
}

fn encoded<T: DdsType>(sample: &T) -> Vec<Vec<u8>> {
    let each = [Representation::Xcdr1, Representation::Xcdr2].into_iter().flat_map(|representation| {
        [Endianness::Little, Endianness::Big].map(|endianness| Encoding { representation, endianness })
    });
    each.filter_map(|encoding| {
        let mut out = Vec::new();
        sample.encode_payload(encoding, &mut out).ok().map(|()| out)
    })
    .collect()
}

/// A sample of each topic in each encoding.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let verdict = Verdict {
        writer: guid(1),
        reader: guid(2),
        serial: 3,
        epoch: 1,
        state: State::Admitted,
        bound: 5_000_000,
        lease: 6_000_000_000,
        source: request(1).source,
        destination: request(1).destination,
        dscp: 46,
        octets: 1_200,
        separation: 5_000_000,
        reason: "none".to_owned(),
        losses: Repairs { frames: 2, spacing: 1_000_000, ..Repairs::default() },
        ..Verdict::default()
    };
    let measured = Measured { writer: guid(1), reader: guid(2), samples: 7, ..Measured::default() };
    let report = Report { manager: guid(9), epoch: 1, json: "{}".to_owned() };
    let requests = [1, 20, 40].map(|number| encoded(&request(number))).concat();
    [requests, encoded(&verdict), encoded(&measured), encoded(&report)].concat()
}

/// A switch with gates, and two hosts.
fn network() -> Option<Network> {
    let model = SwitchModel {
        ports: 4,
        queues: 4,
        rate: 100_000_000,
        buffer: Buffer::Shared(400_000),
        pooled: false,
        cell: 1,
        interface: Interface::default(),
        guard: Guard::Gates { count: Some(4), tick: 1_000 },
        least_multiplexing: 0,
        most_multiplexing: 50_000_000,
        keeps_order: true,
        overhead: 0,
        preemption: false,
        mtu: 1_500,
    };
    let port = model.port(model.rate, 0, Others { best_effort: true, control: None }).ok()?;
    let host = |number: u8| Host {
        name: format!("h{number}"),
        addresses: vec![[10, 0, 0, number].into()],
        mac: None,
        vlans: Vec::new(),
    };
    let link = |from, to, number| Link { from, to, number, port: Port { ..port } };
    Some(Network {
        hosts: vec![host(1), host(2)],
        switches: vec![Switch { name: "s".to_owned(), datapath: 1, model }],
        links: vec![link(0, 2, 0), link(2, 0, 1), link(1, 2, 0), link(2, 1, 2)],
        split: Split::Load,
        full: BTreeSet::new(),
    })
}

/// A manager whose switch and gates do whatever they are told.
struct Managed {
    manager: ResourceManager,
    now: Duration,
}

impl Managed {
    /// `None` if the network makes no sense.
    fn new() -> Option<Self> {
        // The switch of this target keeps nothing that could be read back.
        let inspection = Duration::ZERO;
        let losses = Some(Duration::from_micros(100));
        let config = Config { most_requests: MOST_REQUESTS, inspection, losses, ..Config::default() };
        let network = network()?;
        let ports = network.links.iter().filter(|link| link.number > 0).map(|link| port(link.number));
        let ports = ports.collect();
        let manager = ResourceManager::new(config, network, 1).ok()?;
        let mut managed = Self { manager, now: Duration::ZERO };
        let features = Features {
            datapath_id: 1,
            buffers: 0,
            tables: 254,
            auxiliary_id: 0,
            capabilities: Capabilities(0),
        };
        let groups =
            GroupFeatures { types: 15, capabilities: 7, max_groups: [u32::MAX; 4], actions: [u32::MAX; 4] };
        let report = SwitchReport { features, ports, meters: None, groups: Some(groups), queues: Vec::new() };
        let up = managed.manager.switch_up(Duration::ZERO, &report);
        assert!(up.is_ok(), "the switch is right: {up:?}");
        let up = managed.manager.gates_up(Duration::ZERO, 1, None);
        assert!(up.is_ok(), "its gates are right: {up:?}");
        managed.settle();
        Some(managed)
    }

    fn settle(&mut self) {
        let Self { manager, now } = self;
        while let Some(action) = manager.poll_action() {
            let gives_up = matches!(action, Action::Disconnect { .. });
            assert!(!gives_up, "the switch has done all it was told");
            match action {
                Action::Install { token, .. } | Action::Gate { token, .. } => {
                    manager.installed(*now, token, Done::Confirmed);
                }
                Action::Read { token, .. } => manager.has_read(*now, token, Ok(SwitchContent::default())),
                Action::Store { token, .. } => manager.stored(*now, token, Done::Confirmed),
                Action::Publish { token, verdict } => {
                    assert!(verdict.reason.len() <= wire::admission::MOST_TEXT);
                    assert_eq!(verdict.state == State::Admitted, verdict.bound > 0, "{verdict:?}");
                    if let Some(token) = token {
                        manager.announced(*now, token);
                    }
                }
                Action::ReadGates { token, .. } => {
                    manager.has_read_gates(*now, token, Ok(GatesContent::default()))
                }
                Action::Send { .. } | Action::Dispose(_) | Action::Disconnect { .. } => {}
            }
        }
    }

    fn hear(&mut self, payload: &[u8]) {
        self.now += Duration::from_millis(100);
        let Self { manager, now } = self;
        if let Ok(request) = Request::decode_payload(payload) {
            // Some of them are wanted no longer.
            if request.serial.is_multiple_of(8) {
                manager.withdraw(*now, request.pair());
            } else {
                manager.request(*now, request, Facts::default());
            }
        }
        if let Ok(measured) = Measured::decode_payload(payload) {
            manager.measured(&measured);
        }
        self.settle();
        self.manager.handle_timeout(self.now);
        self.settle();
        let report = self.manager.report();
        assert!(report.pairs.len() <= MOST_REQUESTS);
        assert!(report.pairs.iter().all(|pair| pair.present <= pair.promised), "{report:?}");
        assert_eq!(self.manager.audit(), Ok(()));
    }
}

fn port(number: u32) -> openflow::port::Port {
    openflow::port::Port {
        number: PortNo(number),
        address: [2, 0, 0, 0, 0, 1],
        raw_name: [0; 16],
        config: PortConfig::NONE,
        state: PortState::NONE,
        current: PortFeatures::NONE,
        advertised: PortFeatures::NONE,
        supported: PortFeatures::NONE,
        peer: PortFeatures::NONE,
        // As the network says, in kilobits per second.
        current_speed: 100_000,
        max_speed: 100_000,
    }
}

/// Reads a payload as a sample of each topic, and tells a manager what came.
pub(super) fn session() -> impl FnMut(&[u8]) {
    let mut managed = Managed::new();
    move |payload| {
        super::cdr::sample::<Request>(payload);
        super::cdr::sample::<Verdict>(payload);
        super::cdr::sample::<Measured>(payload);
        super::cdr::sample::<Report>(payload);
        assert!(managed.is_some(), "the network makes no sense");
        if let Some(managed) = &mut managed {
            managed.hear(payload);
        }
    }
}

/// Runs a payload as one input of [`super::ADMISSION_SAMPLE`].
pub fn admission_sample(payload: &[u8]) {
    session()(payload);
}

fn gate_contract() -> gate::Contract {
    gate::Contract {
        kind: gate::Kind::Messages,
        octets: 5_064,
        separation: 5_000_000,
        tolerance: 0,
        window: 600_000,
        dscp: 26,
    }
}

fn gate_key() -> gate::Key {
    gate::Key {
        source: [10, 1, 0, 1].into(),
        source_port: 7_413,
        destination: [239, 255, 0, 9].into(),
        destination_port: 7_401,
    }
}

/// Every request and every answer, as a line each.
pub(super) fn line_seeds() -> Vec<Vec<u8>> {
    let (key, contract, port) = (gate_key(), gate_contract(), 1);
    let bucket = gate::Contract { kind: gate::Kind::Bucket, window: 0, dscp: 48, ..contract };
    let requests = [
        GateRequest::Version,
        GateRequest::Lead { epoch: u64::MAX },
        GateRequest::Set { port, key, contract },
        GateRequest::Set { port, key: gate::Key::metatraffic(1).unwrap_or(key), contract: bucket },
        GateRequest::Remove { port, key },
        GateRequest::Clear,
        GateRequest::List,
        GateRequest::Limit { port, frames: 5_000 },
    ];
    let state = ContractState { port, key, contract, counters: Counters::default() };
    let ports = GatedPort { port, interface: "p1".to_owned(), limit: 9, others: OtherFrames::default() };
    let answers = [
        Answer::Version { version: 2 },
        Answer::Set { port, key, contract },
        Answer::Removed { port, key, counters: Some(Counters::default()) },
        Answer::Cleared { contracts: 2 },
        Answer::List { ports: vec![ports], contracts: vec![state, state] },
        Answer::Limit { port, frames: 7 },
        Answer::Refused { reason: Refusal::Range, what: "a \"number\"\n".to_owned() },
    ];
    let requests = requests.iter().map(|request| serde_json::to_vec(request).unwrap_or_default());
    requests.chain(answers.iter().map(|answer| serde_json::to_vec(answer).unwrap_or_default())).collect()
}

/// Reads a line as the agent of gates does, and as the manager reads its answer. What is read is written, and read again as the
/// same, and a contract that passes the checks does in the gate what it may.
pub fn gate_line(line: &[u8]) {
    if let Ok(request) = serde_json::from_slice::<GateRequest>(line) {
        let again = serde_json::to_vec(&request).unwrap_or_default();
        assert_eq!(serde_json::from_slice::<GateRequest>(&again).ok(), Some(request));
        if let (Ok(()), GateRequest::Set { contract, .. }) = (request.check(), request) {
            drive(contract);
        }
    }
    if let Ok(answer) = serde_json::from_slice::<Answer>(line) {
        let again = serde_json::to_vec(&answer).unwrap_or_default();
        assert_eq!(serde_json::from_slice::<Answer>(&again).ok(), Some(answer));
    }
}

/// Full messages as early as the gate allows, and one too early.
fn drive(contract: gate::Contract) {
    let mut gate = gate::machine::Gate::new(contract);
    let mut passed = 0;
    let (first, mut last) = (gate.next_opening(), 0);
    for _ in 0..4 {
        last = gate.next_opening();
        assert!(gate.judge(last, contract.octets).passes(), "{contract:?}");
        passed += u64::from(contract.octets);
        let more = gate.judge(last, contract.octets).passes();
        passed += if more { u64::from(contract.octets) } else { 0 };
    }
    assert!(passed <= contract.most_in(last - first), "{contract:?}: {passed} bytes in {} ns", last - first);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_what_it_should_be() {
        assert_eq!(seeds().len(), 4 * 6);
        for line in line_seeds() {
            let read = serde_json::from_slice::<GateRequest>(&line).is_ok()
                || serde_json::from_slice::<Answer>(&line).is_ok();
            assert!(read, "{}", String::from_utf8_lossy(&line));
        }
    }

    #[test]
    fn the_manager_admits_what_it_should() {
        // Three without losses, and one with a lost frame, which takes as many gates.
        for (asked, admitted) in [(&[6, 12, 18][..], 3), (&[1], 1)] {
            let mut managed = Managed::new().unwrap();
            asked.iter().flat_map(|number| encoded(&request(*number))).for_each(|seed| managed.hear(&seed));
            let report = managed.manager.report();
            let found = report.pairs.iter().filter(|pair| pair.state == "admitted").count();
            assert_eq!(found, admitted, "{report:?}");
        }
    }
}
