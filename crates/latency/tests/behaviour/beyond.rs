//! Limits that rest on other methods than the sum of shares: at limits below what TFA++ keeps.
use crate::random::Random;
use crate::tfa::networks::{
    METER, Network, admitted, first_in_first_out, network_of_levels, with_frames, with_limits,
};
use crate::tfa::published::CASES;
use latency::certificate::{Certificate, Proof};
use latency::check::{Fault, check};
use latency::facts::{Date, Fact, PARTS, Who};
use latency::ledger::{FlowId, Ledger};
use latency::network::Policing;
use latency::program::{Program, Solver};
use latency::split::Split;

fn ids(network: &Network) -> impl Iterator<Item = FlowId> + use<> {
    0..network.flows.len() as FlowId
}

/// All that is promised is seen to be kept: shares, limits, and evidence by the checker.
fn judge(ledger: &Ledger, ids: impl Iterator<Item = FlowId>, what: &str) {
    for port in 0..ledger.ports().len() {
        assert_eq!(ledger.audit(port), Ok(()), "{what}: port {port}");
    }
    for id in ids {
        let Some(admitted) = ledger.flow(id) else { continue };
        let bounds = ledger.bounds(id).unwrap_or_else(|| panic!("{what}: flow {id} has no bounds"));
        for (bound, subscriber) in bounds.iter().zip(&admitted.flow.subscribers) {
            assert!(bound.latency <= subscriber.limit, "{what}: flow {id}: {bound:?}, {subscriber:?}");
        }
        let evidence = ledger.certificate(id).unwrap_or_else(|| panic!("{what}: flow {id} without evidence"));
        assert_eq!(check(&evidence, ledger.ports()), Ok(()), "{what}: flow {id}");
        assert_eq!(admitted.by_sum, evidence.proofs.iter().all(Option::is_none), "{what}: flow {id}");
    }
}

/// Admits flows in their order.
fn admit(network: &Network) -> Ledger {
    admitted(network, Some(solver::multipliers))
}

/// How many flows there are, and how many of them rest on another method.
fn count(ledger: &Ledger, network: &Network) -> (usize, usize) {
    let flows = || ids(network).filter_map(|id| ledger.flow(id));
    (flows().count(), flows().filter(|admitted| !admitted.by_sum).count())
}

/// The published networks, with meters or without, with one queue or several.
fn published(factor: f64) -> impl Iterator<Item = (String, Network)> {
    let with = move |case| {
        let kinds = [(Policing::Trusted, 1), (Policing::Trusted, 8), (METER, 1), (METER, 8)];
        kinds.map(|(policing, queues)| {
            let mut network = with_frames(case, policing, queues);
            with_limits(&mut network, factor).unwrap();
            (format!("{}, {policing:?}, {queues} queues", case.name), network)
        })
    };
    CASES.iter().flat_map(with)
}

/// The published networks where frames of different flows may overtake each other on their way into queues.
fn varying(factor: f64) -> impl Iterator<Item = (String, Network)> {
    CASES.iter().map(move |case| {
        let mut network = with_frames(case, Policing::Trusted, 1);
        let servers = case.servers.len();
        network.ports.iter_mut().take(servers).for_each(|port| port.most_multiplexing = 900_000_000);
        with_limits(&mut network, factor).unwrap();
        (format!("{}, varying", case.name), network)
    })
}

/// Networks with limits below what TFA++ keeps, of which some flows rest on another method.
fn networks() -> impl Iterator<Item = (String, Network, Ledger)> {
    let seeds = tiers::current().seeds("latency.programs");
    let random = seeds.flat_map(|seed| {
        let mut less = first_in_first_out(seed);
        with_limits(&mut less, [0.95, 0.9, 0.8, 0.7][seed as usize % 4]).unwrap();
        [(format!("seed {seed}"), less), (format!("levels, seed {seed}"), network_of_levels(seed))]
    });
    random.chain(published(0.95)).chain(varying(0.97)).filter_map(|(what, network)| {
        let ledger = admit(&network);
        (count(&ledger, &network).1 > 0).then_some((what, network, ledger))
    })
}

#[test]
fn below_tfa_what_another_method_meets_is_admitted_and_kept() {
    let (mut flows, mut resting) = (0, 0);
    for (what, network, ledger) in networks() {
        judge(&ledger, ids(&network), &what);
        let counted = count(&ledger, &network);
        flows += counted.0;
        resting += counted.1;
    }
    println!("{resting} of {flows} flows rest on another method");
    assert!(resting > 10, "{resting}");
}

/// Bounds grow with what arrives: when a flow leaves, all others keep what they have, and none has a larger bound than before.
#[test]
fn who_leaves_does_no_harm() {
    let mut looked_at = 0;
    for (what, network, mut ledger) in networks() {
        let mut random = Random::new(looked_at);
        let mut there: Vec<FlowId> = ids(&network).filter(|id| ledger.flow(*id).is_some()).collect();
        while !there.is_empty() {
            let before: Vec<_> = there.iter().map(|id| ledger.linear_program(*id, 0)).collect();
            let leaves = random.range(0, there.len() as u64 - 1) as usize;
            ledger.remove(there[leaves]);
            for (id, before) in there.iter().zip(before).filter(|(id, _)| **id != there[leaves]) {
                let Some(before) = before else { continue };
                let after = ledger.linear_program(*id, 0).unwrap();
                // A solver is not exact.
                assert!(after.latency <= before.latency + 100, "{what}: {id}: {before:?}, then {after:?}");
                looked_at += 1;
            }
            there.remove(leaves);
            judge(&ledger, there.iter().copied(), &what);
        }
    }
    assert!(looked_at > 10, "{looked_at}");
}

/// A ledger that begins anew takes the flows up again in any order.
#[test]
fn flows_that_rest_on_a_method_are_put_back() {
    let mut put_back = 0;
    for (what, network, ledger) in networks() {
        let mut restored = Ledger::new(ledger.ports().to_vec(), ledger.split());
        restored.use_solver(solver::multipliers);
        let mut there: Vec<FlowId> = ids(&network).filter(|id| ledger.flow(*id).is_some()).collect();
        if put_back % 2 == 0 {
            there.reverse();
        }
        for id in &there {
            let admitted = ledger.flow(*id).unwrap();
            let levels: Vec<u8> = admitted
                .flow
                .tree
                .iter()
                .map(|hop| {
                    ledger.entries(hop.port).iter().find(|entry| entry.flow == *id).unwrap().contender.level
                })
                .collect();
            let again = restored.restore(*id, &admitted.flow, &admitted.shares, &levels);
            assert_eq!(again.as_ref(), Ok(admitted), "{what}: flow {id}");
            put_back += usize::from(!admitted.by_sum);
            // With a limit that no method meets it would not be.
            let mut less = admitted.flow.clone();
            less.subscribers.iter_mut().for_each(|subscriber| subscriber.limit /= 2);
            let mut other = restored.clone();
            other.remove(*id);
            let before = other.clone();
            if other.restore(*id, &less, &admitted.shares, &levels).is_ok() {
                judge(&other, ids(&network), &format!("{what}: flow {id}, half its limit"));
            } else {
                assert_eq!(other, before, "{what}: flow {id}");
            }
        }
        for port in 0..ledger.ports().len() {
            assert_eq!(restored.entries(port), ledger.entries(port), "{what}: port {port}");
        }
    }
    assert!(put_back > 10, "{put_back}");
}

/// Evidence whose limits or proofs are other ones does not hold.
#[test]
fn forged_proofs_are_refused() {
    let (mut forged, mut programs) = (0, 0);
    for (what, network, ledger) in networks() {
        for id in ids(&network) {
            let Some(good) = ledger.certificate(id) else { continue };
            for subscriber in 0..good.proofs.len() {
                let Some(proof) = &good.proofs[subscriber] else { continue };
                let check = |change: &dyn Fn(&mut Certificate)| {
                    let mut certificate = good.clone();
                    change(&mut certificate);
                    check(&certificate, ledger.ports())
                };
                let refused = Err(Fault::Limit { subscriber });
                assert_eq!(check(&|it| it.proofs[subscriber] = None), refused, "{what}: flow {id}");
                let bound = ledger.rests_on(id, subscriber).unwrap().latency;
                let limit = |limit: u64| check(&|it| it.flow.subscribers[subscriber].limit = limit);
                assert_eq!(limit(bound), Ok(()), "{what}: flow {id}");
                assert_eq!(limit(bound - 2), refused, "{what}: flow {id}");
                forged += 1;
                let Proof::Facts(facts) = proof else { continue };
                programs += 1;
                let with = |facts: Vec<(Fact, u128)>| {
                    // The bound is the limit, so that nothing may be missing.
                    check(&|it| {
                        it.flow.subscribers[subscriber].limit = bound;
                        it.proofs[subscriber] = Some(Proof::Facts(facts.clone()));
                    })
                };
                for at in 0..facts.len() {
                    let mut other = facts.clone();
                    for parts in [0, facts[at].1 / 2, facts[at].1 + PARTS, u128::MAX] {
                        other[at].1 = parts;
                        assert_eq!(
                            with(other.clone()),
                            refused,
                            "{what}: flow {id}: {:?} {parts}",
                            facts[at]
                        );
                    }
                    other[at].1 = facts[at].1;
                    for fact in no_facts(facts[at].0) {
                        other[at].0 = fact;
                        assert_eq!(with(other.clone()), refused, "{what}: flow {id}: {fact:?}");
                    }
                }
            }
        }
    }
    assert!(forged > 20 && programs > 10, "{forged}, {programs}");
}

/// What would be less than a fact, and is none.
fn no_facts(fact: Fact) -> Vec<Fact> {
    let none = Who::Crossing { first: 0, last: 200, link: Some(7) };
    match fact {
        Fact::Serves { of, .. } => {
            vec![
                Fact::Serves { of, hop: of + 1 },
                Fact::Serves { of: 255, hop: 255 },
                Fact::Serves { of: 255, hop: 0 },
            ]
        }
        Fact::Delays { .. } => vec![Fact::Delays { hop: 63 }, Fact::Delays { hop: 255 }],
        Fact::DelaysOf { hop, .. } => {
            vec![Fact::DelaysOf { of: hop, hop }, Fact::DelaysOf { of: 255, hop: 254 }]
        }
        Fact::Before { earlier, later } => {
            let other = Date::Comes { of: 255, hop: 255 };
            vec![Fact::Before { earlier: later, later: earlier }, Fact::Before { earlier: other, later }]
        }
        Fact::Offers { who, from, to } => {
            let other = Date::Passes(from.hop() + 1);
            vec![
                Fact::Offers { who, from: to, to: from },
                Fact::Offers { who: none, from, to },
                Fact::Offers { who, from, to: other },
                Fact::Offers { who, from: to, to },
            ]
        }
        Fact::Brings { link, from, to } => {
            vec![Fact::Brings { link, from: to, to: from }, Fact::Brings { link: u32::MAX, from, to }]
        }
        Fact::Grows { who, from, to } => {
            vec![Fact::Grows { who, from: to, to: from }, Fact::Grows { who: none, from, to }]
        }
        Fact::Carries { who, of, hop } => vec![
            Fact::Carries { who: none, of, hop },
            Fact::Carries { who, of: hop, hop },
            Fact::Carries { who, of: 255, hop: 254 },
        ],
        Fact::CarriesAll { hop, .. } => {
            vec![Fact::CarriesAll { of: hop, hop }, Fact::CarriesAll { of: 255, hop: 254 }]
        }
    }
}

/// The solver proposes and does not decide: whatever it says, what is admitted is kept.
#[test]
fn a_bad_proposal_promises_nothing_wrong() {
    fn noise(program: &Program) -> Option<Vec<f64>> {
        let mut good = solver::multipliers(program)?;
        for (at, multiplier) in good.iter_mut().enumerate() {
            *multiplier *= [1.0, 1.001, 0.999, 1.000_000_1][at % 4];
        }
        Some(good)
    }
    let few = |program: &Program| Some(vec![f64::NAN; program.rows.len() / 2]);
    let none = |program: &Program| Some(vec![-1.0; program.rows.len()]);
    let many = |program: &Program| Some(vec![f64::INFINITY; program.rows.len()]);
    let mut resting = 0;
    for (what, network) in published(0.9) {
        let mut counts = Vec::new();
        for solver in [solver::multipliers as Solver, noise, few, none, many] {
            let mut ledger = Ledger::new(network.ports.clone(), Split::Load);
            ledger.use_solver(solver);
            for (id, flow) in (0..).zip(&network.flows) {
                let _ = ledger.admit_as_asked(id, flow);
            }
            // Whether that is kept a good solver says.
            ledger.use_solver(solver::multipliers);
            judge(&ledger, ids(&network), &what);
            counts.push(count(&ledger, &network));
        }
        resting += counts[0].1;
        let without = admitted(&network, None);
        assert_eq!(counts[2..], [count(&without, &network); 3], "{what}");
    }
    assert!(resting > 10, "{resting}");
}

/// At limits below TFA++ that a program meets, more flows are admitted with programs than without; no network has fewer of these.
#[test]
fn programs_admit_more() {
    let (mut with, mut without) = (0, 0);
    for factor in [0.95, 0.9, 0.8] {
        for (what, network) in published(factor) {
            let [more, less] = [Some(solver::multipliers as Solver), None]
                .map(|solver| count(&admitted(&network, solver), &network).0);
            assert!(more >= less, "{factor} {what}: {more} with, {less} without");
            with += more;
            without += less;
        }
    }
    println!("{with} with, {without} without");
    assert!(with > without + 30, "{with} with, {without} without");
}
