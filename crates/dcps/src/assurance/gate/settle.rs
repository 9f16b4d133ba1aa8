//! What follows from a verdict: how its pair runs, and what the two participants are told.
use alloc::sync::Arc;
use core::net::SocketAddr;
use core::num::NonZeroU16;

use rtps::{Conduct, Flow, Path};
use wire::admission::{Repairs, Socket, State, Verdict};
use wire::{Duration, EntityId, Guid, GuidPrefix, Instant};

use super::super::pair::{Pair, Runs, Side, batching, duration};
use super::super::verdict::{self, Grant};
use super::super::{Action, Way};
use super::{Gate, shortened};
use crate::reader::Bound;

impl Gate {
    pub(super) fn apply_verdict(
        &mut self,
        now: Instant,
        key: (EntityId, Guid),
        from: GuidPrefix,
        verdict: &Verdict,
    ) {
        if !self.managers.is_present(from, verdict.epoch) {
            self.counters.old_epoch += 1;
            return;
        }
        if !key.0.is_writer() && self.managers.returns(from) {
            self.ask_again(now);
        }
        if self.managers.asked() == Some(from) {
            self.managers.heard(now, verdict);
        }
        let Some(is_asked) = self.pairs.get(&key).map(|pair| self.asked_for(pair) == Some(from)) else {
            return;
        };
        let Some(pair) = self.pairs.get_mut(&key) else { return };
        let is_granted = |pair: &Pair| {
            pair.grant.as_ref().is_some_and(|held| held.manager == from && held.serial == verdict.serial)
        };
        let is_last = is_asked
            && match &pair.side {
                Side::Reader { request, .. } => {
                    request.as_ref().is_some_and(|request| request.maximum_latency > 0)
                        && verdict.serial == pair.serial
                }
                // The verdict may have overtaken the request.
                Side::Writer { offered, .. } => offered.is_some() && verdict.serial >= pair.serial,
            };
        if !is_last && !is_granted(pair) {
            self.counters.old_serial += 1;
            return;
        }
        if let Side::Writer { .. } = pair.side {
            pair.serial = pair.serial.max(verdict.serial);
        }
        let before = (pair.state, pair.reason.clone(), pair.grant.clone());
        match verdict.state {
            State::Pending if !is_last => {}
            State::Pending => {
                pair.is_taken_up = true;
                // A manager works on it, and has as long as it says.
                let lease = verdict::lease_end(now, verdict);
                pair.patience_at = lease.max(now.after(self.patience));
                if pair.grant.is_none() && pair.runs == Runs::No {
                    pair.decide(State::Pending, shortened(&verdict.reason));
                }
            }
            State::Admitted => {
                let grant = match &pair.side {
                    Side::Reader { request: Some(request), .. } => verdict::for_reader(verdict, request),
                    Side::Writer { offered: Some(offered), announced, .. } => {
                        verdict::for_writer(verdict, offered, announced)
                    }
                    _ => None,
                };
                let lacks_losses = matches!(&pair.side, Side::Reader { request: Some(request), .. }
                    if request.losses.asked().is_some() && verdict.losses.frames == 0);
                if is_last && lacks_losses {
                    pair.decide(State::Refused, "the resource manager knows no bounds with losses");
                    pair.patience_at = Instant::NEVER;
                } else if let Some(grant) = grant.filter(|_| is_last) {
                    pair.decide(State::Admitted, "");
                    pair.patience_at = Instant::NEVER;
                    pair.grant =
                        Some(Grant { manager: from, until: verdict::lease_end(now, verdict), ..grant });
                } else if !is_last && let Some(held) = &mut pair.grant {
                    // The former grant, while a changed request waits.
                    held.until = verdict::lease_end(now, verdict);
                } else {
                    self.counters.implausible += 1;
                    return;
                }
            }
            State::Refused | State::Revoked => {
                pair.decide(verdict.state, shortened(&verdict.reason));
                pair.patience_at = Instant::NEVER;
                pair.offered_latency = verdict.offered_latency;
                pair.offered_separation = verdict.offered_separation;
            }
        }
        let is_same_grant = match (&before.2, &pair.grant) {
            (Some(before), Some(after)) => before.is_like(after),
            (None, None) => true,
            _ => false,
        };
        let is_news = (before.0, &before.1) != (pair.state, &pair.reason) || !is_same_grant;
        self.settle(key, is_news);
    }

    /// Lets a pair run as it should.
    pub(super) fn settle(&mut self, key: (EntityId, Guid), is_news: bool) {
        let Some(pair) = self.pairs.get_mut(&key) else { return };
        let (local, remote) = key;
        let goal = pair.goal();
        let moves = match (&pair.runs, &goal) {
            (Runs::Assured(before), Runs::Assured(after)) => !before.is_like(after),
            (before, after) => before != after,
        };
        let is_reader = matches!(pair.side, Side::Reader { .. });
        if moves {
            pair.runs = goal;
            match pair.runs {
                Runs::No => self.actions.push_back(Action::Unmatch { local, remote }),
                _ => self.enter(key),
            }
            if is_reader {
                self.promise(key);
                self.tell_stage(key);
            } else {
                self.separate(local);
            }
        }
        if moves || is_news {
            self.actions.push_back(Action::Changed { local, remote });
        }
    }

    /// Matches a pair the way it runs.
    pub(super) fn enter(&mut self, key: (EntityId, Guid)) {
        let Some(pair) = self.pairs.get(&key) else { return };
        let mut way = pair.way.clone();
        let mut conduct = None;
        match (&pair.side, &pair.runs) {
            (Side::Writer { offered: Some(offered), .. }, Runs::Assured(grant)) => {
                if let Some(flow) = flow(&way, grant, offered.contract.datagram) {
                    let ordinary = way.direct.or_else(|| way.paths.first().copied());
                    let repairs = grant.repairs.as_ref().and_then(|kept| {
                        beside(ordinary?, kept.repairs, kept.repairs_dscp, grant.destination)
                    });
                    conduct = repairs.and(grant.repairs).map(|kept| conduct_of(&kept));
                    way = Way { paths: [flow].into(), direct: repairs.or(ordinary) };
                }
            }
            (Side::Reader { .. }, Runs::Assured(grant)) => {
                let to = |kept: &Repairs| kept.answered_at.addr();
                let questions = grant.repairs.as_ref().and_then(|kept| {
                    beside(*way.paths.first()?, kept.questions, kept.questions_dscp, to(kept)?)
                });
                if let Some(questions) = questions {
                    conduct = grant.repairs.map(|kept| conduct_of(&kept));
                    way = Way { paths: [questions].into(), direct: None };
                }
            }
            _ => {}
        }
        let remote = Arc::clone(&pair.remote);
        self.actions.push_back(Action::Match { local: key.0, remote, way, conduct });
    }

    /// What the reader is promised from now on.
    fn promise(&mut self, key: (EntityId, Guid)) {
        let Some(pair) = self.pairs.get(&key) else { return };
        let bound = match &pair.runs {
            Runs::Assured(grant) => Some(Bound {
                latency: duration(grant.bound.saturating_add(batching(&pair.remote))),
                source: grant.source,
                separation: grant.separation,
            }),
            _ => None,
        };
        self.actions.push_back(Action::Promise { reader: key.0, writer: key.1, bound });
    }

    /// Tells the writer's participant what the reader does. It is matched by now.
    fn tell_stage(&mut self, key: (EntityId, Guid)) {
        let Some(pair) = self.pairs.get_mut(&key) else { return };
        let stage = pair.stage();
        if let Side::Reader { request: Some(request), .. } = &mut pair.side
            && request.stage != stage
        {
            request.stage = stage;
            self.actions.push_back(Action::Ask(request.clone()));
        }
    }

    /// The longest separation of a writer's flows holds for all of them.
    pub(super) fn separate(&mut self, writer: EntityId) {
        let of_writer = self.pairs.range((writer, Guid::UNKNOWN)..=(writer, Guid::from_bytes([0xff; 16])));
        let separations = of_writer.filter_map(|(_, pair)| match &pair.runs {
            Runs::Assured(grant) => Some(grant.separation),
            _ => None,
        });
        let separation = separations.max().unwrap_or(Duration::ZERO);
        self.actions.push_back(Action::Separate { writer, separation });
    }
}

/// The way of repairs or of questions: as the ordinary one leaves, but from a socket of their own.
fn beside(ordinary: Path, source: Socket, class: u8, to: SocketAddr) -> Option<Path> {
    let flow = Flow { port: NonZeroU16::new(source.port)?, class };
    Some(Path { destination: to, flow: Some(flow), link: None, ..ordinary })
}

/// The waits that both sides keep, as their machines take them.
fn conduct_of(kept: &Repairs) -> Conduct {
    Conduct {
        heartbeat: duration(kept.heartbeat),
        patience: duration(kept.patience),
        again: duration(kept.again),
        spacing: duration(kept.spacing),
        datagram: kept.datagram,
    }
}

/// The way of first transmissions along a flow: as the ordinary way leaves, but from the writer's own socket.
fn flow(way: &Way, grant: &Grant, datagram: u32) -> Option<Path> {
    let ordinary = way.direct.as_ref().or_else(|| way.paths.first())?;
    let flow = Flow { port: NonZeroU16::new(grant.source.port())?, class: grant.dscp };
    let destination = grant.destination;
    Some(Path { destination, max_datagram: datagram, flow: Some(flow), ..*ordinary })
}
