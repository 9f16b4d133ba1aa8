//! Handlers as steps of the analysis.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use assembly::{Execution, ExecutionStep};
use response::Step;

/// Why the steps of a handler are not known, and what to write.
pub(crate) type Unknown = (String, String);

/// Nanoseconds that are at least so many picoseconds.
pub(crate) const fn up(picoseconds: u64) -> u64 {
    picoseconds.div_ceil(1_000)
}

/// Nanoseconds that are at most so many picoseconds.
pub(crate) const fn down(picoseconds: u64) -> u64 {
    picoseconds / 1_000
}

/// The steps of a handler. `uses` are the connected ports that it may push to or call, `output` gives the number of one.
pub(crate) fn steps(
    execution: &Execution,
    uses: &[&str],
    mut output: impl FnMut(&str) -> usize,
) -> Result<Vec<Step>, Unknown> {
    let said = |port: &str| {
        execution
            .steps
            .iter()
            .any(|step| matches!(step, ExecutionStep::Use { port: used, .. } if used == port))
    };
    let missing: Vec<String> =
        uses.iter().filter(|port| !said(port)).map(|port| format!("\"{port}\"")).collect();
    if !missing.is_empty() {
        let worst = diagnostics::written(execution.worst);
        let what = format!("its steps do not say when it uses {}", missing.join(" and "));
        let it = if missing.len() == 1 { "it" } else { "them" };
        let remedy = format!(
            "name {it} among the steps, such as steps = [\"{worst}\", {}], with ? if it may be left out; or leave {it} out of the triggers",
            missing.join(", ")
        );
        return Err((what, remedy));
    }
    let mut steps = Vec::new();
    let mut sum = 0_u64;
    for step in &execution.steps {
        match step {
            ExecutionStep::Run { least, most } => {
                sum = sum.saturating_add(*most);
                steps.push(Step::Run { least: down(*least), most: up(*most) });
            }
            ExecutionStep::Use { port, is_optional } => {
                steps.push(Step::Push { output: output(port), optional: *is_optional });
            }
        }
    }
    let rest = execution.worst.saturating_sub(sum);
    if rest > 0 {
        steps.push(Step::Run { least: 0, most: up(rest) });
    }
    Ok(steps)
}
