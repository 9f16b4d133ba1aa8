//! The admission topics with keys: requests that are signed, and verdicts that are (`docs/decisions/0019-signed-requests.md`).
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use control::askers::{Askers, AskersCounters, Heard};
use dds::qos::{Durability, History, Reliability};
use dds::serialized::{Request as Access, Sample as Bytes};
use dds::{
    DataReader, DataWriter, DdsType as _, DomainParticipant, Error, NO_STATUS, QosKind, ReturnCode, States,
    WriteOptions,
};
use tokio::sync::Notify;
use tracing::warn;
use wire::admission::{IDENTITY_TOPIC, IDENTITY_TYPE, Identity, MANAGER_TOPIC, Request, Verdict};
use wire::cdr::Encoding;
use wire::seal::{self, Counter, Credentials, Purpose, Statement};
use wire::{Guid, GuidPrefix};

use crate::topics::{AT_ONCE, Arrived, reader};

/// See the module above.
pub(crate) struct Signed {
    credentials: Arc<dyn Credentials>,
    own: GuidPrefix,
    epoch: u64,
    counter: Cell<Counter>,
    askers: RefCell<Askers>,
    /// Counters rise with this clock, and not with that of the day, which may be set.
    began: Instant,
    began_at: u64,
    identities: DataReader<Identity>,
    /// The own certificate.
    _shown: DataWriter<Identity>,
}

impl Signed {
    /// Shows the manager's certificate, and waits for those of participants.
    ///
    /// # Errors
    /// What creating entities says; the key cannot sign.
    pub(crate) fn new(
        participant: &DomainParticipant,
        waker: &Arc<Notify>,
        credentials: Arc<dyn Credentials>,
        epoch: u64,
    ) -> Result<Self, Error> {
        let own = participant.prefix();
        let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS)?;
        let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
        let topic = participant.create_topic::<Identity>(
            MANAGER_TOPIC,
            IDENTITY_TYPE,
            QosKind::Default,
            None,
            NO_STATUS,
        )?;
        let mut qos = publisher.get_default_datawriter_qos();
        qos.endpoint.reliability = Reliability::RELIABLE;
        qos.endpoint.durability = Durability::TransientLocal;
        qos.endpoint.history = History::KeepLast(1);
        let shown =
            publisher.create_datawriter::<Identity>(&topic, QosKind::Specific(qos), None, NO_STATUS)?;
        let identity = seal::identity(&*credentials, own, epoch).ok_or_else(cannot_sign)?;
        shown.write(&identity)?;
        let identities = reader(participant, &subscriber, (IDENTITY_TOPIC, IDENTITY_TYPE), waker, |qos| {
            qos.endpoint.reliability = Reliability::RELIABLE;
            qos.endpoint.durability = Durability::TransientLocal;
        })?;
        let askers = RefCell::new(Askers::new(Arc::clone(&credentials), own, epoch));
        let (counter, began, began_at) = (Cell::default(), Instant::now(), wall());
        Ok(Self { credentials, own, epoch, counter, askers, began, began_at, identities, _shown: shown })
    }

    /// Publishes a verdict with its signature.
    ///
    /// # Errors
    /// What writing says.
    pub(crate) fn tell(&self, verdicts: &DataWriter<Verdict>, verdict: &Verdict) -> Result<(), Error> {
        let mut payload = Vec::new();
        verdict.encode_payload(Encoding::XCDR1, &mut payload).map_err(|error| {
            Error::new(
                ReturnCode::BadParameter,
                "write",
                error.to_string(),
                "shorten the texts of the verdict",
            )
        })?;
        let passed = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let mut counter = self.counter.get();
        let number = counter.draw(self.began_at.saturating_add(passed));
        self.counter.set(counter);
        let statement = Statement {
            purpose: Purpose::Verdict,
            from: self.own,
            manager: self.own,
            epoch: self.epoch,
            counter: number,
            content: &payload,
        };
        let signature = self.credentials.sign(&statement.to_bytes()).ok_or_else(cannot_sign)?;
        seal::append(&mut payload, Purpose::Verdict, number, &signature);
        verdicts.write_serialized(&payload.into(), &WriteOptions::default()).map(|_| ())
    }

    /// Takes requests and certificates that have come; true if that was all.
    ///
    /// # Errors
    /// What taking says.
    pub(crate) fn take(
        &self,
        now: Duration,
        requests: &DataReader<Request>,
        out: &mut Vec<Arrived>,
    ) -> Result<bool, Error> {
        let mut askers = self.askers.borrow_mut();
        let seconds = wall() / 1_000_000_000;
        let identities = self.identities.take(AT_ONCE, States::ANY)?;
        for sample in &identities {
            let Some(identity) = &sample.data else { continue };
            let from = Guid::from_bytes(sample.info.publication_handle.to_bytes()).prefix;
            if let Err(reason) = askers.identity(seconds, from, identity) {
                warn!("participant {from} is not believed: {reason}");
            }
            for payload in askers.take_held(from) {
                out.extend(arrived(askers.heard(now, seconds, from, &payload)));
            }
        }
        let mut samples: Vec<Bytes> = Vec::new();
        requests.access_serialized(&Access { max: AT_ONCE, ..Access::TAKE }, &mut samples)?;
        let is_all = samples.len() < AT_ONCE && identities.len() < AT_ONCE;
        for sample in &samples {
            let from = Guid::from_bytes(sample.info.publication_handle.to_bytes()).prefix;
            // That a request is disposed of is not signed: a withdrawal is a sample.
            let Some(payload) = &sample.payload else { continue };
            out.extend(arrived(askers.heard(now, seconds, from, payload.bytes())));
        }
        requests.recycle(samples);
        Ok(is_all)
    }

    /// Those who have waited for their certificates in vain.
    pub(crate) fn take_overdue(&self, now: Duration) -> Vec<Arrived> {
        let overdue = self.askers.borrow_mut().take_overdue(now);
        overdue.into_iter().map(|(request, asker)| Arrived::Request(request, asker)).collect()
    }

    /// The participants that have asked and are not there any more, once each.
    pub(crate) fn take_gone(&self, participant: &DomainParticipant) -> Vec<GuidPrefix> {
        let mut askers = self.askers.borrow_mut();
        if askers.present().next().is_none() {
            return Vec::new();
        }
        let there: std::collections::BTreeSet<GuidPrefix> =
            participant.get_discovered_participants().iter().map(|found| found.data.prefix).collect();
        let gone: Vec<GuidPrefix> = askers.present().filter(|asker| !there.contains(asker)).collect();
        gone.iter().for_each(|asker| askers.gone(*asker));
        gone
    }

    /// How much was not believed, and the participant of the last of it.
    pub(crate) fn counters(&self) -> (AskersCounters, Option<GuidPrefix>) {
        let askers = self.askers.borrow();
        (*askers.counters(), askers.disbelieved())
    }
}

fn arrived(heard: Heard) -> Option<Arrived> {
    match heard {
        Heard::Ask(request, asker) => Some(Arrived::Request(request, asker)),
        Heard::Withdraw((writer, reader)) => {
            let (writer, reader) = (writer.to_bytes(), reader.to_bytes());
            Some(Arrived::Withdrawn(Box::new(Request { writer, reader, ..Request::default() })))
        }
        Heard::Nothing => None,
    }
}

fn cannot_sign() -> Error {
    Error::new(
        ReturnCode::Error,
        "sign",
        "the key of the manager cannot sign",
        "make keys anew with `punctual grm keys`",
    )
}

/// Nanoseconds since 1970.
fn wall() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
