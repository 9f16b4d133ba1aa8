//! Manifests of Kubernetes: the plan as a ConfigMap, and a StatefulSet or Job for each process.
use std::collections::BTreeSet;
use std::path::{Component, Path};

use assembly::{Process, RestartPolicy, SchedulingClass};
use deployment::{foreign_lane, pod_text};
use serde_json::{Value, json};

use super::{Export, ExportArguments, Exported, Made, names, notes, refused};
use crate::command::{FAILED, Failure, WRONG};

/// Where the image has programs whose location is a relative path.
const PROGRAMS: &str = "/usr/local/bin";
/// What is requested for a process unless the command line says otherwise.
const CPU: &str = "100m";
const MEMORY: &str = "64Mi";
/// Bytes of the data of a ConfigMap at most.
const LONGEST_PLAN: usize = 1 << 20;
/// Where containers have the plan.
const PLAN_FOLDER: &str = "/etc/punctual";
const PLAN_FILE: &str = "plan.toml";
/// Seconds that a process may take to end its components.
const PATIENCE: u32 = 30;
/// The label of a node that stands for a host of plans.
const HOST: &str = "punctual-host";
/// Labels of what is exported.
const DEPLOYMENT: &str = "punctual-deployment";
const PROCESS: &str = "punctual-process";

/// What is the same for all pods.
struct Pods<'a> {
    exported: &'a Exported<'a>,
    image: &'a str,
    programs: &'a str,
    cpu: &'a str,
    memory: &'a str,
    /// The name of the ConfigMap.
    plan: String,
    /// Whether containers run as root. Kubernetes gives capabilities to root alone; and processes share memory only if they are of one user.
    is_root: bool,
}

/// One file with all manifests.
pub(super) fn export(exported: &Exported<'_>, arguments: &ExportArguments) -> Result<Export, Failure> {
    let notes = notes::kubernetes(exported);
    let deployment = names::label(&[&exported.deployment]);
    let pods = Pods {
        exported,
        image: checked_image(arguments.image.as_deref().unwrap_or_default())?,
        programs: checked_folder(arguments.programs.as_deref().unwrap_or(PROGRAMS))?,
        cpu: checked_quantity("--cpu", arguments.cpu.as_deref().unwrap_or(CPU))?,
        memory: checked_quantity("--memory", arguments.memory.as_deref().unwrap_or(MEMORY))?,
        plan: format!("{deployment}-plan-{}", exported.version),
        is_root: exported.processes.iter().any(|name| !capabilities(exported, name).is_empty()),
    };
    let mut manifests = vec![config_map(&pods, &deployment)?, service(&deployment)];
    let mut hosts = BTreeSet::new();
    let mut taken = BTreeSet::new();
    for process in &exported.processes {
        let name = names::label(&[&exported.deployment, process]);
        if !taken.insert(name.clone()) {
            return Err(refused(
                format!("process {process}: its name in Kubernetes, {name}, belongs to another one"),
                "rename it",
            ));
        }
        manifests.push(workload(&pods, &deployment, &name, process)?);
        hosts.extend(exported.plan().layout().host_of(process));
    }
    let mut text = notes::comment(exported, &notes);
    for manifest in &manifests {
        let yaml =
            serde_saphyr::to_string(manifest).map_err(|error| (FAILED, format!("a manifest: {error}")))?;
        text += "---\n";
        text += &yaml;
    }
    let file = Made { name: format!("punctual-{}.yaml", exported.deployment), text };
    let next = next(&hosts, &file.name)?;
    Ok((vec![file], notes, next))
}

/// What is to be done with the file: hosts of the plan become nodes by labels, and two hosts never share one.
fn next(hosts: &BTreeSet<&str>, file: &str) -> Result<String, Failure> {
    let values: BTreeSet<String> = hosts.iter().map(|host| names::value(host)).collect();
    if values.len() < hosts.len() {
        return Err(refused("two hosts of the plan have one label in Kubernetes", "rename one of them"));
    }
    let labels: String =
        values.iter().map(|value| format!("kubectl label node NODE {HOST}={value}; ")).collect();
    Ok(format!("{labels}kubectl apply -f {file}"))
}

/// The plan. Its name has the hash of its content, and it never changes: a pod that is started again has the plan that its process had.
fn config_map(pods: &Pods<'_>, deployment: &str) -> Result<Value, Failure> {
    let text = &pods.exported.text;
    if text.len() > LONGEST_PLAN - PLAN_FILE.len() {
        let what = format!("the plan has {} bytes, and a ConfigMap has at most 1 MiB", text.len());
        return Err(refused(what, "split the plan"));
    }
    Ok(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": pods.plan, "labels": { DEPLOYMENT: deployment } },
        "immutable": true,
        "data": { PLAN_FILE: text },
    }))
}

/// A StatefulSet names a headless Service.
fn service(deployment: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": { "name": service_name(deployment), "labels": { DEPLOYMENT: deployment } },
        "spec": { "clusterIP": "None", "selector": { DEPLOYMENT: deployment } },
    })
}

/// Names of Services begin with a letter.
fn service_name(deployment: &str) -> String {
    format!("punctual-{deployment}")
}

/// A StatefulSet has one pod at most, also when a node does not answer, where a Deployment would start a second one: two processes of one
/// name would publish twice. A Job is not started again.
fn workload(pods: &Pods<'_>, deployment: &str, name: &str, process: &str) -> Result<Value, Failure> {
    let is_job = pods.exported.restart_policy(process) == RestartPolicy::Never;
    let labels = json!({ DEPLOYMENT: deployment, PROCESS: name });
    let template = json!({
        "metadata": { "labels": labels },
        "spec": pod(pods, process, if is_job { "Never" } else { "Always" })?,
    });
    let metadata = json!({ "name": name, "labels": labels });
    Ok(if is_job {
        json!({
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": metadata,
            "spec": { "backoffLimit": 0, "template": template },
        })
    } else {
        json!({
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": metadata,
            "spec": {
                "replicas": 1,
                "serviceName": service_name(deployment),
                "selector": { "matchLabels": labels },
                "template": template,
            },
        })
    })
}

fn pod(pods: &Pods<'_>, name: &str, restart: &str) -> Result<Value, Failure> {
    let exported = pods.exported;
    let process = exported.plan().processes.get(name).cloned().unwrap_or_default();
    let order = exported.order(name, &format!("{PLAN_FOLDER}/{PLAN_FILE}"));
    let lane = foreign_lane(exported.plan(), name).filter(|_| order.is_none());
    let cores = lane.map(|lane| &lane.cores).filter(|cores| !cores.is_empty()).unwrap_or(&process.cores);
    if order.is_none()
        && (lane.is_some_and(|lane| lane.class != SchedulingClass::Normal) || !cores.is_empty())
    {
        let what = format!("process {name}: Kubernetes gives a foreign program neither a priority nor cores");
        return Err(refused(what, "take its lane and cores out, or export for systemd"));
    }
    let arguments = order.iter().chain(&process.arguments);
    let mut security = json!({
        "allowPrivilegeEscalation": false,
        "capabilities": { "drop": ["ALL"], "add": capabilities(exported, name) },
    });
    if pods.is_root {
        security["runAsUser"] = 0.into();
    }
    if !exported.plan().chains.is_empty() {
        // A filter of system calls costs time at each of them, which the costs of the plan do not have.
        security["seccompProfile"] = json!({ "type": "Unconfined" });
    }
    let container = json!({
        "name": "component-server",
        "image": pods.image,
        "command": [pod_text(&program(pods, &process, name)?)],
        "args": arguments.map(|argument| checked(name, argument)).collect::<Result<Vec<_>, _>>()?,
        "env": environment(&process, name)?,
        // There are no limits: a limit of processor time stops threads that the proof takes for running.
        "resources": { "requests": { "cpu": pods.cpu, "memory": pods.memory } },
        "securityContext": security,
        "volumeMounts": [{ "name": "plan", "mountPath": PLAN_FOLDER, "readOnly": true }],
    });
    let mut spec = json!({
        "automountServiceAccountToken": false,
        "containers": [container],
        "dnsPolicy": "ClusterFirstWithHostNet",
        "enableServiceLinks": false,
        // Discovery is by multicast, and processes that share memory meet in one network namespace.
        "hostNetwork": true,
        "restartPolicy": restart,
        "terminationGracePeriodSeconds": PATIENCE,
        "volumes": [{ "name": "plan", "configMap": { "name": pods.plan } }],
    });
    if let Some(host) = exported.plan().layout().host_of(name) {
        spec["nodeSelector"] = json!({ HOST: names::value(host) });
    }
    Ok(spec)
}

/// What the threads of a process need that others may not do.
fn capabilities(exported: &Exported<'_>, process: &str) -> Vec<&'static str> {
    let is_real_time = exported.priority(process).is_some() || exported.has_deadline(process);
    let priority = is_real_time.then_some("SYS_NICE");
    let memory = exported.locks_memory(process).then_some("IPC_LOCK");
    priority.into_iter().chain(memory).collect()
}

/// The path of a program in the image: an absolute location of the plan, or the file name of a relative one in the folder of programs.
fn program(pods: &Pods<'_>, process: &Process, name: &str) -> Result<String, Failure> {
    let plan = pods.exported.plan();
    let artefact = process.artefact.as_ref().and_then(|name| plan.artefacts.get(name));
    let local = artefact.into_iter().flat_map(|artefact| &artefact.location);
    let path = local.filter(|location| !location.contains("://")).map(Path::new).next();
    let file = path.and_then(|path| match path.components().next_back() {
        Some(Component::Normal(file)) => file.to_str(),
        _ => None,
    });
    let Some((path, file)) = path.zip(file) else {
        return Err(refused(
            format!("process {name}: the location of its program names no file"),
            "give its artefact the path that it has in the image",
        ));
    };
    if path.is_absolute() {
        return Ok(path.display().to_string());
    }
    let others = plan.artefacts.iter().filter(|(other, _)| Some(*other) != process.artefact.as_ref());
    let others = others.flat_map(|(_, artefact)| &artefact.location).map(Path::new);
    let twin =
        others.filter(|other| other.is_relative() && *other != path).find(|other| other.ends_with(file));
    if let Some(twin) = twin {
        return Err(refused(
            format!(
                "process {name}: {} and {} would be one file of the image",
                path.display(),
                twin.display()
            ),
            "give both the absolute paths that they have in the image",
        ));
    }
    Ok(format!("{}/{file}", pods.programs.trim_end_matches('/')))
}

fn environment(process: &Process, name: &str) -> Result<Vec<Value>, Failure> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let variables = process.environment.iter().map(|(variable, value)| {
        let digit = variable.starts_with(|c: char| c.is_ascii_digit());
        if variable.is_empty() || digit || !variable.chars().all(is_name) {
            return Err(refused(
                format!("process {name}: Kubernetes accepts no variable {}", variable.escape_debug()),
                "name it by letters, digits, -, _ and .",
            ));
        }
        Ok(json!({ "name": variable, "value": checked(name, value)? }))
    });
    variables.collect()
}

/// A text of a container as Kubernetes takes it. No process can have a NUL character in its arguments or environment.
fn checked(process: &str, text: &str) -> Result<String, Failure> {
    if text.contains('\0') {
        let what = format!("process {process}: {} has a NUL character", text.escape_debug());
        return Err(refused(what, "leave it out of arguments and environment"));
    }
    Ok(pod_text(text))
}

fn checked_image(image: &str) -> Result<&str, Failure> {
    if image.is_empty() || image.contains(|c: char| !c.is_ascii_graphic()) {
        return Err((WRONG, format!("--image {}: this is no name of an image", image.escape_debug())));
    }
    Ok(image)
}

fn checked_folder(folder: &str) -> Result<&str, Failure> {
    if !folder.starts_with('/') || folder.contains(char::is_control) {
        let what =
            format!("--programs {}: name a folder of the image by its absolute path", folder.escape_debug());
        return Err((WRONG, what));
    }
    Ok(folder)
}

/// A quantity of Kubernetes: a number, which may have a fraction, and a unit.
fn checked_quantity<'a>(option: &str, text: &'a str) -> Result<&'a str, Failure> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = text.get(number.len()..).unwrap_or_default();
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    let units = ["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"];
    if are_digits(whole) && are_digits(fraction) && units.contains(&unit) {
        return Ok(text);
    }
    Err((
        WRONG,
        format!("{option} {}: a quantity is a number and a unit, as 250m or 64Mi", text.escape_debug()),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_a_number_and_a_unit() {
        for right in ["1", "250m", "0.5", "64Mi", "1.5Gi"] {
            assert!(checked_quantity("--cpu", right).is_ok(), "{right}");
        }
        for wrong in ["", "m", "1.", ".5", "1x", "-1", "1 Mi", "1e9", "1Mi\n"] {
            assert!(checked_quantity("--cpu", wrong).is_err(), "{wrong:?}");
        }
    }
}
