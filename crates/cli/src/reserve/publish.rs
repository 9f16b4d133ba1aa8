//! What programs are told of their sessions, over DDS: verdicts about pairs whose writer is in the own domain, again and again while they hold,
//! signed if there is a key.
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dds::qos::{Durability, History, Reliability};
use dds::{DataWriter, DdsType, DomainParticipant, Error, NO_STATUS, QosKind, ReturnCode, WriteOptions};
use reservation::{Pair, PairId, Verdict};
use wan::Asn;
use wire::GuidPrefix;
use wire::admission::{IDENTITY_TYPE, Identity, MOST_TEXT};
use wire::cdr::Encoding;
use wire::seal::{self, Counter, Credentials, Purpose, Statement};
use wire::session::{MOST_SESSION, SESSION_TOPIC, SESSION_TYPE, SessionState, SessionVerdict, TELLER_TOPIC};

use crate::exit::Failure;

/// How long a verdict holds that is not told again.
const LEASE: Duration = Duration::from_secs(60);
/// How often it is told again.
const AGAIN: Duration = Duration::from_secs(20);
/// Pairs that are told of at most.
const MOST_PAIRS: usize = 4_096;

pub(super) struct Publisher {
    own: Asn,
    prefix: GuidPrefix,
    epoch: u64,
    verdicts: DataWriter<SessionVerdict>,
    keys: Option<Keys>,
    /// Pairs whose writer is in the own domain.
    ours: BTreeSet<PairId>,
    told: BTreeMap<PairId, SessionVerdict>,
    /// What is over, and is told once more.
    over: Vec<SessionVerdict>,
    again_at: Instant,
    is_failing: bool,
}

struct Keys {
    credentials: Arc<dyn Credentials>,
    counter: Counter,
    /// Counters rise with this clock, and not with that of the day, which may be set.
    began: Instant,
    began_at: u64,
    /// The own certificate.
    _shown: DataWriter<Identity>,
}

/// Nanoseconds since 1970.
fn wall() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    u64::try_from(since).unwrap_or(u64::MAX)
}

/// A text of so many bytes at most.
fn cut(text: &str, most: usize) -> String {
    let end = (0..=text.len().min(most)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    text.get(..end).unwrap_or_default().to_owned()
}

fn writer<T: DdsType + Send + Sync + 'static>(
    participant: &DomainParticipant,
    topic: &str,
    type_name: &str,
) -> Result<DataWriter<T>, Error> {
    let topic = participant.create_topic::<T>(topic, type_name, QosKind::Default, None, NO_STATUS)?;
    let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS)?;
    let mut qos = publisher.get_default_datawriter_qos();
    qos.endpoint.reliability = Reliability::RELIABLE;
    qos.endpoint.durability = Durability::TransientLocal;
    qos.endpoint.history = History::KeepLast(1);
    publisher.create_datawriter::<T>(&topic, QosKind::Specific(qos), None, NO_STATUS)
}

impl Publisher {
    /// Tells programs of a domain of DDS what became of the sessions of pairs whose writer is in this domain of the network.
    pub(super) fn new(
        participant: &DomainParticipant,
        own: Asn,
        credentials: Option<Arc<dyn Credentials>>,
    ) -> Result<Self, Failure> {
        let failed = |error: Error| Failure::System(error.to_string());
        let (prefix, began_at) = (participant.prefix(), wall());
        // Each start of the command is later than the ones before.
        let epoch = began_at;
        let keys = match credentials {
            None => None,
            Some(credentials) => {
                let shown = writer::<Identity>(participant, TELLER_TOPIC, IDENTITY_TYPE).map_err(failed)?;
                let identity = seal::identity(&*credentials, prefix, epoch)
                    .ok_or_else(|| Failure::System("the key of --keys cannot sign".to_owned()))?;
                shown.write(&identity).map_err(failed)?;
                let (counter, began) = (Counter::default(), Instant::now());
                Some(Keys { credentials, counter, began, began_at, _shown: shown })
            }
        };
        Ok(Self {
            own,
            prefix,
            epoch,
            verdicts: writer(participant, SESSION_TOPIC, SESSION_TYPE).map_err(failed)?,
            keys,
            ours: BTreeSet::new(),
            told: BTreeMap::new(),
            over: Vec::new(),
            again_at: Instant::now() + AGAIN,
            is_failing: false,
        })
    }

    /// These pairs are there now.
    pub(super) fn know<'p>(&mut self, pairs: impl Iterator<Item = &'p Pair>) {
        // Where a pair may be at several addresses, one of this domain is enough: no other domain asks for it.
        self.ours = pairs.filter(|pair| pair.from.domain == Some(self.own)).map(|pair| pair.id).collect();
    }

    /// A pair has this verdict now.
    pub(super) fn tell(&mut self, id: PairId, verdict: &Verdict) {
        let is_known = self.told.contains_key(&id);
        let is_ours = self.ours.contains(&id) && self.told.len() < MOST_PAIRS;
        if !is_known && (!is_ours || *verdict == Verdict::Over) {
            return;
        }
        let told = said(id, verdict, self.epoch);
        self.publish(&told);
        if told.state == SessionState::Over {
            self.told.remove(&id);
            self.over.push(told);
        } else {
            self.told.insert(id, told);
        }
    }

    /// Tells all again that is due.
    pub(super) fn again(&mut self) {
        if Instant::now() < self.again_at {
            return;
        }
        self.again_at = Instant::now() + AGAIN;
        for over in std::mem::take(&mut self.over) {
            // By now it has come to the participants that are there, and others need not know it.
            if !self.told.contains_key(&PairId { writer: over.writer, reader: over.reader }) {
                drop(self.verdicts.unregister_instance(&over));
            }
        }
        for told in self.told.values().cloned().collect::<Vec<_>>() {
            self.publish(&told);
        }
    }

    fn publish(&mut self, verdict: &SessionVerdict) {
        let written = match &mut self.keys {
            None => self.verdicts.write(verdict).map(drop),
            Some(keys) => keys.sign(self.prefix, verdict).and_then(|payload| {
                self.verdicts.write_serialized(&payload.into(), &WriteOptions::default()).map(drop)
            }),
        };
        match written {
            Ok(()) => self.is_failing = false,
            Err(error) => {
                if !std::mem::replace(&mut self.is_failing, true) {
                    eprintln!("punctual: programs are not told of their sessions: {error}");
                }
            }
        }
    }
}

impl Keys {
    /// The bytes of a verdict with its signature.
    fn sign(&mut self, prefix: GuidPrefix, verdict: &SessionVerdict) -> Result<Vec<u8>, Error> {
        let wrong = |what: String| Error::new(ReturnCode::Error, "write", what, "look at the key of --keys");
        let mut payload = Vec::new();
        verdict.encode_payload(Encoding::XCDR1, &mut payload).map_err(|error| wrong(error.to_string()))?;
        let passed = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let counter = self.counter.draw(self.began_at.saturating_add(passed));
        let statement = Statement {
            purpose: Purpose::Session,
            from: prefix,
            manager: prefix,
            epoch: verdict.epoch,
            counter,
            content: &payload,
        };
        let signature = self.credentials.sign(&statement.to_bytes());
        let signature = signature.ok_or_else(|| wrong("it cannot be signed".to_owned()))?;
        seal::append(&mut payload, Purpose::Session, counter, &signature);
        Ok(payload)
    }
}

/// A verdict in the words of its topic.
fn said(id: PairId, verdict: &Verdict, epoch: u64) -> SessionVerdict {
    let lease = u64::try_from(LEASE.as_nanos()).unwrap_or(u64::MAX);
    let base =
        SessionVerdict { writer: id.writer, reader: id.reader, epoch, lease, ..SessionVerdict::default() };
    match verdict {
        Verdict::Pending => base,
        Verdict::Admitted { session, budget, bound, loss, way } => SessionVerdict {
            state: SessionState::Granted,
            session: cut(session, MOST_SESSION),
            limit: budget.latency,
            writer_host: budget.writer.time,
            reader_host: budget.reader.time,
            bound: *bound,
            loss: *loss,
            rate: budget.part.rate,
            bucket: budget.part.bucket,
            largest_packet: budget.part.largest_packet,
            detours: way.detours,
            has_one_copy_left: way.has_one_copy_left,
            ..base
        },
        Verdict::Without(why) => {
            SessionVerdict { state: SessionState::Refused, reason: cut(why, MOST_TEXT), ..base }
        }
        Verdict::Over => SessionVerdict { state: SessionState::Over, ..base },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("abc", 5), "abc");
        assert_eq!(cut("a\u{e4}\u{e4}", 4), "a\u{e4}");
        assert_eq!(cut("\u{e4}", 1), "");
    }
}
