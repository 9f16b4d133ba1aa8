//! Requests under a policy: nothing is granted that it forbids. The judge reads the rules by itself and shares no code with what decides.
use std::net::IpAddr;

use control::action::Asker;
use control::config::Config;
use control::network::Network;
use control::note::Note;
use policy::{Effect, Limits, Policy, Rule, Who};
use wire::admission::{Address, Contract, Request, State};

use crate::by_hand::question;
use crate::cases::{MS, at_once, one_switch, pair};
use crate::random::Random;
use crate::signing::USERS;
use crate::world::{Pair, World, address, address6, guid, over_ipv6, request};

/// Rates of the links of the network of these tests.
const LINK: u128 = 1_000_000_000;

fn world(policy: Policy, signed: bool) -> World {
    let config = Config { policy: Some(policy), signed, ..Config::default() };
    let mut world = World::new(one_switch(), config);
    world.connect_all();
    world
}

fn user(name: &str) -> Asker {
    Asker::User(name.to_owned())
}

fn allow(who: &[Who], topics: &[&str], limits: Limits) -> Rule {
    let topics = topics.iter().map(|topic| (*topic).to_owned()).collect();
    Rule { line: 3, effect: Effect::Allow, who: who.to_vec(), topics, limits }
}

fn asked(pair: Pair, topic: &str, importance: u8, limit: u64) -> Request {
    let number = u16::from(pair.0.to_bytes()[3]);
    let mut contract = at_once(500, 20 * MS);
    contract.importance = importance;
    let request = request(pair, 1, 0, 3, (5_000 + number, 6_000 + number), contract, limit);
    Request { topic: topic.to_owned(), ..request }
}

fn reason(world: &World, pair: Pair) -> &str {
    &world.verdicts[&pair].reason
}

#[test]
fn who_may_not_ask_is_told_the_line_and_what_is_allowed() {
    let limits =
        Limits { flows: Some(1), importance: Some(5), least_latency: Some(2 * MS), ..Limits::default() };
    let rules = vec![allow(&[Who::User("alice".to_owned())], &["Vitals/*"], limits)];
    let mut world = world(Policy { otherwise: Effect::Deny, rules }, true);
    world.ask_as(asked(pair(1), "Vitals/a", 5, 15 * MS), user("alice"));
    world.ask_as(asked(pair(2), "Vitals/b", 5, 15 * MS), user("alice"));
    world.ask_as(asked(pair(3), "Vitals/c", 6, 15 * MS), user("alice"));
    world.ask_as(asked(pair(4), "Other", 0, 15 * MS), user("alice"));
    world.ask_as(asked(pair(5), "Vitals/d", 0, 15 * MS), user("bob"));
    world.ask_as(asked(pair(6), "Vitals/e", 0, MS), user("alice"));
    world.ask_as(asked(pair(7), "Vitals/f", 0, 15 * MS), Asker::Unknown("it has no key".to_owned()));
    world.settle();
    assert_eq!(world.state(pair(1)), Some(State::Admitted));
    for (number, words) in [
        (2, "line 3, does not allow user alice one more flow: it has 1 of 1"),
        (3, "importance of 6: at most 5 is"),
        (4, "no rule is for it"),
        (5, "no rule is for it"),
        (6, "maximum latency of 1 ms: 2 ms or more is"),
        (7, "it has no key"),
    ] {
        assert_eq!(world.state(pair(number)), Some(State::Refused), "pair {number}");
        assert!(reason(&world, pair(number)).contains(words), "{words}: {}", reason(&world, pair(number)));
    }
    // A request without a signature does not change what is there, whatever it says.
    world.ask_as(
        Request { serial: 9, maximum_latency: 1, ..asked(pair(1), "Vitals/a", 5, MS) },
        Asker::Unknown("no".to_owned()),
    );
    world.settle();
    assert_eq!((world.state(pair(1)), world.verdicts[&pair(1)].serial), (Some(State::Admitted), 1));
    // Its place becomes free for another one.
    world.withdraw(pair(1));
    world.settle();
    world.ask_as(Request { serial: 2, ..asked(pair(2), "Vitals/b", 5, 15 * MS) }, user("alice"));
    world.settle();
    assert_eq!(world.state(pair(2)), Some(State::Admitted));
    // More importance than is allowed is refused, and not lowered; what it had goes.
    let greedy = asked(pair(2), "Vitals/b", 200, 15 * MS);
    world.ask_as(Request { serial: 3, ..greedy }, user("alice"));
    world.settle();
    assert_eq!(world.state(pair(2)), Some(State::Refused));
    assert!(reason(&world, pair(2)).contains("at most 5 is"));
    let refused = |note: &Note| matches!(note, Note::Refused(..));
    assert!(std::iter::from_fn(|| world.manager.poll_note()).any(|note| refused(&note)));
}

#[test]
fn what_if_goes_through_the_policy() {
    let limits = Limits { importance: Some(5), ..Limits::default() };
    let rules = vec![allow(&[Who::User("alice".to_owned())], &["T"], limits)];
    let world = world(Policy { otherwise: Effect::Deny, rules }, true);
    let asked = |name: &str, importance| {
        let mut contract = at_once(500, 20 * MS);
        contract.importance = importance;
        let question =
            control::what_if::Question { user: name.to_owned(), ..question(&world, 0, 3, contract, 15 * MS) };
        world.manager.what_if(&question).unwrap()
    };
    use control::what_if::Outcome::{Admitted, Refused};
    assert_eq!(asked("alice", 5).outcome, Admitted);
    assert_eq!(asked("alice", 6).outcome, Refused);
    assert!(asked("bob", 5).reason.contains("no rule is for it"));
    assert!(asked("", 5).reason.contains("say which user"));
}

/// A rule about one address of a host is for it, whichever of them it asks from: one that denies, and the limits of one that allows.
#[test]
fn a_rule_about_an_address_is_for_the_other_addresses_of_its_host() {
    let both = |number: u8| {
        let six = over_ipv6(asked(pair(number), "T", 0, 15 * MS), 0, 3);
        let contract = Contract { datagram: 1_452, ..six.contract };
        [asked(pair(10 + number), "T", 0, 15 * MS), Request { contract, ..six }]
    };
    for (about, bits) in [(address(3), 32), (address6(3), 128)] {
        let who = vec![Who::Address(about.ip(), bits)];
        let deny = Rule {
            line: 3,
            effect: Effect::Deny,
            who: who.clone(),
            topics: vec![],
            limits: Limits::default(),
        };
        let mut world = world(Policy { otherwise: Effect::Allow, rules: vec![deny] }, false);
        both(1).into_iter().for_each(|request| world.ask(request));
        world.settle();
        for number in [1, 11] {
            assert_eq!(world.state(pair(number)), Some(State::Refused), "{about}");
            assert!(reason(&world, pair(number)).contains("line 3, does not allow host h3"));
        }
        // One flow is one flow.
        let limits = Limits { flows: Some(1), ..Limits::default() };
        let policy = Policy { otherwise: Effect::Deny, rules: vec![allow(&who, &[], limits)] };
        let mut world = self::world(policy, false);
        for request in both(1) {
            world.ask(request);
            world.settle();
        }
        assert_eq!(world.state(pair(11)), Some(State::Admitted), "{}", reason(&world, pair(11)));
        assert_eq!(world.state(pair(1)), Some(State::Refused), "{about}");
        assert!(reason(&world, pair(1)).contains("it has 1 of 1"), "{}", reason(&world, pair(1)));
        // What would become of a request is the same.
        let question = question(&world, 0, 3, at_once(500, 20 * MS), 15 * MS);
        let answer = world.manager.what_if(&question).unwrap();
        assert!(answer.reason.contains("it has 1 of 1"), "{}", answer.reason);
        // Another host has nothing of it.
        world.ask(Request {
            destination: wire::admission::Socket { address: address(2), port: 6_050 },
            ..asked(pair(20), "T", 0, 15 * MS)
        });
        world.settle();
        assert!(reason(&world, pair(20)).contains("no rule is for it"));
    }
    // The limit of requests of a host is one for all its addresses.
    let mut world = World::new(one_switch(), Config { most_requests_of_host: 1, ..Config::default() });
    world.connect_all();
    both(1).into_iter().for_each(|request| world.ask(request));
    world.settle();
    assert_eq!(
        [11, 1].map(|number| world.state(pair(number))),
        [Some(State::Admitted), Some(State::Refused)]
    );
    assert!(reason(&world, pair(1)).contains("host h3 has 1 requests already"));
}

#[test]
fn a_user_has_no_more_requests_than_it_may() {
    let config = Config { most_requests_of_user: 2, signed: true, ..Config::default() };
    let mut world = World::new(one_switch(), config);
    world.connect_all();
    for number in 1..=3 {
        world.ask_as(asked(pair(number), "T", 0, 15 * MS), user("alice"));
    }
    world.ask_as(asked(pair(4), "T", 0, 15 * MS), user("bob"));
    world.settle();
    assert_eq!([1, 2, 4].map(|number| world.state(pair(number))), [Some(State::Admitted); 3]);
    assert!(
        reason(&world, pair(3)).contains("user alice has 2 requests already"),
        "{}",
        reason(&world, pair(3))
    );
}

/// Whether a text fits a pattern, by trying all that a star may stand for.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    match pattern.split_first() {
        None => text.is_empty(),
        Some((b'*', rest)) => (0..=text.len()).any(|skipped| fits(rest, &text[skipped..])),
        Some((b'?', rest)) => !text.is_empty() && fits(rest, &text[1..]),
        Some((one, rest)) => text.first() == Some(one) && fits(rest, &text[1..]),
    }
}

/// The rule for a request, as the judge reads the list.
fn judged_rule<'p>(
    policy: &'p Policy,
    asker: &Asker,
    host: &[Address],
    topic: &str,
) -> Option<(usize, &'p Rule)> {
    policy.rules.iter().enumerate().find(|(_, rule)| {
        let meant = rule.who.is_empty()
            || rule.who.iter().any(|who| match (who, asker) {
                (Who::User(pattern), Asker::User(name)) => fits(pattern.as_bytes(), name.as_bytes()),
                (Who::Address(first, bits), Asker::Anyone) => host.iter().any(|address| {
                    let (first, host) = (bytes(*first), bytes(address.ip()));
                    let same = |bit: usize| (first[bit / 8] ^ host[bit / 8]) >> (7 - bit % 8) & 1 == 0;
                    first.len() == host.len() && (0..usize::from(*bits)).all(same)
                }),
                _ => false,
            });
        meant
            && (rule.topics.is_empty()
                || rule.topics.iter().any(|pattern| fits(pattern.as_bytes(), topic.as_bytes())))
    })
}

/// All addresses that the network file has of the host with one of them, or that one alone.
fn addresses_beside(network: &Network, one: Address) -> Vec<Address> {
    let host = network.hosts.iter().find(|host| host.all_addresses().any(|(known, _)| known == one));
    host.map_or_else(|| vec![one], |host| host.all_addresses().map(|(known, _)| known).collect())
}

/// Finds what was granted and is forbidden, where links have this rate.
pub(crate) fn judge(policy: &Policy, granted: &[(Request, Asker)], link: u128, network: &Network) {
    let mut sums = std::collections::BTreeMap::<(usize, String), (u128, u128)>::new();
    for (request, asker) in granted {
        let host = addresses_beside(network, request.destination.address);
        let rule = judged_rule(policy, asker, &host, &request.topic);
        let Some((number, rule)) = rule else {
            assert_eq!(policy.otherwise, Effect::Allow, "no rule allows {request:?} to {asker:?}");
            continue;
        };
        assert_eq!(rule.effect, Effect::Allow, "{request:?} {asker:?}");
        assert!(rule.limits.importance.is_none_or(|most| request.contract.importance <= most), "{request:?}");
        assert!(
            rule.limits.least_latency.is_none_or(|least| request.maximum_latency >= least),
            "{request:?}"
        );
        // Payload, RTPS, UDP, IPv4 and Ethernet with preamble and gap: at least so much is on the wire.
        let bits = u128::from(request.contract.largest_message + 20 + 28 + 38) * 8;
        let whose = match asker {
            Asker::User(name) => name.clone(),
            _ => format!("{host:?}"),
        };
        let sum = sums.entry((number, whose)).or_default();
        *sum = (sum.0 + 1, sum.1 + bits * 1_000_000_000 / u128::from(request.contract.minimum_separation));
    }
    for ((number, whose), (flows, rate)) in sums {
        let limits = policy.rules[number].limits;
        assert!(
            limits.flows.is_none_or(|most| flows <= u128::from(most)),
            "{whose} has {flows} flows: {limits:?}"
        );
        assert!(
            limits.rate.is_none_or(|most| rate <= u128::from(most)),
            "{whose} has {rate} b/s: {limits:?}"
        );
        let part = |share: u32| u128::from(share) * link / 1_000_000;
        assert!(limits.share.is_none_or(|share| rate <= part(share)), "{whose} has {rate} b/s: {limits:?}");
    }
}

pub(crate) const TOPICS: [&str; 5] = ["Vitals/a", "Vitals/b", "Alarms", "Other", "V"];

pub(crate) fn some_policy(random: &mut Random, signed: bool) -> Policy {
    let rules = (0..1 + random.below(4)).map(|number| {
        let who = match (random.below(4), signed) {
            (0, _) => Vec::new(),
            (1, true) => vec![Who::User("ward-*".to_owned())],
            (_, true) => vec![Who::User((*random.of(&USERS)).to_owned())],
            (_, false) => vec![Who::Address(address(random.below(4)).ip(), *random.of(&[8, 24, 31, 32]))],
        };
        let topics = match random.below(3) {
            0 => Vec::new(),
            1 => vec!["V*".to_owned()],
            _ => vec![(*random.of(&TOPICS)).to_owned(), "*larm?".to_owned()],
        };
        let limits = Limits {
            flows: random.one_in(2).then(|| random.below(4) as u32),
            rate: random.one_in(3).then(|| 100_000 * (1 + random.below(20)) as u64),
            share: random.one_in(3).then(|| 100 * (1 + random.below(20)) as u32),
            importance: random.one_in(2).then(|| random.below(4) as u8),
            least_latency: random.one_in(3).then(|| MS * (10 + random.below(10)) as u64),
        };
        let effect = if random.one_in(4) { Effect::Deny } else { Effect::Allow };
        let limits = if effect == Effect::Deny { Limits::default() } else { limits };
        Rule { line: number as u32 + 2, effect, who, topics, limits }
    });
    let rules = rules.collect();
    Policy { otherwise: if random.one_in(3) { Effect::Allow } else { Effect::Deny }, rules }
}

#[test]
fn nothing_is_granted_that_the_policy_forbids() {
    let (mut admitted, mut refused) = (0, 0);
    for seed in tiers::current().seeds("control.seeds").take(2_000) {
        let mut random = Random::new(seed);
        let signed = random.one_in(2);
        let policy = some_policy(&mut random, signed);
        let mut world = world(policy.clone(), signed);
        let mut there = std::collections::BTreeMap::<Pair, (Request, Asker)>::new();
        for step in 0..40_u64 {
            let number = 1 + random.below(24) as u8;
            // A participant is one user's and on one host.
            let (from, to) = (usize::from(number) % 2, 2 + usize::from(number / 2) % 2);
            let asker = if signed { user(USERS[usize::from(number) % USERS.len()]) } else { Asker::Anyone };
            let pair = (guid(1, number), guid(100 + number, number));
            if random.one_in(5) {
                world.withdraw(pair);
                there.remove(&pair);
            } else {
                let mut contract =
                    at_once(200 + 100 * random.below(10) as u32, MS * (5 + random.below(30)) as u64);
                contract.importance = random.below(6) as u8;
                let ports = (5_000 + u16::from(number), 6_000 + u16::from(number));
                let asked =
                    request(pair, step + 1, from, to, ports, contract, MS * (8 + random.below(20)) as u64);
                let asked = Request { topic: (*random.of(&TOPICS)).to_owned(), ..asked };
                world.ask_as(asked.clone(), asker.clone());
                there.insert(pair, (asked, asker));
            }
            if random.one_in(3) {
                world.settle();
            }
        }
        world.settle();
        let granted: Vec<(Request, Asker)> = there
            .iter()
            .filter(|(pair, _)| world.state(**pair) == Some(State::Admitted))
            .map(|(_, asked)| asked.clone())
            .collect();
        judge(&policy, &granted, LINK, &world.network);
        admitted += granted.len();
        refused += there.len() - granted.len();
    }
    assert!(admitted > 100 && refused > 100, "{admitted} admitted, {refused} refused");
}

/// The bytes of an address, 4 of IPv4 or 16 of IPv6.
fn bytes(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(four) => four.octets().to_vec(),
        IpAddr::V6(six) => six.octets().to_vec(),
    }
}
