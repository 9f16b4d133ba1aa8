//! What a switch says to what it is told or asked.
use openflow::Message;
use openflow::error_code::{ErrorCode, ErrorMessage};
use openflow::multipart::{FlowFilter, FlowStats, MultipartReply, MultipartRequest};
use openflow::switch::{ControllerRole, Role};
use openflow::words::{GroupId, MeterId, PortNo, TableId};

use control::action::SwitchReport;

use super::Switch;

/// How many entries are in one message of an answer.
const EACH: usize = 4;

impl Switch {
    /// Does what a message says, and answers it.
    pub fn hear(&mut self, message: &Message, report: &SwitchReport) -> Vec<Message> {
        match message {
            Message::FeaturesRequest => vec![Message::FeaturesReply(report.features)],
            Message::BarrierRequest => vec![Message::BarrierReply],
            Message::RoleRequest(role) if role.role == ControllerRole::NoChange => {
                let generation = self.generation.unwrap_or(u64::MAX);
                vec![Message::RoleReply(Role { role: ControllerRole::Equal, generation })]
            }
            Message::RoleRequest(role) => {
                // Older ones are behind by less than half of all numbers.
                let is_stale =
                    self.generation.is_some_and(|known| role.generation.wrapping_sub(known) >> 63 == 1);
                if is_stale {
                    let code = ErrorCode::RoleStale;
                    return vec![Message::Error(ErrorMessage::Code { code, data: Vec::new() })];
                }
                self.generation = Some(role.generation);
                vec![Message::RoleReply(*role)]
            }
            Message::MultipartRequest { request, more: false } => self.tell(request, report),
            change => {
                let refused = self.take(change).err();
                refused
                    .map(|code| Message::Error(ErrorMessage::Code { code, data: Vec::new() }))
                    .into_iter()
                    .collect()
            }
        }
    }

    fn tell(&self, request: &MultipartRequest, report: &SwitchReport) -> Vec<Message> {
        match request {
            MultipartRequest::PortDescription => parts(report.ports.clone(), MultipartReply::PortDescription),
            MultipartRequest::MeterFeatures => {
                parts(vec![()], |_| MultipartReply::MeterFeatures(report.meters.unwrap()))
            }
            MultipartRequest::GroupFeatures => {
                parts(vec![()], |_| MultipartReply::GroupFeatures(report.groups.unwrap()))
            }
            MultipartRequest::Flow(filter) => {
                let flows = self.content().flows.into_iter().filter(|flow| covers(filter, flow));
                parts(flows.collect(), MultipartReply::Flow)
            }
            MultipartRequest::GroupDescription => {
                parts(self.content().groups, MultipartReply::GroupDescription)
            }
            MultipartRequest::MeterConfig(wanted) => {
                let meters = self.content().meters.into_iter();
                let meters = meters.filter(|meter| *wanted == MeterId::ALL || *wanted == meter.meter);
                parts(meters.collect(), MultipartReply::MeterConfig)
            }
            MultipartRequest::Meter(_) => parts(Vec::new(), MultipartReply::Meter),
            other => panic!("not expected: {other:?}"),
        }
    }
}

/// An answer in as many messages as it takes.
fn parts<T: Clone>(all: Vec<T>, reply: impl Fn(Vec<T>) -> MultipartReply) -> Vec<Message> {
    let count = all.len().div_ceil(EACH).max(1);
    let part = |index: usize| all.iter().skip(index * EACH).take(EACH).cloned().collect();
    (0..count)
        .map(|index| Message::MultipartReply { more: index + 1 < count, reply: reply(part(index)) })
        .collect()
}

fn covers(filter: &FlowFilter, flow: &FlowStats) -> bool {
    assert!((filter.out_port, filter.out_group) == (PortNo::ANY, GroupId::ANY), "not expected: {filter:?}");
    (filter.table == TableId::ALL || filter.table == flow.table)
        && (filter.cookie ^ flow.cookie) & filter.cookie_mask == 0
        && filter.matching.known().all(|wanted| flow.matching.known().any(|has| has == wanted))
}
