//! `punctual midas` as a process: simulated, and in short on a real network. The latter needs root and the packages of labs; elsewhere it is
//! passed over, but not in continuous integration.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::process::Command;

/// What a run said: exit code, text, page.
struct Run {
    code: i32,
    text: String,
    page: String,
}

fn run(name: &str, options: &[&str]) -> Run {
    let page: PathBuf = std::env::temp_dir().join(format!("punctual-{name}-{}.html", std::process::id()));
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
    let output = command.arg("midas").args(options).arg("--html").arg(&page).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let shown = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
    let page_text = std::fs::read_to_string(&page).unwrap_or_else(|error| panic!("{error}: {shown}"));
    std::fs::remove_file(&page).unwrap();
    Run { code: output.status.code().unwrap(), text, page: page_text }
}

impl Run {
    /// The numbers of a topic in a phase, as in the head of its table; numbers told apart are left out. A phase that said nothing is played
    /// again; this is the last one of the title.
    fn row(&self, phase: &str, topic: &str) -> Vec<f64> {
        let (_, last) = self.text.rsplit_once(&format!(". {phase} (")).unwrap();
        let row =
            last.lines().map(str::trim_start).find(|line| line.starts_with(&format!("{topic} "))).unwrap();
        let cells = row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).skip(1);
        cells.map(|cell| cell.split(' ').next().unwrap().parse().unwrap_or(f64::NAN)).collect()
    }
}

const BEST_EFFORT: &str = "Best effort";
const BABBLE: &str = "Best effort, video and ECG babble";
const MANAGED: &str = "Managed";
const HELD: &str = "Managed, video and ECG babble";

const ASKED: usize = 0;
const PROMISED: usize = 1;
const WORST: usize = 2;
const SENT: usize = 3;
const P50: usize = 4;
const LOST: usize = 7;

#[test]
fn the_simulated_experiment_keeps_its_promises_and_says_that_it_is_simulated() {
    let picture = std::env::temp_dir().join(format!("punctual-simulated-{}.svg", std::process::id()));
    let run = run("simulated", &["--simulate", "--svg", picture.to_str().unwrap()]);
    let drawn = std::fs::read_to_string(&picture).unwrap();
    std::fs::remove_file(&picture).unwrap();
    // The same words on the page and in the picture, which stands alone.
    assert!(drawn.starts_with("<svg xmlns") && drawn.ends_with("</svg>"), "{drawn}");
    for said in [
        "Without a manager",
        "With a manager",
        "all 254 samples in time",
        "while the publishers of video and ECG",
    ] {
        assert!(drawn.contains(said) && run.page.contains(said), "{said}: {drawn}");
    }
    assert_eq!(run.code, 0, "{}", run.text);
    assert!(run.text.starts_with("SIMULATED") && run.page.contains("SIMULATED"));
    assert!(run.text.contains("Every promise was kept"), "{}", run.text);
    assert_eq!(run.text.matches("refused: ").count(), 2, "{}", run.text);
}

/// Times of real machines are not judged here, but by the command: a machine with other work may break promises, and the command says so.
#[test]
fn the_experiment_runs_on_a_real_network_and_leaves_nothing() {
    let Some(_turn) = lab_turn::turn() else { return };
    // Whatever else the machine does: the speed is not chosen by it, and the network file is scaled.
    let run = run("live", &["--short", "--rate", "50"]);
    let said = ["Every promise was kept", "A PROMISE WAS BROKEN", "VOID"].map(|word| run.text.contains(word));
    assert_eq!(said, [run.code == 0, run.code == 1, run.code == 3], "{}", run.text);
    for topic in ["video", "ECG", "EEG"] {
        let row = run.row(MANAGED, topic);
        assert!(row[WORST] <= row[PROMISED] && row[PROMISED] <= row[ASKED], "{}", run.text);
        assert!(row[SENT] > 50.0 && row[P50] < row[PROMISED] && row[LOST] < row[SENT] / 5.0, "{}", run.text);
    }
    let [open, held] = [BABBLE, HELD].map(|phase| run.row(phase, "EEG"));
    // How much a babbler gets to send, and so how much it harms, depends on what else the machine does.
    assert!(open[LOST] > held[LOST] + open[SENT] / 10.0 && held[LOST] < held[SENT] / 5.0, "{}", run.text);
    assert_eq!(run.text.matches("refused: ").count(), 2, "{}", run.text);
    // A plot for each topic that does not babble, and two on top for the one that gains most.
    let plots = [(BEST_EFFORT, 3), (BABBLE, 1), (MANAGED, 3), (HELD, 1)]
        .map(|(phase, plots)| plots * run.text.matches(&format!(". {phase} (")).count());
    assert_eq!(run.page.matches("<svg viewBox").count(), plots.iter().sum::<usize>() + 2, "{}", run.text);
    let left = lab::names().unwrap().into_iter().filter(|name| name.starts_with("midas-"));
    let alive =
        |name: &String| std::path::Path::new("/proc").join(name.trim_start_matches("midas-")).exists();
    assert_eq!(left.filter(|name| !alive(name)).count(), 0);
}
