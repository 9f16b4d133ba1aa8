//! A process with one participant of the public API and its application.
use std::net::SocketAddr;
use std::sync::{Arc, Weak};

use dds::host::{Addresses, Engine, Host};
use dds::serialized::DropReason;
use dds::{DomainParticipant, DomainParticipantFactory, Error, QosKind};
use rtps::discovery::DiscoveryConfig;
use wire::{GuidPrefix, Instant, Now};

use super::application::Application;
use super::host::VirtualHost;
use super::seen::Seen;
use crate::coverage::{Coverage, Situation};
use crate::node::{Node, Outgoing};

/// Rounds of an engine that wants to be woken at once after it was.
const MOST_ROUNDS: usize = 100;

/// A process with one participant.
pub struct DdsNode {
    application: Arc<Application>,
    /// `None` once it has left.
    participant: Option<DomainParticipant>,
    host: Arc<VirtualHost>,
    engine: Weak<dyn Engine>,
    prefix: GuidPrefix,
}

/// What is left of a process that is gone, to see that nothing is.
pub struct Remains {
    host: Arc<VirtualHost>,
    engine: Weak<dyn Engine>,
}

impl Remains {
    /// What should have been let go of and was not.
    pub fn held(&self) -> Option<&'static str> {
        if self.engine.strong_count() > 0 {
            return Some("the participant's memory");
        }
        (!self.host.is_closed()).then_some("its host")
    }
}

impl DdsNode {
    /// A process around a new participant, which is enabled.
    ///
    /// # Errors
    /// As `create_participant_on`.
    pub fn new(
        host: Arc<VirtualHost>,
        config: DiscoveryConfig,
        addresses: &Addresses,
    ) -> Result<Self, Error> {
        let prefix = config.prefix;
        let (starting, (give, get)) = (Arc::clone(&host), std::sync::mpsc::channel());
        let start = move |engine: Arc<dyn Engine>| {
            // Received below, if the participant came to be.
            let _ = give.send(Arc::downgrade(&engine));
            starting.start(engine);
            Ok(())
        };
        let participant = DomainParticipantFactory::get_instance().create_participant_on(
            Arc::clone(&host) as Arc<dyn Host>,
            start,
            config,
            addresses,
            QosKind::Default,
        )?;
        let engine = get.try_recv().map_err(|_| not_enabled())?;
        let participant = Some(participant);
        Ok(Self { application: Arc::default(), participant, host, engine, prefix })
    }

    /// The participant, until it has left.
    pub const fn participant(&self) -> Option<&DomainParticipant> {
        self.participant.as_ref()
    }

    /// The application.
    pub const fn application(&self) -> &Arc<Application> {
        &self.application
    }

    /// Its name.
    pub const fn prefix(&self) -> GuidPrefix {
        self.prefix
    }

    /// The outside.
    pub fn host(&self) -> &VirtualHost {
        &self.host
    }

    /// The addresses of the host have changed.
    pub fn set_network(&self, now: Now, addresses: &Addresses) {
        self.host.call(now, |engine| engine.on_network(addresses));
    }

    /// Leaves the domain: by being deleted, or because all handles are let go of. What it says then waits in the host.
    ///
    /// # Errors
    /// What went wrong, in words.
    pub fn leave(&mut self, lets_go: bool) -> Result<(), String> {
        let application = std::mem::take(&mut self.application);
        let Some(participant) = self.participant.take() else { return Ok(()) };
        if lets_go {
            return Ok(());
        }
        let factory = DomainParticipantFactory::get_instance();
        factory.delete_participant(&participant).map_err(|error| error.to_string())?;
        let mut answers = vec![participant.assert_liveliness(), factory.delete_participant(&participant)];
        answers.extend(application.writers().iter().map(|writer| writer.raw.assert_liveliness()));
        answers.extend(application.readers().iter().map(|reader| reader.raw.held().map(|_| ())));
        match answers.into_iter().find(|answer| !is_deleted(answer)) {
            Some(answer) => Err(format!("an entity that was deleted said {answer:?}")),
            None => Ok(()),
        }
    }

    /// What will be left of the process once it is gone.
    pub fn remains(&self) -> Remains {
        Remains { host: Arc::clone(&self.host), engine: Weak::clone(&self.engine) }
    }

    /// Adds what its readers and its host have shown.
    pub fn count(&self, coverage: &mut Coverage) {
        coverage.add(Situation::SocketFull, self.host.refused());
        if let Some(sharing) = self.host.sharing() {
            sharing.count(coverage);
        }
        for reader in self.application.readers() {
            if let Ok(counters) = reader.raw.counters() {
                coverage.add(Situation::HeldBack, counters.held_back);
            }
            let dropped = |reason| reader.raw.dropped(reason).count;
            coverage.add(Situation::SampleLost, dropped(DropReason::Lost));
            coverage.add(Situation::Replaced, dropped(DropReason::Replaced));
            coverage.add(Situation::NotOwned, dropped(DropReason::Ownership));
            coverage.add(Situation::OutOfOrder, dropped(DropReason::OutOfOrder));
            coverage.add(Situation::Expired, dropped(DropReason::Expired));
            coverage.add(Situation::ReaderFull, reader.raw.get_sample_rejected_status().total.count);
        }
    }

    fn excess_of_endpoints(&self) -> Option<String> {
        let writers = self.application.writers().into_iter().filter_map(|writer| {
            let (held, limit) = (writer.raw.held().ok()?.bytes, writer.plan.byte_limit);
            (held > limit).then(|| format!("{}: {held} bytes held, the limit is {limit}", writer.guid))
        });
        let readers = self.application.readers().into_iter().filter_map(|reader| {
            let (held, plan) = (reader.raw.held().ok()?, &reader.plan);
            let most = plan.reads.max_samples.map_or(usize::MAX, |most| most as usize);
            let (limit, samples) = (plan.byte_limit + NOTICES, held.samples);
            let is_over = held.bytes > limit || samples > most || held.waiting > 32 << 20;
            is_over
                .then(|| format!("{}: {held:?}, the limits are {limit} bytes, {most} samples", reader.guid))
        });
        writers.chain(readers).next()
    }
}

/// Bytes of samples that only tell that an instance has ended: they are not refused for want of room.
const NOTICES: usize = 4 << 10;

fn is_deleted(answer: &Result<(), Error>) -> bool {
    matches!(answer, Err(error) if error.code == dds::ReturnCode::AlreadyDeleted)
}

fn not_enabled() -> Error {
    let advice = "leave ENTITY_FACTORY of the factory as it is";
    Error::new(
        dds::ReturnCode::NotEnabled,
        "create_participant_on",
        "the participant was not enabled",
        advice,
    )
}

impl Node for DdsNode {
    type Observation = Seen;

    fn handle_datagram(&mut self, now: Now, from: SocketAddr, _: SocketAddr, bytes: &[u8]) {
        self.host.read(now, from, bytes);
    }

    fn poll_transmit(&mut self, now: Now, out: &mut Outgoing) -> bool {
        if self.host.rest_at() <= now.monotonic {
            self.host.rest(now);
        }
        for _ in 0..MOST_ROUNDS {
            if self.host.wish() > now.monotonic {
                break;
            }
            self.host.clear_wish();
            self.host.call(now, Engine::on_timeout);
        }
        match self.host.next_outgoing() {
            Some(next) => {
                *out = next;
                true
            }
            None => false,
        }
    }

    fn poll_timeout(&self) -> Instant {
        self.host.wish().min(self.host.rest_at())
    }

    fn take_observations(&mut self, out: &mut Vec<Seen>) {
        self.application.drain(out);
    }

    fn excess(&self) -> Option<String> {
        self.excess_of_endpoints()
    }
}
