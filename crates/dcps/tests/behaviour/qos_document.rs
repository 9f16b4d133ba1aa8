//! docs/qos.md names every policy and every status, and tests that there are.
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use dcps::status::StatusMask;

/// Policies that no announcement of an endpoint carries.
const AT_HOME: [&str; 3] = ["ENTITY_FACTORY", "WRITER_DATA_LIFECYCLE", "READER_DATA_LIFECYCLE"];

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)).unwrap()
}

/// The rows of the table below a heading, header and rule left out.
fn table<'a>(document: &'a str, heading: &str) -> Vec<Vec<&'a str>> {
    let (_, section) = document.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let lines = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    lines.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// The policies that `EndpointQos` names where it documents its fields.
fn announced_policies() -> BTreeSet<String> {
    let source = read("crates/wire/src/qos.rs");
    let (_, fields) = source.split_once("pub struct EndpointQos {").unwrap();
    let fields = fields.split("\n}").next().unwrap();
    let names = fields.lines().filter_map(|line| line.trim().strip_prefix("/// "));
    let name =
        |line: &str| line.split(|c: char| !c.is_ascii_uppercase() && c != '_').next().unwrap().to_owned();
    let names: BTreeSet<_> = names.map(name).collect();
    let count = fields.lines().filter(|line| line.trim().starts_with("pub ")).count();
    assert_eq!((names.len(), names.contains("")), (count, false), "one policy for each field: {names:?}");
    names
}

/// The statuses that `StatusMask` has a bit for.
fn statuses() -> BTreeSet<String> {
    let source = read("crates/dcps/src/status.rs");
    let names = source.lines().filter_map(|line| line.trim().strip_prefix("pub const "));
    let names = names.filter_map(|line| line.strip_suffix(");")?.split_once(": Self = Self(1"));
    names.map(|(name, _)| name.to_owned()).collect()
}

/// Those of the standard.
fn standard_statuses() -> BTreeSet<String> {
    statuses().into_iter().filter(|name| !OWN.contains(&name.as_str())).collect()
}

/// Statuses that are none of the standard.
const OWN: [&str; 3] = ["ASSURANCE_CHANGED", "BOUND_EXCEEDED", SESSION];
/// Of these the one of sessions over domains.
const SESSION: &str = "SESSION_CHANGED";

#[test]
fn assurance_has_rows_and_tests_of_its_own() {
    let all = statuses();
    assert!(OWN.iter().all(|own| all.contains(*own)));
    let document = read("docs/qos.md");
    let rows = table(&document, "Assurance");
    let own = OWN.iter().filter(|name| **name != SESSION);
    for name in own.chain(&["ASSURANCE of a writer", "ASSURANCE of a reader"]) {
        assert!(rows.iter().any(|row| row[0] == *name), "no row of {name}");
    }
    let tests = table(&document, "Tests of assurance");
    assert!(!tests.is_empty());
    for row in tests {
        let [_, file, test] = row.as_slice() else { panic!("{row:?}") };
        let source = read(&format!("crates/dds/tests/assurance/{file}.rs"));
        assert!(source.contains(&format!("#[test]\nfn {test}()")), "no test {test} in {file}.rs");
    }
}

#[test]
fn sessions_have_a_row_and_tests_of_their_own() {
    let document = read("docs/qos.md");
    assert!(table(&document, "Sessions over domains").iter().any(|row| row[0] == SESSION));
    let tests = table(&document, "Tests of sessions over domains");
    assert!(!tests.is_empty());
    let source = read("crates/dds/tests/behaviour/sessions.rs");
    for row in tests {
        let [_, test] = row.as_slice() else { panic!("{row:?}") };
        assert!(source.contains(&format!("#[test]\nfn {test}()")), "no test {test} in sessions.rs");
    }
}

#[test]
fn every_policy_has_one_row_and_a_test() {
    let document = read("docs/qos.md");
    let mut policies = announced_policies();
    policies.extend(AT_HOME.map(str::to_owned));
    assert_eq!(policies.len(), 24, "22 of DDS 1.4 and two of XTypes");
    let rows = table(&document, "Policies");
    assert!(rows.iter().all(|row| row.len() == 8), "a row without all columns");
    assert!(rows.iter().flatten().all(|cell| !cell.is_empty()));
    let named: Vec<_> = rows.iter().map(|row| row[0].to_owned()).collect();
    assert_eq!(named.len(), policies.len());
    assert_eq!(named.into_iter().collect::<BTreeSet<_>>(), policies);
    let tests = table(&document, "Tests");
    let tested: BTreeSet<_> = tests.iter().map(|row| row[0].to_owned()).collect();
    assert_eq!(tested, policies);
}

#[test]
fn every_status_has_a_row() {
    let mut statuses = standard_statuses();
    assert!(statuses.contains("SAMPLE_LOST") && statuses.len() == 13, "{statuses:?}");
    // The one that machines of single readers do not have is explained below the table.
    assert!(statuses.remove("DATA_ON_READERS") && StatusMask::DATA_ON_READERS != StatusMask::NONE);
    let document = read("docs/qos.md");
    assert!(document.contains("\nDATA_ON_READERS "));
    let named: BTreeSet<_> = table(&document, "Statuses").iter().map(|row| row[0].to_owned()).collect();
    assert_eq!(named, statuses);
}

#[test]
fn every_policy_and_status_is_tested_through_the_public_api() {
    let document = read("docs/qos.md");
    let mut expected = announced_policies();
    expected.extend(AT_HOME.map(str::to_owned));
    expected.extend(standard_statuses());
    let rows = table(&document, "Tests through the public API");
    assert_eq!(rows.iter().map(|row| row[0].to_owned()).collect::<BTreeSet<_>>(), expected);
}

#[test]
fn the_tests_that_are_named_exist() {
    let document = read("docs/qos.md");
    let mut rows = table(&document, "Tests");
    rows.extend(table(&document, "Statuses"));
    let machines = rows.iter().map(|row| ("crates/dcps/tests/behaviour", row));
    let composed = table(&document, "Tests through the public API");
    for (folder, row) in machines.chain(composed.iter().map(|row| ("crates/dds/tests/behaviour", row))) {
        let [.., file, test] = row.as_slice() else { panic!("{row:?}") };
        let source = read(&format!("{folder}/{file}.rs"));
        assert!(source.contains(&format!("#[test]\nfn {test}()")), "no test {test} in {folder}/{file}.rs");
    }
}
