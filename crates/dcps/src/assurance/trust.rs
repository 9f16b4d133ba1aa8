//! What a participant with keys signs, and whom it believes: managers that have shown a certificate of the same authority, and of these
//! what is new. `docs/decisions/0019-signed-requests.md` says what is signed.
//!
//! Freshness needs no common clock: counters of a manager's seals rise with its clock, so that what was held back on the way is older, by its
//! counter, than what came at once.
use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::marker::PhantomData;

use wire::admission::{Identity, State, Verdict};
use wire::seal::{self, Certified, Counter, Credentials, Holder, Purpose, Statement};
use wire::session::{SessionState, SessionVerdict};
use wire::sorted::SortedMap;
use wire::{Guid, GuidPrefix, Instant};

/// Managers that are known at most; a network has one or two.
const MOST_MANAGERS: usize = 16;
/// Pairs of which it is known what was said last.
const MOST_PAIRS: usize = 16_384;
/// Verdicts that wait for the certificate of their manager.
const MOST_HELD: usize = 256;
/// By so much of the time that passes two clocks may run apart: 1 / this, 200 parts in a million.
const DRIFT: i64 = 5_000;

/// Why pairs are refused while a manager is there that is not believed.
pub const DISTRUST: &str = "a resource manager is in this domain, but it has not shown a certificate of the authority that this participant trusts";

/// What was not believed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct TrustCounters {
    /// Verdicts without a signature, or with one that is not of the manager that it claims.
    pub forged: u64,
    /// Verdicts that had been heard before, or are older than one that was, and admissions that were held back on the way.
    pub stale: u64,
    /// Certificates of managers that were not believed.
    pub distrusted: u64,
}

/// What managers sign about pairs.
pub trait Signed: wire::cdr::DdsType {
    /// What its seal is for.
    const PURPOSE: Purpose;

    /// Writer and reader.
    fn pair(&self) -> (Guid, Guid);

    /// The start of the manager that has said it.
    fn epoch(&self) -> u64;

    /// If it grants something, for how long, in nanoseconds.
    fn grants_for(&self) -> Option<u64>;
}

impl Signed for Verdict {
    const PURPOSE: Purpose = Purpose::Verdict;

    fn pair(&self) -> (Guid, Guid) {
        self.pair()
    }

    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn grants_for(&self) -> Option<u64> {
        (self.state == State::Admitted).then_some(self.lease)
    }
}

impl Signed for SessionVerdict {
    const PURPOSE: Purpose = Purpose::Session;

    fn pair(&self) -> (Guid, Guid) {
        self.pair()
    }

    fn epoch(&self) -> u64 {
        self.epoch
    }

    fn grants_for(&self) -> Option<u64> {
        (self.state == SessionState::Granted).then_some(self.lease)
    }
}

/// What becomes of a verdict.
#[allow(clippy::large_enum_variant, reason = "one at a time, and gone once it was looked at")]
#[derive(Clone, PartialEq, Debug)]
pub enum Opinion<V = Verdict> {
    /// It counts.
    Believed(V),
    /// It waits for the certificate of its manager.
    Waits,
    /// It does not count.
    Refused,
}

/// See the module above.
#[derive(Debug)]
pub struct Trust<V = Verdict> {
    own: GuidPrefix,
    credentials: Arc<dyn Credentials>,
    counter: Counter,
    managers: SortedMap<GuidPrefix, Manager>,
    /// Counter of the last verdict about a pair, and of whose.
    heard: SortedMap<(Guid, Guid), (GuidPrefix, u64)>,
    held: VecDeque<(GuidPrefix, Vec<u8>)>,
    counters: TrustCounters,
    of: PhantomData<fn() -> V>,
}

#[derive(Debug, Default)]
struct Manager {
    /// Its writer of verdicts, once discovery has found that.
    writer: Option<Guid>,
    /// What it has shown, if it is believed.
    shown: Option<(Certified, u64)>,
    /// The least difference between the own clock and its counters that was seen, and when that was, in nanoseconds.
    lag: Option<(i64, Instant)>,
    /// Counters up to this one are of verdicts about pairs that are forgotten.
    floor: u64,
}

impl Trust {
    /// A participant with these keys, and what managers say of its pairs.
    pub fn new(own: GuidPrefix, credentials: Arc<dyn Credentials>) -> Self {
        Self::with(own, credentials)
    }
}

impl Trust<SessionVerdict> {
    /// A participant with these keys, and what is said of the sessions of its pairs.
    pub fn of_sessions(own: GuidPrefix, credentials: Arc<dyn Credentials>) -> Self {
        Self::with(own, credentials)
    }
}

impl<V: Signed> Trust<V> {
    fn with(own: GuidPrefix, credentials: Arc<dyn Credentials>) -> Self {
        Self {
            own,
            credentials,
            counter: Counter::default(),
            managers: SortedMap::new(),
            heard: SortedMap::new(),
            held: VecDeque::new(),
            counters: TrustCounters::default(),
            of: PhantomData,
        }
    }

    /// What it counted.
    pub const fn counters(&self) -> &TrustCounters {
        &self.counters
    }

    /// What it shows managers; `None` if it cannot sign.
    pub fn identity(&self) -> Option<Identity> {
        seal::identity(&*self.credentials, self.own, 0)
    }

    /// Signs a payload for a manager, if that is believed. `wall` is the time in nanoseconds since 1970.
    pub fn seal(&mut self, wall: u64, purpose: Purpose, manager: GuidPrefix, payload: &mut Vec<u8>) -> bool {
        let shown = self.managers.get(&manager).and_then(|manager| manager.shown.as_ref());
        let Some((_, epoch)) = shown else { return false };
        let counter = self.counter.draw(wall);
        let statement = Statement {
            purpose,
            from: self.own,
            manager,
            epoch: *epoch,
            counter,
            content: payload.as_slice(),
        };
        let Some(signature) = self.credentials.sign(&statement.to_bytes()) else { return false };
        seal::append(payload, purpose, counter, &signature);
        true
    }

    /// Discovery has found a writer of verdicts; true if its manager is believed.
    pub fn manager_found(&mut self, writer: Guid) -> bool {
        let Some(manager) = self.manager(writer.prefix) else { return false };
        manager.writer = Some(writer);
        manager.shown.is_some()
    }

    /// Discovery has lost it.
    pub fn manager_lost(&mut self, writer: Guid) {
        if let Some(manager) =
            self.managers.get_mut(&writer.prefix).filter(|manager| manager.writer == Some(writer))
        {
            manager.writer = None;
        }
    }

    /// True if a writer of verdicts is there whose manager is not believed, and none whose manager is.
    pub fn has_strangers_alone(&self) -> bool {
        let mut there = self.managers.values().filter(|manager| manager.writer.is_some()).peekable();
        there.peek().is_some() && there.all(|manager| manager.shown.is_none())
    }

    fn manager(&mut self, prefix: GuidPrefix) -> Option<&mut Manager> {
        if !self.managers.contains_key(&prefix) && self.managers.len() >= MOST_MANAGERS {
            // Any participant can have a writer of verdicts: those that have shown nothing make room.
            let stranger =
                self.managers.iter().find(|(_, manager)| manager.shown.is_none()).map(|(prefix, _)| *prefix);
            let gone = || {
                self.managers.iter().find(|(_, manager)| manager.writer.is_none()).map(|(prefix, _)| *prefix)
            };
            let one = stranger.or_else(gone)?;
            self.managers.remove(&one);
        }
        Some(self.managers.get_or_insert_with(prefix, Manager::default))
    }

    /// A manager shows a certificate: its writer of verdicts, if discovery has found that and it is believed from now on. `wall` is the
    /// time in seconds since 1970. What it has said before is to be heard then ([`Self::take_held`]).
    ///
    /// # Errors
    /// Why it is not believed, in words.
    pub fn identity_heard(
        &mut self,
        wall: u64,
        from: GuidPrefix,
        identity: &Identity,
    ) -> Result<Option<Guid>, String> {
        let checked = seal::check_identity(&*self.credentials, from, identity, wall).and_then(|certified| {
            match certified.holder {
                Holder::Manager => Ok(certified),
                Holder::User(_) => Err("its certificate is not that of a manager".into()),
            }
        });
        let certified = match checked {
            Ok(certified) => certified,
            Err(reason) => {
                self.counters.distrusted = self.counters.distrusted.saturating_add(1);
                return Err(reason);
            }
        };
        let Some(manager) = self.manager(from) else { return Err("there are too many managers".into()) };
        // Within one participant a manager may begin anew, with a larger epoch; what the former one has signed counts no longer.
        if manager.shown.as_ref().is_some_and(|(_, epoch)| *epoch > identity.epoch) {
            return Err("it has begun anew since".into());
        }
        manager.shown = Some((certified, identity.epoch));
        Ok(manager.writer)
    }

    /// The epoch that a manager has shown, if it is believed.
    pub fn epoch_of(&self, manager: GuidPrefix) -> Option<u64> {
        self.managers.get(&manager)?.shown.as_ref().map(|(_, epoch)| *epoch)
    }

    /// What a manager has said before it has shown its certificate.
    pub fn take_held(&mut self, from: GuidPrefix) -> Vec<Vec<u8>> {
        let (of_it, others): (VecDeque<_>, _) =
            core::mem::take(&mut self.held).into_iter().partition(|(other, _)| *other == from);
        self.held = others;
        of_it.into_iter().map(|(_, payload)| payload).collect()
    }

    /// A writer in the participant `from` has published a verdict, with this payload.
    pub fn verdict_heard(&mut self, now: Instant, from: GuidPrefix, payload: &[u8]) -> Opinion<V> {
        let Some(sealed) = seal::open(payload).filter(|sealed| sealed.purpose == V::PURPOSE) else {
            return self.forged();
        };
        let Ok(verdict) = V::decode_payload(sealed.content) else { return self.forged() };
        let Some(manager) = self.managers.get_mut(&from) else { return self.hold(from, payload) };
        let Some((certified, epoch)) = &manager.shown else { return self.hold(from, payload) };
        let statement = Statement {
            purpose: V::PURPOSE,
            from,
            manager: from,
            epoch: *epoch,
            counter: sealed.counter,
            content: sealed.content,
        };
        let pair = verdict.pair();
        let is_new = match self.heard.get(&pair) {
            Some((of, counter)) if *of == from => sealed.counter > *counter,
            _ => sealed.counter > manager.floor,
        };
        if !is_new {
            self.counters.stale = self.counters.stale.saturating_add(1);
            return Opinion::Refused;
        }
        let is_its = verdict.epoch() == *epoch
            && self.credentials.has_signed(certified, &statement.to_bytes(), &sealed.signature);
        if !is_its {
            return self.forged();
        }
        let age = manager.age(now, sealed.counter);
        if self.heard.len() >= MOST_PAIRS && !self.heard.contains_key(&pair) {
            self.forget_one();
        }
        self.heard.insert(pair, (from, sealed.counter));
        if verdict.grants_for().is_some_and(|lease| age > lease) {
            self.counters.stale = self.counters.stale.saturating_add(1);
            return Opinion::Refused;
        }
        Opinion::Believed(verdict)
    }

    /// The pair that was spoken of the longest time ago is forgotten, and with it all that its manager has said until then.
    fn forget_one(&mut self) {
        let oldest = self.heard.iter().min_by_key(|(_, (_, counter))| *counter).map(|(pair, _)| *pair);
        let Some((from, counter)) = oldest.and_then(|pair| self.heard.remove(&pair)) else { return };
        if let Some(manager) = self.managers.get_mut(&from) {
            manager.floor = manager.floor.max(counter);
        }
    }

    fn forged(&mut self) -> Opinion<V> {
        self.counters.forged = self.counters.forged.saturating_add(1);
        Opinion::Refused
    }

    fn hold(&mut self, from: GuidPrefix, payload: &[u8]) -> Opinion<V> {
        if self.held.len() >= MOST_HELD {
            self.held.pop_front();
        }
        self.held.push_back((from, payload.to_vec()));
        Opinion::Waits
    }
}

impl Manager {
    /// How much longer than the fastest one a seal with this counter was on its way, in nanoseconds; the clocks may run apart a little.
    fn age(&mut self, now: Instant, counter: u64) -> u64 {
        let signed = |nanos: u64| i64::try_from(nanos).unwrap_or(i64::MAX);
        let lag = signed(now.as_nanos()).saturating_sub(signed(counter));
        let least = match self.lag {
            Some((least, since)) => {
                let passed = signed(now.as_nanos().saturating_sub(since.as_nanos()));
                least.saturating_add(passed / DRIFT)
            }
            None => lag,
        };
        if self.lag.is_none() || lag <= least {
            self.lag = Some((lag, now));
        }
        u64::try_from(lag.saturating_sub(least)).unwrap_or(0)
    }
}
