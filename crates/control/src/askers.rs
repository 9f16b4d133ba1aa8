//! Who asks: what participants have signed is verified, and nothing of it counts twice, for another participant, or from another start of a
//! manager. `docs/decisions/0019-signed-requests.md` says what is signed.
//!
//! Sans IO: certificates, serialized samples and the time go in. Cryptography is that of [`Credentials`].
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::time::Duration;

use wire::admission::{Identity, Request};
use wire::cdr::DdsType as _;
use wire::seal::{self, Certified, Credentials, Holder, Purpose, Statement};
use wire::{Guid, GuidPrefix};

use crate::action::{Asker, Pair};

/// Participants that are known at most, those that are gone among them.
const MOST_KNOWN: usize = 16_384;
/// Samples that wait for the certificate of their participant at most, of one participant and of all, and for how long.
const MOST_HELD_OF_ONE: usize = 256;
const MOST_HELD: usize = 4_096;
const PATIENCE: Duration = Duration::from_secs(2);
/// How often certificates are looked at anew, in seconds: they end.
const RECHECK: u64 = 60;

const UNSIGNED: &str = "this manager takes signed requests alone: give the participant a key (assurance.keys and assurance.user in its \
                        configuration), and the authority's certificate";
const NO_CERTIFICATE: &str = "its participant has not shown a certificate";
const BEHIND: &str = "the clock of its host is far behind that of hosts that have asked before: set it";

/// What a sample of the request topic comes to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Heard {
    /// It asks. A participant that asks without having shown who it is has to be told no.
    Ask(Box<Request>, Asker),
    /// A pair is wanted no longer.
    Withdraw(Pair),
    /// It counts for nothing.
    Nothing,
}

/// What was not believed.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct AskersCounters {
    /// Samples without a signature that named this manager.
    pub unsigned: u64,
    /// Samples that were signed by another key than that of their participant, for another manager, or changed since.
    pub forged: u64,
    /// Samples that had been heard before, or are older than one that was.
    pub replayed: u64,
    /// Certificates that were not believed.
    pub distrusted: u64,
}

/// See the module above.
#[derive(Debug)]
pub struct Askers {
    own: GuidPrefix,
    epoch: u64,
    credentials: Arc<dyn Credentials>,
    known: BTreeMap<GuidPrefix, Known>,
    /// Why the certificate of a participant was not believed.
    distrusted: BTreeMap<GuidPrefix, String>,
    /// No seal of a participant that is not known may have a counter up to this: it was forgotten, and could be heard again.
    floor: u64,
    held: VecDeque<(Duration, GuidPrefix, Vec<u8>)>,
    counters: AskersCounters,
    /// The participant of the last statement that was not believed.
    disbelieved: Option<GuidPrefix>,
}

#[derive(Debug)]
struct Known {
    certified: Certified,
    /// When the certificate was found to hold, in seconds since 1970.
    checked: u64,
    counter: u64,
    is_gone: bool,
}

impl Askers {
    /// No participant has asked this start of a manager yet, with this epoch and participant.
    pub fn new(credentials: Arc<dyn Credentials>, own: GuidPrefix, epoch: u64) -> Self {
        Self {
            own,
            epoch,
            credentials,
            known: BTreeMap::new(),
            distrusted: BTreeMap::new(),
            floor: 0,
            held: VecDeque::new(),
            counters: AskersCounters::default(),
            disbelieved: None,
        }
    }

    /// The participant of the last statement that was not believed.
    pub const fn disbelieved(&self) -> Option<GuidPrefix> {
        self.disbelieved
    }

    fn disbelieve(&mut self, from: GuidPrefix, count: impl Fn(&mut AskersCounters) -> &mut u64) {
        let count = count(&mut self.counters);
        *count = count.saturating_add(1);
        self.disbelieved = Some(from);
    }

    /// What it counted.
    pub const fn counters(&self) -> &AskersCounters {
        &self.counters
    }

    /// The user of a participant, if it has shown who it is.
    pub fn user(&self, participant: GuidPrefix) -> Option<&str> {
        match &self.known.get(&participant)?.certified.holder {
            Holder::User(name) => Some(name),
            Holder::Manager => None,
        }
    }

    /// A participant shows a certificate; what it has said before is to be heard then ([`Self::take_held`]). `wall` is in seconds since 1970.
    ///
    /// # Errors
    /// Why it is not believed, in words.
    pub fn identity(&mut self, wall: u64, from: GuidPrefix, identity: &Identity) -> Result<(), String> {
        let checked = seal::check_identity(&*self.credentials, from, identity, wall).and_then(|certified| {
            match &certified.holder {
                Holder::User(_) => Ok(certified),
                Holder::Manager => Err("its certificate is that of a manager, which does not ask".into()),
            }
        });
        let taken = checked.and_then(|certified| self.take_in(wall, from, certified));
        if let Err(reason) = &taken {
            self.disbelieve(from, |counters| &mut counters.distrusted);
            if !self.known.contains_key(&from) {
                if self.distrusted.len() >= MOST_KNOWN {
                    self.distrusted.pop_first();
                }
                self.distrusted.insert(from, reason.clone());
            }
        }
        taken
    }

    fn take_in(&mut self, wall: u64, from: GuidPrefix, certified: Certified) -> Result<(), String> {
        if let Some(known) = self.known.get_mut(&from) {
            if known.certified.holder != certified.holder {
                return Err("another user has shown a certificate for this participant before".into());
            }
            // A new certificate of the same user; what was signed before is not heard again for that.
            (known.certified, known.checked, known.is_gone) = (certified, wall, false);
            return Ok(());
        }
        if self.known.len() >= MOST_KNOWN && !self.forget_one() {
            return Err(format!("{MOST_KNOWN} participants are there already"));
        }
        self.distrusted.remove(&from);
        self.known.insert(from, Known { certified, checked: wall, counter: self.floor, is_gone: false });
        Ok(())
    }

    /// Of those that are gone the one that was heard first is forgotten, with all that could be heard again.
    fn forget_one(&mut self) -> bool {
        let gone = self.known.iter().filter(|(_, known)| known.is_gone);
        let Some(oldest) = gone.min_by_key(|(_, known)| known.counter).map(|(from, _)| *from) else {
            return false;
        };
        if let Some(known) = self.known.remove(&oldest) {
            self.floor = self.floor.max(known.counter);
        }
        true
    }

    /// The participants that have asked and are there, as far as is known.
    pub fn present(&self) -> impl Iterator<Item = GuidPrefix> {
        self.known.iter().filter(|(_, known)| !known.is_gone).map(|(from, _)| *from)
    }

    /// A participant is gone. What it has signed is remembered, so that it does not count when it is sent again.
    pub fn gone(&mut self, participant: GuidPrefix) {
        self.distrusted.remove(&participant);
        self.held.retain(|(_, from, _)| *from != participant);
        if let Some(known) = self.known.get_mut(&participant) {
            known.is_gone = true;
        }
    }

    /// The participant `from` has published a sample of the request topic, with this payload. `wall` is in seconds since 1970.
    pub fn heard(&mut self, now: Duration, wall: u64, from: GuidPrefix, payload: &[u8]) -> Heard {
        let sealed = seal::open(payload);
        let content = sealed.map_or(payload, |sealed| sealed.content);
        let Ok(request) = Request::decode_payload(content) else { return Heard::Nothing };
        // A participant speaks of its own readers alone; before it has found a manager it names none.
        if request.pair().1.prefix != from || Guid::from_bytes(request.manager).prefix != self.own {
            return Heard::Nothing;
        }
        let unknown = |request, reason: &str| Heard::Ask(Box::new(request), Asker::Unknown(reason.into()));
        if sealed.is_some_and(|sealed| !matches!(sealed.purpose, Purpose::Request | Purpose::Withdrawal)) {
            return Heard::Nothing;
        }
        let Some(sealed) = sealed else {
            self.disbelieve(from, |counters| &mut counters.unsigned);
            // What it signs counts; what comes without a signature in its name does not concern it.
            return if self.known.contains_key(&from) { Heard::Nothing } else { unknown(request, UNSIGNED) };
        };
        let Some(known) = self.known.get_mut(&from) else {
            if let Some(reason) = self.distrusted.get(&from) {
                return unknown(request, reason);
            }
            self.hold(now, from, payload);
            return Heard::Nothing;
        };
        if sealed.counter <= known.counter {
            let is_new = known.counter == self.floor && known.counter > 0;
            self.disbelieve(from, |counters| &mut counters.replayed);
            return if is_new { unknown(request, BEHIND) } else { Heard::Nothing };
        }
        let statement = Statement {
            purpose: sealed.purpose,
            from,
            manager: self.own,
            epoch: self.epoch,
            counter: sealed.counter,
            content,
        };
        if !self.credentials.has_signed(&known.certified, &statement.to_bytes(), &sealed.signature) {
            self.disbelieve(from, |counters| &mut counters.forged);
            return Heard::Nothing;
        }
        known.counter = sealed.counter;
        if known.checked.saturating_add(RECHECK) <= wall || known.checked > wall {
            if let Err(reason) = self.credentials.certify(&known.certified.certificate, wall) {
                return match sealed.purpose {
                    Purpose::Request => unknown(request, &reason),
                    _ => Heard::Nothing,
                };
            }
            known.checked = wall;
        }
        match (sealed.purpose, &known.certified.holder) {
            (Purpose::Request, Holder::User(name)) => {
                let name = name.clone();
                Heard::Ask(Box::new(request), Asker::User(name))
            }
            (Purpose::Withdrawal, _) => Heard::Withdraw(request.pair()),
            _ => Heard::Nothing,
        }
    }

    fn hold(&mut self, now: Duration, from: GuidPrefix, payload: &[u8]) {
        let of_it = self.held.iter().filter(|(_, other, _)| *other == from).count();
        if of_it < MOST_HELD_OF_ONE && self.held.len() < MOST_HELD {
            self.held.push_back((now, from, payload.to_vec()));
        }
    }

    /// What a participant has said before it has shown its certificate, in its order.
    pub fn take_held(&mut self, from: GuidPrefix) -> Vec<Vec<u8>> {
        let (of_it, others) =
            core::mem::take(&mut self.held).into_iter().partition(|(_, other, _)| *other == from);
        self.held = others;
        let of_it: VecDeque<(Duration, GuidPrefix, Vec<u8>)> = of_it;
        of_it.into_iter().map(|(_, _, payload)| payload).collect()
    }

    /// What has waited for a certificate for too long is to be told no.
    pub fn take_overdue(&mut self, now: Duration) -> Vec<(Box<Request>, Asker)> {
        let mut overdue = Vec::new();
        while self.held.front().is_some_and(|(since, _, _)| since.saturating_add(PATIENCE) <= now) {
            let Some((_, _, payload)) = self.held.pop_front() else { break };
            let Some(sealed) = seal::open(&payload).filter(|sealed| sealed.purpose == Purpose::Request)
            else {
                continue;
            };
            if let Ok(request) = Request::decode_payload(sealed.content) {
                overdue.push((Box::new(request), Asker::Unknown(NO_CERTIFICATE.into())));
            }
        }
        overdue
    }
}
