//! `punctual deploy status`, `stop` and `apply`: ask the supervisor of a deployment.
use std::io::Write;
use std::path::Path;

use deployment::{
    ChainReport, ComponentStatus, ConnectionReport, Control, ControlAnswer, GatewayStatus, PlanStatus,
    ProcessStatus, Proof, Spread, deployment_name,
};

use crate::admit::time;
use crate::command::{BAD_NEWS, DONE, FAILED, Failure, print};
use crate::control;
use crate::files::Loaded;
use crate::in_force::Proofs;

/// The deployment that is meant: by name, or by the file of its plan.
pub(crate) fn meant(plan_or_name: &str) -> Result<String, Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_name = !plan_or_name.is_empty() && plan_or_name.chars().all(is_plain);
    if Path::new(plan_or_name).is_file() {
        return match Loaded::open(Path::new(plan_or_name)) {
            // A program is often called like its deployment.
            Err(_) if is_name => Ok(plan_or_name.to_owned()),
            loaded => Ok(deployment_name(&loaded?.map_err(|problems| (BAD_NEWS, problems))?.plan)),
        };
    }
    if !is_name {
        let what = format!("there is no file {plan_or_name}, and no deployment has that name");
        return Err((FAILED, what));
    }
    Ok(plan_or_name.to_owned())
}

/// Prints the state of one deployment, or of all that run.
pub(crate) fn status(
    of: Option<&str>,
    json: bool,
    out: &mut dyn Write,
    told: &mut dyn Write,
) -> Result<u8, Failure> {
    let all = match of {
        Some(of) => vec![meant(of)?],
        None => control::deployments()?,
    };
    if all.is_empty() {
        print(told, format_args!("no deployment runs: punctual deploy launch PLAN starts one\n"))?;
        return Ok(BAD_NEWS);
    }
    let mut is_bad = false;
    let mut proofs = Proofs::default();
    proofs.refresh();
    for deployment in &all {
        match control::ask(deployment, &Control::Status) {
            Ok(ControlAnswer::Status(mut status)) => {
                proofs.put(&mut status);
                is_bad |= status.processes.iter().any(|process| process.state != "running");
                if json {
                    let line = deployment::line(&status).map_err(|error| (FAILED, error.to_string()))?;
                    print(out, format_args!("{line}"))?;
                } else {
                    deployment_shown(&status, out)?;
                }
            }
            Ok(ControlAnswer::Refused { what }) => return Err((BAD_NEWS, what)),
            Ok(ControlAnswer::Done { .. }) => {}
            // One that was killed has left its socket: it is told, and the others are shown.
            Err((_, what)) if of.is_none() => {
                is_bad = true;
                print(told, format_args!("{what}\n"))?;
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok(if is_bad { BAD_NEWS } else { DONE })
}

/// A deployment of one host.
fn deployment_shown(status: &PlanStatus, out: &mut dyn Write) -> Result<(), Failure> {
    let changes = match status.changes {
        0 | 1 => String::new(),
        changes => format!(", changed {} times", changes - 1),
    };
    let mode = status.mode.as_ref().map_or(String::new(), |mode| format!(", mode {mode}"));
    print(out, format_args!("deployment {} ({}{changes}){mode}\n", status.deployment, status.plan))?;
    shown(status, out)
}

/// What runs of a deployment on a host.
pub(crate) fn shown(status: &PlanStatus, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(text) = &status.under_way {
        print(out, format_args!("  under way: {text}\n"))?;
    }
    if !status.suspended.is_empty() {
        print(out, format_args!("  suspended: {}\n", status.suspended.join(", ")))?;
    }
    status.processes.iter().try_for_each(|process| process_shown(process, out))?;
    status.chains.iter().try_for_each(|chain| chain_shown(chain, out))?;
    status.connections.iter().try_for_each(|connection| connection_shown(connection, out))
}

const fn proof_shown(proof: &Proof) -> &'static str {
    match proof {
        Proof::Proved => "proved",
        Proof::Conditional => "proved, as far as the measured times hold",
        Proof::None => "not proved",
    }
}

/// A limit with its bound, and what was measured.
fn measured_shown(
    what: &str,
    limit: u64,
    bound: Option<u64>,
    spread: Option<&Spread>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let bound = bound.map_or_else(|| "none".to_owned(), time);
    let seen = match spread {
        Some(Spread { count, median, most_of_hundred, worst, exceeded, error, possibly }) if *count > 0 => {
            let (median, most, worst) = (time(*median), time(*most_of_hundred), time(*worst));
            let error = if *error > 0 { format!(", each ± {}", time(*error)) } else { String::new() };
            let possibly =
                if *possibly > 0 { format!(", {possibly} possibly exceeded") } else { String::new() };
            format!(
                "; {count} measured: median {median}, 99 % {most}, worst {worst}{error}, {exceeded} exceeded{possibly}"
            )
        }
        _ => String::new(),
    };
    print(out, format_args!("    {what}: limit {}, bound {bound}{seen}\n", time(limit)))
}

/// The mean times at a port, of sums over all that have ended.
fn spent_shown(sums: (u64, u64, u64), completions: u64) -> String {
    let mean = |sum: u64| time(sum.checked_div(completions).unwrap_or(0));
    let (transfer, wait, run) = sums;
    let transfer = if transfer > 0 { format!("{} on the way, ", mean(transfer)) } else { String::new() };
    format!("{transfer}{} waiting, {} in it", mean(wait), mean(run))
}

/// The same of a connection with a limit of its latency.
fn connection_shown(connection: &ConnectionReport, out: &mut dyn Write) -> Result<(), Failure> {
    let ConnectionReport { name, to, proof, latency, latency_bound, measured, unmeasured } = connection;
    print(out, format_args!("  connection {name} to {to}: {}\n", proof_shown(proof)))?;
    let spread = measured.as_ref().map(|measured| &measured.latency);
    measured_shown("latency", *latency, *latency_bound, spread, out)?;
    if let Some(why) = unmeasured {
        print(out, format_args!("    not measured: {why}\n"))?;
    }
    let Some(measured) = measured.as_ref().filter(|measured| measured.completions > 0) else { return Ok(()) };
    let spent = spent_shown((measured.transfer, measured.wait, measured.run), measured.completions);
    print(out, format_args!("      {to}: {spent}\n"))
}

/// What is proved of a chain, what was measured, and where its time went.
fn chain_shown(chain: &ChainReport, out: &mut dyn Write) -> Result<(), Failure> {
    print(out, format_args!("  chain {}: {}\n", chain.name, proof_shown(&chain.proof)))?;
    let measured = chain.measured.as_ref();
    for (what, limit, bound, spread) in [
        ("reaction", chain.reaction, chain.reaction_bound, measured.map(|it| &it.reaction)),
        ("age", chain.age, chain.age_bound, measured.map(|it| &it.age)),
    ] {
        if let Some(limit) = limit {
            measured_shown(what, limit, bound, spread, out)?;
        }
    }
    if let Some(why) = &chain.unmeasured {
        print(out, format_args!("    not measured: {why}\n"))?;
    }
    let Some(measured) = measured.filter(|measured| measured.completions > 0) else { return Ok(()) };
    if let Some(waited) = measured.overdue {
        print(out, format_args!("    nothing was answered for {}\n", time(waited)))?;
    }
    if measured.unknown > 0 {
        print(
            out,
            format_args!("    {} lost events of which is not known when they began\n", measured.unknown),
        )?;
    }
    for hop in &measured.hops {
        let spent = spent_shown((hop.transfer, hop.wait, hop.run), measured.completions);
        print(out, format_args!("      {}: {spent}\n", hop.port))?;
    }
    Ok(())
}

fn process_shown(process: &ProcessStatus, out: &mut dyn Write) -> Result<(), Failure> {
    let pid = process.pid.map_or(String::new(), |pid| format!(", pid {pid}"));
    let restarts = match process.restarts {
        0 => String::new(),
        restarts => format!(", started again {restarts} times"),
    };
    print(out, format_args!("  process {}: {}{pid}{restarts}\n", process.name, process.state))?;
    if let Some(last) = &process.last {
        print(out, format_args!("    ended last: {}\n", last.escape_debug()))?;
    }
    for refused in &process.refused {
        print(out, format_args!("    no bound holds here: {}\n", refused.escape_debug()))?;
    }
    if let Some(gateway) = &process.gateway {
        let GatewayStatus { peers, up, published, transfers, delivered, given_up, .. } = gateway;
        let GatewayStatus { repairs, doubles, datagrams, bytes, .. } = gateway;
        print(
            out,
            format_args!(
                "    gateway: {up} of {peers} peers; {published} published, {transfers} transfers, {delivered} delivered, {given_up} given up, \
                 {repairs} sent again, {doubles} doubles; {datagrams} datagrams, {bytes} bytes\n"
            ),
        )?;
    }
    let mut container = None;
    let mut components: Vec<&ComponentStatus> = process.components.iter().collect();
    components.sort_by(|a, b| (&a.container, &a.name).cmp(&(&b.container, &b.name)));
    for component in components {
        if container != Some(&component.container) {
            let name = if component.container.is_empty() { "without a name" } else { &component.container };
            print(out, format_args!("    container {name}\n"))?;
            container = Some(&component.container);
        }
        let ComponentStatus {
            name, component_type, state, taken, dropped, missed, failed, millihertz, ..
        } = component;
        let anew = match component.restarts {
            0 => String::new(),
            restarts => format!(", made anew {restarts} times"),
        };
        let rate = format!("{}.{}/s", millihertz / 1_000, millihertz % 1_000 / 100);
        print(
            out,
            format_args!(
                "      {name} ({component_type}): {state}; {taken} taken ({rate}), {dropped} dropped, {missed} missed, {failed} failed{anew}\n"
            ),
        )?;
    }
    Ok(())
}

/// Ends a deployment.
pub(crate) fn stop(of: &str, out: &mut dyn Write) -> Result<u8, Failure> {
    let deployment = meant(of)?;
    answered(&deployment, &Control::Stop, "stopped", out)
}

/// Goes on to another mode of the plan.
pub(crate) fn mode(of: &str, name: &str, out: &mut dyn Write) -> Result<u8, Failure> {
    let deployment = meant(of)?;
    answered(&deployment, &Control::Mode { name: name.to_owned() }, &format!("in mode {name}:"), out)
}

/// Suspends a connection of the plan, or resumes it.
pub(crate) fn suspend(
    of: &str,
    connection: &str,
    is_suspended: bool,
    out: &mut dyn Write,
) -> Result<u8, Failure> {
    let deployment = meant(of)?;
    let connection = connection.to_owned();
    let done = suspended(&connection, is_suspended);
    let control = if is_suspended { Control::Suspend { connection } } else { Control::Resume { connection } };
    answered(&deployment, &control, &done, out)
}

/// What was done to a connection, in words.
pub(crate) fn suspended(connection: &str, is_suspended: bool) -> String {
    format!("{} {connection} of", if is_suspended { "suspended" } else { "resumed" })
}

/// Goes on to another plan.
pub(crate) fn apply(plan: &Path, out: &mut dyn Write) -> Result<u8, Failure> {
    let loaded = Loaded::sound(plan)?;
    let deployment = deployment_name(&loaded.plan);
    let path =
        std::fs::canonicalize(plan).map_err(|error| (FAILED, format!("{}: {error}", plan.display())))?;
    let Some(path) = path.to_str() else {
        return Err((FAILED, format!("{}: its name is no UTF-8", plan.display())));
    };
    answered(&deployment, &Control::Apply { plan: path.to_owned() }, "applied", out)
}

fn answered(deployment: &str, control: &Control, done: &str, out: &mut dyn Write) -> Result<u8, Failure> {
    match control::ask(deployment, control)? {
        ControlAnswer::Refused { what } => Err((BAD_NEWS, what)),
        ControlAnswer::Done { notes } => {
            for note in notes {
                print(out, format_args!("note: {note}\n"))?;
            }
            print(out, format_args!("{done} {deployment}\n"))?;
            Ok(DONE)
        }
        ControlAnswer::Status(_) => Err((FAILED, "the supervisor answered something else".to_owned())),
    }
}
