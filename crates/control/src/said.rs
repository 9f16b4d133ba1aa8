//! Reasons in words.
use alloc::format;
use alloc::string::String;

use latency::ledger::Reason;
use latency::network::FlowError;

/// Why a flow is refused, with the names of ports and flows.
pub(crate) fn reason(
    reason: &Reason,
    port: impl Fn(usize) -> String,
    flow: impl Fn(u64) -> String,
) -> String {
    let microseconds = |time: u64| format!("{}.{:03}", time / 1_000_000, time / 1_000 % 1_000);
    match *reason {
        Reason::Known => "it is there already".into(),
        Reason::Delay { port: at, level, flow: missing, by: Some(by) } => {
            let (at, by) = (port(at), microseconds(by));
            format!("at {at} (level {level}) {} would miss by {by} us", flow(missing))
        }
        Reason::Delay { port: at, level, flow: missing, by: None } => {
            let at = port(at);
            format!("at {at} (level {level}) {} would have no bound: too much load", flow(missing))
        }
        Reason::Queues { port: at, needed } => format!("{} would need {needed} queues", port(at)),
        Reason::Buffer { port: at, level, needed: Some(needed), reserved } => {
            format!("{} (level {level}) would need {needed} octets of buffer and has {reserved}", port(at))
        }
        Reason::Buffer { port: at, level, needed: None, .. } => {
            format!("the buffer of {} (level {level}) would have no bound", port(at))
        }
        Reason::Order { port: at } => {
            format!("at {} others would have to change levels, and no order of that is safe", port(at))
        }
        Reason::Guards { port: at } => format!("the switch behind {} has no gate or meter left", port(at)),
        Reason::Separation { by: None, .. } => {
            "the reader asks for a maximum separation, and the writer promises none".into()
        }
        Reason::Separation { by: Some(by), .. } => {
            format!("messages may be {} us further apart than the reader accepts", microseconds(by))
        }
        Reason::Flow(FlowError::Framing { .. }) => {
            "its datagrams have no room for data, or do not fit into a frame".into()
        }
        Reason::Flow(FlowError::Loop) => "there is no way from the writer's host to the reader's".into(),
        Reason::Flow(_) => "its numbers are out of range".into(),
    }
}
