//! `punctual velox` as a process: one figure, in short, in a lab of domains. It needs root and the packages of labs; elsewhere it is passed over, but not
//! in continuous integration.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::Command;

use serde_json::Value;
use testkit::namespace::alone;

/// Times of real machines are not judged here, but by the command: a machine with other work may break bounds, and the command says so.
#[test]
fn the_experiment_runs_over_real_routers_and_leaves_nothing() {
    let Some(_turn) = lab_turn::turn() else { return };
    alone(|| {
        let file = |ending: &str| {
            std::env::temp_dir().join(format!("punctual-velox-{}.{ending}", std::process::id()))
        };
        let [page, numbers, samples] = ["html", "json", "csv"].map(file);
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(["velox", "--short", "--figure", "21", "--html"]).arg(&page);
        command.arg("--json").arg(&numbers).arg("--csv").arg(&samples);
        let output = command.output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
        let [page, numbers, samples] = [page, numbers, samples].map(|path| {
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{error}: {shown}"));
            std::fs::remove_file(&path).unwrap();
            text
        });
        let said = ["Every bound was kept", "A BOUND WAS BROKEN", "VOID"].map(|word| shown.contains(word));
        let code = output.status.code().unwrap();
        assert_eq!(said, [code == 0, code == 1, code == 3], "{shown}");
        let json: Value = serde_json::from_str(&numbers).unwrap();
        let figure = &json["figures"][0];
        let flows = figure["flows"].as_array().unwrap();
        assert_eq!(flows.len(), 4, "{shown}");
        let (mut sent, mut arrived) = (0, 0);
        for flow in flows {
            let count = |key: &str| -> u64 {
                flow["spans"].as_array().unwrap().iter().map(|span| span[key].as_u64().unwrap()).sum()
            };
            sent += count("sent");
            match flow["bound"].as_u64() {
                // What the managers say depends on nothing that this machine does: one flow of 1 Mbit/s, a frame that is on the link, and control.
                Some(bound) => assert!((20_000_000..40_000_000).contains(&bound), "{bound}"),
                None => assert!(flow["case"].as_str().unwrap().starts_with("default"), "{shown}"),
            }
            if flow["bound"].is_u64() {
                assert!(count("arrived") * 5 > count("sent") * 4, "{shown}");
            }
            arrived += count("arrived");
        }
        // The header, and each sample that came or did not.
        assert_eq!(samples.lines().count() as u64, 1 + sent, "{arrived} of {sent}: {shown}");
        // What the paper asks of 1 Mbit/s is refused, and by whom.
        let refusals = figure["refusals"].as_array().unwrap();
        assert_eq!(refusals.len(), 4, "{shown}");
        assert!(
            refusals.iter().all(|refusal| refusal["answer"].as_str().unwrap().contains("AS 6500")),
            "{shown}"
        );
        // Rate and latency of each flow.
        assert_eq!(page.matches("role=\"img\"").count(), 8, "{shown}");
    });
    let left = lab::names().unwrap().into_iter().filter(|name| name.starts_with("velox-"));
    let alive =
        |name: &String| std::path::Path::new("/proc").join(name.trim_start_matches("velox-")).exists();
    assert_eq!(left.filter(|name| !alive(name)).count(), 0);
}
