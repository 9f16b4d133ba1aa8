//! Whoever asks how things are is told how they are now.
use dds::qos::Durability;
use store::MemoryStore;
use wire::admission::{REPORT_TOPIC, REPORT_TYPE, Report};

use crate::site::{Asker, alone, join, managed, patiently, reader, report};

fn wall() -> i128 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i128::try_from(since.as_nanos()).unwrap()
}

#[test]
fn a_report_is_written_after_it_was_asked_for() {
    alone(|| {
        managed(Box::new(MemoryStore::default()), control::config::Config::default(), || {
            // Somebody has looked before, when there was nothing to see.
            assert_eq!(report().0["requests"], 0);
            let mut asker = Asker::new();
            asker.ask(1, 0);
            patiently("a verdict", || {
                asker.hear();
                asker.heard.get(&1).map(|_| ())
            });
            let asked = wall();
            let (seen, _) = report();
            assert_eq!(seen["requests"], 1, "{seen}");
            assert!(i128::from(seen["time"].as_u64().unwrap()) >= asked, "{seen}");
            assert!(i128::from(seen["started"].as_u64().unwrap()) <= asked, "{seen}");
            assert_eq!(
                (&seen["pairs"][0]["from"], &seen["pairs"][0]["to"]),
                (&"camera".into(), &"display".into())
            );
        })
        .unwrap();
    });
}

/// Nothing is kept that a reader who wants the past could take for the present.
#[test]
fn no_report_is_kept_for_later() {
    alone(|| {
        managed(Box::new(MemoryStore::default()), control::config::Config::default(), || {
            report();
            let participant = join();
            let late = reader::<Report>(&participant, REPORT_TOPIC, REPORT_TYPE, Durability::TransientLocal);
            patiently("the manager", || {
                let status = late.get_requested_incompatible_qos_status();
                (status.total.count > 0 || late.take_next_sample().unwrap().is_some()).then_some(())
            });
            assert_eq!(late.get_matched_publications().len(), 0);
        })
        .unwrap();
    });
}
