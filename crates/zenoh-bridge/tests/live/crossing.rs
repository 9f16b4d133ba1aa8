//! Samples, ends of instances, times and order across sites; rings; bridges that are killed.
use dds::prelude::*;
use dds::{InstanceState, Participant, Timestamp};
use testkit::namespace::alone;
use testkit::patience::patiently;

use crate::plant::{Came, Joint, angles, bridge, participant, take};

fn writer(participant: &Participant) -> DataWriter<Joint> {
    participant.writer::<Joint>("arm/joint").reliable().keep_all().create().unwrap()
}

fn reader(participant: &Participant) -> DataReader<Joint> {
    participant.reader::<Joint>("arm/joint").reliable().keep_all().create().unwrap()
}

/// Waits until the writer has so many readers, and each of the readers so many writers.
fn meet(writer: &DataWriter<Joint>, count: usize, readers: &[(&DataReader<Joint>, usize)]) {
    patiently("readers of the writer", || (writer.get_matched_subscriptions().len() >= count).then_some(()));
    for (reader, count) in readers {
        patiently("writers of the reader", || {
            (reader.get_matched_publications().len() >= *count).then_some(())
        });
    }
}

#[test]
fn samples_ends_times_and_order_cross() {
    alone(|| {
        let first = bridge(11, &["--listen", "tcp/127.0.0.1:7447"]);
        let second = bridge(12, &["--connect", "tcp/127.0.0.1:7447"]);
        let (here, there) = (participant(11), participant(12));
        let (writer, reader) = (writer(&here), reader(&there));
        meet(&writer, 1, &[(&reader, 1)]);
        let time = |number: i32| Timestamp::from_nanos(1_700_000_000_000_000_000 + i64::from(number) * 1_000);
        for angle in 0..200 {
            let joint = Joint { arm: angle as u32 % 2, angle };
            writer.write_w_timestamp(&joint, time(angle)).unwrap();
        }
        let mut came: Vec<Came> = Vec::new();
        take(&reader, &mut came, |came| came.len() >= 200);
        // Those of one instance follow each other where several are taken at once.
        for arm in 0..2 {
            let of: Vec<Came> = came.iter().copied().filter(|came| came.0 == arm).collect();
            let expected: Vec<i32> = (0..200).filter(|angle| *angle as u32 % 2 == arm).collect();
            assert_eq!(angles(&of), expected);
            // Times cross as 2^-32 seconds.
            assert!(of.iter().all(|(_, angle, _, at)| (at - time(angle.unwrap()).as_nanos()).abs() <= 1));
        }
        writer.dispose_w_timestamp(&Joint { arm: 0, angle: 0 }, time(300)).unwrap();
        let ended = |number: i32, state: InstanceState| {
            let is_it = move |came: &Came| {
                came.1.is_none() && came.2 == state && (came.3 - time(number).as_nanos()).abs() <= 1
            };
            move |came: &[Came]| came.iter().any(is_it)
        };
        take(&reader, &mut came, ended(300, InstanceState::NotAliveDisposed));
        // A writer that disposes nothing by unregistering.
        let mut qos = writer.get_qos();
        qos.writer_data_lifecycle.autodispose_unregistered_instances = false;
        writer.set_qos(dds::QosKind::Specific(qos)).unwrap();
        writer.unregister_instance_w_timestamp(&Joint { arm: 1, angle: 0 }, time(301)).unwrap();
        take(&reader, &mut came, ended(301, InstanceState::NotAliveNoWriters));
        // The instance comes alive again.
        writer.write(&Joint { arm: 0, angle: 7 }).unwrap();
        take(&reader, &mut came, |came| angles(came).last() == Some(&7));
        assert_eq!(angles(&came).len(), 201);
        for bridge in [first, second] {
            assert!(bridge.interrupt().status.success());
        }
    });
}

#[test]
fn samples_of_many_instances_that_are_taken_at_once_cross_in_order() {
    alone(|| {
        let (here, there) = (participant(11), participant(12));
        let writer = here.writer::<Joint>("state").reliable().keep_all().transient_local().create().unwrap();
        let reader = there.reader::<Joint>("state").reliable().keep_all().transient_local().create().unwrap();
        // The reader of the bridge gets all of it at once, and a reader tells samples by instance.
        for angle in 0..200 {
            writer.write(&Joint { arm: angle as u32 % 10, angle }).unwrap();
        }
        let _first = bridge(11, &["--listen", "tcp/127.0.0.1:7447"]);
        let _second = bridge(12, &["--connect", "tcp/127.0.0.1:7447"]);
        let mut came: Vec<Came> = Vec::new();
        take(&reader, &mut came, |came| came.len() >= 200);
        for arm in 0..10 {
            let of: Vec<Came> = came.iter().copied().filter(|came| came.0 == arm).collect();
            let expected: Vec<i32> = (0..200).filter(|angle| *angle as u32 % 10 == arm).collect();
            assert_eq!(angles(&of), expected);
        }
    });
}

#[test]
fn in_a_ring_with_two_bridges_at_a_site_nothing_comes_twice() {
    alone(|| {
        let _bridges = [
            bridge(11, &["--listen", "tcp/127.0.0.1:7441", "--connect", "tcp/127.0.0.1:7442"]),
            bridge(12, &["--listen", "tcp/127.0.0.1:7442", "--connect", "tcp/127.0.0.1:7443"]),
            bridge(13, &["--listen", "tcp/127.0.0.1:7443", "--connect", "tcp/127.0.0.1:7441"]),
        ];
        let sites = [participant(11), participant(12), participant(13)];
        let writers = [writer(&sites[0]), writer(&sites[1]), writer(&sites[2])];
        let readers = [reader(&sites[0]), reader(&sites[1]), reader(&sites[2])];
        for at in 0..3 {
            // The reader of its own site and the bridge; the writers of all sites.
            meet(&writers[at], 2, &[(&readers[at], 3)]);
        }
        // The first of its site works by now: this one stands by. Two that begin at once may both work until they have heard of each other.
        let _second = bridge(12, &["--connect", "tcp/127.0.0.1:7441"]);
        // Samples that were written before all subscribe are for those who do.
        let mut met = [const { Vec::new() }; 3];
        patiently("each writer at each site", || {
            for (arm, writer) in (0..).zip(&writers) {
                writer.write(&Joint { arm, angle: -1 }).unwrap();
            }
            for (reader, met) in readers.iter().zip(&mut met) {
                take(reader, met, |_| true);
            }
            let has_all = |met: &Vec<Came>| (0..3).all(|arm| met.iter().any(|came| came.0 == arm));
            met.iter().all(has_all).then_some(())
        });
        for angle in 0..100 {
            for (arm, writer) in (0..).zip(&writers) {
                writer.write(&Joint { arm, angle }).unwrap();
            }
        }
        for reader in &readers {
            let mut came = Vec::new();
            take(reader, &mut came, |came| angles(came).iter().filter(|angle| **angle >= 0).count() >= 300);
            came.retain(|came| came.1 != Some(-1));
            for arm in 0..3 {
                let of: Vec<Came> = came.iter().copied().filter(|came| came.0 == arm).collect();
                assert_eq!(angles(&of), (0..100).collect::<Vec<_>>());
            }
        }
        // A last sample of each shows that nothing of those before was still on its way around.
        for (arm, writer) in (0..).zip(&writers) {
            writer.write(&Joint { arm, angle: 100 }).unwrap();
        }
        for reader in &readers {
            let mut came = Vec::new();
            take(reader, &mut came, |came| came.len() >= 3);
            assert_eq!(angles(&came), [100; 3]);
        }
    });
}

#[test]
fn a_bridge_that_is_killed_comes_back_and_writers_that_keep_samples_tell_them_again() {
    alone(|| {
        let _first = bridge(11, &["--listen", "tcp/127.0.0.1:7447"]);
        let second = bridge(12, &["--connect", "tcp/127.0.0.1:7447", "--lease", "2"]);
        let (here, there) = (participant(11), participant(12));
        let writer =
            here.writer::<Joint>("state").reliable().keep_last(1).transient_local().create().unwrap();
        let reader =
            || there.reader::<Joint>("state").reliable().keep_all().transient_local().create().unwrap();
        let before = reader();
        writer.write(&Joint { arm: 1, angle: 1 }).unwrap();
        let mut came = Vec::new();
        take(&before, &mut came, |came| angles(came) == [1]);
        drop(second);
        writer.write(&Joint { arm: 1, angle: 2 }).unwrap();
        let _second = bridge(12, &["--connect", "tcp/127.0.0.1:7447"]);
        take(&before, &mut came, |came| angles(came).last() == Some(&2));
        assert_eq!(angles(&came), [1, 2]);
        // A reader that comes late gets what is kept, once.
        let late = reader();
        let mut came = Vec::new();
        take(&late, &mut came, |came| !angles(came).is_empty());
        writer.write(&Joint { arm: 1, angle: 3 }).unwrap();
        take(&late, &mut came, |came| angles(came).last() == Some(&3));
        assert_eq!(angles(&came), [2, 3]);
    });
}
