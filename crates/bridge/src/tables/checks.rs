//! Checks which entries and groups of a controller this switch can carry out, and refuses the rest.
use openflow::action::Action;
use openflow::error_code::ErrorCode;
use openflow::flow::{FlowFlags, FlowMod};
use openflow::group::{Bucket, GroupMod, GroupType};
use openflow::instruction::Instruction;
use openflow::matching::Match;
use openflow::oxm::{AnyOxm, Oxm, OxmField};
use openflow::words::{GroupId, PortNo};

use super::{MOST_PARTS, TABLES, Tables, ordered, set_fields};

const IPV4: u128 = 0x0800;
const IPV6: u128 = 0x86dd;
const UDP: u128 = 17;

impl Tables {
    pub(super) fn check_flow(&self, flow: &FlowMod) -> Result<(), ErrorCode> {
        if flow.table.0 >= TABLES {
            return Err(ErrorCode::FlowBadTable);
        }
        if flow.flags.contains(FlowFlags::CHECK_OVERLAP) {
            return Err(ErrorCode::FlowBadFlags);
        }
        check_match(&flow.matching)?;
        let onward = flow.instructions.iter().any(|one| matches!(one, Instruction::GotoTable(_)));
        let (mut applied, mut gone) = (0, 0);
        for instruction in &flow.instructions {
            match instruction {
                Instruction::GotoTable(next) if *next > flow.table && next.0 < TABLES => gone += 1,
                Instruction::GotoTable(_) => return Err(ErrorCode::InstructionBadTable),
                Instruction::ApplyActions(actions) => {
                    applied += 1;
                    self.check_actions(actions, &flow.matching, onward)?;
                }
                _ => return Err(ErrorCode::InstructionUnsupported),
            }
        }
        if applied > 1 || gone > 1 { Err(ErrorCode::InstructionUnknown) } else { Ok(()) }
    }

    fn check_actions(&self, actions: &[Action], matching: &Match, onward: bool) -> Result<(), ErrorCode> {
        if actions.len() > MOST_PARTS {
            return Err(ErrorCode::ActionTooMany);
        }
        let has = |field, value: u128| {
            matching.get(field).is_some_and(|oxm| oxm.mask().is_none() && oxm.value() == value)
        };
        let ipv4 = has(OxmField::EthType, IPV4);
        let ipv6 = has(OxmField::EthType, IPV6);
        // Whether every frame that is matched has such a field; none if it is not set here.
        let fits = |field: OxmField| match field {
            OxmField::EthDst | OxmField::EthSrc => Some(true),
            OxmField::IpDscp => Some(ipv4 || ipv6),
            OxmField::Ipv4Src | OxmField::Ipv4Dst => Some(ipv4),
            OxmField::Ipv6Src | OxmField::Ipv6Dst => Some(ipv6),
            OxmField::UdpSrc | OxmField::UdpDst => Some((ipv4 || ipv6) && has(OxmField::IpProto, UDP)),
            _ => None,
        };
        for (index, action) in actions.iter().enumerate() {
            match action {
                Action::Group(group) => {
                    let Some(group) = self.groups.get(&group.0) else {
                        return Err(ErrorCode::ActionBadOutGroup);
                    };
                    // Its buckets change the frame itself, one after the other: nothing may come behind.
                    if index + 1 < actions.len() || onward {
                        return Err(ErrorCode::ActionUnsupportedOrder);
                    }
                    if !group.buckets.iter().flat_map(set_fields).all(|field| fits(field) == Some(true)) {
                        return Err(ErrorCode::ActionMatchInconsistent);
                    }
                }
                Action::SetField(value) => match fits(value.field()) {
                    Some(true) => {}
                    Some(false) => return Err(ErrorCode::ActionMatchInconsistent),
                    None => return Err(ErrorCode::ActionBadSetType),
                },
                Action::Output { port, .. } => check_port(*port, true)?,
                _ => return Err(ErrorCode::ActionBadType),
            }
        }
        Ok(())
    }
}

fn check_match(matching: &Match) -> Result<(), ErrorCode> {
    for field in matching.iter() {
        let AnyOxm::Known(oxm) = field else { return Err(ErrorCode::MatchBadField) };
        let masked = oxm.mask().is_some_and(|mask| mask != oxm.field().all_bits());
        match oxm.field() {
            OxmField::EthDst | OxmField::EthSrc => {}
            OxmField::InPort
            | OxmField::EthType
            | OxmField::IpDscp
            | OxmField::IpProto
            | OxmField::UdpSrc
            | OxmField::UdpDst
            | OxmField::Icmpv6Type
            | OxmField::Ipv6NdTarget
                if masked =>
            {
                return Err(ErrorCode::MatchBadMask);
            }
            // With a tag or without one: what VLAN a frame is of is not looked at.
            OxmField::VlanVid if is_tagged(&oxm).is_some() => {}
            OxmField::VlanVid => return Err(ErrorCode::MatchBadTag),
            OxmField::Ipv4Src | OxmField::Ipv4Dst if masked => return Err(ErrorCode::MatchBadNwMask),
            OxmField::InPort
            | OxmField::EthType
            | OxmField::IpDscp
            | OxmField::IpProto
            | OxmField::Ipv4Src
            | OxmField::Ipv4Dst
            | OxmField::UdpSrc
            | OxmField::UdpDst
            | OxmField::Ipv6Src
            | OxmField::Ipv6Dst
            | OxmField::Icmpv6Type
            | OxmField::Ipv6NdTarget => {}
            _ => return Err(ErrorCode::MatchBadField),
        }
    }
    Ok(())
}

/// Whether a field is for frames with a VLAN tag, or for those without one; none if it is another field or for some VLANs alone.
pub(crate) fn is_tagged(oxm: &Oxm) -> Option<bool> {
    let means = |other: Oxm| oxm.value() == other.value() && oxm.mask() == other.mask();
    let is_tag = oxm.field() == OxmField::VlanVid;
    match () {
        () if is_tag && means(Oxm::untagged()) => Some(false),
        () if is_tag && means(Oxm::tagged()) => Some(true),
        () => None,
    }
}

fn check_port(port: PortNo, controller: bool) -> Result<(), ErrorCode> {
    let real = port.0 > 0 && port <= PortNo::MAX;
    if real || controller && port == PortNo::CONTROLLER { Ok(()) } else { Err(ErrorCode::ActionBadOutPort) }
}

/// A bucket with what it sets and where it sends: fields that are set first, then one port.
pub(super) fn check_group(group: &GroupMod) -> Result<(), ErrorCode> {
    if group.group.0 == 0 || group.group > GroupId::MAX {
        return Err(ErrorCode::GroupInvalid);
    }
    if group.kind != GroupType::All {
        return Err(ErrorCode::GroupBadType);
    }
    if group.buckets.len() > MOST_PARTS {
        return Err(ErrorCode::GroupOutOfBuckets);
    }
    for bucket in &group.buckets {
        check_bucket(bucket)?;
    }
    // A frame is changed from bucket to bucket: each sets all that the ones before it have set.
    let ordered = ordered(&group.buckets);
    let covered = ordered.windows(2).all(|pair| {
        let [one, next] = pair else { return true };
        set_fields(one).all(|field| set_fields(next).any(|other| other == field))
    });
    if covered { Ok(()) } else { Err(ErrorCode::GroupBadBucket) }
}

fn check_bucket(bucket: &Bucket) -> Result<(), ErrorCode> {
    if bucket.actions.len() > MOST_PARTS {
        return Err(ErrorCode::GroupOutOfBuckets);
    }
    let Some((Action::Output { port, .. }, before)) = bucket.actions.split_last() else {
        return if bucket.actions.is_empty() { Ok(()) } else { Err(ErrorCode::GroupBadBucket) };
    };
    check_port(*port, false)?;
    let sets = |action: &Action| {
        matches!(action, Action::SetField(value) if matches!(
            value.field(),
            OxmField::EthDst | OxmField::EthSrc | OxmField::IpDscp | OxmField::Ipv4Src | OxmField::Ipv4Dst | OxmField::Ipv6Src | OxmField::Ipv6Dst | OxmField::UdpSrc | OxmField::UdpDst
        ))
    };
    if before.iter().all(sets) { Ok(()) } else { Err(ErrorCode::GroupBadBucket) }
}

#[cfg(test)]
mod tests {
    use openflow::oxm::FieldValue;
    use openflow::words::TableId;

    use super::super::tests::{NOW, flow, group};
    use super::*;

    #[test]
    fn what_frames_could_not_be_done_to_is_refused() {
        let mut tables = Tables::default();
        let mut told = |flow: FlowMod| tables.change_flow(&flow, NOW).err();
        let out = || Action::output(PortNo(1));
        let dscp = || Action::SetField(FieldValue::ip_dscp(10));
        assert_eq!(told(flow(&[Oxm::eth_type(0x0800)], vec![dscp(), out()])), None);
        assert_eq!(told(flow(&[], vec![dscp(), out()])), Some(ErrorCode::ActionMatchInconsistent));
        assert_eq!(told(flow(&[], vec![Action::Group(GroupId(4))])), Some(ErrorCode::ActionBadOutGroup));
        assert_eq!(told(flow(&[], vec![Action::output(PortNo::FLOOD)])), Some(ErrorCode::ActionBadOutPort));
        let masked = Oxm::masked(OxmField::Ipv4Dst, 0x0a00_0000, 0xff00_0000).unwrap();
        let some = flow(&[Oxm::eth_type(0x0800), masked], Vec::new());
        assert_eq!(told(some), Some(ErrorCode::MatchBadNwMask));
        let vlan = |vid| flow(&[Oxm::exact(OxmField::VlanVid, vid).unwrap()], Vec::new());
        assert_eq!((told(vlan(0)), told(flow(&[Oxm::tagged()], Vec::new()))), (None, None));
        assert_eq!(told(vlan(0x1005)), Some(ErrorCode::MatchBadTag), "a VLAN of its own is not told apart");
        let mut back = flow(&[], Vec::new());
        (back.table, back.instructions) = (TableId(1), vec![Instruction::GotoTable(TableId(1))]);
        assert_eq!(told(back), Some(ErrorCode::InstructionBadTable));
    }

    /// The fields that a group sets are in every frame that an entry hands to it.
    #[test]
    fn a_group_is_used_by_entries_whose_frames_have_what_it_sets() {
        let mut tables = Tables::default();
        let four = Action::SetField(FieldValue::new(OxmField::Ipv4Dst, 0x0a01_0002).unwrap());
        let port = Action::SetField(FieldValue::new(OxmField::UdpDst, 7_411).unwrap());
        let out = || Action::output(PortNo(1));
        tables.change_group(&group(1, vec![vec![four, out()]]), NOW).unwrap();
        tables.change_group(&group(2, vec![vec![port, out()]]), NOW).unwrap();
        let mut told = |fields: &[Oxm], number| {
            tables.change_flow(&flow(fields, vec![Action::Group(GroupId(number))]), NOW).err()
        };
        let (ip4, ip6, udp) = (Oxm::eth_type(0x0800), Oxm::eth_type(0x86dd), Oxm::ip_proto(17));
        assert_eq!((told(&[ip4], 1), told(&[ip4, udp], 2), told(&[ip6, udp], 2)), (None, None, None));
        let refused = Some(ErrorCode::ActionMatchInconsistent);
        assert_eq!((told(&[ip6], 1), told(&[], 1), told(&[ip4], 2)), (refused, refused, refused));
    }

    #[test]
    fn buckets_that_would_see_what_others_set_are_refused() {
        let mut tables = Tables::default();
        let mut told = |group: GroupMod| tables.change_group(&group, NOW).err();
        let out = |port| Action::output(PortNo(port));
        let dscp = || Action::SetField(FieldValue::ip_dscp(10));
        let to = || Action::SetField(FieldValue::eth_dst([2; 6]));
        assert_eq!(
            told(group(1, vec![vec![dscp(), to(), out(1)], vec![dscp(), out(2)], vec![out(3)]])),
            None
        );
        assert_eq!(
            told(group(2, vec![vec![to(), out(1)], vec![dscp(), out(2)]])),
            Some(ErrorCode::GroupBadBucket)
        );
        assert_eq!(told(group(1, Vec::new())), Some(ErrorCode::GroupExists));
        assert_eq!(
            told(GroupMod { kind: GroupType::Select, ..group(3, Vec::new()) }),
            Some(ErrorCode::GroupBadType)
        );
    }
}
