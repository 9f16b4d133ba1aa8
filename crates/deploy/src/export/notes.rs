//! What an export does not keep of a plan, in words.
use deployment::is_foreign;

use super::Exported;
use super::folder::MARK;

/// What neither manager keeps.
fn common(exported: &Exported<'_>) -> Vec<String> {
    let mut notes = vec![
        "Changes of the plan are not atomic: there are no epochs. Processes with the old and the new plan may run at the same time while a \
         change is under way."
            .to_owned(),
        "A process that cannot do its part does not take the others back: each starts by itself.".to_owned(),
        "punctual deploy status, apply and stop do not know these processes.".to_owned(),
    ];
    let plan = exported.plan();
    let has_limits = !plan.chains.is_empty() || plan.connections.values().any(|it| it.latency.is_some());
    notes.push(match (has_limits, exported.unproved) {
        (false, _) => "The plan has no chains: nothing is proved of its latency.".to_owned(),
        (true, true) => "The limits of chains and connections are not proved: the plan was exported with --unproved.".to_owned(),
        (true, false) => "The limits of chains and connections were proved when the plan was exported, for the costs that it states of its hosts, without what \
                          else runs there. A process ends with an error if its threads do not get their priorities and cores."
            .to_owned(),
    });
    notes
}

pub(super) fn systemd(exported: &Exported<'_>) -> Vec<String> {
    let mut notes = common(exported);
    notes.push(
        "The delay before a restart stays the same. The number of starts is limited in consecutive intervals, not in any interval.".to_owned(),
    );
    if exported.processes.iter().any(|name| is_foreign(exported.plan(), name)) {
        notes.push("A foreign program counts as begun as soon as it is executed.".to_owned());
    }
    notes.push("The digests of programs were compared when the plan was exported, and are not compared when they start.".to_owned());
    notes
}

pub(super) fn kubernetes(exported: &Exported<'_>) -> Vec<String> {
    let mut notes = common(exported);
    let plan = exported.plan();
    notes.push(
        "Processes start in any order: what a component publishes before its consumers work is lost."
            .to_owned(),
    );
    notes.push(
        "Kubernetes chooses the delay before a restart, and restarts without a limit; a process whose policy is never is a Job.".to_owned(),
    );
    notes.push("The digests of programs are not compared: name the image by its digest.".to_owned());
    if !plan.chains.is_empty() {
        notes.push(
            "A node with the label of a host has to be that host: the costs that the plan states have to hold on it, and no other pod may \
             have real-time threads on its cores."
                .to_owned(),
        );
    }
    let has_order = exported.processes.iter().any(|name| !plan.dependencies(name).is_empty());
    if has_order || !plan.depends_on.is_empty() {
        notes.push(
            "depends-on is not kept: a process may begin before those that it depends on, and before \
             other plans run."
                .to_owned(),
        );
    }
    let has_cores = exported.processes.iter().any(|name| has_cores(exported, name));
    if has_cores {
        notes.push(
            "Cores are those of the node only while the kubelet's CPU manager has the policy none: the policy static chooses cores itself."
                .to_owned(),
        );
    }
    notes
}

/// Whether the plan says on which cores a process, or a lane of it, is.
fn has_cores(exported: &Exported<'_>, name: &str) -> bool {
    let plan = exported.plan();
    let process = plan.processes.get(name).is_some_and(|process| !process.cores.is_empty());
    let mut lanes = plan.containers.values().filter(|container| container.process == name);
    process || lanes.any(|container| container.lanes.values().any(|lane| !lane.cores.is_empty()))
}

/// The comment at the beginning of a file: which plan it is of, and what it does not keep.
pub(super) fn comment(exported: &Exported<'_>, notes: &[String]) -> String {
    let mut text = format!(
        "{MARK}, of the deployment {} with the plan {}. Export again to change it.\n",
        exported.deployment, exported.version
    );
    if !notes.is_empty() {
        text += "# Not kept of the plan:\n";
    }
    for note in notes {
        text += &format!("# - {note}\n");
    }
    text
}
