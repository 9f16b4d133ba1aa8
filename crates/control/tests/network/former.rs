//! A manager that does not lead any more and does not know it: it was stopped for a while, or cut off, when another one took its place. It goes on with
//! what it had in hand; switches, gates and the store refuse it once they have heard of the other one.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use control::ResourceManager;
use control::action::{StoreChange, Token};
use wire::admission::Verdict;

use crate::counts::Fault;
use crate::doing::Agent;
use crate::line::Line;
use crate::seeds::Play;
use crate::world::{Pair, World};

/// What belongs to one manager of the world, and not to another one.
pub(crate) struct Former {
    manager: ResourceManager,
    epoch: u64,
    lines: Vec<Option<Line>>,
    connected: Vec<bool>,
    agents: Vec<Agent>,
    to_store: Vec<(Token, StoreChange)>,
    stored: VecDeque<(Token, bool)>,
    announced: VecDeque<Token>,
    unanswered: BTreeMap<Token, Option<usize>>,
    verdicts: BTreeMap<Pair, Verdict>,
    history: Vec<Verdict>,
    disposed: BTreeSet<Pair>,
}

impl World {
    /// Another manager takes the place of this one, which is still there.
    fn take_over(&mut self) -> Former {
        let count = self.switches.len();
        let mut former = Former {
            manager: ResourceManager::new(self.config.clone(), self.network.clone(), 0).unwrap(),
            epoch: self.epoch,
            lines: (0..count).map(|_| None).collect(),
            connected: vec![false; count],
            agents: (0..count).map(|_| Agent::default()).collect(),
            to_store: Vec::new(),
            stored: VecDeque::new(),
            announced: VecDeque::new(),
            unanswered: BTreeMap::new(),
            verdicts: BTreeMap::new(),
            history: Vec::new(),
            disposed: BTreeSet::new(),
        };
        self.change_places(&mut former);
        self.restart();
        former
    }

    fn change_places(&mut self, other: &mut Former) {
        std::mem::swap(&mut self.manager, &mut other.manager);
        std::mem::swap(&mut self.epoch, &mut other.epoch);
        std::mem::swap(&mut self.lines, &mut other.lines);
        std::mem::swap(&mut self.connected, &mut other.connected);
        std::mem::swap(&mut self.agents, &mut other.agents);
        std::mem::swap(&mut self.to_store, &mut other.to_store);
        std::mem::swap(&mut self.stored, &mut other.stored);
        std::mem::swap(&mut self.announced, &mut other.announced);
        std::mem::swap(&mut self.unanswered, &mut other.unanswered);
        std::mem::swap(&mut self.verdicts, &mut other.verdicts);
        std::mem::swap(&mut self.history, &mut other.history);
        std::mem::swap(&mut self.disposed, &mut other.disposed);
    }
}

impl Play {
    /// Another manager takes the place of the one that leads, which goes on for a while.
    pub(crate) fn take_over(&mut self) {
        self.world.counts.add(Fault::TakenOver);
        let former = self.world.take_over();
        self.begin_again();
        self.mix.former = Some(former);
    }

    /// The former manager does some of what it had in hand, and what comes of that.
    pub(crate) fn former_goes_on(&mut self) {
        let Some(mut former) = self.mix.former.take() else { return };
        self.world.change_places(&mut former);
        if self.random.one_in(4) {
            let at = self.world.now;
            // Its clock has gone on as well.
            self.world.manager.handle_timeout(at + Duration::from_secs(1));
            self.world.collect();
        }
        for _ in 0..1 + self.random.below(20) {
            let next = self.world.next();
            if next.is_empty() {
                break;
            }
            let next = *self.random.of(&next);
            let bytes = *self.random.of(&[60, 1_448, usize::MAX, usize::MAX]);
            self.world.happen(next, bytes);
        }
        self.world.change_places(&mut former);
        if !self.random.one_in(8) {
            self.mix.former = Some(former);
        }
    }

    /// A switch that begins anew has lost the connection of the former manager, too.
    pub(crate) fn former_loses(&mut self, switch: usize) {
        if let Some(former) = &mut self.mix.former {
            former.lines[switch] = None;
            former.connected[switch] = false;
        }
    }
}
