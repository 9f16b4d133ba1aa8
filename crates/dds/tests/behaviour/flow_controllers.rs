//! Writers whose datagrams pass a token bucket: what waits, what is replaced, who waits; in virtual time.
use dds::qos::{FlowController, OfferedAssurance, Publishing};
use dds::{Duration, ReturnCode};

use crate::fixture::*;

/// Room for one packet, and again for one each 800 ms.
fn slow() -> FlowController {
    FlowController::token_bucket(3_040, 304)
}

#[test]
fn of_samples_that_wait_the_newest_of_each_instance_is_sent() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| qos.flow_controller = Some(slow()));
    let reader = reader(&there, |_| {});
    desk.run(Duration::from_secs(10));
    for value in 0..50 {
        writer.write(&reading(1, value)).unwrap();
        writer.write(&reading(2, 100 + value)).unwrap();
    }
    desk.run(Duration::from_secs(20));
    let got = values(&reader);
    assert!(got.len() < 10 && got.contains(&49) && got.contains(&149), "{got:?}");
}

#[test]
fn what_waits_of_a_history_that_keeps_all_arrives_in_the_end() {
    let (mut desk, here, there) = two();
    let writer = writer(&here, |qos| {
        keep_all(qos);
        qos.flow_controller = Some(slow());
    });
    let reader = reader(&there, |_| {});
    desk.run(Duration::from_secs(10));
    desk.lose(200, 3);
    for value in 0..50 {
        writer.write(&reading(1, value)).unwrap();
    }
    desk.run(Duration::from_millis(1));
    let at_once = values(&reader).len();
    assert!(at_once < 10, "one packet at most has left, and held {at_once} samples");
    desk.run(Duration::from_secs(300));
    assert_eq!(values(&reader), (i64::try_from(at_once).unwrap()..50).collect::<Vec<_>>());
}

#[test]
fn a_synchronous_write_waits_for_tokens_and_is_refused_when_its_time_is_over() {
    let (mut desk, here, there) = two();
    let make = |blocking: Duration| {
        writer(&here, |qos| {
            qos.endpoint.reliability.max_blocking_time = blocking;
            qos.flow_controller = Some(slow().synchronous());
        })
    };
    let (patient, hasty) = (make(Duration::from_secs(30)), make(Duration::from_millis(10)));
    let reader = reader(&there, |_| {});
    desk.run(Duration::from_secs(10));
    for value in 0..10 {
        patient.write(&reading(1, value)).unwrap();
    }
    desk.run(Duration::from_secs(10));
    // None was replaced although only the last is kept: each had left before the next was written.
    assert_eq!(values(&reader), (0..10).collect::<Vec<_>>());

    let refused = (0..10).find_map(|value| hasty.write(&reading(2, value)).err()).unwrap();
    assert_eq!(refused.code, ReturnCode::Timeout);
    assert!(refused.to_string().contains("FLOW_CONTROL"), "{refused}");
    desk.run(Duration::from_secs(10));
    hasty.write(&reading(2, 77)).unwrap();
    desk.run(Duration::from_secs(10));
    assert_eq!(values(&reader).last(), Some(&77));
}

#[test]
fn controllers_that_make_no_sense_are_refused() {
    let (_desk, here, _) = two();
    let make = |controller: FlowController| {
        here.writer::<Reading>("Readings").flow_controller(controller).create().map(drop)
    };
    for wrong in [
        FlowController::token_bucket(0, 3_000),
        FlowController::token_bucket(1_000, 303),
        slow().packets_up_to(303),
        slow().packets_up_to(1_501),
    ] {
        assert_eq!(make(wrong).unwrap_err().code, ReturnCode::BadParameter, "{wrong:?}");
    }
    make(slow().packets_up_to(1_500)).unwrap();
    let both = here
        .writer::<Reading>("Readings")
        .flow_controller(slow())
        .with_qos(|qos| qos.assurance = Some(OfferedAssurance::every(millis(10))))
        .create();
    assert_eq!(both.map(drop).unwrap_err().code, ReturnCode::InconsistentPolicy);

    let writer = writer(&here, |qos| qos.flow_controller = Some(slow()));
    let mut qos = writer.get_qos();
    qos.flow_controller = Some(FlowController { publishing: Publishing::Synchronous, ..slow() });
    assert_eq!(writer.set_qos(dds::QosKind::Specific(qos)).unwrap_err().code, ReturnCode::ImmutablePolicy);
}
