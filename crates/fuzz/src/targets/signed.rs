//! What is signed on the admission topics, and policy files: nothing but what was signed is believed, and a policy is refused with a place or
//! answers.
use std::net::IpAddr;
use std::sync::OnceLock;
use std::time::Duration;

use control::action::Asker;
use control::askers::{Askers, Heard};
use dcps::assurance::{Opinion, Trust};
use dcps::session::Sessions;
use policy::{Ask, Held, Subject};
use testkit::credentials::ToyKeys;
use wire::admission::{Identity, Request, Verdict};
use wire::cdr::{DdsType, Encoding};
use wire::seal::{self, Credentials as _, Holder, Purpose, Statement, identity};
use wire::session::{SessionState, SessionVerdict};
use wire::{EntityId, Guid, GuidPrefix, Instant};

const USER: GuidPrefix = GuidPrefix([1; 12]);
const MANAGER: GuidPrefix = GuidPrefix([9; 12]);
const EPOCH: u64 = 3;
const UNTIL: u64 = 1_000;

fn signed(keys: &ToyKeys, from: GuidPrefix, purpose: Purpose, sample: &impl DdsType) -> Vec<u8> {
    let mut bytes = Vec::new();
    if sample.encode_payload(Encoding::XCDR1, &mut bytes).is_err() {
        return bytes;
    }
    let statement = Statement { purpose, from, manager: MANAGER, epoch: EPOCH, counter: 5, content: &bytes };
    if let Some(signature) = keys.sign(&statement.to_bytes()) {
        seal::append(&mut bytes, purpose, 5, &signature);
    }
    bytes
}

/// Samples that are good: a request, its withdrawal, a verdict, and certificates of both sides.
fn good() -> &'static [Vec<u8>] {
    static GOOD: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    GOOD.get_or_init(|| {
        let (alice, manager) = keys();
        let request = Request {
            reader: Guid::new(USER, EntityId([0, 0, 1, 4])).to_bytes(),
            topic: "Vitals/pulse".to_owned(),
            manager: Guid::new(MANAGER, EntityId::PARTICIPANT).to_bytes(),
            ..Request::default()
        };
        let verdict = Verdict {
            epoch: EPOCH,
            lease: 6_000_000_000,
            reason: "because".to_owned(),
            ..Verdict::default()
        };
        let session = SessionVerdict {
            writer: Guid::new(USER, EntityId([0, 0, 1, 2])).to_bytes(),
            epoch: EPOCH,
            state: SessionState::Granted,
            session: "65001-7".to_owned(),
            rate: 8_000,
            bucket: 3_000,
            largest_packet: 1_460,
            lease: 60_000_000_000,
            ..SessionVerdict::default()
        };
        let mut samples = vec![
            signed(&alice, USER, Purpose::Request, &request),
            signed(&alice, USER, Purpose::Withdrawal, &request),
            signed(&manager, MANAGER, Purpose::Verdict, &verdict),
            signed(&manager, MANAGER, Purpose::Session, &session),
        ];
        for shown in [identity(&*alice, USER, 0), identity(&*manager, MANAGER, EPOCH)].into_iter().flatten() {
            let mut bytes = Vec::new();
            if shown.encode_payload(Encoding::XCDR1, &mut bytes).is_ok() {
                samples.push(bytes);
            }
        }
        samples
    })
}

fn keys() -> (std::sync::Arc<ToyKeys>, std::sync::Arc<ToyKeys>) {
    (ToyKeys::user(1, "alice", UNTIL), ToyKeys::new(1, Holder::Manager, UNTIL))
}

/// Valid samples.
pub(super) fn samples() -> Vec<Vec<u8>> {
    good().to_vec()
}

/// A sample of an admission topic, as a manager and as a participant with keys hear it.
pub fn signed_sample(bytes: &[u8]) {
    let is_good = good().iter().any(|sample| sample == bytes);
    let (alice, manager) = keys();
    let mut askers = Askers::new(manager.clone(), MANAGER, EPOCH);
    let mut trust = Trust::new(USER, alice.clone());
    let shown = [identity(&*alice, USER, 0), identity(&*manager, MANAGER, EPOCH)];
    let [Some(of_user), Some(of_manager)] = shown else { return };
    assert!(askers.identity(1, USER, &of_user).is_ok(), "a good certificate is believed");
    assert!(trust.identity_heard(1, MANAGER, &of_manager).is_ok(), "a good certificate is believed");
    let heard = askers.heard(Duration::ZERO, 1, USER, bytes);
    let counts = matches!(&heard, Heard::Ask(_, Asker::User(_)) | Heard::Withdraw(_));
    assert!(is_good || !counts, "without a signature: {heard:?}");
    let opinion = trust.verdict_heard(Instant::from_nanos(10), MANAGER, bytes);
    assert!(is_good || !matches!(opinion, Opinion::Believed(_)), "without a signature: {opinion:?}");
    let mut of_sessions = Trust::of_sessions(USER, alice);
    assert!(of_sessions.identity_heard(1, MANAGER, &of_manager).is_ok(), "a good certificate is believed");
    let opinion = of_sessions.verdict_heard(Instant::from_nanos(10), MANAGER, bytes);
    assert!(is_good || !matches!(opinion, Opinion::Believed(_)), "without a signature: {opinion:?}");
    // What is told without a signature, whatever it is: it ends, and a writer is granted no more than a bucket that it can keep to.
    if let Ok(told) = SessionVerdict::decode_payload(bytes) {
        let mut sessions = Sessions::new(Guid::from_bytes(told.writer).prefix);
        let local = Guid::from_bytes(told.writer).entity_id;
        sessions.heard(Instant::from_nanos(10), MANAGER, told);
        let buckets = sessions.sessions_of(local).into_iter().filter_map(|session| session.bucket);
        for bucket in buckets {
            assert!(
                bucket.rate > 0 && bucket.bucket >= 304 && (304..=1_500).contains(&bucket.largest_packet)
            );
        }
        for _ in 0..3 {
            let next = sessions.poll_timeout();
            assert!(next == Instant::NEVER || next <= Instant::from_nanos(3_700_000_000_010), "{next:?}");
            sessions.on_timeout(next);
        }
        assert!(sessions.sessions_of(local).is_empty(), "it is over, and forgotten");
    }
    // As a certificate of a stranger: as long as it is none of the two, no participant is believed for it.
    if let Ok(shown) = Identity::decode_payload(bytes) {
        let is_one = shown == of_user || shown == of_manager;
        let from = Guid::from_bytes(shown.participant).prefix;
        let mut other = Askers::new(manager, MANAGER, EPOCH);
        assert!(is_one || other.identity(1, from, &shown).is_err(), "without a signature: {shown:?}");
    }
}

/// Valid policies.
pub(super) fn policies() -> Vec<Vec<u8>> {
    vec![POLICY.as_bytes().to_vec()]
}

const POLICY: &str = r#"default = "deny"
[[rule]]
users = ["ward-*", "alice"]
topics = ["Vitals/*", "Alarm?"]
most-flows = 10
most-rate = "10 Mb/s"
most-share = "5 %"
most-importance = 100
least-latency = "1 ms"
[[rule]]
hosts = ["b1", "192.0.2.0/24", "192.0.2.9"]
effect = "deny"
"#;

/// A policy file: it is refused with a place that exists, or it answers.
pub fn policy_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let policy = match network::read_policy("file", &text) {
        Ok(policy) => policy,
        Err(problem) => {
            assert!(!problem.what.is_empty(), "a problem says what is wrong");
            let lines = text.split('\n').count();
            assert!(problem.place.is_some_and(|(line, _)| line <= lines), "it has a place");
            return;
        }
    };
    let addresses = [IpAddr::from([192, 0, 2, 9]), IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, 9])];
    for subject in [Subject::User("ward-1"), Subject::Host { name: "b1", addresses: &addresses }] {
        let ask = Ask {
            subject,
            topic: "Vitals/pulse",
            importance: 7,
            maximum_latency: 1_000_000,
            rate: Some(1_000),
            link: Some(1_000_000_000),
        };
        if let Err(refusal) = policy.check_with(&ask, Held { flows: 3, rate: u64::MAX - 5 }) {
            let lines = u32::try_from(text.split('\n').count()).unwrap_or(u32::MAX);
            assert!(refusal.line.is_none_or(|line| (1..=lines).contains(&line)), "{refusal}");
        }
    }
}
