//! Many topics over bridges in a ring.
use dds::prelude::*;
use testkit::namespace::alone;

use crate::plant::{Joint, angles, bridge_that_tells, participant, take};

/// Samples of each topic before the last one, which shows that nothing of those before was still on its way around.
const SAMPLES: i32 = 5;

/// The number before these words of a line.
fn number(line: &str, words: &str) -> u64 {
    let before = line.split(words).next().unwrap();
    before.trim_end().rsplit(' ').next().unwrap().parse().unwrap_or_else(|_| panic!("{words} in {line}"))
}

#[test]
fn topics_in_a_ring_come_once_and_go_around_never() {
    let topics = usize::try_from(tiers::current().number("zenoh.topics")).unwrap();
    alone(|| {
        let ring = [
            bridge_that_tells(11, &["--listen", "tcp/127.0.0.1:7441", "--connect", "tcp/127.0.0.1:7442"]),
            bridge_that_tells(12, &["--listen", "tcp/127.0.0.1:7442", "--connect", "tcp/127.0.0.1:7443"]),
            bridge_that_tells(13, &["--listen", "tcp/127.0.0.1:7443", "--connect", "tcp/127.0.0.1:7441"]),
        ];
        let sites = [participant(11), participant(12)];
        let name = |topic: usize| format!("ring/{topic}");
        let writers: Vec<DataWriter<Joint>> = (0..topics)
            .map(|topic| {
                let made = sites[topic % 2].writer::<Joint>(&name(topic)).reliable().keep_all();
                made.transient_local().create().unwrap()
            })
            .collect();
        let write = |angle: i32| {
            for (arm, writer) in (0..).zip(&writers) {
                writer.write(&Joint { arm, angle }).unwrap();
            }
        };
        (0..SAMPLES).for_each(write);
        let readers: Vec<DataReader<Joint>> = (0..topics)
            .flat_map(|topic| sites.iter().map(move |site| (topic, site)))
            .map(|(topic, site)| {
                let made = site.reader::<Joint>(&name(topic)).reliable().keep_all();
                made.transient_local().create().unwrap()
            })
            .collect();
        let all_come = |expected: &[i32]| {
            for (at, reader) in readers.iter().enumerate() {
                let mut came = Vec::new();
                take(reader, &mut came, |came| came.len() >= expected.len());
                assert_eq!(angles(&came), expected, "{} at site {}", name(at / 2), at % 2);
                assert!(came.iter().all(|sample| sample.0 as usize == at / 2));
            }
        };
        all_come(&(0..SAMPLES).collect::<Vec<_>>());
        write(SAMPLES);
        all_come(&[SAMPLES]);
        let said = ring.map(|bridge| String::from_utf8(bridge.interrupt().stdout).unwrap());
        let per_site = |site: usize| (topics.div_ceil(2) - site * (topics % 2)) as u64;
        for (site, said) in said.iter().enumerate() {
            let last = said.lines().last().unwrap();
            let (own, others) = match site {
                2 => (0, 0),
                _ => (per_site(site), per_site(1 - site)),
            };
            let samples = SAMPLES as u64 + 1;
            assert_eq!(number(last, " writers announced"), own, "{last}");
            assert_eq!(number(last, " sent,"), own * samples, "{last}");
            assert_eq!(number(last, " delivered,"), others * samples, "{last}");
        }
    });
}
