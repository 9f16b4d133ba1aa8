//! Flow controllers on real sockets, over IPv4 and IPv6: what is larger than their packets goes in fragments, and all arrives in its order.
//!
//! When packets come is not judged here: a receiver sees when the system has brought them, and not when they left. Arrival curves are judged
//! in virtual time (`crates/rtps/tests/behaviour/shaping.rs`).
use dds::config::{Config, Family, Interfaces};
use dds::qos::{DataWriterQos, FlowController, History, Publishing};
use dds::{DdsType, Duration, Participant};
use testkit::patience::{patiently, patiently_or};

use crate::namespace::alone;

const SAMPLES: u32 = 60;
/// Bytes of the largest packet.
const PACKET: u32 = 500;

#[derive(DdsType, Clone, Debug, Default)]
struct Picture {
    number: u32,
    bytes: Vec<u8>,
}

/// Writes samples through a bucket and reads them; gives the datagrams that have taken tokens.
fn play(family: Family, publishing: Publishing) -> u64 {
    let mut config = Config::default();
    config.network.family = family;
    config.network.interfaces = Interfaces::Loopback;
    config.shared_memory.enabled = false;
    let make = || Participant::builder(0).config(config.clone()).create().unwrap();
    let (here, there) = (make(), make());
    let reader = there.reader::<Picture>("Pictures").reliable().keep_all().create().unwrap();
    let controller =
        FlowController { publishing, ..FlowController::token_bucket(4_000_000, 3_000).packets_up_to(PACKET) };
    let mut qos = DataWriterQos { flow_controller: Some(controller), ..DataWriterQos::default() };
    qos.endpoint.history = History::KeepAll;
    // However busy the machine is, no write is refused.
    qos.endpoint.reliability.max_blocking_time = Duration::from_secs(600);
    let writer = here.writer::<Picture>("Pictures").qos(qos).create().unwrap();
    patiently("a match", || (writer.get_matched_subscriptions().len() == 1).then_some(()));
    for number in 0..SAMPLES {
        writer.write(&Picture { number, bytes: vec![number as u8; 1_000] }).unwrap();
    }
    for number in 0..SAMPLES {
        let sample = patiently_or(
            || format!("sample {number} by {family:?}"),
            || reader.take_next_sample().unwrap().and_then(|sample| sample.data),
        );
        assert_eq!((sample.number, sample.bytes), (number, vec![number as u8; 1_000]));
    }
    writer.counters().unwrap().shaped
}

#[test]
fn a_bucket_cuts_samples_to_its_packets_and_loses_none() {
    alone(|| {
        for family in [Family::V4, Family::V6] {
            for publishing in [Publishing::Asynchronous, Publishing::Synchronous] {
                let shaped = play(family, publishing);
                // A packet has less than 500 bytes of a sample, and each sample more than 1,000.
                assert!(shaped >= 3 * u64::from(SAMPLES), "{shaped} datagrams by {family:?}");
            }
        }
    });
}
