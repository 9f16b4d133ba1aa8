//! Programs that use Zenoh, as `zenoh-plugin-dds` does: serialized samples under the key of the topic, without attachment.
use std::sync::mpsc;
use std::time::Duration;

use testkit::namespace::alone;
use testkit::patience::patiently;
use zenoh::Wait as _;

use crate::plant::{Joint, angles, bridge, participant, take};

/// As the plugin configures it: by name, without multicast.
fn session(port: u16) -> zenoh::Session {
    let config = format!(
        r#"{{ mode: "client", connect: {{ endpoints: ["tcp/127.0.0.1:{port}"], timeout_ms: 60000, exit_on_failure: true }}, scouting: {{ multicast: {{ enabled: false }} }} }}"#
    );
    let config = zenoh::Config::from_json5(&config).unwrap();
    patiently("a session", || zenoh::open(config.clone()).wait().ok())
}

/// A joint in XCDR version 1, little-endian.
fn joint(arm: u32, angle: i32) -> Vec<u8> {
    let mut bytes = vec![0, 1, 0, 0];
    bytes.extend(arm.to_le_bytes());
    bytes.extend(angle.to_le_bytes());
    bytes
}

#[test]
fn samples_of_other_programs_are_written_and_they_get_ours() {
    alone(|| {
        let _bridge = bridge(11, &["--listen", "tcp/127.0.0.1:7447", "--scope", "plant"]);
        let session = session(7447);
        let (put, got) = mpsc::channel();
        let _all = session
            .declare_subscriber("plant/arm/out")
            .callback(move |sample| drop(put.send(sample.payload().to_bytes().into_owned())))
            .wait()
            .unwrap();
        let here = participant(11);
        let writer = here.writer::<Joint>("arm/out").reliable().create().unwrap();
        patiently("the bridge as a reader", || {
            (!writer.get_matched_subscriptions().is_empty()).then_some(())
        });
        writer.write(&Joint { arm: 3, angle: 5 }).unwrap();
        assert_eq!(got.recv_timeout(Duration::from_secs(60)).unwrap(), joint(3, 5));
        // What is no sample of a bridge ends no bridge.
        writer.dispose(&Joint { arm: 3, angle: 0 }).unwrap();

        let reader = here.reader::<Joint>("arm/in").reliable().keep_all().create().unwrap();
        let publisher = session.declare_publisher("plant/arm/in").wait().unwrap();
        patiently("the bridge as a subscriber", || {
            publisher.matching_status().wait().is_ok_and(|status| status.matching()).then_some(())
        });
        publisher.put(vec![1_u8]).wait().unwrap();
        publisher.put(joint(1, 8)).attachment("not of a bridge").wait().unwrap();
        publisher.put(joint(2, 9)).wait().unwrap();
        let mut came = Vec::new();
        take(&reader, &mut came, |came| came.len() >= 2);
        assert_eq!(angles(&came), [8, 9]);
        // It does not come back.
        assert!(got.try_recv().is_err());
    });
}

#[test]
fn a_plain_question_for_what_is_kept_is_answered_and_ends_nothing() {
    alone(|| {
        let _bridge = bridge(11, &["--listen", "tcp/127.0.0.1:7447"]);
        let session = session(7447);
        let (put, got) = mpsc::channel();
        let _all = session
            .declare_subscriber("state")
            .callback(move |sample| drop(put.send(sample.payload().to_bytes().into_owned())))
            .wait()
            .unwrap();
        let here = participant(11);
        let writer =
            here.writer::<Joint>("state").reliable().keep_last(1).transient_local().create().unwrap();
        writer.write(&Joint { arm: 3, angle: 5 }).unwrap();
        assert_eq!(got.recv_timeout(Duration::from_secs(60)).unwrap(), joint(3, 5));
        // As `z_get` asks: answers under other keys than the one that is asked for are not taken.
        patiently("an answer", || {
            let (put, answers) = mpsc::channel();
            session
                .get("state/@dds_pub_cache/*")
                .callback(move |reply| {
                    if let Ok(sample) = reply.result() {
                        drop(put.send(sample.payload().to_bytes().into_owned()));
                    }
                })
                .wait()
                .unwrap();
            // The end of all answers ends this, too.
            answers.recv().ok().filter(|bytes| *bytes == joint(3, 5)).map(drop)
        });
        writer.write(&Joint { arm: 3, angle: 6 }).unwrap();
        assert_eq!(got.recv_timeout(Duration::from_secs(60)).unwrap(), joint(3, 6));
    });
}
