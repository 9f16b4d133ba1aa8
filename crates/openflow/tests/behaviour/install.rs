//! Changes that are believed only when they are seen: against a switch that obeys, one that refuses, and some that lie.

use crate::pair::Pair;
use openflow::action::{Action, MaxLen};
use openflow::channel::install::{Difference, Installation, Outcome, StartError};
use openflow::channel::{DownReason, Event};
use openflow::error_code::{ErrorCode, ErrorMessage};
use openflow::flow::{FlowCommand, FlowMod};
use openflow::group::{Bucket, GroupCommand, GroupMod, GroupType};
use openflow::instruction::Instruction;
use openflow::matching::Match;
use openflow::meter::{Band, MeterCommand, MeterFlags, MeterMod};
use openflow::multipart::{
    FlowStats, GroupDescription, MeterConfig, MultipartReply, MultipartRequest, Traffic,
};
use openflow::oxm::Oxm;
use openflow::words::{Age, GroupId, MeterId, PortNo, TableId};
use openflow::{Message, Xid};

/// A switch that does what it is told, but for what the test spoils.
#[derive(Default)]
struct Model {
    flows: Vec<FlowStats>,
    groups: Vec<GroupDescription>,
    meters: Vec<MeterConfig>,
    /// Refuses the change with this number.
    refuses: Option<usize>,
    /// Forgets the change with this number, and says nothing.
    forgets: Option<usize>,
    /// Gives another priority, rate or bucket to what it is told.
    distorts: bool,
    seen: usize,
}

impl Model {
    fn serve(&mut self, xid: Xid, message: Message) -> Vec<(Xid, Message)> {
        match message {
            Message::FeaturesRequest => vec![(xid, Message::FeaturesReply(crate::pair::FEATURES))],
            Message::BarrierRequest => vec![(xid, Message::BarrierReply)],
            Message::MultipartRequest { request, .. } => self.tell(xid, request),
            change => {
                let number = self.seen;
                self.seen += 1;
                if self.refuses == Some(number) {
                    let error = ErrorMessage::Code { code: ErrorCode::FlowTableFull, data: Vec::new() };
                    return vec![(xid, Message::Error(error))];
                }
                if self.forgets != Some(number) {
                    self.change(change);
                }
                Vec::new()
            }
        }
    }

    fn change(&mut self, change: Message) {
        match change {
            Message::FlowMod(flow) if flow.command == FlowCommand::Add => self.flows.push(FlowStats {
                table: flow.table,
                age: Age::default(),
                priority: flow.priority,
                idle_timeout: if self.distorts { 1 } else { 0 },
                hard_timeout: 0,
                flags: flow.flags,
                cookie: flow.cookie,
                traffic: Traffic::default(),
                matching: flow.matching,
                // As switches do: in another order, and without the length that means nothing.
                instructions: flow.instructions.into_iter().rev().collect(),
            }),
            Message::FlowMod(flow) => {
                let meant = |stats: &FlowStats| (stats.cookie ^ flow.cookie) & flow.cookie_mask == 0;
                self.flows.retain(|stats| !meant(stats));
            }
            Message::GroupMod(group) if group.command == GroupCommand::Delete => {
                self.groups.retain(|other| other.group != group.group);
            }
            Message::GroupMod(mut group) => {
                if self.distorts {
                    group.buckets.pop();
                }
                self.groups.push(GroupDescription {
                    kind: group.kind,
                    group: group.group,
                    buckets: group.buckets,
                });
            }
            Message::MeterMod(meter) if meter.command == MeterCommand::Delete => {
                self.meters.retain(|other| other.meter != meter.meter);
            }
            Message::MeterMod(mut meter) => {
                if self.distorts {
                    meter.bands[0].rate += 1;
                }
                let MeterMod { flags, meter, bands, .. } = meter;
                self.meters.push(MeterConfig { flags, meter, bands });
            }
            other => panic!("{other:?}"),
        }
    }

    /// Each entry in a message of its own.
    fn tell(&self, xid: Xid, request: MultipartRequest) -> Vec<(Xid, Message)> {
        let mut parts: Vec<_> = match request {
            MultipartRequest::Flow(filter) => {
                let meant = |stats: &&FlowStats| (stats.cookie ^ filter.cookie) & filter.cookie_mask == 0;
                self.flows
                    .iter()
                    .filter(meant)
                    .map(|stats| MultipartReply::Flow(vec![stats.clone()]))
                    .chain([MultipartReply::Flow(Vec::new())])
                    .collect()
            }
            MultipartRequest::GroupDescription => {
                vec![MultipartReply::GroupDescription(self.groups.clone())]
            }
            MultipartRequest::MeterConfig(_) => vec![MultipartReply::MeterConfig(self.meters.clone())],
            other => panic!("{other:?}"),
        };
        let last = parts.pop().unwrap();
        let part = |more, reply| (xid, Message::MultipartReply { more, reply });
        parts.into_iter().map(|reply| part(true, reply)).chain([part(false, last)]).collect()
    }
}

fn flow(priority: u16, cookie: u64) -> Message {
    let matching = Match::of(&[Oxm::in_port(PortNo(1)), Oxm::eth_type(0x0800)]).unwrap();
    let output = Action::Output { port: PortNo(2), max_len: MaxLen::NO_BUFFER };
    let instructions = vec![Instruction::Meter(MeterId(1)), Instruction::ApplyActions(vec![output])];
    let mut flow = FlowMod::add(priority, matching, instructions);
    flow.cookie = cookie;
    Message::FlowMod(flow)
}

/// A meter, a group, two flows; what had cookie 7 goes first.
fn changes() -> Vec<Message> {
    let meter = MeterMod {
        command: MeterCommand::Add,
        flags: MeterFlags::KBPS | MeterFlags::BURST,
        meter: MeterId(1),
        bands: vec![Band::drop(1000, 100)],
    };
    let buckets = vec![Bucket::of(vec![Action::output(PortNo(2))])];
    let group = GroupMod { command: GroupCommand::Add, kind: GroupType::All, group: GroupId(5), buckets };
    let delete = Message::FlowMod(FlowMod::delete_by_cookie(7, u64::MAX));
    vec![delete, Message::MeterMod(meter), Message::GroupMod(group), flow(10, 8), flow(11, 9)]
}

fn install(model: &mut Model, changes: &[Message]) -> Outcome {
    let mut pair = Pair::new(100);
    pair.run_with(|xid, message| model.serve(xid, message));
    let mut installation = Installation::start(&mut pair.controller, pair.now, changes).unwrap();
    loop {
        pair.controller_events.clear();
        pair.run_with(|xid, message| model.serve(xid, message));
        assert!(!pair.controller_events.is_empty(), "it came to a stop");
        for event in &pair.controller_events {
            if let Some(outcome) = installation.handle(&mut pair.controller, pair.now, event) {
                return outcome;
            }
        }
    }
}

#[test]
fn what_is_installed_and_seen() {
    let mut model = Model::default();
    assert_eq!(install(&mut model, &changes()), Outcome::Installed);
    let away = [
        Message::FlowMod(FlowMod::delete_by_cookie(8, u64::MAX)),
        Message::GroupMod(GroupMod::delete(GroupId(5))),
        Message::MeterMod(MeterMod::delete(MeterId(1))),
    ];
    assert_eq!(install(&mut model, &away), Outcome::Installed);
    assert_eq!((model.flows.len(), model.groups.len(), model.meters.len()), (1, 0, 0));
}

#[test]
fn what_is_refused_is_named() {
    let mut model = Model { refuses: Some(3), ..Model::default() };
    assert_eq!(install(&mut model, &changes()), Outcome::Refused(vec![(3, ErrorCode::FlowTableFull)]));
}

#[test]
fn what_is_silently_forgotten_is_missed() {
    let forgotten = |number, changes: &[Message], before: Model| {
        let mut model = Model { forgets: Some(number), ..before };
        match install(&mut model, changes) {
            Outcome::Different(differences) => differences,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(forgotten(1, &changes(), Model::default()), [Difference::MeterMissing(1)]);
    assert_eq!(forgotten(2, &changes(), Model::default()), [Difference::GroupMissing(2)]);
    assert_eq!(forgotten(4, &changes(), Model::default()), [Difference::FlowMissing(4)]);

    let full = || {
        let mut model = Model::default();
        install(&mut model, &changes());
        model.seen = 0;
        model
    };
    let away = [
        Message::FlowMod(FlowMod::delete_by_cookie(8, u64::MAX)),
        Message::GroupMod(GroupMod::delete(GroupId(5))),
        Message::MeterMod(MeterMod::delete(MeterId(1))),
    ];
    assert!(matches!(forgotten(0, &away, full())[..], [Difference::FlowLeft(0, _)]));
    assert_eq!(forgotten(1, &away, full()), [Difference::GroupLeft(GroupId(5))]);
    assert_eq!(forgotten(2, &away, full()), [Difference::MeterLeft(MeterId(1))]);
}

#[test]
fn what_is_distorted_is_seen() {
    let mut model = Model { distorts: true, ..Model::default() };
    let Outcome::Different(found) = install(&mut model, &changes()) else { panic!() };
    let count = |test: fn(&Difference) -> bool| found.iter().filter(|difference| test(difference)).count();
    assert_eq!(count(|difference| matches!(difference, Difference::FlowOther(3 | 4, _))), 2);
    assert_eq!(count(|difference| matches!(difference, Difference::GroupOther(2, _))), 1);
    assert_eq!(count(|difference| matches!(difference, Difference::MeterOther(1, _))), 1);
    assert_eq!(found.len(), 4);
}

#[test]
fn a_switch_that_vanishes_leaves_it_unknown() {
    let mut pair = Pair::new(100);
    pair.run();
    let mut installation = Installation::start(&mut pair.controller, pair.now, &changes()).unwrap();
    let late = pair.controller.poll_timeout().unwrap();
    pair.controller.handle_closed();
    let event = pair.controller.poll_event().unwrap();
    assert_eq!(event, Event::Down(DownReason::Closed));
    assert_eq!(installation.handle(&mut pair.controller, late, &event), Some(Outcome::Unknown));
}

#[test]
fn what_cannot_be_read_back_is_not_begun() {
    let mut pair = Pair::new(100);
    pair.run();
    let mut start = |changes: &[Message]| {
        let begun = Installation::start(&mut pair.controller, pair.now, changes).map(|_| ());
        assert!(begun.is_ok() || pair.controller.output().is_empty(), "nothing was sent");
        begun
    };
    let mut modify = FlowMod::add(1, Match::new(), Vec::new());
    modify.command = FlowCommand::Modify;
    assert_eq!(start(&[Message::FlowMod(modify)]), Err(StartError::NotReadable(0)));
    let delete = Message::FlowMod(FlowMod::delete_strict(TableId(0), 1, Match::new()));
    assert_eq!(start(&[flow(1, 1), delete]), Err(StartError::DeletesAfterAdding(1)));
    assert_eq!(start(&changes()), Ok(()));
}
