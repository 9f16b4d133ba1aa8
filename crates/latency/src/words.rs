//! Refusals in words.
use alloc::format;
use alloc::string::String;

use crate::ledger::{FlowId, Reason};
use crate::network::FlowError;
use crate::units::{MICROSECOND, NANOSECOND};

/// Why a flow is refused. `port` names a port by its index, `flow` a flow by its identity, the refused one among them.
pub fn reason(reason: &Reason, port: impl Fn(usize) -> String, flow: impl Fn(FlowId) -> String) -> String {
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
        Reason::Buffer { port: at, level, needed, reserved } => {
            let needed = needed.map_or("an unknown number of".into(), |needed| format!("{needed}"));
            format!("{} (level {level}) would need {needed} bytes of buffer and has {reserved}", port(at))
        }
        Reason::Order { port: at } => {
            format!("at {} others would have to change levels, and no order of that is safe", port(at))
        }
        Reason::Work { port: at } => {
            format!("at {} the search for an answer takes more work than it may", port(at))
        }
        Reason::Guards { port: at } => format!("the switch behind {} has no gate or meter left", port(at)),
        Reason::Full { port: at } => {
            format!("{} is declared full: it takes no flows besides those that it has", port(at))
        }
        Reason::Separation { by: None, .. } => {
            "a subscriber asks for a maximum separation, and the publisher promises none".into()
        }
        Reason::Separation { subscriber, by: Some(by) } => {
            let by = microseconds(by);
            format!("messages may be {by} us further apart than subscriber {} accepts", subscriber + 1)
        }
        Reason::Flow(FlowError::Framing { .. }) => {
            "its datagrams have no room for data, or do not fit into a frame".into()
        }
        Reason::Flow(FlowError::Bundle) => "flows that cannot be told apart cannot have a gate".into(),
        Reason::Flow(FlowError::Paused { port: at }) => format!(
            "PAUSE frames may stop {}, so that it has no bound there: switch them off at one end",
            port(at)
        ),
        Reason::Flow(_) => "its numbers are out of range".into(),
    }
}

/// Picoseconds as microseconds with three digits, rounded up.
pub fn microseconds(time: u64) -> String {
    let nanoseconds = time.div_ceil(NANOSECOND);
    let (whole, rest) = (nanoseconds / (MICROSECOND / NANOSECOND), nanoseconds % (MICROSECOND / NANOSECOND));
    format!("{whole}.{rest:03}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_are_rounded_against_us() {
        assert_eq!(microseconds(0), "0.000");
        assert_eq!(microseconds(1), "0.001");
        assert_eq!(microseconds(2_434_000_000), "2434.000");
        assert_eq!(microseconds(1_631_312_000), "1631.312");
    }

    #[test]
    fn names_are_those_of_the_caller() {
        let said = reason(
            &Reason::Delay { port: 3, level: 2, flow: 7, by: Some(1_500_000) },
            |port| format!("port {port}"),
            |flow| format!("\"flow {flow}\""),
        );
        assert_eq!(said, "at port 3 (level 2) \"flow 7\" would miss by 1.500 us");
    }
}
