//! The manager's view, published while there are readers. Nothing of it is kept for readers that come later: a report says what is so when
//! it is written, and who begins to read gets a new one at once.
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use control::ResourceManager;
use control::report::Report as View;
use dds::qos::{Durability, History, Reliability};
use dds::{
    DataWriter, DataWriterListener, DomainParticipant, Error, InstanceHandle, NO_STATUS, QosKind, StatusMask,
};
use serde::Serialize;
use tokio::sync::Notify;
use tracing::warn;
use wire::admission::{MOST_REPORT, REPORT_TOPIC, REPORT_TYPE, Report};

/// How often the report is published, if anybody reads it.
const INTERVAL: Duration = Duration::from_secs(1);
/// The least time between two of them, also for readers that have just come.
const LEAST_INTERVAL: Duration = Duration::from_millis(50);
/// Bytes of reports in a second, over a while: a long report is repeated less often.
const BYTES_PER_SECOND: usize = 1 << 20;
/// Pairs in a report: the admitted ones first. How many there are besides is said.
pub(crate) const MOST_PAIRS: usize = 2_000;

/// A report with its time.
#[derive(Serialize)]
struct Dated {
    /// When it was written, by the clock of the manager's host: nanoseconds since 1970, UTC.
    time: u64,
    /// When the manager started, the same way.
    started: u64,
    /// Where it keeps grants.
    store: String,
    /// Which network file leads, if it is not the one that this manager was given; else empty.
    network_file: String,
    #[serde(flatten)]
    view: View,
}

/// The writer of reports.
pub(crate) struct Reports {
    writer: DataWriter<Report>,
    manager: [u8; 16],
    epoch: u64,
    started: u64,
    store: String,
    network_file: String,
    readers: BTreeSet<InstanceHandle>,
    /// When the last one was written, and when the next one is due.
    written: Option<Duration>,
    due: Duration,
    /// What was wrong with the last one.
    trouble: Option<String>,
}

/// Wakes the daemon when a reader has come.
struct Waker(Arc<Notify>);

impl DataWriterListener<Report> for Waker {
    fn on_publication_matched(&self, _: &DataWriter<Report>, _: dds::status::Matched) {
        self.0.notify_one();
    }
}

impl Reports {
    /// Makes the writer; `waker` is notified when a reader comes.
    ///
    /// # Errors
    /// What creating entities says.
    pub(crate) fn new(
        participant: &DomainParticipant,
        waker: &Arc<Notify>,
        epoch: u64,
        store: String,
        network_file: String,
    ) -> Result<Self, Error> {
        let topic = participant.create_topic::<Report>(
            REPORT_TOPIC,
            REPORT_TYPE,
            QosKind::Default,
            None,
            NO_STATUS,
        )?;
        let publisher = participant.create_publisher(QosKind::Default, None, NO_STATUS)?;
        let mut qos = publisher.get_default_datawriter_qos();
        qos.endpoint.reliability =
            Reliability { max_blocking_time: dds::Duration::ZERO, ..Reliability::RELIABLE };
        qos.endpoint.durability = Durability::Volatile;
        qos.endpoint.history = History::KeepLast(1);
        // One that is being sent and the next one.
        qos.byte_limit = 3 * MOST_REPORT;
        let listener = Arc::new(Waker(Arc::clone(waker)));
        let mask = StatusMask::PUBLICATION_MATCHED;
        let writer =
            publisher.create_datawriter::<Report>(&topic, QosKind::Specific(qos), Some(listener), mask)?;
        let manager = wire::Guid::new(participant.prefix(), wire::EntityId::PARTICIPANT).to_bytes();
        Ok(Self {
            writer,
            manager,
            epoch,
            started: wall(),
            store,
            network_file,
            readers: BTreeSet::new(),
            written: None,
            due: Duration::ZERO,
            trouble: None,
        })
    }

    /// When [`Self::publish`] wants to be called, unless a reader comes before.
    pub(crate) fn poll_timeout(&self) -> Option<Duration> {
        (!self.readers.is_empty()).then_some(self.due)
    }

    /// Publishes a report if one is due, or a reader has come.
    pub(crate) fn publish(&mut self, now: Duration, manager: &ResourceManager) {
        let readers: BTreeSet<InstanceHandle> = self.writer.get_matched_subscriptions().into_iter().collect();
        let is_new = !readers.is_subset(&self.readers);
        self.readers = readers;
        if is_new {
            let soon = self.written.map_or(now, |written| written.saturating_add(LEAST_INTERVAL));
            self.due = self.due.min(soon.max(now));
        }
        if self.readers.is_empty() || now < self.due {
            return;
        }
        let (bytes, trouble) = match self.report(manager) {
            Ok(report) => {
                (report.json.len(), self.writer.write(&report).err().map(|error| error.to_string()))
            }
            Err(error) => (0, Some(error.to_string())),
        };
        if let Some(trouble) = trouble.as_ref().filter(|trouble| self.trouble.as_ref() != Some(*trouble)) {
            warn!("the report for `punctual grm status` could not be published: {trouble}");
        }
        self.trouble = trouble;
        self.written = Some(now);
        let pause = Duration::from_millis((bytes.saturating_mul(1_000) / BYTES_PER_SECOND) as u64);
        self.due = now.saturating_add(pause.max(INTERVAL));
    }

    fn report(&self, manager: &ResourceManager) -> Result<Report, serde_json::Error> {
        let mut most = MOST_PAIRS;
        loop {
            let (store, view) = (self.store.clone(), manager.report_of(most));
            let network_file = self.network_file.clone();
            let dated = Dated { time: wall(), started: self.started, store, network_file, view };
            let json = serde_json::to_string(&dated)?;
            if json.len() < MOST_REPORT || most == 0 {
                return Ok(Report { manager: self.manager, epoch: self.epoch, json });
            }
            most /= 2;
        }
    }
}

/// The time in nanoseconds since 1970, UTC.
pub(crate) fn wall() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
