//! A switch that does messages in any order between two barriers ends as one that does them one after the other.

#[allow(dead_code, reason = "only its random numbers are used here")]
use std::collections::BTreeMap;

use crate::generate::Random;
use crate::pair::Pair;
use openflow::action::Action;
use openflow::channel::install::Installation;
use openflow::flow::{FlowCommand, FlowMod};
use openflow::group::{Bucket, GroupCommand, GroupMod, GroupType};
use openflow::instruction::Instruction;
use openflow::matching::Match;
use openflow::meter::{Band, MeterCommand, MeterFlags, MeterMod};
use openflow::multipart::MultipartRequest;
use openflow::oxm::Oxm;
use openflow::words::{GroupId, MeterId, PortNo, TableId};
use openflow::{Message, Xid};

/// The least that can be in the wrong order: flows by their priority, with what they use.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Tables {
    flows: BTreeMap<u16, (u64, Option<u32>, Option<u32>)>,
    groups: BTreeMap<u32, usize>,
    meters: BTreeMap<u32, u32>,
    /// What was said to each message, by when it was sent: whether it was refused, and what a question was told.
    answers: BTreeMap<Xid, String>,
}

impl Tables {
    fn execute(&mut self, xid: Xid, message: &Message) {
        let taken = match message {
            Message::FlowMod(flow) => self.flow(flow),
            Message::GroupMod(group) => {
                let number = group.group.0;
                let known = self.groups.contains_key(&number);
                match group.command {
                    GroupCommand::Delete => {
                        self.groups.remove(&number);
                        self.flows.retain(|_, (_, used, _)| *used != Some(number));
                        true
                    }
                    GroupCommand::Add if known => false,
                    GroupCommand::Modify if !known => false,
                    _ => self.groups.insert(number, group.buckets.len()).is_some() == known,
                }
            }
            Message::MeterMod(meter) => {
                let number = meter.meter.0;
                let known = self.meters.contains_key(&number);
                match meter.command {
                    MeterCommand::Delete => {
                        self.meters.remove(&number);
                        self.flows.retain(|_, (_, _, used)| *used != Some(number));
                        true
                    }
                    MeterCommand::Add if known => false,
                    MeterCommand::Modify if !known => false,
                    _ => self.meters.insert(number, meter.flags.0.into()).is_some() == known,
                }
            }
            Message::MultipartRequest { .. } => {
                let told = format!("{:?} {:?} {:?}", self.flows, self.groups, self.meters);
                self.answers.insert(xid, told);
                return;
            }
            other => panic!("not expected: {other:?}"),
        };
        self.answers.insert(xid, format!("taken: {taken}"));
    }

    fn flow(&mut self, flow: &FlowMod) -> bool {
        match flow.command {
            FlowCommand::Add => {
                let (mut group, mut meter) = (None, None);
                for instruction in &flow.instructions {
                    match instruction {
                        Instruction::Meter(number) => meter = Some(number.0),
                        Instruction::ApplyActions(actions) => {
                            let [Action::Group(number)] = actions[..] else { panic!("{actions:?}") };
                            group = Some(number.0);
                        }
                        other => panic!("not expected: {other:?}"),
                    }
                }
                if group.is_some_and(|number| !self.groups.contains_key(&number))
                    || meter.is_some_and(|number| !self.meters.contains_key(&number))
                {
                    return false;
                }
                self.flows.insert(flow.priority, (flow.cookie, group, meter));
            }
            FlowCommand::ModifyStrict => {
                if let Some((cookie, _, _)) = self.flows.get_mut(&flow.priority) {
                    *cookie += flow.cookie;
                }
            }
            FlowCommand::DeleteStrict => {
                self.flows.remove(&flow.priority);
            }
            FlowCommand::Delete => self.flows.retain(|_, (cookie, _, _)| *cookie != flow.cookie),
            FlowCommand::Modify => panic!("not expected: {flow:?}"),
        }
        true
    }
}

fn some_change(random: &mut Random) -> Message {
    let number = 1 + u32::try_from(random.below(3)).unwrap();
    let matching = || Match::of(&[Oxm::in_port(PortNo(1))]).unwrap();
    let priority = u16::try_from(random.below(6)).unwrap();
    let cookie = u64::from(number);
    match random.below(10) {
        0..=3 => {
            let mut instructions = Vec::new();
            if random.flag() {
                instructions.push(Instruction::Meter(MeterId(number)));
            }
            if random.flag() {
                instructions.push(Instruction::ApplyActions(vec![Action::Group(GroupId(number))]));
            }
            Message::FlowMod(FlowMod { cookie, ..FlowMod::add(priority, matching(), instructions) })
        }
        4 => Message::FlowMod(FlowMod::delete_strict(TableId(0), priority, matching())),
        5 => Message::FlowMod(FlowMod::delete_by_cookie(cookie, u64::MAX)),
        6 => {
            let command = FlowCommand::ModifyStrict;
            Message::FlowMod(FlowMod { command, cookie, ..FlowMod::add(priority, matching(), Vec::new()) })
        }
        7 | 8 => {
            let command = random.pick(&[
                GroupCommand::Add,
                GroupCommand::Add,
                GroupCommand::Modify,
                GroupCommand::Delete,
            ]);
            let buckets = match command {
                GroupCommand::Delete => Vec::new(),
                _ => vec![Bucket::of(vec![Action::output(PortNo(2))]); 1 + random.below(3)],
            };
            Message::GroupMod(GroupMod { command, kind: GroupType::All, group: GroupId(number), buckets })
        }
        _ => {
            let command = random.pick(&[
                MeterCommand::Add,
                MeterCommand::Add,
                MeterCommand::Modify,
                MeterCommand::Delete,
            ]);
            let flags = random.pick(&[MeterFlags::KBPS, MeterFlags::KBPS | MeterFlags::BURST]);
            let bands = match command {
                MeterCommand::Delete => Vec::new(),
                _ => vec![Band::drop(1_000, 100)],
            };
            Message::MeterMod(MeterMod { command, flags, meter: MeterId(number), bands })
        }
    }
}

/// What a switch is told, with the barriers in it; answers come late, so that all of it may be under way.
fn told(seed: u64) -> Vec<(Xid, Message)> {
    let mut random = Random::new(seed);
    let mut pair = Pair::new(1_000);
    pair.run();
    let mut heard = Vec::new();
    let mut installations = Vec::new();
    for _ in 0..1 + random.below(6) {
        match random.below(4) {
            0 => {
                let message = some_change(&mut random);
                pair.controller.send(pair.now, &message).unwrap();
            }
            1 => {
                let changes = random.list(5, some_change);
                pair.controller.commit(pair.now, &changes).unwrap();
            }
            2 => {
                let changes = random.list(5, some_change);
                installations.extend(Installation::start(&mut pair.controller, pair.now, &changes));
            }
            _ => {
                pair.controller.send(pair.now, &Message::ask(MultipartRequest::GroupDescription)).unwrap();
            }
        }
        if random.below(3) == 0 {
            let mut asked = Vec::new();
            pair.run_with(|xid, message| {
                asked.push((xid, message));
                Vec::new()
            });
            // Whoever has answered a barrier has done what is before it.
            if random.flag() {
                for (xid, message) in &asked {
                    if *message == Message::BarrierRequest {
                        pair.switch.reply(*xid, &Message::BarrierReply).unwrap();
                    }
                }
            }
            heard.extend(asked);
        }
    }
    pair.run_with(|xid, message| {
        heard.push((xid, message));
        Vec::new()
    });
    heard.retain(|(_, message)| *message != Message::FeaturesRequest);
    heard
}

/// Does what it was told, in any order but for the barriers, if it keeps them.
fn shuffled(told: &[(Xid, Message)], random: &mut Random, keeps_barriers: bool) -> Tables {
    let mut tables = Tables::default();
    let is_barrier = |message: &Message| *message == Message::BarrierRequest;
    for part in told.split(|(_, message)| keeps_barriers && is_barrier(message)) {
        let mut part: Vec<_> = part.iter().filter(|(_, message)| !is_barrier(message)).collect();
        while !part.is_empty() {
            let (xid, message) = part.swap_remove(random.below(part.len()));
            tables.execute(*xid, message);
        }
    }
    tables
}

fn in_order(told: &[(Xid, Message)]) -> Tables {
    let mut tables = Tables::default();
    let changes = told.iter().filter(|(_, message)| *message != Message::BarrierRequest);
    changes.for_each(|(xid, message)| tables.execute(*xid, message));
    tables
}

#[test]
fn a_switch_may_do_messages_in_any_order_between_barriers() {
    let (mut wrong_without, mut barriers, mut messages) = (0, 0, 0);
    let seeds = tiers::current().seeds("property.cases");
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let told = told(seed);
        let expected = in_order(&told);
        let mut random = Random::new(!seed);
        for _ in 0..4 {
            assert_eq!(shuffled(&told, &mut random, true), expected, "seed {seed}: {told:#?}");
        }
        wrong_without += u64::from(shuffled(&told, &mut random, false) != expected);
        barriers += told.iter().filter(|(_, message)| *message == Message::BarrierRequest).count();
        messages += told.len();
    }
    println!(
        "{count} seeds, {messages} messages, {barriers} of them barriers; {wrong_without} seeds need them"
    );
    assert!(wrong_without * 4 > count, "{wrong_without} of {count}");
    assert!(barriers * 10 < messages * 7, "{barriers} of {messages}");
}

/// What may be exchanged is not held up.
#[test]
fn nothing_stands_between_changes_that_are_alike() {
    let mut pair = Pair::new(1_000);
    pair.run();
    let flow = |priority| {
        let matching = Match::of(&[Oxm::in_port(PortNo(1))]).unwrap();
        Message::FlowMod(FlowMod::add(priority, matching, Vec::new()))
    };
    pair.controller.commit(pair.now, &[flow(1), flow(2), flow(3)]).unwrap();
    pair.controller.commit(pair.now, &[flow(4), flow(4)]).unwrap();
    let mut kinds = Vec::new();
    pair.run_with(|_, message| {
        kinds.push(message == Message::BarrierRequest);
        Vec::new()
    });
    assert_eq!(kinds, [false, false, false, true, false, true, false, true]);
}
