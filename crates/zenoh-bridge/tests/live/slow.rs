//! A site whose connection takes nothing, and others that do.
use dds::prelude::*;
use dds::{ReturnCode, States};
use testkit::namespace::alone;
use testkit::patience::patiently;

use crate::gate::Gate;
use crate::plant::{Joint, angles, bridge, participant, take};

#[derive(DdsType, Clone, PartialEq, Debug, Default)]
struct Picture {
    number: u32,
    bytes: Vec<u8>,
}

#[test]
fn a_site_whose_connection_is_stuck_holds_up_its_own_topics_alone() {
    alone(|| {
        // What the kernel takes of a connection that is stuck is soon full.
        for memory in ["tcp_rmem", "tcp_wmem"] {
            std::fs::write(format!("/proc/sys/net/ipv4/{memory}"), "4096 16384 65536").unwrap();
        }
        // Nothing is lost by itself as long as this test runs.
        let detect = |more: [&'static str; 2]| [more[0], more[1], "--detect", "600"];
        let _first = bridge(11, &detect(["--listen", "tcp/127.0.0.1:7447"]));
        let gate = Gate::open(7450, 7447);
        let _stuck = bridge(12, &detect(["--connect", "tcp/127.0.0.1:7450"]));
        let _free = bridge(13, &detect(["--connect", "tcp/127.0.0.1:7447"]));
        let (here, there, elsewhere) = (participant(11), participant(12), participant(13));
        let pictures = here
            .writer::<Picture>("pictures")
            .reliable()
            .keep_all()
            .with_qos(|qos| qos.endpoint.resource_limits.max_samples = Some(32))
            .create()
            .unwrap();
        let screen = there.reader::<Picture>("pictures").reliable().keep_all().create().unwrap();
        let joints = here.writer::<Joint>("joints").reliable().keep_all().create().unwrap();
        let arm = elsewhere.reader::<Joint>("joints").reliable().keep_all().create().unwrap();
        let mut seen: Vec<u32> = Vec::new();
        let look = |seen: &mut Vec<u32>| {
            let samples = screen.take(usize::MAX, States::ANY).unwrap();
            seen.extend(samples.iter().filter_map(|sample| sample.data.as_ref().map(|data| data.number)));
        };
        // Both ways are there.
        let mut next = 0;
        patiently("a picture", || {
            let picture = Picture { number: next, bytes: vec![7; 8_000] };
            next += u32::from(pictures.write(&picture).is_ok());
            look(&mut seen);
            (!seen.is_empty()).then_some(())
        });
        let mut came = Vec::new();
        patiently("a joint", || {
            joints.write(&Joint { arm: 1, angle: -1 }).unwrap();
            take(&arm, &mut came, |_| true);
            (!came.is_empty()).then_some(())
        });
        let first = seen[0];
        gate.stick(true);
        // The writer waits in the end, as RELIABLE and KEEP_ALL mean it.
        let error = loop {
            assert!(next < 20_000, "nothing holds up the writer");
            match pictures.write(&Picture { number: next, bytes: vec![7; 8_000] }) {
                Ok(_) => next += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.code, ReturnCode::Timeout, "{error}");
        for angle in 0..200 {
            joints.write(&Joint { arm: 1, angle }).unwrap();
        }
        came.clear();
        take(&arm, &mut came, |came| angles(came).last() == Some(&199));
        let flowed: Vec<i32> = angles(&came).into_iter().filter(|angle| *angle >= 0).collect();
        assert_eq!(flowed, (0..200).collect::<Vec<_>>());
        look(&mut seen);
        assert!(seen.last() < Some(&(next - 1)), "the connection was not stuck");
        gate.stick(false);
        patiently("all pictures", || {
            look(&mut seen);
            (seen.last() == Some(&(next - 1))).then_some(())
        });
        assert_eq!(seen, (first..next).collect::<Vec<_>>());
    });
}
