//! Participants that sign what they ask for, and others that forge it or send again what was sent before.
use std::collections::BTreeSet;
use std::sync::Arc;

use control::action::Asker;
use control::askers::{Askers, Heard};
use testkit::credentials::ToyKeys;
use wire::admission::Request;
use wire::cdr::{DdsType as _, Encoding};
use wire::seal::{self, Credentials as _, Holder, Purpose, Statement};
use wire::{EntityId, Guid, GuidPrefix};

use crate::counts::Fault;
use crate::random::Random;
use crate::seeds::Play;
use crate::world::{Pair, World};

/// The participant of all managers, which differ by their epochs.
const MANAGER: GuidPrefix = GuidPrefix([9; 12]);
/// The authority that the managers trust, and another one.
const AUTHORITY: u8 = 1;
const OTHER_AUTHORITY: u8 = 2;
const SECONDS: u64 = 1_000;
const LATER: u64 = 1_000_000;
/// What is remembered of what was said.
const MOST_SAID: usize = 64;

pub(crate) const USERS: [&str; 4] = ["alice", "bob", "ward-1", "ward-2"];

/// See the module above.
pub(crate) struct Signing {
    askers: Askers,
    epoch: u64,
    counter: u64,
    /// Participants that have shown their certificate to this manager.
    shown: BTreeSet<GuidPrefix>,
    /// What was said to this manager and to those before.
    said: Vec<(GuidPrefix, Vec<u8>)>,
    /// The number of a participant whose keys another authority has made.
    stranger: u8,
}

impl Signing {
    pub(crate) fn new(stranger: u8) -> Self {
        Self { askers: askers(1), epoch: 1, counter: 0, shown: BTreeSet::new(), said: Vec::new(), stranger }
    }

    /// Another manager is there.
    pub(crate) fn begins(&mut self, epoch: u64) {
        (self.askers, self.epoch) = (askers(epoch), epoch);
        self.shown.clear();
    }

    fn is_stranger(&self, reader: Guid) -> bool {
        reader.to_bytes()[3] == self.stranger
    }

    fn keys(&self, participant: GuidPrefix) -> Arc<ToyKeys> {
        let is_stranger = participant.0[3] == self.stranger;
        ToyKeys::user(if is_stranger { OTHER_AUTHORITY } else { AUTHORITY }, user(participant), LATER)
    }

    /// What a request is with a signature of these keys, for a manager of an epoch.
    fn sealed(&self, purpose: Purpose, request: &Request, keys: &ToyKeys, epoch: u64) -> Vec<u8> {
        let mut bytes = plain(request);
        let from = request.pair().1.prefix;
        let counter = self.counter;
        let statement = Statement { purpose, from, manager: MANAGER, epoch, counter, content: &bytes };
        let signature = keys.sign(&statement.to_bytes()).unwrap();
        seal::append(&mut bytes, purpose, counter, &signature);
        bytes
    }

    /// A participant says something in its own name.
    fn says(&mut self, world: &World, purpose: Purpose, request: &Request) -> Heard {
        let from = request.pair().1.prefix;
        let keys = self.keys(from);
        if self.shown.insert(from) {
            let identity = seal::identity(&*keys, from, 0).unwrap();
            let is_believed = self.askers.identity(SECONDS, from, &identity).is_ok();
            assert_ne!(is_believed, from.0[3] == self.stranger);
        }
        self.counter += 1;
        let payload = self.sealed(purpose, request, &keys, self.epoch);
        // What is not believed does no harm when it comes again.
        if from.0[3] != self.stranger {
            if self.said.len() == MOST_SAID {
                self.said.remove(0);
            }
            self.said.push((from, payload.clone()));
        }
        self.askers.heard(world.now, SECONDS, from, &payload)
    }

    /// What comes of it when something is sent that its participant has not said, or not now.
    fn forge(&mut self, world: &World, random: &mut Random, asked: &Request) -> Heard {
        let from = asked.pair().1.prefix;
        let changed = Request {
            serial: asked.serial + 1 + random.next() % 3,
            maximum_latency: asked.maximum_latency + 1,
            manager: manager(),
            ..asked.clone()
        };
        let purpose = *random.of(&[Purpose::Request, Purpose::Withdrawal]);
        self.counter += 1;
        let payload = match random.below(4) {
            0 => plain(&changed),
            1 => self.sealed(purpose, &changed, &ToyKeys::user(AUTHORITY, "mallory", LATER), self.epoch),
            // For the manager before this one.
            2 => self.sealed(purpose, &changed, &self.keys(from), self.epoch - 1),
            _ => match self.said.is_empty() {
                true => return Heard::Nothing,
                false => {
                    let (from, payload) = random.of(&self.said).clone();
                    return self.askers.heard(world.now, SECONDS, from, &payload);
                }
            },
        };
        self.askers.heard(world.now, SECONDS, from, &payload)
    }
}

fn askers(epoch: u64) -> Askers {
    Askers::new(ToyKeys::new(AUTHORITY, Holder::Manager, LATER), MANAGER, epoch)
}

fn manager() -> [u8; 16] {
    Guid::new(MANAGER, EntityId::PARTICIPANT).to_bytes()
}

/// The user of a participant.
fn user(participant: GuidPrefix) -> &'static str {
    USERS[usize::from(participant.0[3]) % USERS.len()]
}

fn plain(request: &Request) -> Vec<u8> {
    let mut bytes = Vec::new();
    request.encode_payload(Encoding::XCDR1, &mut bytes).unwrap();
    bytes
}

impl Play {
    /// The true asker for a pair.
    pub(crate) fn asker(&self, pair: Pair) -> Asker {
        match &self.signing {
            None => Asker::Anyone,
            Some(signing) if signing.is_stranger(pair.1) => Asker::Unknown(String::new()),
            Some(_) => Asker::User(user(pair.1.prefix).to_owned()),
        }
    }

    /// The participant of a reader asks.
    pub(crate) fn ask(&mut self, request: Request) {
        self.destinations.insert((request.pair(), request.serial), request.destination);
        let Some(signing) = &mut self.signing else { return self.world.ask(request) };
        let request = Request { manager: manager(), ..request };
        let heard = signing.says(&self.world, Purpose::Request, &request);
        self.hand_on(heard);
    }

    /// The participant of a reader does not want a pair any more.
    pub(crate) fn withdraw(&mut self, pair: Pair) {
        let Some((asked, _, _)) = self.asked.remove(&pair) else { return };
        match &mut self.signing {
            Some(signing) if !signing.is_stranger(pair.1) => {
                let request = Request { manager: manager(), ..asked };
                let heard = signing.says(&self.world, Purpose::Withdrawal, &request);
                self.hand_on(heard);
            }
            _ => self.world.withdraw(pair),
        }
    }

    /// Something is sent that is not what it says. Of participants that are known: of others it is refused, which does no harm.
    pub(crate) fn forge(&mut self) {
        let Some(signing) = &mut self.signing else { return };
        let known = self.asked.values().map(|(asked, _, _)| asked);
        let known = known.filter(|asked| {
            let reader = asked.pair().1;
            signing.shown.contains(&reader.prefix) && !signing.is_stranger(reader)
        });
        let known: Vec<Request> = known.filter(|asked| asked.source.port != 0).cloned().collect();
        if known.is_empty() {
            return;
        }
        let asked = self.random.of(&known);
        let heard = signing.forge(&self.world, &mut self.random, asked);
        self.world.counts.add(Fault::Forged);
        self.hand_on(heard);
    }

    /// A participant is gone.
    pub(crate) fn askers_gone(&mut self, gone: GuidPrefix) {
        if let Some(signing) = &mut self.signing {
            signing.askers.gone(gone);
        }
    }

    /// As the program does.
    fn hand_on(&mut self, heard: Heard) {
        match heard {
            Heard::Ask(request, asker) => self.world.ask_as(*request, asker),
            Heard::Withdraw(pair) => self.world.withdraw(pair),
            Heard::Nothing => {}
        }
    }
}
