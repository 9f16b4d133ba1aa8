//! The figures of the CIAO paper with a small volume, in processes and network namespaces (needs root): each curve has a value in each of
//! its cells, and what is the same on any machine holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use nix::unistd::Uid;
use serde_json::Value;

/// The smallest of what there is of each figure; all cells take some minutes.
const SOME: &str = "ciao-13-1k,ciao-14-1k-32,ciao-15-x-1k,ciao-16-x-1k-8,ciao-17-8,ciao-18-8,ciao-18-lossy-8";

/// The example of this package, which cargo has built with its tests.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(Path::parent).unwrap().join("examples/compare");
    assert!(
        path.is_file(),
        "{} is not there: cargo build --package punctual-compare --examples",
        path.display()
    );
    path
}

/// The curves of a figure.
fn curves(figure: u64) -> &'static [&'static str] {
    match figure {
        13 | 14 => &["floor", "channel", "ports", "ports-channel"],
        15 | 16 => &["floor", "dds", "ports-dds", "gateway", "ports-gateway"],
        17 => &["floor", "dds", "ports-dds", "dds-apart", "ports-dds-apart", "gateway", "ports-gateway"],
        _ => &["floor", "gateway-tcp", "ports-gateway-tcp", "gateway-group", "ports-gateway-group"],
    }
}

/// Processes of this test that are left; a variable marks them.
fn left(mark: &str) -> usize {
    let wanted = format!("PUNCTUAL_FIGURES_TEST={mark}").into_bytes();
    let has = |path: PathBuf| {
        std::fs::read(path.join("environ"))
            .is_ok_and(|all| all.split(|byte| *byte == 0).any(|one| one == wanted))
    };
    std::fs::read_dir("/proc").unwrap().flatten().filter(|entry| has(entry.path())).count()
}

#[test]
fn the_figures_of_the_ciao_paper_have_all_their_curves() {
    if !Uid::effective().is_root() {
        assert!(std::env::var_os("CI").is_none(), "the figures need root");
        eprintln!("passed over: network namespaces need root");
        return;
    }
    let cells = if tiers::current().number("compare.figures") > 2 { "ciao" } else { SOME };
    let mark = std::process::id().to_string();
    let mut command = Command::new(program());
    command.args(["perf", "compare", "--with", "none", "--passes", "1", "--json", "--cells", cells]);
    command.args(["--count", "200", "--duration", "100ms"]);
    command.env("PUNCTUAL_FIGURES_TEST", &mark).stdin(Stdio::null());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let entry = |cell: &Value, name: &str| {
        let entry = cell["entries"].as_array().unwrap().iter().find(|entry| entry["name"] == name);
        entry.unwrap_or(&Value::Null).clone()
    };
    let mut figures = BTreeSet::new();
    for cell in report["cells"].as_array().unwrap() {
        let (id, figure) = (cell["cell"].as_str().unwrap(), cell["figure"].as_u64().unwrap());
        figures.insert(figure);
        let is_lossy = id.contains("-lossy-");
        for name in curves(figure).iter().filter(|name| !is_lossy || **name != "floor") {
            let entry = entry(cell, name);
            if id.ends_with("-spin") && name.ends_with("gateway") {
                assert_eq!(entry["not_measured"], "threads of gateways sleep", "{id} {name}: {entry}");
                continue;
            }
            let has = |part: &str| entry[part]["median"].as_f64().is_some_and(|value| value > 0.0);
            // Bare datagrams repair nothing: where some are lost there is no floor.
            assert!(has("figure") && (has("ratio") || is_lossy), "{id} {name}: {entry}");
            // Whatever carries events of components loses none; bare datagrams may.
            assert!(*name == "floor" || entry["lost"] == 0, "{id} {name}: {entry}");
        }
        if id.starts_with("ciao-18-") && id.ends_with("-8") {
            // By a group the publisher's link carries each event once, by TCP once for each node; an event has 1 KiB.
            for (name, least, most) in [("gateway-group", 1.0, 2.0), ("gateway-tcp", 8.0, 16.0)] {
                // What TCP sends again for packets that are lost is the kernel's affair.
                if is_lossy && name == "gateway-tcp" {
                    continue;
                }
                for name in [name.to_owned(), format!("ports-{name}")] {
                    let times = entry(cell, &name)["link_bytes"].as_f64().unwrap() / 1_024.0;
                    assert!((least..most).contains(&times), "{name}: {times}");
                }
            }
        }
    }
    assert_eq!(figures.into_iter().collect::<Vec<_>>(), [13, 14, 15, 16, 17, 18]);
    let tao: Vec<_> =
        report["figures"].as_array().unwrap().iter().map(|figure| figure["tao"].clone()).collect();
    assert!(
        tao[0].as_str().unwrap().starts_with("1.05 us")
            && tao[4].as_str().unwrap().contains("319 thousand/s")
    );
    assert_eq!(left(&mark), 0, "drivers are left");
}
