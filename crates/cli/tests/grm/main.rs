//! `punctual grm` on a real switch: a reader asks, the switch and its gates get what the answer needs, and lose it when nobody
//! wants it any more. Needs root and Open vSwitch; elsewhere the tests are passed over, but not in continuous integration.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bridge;
mod browser;
mod discover;
mod domain;
mod drained;
mod foreign;
mod full;
mod ipv6;
mod killed;
mod lead;
mod losses;
mod managers;
mod meters;
mod operators;
mod reload;
mod saboteur;
mod secure;
mod shared;
mod signed;
mod silent;
mod trees;
mod vlan;
mod vlan_members;
mod ward;
mod web;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use dds::assurance::State;
use gate::Key;
use gate::protocol::{Answer, ContractState, Request};
use ward::{NETWORK, Ward, patiently, with_gates};

pub(crate) const MILLISECOND: i64 = 1_000_000;

/// Contracts in the gates of the switch.
pub(crate) fn contracts(ward: &Ward) -> usize {
    listed(ward).len()
}

pub(crate) fn listed(ward: &Ward) -> Vec<ContractState> {
    match ward.lab.gate("s1").unwrap().ask(&Request::List) {
        Ok(Answer::List { contracts, .. }) => contracts,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_reader_is_admitted_and_the_network_forgets_it_when_it_is_gone() {
    let Some(_turn) = lab_turn::turn() else { return };
    let ward = Ward::new();
    let writer = ward.writer("camera", "Picture", 4_000, 10 * MILLISECOND);
    let reader = ward.reader("display", "Picture", 5 * MILLISECOND);
    let pair = patiently("the verdict", || {
        reader.pairs().into_iter().find(|pair| matches!(pair.state, State::Admitted | State::Refused))
    });
    assert_eq!(pair.state, State::Admitted, "{}", pair.reason);
    let bound = pair.bound.unwrap();
    assert!(bound > dds::Duration::ZERO && bound <= dds::Duration::from_millis(5), "{pair:?}");
    patiently("the writer's match", || (writer.matched() == 1).then_some(()));
    assert_eq!((ward.flow_entries(), contracts(&ward)), (1, 1));

    // The flow has a socket of its own, and what it carries arrives.
    for _ in 0..20 {
        writer.write();
        std::thread::sleep(Duration::from_millis(11));
    }
    let mut received = 0;
    patiently("the samples", || {
        received += reader.take();
        (received == 20).then_some(())
    });
    let status = ward.status();
    assert!(status.contains("admitted Picture"), "{status}");

    drop(reader);
    patiently("the end of the flow", || (ward.flow_entries() == 0 && contracts(&ward) == 0).then_some(()));
    drop(writer);
}

#[test]
fn a_latency_that_nobody_can_keep_is_refused_with_place_and_offer() {
    let Some(_turn) = lab_turn::turn() else { return };
    let ward = Ward::new();
    let _writer = ward.writer("camera", "Picture", 4_000, 10 * MILLISECOND);
    let reader = ward.reader("display", "Picture", 100_000);
    let pair = patiently("the verdict", || {
        reader.pairs().into_iter().find(|pair| matches!(pair.state, State::Admitted | State::Refused))
    });
    assert_eq!(pair.state, State::Refused);
    assert!(pair.reason.contains("camera to s1") || pair.reason.contains("s1 to display"), "{}", pair.reason);
    assert!(pair.offered_latency.is_some_and(|offer| offer > dds::Duration::from_micros(100)), "{pair:?}");
    assert_eq!((ward.flow_entries(), contracts(&ward)), (0, 0));
    let status = ward.status();
    assert!(status.contains("REFUSED Picture") && status.contains("would be admitted"), "{status}");
}

#[test]
fn a_manager_that_is_killed_comes_back_and_takes_over_what_it_has_promised() {
    let Some(_turn) = lab_turn::turn() else { return };
    let mut ward = Ward::new();
    let writer = ward.writer("camera", "Picture", 4_000, 10 * MILLISECOND);
    let reader = ward.reader("display", "Picture", 5 * MILLISECOND);
    let state = |wanted: State| {
        patiently("the verdict", || reader.pairs().iter().any(|pair| pair.state == wanted).then_some(()))
    };
    state(State::Admitted);
    ward.kill_manager();
    assert_eq!((ward.flow_entries(), contracts(&ward)), (1, 1), "the switch goes on without it");
    ward.start_manager();
    // It says again what it has promised, so that the lease does not run out; nothing was taken away in between.
    let started = std::time::Instant::now();
    while started.elapsed() < Duration::from_secs(9) {
        assert!(reader.pairs().iter().all(|pair| pair.state == State::Admitted), "{:?}", reader.pairs());
        assert_eq!((ward.flow_entries(), contracts(&ward)), (1, 1));
        std::thread::sleep(Duration::from_millis(200));
    }
    drop(writer);
    patiently("the end of the flow", || (ward.flow_entries() == 0 && contracts(&ward) == 0).then_some(()));
}

/// Three times what the display's link carries, from a host of its own, until this is dropped.
pub(crate) struct Flood {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Flood {
    pub(crate) fn new(ward: &Ward) -> Self {
        Self::of(ward, 3)
    }

    /// The same with so many packets of 1,200 bytes in a millisecond.
    pub(crate) fn of(ward: &Ward, each: usize) -> Self {
        let to = ward.lab.host_addresses("display").unwrap()[0];
        let any: IpAddr =
            if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let socket = ward.lab.on("stranger", || UdpSocket::bind((any, 0))).unwrap().unwrap();
        let to = (to, 9);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                // Nobody is there who would take them.
                (0..each).for_each(|_| drop(socket.send_to(&[0; 1_200], to)));
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        Self { stop, thread: Some(thread) }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

#[test]
fn a_newcomer_is_found_and_admitted_during_a_flood_as_discovery_and_verdicts_have_their_class() {
    let Some(_turn) = lab_turn::turn() else { return };
    let control = "control = { burst = 32_000, rate = \"4 Mb/s\" }\n";
    let display = "ends = [\"display\", \"s1:2\"]\n";
    let stranger = "[[host]]\nname = \"stranger\"\n[[link]]\nends = [\"stranger\", \"s1:4\"]\n";
    let text = with_gates(NETWORK).replace(display, &format!("{display}rate = \"10 Mb/s\"\n"));
    let ward = Ward::of(&format!("{control}{text}{stranger}"));
    let discovery = Key::metatraffic(0).unwrap();
    patiently("the class", || {
        let everywhere = listed(&ward).iter().filter(|state| state.key == discovery).count() == 4;
        // An entry for each port that leads to a host, and each version of IP.
        (everywhere && ward.entries(400) == 2 * 4).then_some(())
    });
    let status = ward.status();
    assert!(status.contains("Discovery of 4 hosts goes before all flows"), "{status}");
    let reader = ward.reader("display", "Picture", 200 * MILLISECOND);
    let _flood = Flood::new(&ward);
    let before = patiently("the flood, which is above what the link carries", || {
        let queues = ward.sent("s1", 2);
        (queues[0].1 > 100).then_some(queues)
    });
    let _writer = ward.writer("camera", "Picture", 4_000, 20 * MILLISECOND);
    patiently("the newcomer", || (!reader.pairs().is_empty()).then_some(()));
    patiently("the verdict", || {
        reader.pairs().iter().any(|pair| pair.state == State::Admitted).then_some(())
    });
    let camera = listed(&ward).into_iter().find(|state| (state.port, state.key) == (1, discovery)).unwrap();
    assert!(camera.counters.frames > 0 && camera.contract.dscp == gate::class::CONTROL, "{camera:?}");
    // By the counters of the queues, discovery went past it.
    let after = ward.sent("s1", 2);
    let ((sent_before, _), (sent, lost)) = (before[before.len() - 1], after[after.len() - 1]);
    assert!(sent > sent_before && lost == 0, "{before:?} {after:?}");
}
