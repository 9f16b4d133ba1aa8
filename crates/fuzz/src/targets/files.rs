//! Files that people write: each is read, or refused with a place that exists.
use network::{Problem, check_models, check_network};

/// The examples that `plan` ships.
const NETWORKS: [&str; 5] = [
    include_str!("../../../plan/networks/table-two.toml"),
    include_str!("../../../plan/networks/table-two-meters.toml"),
    include_str!("../../../plan/networks/figure-four.toml"),
    include_str!("../../../plan/networks/hosts.toml"),
    include_str!("../../../plan/networks/losses.toml"),
];
const MODELS: &str = include_str!("../../../plan/networks/switches.xml");

/// Valid network files.
pub(super) fn networks() -> Vec<Vec<u8>> {
    NETWORKS.map(|text| text.as_bytes().to_vec()).into()
}

/// Valid files with models.
pub(super) fn models() -> Vec<Vec<u8>> {
    vec![MODELS.as_bytes().to_vec()]
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

fn check(text: &str, outcome: Result<(), Problem>) {
    let Err(problem) = outcome else { return };
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
    }
}
