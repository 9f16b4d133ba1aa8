//! Managers after and beside each other.
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use dds::assurance::{Stage, State};

use crate::ward::{Ward, patiently};
use crate::{MILLISECOND, contracts};

/// A manager on a host without switches, and what it has said.
struct Second {
    child: Child,
    said: Arc<Mutex<Vec<String>>>,
}

impl Second {
    fn new(ward: &Ward) -> Self {
        let mut command = ward.manager_command("display", "another-store");
        let mut child = command.args(["--listen", "127.0.0.1"]).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            out.lines().map_while(Result::ok).for_each(|line| heard.lock().unwrap().push(line));
        });
        Self { child, said }
    }

    fn await_line(&self, what: &str) {
        patiently(what, || self.said.lock().unwrap().iter().any(|line| line.contains(what)).then_some(()));
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_manager_whose_store_was_deleted_wins_its_pairs_back() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut ward = Ward::new();
    let writer = ward.writer("camera", "Picture", 4_000, 10 * MILLISECOND);
    let reader = ward.reader("display", "Picture", 5 * MILLISECOND);
    let is_assured =
        || reader.pairs().iter().any(|pair| (pair.state, pair.stage) == (State::Admitted, Stage::Assured));
    patiently("the verdict", || is_assured().then_some(()));
    for _ in 0..2 {
        ward.kill_manager();
        ward.forget_store();
        ward.start_manager();
        // The new one knows nothing of the flow, and takes it out of the switch before it is asked again.
        let started = std::time::Instant::now();
        patiently("the flow", || {
            (started.elapsed().as_secs() >= 7
                && is_assured()
                && ward.flow_entries() == 1
                && contracts(&ward) == 1)
                .then_some(())
        });
        reader.take();
        for _ in 0..20 {
            writer.write();
            std::thread::sleep(std::time::Duration::from_millis(11));
        }
        let mut received = 0;
        patiently("the samples", || {
            received += reader.take();
            (received == 20).then_some(())
        });
    }
}

#[test]
fn a_second_manager_is_noticed_by_both_stands_by_and_takes_over() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut ward = Ward::new();
    let _writer = ward.writer("camera", "Picture", 4_000, 10 * MILLISECOND);
    let reader = ward.reader("display", "Picture", 5 * MILLISECOND);
    patiently("the verdict", || {
        reader.pairs().iter().any(|pair| pair.state == State::Admitted).then_some(())
    });
    let second = Second::new(&ward);
    second.await_line("another resource manager, participant");
    second.await_line("it manages this network");
    second.await_line("stands by for participant");
    let status = patiently("the other one in the status", || {
        let status = ward.status();
        status.contains("Other managers").then_some(status)
    });
    assert!(status.contains("\"punctual grm\" at ") && status.contains(": stands by"), "{status}");
    assert!(reader.pairs().iter().all(|pair| pair.state == State::Admitted), "{:?}", reader.pairs());
    ward.kill_manager();
    second.await_line("is gone");
    // It answers for itself: no switch has told it where the hosts are.
    let started = std::time::Instant::now();
    while !reader.pairs().iter().any(|pair| pair.reason.contains("no host of the network has the address")) {
        let said = second.said.lock().unwrap().join("\n");
        assert!(started.elapsed().as_secs() < 60, "{:?}\n{said}", reader.pairs());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}
