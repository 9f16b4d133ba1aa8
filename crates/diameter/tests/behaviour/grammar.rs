//! Messages that the tests' own codec writes are read and written again as they were; what breaks the grammar is refused
//! with the Result-Code and the AVP that tell why.

use std::collections::BTreeSet;

use crate::independent::{Avp, COMMANDS, Kind, Message as Bytes, Value, kind_of, random_message};
use diameter::error::Problem;
use diameter::local::Local;
use diameter::value::Identity;
use diameter::{Message, ResultCode};
use testkit::random::Random;

fn local() -> Local {
    Local {
        host: Identity::new("here.example").unwrap(),
        realm: Identity::new("example").unwrap(),
        addresses: vec!["192.0.2.1".parse().unwrap()],
        product_name: "Punctual".into(),
        origin_state_id: 7,
        auth_applications: Vec::new(),
        acct_applications: Vec::new(),
    }
}

#[test]
fn what_others_write_is_read_and_written_again() {
    let mut tried = BTreeSet::new();
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::of_case(1, seed);
        for _ in 0..20 {
            let (index, message) = random_message(&mut random);
            let bytes = message.write();
            let (header, read) =
                Message::decode(&bytes).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let mut written = vec![0xaa; 3];
            read.encode(&header, &mut written).unwrap();
            assert_eq!(written[..3], [0xaa; 3]);
            assert_eq!(Bytes::read(&written[3..]).sorted(), message.sorted(), "seed {seed}");
            assert_eq!(Message::decode(&written[3..]), Ok((header, read)), "seed {seed}");
            tried.insert(index);
        }
    }
    assert_eq!(tried.len(), COMMANDS.len() + 1, "every command and the error were tried");
}

#[test]
fn what_is_missing_or_too_often_there_is_named() {
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::of_case(2, seed);
        let (index, message) = random_message(&mut random);
        let Some((.., grammar)) = COMMANDS.get(index) else { continue };
        let mut short = message.clone();
        let code = *random.pick(grammar.once).unwrap();
        short.avps.retain(|avp| avp.code != code);
        let failure = !message.is_request() && short.find(268).is_some() && ![264, 296].contains(&code);
        if failure {
            // A failure may lack what its command wants; it is then read as an error.
            let read = Message::decode(&short.write());
            assert!(matches!(read, Ok((_, Message::Error(_)))), "seed {seed}: {read:?}");
        }
        for avp in short.avps.iter_mut().filter(|avp| !message.is_request() && avp.code == 268) {
            avp.value = Value::Bytes(2001_u32.to_be_bytes().to_vec());
        }
        let bytes = short.write();
        let error = Message::decode(&bytes).unwrap_err();
        assert_eq!(
            (error.problem, error.avp.map(|avp| avp.0)),
            (Problem::Missing, Some(code)),
            "seed {seed}"
        );
        assert_eq!(error.result_code(), ResultCode::MISSING_AVP);
        let failed = error.failed_avp(&bytes).unwrap();
        assert_eq!(failed[..4], code.to_be_bytes(), "seed {seed}");
        assert!(failed.len() > 8, "a payload of zeros");

        let mut twice = message.clone();
        let single = [grammar.once, grammar.maybe].concat();
        let place = twice.avps.iter().position(|avp| avp.vendor == 0 && single.contains(&avp.code)).unwrap();
        let again = twice.avps[place].clone();
        twice.avps.push(again.clone());
        let bytes = twice.write();
        let error = Message::decode(&bytes).unwrap_err();
        let expected = (Problem::TooMany, Some(again.code));
        assert_eq!((error.problem, error.avp.map(|avp| avp.0)), expected, "seed {seed}");
        let mut expected = Vec::new();
        again.write(&mut expected);
        assert_eq!(error.failed_avp(&bytes), Some(expected), "seed {seed}: the second one");
    }
}

#[test]
fn unknown_avps_are_refused_if_they_must_be_known_and_else_kept() {
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::of_case(3, seed);
        let (_, mut message) = random_message(&mut random);
        let vendor = if random.chance(50) { 10_415 } else { 0 };
        let stranger = Avp { code: 99_999, vendor, flags: 0x40, value: Value::Bytes(b"must".to_vec()) };
        let mut groups: Vec<&mut Vec<Avp>> = Vec::new();
        for avp in &mut message.avps {
            if let Value::Group(inner) = &mut avp.value {
                groups.push(inner);
            }
        }
        let nested = !groups.is_empty() && random.chance(50);
        if nested {
            let index = random.below(groups.len());
            groups[index].push(stranger.clone());
        } else {
            message.avps.push(stranger.clone());
        }
        let bytes = message.write();
        let error = Message::decode(&bytes).unwrap_err();
        assert_eq!(error.problem, Problem::Unsupported, "seed {seed}");
        assert_eq!(error.result_code(), ResultCode::AVP_UNSUPPORTED);
        let mut expected = Vec::new();
        stranger.write(&mut expected);
        assert_eq!(error.failed_avp(&bytes), Some(expected.clone()), "seed {seed}");
        if message.is_request() {
            let answer = local().refuse_unreadable(&bytes, &error);
            let answer = Bytes::read(&answer);
            assert_eq!(answer.find(268).unwrap().u32(), 5001, "seed {seed}");
            assert_eq!(answer.find(279).unwrap().value, Value::Bytes(expected), "seed {seed}");
            assert_eq!(answer.flags & 0xb0, 0, "seed {seed}: no error bit, since it is permanent");
            assert_eq!(answer.find(263), message.find(263), "seed {seed}");
            let proxies = |message: &Bytes| message.avps.iter().filter(|avp| avp.code == 284).count();
            assert!(proxies(&answer) <= proxies(&message), "seed {seed}");
        }
    }
}

#[test]
fn values_that_a_type_does_not_have_are_refused() {
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::of_case(4, seed);
        let (_, mut message) = random_message(&mut random);
        let place = random.below(message.avps.len());
        let avp = &mut message.avps[place];
        if avp.vendor != 0 || avp.code == 100_000 {
            continue;
        }
        let (value, problem) = match kind_of(avp.code) {
            Kind::Number => (vec![0; 3], Problem::ValueLength),
            Kind::Long => (vec![0; 4], Problem::ValueLength),
            Kind::Choice(_) | Kind::Below(_) => (vec![0xff; 4], Problem::Value),
            Kind::Identity => (b"no name".to_vec(), Problem::Value),
            Kind::Uri => (b"http://example".to_vec(), Problem::Value),
            Kind::Text => (vec![0xff, 0xfe], Problem::Value),
            Kind::Address => (vec![0, 3, 1, 2, 3, 4], Problem::Value),
            Kind::Float => (vec![0xff; 4], Problem::Value),
            Kind::Group(_) => (vec![0; 5], Problem::AvpLength),
            Kind::Bytes => continue,
        };
        let code = avp.code;
        avp.value = Value::Bytes(value);
        let bytes = message.write();
        let error = Message::decode(&bytes).unwrap_err();
        assert_eq!(error.problem, problem, "seed {seed}: AVP {code}");
        let in_group = matches!(kind_of(code), Kind::Group(_));
        assert!(in_group || error.avp.map(|avp| avp.0) == Some(code), "seed {seed}");
        assert!(error.offset < bytes.len() && !error.to_string().is_empty());
    }
}

#[test]
fn lists_have_an_end() {
    let avp = |code: u32, value: &[u8]| Avp::new(code, value.to_vec());
    let mut avps = vec![avp(264, b"a.x"), avp(296, b"x"), avp(266, &[0; 4]), avp(269, b"p")];
    avps.extend((0..256).map(|_| avp(258, &[0, 0, 0, 1])));
    let message = Bytes { flags: 0x80, command: 257, application: 0, hop_by_hop: 1, end_to_end: 2, avps };
    assert!(Message::decode(&message.write()).is_ok());
    let mut more = message;
    more.avps.push(avp(258, &[0, 0, 0, 1]));
    assert_eq!(Message::decode(&more.write()).unwrap_err().problem, Problem::TooMany);
}

#[test]
fn what_is_too_long_is_not_written() {
    let avps = vec![
        Avp::new(268, vec![0; 4]),
        Avp::new(264, b"a.x".to_vec()),
        Avp::new(296, b"x".to_vec()),
        Avp::new(281, vec![b'e'; 5000]),
    ];
    let bytes = Bytes { flags: 0, command: 280, application: 0, hop_by_hop: 1, end_to_end: 2, avps }.write();
    let (header, message) = Message::decode(&bytes).unwrap();
    let Message::DeviceWatchdogAnswer(mut body) = message else { panic!("a watchdog answer") };
    body.error_message = Some("e".repeat(0xff_fffc));
    let mut out = vec![1, 2, 3];
    assert!(Message::DeviceWatchdogAnswer(body).encode(&header, &mut out).is_err());
    assert_eq!(out, [1, 2, 3]);
}
