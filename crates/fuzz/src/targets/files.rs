//! Files that people write: each is read, or refused with a place that exists.
use network::{FlowFile, Problem, check_models, check_network};

/// The examples that `plan` ships.
const NETWORKS: [&str; 5] = [
    include_str!("../../../plan/networks/table-two.toml"),
    include_str!("../../../plan/networks/table-two-meters.toml"),
    include_str!("../../../plan/networks/figure-four.toml"),
    include_str!("../../../plan/networks/hosts.toml"),
    include_str!("../../../plan/networks/losses.toml"),
];
/// What a flow file may say.
const FLOWS: &str = "[overhead]\nheartbeat = \"50 ms\"\nburst = 4\nseparation = \"20 ms\"\n\n[[topic]]\nname = \"rt/camera/*\"\nfrom = [\"camera\"]\n\
    to = [\"display\"]\nsize = 4_000\nfragment = 1344\nseparation = \"10 ms\"\nburst = 2\njitter = \"1 ms\"\nemission = \"500 us\"\nrepairs = 3\n\
    latency = \"20 ms\"\nimportance = 3\n\n[[topic]]\nname = \"?\"\nsize = 500\nseparation = \"deadline\"\nlatency = \"budget\"\nimportance = \"priority\"\n";
/// Hosts that it may name.
const HOSTS: [&str; 2] = ["camera", "display"];
const MODELS: &str = include_str!("../../../plan/networks/switches.xml");

/// Valid network files.
pub(super) fn networks() -> Vec<Vec<u8>> {
    NETWORKS.map(|text| text.as_bytes().to_vec()).into()
}

/// Valid files with models.
pub(super) fn models() -> Vec<Vec<u8>> {
    vec![MODELS.as_bytes().to_vec()]
}

/// Valid flow files.
pub(super) fn flows() -> Vec<Vec<u8>> {
    vec![FLOWS.as_bytes().to_vec()]
}

/// A network file, whose model file is always the same.
pub fn network_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    check(&text, check_network("file", &text, |_| Ok(MODELS.to_owned())));
}

/// A file with models of switches.
pub fn switch_models(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    check(&text, check_models("file", &text));
}

/// A flow file.
pub fn flow_file(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    check(&text, FlowFile::parse("file", &text, &HOSTS).map(drop));
}

fn check(text: &str, outcome: Result<(), Problem>) {
    let Err(problem) = outcome else { return };
    is_placed(text, &problem);
}

/// A problem has a text, and its place is in the file, if it is about this file.
pub(super) fn is_placed(text: &str, problem: &Problem) {
    assert!(!problem.what.is_empty(), "a problem says what is wrong");
    if let Some((line, column)) = problem.place.filter(|_| problem.file == "file") {
        let lines = text.split('\n').count();
        assert!((1..=lines).contains(&line), "line {line} of {lines}");
        let width = text.split('\n').nth(line - 1).map_or(0, |line| line.chars().count());
        assert!((1..=width + 1).contains(&column), "column {column} of {width} in line {line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_right() {
        for seed in NETWORKS {
            check_network("file", seed, |_| Ok(MODELS.to_owned())).unwrap();
        }
        check_models("file", MODELS).unwrap();
        assert_eq!(FlowFile::parse("file", FLOWS, &HOSTS).unwrap().topics.len(), 2);
    }
}
