//! What a round trip costs in system calls.
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use dds::config::Config;
use dds::host::{Channel, Host};

use crate::namespace::alone;
use crate::node::{Node, transmit};
use crate::process::is_alone;
use crate::strace::{Call, system_calls};

const ROUNDS: u64 = 2_000;

/// What a round trip takes at most, in seconds, to be judged: in less nothing happens because time goes by. After 2 ms the own thread takes
/// the socket back, and has to be asked again.
const QUICK: f64 = 0.001;

/// One send and one receive call at each side, and nothing else: waking another thread would be a call too. A call more in each round
/// trip would leave none as it should be. Round trips that the machine was slow in are not judged, and those behind one are as they may be.
fn check(test: &str) {
    let Some(threads) = system_calls(test) else { return };
    let sends = |calls: &[Call]| -> Vec<usize> {
        (0..calls.len()).filter(|at| calls[*at].name == "sendto").collect()
    };
    let sides: Vec<_> = threads.iter().filter(|calls| sends(calls).len() as u64 > ROUNDS / 2).collect();
    assert_eq!(sides.len(), 2, "threads that send once for each round trip");
    for calls in sides {
        let sends = sends(calls);
        let rounds = sends.windows(2).filter(|ends| calls[ends[1]].at - calls[ends[0]].at <= QUICK);
        let quick: Vec<&[Call]> = rounds.map(|ends| &calls[ends[0] + 1..ends[1]]).collect();
        let is_other = |calls: &&&[Call]| !matches!(calls, [call] if call.name == "recvfrom");
        let others: Vec<_> = quick.iter().filter(is_other).collect();
        println!(
            "{test}: {} of {} quick round trips with more than one call each",
            others.len(),
            quick.len()
        );
        if quick.len() as u64 <= ROUNDS / 20 {
            println!("{test}: passed over: the machine is too slow for it now");
            continue;
        }
        let some = others.get(others.len() / 2);
        assert!(others.len() * 4 < quick.len() * 3, "{} of {} as {some:?}", others.len(), quick.len());
    }
}

/// A node that answers every datagram of the other one, and counts down.
fn bouncing(left: Arc<AtomicU64>) -> Arc<Node> {
    let answer = transmit(b"answer", 0);
    let callback = move |node: &Node, _, _: &[u8]| {
        if left.fetch_sub(1, SeqCst) > 1 {
            node.host.send(Channel::User, &Node::path(node.other()), &answer);
        }
    };
    Node::with(&Config::default(), Some(Box::new(callback)), None)
}

#[test]
fn by_callbacks() {
    if !is_alone() {
        return check("calls::by_callbacks");
    }
    alone(|| {
        let left = [(); 2].map(|()| Arc::new(AtomicU64::new(ROUNDS)));
        let [one, other] = left.each_ref().map(|left| bouncing(Arc::clone(left)));
        one.send(Channel::User, other.user(), b"first");
        one.watch(|| left.iter().any(|left| left.load(SeqCst) == 0));
        one.host.close();
        other.host.close();
    });
}

#[test]
fn by_leaders() {
    if !is_alone() {
        return check("calls::by_leaders");
    }
    alone(|| {
        let got = [(); 2].map(|()| Arc::new(AtomicU64::new(0)));
        let [one, other] = got.each_ref().map(|got| {
            let got = Arc::clone(got);
            let count = move |_: &Node, _, _: &[u8]| {
                got.fetch_add(1, SeqCst);
            };
            Node::with(&Config::default(), Some(Box::new(count)), None)
        });
        let [from_other, from_one] = &got;
        let datagram = transmit(b"datagram", 0);
        let (to_one, to_other) = (Node::path(one.user()), Node::path(other.user()));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 1..=ROUNDS {
                    other.wait(|| from_one.load(SeqCst) == round);
                    other.host.send(Channel::User, &to_one, &datagram);
                }
            });
            for round in 1..=ROUNDS {
                one.host.send(Channel::User, &to_other, &datagram);
                one.wait(|| from_other.load(SeqCst) == round);
            }
        });
        one.host.close();
        other.host.close();
    });
}
