//! `punctual deploy measure`: the times that handlers of a running deployment took, written into its plan.
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;

use assembly::{End, Execution, ExecutionStep, Plan, PortKind};
use clap::Args;
use deployment::{Control, ControlAnswer, HandlerStatus, PlanStatus, deployment_name};

use crate::admit::time;
use crate::command::{BAD_NEWS, DONE, FAILED, Failure, print};
use crate::control;
use crate::files::Loaded;

/// The command line of `measure`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    PUNCTUAL_MEASURE=1 punctual deploy launch tracker.toml --unproved     measures the processor time of each handler\n  \
    punctual deploy measure tracker.toml --write measured.toml          writes the longest times so far, and 20 % more\n  \
    punctual deploy admit measured.toml                                 proves chains, as far as these times hold\n\n\
    Exit code: 0 each handler was measured; 1 some were not called.")]
pub(crate) struct MeasureArguments {
    /// The plan (TOML or JSON) of what runs on this host
    plan: PathBuf,
    /// Writes the plan with these times here
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// What is added to the longest time that was seen, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 20, value_parser = clap::value_parser!(u64).range(0..=1_000))]
    margin: u64,
}

/// Picoseconds of a microsecond.
const MICROSECOND: u64 = 1_000_000;

pub(crate) fn run(arguments: &MeasureArguments, out: &mut dyn Write) -> Result<u8, Failure> {
    let loaded = Loaded::sound(&arguments.plan)?;
    let deployment = deployment_name(&loaded.plan);
    let status = match control::ask(&deployment, &Control::Status)? {
        ControlAnswer::Status(status) => status,
        ControlAnswer::Refused { what } => return Err((BAD_NEWS, what)),
        ControlAnswer::Done { .. } => return Err((FAILED, format!("{deployment} told no status"))),
    };
    let measured = handlers(&status);
    if measured.values().flatten().next().is_none() {
        let what = format!(
            "no handler of {deployment} was measured\n  start it with PUNCTUAL_MEASURE=1 in its environment, and let it work"
        );
        return Err((BAD_NEWS, what));
    }
    let mut plan = loaded.plan.clone();
    let mut is_whole = true;
    for (name, component) in &loaded.plan.components {
        let Some(of_type) = loaded.types.components.get(&component.component_type) else {
            let what = format!("{name}: no manifest of the plan has its type {}", component.component_type);
            return Err((BAD_NEWS, format!("{what}\n  name the manifest of its program under manifests")));
        };
        for (port, port_type) in
            of_type.ports.iter().filter(|(_, port)| matches!(port.kind, PortKind::Consumer | PortKind::Timer))
        {
            let seen = measured.get(name).and_then(|all| all.iter().find(|one| one.port == *port));
            let Some(seen) = seen else {
                is_whole = false;
                print(out, format_args!("{name}.{port}: not called; its time stays as it was\n"))?;
                continue;
            };
            let said = plan.components.get(name).and_then(|it| it.ports.get(port)?.execution.as_ref());
            let before = said.or(port_type.execution.as_ref());
            let uses = used(&loaded.plan, name, port_type.triggers.as_deref(), &of_type.ports);
            let worst = with_margin(seen.worst, arguments.margin);
            let (count, longest) = (seen.count, time(seen.worst));
            let written = time(worst / 1_000);
            print(out, format_args!("{name}.{port}: {count} calls, the longest {longest}: {written}\n"))?;
            let execution = execution(worst, before, &uses);
            if let Some(component) = plan.components.get_mut(name) {
                component.ports.entry(port.clone()).or_default().execution = Some(execution);
            }
        }
    }
    if let Some(file) = &arguments.write {
        std::fs::write(file, plan.to_toml())
            .map_err(|error| (FAILED, format!("{}: {error}", file.display())))?;
        print(out, format_args!("written: {}\n", file.display()))?;
    }
    Ok(if is_whole { DONE } else { BAD_NEWS })
}

/// What was measured, by component.
fn handlers(status: &PlanStatus) -> BTreeMap<String, Vec<HandlerStatus>> {
    let components = status.processes.iter().flat_map(|process| &process.components);
    components.map(|component| (component.name.clone(), component.handlers.clone())).collect()
}

/// Picoseconds of a time with what is added, as whole microseconds above that.
fn with_margin(nanoseconds: u64, percent: u64) -> u64 {
    let hundredths = u128::from(nanoseconds) * u128::from(100 + percent);
    let microseconds = hundredths.div_ceil(100 * 1_000).max(1);
    u64::try_from(microseconds).unwrap_or(u64::MAX).saturating_mul(MICROSECOND)
}

/// The connected ports that a handler may push to or call.
fn used(
    plan: &Plan,
    component: &str,
    triggers: Option<&[String]>,
    ports: &assembly::Named<assembly::PortType>,
) -> BTreeSet<String> {
    let from = plan.connections.values().filter_map(|connection| match &connection.from {
        End::Port { component: of, port } if of == component => Some(port.clone()),
        _ => None,
    });
    let may = |port: &String| triggers.is_none_or(|known| known.contains(port));
    from.filter(|port| may(port) && ports.get(port).is_some_and(|port| port.kind.is_source())).collect()
}

/// A time that was measured as a whole. When it pushes was not measured: after anything from nothing to all of it. The order of pushes is that
/// which was declared, and a port that nothing is declared of may be left out.
fn execution(worst: u64, before: Option<&Execution>, uses: &BTreeSet<String>) -> Execution {
    let declared = before.map(|it| it.steps.as_slice()).unwrap_or_default();
    let mut pushes: Vec<ExecutionStep> =
        declared.iter().filter(|step| matches!(step, ExecutionStep::Use { .. })).cloned().collect();
    let is_said = |port: &String| {
        declared.iter().any(|step| matches!(step, ExecutionStep::Use { port: said, .. } if said == port))
    };
    let others = uses.iter().filter(|port| !is_said(port));
    pushes.extend(others.map(|port| ExecutionStep::Use { port: port.clone(), is_optional: true }));
    let mut steps = Vec::new();
    if !pushes.is_empty() {
        steps.push(ExecutionStep::Run { least: 0, most: worst });
        steps.append(&mut pushes);
    }
    Execution { worst, typical: None, steps, is_measured: true }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_rounded_up_with_its_margin() {
        assert_eq!(with_margin(10_000, 20), 12 * MICROSECOND);
        assert_eq!(with_margin(10_001, 20), 13 * MICROSECOND);
        assert_eq!(with_margin(0, 0), MICROSECOND);
        assert_eq!(with_margin(u64::MAX, 1_000), u64::MAX);
    }

    #[test]
    fn a_push_may_come_at_any_time_in_the_order_that_was_declared() {
        let push = |port: &str, is_optional| ExecutionStep::Use { port: port.to_owned(), is_optional };
        let before = Execution {
            worst: 9 * MICROSECOND,
            steps: vec![
                ExecutionStep::Run { least: 1, most: 2 },
                push("b", false),
                ExecutionStep::Run { least: 0, most: 3 },
                push("a", true),
            ],
            ..Execution::default()
        };
        let uses = BTreeSet::from(["a".to_owned(), "b".to_owned(), "c".to_owned()]);
        let run = ExecutionStep::Run { least: 0, most: 5 };
        let now = execution(5, Some(&before), &uses);
        assert_eq!(now.steps, [run, push("b", false), push("a", true), push("c", true)]);
        assert!(now.is_measured && now.worst == 5);
        assert_eq!(execution(5, None, &BTreeSet::new()).steps, []);
    }
}
