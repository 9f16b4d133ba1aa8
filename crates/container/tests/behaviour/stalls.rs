//! Probes that look for stalls of the host, on threads.
use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use container::{Locality, Server};
use testkit::patience::patiently;

/// The names of the probes that this process has. No other test of the program has any.
fn probes() -> BTreeSet<String> {
    let threads = fs::read_dir("/proc/self/task").unwrap();
    // A thread may end meanwhile.
    let names = threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("comm")).ok());
    names.map(|name| name.trim().to_owned()).filter(|name| name.starts_with("probe")).collect()
}

#[test]
fn probes_are_where_they_were_asked_for_last_and_end() {
    let mut server = Server::new(&Locality::default());
    let there = |names: &[&str]| {
        let names: BTreeSet<String> = names.iter().map(|name| (*name).to_owned()).collect();
        patiently(&format!("probes {names:?} and no others"), || (probes() == names).then_some(()));
    };
    let period = Duration::from_millis(1);
    server.watch_stalls(&[0], 99, period);
    there(&["probe 0"]);
    server.watch_stalls(&[], 99, period);
    there(&["probe"]);
    server.end_probes();
    there(&[]);
    // They begin again, and end with the server.
    server.watch_stalls(&[0], 99, period);
    there(&["probe 0"]);
    drop(server);
    there(&[]);
}
