//! Another decoder's view: Open vSwitch reads what we write and must find nothing wrong with it, and the same values.
//! Without `ovs-ofctl` the tests are skipped, except on CI (environment variable CI), where they fail.

use std::process::Command;

use crate::generate::Random;
use openflow::action::Action;
use openflow::error_code::{ErrorCode, ErrorMessage};
use openflow::flow::{FlowFlags, FlowMod};
use openflow::group::{Bucket, GroupCommand, GroupMod, GroupType};
use openflow::instruction::Instruction;
use openflow::matching::Match;
use openflow::message::MessageType;
use openflow::meter::{Band, MeterCommand, MeterFlags, MeterMod};
use openflow::multipart::{
    FlowFilter, GroupStats, MeterStats, MultipartReply, MultipartRequest, MultipartType, PortStats,
    QueueStats, Traffic,
};
use openflow::oxm::{FieldValue, Oxm, OxmField};
use openflow::switch::{ControllerRole, Role};
use openflow::words::{Age, GroupId, MeterId, PortNo, QueueId, TableId};
use openflow::{Message, Xid};

fn available() -> bool {
    let found =
        Command::new("ovs-ofctl").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(
        found || std::env::var_os("CI").is_none(),
        "ovs-ofctl is not installed (Debian package openvswitch-common)"
    );
    if !found {
        eprintln!("skipped: ovs-ofctl is not installed");
    }
    found
}

/// What Open vSwitch prints of the messages; a file for each call, so that runs side by side do not meet.
fn dissect(name: &str, bytes: &[u8]) -> String {
    let path = std::env::temp_dir().join(format!("punctual-openflow-{}-{name}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let output = Command::new("ovs-ofctl").arg("ofp-parse").arg(&path).output();
    std::fs::remove_file(&path).unwrap();
    let output = output.unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// How Open vSwitch calls a message of this kind.
fn name(message: &Message) -> &'static str {
    let multipart = |kind| match kind {
        MultipartType::Description => "OFPST_DESC",
        MultipartType::Flow => "OFPST_FLOW",
        MultipartType::Aggregate => "OFPST_AGGREGATE",
        MultipartType::Table => "OFPST_TABLE",
        MultipartType::PortStats => "OFPST_PORT",
        MultipartType::Queue => "OFPST_QUEUE",
        MultipartType::Group => "OFPST_GROUP",
        MultipartType::GroupDescription => "OFPST_GROUP_DESC",
        MultipartType::GroupFeatures => "OFPST_GROUP_FEATURES",
        MultipartType::Meter => "OFPST_METER",
        MultipartType::MeterConfig => "OFPST_METER_CONFIG",
        MultipartType::MeterFeatures => "OFPST_METER_FEATURES",
        MultipartType::TableFeatures => "OFPST_TABLE_FEATURES",
        MultipartType::PortDescription => "OFPST_PORT_DESC",
        MultipartType::Experimenter => "OFPST_EXPERIMENTER",
    };
    match message.kind() {
        MessageType::Hello => "OFPT_HELLO",
        MessageType::Error => "OFPT_ERROR",
        MessageType::EchoRequest => "OFPT_ECHO_REQUEST",
        MessageType::EchoReply => "OFPT_ECHO_REPLY",
        MessageType::Experimenter => "OFPT_EXPERIMENTER",
        MessageType::FeaturesRequest => "OFPT_FEATURES_REQUEST",
        MessageType::FeaturesReply => "OFPT_FEATURES_REPLY",
        MessageType::GetConfigRequest => "OFPT_GET_CONFIG_REQUEST",
        MessageType::GetConfigReply => "OFPT_GET_CONFIG_REPLY",
        MessageType::SetConfig => "OFPT_SET_CONFIG",
        MessageType::PacketIn => "OFPT_PACKET_IN",
        MessageType::FlowRemoved => "OFPT_FLOW_REMOVED",
        MessageType::PortStatus => "OFPT_PORT_STATUS",
        MessageType::PacketOut => "OFPT_PACKET_OUT",
        MessageType::FlowMod => "OFPT_FLOW_MOD",
        MessageType::GroupMod => "OFPT_GROUP_MOD",
        MessageType::PortMod => "OFPT_PORT_MOD",
        MessageType::TableMod => "OFPT_TABLE_MOD",
        MessageType::BarrierRequest => "OFPT_BARRIER_REQUEST",
        MessageType::BarrierReply => "OFPT_BARRIER_REPLY",
        MessageType::QueueGetConfigRequest => "OFPT_QUEUE_GET_CONFIG_REQUEST",
        MessageType::QueueGetConfigReply => "OFPT_QUEUE_GET_CONFIG_REPLY",
        MessageType::RoleRequest => "OFPT_ROLE_REQUEST",
        MessageType::RoleReply => "OFPT_ROLE_REPLY",
        MessageType::GetAsyncRequest => "OFPT_GET_ASYNC_REQUEST",
        MessageType::GetAsyncReply => "OFPT_GET_ASYNC_REPLY",
        MessageType::SetAsync => "OFPT_SET_ASYNC",
        MessageType::MeterMod => "OFPT_METER_MOD",
        MessageType::MultipartRequest | MessageType::MultipartReply => match message {
            Message::MultipartRequest { request, .. } => multipart(request.kind()),
            Message::MultipartReply { reply, .. } => multipart(reply.kind()),
            _ => unreachable!(),
        },
    }
}

/// Random actions need not fit the match beside them, and may push more tags than there may be. Open vSwitch says so after it
/// has read both.
const ALLOWED: [&str; 2] = ["OFPBAC_MATCH_INCONSISTENT", "OFPBAC_BAD_TAG"];

/// How many seeds go to one call of Open vSwitch.
const SEEDS_PER_CALL: usize = 1000;

#[test]
fn random_messages_are_read() {
    if !available() {
        return;
    }
    let seeds: Vec<u64> = tiers::current().seeds("property.cases").collect();
    for seeds in seeds.chunks(SEEDS_PER_CALL) {
        let messages: Vec<_> = seeds
            .iter()
            .flat_map(|seed| {
                let mut random = Random::plain(*seed);
                (0..10).map(move |_| random.message())
            })
            .collect();
        let mut bytes = Vec::new();
        for (index, message) in messages.iter().enumerate() {
            message.encode(Xid(index as u32 + 1), &mut bytes).unwrap();
        }
        compare(&messages, &dissect("random", &bytes));
    }
}

/// Checks that Open vSwitch has read each of the messages, in their order, and complains about none.
fn compare(messages: &[Message], text: &str) {
    let allowed = |line: &str| ALLOWED.iter().any(|text| line.contains(text));
    let complains = |line: &&str| (line.contains("***") || line.contains("|WARN|")) && !allowed(line);
    let complaints: Vec<_> = text.lines().filter(complains).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    let mut heads = text.lines().filter(|line| line.starts_with("OFP"));
    for (index, message) in messages.iter().enumerate() {
        let head = heads.next().unwrap_or_default();
        let xid = format!("(xid={:#x}):", index + 1);
        assert!(
            head.split(" ").next() == Some(name(message)) && head.contains(&xid),
            "{message:?} is read as {head}"
        );
        // The message that an error quotes is printed below it.
        if matches!(message, Message::Error(ErrorMessage::Code { data, .. }) if !data.is_empty()) {
            assert!(heads.next().unwrap_or_default().starts_with("OFPT_BARRIER_REQUEST"), "{message:?}");
        }
    }
    assert_eq!(heads.next(), None);
}

/// Names that Open vSwitch keeps of OpenFlow 1.0, or has replaced.
const RENAMED: [(ErrorCode, &str); 7] = [
    (ErrorCode::RequestBadMultipart, "BAD_STAT"),
    (ErrorCode::RequestBadExperimenter, "BAD_VENDOR"),
    (ErrorCode::RequestBadExperimenterType, "BAD_SUBTYPE"),
    (ErrorCode::RequestIsSlave, "IS_SECONDARY"),
    (ErrorCode::ActionBadExperimenter, "BAD_VENDOR"),
    (ErrorCode::ActionBadExperimenterType, "BAD_VENDOR_TYPE"),
    (ErrorCode::FeaturesBadArgument, "BAD_VALUE"),
];

#[test]
fn errors_have_the_same_names() {
    if !available() {
        return;
    }
    let mut bytes = Vec::new();
    for code in ErrorCode::ALL {
        let message = Message::Error(ErrorMessage::Code { code: *code, data: vec![0; 8] });
        message.encode(Xid(1), &mut bytes).unwrap();
    }
    let text = dissect("errors", &bytes);
    let found: Vec<_> =
        text.lines().filter_map(|line| line.strip_prefix("OFPT_ERROR (OF1.3) (xid=0x1): ")).collect();
    assert_eq!(found.len(), ErrorCode::ALL.len());
    for (code, found) in ErrorCode::ALL.iter().zip(found) {
        let renamed = RENAMED.iter().find(|(other, _)| other == code).map(|(_, name)| *name);
        let name = found.split_once('_').map(|(_, name)| name);
        assert_eq!(name, Some(renamed.unwrap_or(code.names().1)), "{code:?} is read as {found}");
    }
}

#[track_caller]
fn reads(message: &Message, expected: &str) {
    if !available() {
        return;
    }
    let mut bytes = Vec::new();
    message.encode(Xid(0x1b), &mut bytes).unwrap();
    let text = dissect(&format!("reads-{}", std::panic::Location::caller().line()), &bytes);
    assert_eq!(text.trim_end(), expected);
}

#[test]
fn a_flow_is_read_with_its_values() {
    let fields = [
        Oxm::in_port(PortNo(1)),
        Oxm::eth_type(0x0800),
        Oxm::ip_proto(17),
        Oxm::masked(OxmField::Ipv4Dst, 0xefff_0000, 0xffff_0000).unwrap(),
        Oxm::udp_dst(7401),
    ];
    let apply = vec![
        Action::SetField(FieldValue::ip_dscp(46)),
        Action::SetField(FieldValue::eth_dst([2, 0, 0, 0, 0, 9])),
        Action::SetQueue(QueueId(3)),
        Action::Group(GroupId(9)),
        Action::output(PortNo(2)),
        Action::controller(),
    ];
    let instructions = vec![
        Instruction::Meter(MeterId(7)),
        Instruction::ApplyActions(apply),
        Instruction::WriteActions(vec![Action::DecNwTtl, Action::output(PortNo(4))]),
        Instruction::WriteMetadata { metadata: 0x12, mask: 0xff },
        Instruction::GotoTable(TableId(5)),
    ];
    let mut change = FlowMod::add(200, Match::of(&fields).unwrap(), instructions);
    change.cookie = 0x1122;
    change.flags = FlowFlags::SEND_FLOW_REM | FlowFlags::CHECK_OVERLAP;
    change.idle_timeout = 10;
    reads(
        &Message::FlowMod(change),
        "OFPT_FLOW_MOD (OF1.3) (xid=0x1b): ADD priority=200,udp,in_port=1,nw_dst=239.255.0.0/16,tp_dst=7401 \
         cookie:0x1122 idle:10 send_flow_rem check_overlap actions=meter:7,set_field:46->ip_dscp,\
         set_field:02:00:00:00:00:09->eth_dst,set_queue:3,group:9,output:2,CONTROLLER:65535,\
         write_actions(dec_ttl,output:4),write_metadata:0x12/0xff,goto_table:5",
    );
    reads(
        &Message::FlowMod(FlowMod::delete_by_cookie(0xab00, 0xff00)),
        "OFPT_FLOW_MOD (OF1.3) (xid=0x1b): DEL table:255 priority=0 cookie:0xab00/0xff00 actions=drop",
    );
}

#[test]
fn meters_groups_and_questions_are_read_with_their_values() {
    let meter = MeterMod {
        command: MeterCommand::Add,
        flags: MeterFlags::KBPS | MeterFlags::BURST | MeterFlags::STATS,
        meter: MeterId(1),
        bands: vec![Band::drop(10_000, 1000)],
    };
    reads(
        &Message::MeterMod(meter),
        "OFPT_METER_MOD (OF1.3) (xid=0x1b): ADD meter=1 kbps burst stats bands=\ntype=drop rate=10000 burst_size=1000",
    );
    let buckets = [3, 4].map(|port| Bucket::of(vec![Action::output(PortNo(port))])).to_vec();
    let group = GroupMod { command: GroupCommand::Add, kind: GroupType::All, group: GroupId(9), buckets };
    reads(
        &Message::GroupMod(group),
        "OFPT_GROUP_MOD (OF1.3) (xid=0x1b):\n ADD group_id=9,type=all,bucket=actions=output:3,bucket=actions=output:4",
    );
    reads(
        &Message::RoleRequest(Role { role: ControllerRole::Master, generation: 5 }),
        "OFPT_ROLE_REQUEST (OF1.3) (xid=0x1b): role=primary generation_id=5",
    );
    let filter = FlowFilter { table: TableId(3), cookie: 1, cookie_mask: u64::MAX, ..FlowFilter::ALL };
    reads(&Message::ask(MultipartRequest::Flow(filter)), "OFPST_FLOW request (OF1.3) (xid=0x1b): table=3");
}

#[test]
fn counters_are_read_with_their_values() {
    let traffic = |packets, octets| Traffic { packets, octets };
    let age = Age { seconds: 9, nanoseconds: 500_000_000 };
    let reply = |reply| Message::MultipartReply { more: false, reply };
    let queue = QueueStats { port: PortNo(2), queue: QueueId(1), sent: traffic(3, 4), errors: 5, age };
    reads(
        &reply(MultipartReply::Queue(vec![queue])),
        "OFPST_QUEUE reply (OF1.3) (xid=0x1b): 1 queues\n  port 2 queue 1: bytes=4, pkts=3, errors=5, duration=9.500s",
    );
    let port = PortStats {
        port: PortNo(2),
        received: traffic(1, 2),
        sent: traffic(3, 4),
        receive_dropped: 5,
        send_dropped: 6,
        receive_errors: 7,
        send_errors: 8,
        frame_errors: 9,
        overruns: 10,
        crc_errors: 11,
        collisions: 12,
        age,
    };
    reads(
        &reply(MultipartReply::PortStats(vec![port])),
        "OFPST_PORT reply (OF1.3) (xid=0x1b): 1 ports\n  port  2: rx pkts=1, bytes=2, drop=5, errs=7, frame=9, over=10, crc=11\n           tx pkts=3, bytes=4, drop=6, errs=8, coll=12\n           duration=9.500s",
    );
    let bands = vec![traffic(5, 6)];
    let meter = MeterStats { meter: MeterId(1), flows: 2, traffic: traffic(3, 4), age, bands };
    reads(
        &reply(MultipartReply::Meter(vec![meter])),
        "OFPST_METER reply (OF1.3) (xid=0x1b):\nmeter:1 flow_count:2 packet_in_count:3 byte_in_count:4 duration:9.500s bands:\n0: packet_count:5 byte_count:6",
    );
    let buckets = vec![traffic(5, 6)];
    let group = GroupStats { group: GroupId(1), references: 2, traffic: traffic(3, 4), age, buckets };
    reads(
        &reply(MultipartReply::Group(vec![group])),
        "OFPST_GROUP reply (OF1.3) (xid=0x1b):\n group_id=1,duration=9.500s,ref_count=2,packet_count=3,byte_count=4,bucket0:packet_count=5,byte_count=6",
    );
}

/// Fields and values of a match, and how Open vSwitch prints it.
type MatchCase = (&'static [(OxmField, u128)], &'static str);

const MATCHES: [MatchCase; 9] = {
    use OxmField::*;
    [
        (
            &[(EthType, 0x0800), (IpProto, 6), (TcpSrc, 1), (TcpDst, 2), (Ipv4Src, 3), (Ipv4Dst, 4)],
            "tcp,nw_src=0.0.0.3,nw_dst=0.0.0.4,tp_src=1,tp_dst=2",
        ),
        (
            &[(EthType, 0x0800), (IpProto, 17), (UdpSrc, 1), (UdpDst, 2), (IpDscp, 46), (IpEcn, 1)],
            "udp,nw_tos=184,nw_ecn=1,tp_src=1,tp_dst=2",
        ),
        (&[(EthType, 0x0800), (IpProto, 132), (SctpSrc, 1), (SctpDst, 2)], "sctp,tp_src=1,tp_dst=2"),
        (
            &[(EthType, 0x0800), (IpProto, 1), (Icmpv4Type, 8), (Icmpv4Code, 2)],
            "icmp,icmp_type=8,icmp_code=2",
        ),
        (
            &[(EthType, 0x0806), (ArpOp, 1), (ArpSpa, 2), (ArpTpa, 3), (ArpSha, 4), (ArpTha, 5)],
            "arp,arp_spa=0.0.0.2,arp_tpa=0.0.0.3,arp_op=1,arp_sha=00:00:00:00:00:04,arp_tha=00:00:00:00:00:05",
        ),
        (
            &[
                (EthType, 0x86dd),
                (IpProto, 58),
                (Ipv6Src, 1),
                (Ipv6Dst, 2),
                (Ipv6Flabel, 3),
                (Icmpv6Type, 135),
                (Icmpv6Code, 0),
                (Ipv6NdTarget, 6),
                (Ipv6NdSll, 7),
            ],
            "icmp6,ipv6_src=::1,ipv6_dst=::2,ipv6_label=0x00003,icmp_type=135,icmp_code=0,nd_target=::6,nd_sll=00:00:00:00:00:07",
        ),
        (
            &[(EthType, 0x86dd), (IpProto, 58), (Icmpv6Type, 136), (Icmpv6Code, 0), (Ipv6NdTll, 7)],
            "icmp6,icmp_type=136,icmp_code=0,nd_tll=00:00:00:00:00:07",
        ),
        (
            &[(EthType, 0x8847), (MplsLabel, 100), (MplsTc, 5), (MplsBos, 1)],
            "mpls,mpls_label=100,mpls_tc=5,mpls_bos=1",
        ),
        (
            &[
                (InPort, 1),
                (Metadata, 2),
                (EthDst, 3),
                (EthSrc, 4),
                (VlanVid, 0x1005),
                (VlanPcp, 6),
                (TunnelId, 7),
            ],
            "tun_id=0x7,metadata=0x2,in_port=1,dl_vlan=5,dl_vlan_pcp=6,dl_src=00:00:00:00:00:04,dl_dst=00:00:00:00:00:03",
        ),
    ]
};

#[test]
fn fields_are_read_with_their_names_and_values() {
    for (fields, expected) in MATCHES {
        let mut matching = Match::new();
        for (field, value) in fields {
            matching.push(Oxm::exact(*field, *value).unwrap()).unwrap();
        }
        let change = FlowMod::add(1, matching, Vec::new());
        let expected = format!("OFPT_FLOW_MOD (OF1.3) (xid=0x1b): ADD priority=1,{expected} actions=drop");
        reads(&Message::FlowMod(change), &expected);
    }
}
