//! A switch obeys the manager of the highest epoch that it knows.
use std::sync::atomic::{AtomicBool, Ordering};

use store::MemoryStore;
use testkit::openflow_switch::Switch;
use wire::admission::State;

use crate::fake;
use crate::site::{Asker, alone, managed, patiently, report};

/// Runs a manager with the switch while `act` goes on; its epoch.
fn with_manager(switch: &mut Switch, act: impl FnOnce() + Send) -> u64 {
    let stop = AtomicBool::new(false);
    let mut epoch = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| fake::run(switch, None, &stop));
        let tested = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            managed(Box::new(MemoryStore::default()), control::config::Config::default(), || {
                epoch = report().0["epoch"].as_u64().unwrap();
                act();
            })
            .unwrap();
        }));
        stop.store(true, Ordering::Relaxed);
        tested.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    epoch
}

#[test]
fn a_manager_is_master_of_its_switches_and_leaves_alone_those_that_obey_a_later_one() {
    alone(|| {
        let mut switch = Switch::default();
        let epoch = with_manager(&mut switch, || {
            let mut asker = Asker::new();
            asker.ask(1, 1);
            patiently("an admission", || {
                asker.hear();
                (asker.count(State::Admitted) == 1).then_some(())
            });
        });
        assert_eq!(switch.generation, Some(epoch));
        // A later manager has been there, and has left this.
        let before = switch.flows.len();
        switch.generation = Some(epoch + 1_000_000_000);
        with_manager(&mut switch, || {
            patiently("the alarm", || {
                let state = report().0["switches"][0]["state"].as_str().unwrap().to_owned();
                assert_ne!(state, "ready");
                std::thread::sleep(std::time::Duration::from_millis(500));
                Some(())
            });
        });
        assert_eq!((switch.generation, switch.flows.len()), (Some(epoch + 1_000_000_000), before));
    });
}
