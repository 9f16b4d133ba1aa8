//! Managers that are killed again and again (SIGKILL) while one flow goes on and others come and go: nothing of it is lost, it stays admitted, and once
//! all is quiet switch and gate have it once, and nothing else. With a store in a file the manager is started again; with etcd another one leads.
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use testkit::random::Random;

use crate::lead::{
    LEADS, Manager, PORTS, connected, etcd_of, is_admitted, stays, two, ward_for_etcd, with_admitted,
};
use crate::ward::{NETWORK, Reader, Ward, patiently, with_gates};
use crate::{MILLISECOND, contracts};

/// The least and the longest time in milliseconds from when a manager has its switch until it is killed: in that time it has said again what is granted.
const LIVES: [u64; 2] = [2_000, 4_000];

/// Another reader asks and goes, again and again, while `kill` is called as often as the tier says, at times that a seed gives.
fn under_churn(ward: &Ward, kill: &mut dyn FnMut(u64, &Reader)) {
    let kills = tiers::current().number("control.kills");
    with_admitted(ward, |reader| {
        let writer = ward.writer("camera", "Chart", 1_000, 20 * MILLISECOND);
        let (stop, asked) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            // Also if what follows panics, or the scope would wait for ever.
            let _stops = Stops(&stop);
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    come_and_go(ward, &stop);
                    asked.fetch_add(1, Ordering::Relaxed);
                }
            });
            for round in 0..kills {
                let wait = Duration::from_millis(Random::of_case(7, round).range(LIVES[0], LIVES[1]));
                let until = Instant::now() + wait;
                while Instant::now() < until {
                    assert!(is_admitted(reader), "before kill {round}: {:?}", reader.pairs());
                    std::thread::sleep(Duration::from_millis(20));
                }
                kill(round, reader);
            }
        });
        drop(writer);
        println!("{kills} kills, {} flows that came and went", asked.into_inner());
        patiently("quiet", || ((ward.flow_entries(), contracts(ward)) == (1, 1)).then_some(()));
        stays(&|| {
            assert!(is_admitted(reader), "{:?}", reader.pairs());
            assert_eq!((ward.flow_entries(), contracts(ward)), (1, 1));
        });
    });
}

/// A reader of another topic, which goes when it is admitted, or no manager has answered for a while.
fn come_and_go(ward: &Ward, stop: &AtomicBool) {
    let reader = ward.best_effort_reader("display", "Chart", 20 * MILLISECOND);
    let until = Instant::now() + Duration::from_secs(4);
    while !stop.load(Ordering::Relaxed) && !is_admitted(&reader) && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(10));
    }
}

struct Stops<'s>(&'s AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Looks until `is_so`, and that the flow stays admitted all the time; how long that took.
fn admitted_until(reader: &Reader, what: &str, mut is_so: impl FnMut() -> bool) -> Duration {
    let began = Instant::now();
    while !is_so() {
        assert!(is_admitted(reader), "{:?}", reader.pairs());
        assert!(began.elapsed() < Duration::from_secs(60), "{what} did not come");
        std::thread::sleep(Duration::from_millis(5));
    }
    began.elapsed()
}

fn print(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let (Some(median), Some(longest)) = (times.get(times.len() / 2), times.last()) else { return };
    println!("{what}: median {median:.2?}, longest {longest:.2?}, of {}", times.len());
}

#[test]
fn another_one_leads_when_the_leader_is_killed_again_and_again() {
    let Some((_turn, ward)) = ward_for_etcd(&with_gates(NETWORK)) else { return };
    let etcd = etcd_of(&ward, &[]);
    let mut managers = two(&ward, &etcd.url());
    let status = patiently("the status", || {
        let status = ward.status();
        status.contains(": stands by").then_some(status)
    });
    assert!(status.contains("leads; its store: http://127.0.0.1:2379/grm"), "{status}");
    let (mut leads, mut has_switch) = (Vec::new(), Vec::new());
    under_churn(&ward, &mut |round, reader| {
        let leader = usize::try_from(round % 2).unwrap();
        let other = 1 - leader;
        let before = managers[other].says(LEADS);
        managers[leader].signal(Signal::SIGKILL);
        let connections = PORTS.map(|port| connected(&ward, port));
        leads.push(admitted_until(reader, "another leader", || managers[other].says(LEADS) > before));
        has_switch.push(admitted_until(reader, "its switch", || managers[other].says("has connected") > 0));
        assert_eq!(connected(&ward, PORTS[other]), connections[other], "it had no connection before it led");
        managers[leader].kill();
        managers[leader] =
            Manager::start(&ward, &etcd.url(), &format!("log-{leader}-{round}"), PORTS[leader]);
        admitted_until(reader, "one that stands by", || managers[leader].says("stands by: ") > 0);
        admitted_until(reader, "a switch for it", || connected(&ward, PORTS[leader]) > connections[leader]);
    });
    print("from the kill to the next leader", &mut leads);
    print("from there to its switch", &mut has_switch);
}

#[test]
fn a_manager_with_a_file_is_killed_again_and_again() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut ward = Ward::new();
    let store = ward.file("grants").to_str().unwrap().to_owned();
    ward.kill_manager();
    let mut manager = Manager::start(&ward, &store, "log-0", PORTS[0]);
    let mut times = Vec::new();
    under_churn(&ward, &mut |round, reader| {
        manager.kill();
        manager = Manager::start(&ward, &store, &format!("log-{}", round + 1), PORTS[0]);
        times.push(admitted_until(reader, "its switch", || manager.says("has connected") > 0));
    });
    print("from the kill to the switch", &mut times);
}
