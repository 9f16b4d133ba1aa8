//! A bridge with three ports in the namespace of the calling thread, and flow entries as managers write them.
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use bridge::nft::Nft;
use bridge::tables::Tables;
use bridge::translate::Ports;
use openflow::action::Action;
use openflow::flow::FlowMod;
use openflow::group::{Bucket, GroupCommand, GroupMod, GroupType};
use openflow::instruction::Instruction;
use openflow::matching::Match;
use openflow::oxm::{FieldValue, Oxm, OxmField};
use openflow::words::{GroupId, PortNo, TableId};
use testkit::namespace::{bare, ip};

pub(crate) const NOW: Duration = Duration::from_secs(1);

/// Runs a test beside a bridge `br0` with the ports p1 to p3; h1 to h3 are their other ends.
pub(crate) fn beside_a_bridge(test: impl FnOnce(Nft, Ports) + Send) {
    bare(|| {
        // Nothing is said by itself.
        let _ = std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
        let _ = std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
        ip("link add br0 type bridge mcast_snooping 0");
        let mut ports = BTreeMap::new();
        for number in 1..=3 {
            ip(&format!("link add p{number} type veth peer name h{number}"));
            ip(&format!("link set dev p{number} master br0 arp off up"));
            ip(&format!("link set dev h{number} arp off up"));
            ports.insert(number, format!("p{number}"));
        }
        ip("link set dev br0 arp off up");
        test(Nft::new("br0", 77), ports);
    });
}

/// What `nft` prints.
pub(crate) fn nft(line: &str) -> String {
    let output = Command::new("nft").args(line.split(' ')).output().unwrap();
    assert!(output.status.success(), "nft {line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

pub(crate) fn add(
    tables: &mut Tables,
    table: u8,
    priority: u16,
    fields: &[Oxm],
    instructions: Vec<Instruction>,
) {
    let mut flow = FlowMod::add(priority, Match::of(fields).unwrap(), instructions);
    flow.table = TableId(table);
    tables.change_flow(&flow, NOW).unwrap();
}

pub(crate) fn apply(actions: Vec<Action>) -> Vec<Instruction> {
    vec![Instruction::ApplyActions(actions)]
}

pub(crate) fn dscp(dscp: u8) -> Action {
    Action::SetField(FieldValue::ip_dscp(dscp))
}

pub(crate) fn out(port: u32) -> Action {
    Action::output(PortNo(port))
}

pub(crate) fn set(field: OxmField, value: u128) -> Action {
    Action::SetField(FieldValue::new(field, value).unwrap())
}

/// A flow from 10.1.0.1:5000 by a port.
pub(crate) fn flow(port: u32, destination: [u8; 4], to: u16) -> [Oxm; 8] {
    [
        Oxm::in_port(PortNo(port)),
        Oxm::untagged(),
        Oxm::eth_type(0x0800),
        Oxm::ip_proto(17),
        Oxm::ipv4_src([10, 1, 0, 1]),
        Oxm::ipv4_dst(destination),
        Oxm::udp_src(5000),
        Oxm::udp_dst(to),
    ]
}

pub(crate) fn group(tables: &mut Tables, number: u32, buckets: Vec<Vec<Action>>) {
    let buckets = buckets.into_iter().map(Bucket::of).collect();
    let group =
        GroupMod { command: GroupCommand::Add, kind: GroupType::All, group: GroupId(number), buckets };
    tables.change_group(&group, NOW).unwrap();
}

/// Tables as a manager fills them: one flow to a port, one that forks, and everything else over two tables of addresses.
pub(crate) fn managed() -> Tables {
    let mut tables = Tables::default();
    group(&mut tables, 1, (1..=3).map(|port| vec![out(port)]).collect());
    let reader = vec![
        dscp(10),
        set(OxmField::EthDst, 0x0200_0000_0002),
        set(OxmField::Ipv4Dst, 0x0a01_0002),
        set(OxmField::UdpDst, 7411),
        out(2),
    ];
    group(&mut tables, 2, vec![reader, vec![dscp(18), out(3)]]);
    let bridge = Oxm::masked(OxmField::EthDst, 0x0180_c200_0000, 0xffff_ffff_fff0).unwrap();
    add(&mut tables, 0, 65_000, &[bridge], Vec::new());
    add(&mut tables, 0, 60_000, &flow(1, [10, 1, 0, 2], 7001), apply(vec![dscp(10), out(2)]));
    add(&mut tables, 0, 60_000, &flow(1, [239, 192, 0, 1], 7001), apply(vec![Action::Group(GroupId(2))]));
    let goto = |table: u8| Instruction::GotoTable(TableId(table));
    for port in 1..=3 {
        add(&mut tables, 0, 65_200, &[Oxm::in_port(PortNo(port)), Oxm::tagged()], Vec::new());
        let fields = [Oxm::in_port(PortNo(port)), Oxm::eth_type(0x0800)];
        let lowest = vec![Instruction::ApplyActions(vec![dscp(0)]), goto(1)];
        add(&mut tables, 0, 200, &fields, lowest);
        add(&mut tables, 0, 100, &fields[..1], vec![goto(1)]);
    }
    let known = [Oxm::in_port(PortNo(1)), Oxm::eth_src([2, 0, 0, 0, 0, 1])];
    add(&mut tables, 1, 100, &known, vec![goto(2)]);
    add(&mut tables, 1, 0, &[], vec![Instruction::ApplyActions(vec![Action::controller()]), goto(2)]);
    add(&mut tables, 2, 100, &[Oxm::eth_dst([2, 0, 0, 0, 0, 2])], apply(vec![out(2)]));
    add(&mut tables, 2, 0, &[], apply(vec![Action::Group(GroupId(1))]));
    tables
}
