//! Two bridges at a site, of which one loses its session.
use testkit::namespace::alone;
use testkit::patience::patiently;

use crate::gate::Gate;
use crate::plant::{Joint, angles, bridge, participant, take};

#[test]
fn a_bridge_that_has_lost_its_session_lets_another_one_work() {
    alone(|| {
        let _far = bridge(11, &["--listen", "tcp/127.0.0.1:7447"]);
        let gate = Gate::open(7450, 7447);
        let _old = bridge(12, &["--connect", "tcp/127.0.0.1:7450"]);
        let (here, there) = (participant(11), participant(12));
        // One in each direction.
        let writers = [&here, &there]
            .map(|site| site.writer::<Joint>("arm/joint").reliable().keep_all().create().unwrap());
        let readers = [&there, &here]
            .map(|site| site.reader::<Joint>("arm/joint").reliable().keep_all().create().unwrap());
        let (mut came, mut angle) = ([Vec::new(), Vec::new()], 0);
        let mut crosses = |came: &mut [Vec<_>; 2], what: &str| {
            let before = angle;
            patiently(what, || {
                angle += 1;
                for (arm, writer) in (0..).zip(&writers) {
                    writer.write(&Joint { arm, angle }).unwrap();
                }
                for (reader, came) in readers.iter().zip(came.iter_mut()) {
                    take(reader, came, |_| true);
                }
                // Of the other site: those of the own site come, too.
                let is_new = |(arm, came): (u32, &Vec<crate::plant::Came>)| {
                    came.iter().any(|sample| sample.0 == arm && sample.1 > Some(before))
                };
                (0..).zip(came.iter()).all(is_new).then_some(())
            });
        };
        crosses(&mut came, "what crosses by the first bridge");
        let _young = bridge(12, &["--connect", "tcp/127.0.0.1:7447"]);
        gate.cut(true);
        crosses(&mut came, "what crosses by the second bridge");
        gate.cut(false);
        for _ in 0..20 {
            crosses(&mut came, "what crosses while the first bridge is there again");
        }
        for came in &came {
            for arm in 0..2 {
                let of: Vec<_> = came.iter().copied().filter(|sample| sample.0 == arm).collect();
                let angles = angles(&of);
                assert!(angles.is_sorted_by(|one, next| one < next), "something came twice: {angles:?}");
            }
        }
    });
}
