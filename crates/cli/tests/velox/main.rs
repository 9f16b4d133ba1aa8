//! `punctual velox` as a process: one figure, in short, in a lab of domains. It needs root and the packages of labs; elsewhere it is passed over, but not
//! in continuous integration.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testkit::namespace::alone;
use testkit::patience::patiently;

/// Processes that name the folder of the run of this process, in their environment or on their command line: its managers, readers and writers.
fn of_run(run: u32) -> Vec<String> {
    let folder = format!("punctual-experiment-{run}/");
    let shown = |file: &std::path::Path| {
        String::from_utf8_lossy(&std::fs::read(file).unwrap_or_default()).replace('\0', " ")
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let ours = processes
        .filter(|of| ["environ", "cmdline"].iter().any(|file| shown(&of.join(file)).contains(&folder)));
    ours.map(|of| shown(&of.join("cmdline"))).filter(|command| !command.is_empty()).collect()
}

/// Kills a run once it has managers; they do not end with it.
fn killed(mut child: Child) -> u32 {
    patiently("a manager of the experiment", || {
        assert!(child.try_wait().unwrap().is_none(), "the run ended before it had a manager");
        of_run(child.id()).iter().any(|command| command.contains("rm serve")).then_some(())
    });
    child.kill().unwrap();
    child.wait().unwrap();
    child.id()
}

/// Times of real machines are not judged here, but by the command: a machine with other work may break bounds, and the command says so.
#[test]
fn the_experiment_runs_over_real_routers_and_leaves_nothing() {
    let Some(_turn) = lab_turn::turn() else { return };
    alone(|| {
        // A run that was killed leaves all it had; the next one removes that first.
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(["velox", "--short", "--figure", "21", "--html", "/dev/null"]);
        let before = killed(command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let file = |ending: &str| {
            std::env::temp_dir().join(format!("punctual-velox-{}.{ending}", std::process::id()))
        };
        let [page, numbers, samples] = ["html", "json", "csv"].map(file);
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(["velox", "--short", "--figure", "21", "--html"]).arg(&page);
        command.arg("--json").arg(&numbers).arg("--csv").arg(&samples);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let run = child.id();
        let output = child.wait_with_output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
        for run in [before, run] {
            assert_eq!(of_run(run), Vec::<String>::new(), "{shown}");
        }
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
            // How much of it arrived in time depends on the machine. What the command concludes has to agree with it.
            if flow["bound"].is_u64() {
                assert!(count("arrived") > 0, "{shown}");
                let missed = count("lost") + count("late");
                assert!(code == 1 || missed == 0, "{missed} samples missed, and no bound broken: {shown}");
                let gone = count("lost") + count("lost-in-stalls");
                assert_eq!(count("arrived") + gone, count("sent"), "{shown}");
            }
            arrived += count("arrived");
        }
        // The header, and each sample that came or did not.
        assert_eq!(samples.lines().count() as u64, 1 + sent, "{arrived} of {sent}: {shown}");
        // What the paper asks of 1 Mbit/s is refused for lack of room, and what has room before it is admitted.
        let refusals = figure["refusals"].as_array().unwrap();
        assert_eq!(refusals.len(), 4, "{shown}");
        let no_room = |refusal: &Value| matches!(refusal["reason"].as_str(), Some("rate" | "burst"));
        assert!(refusals.iter().all(no_room), "{shown}");
        let admitted = refusals.iter().map(|refusal| refusal["admitted"].as_u64().unwrap());
        assert_eq!(admitted.collect::<Vec<_>>(), [0, 1, 1, 0], "{shown}");
        // Rate and latency of each flow.
        assert_eq!(page.matches("role=\"img\"").count(), 8, "{shown}");
    });
    let left = lab::names().unwrap().into_iter().filter(|name| name.starts_with("velox-"));
    let alive =
        |name: &String| std::path::Path::new("/proc").join(name.trim_start_matches("velox-")).exists();
    assert_eq!(left.filter(|name| !alive(name)).count(), 0);
}
