//! Units of systemd: a target for the deployment, and a service for each process.
use std::env;
use std::path::Path;

use assembly::{Restart, RestartPolicy, SchedulingClass};
use deployment::{RESTART, Unquotable, foreign_lane, plain_name, unit_value, unit_word};

use super::{Export, Exported, Made, notes, refused};
use crate::command::{FAILED, Failure, WRONG};
use crate::target::program;

/// Bytes of the longest line that systemd reads.
const LONGEST_LINE: usize = 1 << 20;
/// Seconds that a process may take to launch its components, and to end them.
const PATIENCE: u32 = 30;
/// Picoseconds in a microsecond.
const MICROSECOND: u64 = 1_000_000;

/// The units and the plan for a host. `file` is that of the plan, `output` the absolute folder that gets the files.
pub(super) fn export(
    exported: &Exported<'_>,
    file: &Path,
    output: &Path,
    user: Option<&str>,
) -> Result<Export, Failure> {
    let user = user.map(checked_user).transpose()?;
    let notes = notes::systemd(exported);
    let comment = notes::comment(exported, &notes);
    let deployment = &exported.deployment;
    let plan = Made {
        name: format!("punctual-{deployment}.{}.toml", exported.version),
        text: notes::comment(exported, &[]) + &exported.text,
    };
    let plan_path = text_of(&output.join(&plan.name))?;
    let services: Vec<String> =
        exported.processes.iter().map(|process| service_name(deployment, process)).collect();
    let mut files =
        vec![Made { name: target_name(deployment), text: comment.clone() + &target(exported, &services) }];
    for (index, (process, name)) in exported.processes.iter().zip(&services).enumerate() {
        let before = index.checked_sub(1).and_then(|before| services.get(before));
        let program = text_of(&program(exported.loaded, file, process, None)?)?;
        let text = service(exported, process, &program, &plan_path, before.map(String::as_str), user)?;
        files.push(Made { name: name.clone(), text: format!("{comment}{text}") });
    }
    files.push(plan);
    let next = format!(
        "systemctl link {}; systemctl start {}",
        files
            .iter()
            .filter(|file| !file.name.ends_with(".toml"))
            .map(|file| output.join(&file.name).display().to_string())
            .collect::<Vec<_>>()
            .join(" "),
        target_name(deployment)
    );
    Ok((files, notes, next))
}

fn service_name(deployment: &str, process: &str) -> String {
    format!("punctual-{deployment}.{process}.service")
}

fn target_name(deployment: &str) -> String {
    format!("punctual-{deployment}.target")
}

/// Services are wanted, not required: a process that is given up leaves the others alone, as in a launch.
fn target(exported: &Exported<'_>, services: &[String]) -> String {
    let deployment = &exported.deployment;
    let others: String = others(exported).map(|other| format!("Requires={other}\nAfter={other}\n")).collect();
    let wants: String = services.iter().map(|service| format!("Wants={service}\n")).collect();
    format!(
        "[Unit]\nDescription=Deployment {deployment}\n{others}{wants}\n[Install]\nWantedBy=multi-user.target\n"
    )
}

/// The targets of plans that have to run before this one.
fn others<'e>(exported: &'e Exported<'_>) -> impl Iterator<Item = String> + 'e {
    exported.plan().depends_on.iter().map(|id| target_name(&plain_name(id)))
}

fn service(
    exported: &Exported<'_>,
    name: &str,
    program: &str,
    plan: &str,
    before: Option<&str>,
    user: Option<&str>,
) -> Result<String, Failure> {
    let deployment = &exported.deployment;
    let process = exported.plan().processes.get(name).cloned().unwrap_or_default();
    let quoted = |text: &str| unit_word(text).map_err(|error| unquotable(name, error));
    let restart = process.restart.as_ref().unwrap_or(&RESTART);
    let mut lines = vec![
        "[Unit]".to_owned(),
        format!("Description=Process {name} of the deployment {deployment}"),
        format!("PartOf={}", target_name(deployment)),
    ];
    // Services start beside their target: each waits for the other deployments itself.
    lines.extend(others(exported).map(|other| format!("After={other}")));
    for other in exported.dependencies(name) {
        let other = service_name(deployment, other);
        lines.push(format!("Wants={other}"));
        if before != Some(&other) {
            lines.push(format!("After={other}"));
        }
    }
    // What consumes starts before what publishes.
    lines.extend(before.map(|before| format!("After={before}")));
    lines.extend(start_limits(restart));
    // The colon keeps systemd from replacing $NAME.
    let mut command = vec![quoted(&format!(":{program}"))?];
    let order = exported.order(name, plan);
    for argument in order.iter().chain(&process.arguments) {
        command.push(quoted(argument)?);
    }
    lines.extend([
        String::new(),
        "[Service]".to_owned(),
        // A foreign program does not say when it works: that it runs is all that others wait for.
        format!("Type={}", if order.is_some() { "notify" } else { "exec" }),
        format!("ExecStart={}", command.join(" ")),
        format!("WorkingDirectory={}", working_directory()?),
    ]);
    for (variable, value) in &process.environment {
        check_variable(name, variable, value)?;
        lines.push(format!("Environment={}", quoted(&format!("{variable}={value}"))?));
    }
    lines.extend(user.map(|user| format!("User={user}")));
    lines.extend([
        format!("Restart={}", policy(restart.policy)),
        format!("RestartSec={}us", restart.delay.or(RESTART.delay).unwrap_or_default().div_ceil(MICROSECOND)),
        format!("TimeoutStartSec={PATIENCE}s"),
        format!("TimeoutStopSec={PATIENCE}s"),
    ]);
    let lane = foreign_lane(exported.plan(), name).filter(|_| order.is_none());
    let cores = lane.map(|lane| &lane.cores).filter(|cores| !cores.is_empty()).unwrap_or(&process.cores);
    if !cores.is_empty() {
        let cores: Vec<String> = cores.iter().map(ToString::to_string).collect();
        lines.push(format!("CPUAffinity={}", cores.join(" ")));
    }
    let class = lane.map_or(SchedulingClass::Normal, |lane| lane.class);
    if class == SchedulingClass::Deadline {
        let what = format!("process {name}: systemd puts no program into the class {class}");
        return Err(refused(what, "write fifo or round-robin with a priority"));
    }
    if let Some(priority) = lane.and_then(|lane| lane.priority) {
        let policy = if class == SchedulingClass::RoundRobin { "rr" } else { "fifo" };
        lines.push(format!("CPUSchedulingPolicy={policy}"));
        lines.push(format!("CPUSchedulingPriority={priority}"));
    } else {
        lines.extend(normal(order.is_some()));
    }
    lines.extend(
        exported.priority(name).filter(|_| order.is_some()).map(|priority| format!("LimitRTPRIO={priority}")),
    );
    if exported.has_deadline(name) {
        // No limit permits the class deadline.
        lines.push("AmbientCapabilities=CAP_SYS_NICE".to_owned());
    }
    if process.locks_memory {
        lines.push("LimitMEMLOCK=infinity".to_owned());
    }
    lines.extend([
        "# Only what costs nothing at a system call: filters of system calls (RestrictNamespaces=, ProtectKernelModules= and others) would".to_owned(),
        "# exceed the costs that the plan states. PrivateNetwork= and PrivateTmp= would part processes that share memory or files.".to_owned(),
        "NoNewPrivileges=yes".to_owned(),
        "ProtectSystem=full".to_owned(),
        "ProtectControlGroups=yes".to_owned(),
    ]);
    match lines.iter().find(|line| line.len() >= LONGEST_LINE) {
        Some(line) => {
            let setting = line.split('=').next().unwrap_or_default();
            let what = format!(
                "process {name}: {setting}= has {} bytes, and systemd reads less than 1 MiB",
                line.len()
            );
            Err(refused(what, "shorten its arguments or environment"))
        }
        None => Ok(lines.join("\n") + "\n"),
    }
}

/// The scheduling of a process whose threads have no priority when it starts.
fn normal(has_lanes: bool) -> Vec<String> {
    let why = "# Lanes take their real-time priorities themselves; all other threads stay normal, as the proof assumes.";
    let class = "CPUSchedulingPolicy=other";
    if has_lanes { vec![why.to_owned(), class.to_owned()] } else { vec![class.to_owned()] }
}

/// A launch counts restarts, and systemd starts, of which the first is none.
fn start_limits(restart: &Restart) -> Vec<String> {
    let Some(limit) = restart.limit else { return vec!["StartLimitIntervalSec=0".to_owned()] };
    let within = restart.within.or(RESTART.within).unwrap_or_default().div_ceil(MICROSECOND);
    vec![format!("StartLimitIntervalSec={within}us"), format!("StartLimitBurst={}", limit.saturating_add(1))]
}

fn policy(policy: RestartPolicy) -> &'static str {
    match policy {
        RestartPolicy::Never => "no",
        RestartPolicy::OnFailure => "on-failure",
        RestartPolicy::Always => "always",
    }
}

/// The folder of this command, as processes of a launch have it: relative paths that they open mean the same.
fn working_directory() -> Result<String, Failure> {
    let folder = env::current_dir().map_err(|error| (FAILED, format!("the working directory: {error}")))?;
    let text = text_of(&folder)?;
    unit_value(&text).map_err(|error| refused(error, "export from another folder"))
}

/// A path as text that a unit can hold.
fn text_of(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().filter(|text| !text.contains(char::is_control));
    let what = format!("\"{}\" is no path for a unit of systemd", path.display().to_string().escape_debug());
    text.map(str::to_owned)
        .ok_or_else(|| refused(what, "use paths that are UTF-8 without control characters"))
}

/// systemd ignores, and only logs, a variable that it does not accept: the process would start without it.
fn check_variable(process: &str, variable: &str, value: &str) -> Result<(), Failure> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let has_name = variable.chars().all(is_name) && !variable.starts_with(|c: char| c.is_ascii_digit());
    let is_plain = !value.contains(|c: char| c.is_ascii_control() && c != '\n' && c != '\t');
    if has_name && !variable.is_empty() && is_plain {
        return Ok(());
    }
    let what = format!(
        "process {process}: systemd accepts no variable {}={}",
        variable.escape_debug(),
        value.escape_debug()
    );
    Err(refused(what, "name it by letters, digits and _, and leave control characters out of its value"))
}

fn unquotable(process: &str, error: Unquotable) -> Failure {
    refused(format!("process {process}: {error}"), "leave it out of arguments and environment")
}

fn checked_user(name: &str) -> Result<&str, Failure> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if begins && name.len() <= 31 && name.chars().all(is_plain) {
        return Ok(name);
    }
    let what = format!(
        "--user {}: this is no name of a user\n  a name has letters, digits, - and _",
        name.escape_debug()
    );
    Err((WRONG, what))
}
