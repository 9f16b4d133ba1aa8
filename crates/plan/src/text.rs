//! The report for people at a terminal.
use std::fmt::Write as _;

use crate::assumptions::Assumption;
use crate::report::{EnforcementReport, FlowReport, PortReport, Report, SubscriberReport};
use latency::words::microseconds;

/// How many names a line shows.
const NAMES: usize = 6;

/// The report in lines.
pub(crate) fn report(report: &Report) -> String {
    let mut out = String::new();
    let name = if report.network.is_empty() { String::new() } else { format!("{}: ", report.network) };
    let _ = writeln!(out, "{name}{} admitted, {} refused", counted(report.admitted, "flow"), report.refused);
    let _ = writeln!(out, "\nFlows (times in microseconds)");
    for flow in &report.flows {
        self::flow(&mut out, flow);
    }
    if !report.ports.is_empty() {
        let _ = writeln!(out, "\nPorts");
    }
    for port in &report.ports {
        self::port(&mut out, port);
    }
    if report.flows.iter().any(|flow| !flow.assumptions.is_empty()) {
        let _ = writeln!(out, "\nAssumptions");
        for assumption in &report.assumptions {
            let _ = writeln!(out, "  {}: {}", assumption.id, assumption.shown());
        }
    }
    if !report.warnings.is_empty() {
        let _ = writeln!(out, "\nWarnings");
    }
    for warning in &report.warnings {
        let _ = writeln!(out, "  {warning}");
    }
    out
}

impl Assumption {
    /// The text, with what it is about.
    pub(crate) fn shown(&self) -> String {
        let default = if self.default { " (by default)" } else { "" };
        let shown: Vec<&str> = self.about.iter().take(NAMES).map(String::as_str).collect();
        let more = self.about.len() - shown.len();
        let about = match (shown.as_slice(), more) {
            ([], _) => String::new(),
            (names, 0) => format!(": {}", names.join(", ")),
            (names, more) => format!(": {} and {more} more", names.join(", ")),
        };
        format!("{}{default}{about}", self.text)
    }
}

fn flow(out: &mut String, flow: &FlowReport) {
    let verdict = if flow.admitted { "admitted" } else { "REFUSED" };
    let coarse = if flow.coarse { " (by coarser tests: exact ones would be too much work)" } else { "" };
    let _ = writeln!(out, "  {verdict}  {}{coarse}", flow.name);
    let each = |out: &mut String, from: &str, subscribers: &[SubscriberReport]| {
        for subscriber in subscribers {
            let limit = microseconds(subscriber.limit_ps);
            let _ = match (subscriber.bound_ps, subscriber.margin_ps) {
                (Some(bound), Some(margin)) => writeln!(
                    out,
                    "    {from} to {}: bound {} of {limit}, margin {}, by {}",
                    subscriber.host,
                    microseconds(bound),
                    microseconds(margin),
                    subscriber.method.unwrap_or("nothing")
                ),
                _ => writeln!(out, "    {from} to {}: limit {limit}", subscriber.host),
            };
        }
    };
    if flow.members.is_empty() {
        each(out, &flow.publisher, &flow.subscribers);
    }
    for member in &flow.members {
        each(out, &format!("of it \"{}\"", member.name), &member.subscribers);
    }
    if let Some(losses) = &flow.losses {
        let _ = writeln!(
            out,
            "    with {} lost within {}: heartbeat {}, patience {}, again {}, repairs and questions {} apart",
            counted(losses.frames as usize, "frame"),
            microseconds(losses.within_ps),
            microseconds(losses.heartbeat_ps),
            microseconds(losses.patience_ps),
            microseconds(losses.again_ps),
            microseconds(losses.spacing_ps)
        );
        for subscriber in &flow.subscribers {
            if let Some(first) = subscriber.first_transmission_ps {
                let _ =
                    writeln!(out, "    to {} without losses: bound {}", subscriber.host, microseconds(first));
            }
        }
    }
    for hop in &flow.hops {
        let bound = hop.bound_ps.map_or("none".to_owned(), microseconds);
        let share = microseconds(hop.share_ps);
        let _ = writeln!(out, "    - {}: level {}, delay {bound} of {share} promised", hop.port, hop.level);
    }
    if let Some(enforcement) = &flow.enforcement {
        let _ = writeln!(out, "    {}", enforced(enforcement));
    }
    if let Some(reason) = &flow.reason {
        let _ = writeln!(out, "    {reason}");
    }
    if let Some(offer) = flow.offer() {
        let _ = writeln!(out, "    would be admitted with {offer}");
    }
    if !flow.assumptions.is_empty() {
        let _ = writeln!(out, "    rests on {}", flow.assumptions.join(", "));
    }
}

/// What holds a flow to its contract; times in microseconds.
pub(crate) fn enforced(enforcement: &EnforcementReport) -> String {
    match enforcement {
        EnforcementReport::Trusted => "nothing holds it to its contract: the publisher is trusted".to_owned(),
        EnforcementReport::Gate { octets, separation_ps, tolerance_ps, window_ps } => format!(
            "gate: {octets} bytes every {}, early by {} at most, within {}",
            microseconds(*separation_ps),
            microseconds(*tolerance_ps),
            microseconds(*window_ps)
        ),
        EnforcementReport::Meter { burst_bits, rate, counts } => {
            format!("meter: {rate} b/s, burst {burst_bits} bits, counting {counts}")
        }
    }
}

impl FlowReport {
    /// What would be admitted instead, in words; times in microseconds.
    pub(crate) fn offer(&self) -> Option<String> {
        let latency = self.offered_latency_ps.map(|latency| format!("a limit of {}", microseconds(latency)));
        let separation = self
            .offered_separation_ps
            .map(|separation| format!("a separation of {}", microseconds(separation)));
        let offers: Vec<String> = latency.into_iter().chain(separation).collect();
        (!offers.is_empty()).then(|| offers.join(", or with "))
    }
}

fn port(out: &mut String, port: &PortReport) {
    let backlog = port.backlog_octets.map_or("no bound".to_owned(), |bytes| bytes.to_string());
    let buffer = match port.buffer_octets {
        None => "bytes of memory".to_owned(),
        Some(bytes) if port.buffer_per_queue => format!("of {bytes} bytes for each queue"),
        Some(bytes) => format!("of {bytes} bytes"),
    };
    let levels = port.levels.len();
    let few = port.fewest_levels.filter(|fewest| *fewest < levels);
    let few = few.map_or_else(String::new, |fewest| format!(", {levels} levels where {fewest} would do"));
    let load = percent(port.load_ppm);
    let full = if port.full { " (declared full)" } else { "" };
    let _ = writeln!(out, "  {}{full}: load {load}, backlog {backlog} {buffer}{few}", port.port);
    for level in &port.levels {
        let bound = level.bound_ps.map_or("no bound".to_owned(), microseconds);
        let shown: Vec<&str> = level.flows.iter().take(NAMES).map(String::as_str).collect();
        let more = level.flows.len() - shown.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let least = microseconds(level.least_share_ps);
        let _ = writeln!(
            out,
            "    level {}: delay {bound} of {least} promised: {}{more}",
            level.level,
            shown.join(", ")
        );
    }
}

/// A number and what is counted: `1 flow`, `2 flows`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} {what}{s}")
}

/// Parts of a million as a percentage with one digit, rounded up.
pub(crate) fn percent(ppm: u64) -> String {
    let tenths = ppm.div_ceil(1_000);
    format!("{}.{} %", tenths / 10, tenths % 10)
}
