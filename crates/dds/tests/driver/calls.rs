//! What a round trip costs in system calls.
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;

use dds::config::Config;
use dds::host::{Channel, Host};

use crate::namespace::alone;
use crate::node::{Node, transmit};
use crate::process::system_calls;

const ROUNDS: &str = "PUNCTUAL_TEST_ROUNDS";
/// The difference of two runs of a test, in calls for each further round trip.
fn calls_per_round(test: &str) -> Option<Vec<(String, f64)>> {
    let [few, many] = [1_000_u64, 3_000].map(|rounds| {
        let file =
            std::env::temp_dir().join(format!("punctual-calls-{}-{test}-{rounds}", std::process::id()));
        system_calls(&format!("calls::{test}"), &[(ROUNDS, &rounds.to_string())], &file)
    });
    let few = few?;
    let before = |name: &String| few.iter().find(|(other, _)| other == name).map_or(0, |(_, count)| *count);
    let calls = many?.into_iter().map(|(name, count)| {
        let more = count.saturating_sub(before(&name)) as f64 / 2_000.0;
        (name, more)
    });
    Some(calls.filter(|(_, calls)| *calls > 0.001).collect())
}

fn rounds() -> Option<u64> {
    std::env::var(ROUNDS).ok().map(|rounds| rounds.parse().unwrap())
}

/// One send and one receive call at each side, and no hand-over to another thread: that would cost a futex call to wake and one to
/// wait. A few looks by time remain, which strace makes many by making everything else slow.
fn check(test: &str) {
    let Some(calls) = calls_per_round(test) else { return };
    println!("{test}: {calls:.3?}");
    let count = |name: &str| calls.iter().find(|(other, _)| other == name).map_or(0.0, |(_, calls)| *calls);
    for name in ["sendto", "recvfrom"] {
        assert!((1.99..=2.01).contains(&count(name)), "{name} {:.3} times for a round trip", count(name));
    }
    let others: f64 = calls.iter().map(|(_, calls)| calls).sum::<f64>() - count("sendto") - count("recvfrom");
    assert!(others < 0.5, "{others:.2} other system calls for a round trip: {calls:.3?}");
}

/// A node that sends every datagram back to where it came from, and counts down.
fn bouncing(left: Arc<AtomicU64>) -> Arc<Node> {
    let answer = transmit(b"answer", 0);
    let callback = move |node: &Node, from, _: &[u8]| {
        if left.fetch_sub(1, SeqCst) > 1 {
            node.host.send(Channel::User, &Node::path(from), &answer);
        }
    };
    Node::with(&Config::default(), Some(Box::new(callback)), None)
}

#[test]
fn by_callbacks() {
    let Some(rounds) = rounds() else { return check("by_callbacks") };
    alone(|| {
        let left = [(); 2].map(|()| Arc::new(AtomicU64::new(rounds)));
        let [one, other] = left.each_ref().map(|left| bouncing(Arc::clone(left)));
        one.send(Channel::User, other.user(), b"first");
        one.watch(|| left.iter().any(|left| left.load(SeqCst) == 0));
        one.host.close();
        other.host.close();
    });
}

#[test]
fn by_leaders() {
    let Some(rounds) = rounds() else { return check("by_leaders") };
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
                for round in 1..=rounds {
                    other.wait(|| from_one.load(SeqCst) == round);
                    other.host.send(Channel::User, &to_one, &datagram);
                }
            });
            for round in 1..=rounds {
                one.host.send(Channel::User, &to_other, &datagram);
                one.wait(|| from_other.load(SeqCst) == round);
            }
        });
        one.host.close();
        other.host.close();
    });
}
