//! What a policy allows, against sentences of it and against another evaluation of the same rules.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use policy::{Ask, Effect, Held, Limits, Policy, Rule, Subject, Who, rate};

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
    let host = |name| Subject::Host { name, address: [10, 0, 0, 1] };
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
    for (first, bits, is_in) in [
        ([10, 1, 2, 3], 32, true),
        ([10, 1, 2, 2], 31, true),
        ([10, 1, 2, 1], 31, false),
        ([10, 1, 0, 0], 16, true),
        ([0; 4], 0, true),
        ([11, 0, 0, 0], 7, true),
        ([11, 0, 0, 0], 8, false),
    ] {
        let policy =
            Policy { otherwise: Effect::Deny, rules: vec![rule(1, &[Who::Address(first, bits)], &[])] };
        let host = Subject::Host { name: "x", address: [10, 1, 2, 3] };
        assert_eq!(policy.check(&ask(host, "T")).is_ok(), is_in, "{first:?}/{bits}");
        assert!(policy.check(&ask(Subject::User("x"), "T")).is_err(), "users are no hosts");
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
