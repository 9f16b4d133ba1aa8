//! Random messages from a seed: every kind, every field, within what OpenFlow 1.3 allows.
mod replies;

use openflow::Message;
use openflow::action::{Action, MaxLen};
use openflow::error_code::{ErrorCode, ErrorMessage};
use openflow::flow::{FlowCommand, FlowFlags, FlowMod, FlowRemoved, FlowRemovedReason};
use openflow::group::{Bucket, GroupCommand, GroupMod, GroupType};
use openflow::hello::Hello;
use openflow::instruction::Instruction;
use openflow::matching::Match;
use openflow::message::MessageType;
use openflow::meter::{Band, BandKind, MeterCommand, MeterFlags, MeterMod};
use openflow::multipart::{FlowFilter, MultipartRequest, MultipartType};
use openflow::oxm::{FieldValue, Oxm, OxmField, UnknownOxm};
use openflow::packet::{PacketIn, PacketInReason, PacketOut};
use openflow::port::{Port, PortConfig, PortFeatures, PortMod, PortReason, PortState, PortStatus};
use openflow::switch::{
    AsyncConfig, Capabilities, ConfigFlags, ControllerRole, Features, Queue, QueueProperty, Queues, Reasons,
    Role, SwitchConfig, TableMod,
};
use openflow::words::{Age, BufferId, GroupId, MeterId, PortNo, QueueId, TableId};

/// What messages are made of.
pub(crate) struct Random {
    numbers: testkit::random::Random,
    /// True for messages of what Open vSwitch knows only.
    plain: bool,
}

impl Random {
    /// Everything that OpenFlow 1.3 has.
    #[allow(dead_code, reason = "Open vSwitch is not asked about everything")]
    pub(crate) fn new(seed: u64) -> Self {
        Self { numbers: testkit::random::Random::new(seed), plain: false }
    }

    /// What Open vSwitch knows of it.
    #[allow(dead_code, reason = "not every test asks Open vSwitch")]
    pub(crate) fn plain(seed: u64) -> Self {
        Self { numbers: testkit::random::Random::new(seed), plain: true }
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.numbers.bits()
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.numbers.below(limit)
    }

    pub(crate) fn flag(&mut self) -> bool {
        self.below(2) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    pub(crate) fn u32(&mut self) -> u32 {
        self.bits() as u32
    }

    pub(crate) fn u16(&mut self) -> u16 {
        self.bits() as u16
    }

    pub(crate) fn octets(&mut self, most: usize) -> Vec<u8> {
        (0..self.below(most + 1)).map(|_| self.bits() as u8).collect()
    }

    /// Bytes whose number fills what an experimenter's part is padded to.
    pub(crate) fn padded(&mut self) -> Vec<u8> {
        let count = 8 * self.below(3);
        (0..count).map(|_| self.bits() as u8).collect()
    }

    pub(crate) fn list<T>(&mut self, most: usize, mut make: impl FnMut(&mut Self) -> T) -> Vec<T> {
        (0..self.below(most + 1)).map(|_| make(self)).collect()
    }

    pub(crate) fn age(&mut self) -> Age {
        Age { seconds: self.u32() >> 8, nanoseconds: self.below(1_000_000_000) as u32 }
    }

    pub(crate) fn port_no(&mut self) -> PortNo {
        PortNo(1 + self.below(100) as u32)
    }

    pub(crate) fn table(&mut self) -> TableId {
        TableId(self.below(200) as u8)
    }

    fn value_of(&mut self, field: OxmField) -> u128 {
        if field == OxmField::InPort {
            return u128::from(self.port_no().0);
        }
        let wide = u128::from(self.bits()) << 64 | u128::from(self.bits());
        wide & field.all_bits()
    }

    /// A match with as many layers as chance gives: each field with what it needs before it.
    pub(crate) fn matching(&mut self, unknown: bool) -> Match {
        use OxmField::*;
        let mut list = Match::new();
        let mut fields = vec![InPort, InPhyPort, Metadata, EthDst, EthSrc, TunnelId];
        if self.flag() {
            // The bit that says "there is a tag", with or without a mask.
            let vid = self.value_of(VlanVid) | 0x1000;
            let vid =
                if self.flag() { Oxm::exact(VlanVid, vid) } else { Oxm::masked(VlanVid, 0x1000, 0x1000) };
            list.push(vid.unwrap()).unwrap();
            fields.push(VlanPcp);
        }
        let eth_type = self.pick(&[0x0800, 0x86dd, 0x0806, 0x8847, 0x88e7, 0x1234]);
        list.push(Oxm::eth_type(eth_type)).unwrap();
        match eth_type {
            0x0800 => fields.extend([Ipv4Src, Ipv4Dst]),
            0x86dd => fields.extend([Ipv6Src, Ipv6Dst, Ipv6Flabel, Ipv6Exthdr]),
            0x0806 => fields.extend([ArpSpa, ArpTpa, ArpSha, ArpTha]),
            0x8847 => fields.extend([MplsLabel, MplsTc, MplsBos]),
            0x88e7 => fields.push(PbbIsid),
            _ => {}
        }
        if eth_type == 0x0806 {
            // Operations above 255 are more than Open vSwitch can match.
            list.push(Oxm::exact(ArpOp, 1 + self.below(2) as u128).unwrap()).unwrap();
        }
        if matches!(eth_type, 0x0800 | 0x86dd) {
            fields.extend([IpDscp, IpEcn]);
            let protocol = self.pick(&[6, 17, 132, if eth_type == 0x0800 { 1 } else { 58 }]);
            list.push(Oxm::ip_proto(protocol)).unwrap();
            match protocol {
                6 => fields.extend([TcpSrc, TcpDst]),
                17 => fields.extend([UdpSrc, UdpDst]),
                132 => fields.extend([SctpSrc, SctpDst]),
                1 => fields.extend([Icmpv4Type, Icmpv4Code]),
                _ => {
                    let kind = self.pick(&[135, 136]);
                    list.push(Oxm::exact(Icmpv6Type, kind).unwrap()).unwrap();
                    list.push(Oxm::exact(Icmpv6Code, 0).unwrap()).unwrap();
                    fields.extend([Ipv6NdTarget, if kind == 135 { Ipv6NdSll } else { Ipv6NdTll }]);
                }
            }
        }
        let foreign = [InPhyPort, PbbIsid, Ipv6Exthdr];
        fields.retain(|field| !self.plain || !foreign.contains(field));
        for field in fields {
            if self.flag() && (field != InPhyPort || list.get(InPort).is_some()) {
                let value = self.value_of(field);
                let mask = self.value_of(field);
                let oxm = if field.maskable() && self.flag() {
                    Oxm::masked(field, value & mask, mask)
                } else {
                    Oxm::exact(field, value)
                };
                list.push(oxm.unwrap()).unwrap();
            }
        }
        if unknown && !self.plain && self.flag() {
            let payload = self.octets(8);
            list.push_unknown(&UnknownOxm::new(0xffff, 5, false, &payload).unwrap()).unwrap();
        }
        list
    }

    pub(crate) fn action(&mut self) -> Action {
        match self.below(if self.plain { 12 } else { 17 }) {
            0 => Action::output(self.port_no()),
            1 => Action::Output { port: PortNo::CONTROLLER, max_len: MaxLen(self.u16()) },
            2 => Action::SetMplsTtl(self.bits() as u8),
            3 => Action::DecMplsTtl,
            4 => Action::PushVlan(self.pick(&[0x8100, 0x88a8])),
            5 => Action::PopVlan,
            6 => Action::PushMpls(self.pick(&[0x8847, 0x8848])),
            7 => Action::PopMpls(0x0800),
            8 => Action::SetQueue(QueueId(self.u32() >> 8)),
            9 => Action::Group(GroupId(self.u32() >> 8)),
            10 => Action::SetNwTtl(self.bits() as u8),
            11 => Action::DecNwTtl,
            12 => Action::CopyTtlOut,
            13 => Action::CopyTtlIn,
            14 => {
                let field = self.pick(OxmField::ALL);
                Action::SetField(FieldValue::new(field, self.value_of(field)).unwrap())
            }
            15 if self.flag() => Action::PopPbb,
            15 => Action::PushPbb(0x88e7),
            _ => Action::Experimenter { experimenter: self.u32(), data: self.padded().into() },
        }
    }

    pub(crate) fn actions(&mut self) -> Vec<Action> {
        self.list(4, Self::action)
    }

    pub(crate) fn instructions(&mut self) -> Vec<Instruction> {
        let list = [
            Instruction::Meter(MeterId(1 + (self.u32() >> 16))),
            Instruction::ApplyActions(self.actions()),
            Instruction::ClearActions,
            Instruction::WriteActions(self.actions()),
            Instruction::WriteMetadata { metadata: self.bits(), mask: self.bits() },
            Instruction::GotoTable(TableId(200 + self.below(50) as u8)),
            Instruction::Experimenter { experimenter: self.u32(), data: self.padded().into() },
        ];
        let foreign = |one: &Instruction| matches!(one, Instruction::Experimenter { .. });
        list.into_iter().filter(|one| self.flag() && !(self.plain && foreign(one))).collect()
    }

    pub(crate) fn band(&mut self) -> Band {
        let kind = match self.below(if self.plain { 1 } else { 3 }) {
            0 => BandKind::Drop,
            1 => BandKind::DscpRemark(self.below(4) as u8),
            _ => BandKind::Experimenter { experimenter: self.u32(), data: self.padded().into() },
        };
        Band { kind, rate: self.u32(), burst: self.u32() }
    }

    pub(crate) fn bucket(&mut self, kind: GroupType) -> Bucket {
        let fast = kind == GroupType::FastFailover;
        Bucket {
            weight: if kind == GroupType::Select { self.u16() >> 8 } else { 0 },
            watch_port: if fast { self.port_no() } else { PortNo::ANY },
            watch_group: GroupId::ANY,
            actions: self.actions(),
        }
    }

    /// One bucket for a group that has just one, else any number.
    pub(crate) fn buckets(&mut self, kind: GroupType) -> Vec<Bucket> {
        if kind == GroupType::Indirect {
            return vec![self.bucket(kind)];
        }
        self.list(4, |random| random.bucket(kind))
    }

    pub(crate) fn port(&mut self) -> Port {
        Port {
            number: self.port_no(),
            address: [2, 0, 0, 0, self.bits() as u8, self.bits() as u8],
            raw_name: Port::pack_name(b"h1-p"),
            config: PortConfig(self.u32() & 0x65),
            state: PortState(self.u32() & 7),
            current: PortFeatures(self.u32() & 0xffff),
            advertised: PortFeatures(self.u32() & 0xffff),
            supported: PortFeatures(self.u32() & 0xffff),
            peer: PortFeatures(self.u32() & 0xffff),
            current_speed: self.u32() >> 8,
            max_speed: self.u32() >> 8,
        }
    }

    fn flow_mod(&mut self) -> FlowMod {
        FlowMod {
            cookie: self.bits(),
            cookie_mask: self.bits(),
            table: self.table(),
            command: self.pick(FlowCommand::ALL),
            idle_timeout: self.u16(),
            hard_timeout: self.u16(),
            priority: self.u16(),
            buffer: BufferId::NONE,
            out_port: self.port_no(),
            out_group: GroupId::ANY,
            flags: FlowFlags(self.u16() & 0x1f),
            matching: self.matching(true),
            instructions: self.instructions(),
        }
    }

    fn group_mod(&mut self) -> GroupMod {
        let (command, kind) = (self.pick(GroupCommand::ALL), self.pick(GroupType::ALL));
        let buckets = if command == GroupCommand::Delete { Vec::new() } else { self.buckets(kind) };
        GroupMod { command, kind, group: GroupId(self.u32() >> 8), buckets }
    }

    fn meter_mod(&mut self) -> MeterMod {
        MeterMod {
            command: self.pick(MeterCommand::ALL),
            flags: MeterFlags(self.pick(&[1, 2]) | self.pick(&[0, 4, 8, 12])),
            meter: MeterId(1 + (self.u32() >> 8)),
            bands: self.list(3, Self::band),
        }
    }

    fn role(&mut self) -> Role {
        Role { role: self.pick(ControllerRole::ALL), generation: self.bits() }
    }

    fn async_config(&mut self) -> AsyncConfig {
        let mut reasons = || Reasons {
            packet_in: self.u32() & 7,
            port_status: self.u32() & 7,
            flow_removed: self.u32() & 15,
        };
        AsyncConfig { master: reasons(), slave: reasons() }
    }

    fn queue(&mut self) -> Queue {
        let property = |random: &mut Self| match random.below(3) {
            0 => QueueProperty::MinRate(random.u16() >> 6),
            1 => QueueProperty::MaxRate(random.u16() >> 6),
            _ => QueueProperty::Experimenter { experimenter: random.u32(), data: random.padded() },
        };
        Queue { queue: QueueId(self.u32() >> 8), port: self.port_no(), properties: self.list(3, property) }
    }

    fn request(&mut self) -> MultipartRequest {
        let filter = |random: &mut Self| FlowFilter {
            table: random.table(),
            out_port: PortNo::ANY,
            out_group: GroupId::ANY,
            cookie: random.bits(),
            cookie_mask: random.bits(),
            matching: random.matching(false),
        };
        match self.multipart_type() {
            MultipartType::Description => MultipartRequest::Description,
            MultipartType::Flow => MultipartRequest::Flow(filter(self)),
            MultipartType::Aggregate => MultipartRequest::Aggregate(filter(self)),
            MultipartType::Table => MultipartRequest::Table,
            MultipartType::PortStats => MultipartRequest::PortStats(self.port_no()),
            MultipartType::Queue => MultipartRequest::Queue(self.port_no(), QueueId(self.u32())),
            MultipartType::Group => MultipartRequest::Group(GroupId(self.u32() >> 8)),
            MultipartType::GroupDescription => MultipartRequest::GroupDescription,
            MultipartType::GroupFeatures => MultipartRequest::GroupFeatures,
            MultipartType::Meter => MultipartRequest::Meter(MeterId(self.u32() >> 16)),
            MultipartType::MeterConfig => MultipartRequest::MeterConfig(MeterId(self.u32() >> 16)),
            MultipartType::MeterFeatures => MultipartRequest::MeterFeatures,
            MultipartType::TableFeatures => MultipartRequest::TableFeatures(Vec::new()),
            MultipartType::PortDescription => MultipartRequest::PortDescription,
            MultipartType::Experimenter => MultipartRequest::Experimenter {
                experimenter: self.u32(),
                kind: self.u32(),
                data: self.octets(20),
            },
        }
    }

    fn error(&mut self) -> ErrorMessage {
        if !self.plain && self.below(8) == 0 {
            return ErrorMessage::Experimenter {
                kind: self.u16(),
                experimenter: self.u32(),
                data: self.octets(20),
            };
        }
        let mut data = Vec::new();
        let code = self.pick(ErrorCode::ALL);
        if code.numbers().0 != 0 {
            Message::BarrierRequest.encode(openflow::Xid(self.u32()), &mut data).unwrap();
        }
        ErrorMessage::Code { code, data }
    }

    /// The kind of a question; of what Open vSwitch knows, with answers of any size.
    fn multipart_type(&mut self) -> MultipartType {
        loop {
            let kind = self.pick(MultipartType::ALL);
            let foreign = [MultipartType::Experimenter, MultipartType::TableFeatures];
            if !self.plain || !foreign.contains(&kind) {
                return kind;
            }
        }
    }

    /// A message of any kind.
    pub(crate) fn message(&mut self) -> Message {
        let mut kind = self.pick(MessageType::ALL);
        if self.plain && kind == MessageType::Experimenter {
            kind = MessageType::BarrierRequest;
        }
        self.message_of(kind)
    }

    /// A message of this kind.
    pub(crate) fn message_of(&mut self, kind: MessageType) -> Message {
        match kind {
            MessageType::Hello => {
                Message::Hello(Hello { version: 4, bitmap: vec![0x10 | self.u32() & 0x62] })
            }
            MessageType::Error => Message::Error(self.error()),
            MessageType::EchoRequest => Message::EchoRequest(self.octets(20)),
            MessageType::EchoReply => Message::EchoReply(self.octets(20)),
            MessageType::Experimenter => {
                Message::Experimenter { experimenter: self.u32(), kind: self.u32(), data: self.octets(20) }
            }
            MessageType::FeaturesRequest => Message::FeaturesRequest,
            MessageType::FeaturesReply => Message::FeaturesReply(Features {
                datapath_id: self.bits(),
                buffers: self.u32(),
                tables: self.bits() as u8,
                auxiliary_id: self.bits() as u8,
                capabilities: Capabilities(self.u32() & 0x16f),
            }),
            MessageType::GetConfigRequest => Message::GetConfigRequest,
            MessageType::GetConfigReply => Message::GetConfigReply(self.config()),
            MessageType::SetConfig => Message::SetConfig(self.config()),
            MessageType::PacketIn => {
                let data = self.octets(200);
                let port = Oxm::in_port(self.port_no());
                Message::PacketIn(PacketIn {
                    buffer: BufferId(self.u32()),
                    total_len: data.len() as u16,
                    reason: self.pick(PacketInReason::ALL),
                    table: self.table(),
                    cookie: self.bits(),
                    matching: Match::of(&[port]).unwrap(),
                    data,
                })
            }
            MessageType::FlowRemoved => Message::FlowRemoved(FlowRemoved {
                cookie: self.bits(),
                priority: self.u16(),
                reason: self.pick(FlowRemovedReason::ALL),
                table: self.table(),
                age: self.age(),
                idle_timeout: self.u16(),
                hard_timeout: self.u16(),
                packets: self.bits(),
                octets: self.bits(),
                matching: self.matching(false),
            }),
            MessageType::PortStatus => {
                Message::PortStatus(PortStatus { reason: self.pick(PortReason::ALL), port: self.port() })
            }
            MessageType::PacketOut => Message::PacketOut(PacketOut {
                buffer: BufferId::NONE,
                in_port: PortNo::CONTROLLER,
                actions: self.actions(),
                data: self.octets(200),
            }),
            MessageType::FlowMod => Message::FlowMod(self.flow_mod()),
            MessageType::GroupMod => Message::GroupMod(self.group_mod()),
            MessageType::PortMod => Message::PortMod(PortMod {
                port: self.port_no(),
                address: [2, 0, 0, 0, 0, self.bits() as u8],
                config: PortConfig(self.u32() & 0x65),
                mask: PortConfig(self.u32() & 0x65),
                advertise: PortFeatures(self.u32() & 0xffff),
            }),
            MessageType::TableMod => Message::TableMod(TableMod { table: self.table(), config: 0 }),
            MessageType::MultipartRequest => {
                Message::MultipartRequest { more: false, request: self.request() }
            }
            MessageType::MultipartReply => Message::MultipartReply { more: self.flag(), reply: self.reply() },
            MessageType::BarrierRequest => Message::BarrierRequest,
            MessageType::BarrierReply => Message::BarrierReply,
            MessageType::QueueGetConfigRequest => Message::QueueGetConfigRequest(self.port_no()),
            MessageType::QueueGetConfigReply => Message::QueueGetConfigReply(Queues {
                port: self.port_no(),
                queues: self.list(3, Self::queue),
            }),
            MessageType::RoleRequest => Message::RoleRequest(self.role()),
            MessageType::RoleReply => Message::RoleReply(self.role()),
            MessageType::GetAsyncRequest => Message::GetAsyncRequest,
            MessageType::GetAsyncReply => Message::GetAsyncReply(self.async_config()),
            MessageType::SetAsync => Message::SetAsync(self.async_config()),
            MessageType::MeterMod => Message::MeterMod(self.meter_mod()),
        }
    }

    fn config(&mut self) -> SwitchConfig {
        SwitchConfig { flags: ConfigFlags(self.pick(&[0, 1, 2])), miss_send_len: self.u16() }
    }
}
