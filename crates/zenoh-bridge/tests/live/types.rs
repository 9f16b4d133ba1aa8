//! Types of topics at sites where no program knows them.
use dds::Duration;
use dds::xtypes::recover;
use testkit::namespace::alone;
use testkit::patience::patiently;

use crate::plant::{Joint, angles, bridge, participant, take};

#[test]
fn another_site_is_told_the_type_of_a_topic() {
    alone(|| {
        let _first = bridge(11, &["--listen", "tcp/127.0.0.1:7447"]);
        let _second = bridge(12, &["--connect", "tcp/127.0.0.1:7447"]);
        let (here, there) = (participant(11), participant(12));
        let writer = here.writer::<Joint>("arm/joint").reliable().transient_local().create().unwrap();
        writer.write(&Joint { arm: 1, angle: 10 }).unwrap();
        // As `punctual echo` finds it, before anything reads the topic.
        let schema = patiently("a writer there, with its type", || {
            let found = there
                .get_discovered_endpoints()
                .into_iter()
                .find(|data| data.topic_name == "arm/joint" && data.type_information.is_some())?;
            let told = there.find_type(&found, Duration::from_secs(5)).unwrap()?;
            recover(&told.objects, told.id)
        });
        let (schema, index) = schema;
        let shown = format!("{:?}", schema.get(index));
        for name in ["Joint", "arm", "angle"] {
            assert!(shown.contains(name), "{shown}");
        }
        // Readers that insist on a comparison of types, too.
        let reader = there
            .reader::<Joint>("arm/joint")
            .reliable()
            .transient_local()
            .with_qos(|qos| qos.endpoint.type_consistency.force_type_validation = true)
            .create()
            .unwrap();
        let mut came = Vec::new();
        take(&reader, &mut came, |came| !came.is_empty());
        assert_eq!(angles(&came), [10]);
    });
}
