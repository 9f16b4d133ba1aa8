//! A switch without gates: its OpenFlow meters hold flows to their contracts, as token buckets that promise less.
use std::time::Duration;

use dds::assurance::{PairAssurance, State};

use crate::MILLISECOND;
use crate::ward::{NETWORK, Reader, Ward, Writer, patiently, with_gates, with_meters};

const OCTETS: usize = 20_000;
const SAMPLES: usize = 20;

/// The network with one more host.
fn gated() -> String {
    with_gates(&format!(
        "{NETWORK}[[host]]\nname = \"recorder\"\n[[link]]\nends = [\"recorder\", \"s1:4\"]\n"
    ))
}

/// The same with meters in place of gates.
fn metered() -> String {
    with_meters(&gated())
}

fn decided(reader: &Reader) -> PairAssurance {
    patiently("the verdict", || {
        reader.pairs().into_iter().find(|pair| matches!(pair.state, State::Admitted | State::Refused))
    })
}

/// The network with a flow that has hardly more time than it needs, so that nothing goes before it.
fn busy(network: &str) -> (Ward, (Writer, Reader)) {
    let ward = Ward::of(network);
    let other = ward.writer("recorder", "Other", OCTETS, 10 * MILLISECOND);
    let reader = ward.best_effort_reader("display", "Other", 2_600_000);
    let pair = decided(&reader);
    assert_eq!(pair.state, State::Admitted, "{}", pair.reason);
    (ward, (other, reader))
}

/// The least latency that the network would promise to one more.
fn least(network: &str) -> i64 {
    let (ward, _other) = busy(network);
    let _writer = ward.writer("camera", "Picture", OCTETS, 10 * MILLISECOND);
    let reader = ward.best_effort_reader("display", "Picture", 100_000);
    let pair = decided(&reader);
    assert_eq!(pair.state, State::Refused, "{pair:?}");
    pair.offered_latency.unwrap().as_nanos()
}

#[test]
fn meters_let_all_pass_that_keeps_the_contract_and_what_their_buckets_cannot_hold_is_refused() {
    let Some(_turn) = lab_turn::turn() else { return };
    let (gated, bucket) = (least(&gated()), least(&metered()));
    assert!(gated < bucket, "{gated} with gates, {bucket} with meters");
    let (ward, other) = busy(&metered());
    let writer = ward.writer("camera", "Picture", OCTETS, 10 * MILLISECOND);
    let hasty = ward.best_effort_reader("display", "Picture", i64::midpoint(gated, bucket));
    let pair = decided(&hasty);
    assert_eq!(pair.state, State::Refused, "{pair:?}");
    assert!(pair.reason.contains("s1 has meters"), "{pair:?}");
    assert_eq!((ward.flow_entries(), ward.meters().len()), (1, 1));
    drop((hasty, other));
    patiently("the end of the other flow", || {
        (ward.flow_entries() == 0 && ward.meters().is_empty()).then_some(())
    });

    let reader = ward.reader("display", "Picture", bucket + MILLISECOND);
    let pair = decided(&reader);
    assert_eq!(pair.state, State::Admitted, "{}", pair.reason);
    patiently("the writer's match", || (writer.matched() == 1).then_some(()));
    assert_eq!((ward.flow_entries(), ward.meters().len()), (1, 1));
    let mut received = 0;
    for _ in 0..SAMPLES {
        writer.write();
        // Ten times what the contract asks for: no pause of the machine puts two into the time of one.
        std::thread::sleep(Duration::from_millis(100));
        received += reader.take();
    }
    patiently("the samples", || {
        received += reader.take();
        (received == SAMPLES).then_some(())
    });
    let [(frames, dropped)] = ward.meters()[..] else { panic!("{:?}", ward.meters()) };
    // Fourteen frames are a sample.
    assert!(frames >= 14 * SAMPLES as u64 && dropped == 0, "{frames} frames, {dropped} dropped");
    drop(reader);
    patiently("the end of the flow", || (ward.flow_entries() == 0 && ward.meters().is_empty()).then_some(()));
}
