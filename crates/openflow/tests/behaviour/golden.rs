//! Bytes written by hand after the layouts of the specification (OpenFlow 1.3.5, chapter 7): we write and read just these.

use openflow::action::Action;
use openflow::error_code::{ErrorCode, ErrorMessage};
use openflow::flow::{FlowFlags, FlowMod};
use openflow::group::{Bucket, GroupCommand, GroupMod, GroupType};
use openflow::hello::Hello;
use openflow::instruction::Instruction;
use openflow::matching::Match;
use openflow::meter::{Band, MeterCommand, MeterFlags, MeterMod};
use openflow::multipart::{FlowFilter, MultipartReply, MultipartRequest, QueueStats, Traffic};
use openflow::oxm::{FieldValue, Oxm, OxmField};
use openflow::switch::{Capabilities, ControllerRole, Features, Role};
use openflow::words::{Age, GroupId, MeterId, PortNo, QueueId, TableId};
use openflow::{Message, Xid};

/// The bytes of a text of hexadecimal digits; spaces and line ends do not count, `#` begins a comment.
fn hex(text: &str) -> Vec<u8> {
    let digits: String = text
        .lines()
        .flat_map(|line| line.split('#').next().unwrap().chars().filter(|c| !c.is_whitespace()))
        .collect();
    assert!(digits.len().is_multiple_of(2));
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

#[track_caller]
fn same(message: &Message, text: &str) {
    let expected = hex(text);
    let mut written = Vec::new();
    message.encode(Xid(0x0102_0304), &mut written).unwrap();
    assert_eq!(written, expected, "\n{written:02x?}\n{expected:02x?}");
    assert_eq!(Message::decode(&expected), Ok((Xid(0x0102_0304), message.clone())));
}

#[test]
fn hello_with_a_bitmap() {
    same(&Message::Hello(Hello::ours()), "04 00 0010 01020304  0001 0008 00000010");
}

#[test]
fn flow_mod_that_meters_marks_and_sends() {
    let matching = Match::of(&[
        Oxm::in_port(PortNo(1)),
        Oxm::eth_type(0x0800),
        Oxm::ip_proto(17),
        Oxm::masked(OxmField::Ipv4Dst, 0xefff_0000, 0xffff_0000).unwrap(),
        Oxm::udp_dst(7401),
    ]);
    let actions = vec![Action::SetField(FieldValue::ip_dscp(46)), Action::output(PortNo(2))];
    let instructions = vec![Instruction::Meter(MeterId(7)), Instruction::ApplyActions(actions)];
    let mut change = FlowMod::add(200, matching.unwrap(), instructions);
    change.cookie = 0x1122_3344_5566_7788;
    change.flags = FlowFlags::SEND_FLOW_REM;
    same(
        &Message::FlowMod(change),
        "04 0e 0090 01020304
         1122334455667788 0000000000000000 # cookie, mask
         00 00 0000 0000 00c8              # table, command, idle, hard, priority
         ffffffff ffffffff ffffffff        # buffer, port, group
         0001 0000                         # flags
         0001 0029                         # match of fields, 41 octets
           80000004 00000001               # IN_PORT
           80000a02 0800                   # ETH_TYPE
           80001401 11                     # IP_PROTO
           80001908 efff0000 ffff0000      # IPV4_DST with mask
           80002002 1ce9                   # UDP_DST
           00000000000000                  # to 48
         0006 0008 00000007                # METER
         0004 0028 00000000                # APPLY_ACTIONS
           0019 0010 80001001 2e 00000000000000 # SET_FIELD of IP_DSCP
           0000 0010 00000002 0000 000000000000 # OUTPUT",
    );
}

#[test]
fn meter_mod_with_a_burst() {
    let change = MeterMod {
        command: MeterCommand::Add,
        flags: MeterFlags::KBPS | MeterFlags::BURST | MeterFlags::STATS,
        meter: MeterId(1),
        bands: vec![Band::drop(10_000, 1000)],
    };
    same(
        &Message::MeterMod(change),
        "04 1d 0020 01020304  0000 000d 00000001  0001 0010 00002710 000003e8 00000000",
    );
}

#[test]
fn group_mod_for_multicast() {
    let buckets = vec![
        Bucket::of(vec![Action::output(PortNo(3))]),
        Bucket::of(vec![Action::SetQueue(QueueId(1)), Action::output(PortNo(4))]),
    ];
    let change = GroupMod { command: GroupCommand::Add, kind: GroupType::All, group: GroupId(9), buckets };
    same(
        &Message::GroupMod(change),
        "04 0f 0058 01020304  0000 00 00 00000009
         0020 0000 ffffffff ffffffff 00000000
           0000 0010 00000003 0000 000000000000
         0028 0000 ffffffff ffffffff 00000000
           0015 0008 00000001
           0000 0010 00000004 0000 000000000000",
    );
}

#[test]
fn features_error_and_role() {
    let features = Features {
        datapath_id: 0x0000_0200_0000_000a,
        buffers: 0,
        tables: 254,
        auxiliary_id: 0,
        capabilities: Capabilities(0x4f),
    };
    same(
        &Message::FeaturesReply(features),
        "04 06 0020 01020304  000002000000000a 00000000 fe 00 0000 0000004f 00000000",
    );
    let error = ErrorMessage::Code { code: ErrorCode::MeterBadBand, data: hex("041d0008") };
    same(&Message::Error(error), "04 01 0010 01020304  000c 0008 041d0008");
    let role = Role { role: ControllerRole::Master, generation: 5 };
    same(&Message::RoleRequest(role), "04 18 0018 01020304  00000002 00000000 0000000000000005");
}

#[test]
fn multipart_requests_and_replies() {
    let filter = FlowFilter { table: TableId(3), cookie: 1, cookie_mask: u64::MAX, ..FlowFilter::ALL };
    same(
        &Message::ask(MultipartRequest::Flow(filter)),
        "04 12 0038 01020304  0001 0000 00000000
         03 000000 ffffffff ffffffff 00000000 0000000000000001 ffffffffffffffff
         0001 0004 00000000",
    );
    let stats = QueueStats {
        port: PortNo(2),
        queue: QueueId(1),
        sent: Traffic { packets: 3, octets: 4 },
        errors: 5,
        age: Age { seconds: 6, nanoseconds: 7 },
    };
    same(
        &Message::MultipartReply { more: true, reply: MultipartReply::Queue(vec![stats]) },
        "04 13 0038 01020304  0005 0001 00000000
         00000002 00000001 0000000000000004 0000000000000003 0000000000000005 00000006 00000007",
    );
}
