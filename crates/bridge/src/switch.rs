//! The OpenFlow side of a switch, without sockets and clocks: what controllers say, what they are answered, and what is told unasked.
//!
//! What really forwards is a [`DataPath`]. Changes are gathered until a controller has to know that they are done, and then done in one step; so no
//! frame meets the half of what came in one piece.
mod answers;
mod ports;

use std::collections::BTreeMap;
use std::time::Duration;

use openflow::Message;
use openflow::error_code::{ErrorCode, ErrorMessage};
use openflow::flow::FlowRemoved;
use openflow::port::Port;
use openflow::switch::{
    AsyncConfig, Capabilities, ConfigFlags, ControllerRole, Features, Role, SwitchConfig,
};
use openflow::words::Xid;

use crate::datapath::DataPath;
use crate::tables::{TABLES, Tables};

/// A connection to a controller.
pub type Connection = u64;

/// A message for a controller.
pub type Said = (Connection, Xid, Message);

/// A switch with its controllers.
#[derive(Debug)]
pub struct Switch<D> {
    datapath: u64,
    path: D,
    tables: Tables,
    /// The tables as the data path has them, if there are changes that it does not have yet.
    before: Option<Tables>,
    changes: Vec<(Connection, Xid)>,
    barriers: Vec<(Connection, Xid)>,
    roles: BTreeMap<Connection, ControllerRole>,
    generation: Option<u64>,
    ports: Vec<Port>,
    said: Vec<Said>,
    log: Vec<String>,
}

impl<D: DataPath> Switch<D> {
    /// A switch that no controller has told anything.
    pub fn new(datapath: u64, mut path: D) -> Self {
        let ports = path.ports();
        Self {
            datapath,
            path,
            tables: Tables::default(),
            before: None,
            changes: Vec::new(),
            barriers: Vec::new(),
            roles: BTreeMap::new(),
            generation: None,
            ports,
            said: Vec::new(),
            log: Vec::new(),
        }
    }

    /// The tables that controllers have set.
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// What forwards.
    pub fn path(&mut self) -> &mut D {
        &mut self.path
    }

    /// Messages to send, the oldest first.
    pub fn take_said(&mut self) -> Vec<Said> {
        std::mem::take(&mut self.said)
    }

    /// What an operator may want to know.
    pub fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.log)
    }

    /// A controller is there.
    pub fn connected(&mut self, connection: Connection) {
        self.roles.insert(connection, ControllerRole::Equal);
    }

    /// A controller has gone; what it has told stays.
    pub fn gone(&mut self, connection: Connection) {
        self.roles.remove(&connection);
        self.settle();
    }

    /// A controller says something. [`Self::settle`] has to follow once nothing more is there to be heard.
    pub fn hear(&mut self, connection: Connection, xid: Xid, message: &Message, now: Duration) {
        let slave = self.roles.get(&connection) == Some(&ControllerRole::Slave);
        let changes = matches!(
            message,
            Message::FlowMod(_)
                | Message::GroupMod(_)
                | Message::MeterMod(_)
                | Message::PortMod(_)
                | Message::TableMod(_)
                | Message::PacketOut(_)
        );
        if slave && changes {
            return self.refuse(connection, xid, ErrorCode::RequestIsSlave);
        }
        match message {
            Message::FeaturesRequest => self.say(connection, xid, Message::FeaturesReply(self.features())),
            Message::BarrierRequest => self.barriers.push((connection, xid)),
            Message::FlowMod(flow) => {
                self.begin();
                let done = self.tables.change_flow(flow, now);
                self.changed(connection, xid, done);
            }
            Message::GroupMod(group) => {
                self.begin();
                let done = self.tables.change_group(group, now);
                self.changed(connection, xid, done);
            }
            Message::MeterMod(_) => self.refuse(connection, xid, ErrorCode::MeterOutOfMeters),
            Message::MultipartRequest { request, more: false } => {
                self.settle();
                self.answer(connection, xid, request, now);
            }
            Message::PacketOut(packet) => {
                if let Err(code) = self.send(packet) {
                    self.refuse(connection, xid, code);
                }
            }
            Message::GetConfigRequest => {
                let config = SwitchConfig { flags: ConfigFlags::NONE, miss_send_len: u16::MAX };
                self.say(connection, xid, Message::GetConfigReply(config));
            }
            Message::SetConfig(config) if config.flags == ConfigFlags::NONE => {}
            Message::SetConfig(_) => self.refuse(connection, xid, ErrorCode::ConfigBadFlags),
            Message::RoleRequest(role) => self.role(connection, xid, *role),
            Message::GetAsyncRequest => {
                self.say(connection, xid, Message::GetAsyncReply(AsyncConfig::default()));
            }
            _ => self.refuse(connection, xid, ErrorCode::RequestBadType),
        }
    }

    /// Whether a controller waits to hear that changes are done.
    pub fn is_asked(&self) -> bool {
        !self.barriers.is_empty()
    }

    /// Has the data path do what was gathered, and says that it is done.
    pub fn settle(&mut self) {
        let changes = std::mem::take(&mut self.changes);
        if let Some(before) = self.before.take()
            && let Err(error) = self.path.apply(&self.tables)
        {
            self.log.push(format!("what controllers say cannot be done: {error}"));
            self.tables = before;
            for (connection, xid) in changes {
                self.refuse(connection, xid, ErrorCode::FlowUnknown);
            }
        }
        for (connection, xid) in std::mem::take(&mut self.barriers) {
            self.say(connection, xid, Message::BarrierReply);
        }
    }

    /// Looks at ports, and at what has had its time. To be called about once a second, and when ports may have changed.
    pub fn tick(&mut self, now: Duration) {
        self.look_at_ports();
        if self.tables.has_timeouts() {
            if let Some(traffic) = self.look() {
                self.tables.count(&traffic, now);
            }
            let before = self.tables.clone();
            let (told, went) = self.tables.expire(now);
            if went {
                self.before.get_or_insert(before);
                self.removed(told);
                self.settle();
            }
        }
    }

    fn features(&self) -> Features {
        Features {
            datapath_id: self.datapath,
            buffers: 0,
            tables: TABLES,
            auxiliary_id: 0,
            capabilities: Capabilities::FLOW_STATS | Capabilities::TABLE_STATS | Capabilities::PORT_STATS,
        }
    }

    fn begin(&mut self) {
        if self.before.is_none() {
            self.before = Some(self.tables.clone());
        }
    }

    fn changed(&mut self, connection: Connection, xid: Xid, done: Result<Vec<FlowRemoved>, ErrorCode>) {
        match done {
            Ok(told) => {
                self.changes.push((connection, xid));
                self.removed(told);
            }
            Err(code) => self.refuse(connection, xid, code),
        }
    }

    fn removed(&mut self, told: Vec<FlowRemoved>) {
        for removed in told {
            self.tell(&Message::FlowRemoved(removed), false);
        }
    }

    /// Tells controllers something unasked: slaves only that ports have changed.
    fn tell(&mut self, message: &Message, slaves: bool) {
        for (connection, role) in &self.roles {
            if slaves || *role != ControllerRole::Slave {
                self.said.push((*connection, Xid(0), message.clone()));
            }
        }
    }

    fn say(&mut self, connection: Connection, xid: Xid, message: Message) {
        self.said.push((connection, xid, message));
    }

    fn refuse(&mut self, connection: Connection, xid: Xid, code: ErrorCode) {
        let error = ErrorMessage::Code { code, data: Vec::new() };
        self.say(connection, xid, Message::Error(error));
    }

    fn role(&mut self, connection: Connection, xid: Xid, asked: Role) {
        let current = self.roles.get(&connection).copied().unwrap_or(ControllerRole::Equal);
        let decides = matches!(asked.role, ControllerRole::Master | ControllerRole::Slave);
        if decides {
            // Numbers of generations go round (OpenFlow 1.3.5, 6.3.6).
            let stale =
                self.generation.is_some_and(|known| (asked.generation.wrapping_sub(known) as i64) < 0);
            if stale {
                return self.refuse(connection, xid, ErrorCode::RoleStale);
            }
            self.generation = Some(asked.generation);
        }
        let role = if asked.role == ControllerRole::NoChange { current } else { asked.role };
        if role == ControllerRole::Master {
            for other in self.roles.values_mut().filter(|other| **other == ControllerRole::Master) {
                *other = ControllerRole::Slave;
            }
        }
        self.roles.insert(connection, role);
        let generation = self.generation.unwrap_or(u64::MAX);
        self.say(connection, xid, Message::RoleReply(Role { role, generation }));
    }
}

#[cfg(test)]
mod tests {
    use openflow::action::Action;
    use openflow::flow::FlowMod;
    use openflow::group::{Bucket, GroupCommand, GroupMod, GroupType};
    use openflow::instruction::Instruction;
    use openflow::matching::Match;
    use openflow::multipart::{FlowFilter, MultipartReply, MultipartRequest, PortStats};
    use openflow::oxm::Oxm;
    use openflow::packet::PacketOut;
    use openflow::port::{PortConfig, PortFeatures, PortState};
    use openflow::words::{BufferId, GroupId, PortNo};
    use system::Error;

    use super::*;
    use crate::datapath::Found;

    const NOW: Duration = Duration::from_secs(5);
    const MANAGER: Connection = 1;
    const OTHER: Connection = 2;

    /// What a test says that a data path does.
    #[derive(Default)]
    struct Path {
        ports: Vec<u32>,
        /// How many entries it had at each step.
        applied: Vec<usize>,
        fails: bool,
        found: Found,
        sent: Vec<(u32, Vec<u8>)>,
    }

    impl DataPath for Path {
        fn ports(&mut self) -> Vec<Port> {
            let port = |number: &u32| Port {
                number: PortNo(*number),
                address: [2; 6],
                raw_name: [0; 16],
                config: PortConfig::NONE,
                state: PortState::LIVE,
                current: PortFeatures::NONE,
                advertised: PortFeatures::NONE,
                supported: PortFeatures::NONE,
                peer: PortFeatures::NONE,
                current_speed: 0,
                max_speed: 0,
            };
            self.ports.iter().map(port).collect()
        }

        fn counted(&mut self, _: PortNo) -> Vec<PortStats> {
            Vec::new()
        }

        fn apply(&mut self, tables: &Tables) -> Result<(), Error> {
            if self.fails {
                return Err(Error::new("no", ""));
            }
            self.applied.push(tables.entries().count());
            Ok(())
        }

        fn read(&mut self, _: &Tables) -> Result<Found, Error> {
            Ok(self.found.clone())
        }

        fn send(&mut self, port: u32, frame: &[u8]) -> Result<(), Error> {
            self.sent.push((port, frame.to_vec()));
            Ok(())
        }
    }

    fn switch() -> Switch<Path> {
        let mut switch = Switch::new(7, Path { ports: vec![1, 2, 3], ..Path::default() });
        switch.connected(MANAGER);
        switch
    }

    fn flow(port: u32) -> Message {
        let out = vec![Instruction::ApplyActions(vec![Action::output(PortNo(9))])];
        Message::FlowMod(FlowMod::add(1, Match::of(&[Oxm::in_port(PortNo(port))]).unwrap(), out))
    }

    fn said(switch: &mut Switch<Path>) -> Vec<(Connection, u32, Message)> {
        switch
            .take_said()
            .into_iter()
            .map(|(connection, xid, message)| (connection, xid.0, message))
            .collect()
    }

    fn refused(message: &Message) -> Option<ErrorCode> {
        match message {
            Message::Error(error) => Some(error.code()),
            _ => None,
        }
    }

    fn flows(switch: &mut Switch<Path>) -> usize {
        let ask = Message::ask(MultipartRequest::Flow(FlowFilter::ALL));
        switch.hear(MANAGER, Xid(99), &ask, NOW);
        let count = |(_, _, message)| match message {
            Message::MultipartReply { reply: MultipartReply::Flow(flows), .. } => flows.len(),
            _ => 0,
        };
        said(switch).into_iter().map(count).sum()
    }

    #[test]
    fn what_comes_in_one_piece_is_done_in_one_step_before_it_is_confirmed() {
        let mut switch = switch();
        for port in 1..=3 {
            switch.hear(MANAGER, Xid(port), &flow(port), NOW);
        }
        switch.hear(MANAGER, Xid(4), &Message::BarrierRequest, NOW);
        assert!(switch.is_asked() && said(&mut switch).is_empty());
        switch.settle();
        assert_eq!(switch.path().applied, [3]);
        assert_eq!(said(&mut switch), [(MANAGER, 4, Message::BarrierReply)]);
    }

    #[test]
    fn what_cannot_be_done_is_refused_and_leaves_the_tables() {
        let mut switch = switch();
        switch.hear(MANAGER, Xid(1), &flow(1), NOW);
        switch.settle();
        switch.path().fails = true;
        switch.hear(MANAGER, Xid(2), &flow(2), NOW);
        switch.hear(MANAGER, Xid(3), &Message::BarrierRequest, NOW);
        switch.settle();
        let heard = said(&mut switch);
        assert_eq!(heard.iter().map(|(_, xid, _)| *xid).collect::<Vec<_>>(), [2, 3]);
        assert_eq!(refused(&heard[0].2), Some(ErrorCode::FlowUnknown));
        assert_eq!(flows(&mut switch), 1);
    }

    #[test]
    fn what_others_have_changed_is_not_told_as_there() {
        let mut switch = switch();
        for port in 1..=3 {
            switch.hear(MANAGER, Xid(port), &flow(port), NOW);
        }
        assert_eq!(flows(&mut switch), 3);
        switch.path().found = Found { flows: [2].into(), altered: true, ..Found::default() };
        assert_eq!(flows(&mut switch), 2);
        assert!(switch.take_log().iter().any(|line| line.contains("changed by others: 1 entries")));
        let before = switch.path().applied.len();
        switch.path().found = Found { altered: true, ..Found::default() };
        assert_eq!(flows(&mut switch), 2);
        assert_eq!(
            switch.path().applied.len(),
            before + 1,
            "what no controller would tell again is put right"
        );
    }

    #[test]
    fn one_master_changes_and_slaves_only_look() {
        let mut switch = switch();
        switch.connected(OTHER);
        let role = |role, generation| Message::RoleRequest(Role { role, generation });
        switch.hear(MANAGER, Xid(1), &role(ControllerRole::Master, 5), NOW);
        switch.hear(OTHER, Xid(2), &role(ControllerRole::Master, 4), NOW);
        switch.hear(OTHER, Xid(3), &role(ControllerRole::Master, 6), NOW);
        switch.hear(MANAGER, Xid(4), &flow(1), NOW);
        let heard = said(&mut switch);
        assert_eq!(heard[1].1, 2);
        assert_eq!(refused(&heard[1].2), Some(ErrorCode::RoleStale));
        assert_eq!(refused(&heard[3].2), Some(ErrorCode::RequestIsSlave));
        switch.hear(OTHER, Xid(5), &flow(1), NOW);
        switch.copied(0, 1, 2, 60, &[0; 60]);
        switch.path().ports = vec![1, 2];
        switch.look_at_ports();
        let told: Vec<_> =
            said(&mut switch).into_iter().map(|(to, _, message)| (to, message.kind())).collect();
        let (packet, port) =
            (openflow::message::MessageType::PacketIn, openflow::message::MessageType::PortStatus);
        assert_eq!(told, [(OTHER, packet), (MANAGER, port), (OTHER, port)]);
    }

    #[test]
    fn odd_requests_are_refused_and_frames_go_by_ports_that_are_there() {
        let mut switch = switch();
        let group = GroupMod {
            command: GroupCommand::Add,
            kind: GroupType::Select,
            group: GroupId(1),
            buckets: vec![Bucket::of(Vec::new())],
        };
        switch.hear(MANAGER, Xid(1), &Message::GroupMod(group), NOW);
        switch.hear(MANAGER, Xid(2), &Message::QueueGetConfigRequest(PortNo(1)), NOW);
        let packet = |action, data: &[u8]| {
            Message::PacketOut(PacketOut {
                buffer: BufferId::NONE,
                in_port: PortNo(1),
                actions: vec![action],
                data: data.to_vec(),
            })
        };
        switch.hear(MANAGER, Xid(3), &packet(Action::output(PortNo(8)), &[0; 60]), NOW);
        switch.hear(MANAGER, Xid(4), &packet(Action::output(PortNo(1)), &[0; 3]), NOW);
        switch.hear(MANAGER, Xid(5), &packet(Action::output(PortNo::FLOOD), &[1; 60]), NOW);
        let codes: Vec<_> = said(&mut switch).iter().filter_map(|(_, _, message)| refused(message)).collect();
        let expected = [
            ErrorCode::GroupBadType,
            ErrorCode::RequestBadType,
            ErrorCode::ActionBadOutPort,
            ErrorCode::RequestBadPacket,
        ];
        assert_eq!(codes, expected);
        assert_eq!(switch.path().sent, [(2, vec![1; 60]), (3, vec![1; 60])]);
    }
}
