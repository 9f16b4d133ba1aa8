//! Participants that share memory: who does, when each looks at it, and what happens to it.
use std::fmt;
use std::sync::Arc;

use dds::config::SharedMemoryConfig;
use dds::links::Links;
use wire::discovery::{ParticipantData, SharedMemory};
use wire::{Duration, Guid, Instant};

use super::config::{Config, Sizes};
use super::liar::Liar;
use super::room::Room;
use super::run::{Control, Run};
use super::sharing::Sharing;
use crate::coverage::Situation;
use crate::network::NodeId;
use crate::random::Random;
use crate::violation::Invariant;

/// Most datagrams that a participant reads before something else happens.
const MOST_READ: u64 = 40;
/// Longest time until a participant looks once there are no faults any more.
const SETTLED: Duration = Duration::from_micros(200);

/// What is shared on each machine. All participants of a host are on one.
pub(super) struct Machine {
    random: Random,
    rooms: Vec<Arc<Room>>,
    /// Bytes of each ring.
    ring: u32,
    /// Longest time until a participant looks that was rung for.
    slowest: Duration,
    cuts: u64,
    hangs: u64,
    lies: u64,
    /// Until then a participant does not look, even if another one rings.
    hang: Vec<Instant>,
    /// When each participant looks next.
    looks: Vec<Instant>,
    /// At most one for each participant.
    liars: Vec<Option<Liar>>,
}

impl Machine {
    /// Moves most participants to the first host, and draws the rest.
    pub(super) fn draw(mut random: Random, config: &mut Config) -> Self {
        let large = random.chance(400_000);
        for plan in &mut config.participants {
            if random.chance(850_000) {
                plan.host = 0;
            }
            (plan.tag, plan.other_type) = ("", false);
            for endpoint in &mut plan.endpoints {
                // Who is best effort has no window: it fills the ring of who does not look.
                endpoint.reliable = random.chance(if large { 400_000 } else { 900_000 });
                let writes = &mut endpoint.writes;
                if large {
                    (writes.sizes, writes.samples) = (Sizes::Large, random.within(5..=20) as u32);
                    endpoint.byte_limit = endpoint.byte_limit.max(1 << 20);
                } else if writes.sizes != Sizes::Large {
                    writes.samples = writes.samples.saturating_mul(2);
                }
                // More often at once than otherwise.
                writes.interval = writes.interval.scaled(1, random.within(1..=8) as u32);
            }
        }
        let count = config.participants.len();
        Self {
            rooms: config.hosts.iter().map(|_| Arc::default()).collect(),
            ring: random.pick(&[64 << 10, 64 << 10, 1 << 20]).unwrap_or(1 << 20),
            slowest: Duration::from_micros(random.pick(&[20, 200, 200, 5_000, 120_000]).unwrap_or(200)),
            cuts: random.below(4),
            hangs: random.below(7),
            hang: vec![Instant::START; count],
            lies: if random.chance(400_000) { random.within(1..=30) } else { 0 },
            looks: vec![Instant::NEVER; count],
            liars: (0..count).map(|_| None).collect(),
            random,
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ring, slowest, cuts, hangs, lies, .. } = self;
        write!(
            f,
            "rings of {ring} bytes, looked at within {slowest}, {hangs} hangs, {cuts} cuts, {lies} lies"
        )
    }
}

impl Run<'_> {
    /// The shared memory of a participant that begins.
    pub(super) fn shares(&mut self, node: NodeId) -> Option<Sharing> {
        let machine = self.machine.as_mut()?;
        let host = self.config.participants.get(node.0)?.host;
        let random = &mut machine.random;
        let announced = SharedMemory {
            host: host as u64 + 1,
            network_namespace: if random.chance(50_000) { 2 } else { 1 },
            nonce: random.next_u64(),
            user: if random.chance(50_000) { 1_000 } else { 0 },
        };
        if random.chance(100_000) {
            return None;
        }
        let config =
            SharedMemoryConfig { ring: machine.ring, loans: 1 << 20, ..SharedMemoryConfig::default() };
        Some(Sharing::new(machine.rooms.get(host)?, announced, &config))
    }

    /// When links are cut and liars act.
    pub(super) fn plan_links(&mut self, calm: Instant) {
        let Some(machine) = &mut self.machine else { return };
        let nodes = machine.looks.len() as u64;
        let mut controls = vec![Control::CutLink; machine.cuts as usize];
        let liar = NodeId(machine.random.below(nodes) as usize);
        controls.extend((0..machine.lies).map(|_| Control::Lie(liar)));
        let hangs = machine.hangs;
        controls.extend((0..hangs).map(|_| Control::Hang(NodeId(machine.random.below(nodes) as usize))));
        for control in controls {
            let at = Instant::from_nanos(machine.random.below(calm.as_nanos().max(1)));
            self.world.schedule(at, control);
        }
    }

    /// Rings for each participant that has something to look at.
    pub(super) fn tend_links(&mut self) {
        let now = self.world.now();
        let Some(machine) = &mut self.machine else { return };
        for (index, (look, hang)) in machine.looks.iter_mut().zip(&machine.hang).enumerate() {
            let node = self.world.node(NodeId(index)).map(|node| node.inner().host());
            let due = node.and_then(super::VirtualHost::sharing).map_or(Instant::NEVER, Sharing::due);
            if due == Instant::NEVER || due >= *look {
                continue;
            }
            let slowest = if self.settled { SETTLED } else { machine.slowest };
            let late = Duration::from_nanos(machine.random.below(slowest.as_nanos() as u64) as i64);
            let at = due.max(now.after(late)).max(*hang);
            if at < *look {
                *look = at;
                self.world.schedule(at, Control::Look(NodeId(index)));
            }
        }
    }

    pub(super) fn look(&mut self, node: NodeId) {
        let now = self.world.now();
        let is_stalled = self.world.is_stalled(node);
        let Some(machine) = &mut self.machine else { return };
        let Some(look) = machine.looks.get_mut(node.0).filter(|look| **look <= now) else { return };
        let hangs = machine.hang.get(node.0).is_some_and(|hang| *hang > now);
        if is_stalled || hangs {
            *look = now.after(Duration::from_millis(5));
            return self.world.schedule(now.after(Duration::from_millis(5)), Control::Look(node));
        }
        *look = Instant::NEVER;
        let most = machine.random.within(1..=MOST_READ);
        if let Some(Err(error)) = self.act(node, |node, now| node.host().look(now, most)) {
            self.world.fail(Invariant::NoPanic, format!("no shared memory: {error}"));
        }
        self.judge_node(node);
    }

    /// A participant does not look for a while: its threads are kept by something else.
    pub(super) fn hang(&mut self, node: NodeId) {
        let Some(machine) = &mut self.machine else { return };
        let lasts = Duration::from_millis(machine.random.within(40..=900) as i64);
        if let Some(hang) = machine.hang.get_mut(node.0) {
            *hang = self.world.now().after(lasts);
            self.world
                .trace
                .line(self.world.now(), format_args!("fault: n{} looks at no ring for {lasts}", node.0));
        }
    }

    pub(super) fn cut_link(&mut self) {
        let Some(machine) = &mut self.machine else { return };
        let Some(room) = machine.rooms.first() else { return };
        if room.cut(&mut machine.random) {
            self.world.trace.line(self.world.now(), format_args!("fault: a connection of processes is cut"));
            self.world.coverage.hit(Situation::LinkCut);
        }
    }

    /// A liar is found by a participant, meets it, and lies to it; afterwards another one comes.
    pub(super) fn lie(&mut self, node: NodeId) {
        let writers: Vec<Guid> =
            self.endpoints.keys().filter(|guid| guid.entity_id.is_writer()).copied().collect();
        let Some(host) = self.config.participants.get(node.0).map(|plan| plan.host) else { return };
        let announced = self.act(node, |node, _| Some(node.host().sharing()?.announced())).flatten();
        let (Some(target), Some(machine)) = (announced, &mut self.machine) else { return };
        let (Some(room), Some(slot)) = (machine.rooms.get(host), machine.liars.get_mut(node.0)) else {
            return;
        };
        let random = &mut machine.random;
        let stays = slot.as_ref().is_some_and(|liar| liar.is_of(&target)) && random.chance(900_000);
        if !stays {
            match Liar::new(random, &target) {
                Ok(liar) => *slot = Some(liar),
                Err(error) => return self.world.fail(Invariant::NoPanic, format!("no liar: {error}")),
            }
        }
        let Some(liar) = slot else { return };
        if !liar.is_connected() {
            liar.greet(random, room, target.nonce);
        } else {
            liar.lie(random, &writers);
            self.world.coverage.hit(Situation::Lie);
        }
        let (prefix, memory) = (liar.prefix, liar.announced);
        self.act(node, |node, _| {
            let Some(sharing) = node.host().sharing() else { return };
            let data = ParticipantData { shared_memory: Some(memory), ..ParticipantData::new(prefix) };
            if !stays {
                sharing.links.matched(&data);
            }
            if let Some(link) = sharing.link_with(prefix) {
                send(&sharing.links, link);
            }
        });
    }
}

/// Something for the liar: how far it says that it has read is looked at when its ring is full.
fn send(links: &Links, link: std::num::NonZeroU32) {
    for _ in 0..100 {
        let _ = links.copy(link, &[7; 4_000]);
    }
}
