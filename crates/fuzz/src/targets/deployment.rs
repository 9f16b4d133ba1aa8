//! Deployment plans, manifests and descriptors: each is read, or refused with a place that exists; what is read can be worked with.
use assembly::{
    Catalogue, Descriptors, ImportedPrograms, LaunchFile, Manifest, Plan, Version, import, import_dataflow,
    import_launch, steps,
};
use diagnostics::Source;

use super::files::is_placed;

const PLAN: &str = include_str!("../../../assembly/plans/tracker.toml");
const TYPES: &str = include_str!("../../../assembly/plans/tracker.json");
/// Deployment plans, events descriptors and a domain.
const DESCRIPTORS: [&str; 8] = [
    include_str!("../../../assembly/descriptors/plain.cdp"),
    include_str!("../../../assembly/descriptors/simple.cdp"),
    include_str!("../../../assembly/descriptors/filters.cdp"),
    include_str!("../../../assembly/descriptors/mcast.cdp"),
    include_str!("../../../assembly/descriptors/simple.ced"),
    include_str!("../../../assembly/descriptors/filters.ced"),
    include_str!("../../../assembly/descriptors/mcast.ced"),
    include_str!("../../../assembly/descriptors/two-nodes.cdd"),
];

/// Valid plans.
pub(super) fn plans() -> Vec<Vec<u8>> {
    vec![PLAN.as_bytes().to_vec()]
}

/// Valid manifests.
pub(super) fn manifests() -> Vec<Vec<u8>> {
    vec![TYPES.as_bytes().to_vec()]
}

/// Dataflows of dora.
pub(super) fn dataflows() -> Vec<Vec<u8>> {
    [include_str!("../../../assembly/programs/line.yml")].map(Vec::from).into()
}

/// Launch files of ROS 2.
pub(super) fn launch_files() -> Vec<Vec<u8>> {
    let files = [
        include_str!("../../../assembly/programs/arm.launch.xml"),
        include_str!("../../../assembly/programs/second.launch.xml"),
    ];
    files.map(Vec::from).into()
}

/// Valid descriptors.
pub(super) fn descriptors() -> Vec<Vec<u8>> {
    DESCRIPTORS.map(|text| text.as_bytes().to_vec()).into()
}

fn types() -> Catalogue {
    let manifest = Manifest::read(Source { file: "types", text: TYPES }).unwrap_or_default();
    Catalogue::of([("types".to_owned(), manifest)]).unwrap_or_default()
}

/// A plan, which becomes all that can be made of it.
pub fn deployment_plan(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let source = Source { file: "file", text: &text };
    let (plan, places) = match Plan::read(source) {
        Ok(read) => read,
        Err(problems) => return problems.iter().for_each(|problem| is_placed(&text, problem)),
    };
    let types = types();
    for problem in plan.check(source, &places, &types).iter().chain(&plan.notes(source, &places, &types)) {
        is_placed(&text, problem);
        assert!(!source.show(problem).is_empty());
    }
    let links = plan.explain(&types, None).len();
    assert!(
        plan.graph(&types).edges.len()
            <= 2 * links + plan.services.values().map(|it| it.peers.len()).sum::<usize>()
    );
    assert_eq!(plan.order(&types).len(), plan.components.len());
    plan.split(&types);
    let nothing = Plan::default();
    steps(Version::new(&nothing, &types), Version::new(&plan, &types));
    let written = plan.to_toml();
    let again = Plan::read(Source { file: "again", text: &written }).map(|(plan, _)| plan);
    // The written text may be longer than the limit of texts that are read.
    assert!(written.len() > 1 << 20 || again.is_ok_and(|again| again == plan), "{written}");
}

/// A manifest.
pub fn type_manifest(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match Manifest::read(Source { file: "file", text: &text }) {
        Err(problems) => problems.iter().for_each(|problem| is_placed(&text, problem)),
        Ok(manifest) => {
            let types = Catalogue::of([("file".to_owned(), manifest)]).unwrap_or_default();
            if let Ok((plan, places)) = Plan::read(Source { file: "plan", text: PLAN }) {
                for problem in plan.check(Source { file: "plan", text: PLAN }, &places, &types) {
                    is_placed(PLAN, &problem);
                }
            }
        }
    }
}

/// A descriptor, as each of the kinds that there are.
pub fn deployment_descriptor(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let file = Source { file: "file", text: &text };
    let [_, simple, _, multicast, events, ..] = DESCRIPTORS;
    let (simple, multicast, events) = (
        Source { file: "simple", text: simple },
        Source { file: "multicast", text: multicast },
        Source { file: "events", text: events },
    );
    for descriptors in [
        Descriptors { plan: file, domain: None, events: &[events] },
        Descriptors { plan: simple, domain: Some(file), events: &[] },
        Descriptors { plan: multicast, domain: None, events: &[file] },
    ] {
        match import(&descriptors) {
            Err(problems) => problems.iter().for_each(|problem| is_placed(&text, problem)),
            Ok(imported) => {
                imported.left_out.iter().for_each(|problem| is_placed(&text, problem));
                let written = imported.plan.to_toml();
                let again = Plan::read(Source { file: "again", text: &written }).map(|(plan, _)| plan);
                assert!(
                    written.len() > 1 << 20 || again.is_ok_and(|again| again == imported.plan),
                    "{written}"
                );
            }
        }
    }
}

/// A dataflow of dora.
pub fn dataflow(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    match import_dataflow(Source { file: "file", text: &text }) {
        Err(problems) => problems.iter().for_each(|problem| is_placed(&text, problem)),
        Ok(imported) => are_programs(&text, &imported),
    }
}

/// A launch file of ROS 2, which may include itself once.
pub fn launch_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let left = std::cell::Cell::new(2);
    let include = |_: &str| match left.replace(left.get() - 1) {
        1.. => Ok(("file".to_owned(), text.clone().into_owned())),
        _ => {
            left.set(0);
            Err("there is none".to_owned())
        }
    };
    let arguments = [("side".to_owned(), "left".to_owned())];
    let source = Source { file: "file", text: &text };
    match import_launch(&LaunchFile { source, arguments: &arguments, prefix: None, include: &include }) {
        Err(problems) => problems.iter().for_each(|problem| is_placed(&text, problem)),
        Ok(imported) => are_programs(&text, &imported),
    }
}

/// What was made of programs can be read again, and makes sense.
fn are_programs(text: &str, imported: &ImportedPrograms) {
    imported.left_out.iter().for_each(|problem| is_placed(text, problem));
    let manifest = imported.types.json();
    let types = Manifest::read(Source { file: "types", text: &manifest });
    assert_eq!(types.as_ref(), Ok(&imported.types), "{manifest}");
    let written = imported.plan.to_toml();
    if written.len() > 1 << 20 {
        return;
    }
    let source = Source { file: "again", text: &written };
    let (again, places) = Plan::read(source).unwrap_or_default();
    assert_eq!(again, imported.plan, "{written}");
    let types = Catalogue::of([("types".to_owned(), imported.types.clone())]).unwrap_or_default();
    assert_eq!(again.check(source, &places, &types), [], "{written}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_right() {
        let source = Source { file: "file", text: PLAN };
        let (plan, places) = Plan::read(source).unwrap();
        assert!(plan.check(source, &places, &types()).is_empty());
        for plan in [0, 1, 2, 3].map(|number| DESCRIPTORS[number]) {
            let plan = Source { file: "file", text: plan };
            assert!(import(&Descriptors { plan, domain: None, events: &[] }).is_ok());
        }
    }
}
