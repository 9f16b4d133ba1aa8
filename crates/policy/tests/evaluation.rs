//! What a policy allows, against sentences of it and against another evaluation of the same rules.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::{IpAddr, Ipv4Addr};

use policy::{Ask, Effect, Held, Limits, Policy, Rule, Subject, Who, rate};

/// The address of a host.
const HERE: [IpAddr; 1] = [IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1))];

fn rule(line: u32, who: &[Who], topics: &[&str]) -> Rule {
    Rule {
        line,
        effect: Effect::Allow,
        who: who.to_vec(),
        topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
        limits: Limits::default(),
    }
}

fn user(pattern: &str) -> Who {
    Who::User(pattern.to_owned())
}

fn ask(subject: Subject<'static>, topic: &'static str) -> Ask<'static> {
    Ask {
        subject,
        topic,
        importance: 5,
        maximum_latency: 2_000_000,
        rate: Some(1_000),
        link: Some(1_000_000),
    }
}

fn refused(policy: &Policy, ask: Ask<'_>, held: Held) -> String {
    policy.check_with(&ask, held).unwrap_err().to_string()
}

#[test]
fn the_first_rule_that_fits_decides() {
    let deny = Rule { effect: Effect::Deny, ..rule(2, &[user("alice")], &["Vitals/secret"]) };
    let rules = vec![deny, rule(5, &[user("alice"), Who::Host("b*".to_owned())], &["Vitals/*"])];
    let policy = Policy { otherwise: Effect::Deny, rules };
    let host = |name| Subject::Host { name, addresses: &HERE };
    assert_eq!(policy.check(&ask(Subject::User("alice"), "Vitals/pulse")), Ok(()));
    assert_eq!(policy.check(&ask(host("b1"), "Vitals/secret")), Ok(()));
    let said = refused(&policy, ask(Subject::User("alice"), "Vitals/secret"), Held::default());
    assert!(said.contains("line 2"), "{said}");
    for ask in [
        ask(Subject::User("bob"), "Vitals/pulse"),
        ask(host("alice"), "Vitals/pulse"),
        ask(Subject::User("b1"), "Vitals/x"),
    ] {
        assert!(refused(&policy, ask, Held::default()).contains("no rule is for it"));
    }
    let open = Policy { otherwise: Effect::Allow, ..policy };
    assert_eq!(open.check(&ask(Subject::User("bob"), "Vitals/pulse")), Ok(()));
}

#[test]
fn addresses_fit_by_their_first_bits() {
    let [four, six] = ["10.1.2.3", "fd00:1::2:3"].map(|address| address.parse::<IpAddr>().unwrap());
    for (address, first, bits, is_in) in [
        (four, "10.1.2.3", 32, true),
        (four, "10.1.2.2", 31, true),
        (four, "10.1.2.1", 31, false),
        (four, "10.1.0.0", 16, true),
        (four, "0.0.0.0", 0, true),
        (four, "11.0.0.0", 7, true),
        (four, "11.0.0.0", 8, false),
        (six, "fd00:1::2:3", 128, true),
        (six, "fd00:1::2:2", 127, true),
        (six, "fd00:1::2:1", 127, false),
        (six, "fc00::", 7, true),
        (six, "0.0.0.0", 0, false),
        (four, "::", 0, false),
    ] {
        let who = Who::Address(first.parse().unwrap(), bits);
        let policy = Policy { otherwise: Effect::Deny, rules: vec![rule(1, &[who], &[])] };
        let addresses = [address];
        let host = Subject::Host { name: "x", addresses: &addresses };
        assert_eq!(
            policy.check(&Ask { subject: host, ..ask(Subject::User("x"), "T") }).is_ok(),
            is_in,
            "{address} {first}/{bits}"
        );
        assert!(policy.check(&ask(Subject::User("x"), "T")).is_err(), "users are no hosts");
    }
}

/// A rule about either address of a host is for it, as one that allows and as one that does not.
#[test]
fn a_host_is_meant_by_each_of_its_addresses() {
    let both = ["10.1.2.3", "fd00::3"].map(|address| address.parse::<IpAddr>().unwrap());
    for (first, bits, is_meant) in
        [("10.1.2.3", 32, true), ("fd00::3", 128, true), ("10.1.2.4", 32, false), ("fd00::4", 128, false)]
    {
        let who = [Who::Address(first.parse().unwrap(), bits)];
        for effect in [Effect::Allow, Effect::Deny] {
            let otherwise = if effect == Effect::Allow { Effect::Deny } else { Effect::Allow };
            let policy = Policy { otherwise, rules: vec![Rule { effect, ..rule(1, &who, &[]) }] };
            for addresses in [both, [both[1], both[0]]] {
                let subject = Subject::Host { name: "x", addresses: &addresses };
                let is_allowed = policy.check(&Ask { subject, ..ask(Subject::User("x"), "T") }).is_ok();
                assert_eq!(is_allowed, is_meant == (effect == Effect::Allow), "{first} {effect:?}");
            }
        }
    }
}

#[test]
fn each_limit_is_told_with_its_line_and_what_would_be_allowed() {
    let limits = Limits {
        flows: Some(2),
        rate: Some(5_000),
        share: Some(4_000),
        importance: Some(7),
        least_latency: Some(1_000_000),
    };
    let policy = Policy { otherwise: Effect::Allow, rules: vec![Rule { limits, ..rule(9, &[], &[]) }] };
    let good = ask(Subject::User("alice"), "T");
    let held = |flows, rate| Held { flows, rate };
    // 0.4 % of 1 Mb/s are 4,000 b/s, which is less than the rate.
    assert_eq!(policy.check_with(&good, held(1, 3_000)), Ok(()));
    for (ask, held, words) in [
        (Ask { importance: 8, ..good }, held(0, 0), "importance of 8: at most 7"),
        (Ask { maximum_latency: 999_999, ..good }, held(0, 0), "latency of 999999 ns: 1 ms or more"),
        (good, held(2, 0), "one more flow: it has 2 of 2"),
        (good, held(1, 3_001), "1000 b/s more: 999 b/s are, of 4000 b/s"),
        (Ask { link: Some(2_000_000), ..good }, held(1, 4_001), "999 b/s are, of 5000 b/s"),
        (Ask { rate: None, ..good }, held(0, 0), "unknown rate"),
        (Ask { link: None, ..good }, held(0, 0), "link of unknown rate"),
        (Ask { rate: Some(u64::MAX), ..good }, held(1, 1), "b/s more"),
    ] {
        let said = refused(&policy, ask, held);
        assert!(said.contains(words) && said.contains("line 9"), "{words}: {said}");
    }
}

#[test]
fn rates_are_rounded_up() {
    assert_eq!(rate(8, 1_000_000_000_000), Some(8));
    assert_eq!(rate(1, 3_000_000_000_000), Some(1));
    assert_eq!(rate(1_000, 999_999_999_999), Some(1_001));
    assert_eq!((rate(1, 0), rate(u64::MAX, 1)), (None, None));
}
