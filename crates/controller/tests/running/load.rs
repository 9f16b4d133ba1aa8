//! Ten thousand requests of one host, and a store that does not last.
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use store::{FileStore, MemoryStore};
use wire::admission::State;

use crate::fake;
use crate::site::{Asker, alone, managed, patiently, report};
use testkit::openflow_switch::Switch;

/// What used to end the manager: more refusals than its writer had room for. Without a switch every request is refused in the end.
#[test]
fn ten_thousand_requests_of_one_host_end_nothing() {
    alone(|| {
        let config =
            control::config::Config { grace: Duration::from_secs(2), ..control::config::Config::default() };
        managed(Box::new(MemoryStore::default()), config, || {
            let mut asker = Asker::new();
            for number in 0..10_000 {
                asker.ask(number, 0);
                if number % 100 == 0 {
                    asker.hear();
                }
            }
            patiently("an answer to each", || {
                asker.hear();
                (asker.count(State::Refused) == 10_000).then_some(())
            });
            let reasons: BTreeSet<&str> =
                asker.heard.values().map(|verdict| verdict.reason.split(':').next().unwrap()).collect();
            assert!(reasons.iter().any(|reason| reason.contains("which is the limit")), "{reasons:?}");
            let (seen, _) = report();
            assert_eq!(seen["requests"], control::config::Config::default().most_requests_of_participant);
            // It goes on: who leaves makes room.
            asker.withdraw_but(&BTreeSet::new());
            let began = Instant::now();
            patiently("room", || (report().0["requests"] == 0).then_some(()));
            assert!(began.elapsed() < Duration::from_secs(20));
            asker.ask(20_000, 0);
            patiently("the answer to one more", || {
                asker.hear();
                asker.heard.get(&20_000).map(|_| ())
            });
        })
        .unwrap();
    });
}

/// In this namespace of mounts alone.
fn mount(arguments: &[&str]) {
    assert!(Command::new("mount").args(arguments).status().unwrap().success(), "{arguments:?}");
}

/// Admitted and refused ones, while the store is deleted, cut off and without room; then the next manager of the same store.
#[test]
fn a_store_that_is_deleted_cut_off_and_full_costs_nobody_who_is_admitted() {
    alone(|| {
        let folder = std::env::temp_dir().join(format!("punctual-running-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        mount(&["--make-rprivate", "/"]);
        mount(&["-t", "tmpfs", "-o", "size=16m", "none", folder.to_str().unwrap()]);
        let file = folder.join("grants.redb");
        let (mut switch, stop, mut all) = (Switch::default(), AtomicBool::new(false), 0);
        std::thread::scope(|scope| {
            scope.spawn(|| fake::run(&mut switch, None, &stop));
            let tested = std::panic::catch_unwind(|| many_of_one_host(&file));
            stop.store(true, Ordering::Relaxed);
            match tested {
                Ok(admitted) => all = admitted,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        });
        let of_flows = switch.flows.iter().filter(|flow| flow.table.0 == 0 && flow.priority == 60_000);
        assert_eq!(of_flows.count(), all);
    });
    let _ =
        std::fs::remove_dir(std::env::temp_dir().join(format!("punctual-running-{}", std::process::id())));
}

/// How many are admitted in the end.
fn many_of_one_host(file: &Path) -> usize {
    // Fewer admitted ones than refused: each admission takes an exchange with the switch.
    let config =
        control::config::Config { grace: Duration::from_secs(2), ..control::config::Config::default() };
    let config = || control::config::Config { most_requests_of_participant: 200, ..config.clone() };
    let admitted = |asker: &mut Asker, number: u32| {
        patiently("an admission", || {
            asker.hear();
            let verdict = asker.heard.get(&number);
            let is = verdict.is_some_and(|verdict| verdict.state == State::Admitted);
            is.then_some(())
        });
    };
    let mut asking = None;
    let mut all = 0;
    managed(Box::new(FileStore::open(file).unwrap()), config(), || {
        let asker = asking.insert(Asker::new());
        asker.ask(0, 1);
        admitted(asker, 0);
        for number in 1..10_000 {
            asker.ask(number, 1);
            if number % 100 == 0 {
                asker.hear();
            }
        }
        patiently("an answer to each", || {
            asker.hear();
            let pending = asker.count(State::Pending);
            (asker.heard.len() == 10_000 && pending == 0).then_some(())
        });
        assert_eq!((asker.count(State::Admitted), asker.count(State::Refused)), (200, 9_800));
        let kept: BTreeSet<u32> = (0..10).collect();
        asker.withdraw_but(&kept);
        patiently("the end of the others", || (report().0["requests"] == 10).then_some(()));
        std::fs::remove_file(file).unwrap();
        asker.ask(20_001, 1);
        admitted(asker, 20_001);
        std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(5_000).unwrap();
        asker.ask(20_002, 1);
        admitted(asker, 20_002);
        // No room: nobody new, until there is some again. The manager may notice that its file is gone, and make it anew, before the room of the
        // former one is taken: then it admits one more, and the scene is set again.
        let filler = file.with_file_name("filler");
        let mut number = 20_003;
        loop {
            let mut big = std::fs::File::create(&filler).unwrap();
            while std::io::Write::write_all(&mut big, &[1; 4_096]).is_ok() {}
            std::fs::remove_file(file).unwrap();
            while std::io::Write::write_all(&mut big, &[1; 4_096]).is_ok() {}
            drop(big);
            asker.ask(number, 1);
            let decided = patiently("a decision", || {
                asker.hear();
                let state = asker.heard.get(&number)?.state;
                (state != State::Pending).then_some(state)
            });
            if decided == State::Refused {
                break;
            }
            std::fs::remove_file(&filler).unwrap();
            number += 1;
            assert!(number < 20_010, "a full disk is never noticed");
        }
        let before = number as usize - 20_003 + 12;
        assert!(asker.heard[&number].reason.contains("store"), "{}", asker.heard[&number].reason);
        assert_eq!(report().0["admitted"], before);
        std::fs::remove_file(&filler).unwrap();
        admitted(asker, number);
        all = before + 1;
        assert_eq!(report().0["admitted"], all);
    })
    .unwrap();
    // The next one has them all, and one with a new store gets them again.
    assert_eq!(store::Store::grants(&FileStore::open(file).unwrap()).unwrap().len(), all);
    for is_new in [false, true] {
        if is_new {
            std::fs::remove_file(file).unwrap();
        }
        managed(Box::new(FileStore::open(file).unwrap()), config(), || {
            patiently("all that were admitted", || {
                let seen = report().0;
                (seen["admitted"] == all && seen["switches"][0]["flows"] == all).then_some(())
            });
        })
        .unwrap();
    }
    all
}
