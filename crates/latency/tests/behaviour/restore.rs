//! Flows that were admitted once are put back as they were, in whatever order.

use crate::networks::random_network;
use crate::random::Random;
use latency::ledger::{Admitted, Ledger, Reason};

/// What is to be kept of a flow.
fn kept(ledger: &Ledger, id: u64) -> (Admitted, Vec<u8>) {
    let admitted = ledger.flow(id).unwrap().clone();
    let level =
        |port: usize| ledger.entries(port).iter().find(|entry| entry.flow == id).unwrap().contender.level;
    let levels = admitted.flow.tree.iter().map(|hop| level(hop.port)).collect();
    (admitted, levels)
}

#[test]
fn a_restored_ledger_is_the_same() {
    let mut restored_flows = 0;
    for seed in tiers::current().seeds("latency.networks") {
        let mut random = Random::new(seed);
        let (ledger, flows) = random_network(&mut random);
        let mut restored = Ledger::new(ledger.ports().to_vec(), ledger.split());
        let mut ids: Vec<u64> = flows.keys().copied().collect();
        if random.range(0, 1) == 0 {
            ids.reverse();
        }
        for id in ids {
            let (admitted, levels) = kept(&ledger, id);
            let again = restored.restore(id, &admitted.flow, &admitted.shares, &levels).unwrap();
            assert_eq!(again, admitted, "seed {seed}, flow {id}");
            assert_eq!(restored.restore(id, &admitted.flow, &admitted.shares, &levels), Err(Reason::Known));
            restored_flows += 1;
        }
        for port in 0..ledger.ports().len() {
            assert_eq!(restored.entries(port), ledger.entries(port), "seed {seed}, port {port}");
        }
    }
    assert!(restored_flows > 100);
}

#[test]
fn what_does_not_fit_leaves_the_ledger_as_it_was() {
    for seed in tiers::current().seeds("latency.networks") {
        let (mut ledger, flows) = random_network(&mut Random::new(seed));
        for (id, flow) in flows {
            let (admitted, levels) = kept(&ledger, id);
            ledger.remove(id).unwrap();
            let before = ledger.clone();
            let less = vec![0; admitted.shares.len()];
            assert!(
                ledger.restore(id, &flow, &less, &levels).is_err(),
                "seed {seed}: no message takes no time"
            );
            assert!(ledger.restore(id, &flow, &admitted.shares[1..], &levels).is_err());
            assert!(ledger.restore(id, &flow, &admitted.shares, &levels[1..]).is_err());
            let none: Vec<u8> = levels.iter().map(|_| u8::MAX).collect();
            let refused = ledger.restore(id, &flow, &admitted.shares, &none);
            assert!(matches!(refused, Err(Reason::Queues { .. })));
            assert_eq!(ledger, before, "seed {seed}, flow {id}");
            ledger.restore(id, &flow, &admitted.shares, &levels).unwrap();
        }
    }
}
