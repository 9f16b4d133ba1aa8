//! How what the manager wants is done: step by step, each when somebody says so. Sessions and orders are those of the program.
use std::collections::VecDeque;
use std::time::Duration;

use control::action::{Action, Done, GateChange, GateKey, GatesContent, StoreChange, Token};
use control::orders::{self, GateOrder};
use control::session::News;
use gate::protocol::{Answer, ContractState, Counters, Others, PortState, Request};
use openflow::Message;
use openflow::error_code::{ErrorCode, ErrorMessage};
use openflow::flow::FlowCommand;

use crate::counts::Fault;
use crate::line::{Line, Way};
use crate::world::World;

/// The agent of the gates of a switch: one request at a time, as long as it is connected.
#[derive(Default)]
pub(crate) struct Agent {
    pub(crate) is_connected: bool,
    /// What is to be asked.
    pub(crate) asked: VecDeque<(Token, Work, Request)>,
    /// What has been asked, and done, and not answered.
    pub(crate) answer: Option<(Token, Work, Answer)>,
}

/// What an agent is asked for.
pub(crate) enum Work {
    Change(GateOrder),
    Read,
}

/// Something that can happen next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Next {
    /// Bytes arrive.
    Octets(usize, Way),
    /// An agent does what it is asked, or its answer arrives.
    Gates(usize),
    /// The store makes all changes that are wanted, or none.
    Commit,
    /// The manager is told of a change of the store.
    Stored,
    /// The manager is told that a verdict has arrived.
    Announced,
}

/// A manager that is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mutant {
    /// It takes a change for done when it is sent.
    AnswersAtOnce,
    /// It takes back nothing of what has failed.
    UndoesNothing,
    /// It believes ports of switches to be so many times as fast as they are, so that it gives room away that it has given away before.
    BooksTwice(u64),
    /// It stores grants that it takes over under another number, too.
    GrantsTwice,
    /// It relies on the order in which it says things: barriers hold nothing up.
    SendsNoBarriers,
}

impl World {
    /// What can happen next.
    pub(crate) fn next(&self) -> Vec<Next> {
        let ways = |switch: usize| {
            [Way::ToSwitch, Way::ToManager].into_iter().map(move |way| (Next::Octets(switch, way), way))
        };
        let mut next: Vec<Next> = Vec::new();
        for (switch, (line, agent)) in self.lines.iter().zip(&self.agents).enumerate() {
            if let Some(line) = line {
                next.extend(ways(switch).filter(|(_, way)| line.waiting(*way) > 0).map(|(next, _)| next));
            }
            if agent.answer.is_some() || !agent.asked.is_empty() {
                next.push(Next::Gates(switch));
            }
        }
        next.extend((!self.to_store.is_empty()).then_some(Next::Commit));
        next.extend((!self.stored.is_empty()).then_some(Next::Stored));
        next.extend((!self.announced.is_empty()).then_some(Next::Announced));
        next
    }

    /// Makes something happen; of bytes on the way so many, or as many as there are.
    pub(crate) fn happen(&mut self, next: Next, bytes: usize) {
        match next {
            Next::Octets(switch, way) => self.carry(switch, way, bytes),
            Next::Gates(switch) => self.serve_gates(switch),
            Next::Commit => {
                // A store that several managers share takes nothing of one that does not lead any more.
                let is_fenced = self.epoch < self.newest;
                let fails = self.store_fails || is_fenced;
                // A change of the leader that arrives takes back what may have arrived before.
                self.is_file_in_doubt &= fails || self.to_store.is_empty();
                for (token, change) in std::mem::take(&mut self.to_store) {
                    self.stored.push_back((token, !fails));
                    self.counts.add_if(self.store_fails, Fault::StoreFailed);
                    self.counts.add_if(is_fenced, Fault::FormerRefused);
                    match change {
                        _ if fails => {}
                        StoreChange::Put(grant) => {
                            if self.mutant == Some(Mutant::GrantsTwice) && self.epoch > 1 {
                                self.store.insert(grant.number + 1_000_000, (*grant).clone());
                            }
                            self.store.insert(grant.number, *grant);
                        }
                        StoreChange::PutAll(grants) => {
                            self.store.extend(grants.into_iter().map(|grant| (grant.number, grant)));
                        }
                        StoreChange::Remove(number) => {
                            self.store.remove(&number);
                        }
                        StoreChange::Drain(drain) => {
                            drain.check(&drain.switch).unwrap();
                            self.stored_drains.insert(drain.switch.clone(), drain);
                        }
                        StoreChange::Undrain(switch) => {
                            self.stored_drains.remove(&switch);
                        }
                    }
                }
            }
            Next::Stored => {
                let Some((token, is_stored)) = self.stored.pop_front() else { return };
                let done = if is_stored { Done::Confirmed } else { Done::Failed("no space".into()) };
                self.answered(token, &done);
                self.manager.stored(self.now, token, done);
                self.collect();
            }
            Next::Announced => {
                let Some(token) = self.announced.pop_front() else { return };
                self.manager.announced(self.now, token);
                self.collect();
            }
        }
    }

    /// Makes all of what comes at this place happen.
    pub(crate) fn answer(&mut self, at: usize) {
        if let Some(next) = self.next().get(at) {
            self.happen(*next, usize::MAX);
        }
    }

    /// Everything happens that `may`, until there is nothing more.
    pub(crate) fn settle_if(&mut self, may: impl Fn(Next) -> bool) {
        for _ in 0..20_000 {
            let Some(next) = self.next().into_iter().find(|next| may(*next)) else { return };
            self.happen(next, usize::MAX);
        }
        panic!("it does not come to rest");
    }

    /// Everything happens, until there is nothing more.
    pub(crate) fn settle(&mut self) {
        self.settle_if(|_| true);
    }

    /// Time passes, with everything that happens in it.
    pub(crate) fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        let said = self.history.len();
        self.settle();
        let mut times = 0;
        loop {
            let lines = self.lines.iter().flatten().filter_map(|line| line.session.poll_timeout());
            let next = lines.chain(self.manager.poll_timeout()).min();
            let Some(next) = next.filter(|next| *next <= until) else { break };
            times += 1;
            assert!(times < 20_000, "it does not come to rest");
            self.now = self.now.max(next);
            for switch in 0..self.lines.len() {
                let mut news = Vec::new();
                if let Some(line) = &mut self.lines[switch] {
                    line.session.timeout(self.now, &mut news);
                }
                self.hear(switch, news);
            }
            if self.manager.poll_timeout().is_some_and(|next| next <= self.now) {
                self.manager.handle_timeout(self.now);
                self.collect();
            }
            self.settle();
        }
        self.now = until;
        // Nothing comes and goes without end: over a second a pair hears its verdict a few times at most.
        let (said, pairs) = (self.history.len() - said, self.verdicts.len() + 1);
        let most = 100 + pairs * 5 * usize::try_from(time.as_secs() + 1).unwrap();
        assert!(said <= most, "it does not come to rest: {said} verdicts for {pairs} pairs in {time:?}");
    }

    /// So many bytes arrive, or as many as there are.
    fn carry(&mut self, switch: usize, way: Way, bytes: usize) {
        let report = self.report(switch);
        let Some(line) = &mut self.lines[switch] else { return };
        let bytes = line.waiting(way).min(bytes);
        let mut news = Vec::new();
        match way {
            Way::ToSwitch => {
                let mut told = line.arrive_at_switch(self.now, bytes);
                if let Some(random) = &mut self.disorder {
                    let keeps = self.mutant != Some(Mutant::SendsNoBarriers);
                    let is_barrier = |message: &Message| *message == Message::BarrierRequest;
                    for part in told.split_mut(|(_, message)| keeps && is_barrier(message)) {
                        let is_other = random.shuffle(part);
                        self.counts.add_if(is_other, Fault::Reordered);
                    }
                }
                let mut sent = Vec::new();
                for (xid, message) in told {
                    // A manager that is no longer the master of a switch may read, and change nothing (OpenFlow 1.3.5, 6.3.6).
                    if is_change(&message) && line.master != self.switches[switch].generation {
                        let code = ErrorCode::RequestIsSlave;
                        line.say(xid, &Message::Error(ErrorMessage::Code { code, data: Vec::new() }));
                        self.counts.add(Fault::FormerRefused);
                        continue;
                    }
                    if let Message::PacketOut(packet) = message {
                        sent.push(packet);
                        continue;
                    }
                    for answer in self.switches[switch].hear(&message, &report) {
                        if let Message::RoleReply(role) = &answer {
                            line.master = Some(role.generation);
                        }
                        line.say(xid, &answer);
                    }
                }
                sent.into_iter().for_each(|packet| self.send_out(switch, &packet));
            }
            Way::ToManager => news = line.arrive_at_manager(self.now, bytes),
        }
        let is_cut = self.lines[switch].as_ref().is_some_and(Line::is_cut);
        self.counts.add_if(is_cut, Fault::MessageCut);
        self.hear(switch, news);
    }

    /// The manager is told what a session has heard.
    fn hear(&mut self, switch: usize, news: Vec<News>) {
        let datapath = self.network.switches[switch].datapath;
        for news in news {
            match news {
                News::Up(report) => {
                    assert_eq!(report.features.datapath_id, datapath);
                    self.connected[switch] = true;
                    self.manager.switch_up(self.now, &report).unwrap();
                }
                News::Packet(packet) => self.manager.packet_in(self.now, datapath, &packet),
                News::Port(status) => self.manager.port_status(self.now, datapath, &status),
                News::Installed(token, done) => self.installed(token, done),
                News::Read(token, content) => {
                    self.unanswered.remove(&token);
                    self.manager.has_read(self.now, token, content);
                }
                News::Down(_) => self.hung_up(switch),
                News::Removed(_) => {}
                // A full table says no to what nobody waits for.
                News::Odd(_) => {}
            }
            self.collect();
            self.has_failed = false;
        }
    }

    fn answered(&mut self, token: Token, done: &Done) {
        let overtaken = self.unanswered.range(..token).any(|(_, site)| site.is_some());
        self.counts.add_if(overtaken && self.unanswered.contains_key(&token), Fault::AnswerOvertaken);
        self.unanswered.remove(&token);
        if matches!(done, Done::Failed(_)) {
            self.has_failed = true;
            self.counts.add(Fault::ChangeFailed);
        }
    }

    fn installed(&mut self, token: Token, done: Done) {
        // A mutant has been told before.
        if self.mutant != Some(Mutant::AnswersAtOnce) || self.unanswered.contains_key(&token) {
            self.answered(token, &done);
            self.manager.installed(self.now, token, done);
        }
    }

    /// The connection of a switch ends.
    pub(crate) fn disconnect(&mut self, switch: usize) {
        let mut news = Vec::new();
        if let Some(line) = &mut self.lines[switch] {
            line.session.closed(self.now, &mut news);
        }
        self.hear(switch, news);
    }

    /// The connection of a switch has ended, and the manager is told so.
    fn hung_up(&mut self, switch: usize) {
        if let Some(line) = self.lines[switch].take() {
            self.counts.add_if(line.under_way() > 0, Fault::OctetsLost);
            self.counts.add_if(line.is_cut(), Fault::MessageTorn);
            if line.session.datapath().is_some() {
                self.manager.switch_down(self.now, self.network.switches[switch].datapath);
            }
        }
        self.connected[switch] = false;
        self.forget(switch);
    }

    /// What has been asked of a switch is not answered any more.
    fn forget(&mut self, switch: usize) {
        self.unanswered.retain(|_, site| *site != Some(switch));
    }

    /// The connection to an agent ends: what it was doing has failed, and then the manager is told. What was to be asked fails later.
    pub(crate) fn disconnect_agent(&mut self, switch: usize) {
        if !std::mem::replace(&mut self.agents[switch].is_connected, false) {
            return;
        }
        if let Some((token, work, _)) = self.agents[switch].answer.take() {
            self.counts.add(Fault::AgentLost);
            self.gates_answered(switch, token, work, Err("what the gate has is not known".into()));
        }
        self.manager.gates_down(self.now, self.network.switches[switch].datapath);
        self.collect();
        self.has_failed = false;
    }

    /// An agent does what it is asked, or what it has done is told.
    fn serve_gates(&mut self, switch: usize) {
        let agent = &mut self.agents[switch];
        let (token, work, answer) = match agent.answer.take() {
            Some((token, work, answer)) => (token, work, Ok(answer)),
            None => {
                let Some((token, work, request)) = agent.asked.pop_front() else { return };
                if agent.is_connected && self.epoch < self.gate_epochs[switch] && request != Request::List {
                    self.counts.add(Fault::FormerRefused);
                    (token, work, Err("a manager of a later epoch has connected".into()))
                } else if agent.is_connected {
                    let answer = self.set_gates(switch, request);
                    self.agents[switch].answer = Some((token, work, answer));
                    return;
                } else {
                    (token, work, Err("the agent cannot be reached".into()))
                }
            }
        };
        self.gates_answered(switch, token, work, answer);
        self.collect();
        self.has_failed = false;
    }

    fn gates_answered(&mut self, switch: usize, token: Token, work: Work, answer: Result<Answer, String>) {
        let mut order = match work {
            Work::Change(order) => order,
            Work::Read => {
                self.unanswered.remove(&token);
                let read = answer.map(|answer| match answer {
                    Answer::List { contracts, ports } => GatesContent { contracts, ports },
                    other => panic!("not expected: {other:?}"),
                });
                return self.manager.has_read_gates(self.now, token, read);
            }
        };
        match order.answer(answer) {
            orders::Next::Ask(request) => {
                self.agents[switch].asked.push_back((token, Work::Change(order), request));
            }
            orders::Next::Done(done) => self.installed(token, done),
        }
    }

    fn set_gates(&mut self, switch: usize, request: Request) -> Answer {
        let gates = &mut self.gates[switch];
        match request {
            Request::Set { port, key, contract } => {
                gates.insert(GateKey { port, flow: key }, contract);
                Answer::Set { port, key, contract }
            }
            Request::Remove { port, key } => {
                let counters = gates.remove(&GateKey { port, flow: key }).map(|_| Counters::default());
                Answer::Removed { port, key, counters }
            }
            Request::List => {
                let contracts = gates.iter().map(|(key, contract)| ContractState {
                    port: key.port,
                    key: key.flow,
                    contract: *contract,
                    counters: Counters::default(),
                });
                let ports = self.tagged_at_gates.iter().filter(|((at, _), _)| *at == switch);
                let ports = ports.map(|((_, port), tagged)| PortState {
                    port: *port,
                    interface: format!("p{port}"),
                    limit: 1_000,
                    others: Others { tagged: *tagged, ..Others::default() },
                });
                Answer::List { ports: ports.collect(), contracts: contracts.collect() }
            }
            other => panic!("not expected: {other:?}"),
        }
    }

    /// Takes all actions: what is done at once is done, the rest can happen.
    pub(crate) fn collect(&mut self) {
        while let Some(action) = self.manager.poll_action() {
            if std::env::var_os("CONTROL_TRACE").is_some() {
                eprintln!("{:?} {action:?}", self.now);
            }
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Install { token, switch, messages } => {
                let index = self.index(switch);
                if !self.connected[index] {
                    return;
                }
                self.unanswered.insert(token, Some(index));
                let removes = messages.iter().all(is_deletion);
                if self.mutant == Some(Mutant::UndoesNothing) && self.has_failed && removes {
                    return self.installed(token, Done::Confirmed);
                }
                let mut news = Vec::new();
                if let Some(line) = &mut self.lines[index] {
                    line.session.install(self.now, token, &messages, &mut news);
                }
                if self.mutant == Some(Mutant::AnswersAtOnce) {
                    self.unanswered.remove(&token);
                    self.manager.installed(self.now, token, Done::Confirmed);
                }
                self.hear(index, news);
            }
            Action::Send { switch, messages } => {
                let index = self.index(switch);
                let mut news = Vec::new();
                if let Some(line) = self.lines[index].as_mut().filter(|_| self.connected[index]) {
                    line.session.send(self.now, &messages, &mut news);
                }
                self.hear(index, news);
            }
            Action::Read { token, switch, counters } => {
                let index = self.index(switch);
                let mut news = Vec::new();
                if let Some(line) = self.lines[index].as_mut().filter(|_| self.connected[index]) {
                    self.unanswered.insert(token, Some(index));
                    line.session.read(self.now, token, counters, &mut news);
                }
                self.hear(index, news);
            }
            Action::Gate { token, switch, change } => {
                let index = self.index(switch);
                self.unanswered.insert(token, Some(index));
                let removes = matches!(change, GateChange::Remove(_));
                if self.mutant == Some(Mutant::UndoesNothing) && self.has_failed && removes {
                    return self.installed(token, Done::Confirmed);
                }
                let (order, request) = GateOrder::new(change);
                self.agents[index].asked.push_back((token, Work::Change(order), request));
            }
            Action::ReadGates { token, switch } => {
                let index = self.index(switch);
                self.unanswered.insert(token, Some(index));
                self.agents[index].asked.push_back((token, Work::Read, Request::List));
            }
            Action::Disconnect { switch } => {
                let index = self.index(switch);
                self.hung_up(index);
                if self.has_gates(index) {
                    self.disconnect_agent(index);
                }
            }
            Action::Store { token, change } => {
                self.unanswered.insert(token, None);
                self.to_store.push((token, change));
            }
            Action::Publish { token, verdict } => {
                let pair = verdict.pair();
                self.disposed.remove(&pair);
                self.history.push((*verdict).clone());
                self.verdicts.insert(pair, *verdict);
                self.announced.extend(token.filter(|_| self.acknowledge));
            }
            Action::Dispose(pair) => {
                self.verdicts.remove(&pair);
                self.disposed.insert(pair);
            }
        }
    }

    fn index(&self, datapath: u64) -> usize {
        self.network.switches.iter().position(|switch| switch.datapath == datapath).unwrap()
    }
}

fn is_change(message: &Message) -> bool {
    matches!(
        message,
        Message::FlowMod(_) | Message::GroupMod(_) | Message::MeterMod(_) | Message::PacketOut(_)
    )
}

fn is_deletion(message: &Message) -> bool {
    match message {
        Message::FlowMod(flow) => {
            matches!(flow.command, FlowCommand::Delete | FlowCommand::DeleteStrict)
        }
        Message::GroupMod(group) => group.command == openflow::group::GroupCommand::Delete,
        Message::MeterMod(meter) => meter.command == openflow::meter::MeterCommand::Delete,
        _ => false,
    }
}
