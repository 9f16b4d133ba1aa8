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

/// One send and one receive call at each side, and nothing else: waking another thread would be a call too. A call more in each round
/// trip would leave none as it should be. When the machine is slow, some are otherwise: the own thread takes the socket back
/// meanwhile and has to be asked again.
fn check(test: &str) {
    let Some(threads) = system_calls(test) else { return };
    let sends = |calls: &[Call]| calls.iter().filter(|call| call.name == "sendto").count() as u64;
    let sides: Vec<_> = threads.iter().filter(|calls| sends(calls) > ROUNDS / 2).collect();
    assert_eq!(sides.len(), 2, "threads that send once for each round trip");
    for calls in sides {
        let all: Vec<_> = calls.split(|call| call.name == "sendto").skip(1).collect();
        let is_other = |calls: &[Call]| !matches!(calls, [call] if call.name == "recvfrom");
        let others: Vec<_> = all.iter().filter(|calls| is_other(calls)).collect();
        println!("{test}: {} of {} round trips with more than one call each", others.len(), all.len());
        let some = others.get(others.len() / 2);
        assert!(others.len() * 4 < all.len() * 3, "{} of {} as {some:?}", others.len(), all.len());
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
