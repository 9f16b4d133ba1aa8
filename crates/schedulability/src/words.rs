//! Results of the analysis in the words of plans.
use alloc::format;
use alloc::string::{String, ToString};

use response::{Cause, Demand, Problem, Reason};

use crate::handlers::Unknown;
use crate::parts::Parts;
use crate::system::Built;

/// The cause of a part of a bound.
pub(crate) const fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Own => "its own run, with dispatch and changes of threads",
        Cause::Lane => "deliveries before it in its lane",
        Cause::Higher => "lanes of at least its priority",
        Cause::Blocking => "lower lanes that hold a component it needs",
        Cause::DeadlineThreads => "lanes of the class deadline on its core",
        Cause::Budget => "the budget of its lane",
        Cause::Stalls => "stalls of the core",
        Cause::Throttling => "the kernel's limit for fifo threads",
        Cause::Wake => "the thread wakes",
        Cause::Lateness => "the timer is late",
        Cause::Interval => "the interval of logical execution time",
        Cause::Transfer => "on its way between processes or hosts",
        Cause::Sampling => "until the value is read",
        Cause::Joining => "until the other parts have come",
        Cause::Skipped => "skipped instants of the timer",
        Cause::Clocks => "errors of the clocks",
    }
}

fn port(parts: &Parts<'_>, built: &Built, port: usize) -> String {
    built.ports.get(port).map_or_else(String::new, |handler| parts.name(*handler))
}

fn lane(parts: &Parts<'_>, built: &Built, lane: usize) -> String {
    let lane = built.lanes.get(lane).and_then(|lane| parts.lanes.get(*lane));
    lane.map_or_else(String::new, |lane| lane.name.clone())
}

/// Why something has no bound, and what to do.
pub(crate) fn reason(parts: &Parts<'_>, built: &Built, reason: Reason) -> Unknown {
    let (what, remedy) = match reason {
        Reason::Host { port: at } => {
            let handler = built.ports.get(at).and_then(|handler| parts.handlers.get(*handler));
            let lane = handler.and_then(|it| parts.lanes.get(it.lane)).map_or("", |lane| &lane.name);
            let what = format!(
                "host: \"{}\" runs on {lane}, whose threads have no real-time class",
                port(parts, built, at)
            );
            (what, "give it a lane with class = \"fifo\", a priority and one core".to_string())
        }
        Reason::Overload { lane: at } => (
            format!("the core of lane {} has more work than time, or nearly", lane(parts, built, at)),
            "take work away, lengthen a period, or use another core".to_string(),
        ),
        Reason::Stalls { host } => (
            format!("the stalls of {} leave no time", built.hosts.get(host).map_or("", |host| host)),
            "see its costs".to_string(),
        ),
        Reason::DeadlineThreads { lane: at } => (
            format!("lane {} has several threads of the class deadline", lane(parts, built, at)),
            "threads = 1".to_string(),
        ),
        Reason::Backlog { port: at } => (
            format!("the queue of \"{}\" may be full, and an event lost", port(parts, built, at)),
            "make it as deep as its backlog".to_string(),
        ),
        Reason::Overrun { port: at } => (
            format!("\"{}\" may not have ended when its outputs are due", port(parts, built, at)),
            "lengthen its interval".to_string(),
        ),
        Reason::NeverComes { port: at } => (
            format!("what \"{}\" waits for may never come", port(parts, built, at)),
            "use periodic sources and certain pushes".to_string(),
        ),
        Reason::GivesUp { port: at } => (
            format!("\"{}\" may give up what it waits with", port(parts, built, at)),
            "lengthen its time".to_string(),
        ),
        Reason::Displaced { port: at } | Reason::Overtaken { port: at } => (
            format!(
                "other events may take the place of those of the chain at \"{}\"",
                port(parts, built, at)
            ),
            "separate them".to_string(),
        ),
        Reason::Overflow => {
            ("a time is too long to be computed with".to_string(), "see the times of the plan".to_string())
        }
        Reason::Steps => {
            ("the analysis has taken all the steps it may".to_string(), "allow more with --steps".to_string())
        }
    };
    (what, remedy)
}

/// A demand that the system does not meet, with what it is about.
pub(crate) fn problem(parts: &Parts<'_>, built: &Built, problem: Problem) -> Unknown {
    let Problem { demand, index } = problem;
    let text = demand.to_string();
    let (kind, demanded) = text.split_once(": ").unwrap_or(("", &text));
    let name = match kind {
        "host" => built.hosts.get(index).cloned(),
        "lane" => Some(lane(parts, built, index)),
        "component" => built.components.get(index).map(|(_, name)| name.clone()),
        "port" => Some(port(parts, built, index)),
        _ => None,
    };
    let what = match name {
        Some(name) => format!("{kind} {name}: {demanded}"),
        None => text.clone(),
    };
    let remedy = match demand {
        Demand::Reached => "connect it by services direct alone, or by channels and DDS alone",
        Demand::PortCircle => "events that go round in a circle have no bound: break it with a timer",
        Demand::DeadlineLock => "give the component one lane, or no lane of the class deadline",
        Demand::Size => "split the plan",
        _ => "docs/components-model.md says what the rule is for",
    };
    (what, remedy.to_string())
}
