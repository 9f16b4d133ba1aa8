//! Admission: samples of its topics, to those who hear them; and what the agent of a switch's gates is asked and answers.
use core::time::Duration;

use control::ResourceManager;
use control::action::{Action, Facts};
use control::config::Config;
use control::network::{Host, Link, Network, Switch};
use gate::protocol::{Answer, Counters, Refusal, Request as GateRequest};
use latency::network::{Buffer, Port};
use latency::split::Split;
use latency::switch::{Guard, Others, SwitchModel};
use wire::admission::{Contract, Measured, Report, Request, Socket, Stage, State, Verdict};
use wire::cdr::{DdsType, Encoding, Representation};
use wire::cursor::Endianness;

/// Requests that the manager under test may know.
const MOST_REQUESTS: usize = 8;

fn guid(octet: u8) -> [u8; 16] {
    [1, octet, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0, 0, 1, 2]
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
        importance: 1,
    }
}

fn request(octet: u8) -> Request {
    Request {
        writer: guid(octet),
        reader: guid(octet + 1),
        serial: 3,
        topic: "Pulse".to_owned(),
        contract: contract(),
        maximum_latency: 20_000_000,
        maximum_separation: 0,
        source: Socket { address: [10, 0, 0, 1], port: 5_000 + u16::from(octet) },
        destination: Socket { address: [10, 0, 0, 2], port: 7_411 },
        stage: Stage::Waiting,
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
        ..Verdict::default()
    };
    let measured = Measured { writer: guid(1), reader: guid(2), samples: 7, ..Measured::default() };
    let report = Report { manager: guid(9), epoch: 1, json: "{}".to_owned() };
    let requests = [1, 20, 40].map(|octet| encoded(&request(octet))).concat();
    [requests, encoded(&verdict), encoded(&measured), encoded(&report)].concat()
}
