//! What stands beside the plan itself, in the text and on the page alike: what a change does, and what checks found.
use crate::certify::Certificates;
use crate::change::Changes;
use crate::simulate::Simulation;
use crate::text::counted;
use latency::words::microseconds;

/// A title, and lines below it.
pub(crate) struct Section {
    pub(crate) title: String,
    pub(crate) lines: Vec<String>,
}

impl Section {
    /// For a terminal.
    pub(crate) fn text(&self) -> String {
        let lines: String = self.lines.iter().map(|line| format!("  {line}\n")).collect();
        format!("\n{}\n{lines}", self.title)
    }
}

/// What a change does.
pub(crate) fn changed(changes: &Changes) -> Section {
    let mut lines: Vec<String> = changes.removed.iter().map(|name| format!("removed {name}")).collect();
    for added in &changes.added {
        lines.push(match (&added.would_yield, added.admitted) {
            (_, true) => format!("added {}", added.name),
            (Some(flows), false) => format!(
                "{} is refused; in the place of {} it would be admitted",
                added.name,
                flows.join(", ")
            ),
            (None, false) => format!("{} is refused, whichever less important flows go", added.name),
        });
    }
    for moved in &changes.moved {
        lines
            .push(format!("{} goes from level {} to {} at {}", moved.name, moved.from, moved.to, moved.port));
    }
    for changed in &changes.changed {
        let (before, after) = (microseconds(changed.before_ps), microseconds(changed.after_ps));
        lines.push(format!("{}: bound {after} instead of {before}", changed.name));
    }
    Section { title: "What if (times in microseconds)".to_owned(), lines }
}

/// What the separate checker says.
pub(crate) fn certified(certificates: &Certificates) -> Section {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(certificates.too_large.iter().map(|name| format!("{name}: beyond the checker")));
    lines.extend(certificates.wrong.iter().map(|name| format!("{name}: WRONG")));
    Section {
        title: format!("Certificates: the evidence for {} holds", counted(certificates.hold, "flow")),
        lines,
    }
}

/// What simulations found.
pub(crate) fn simulated(simulation: &Simulation) -> Section {
    let count = |count: u64, what: &str| counted(usize::try_from(count).unwrap_or(usize::MAX), what);
    let (runs, violations) = (count(simulation.runs, "run"), count(simulation.violations, "violation"));
    let mut lines = Vec::new();
    for found in &simulation.found {
        let (worst, bound) = (microseconds(found.worst_ps), microseconds(found.bound_ps));
        lines.push(format!("{} to {}: worst found {worst}, bound {bound}", found.flow, found.host));
    }
    Section { title: format!("Simulation: {runs}, {violations} (times in microseconds)"), lines }
}
