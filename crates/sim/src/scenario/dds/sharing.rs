//! The shared memory of a simulated participant: the machine that the driver has too, with time and connections of the simulation.
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use dds::config::SharedMemoryConfig;
use dds::host::{BY_LINK, Engine};
use dds::links::{Encounters, Got, Links};
use wire::discovery::SharedMemory;
use wire::{GuidPrefix, Instant};

use super::host::lock;
use super::room::{Place, Room};
use crate::coverage::{Coverage, Situation};

/// Largest datagram.
const BUFFER: usize = 65_536;

/// Links with other participants of a machine.
pub(super) struct Sharing {
    /// The links.
    pub(super) links: Arc<Links>,
    room: Arc<Room>,
    announced: SharedMemory,
    meeting: Mutex<Option<(Place, Encounters<Place>)>>,
    buffer: Mutex<Vec<u8>>,
    /// The link with each participant, as it was told last.
    told: Mutex<Vec<(GuidPrefix, NonZeroU32)>>,
    begun: AtomicU64,
    ended: AtomicU64,
    read: AtomicU64,
    /// How often a ring was full.
    pub(super) full: AtomicU64,
    /// How often a full ring was not waited for any more.
    pub(super) lost: AtomicU64,
}

impl Sharing {
    /// Of a participant that announces this.
    pub(super) fn new(room: &Arc<Room>, announced: SharedMemory, config: &SharedMemoryConfig) -> Self {
        Self {
            links: Links::new(announced, config, Box::new(|| {})),
            room: Arc::clone(room),
            announced,
            meeting: Mutex::default(),
            buffer: Mutex::new(vec![0; BUFFER]),
            told: Mutex::default(),
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            read: AtomicU64::new(0),
            full: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        }
    }

    /// Where others meet it.
    pub(super) fn name(nonce: u64) -> Vec<u8> {
        format!("punctual-{nonce:016x}").into_bytes()
    }

    /// What is announced.
    pub(super) const fn announced(&self) -> SharedMemory {
        self.announced
    }

    /// The link with a participant.
    pub(super) fn link_with(&self, prefix: GuidPrefix) -> Option<NonZeroU32> {
        lock(&self.told).iter().find(|(other, _)| *other == prefix).map(|(_, link)| *link)
    }

    /// When there is something to do: `Instant::START` if at once.
    pub(super) fn due(&self) -> Instant {
        if self.links.is_to_begin() || self.links.is_ready() {
            return Instant::START;
        }
        let Some((place, encounters)) = &*lock(&self.meeting) else { return Instant::NEVER };
        let is_wanted = place.is_wanted() || encounters.connections().any(super::room::Talk::is_ready);
        if is_wanted || self.links.has_wishes() {
            return Instant::START;
        }
        encounters.next().unwrap_or(Instant::NEVER)
    }

    /// Meets others.
    ///
    /// # Errors
    /// The system has no shared memory.
    pub(super) fn meet(&self, now: Instant, engine: &dyn Engine) -> Result<(), String> {
        if self.links.is_to_begin() {
            self.links.begin(Box::new(|| {}))?;
            let place = Place::new(&self.room, Self::name(self.announced.nonce), self.announced.user);
            *lock(&self.meeting) = Some((place, Encounters::new(Arc::clone(&self.links))));
        }
        let tell = |participant, link: Option<NonZeroU32>| {
            let counter = if link.is_some() { &self.begun } else { &self.ended };
            counter.fetch_add(1, Ordering::Relaxed);
            let mut told = lock(&self.told);
            told.retain(|(other, _)| *other != participant);
            told.extend(link.map(|link| (participant, link)));
            drop(told);
            engine.on_link(participant, link);
        };
        // Closed within, it is let go of afterwards.
        let Some((place, mut encounters)) = lock(&self.meeting).take() else { return Ok(()) };
        encounters.step(now, &place, |_| true, &tell);
        if !self.links.is_closed() {
            *lock(&self.meeting) = Some((place, encounters));
        }
        Ok(())
    }

    /// Hands in the next datagram that lies in a ring; false if there is none.
    pub(super) fn read(&self, engine: &dyn Engine) -> bool {
        let mut buffer = std::mem::take(&mut *lock(&self.buffer));
        buffer.resize(BUFFER, 0);
        let got = self.links.receive(&mut buffer);
        match &got {
            Some(Got::Copied(len)) => engine.on_datagram(BY_LINK, buffer.get(..*len).unwrap_or_default()),
            Some(Got::Kept(kept, len)) => engine.on_kept_datagram(BY_LINK, kept, *len),
            None => {}
        }
        *lock(&self.buffer) = buffer;
        self.read.fetch_add(u64::from(got.is_some()), Ordering::Relaxed);
        got.is_some()
    }

    /// The process is gone, or its participant.
    pub(super) fn close(&self) {
        self.links.close();
        let meeting = lock(&self.meeting).take();
        drop(meeting);
    }

    /// Adds what was seen.
    pub(super) fn count(&self, coverage: &mut Coverage) {
        let given_up = self.links.report().iter().filter(|line| line.contains("given up")).count();
        for (situation, count) in [
            (Situation::LinkBegun, self.begun.load(Ordering::Relaxed)),
            (Situation::LinkEnded, self.ended.load(Ordering::Relaxed)),
            (Situation::ByLink, self.read.load(Ordering::Relaxed)),
            (Situation::RingFull, self.full.load(Ordering::Relaxed)),
            (Situation::RingLost, self.lost.load(Ordering::Relaxed)),
            (Situation::LiarFound, given_up as u64),
        ] {
            coverage.add(situation, count);
        }
    }
}
