//! The commands of the README that make three aircraft of one program.
use std::path::Path;
use std::process::{Command, Stdio};

use crate::place::Place;

const README: &str = include_str!("../../../../README.md");
const PAGE: &str = include_str!("../../../../docs/avionics.md");
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

#[test]
fn three_aircraft_are_made_of_one_program() {
    testkit::namespace::alone(|| {
        // The first of both commands has been run: cargo builds examples with their tests.
        for command in ["cargo build --package punctual-deploy --examples", "scripts/avionics"] {
            assert!(README.contains(&format!("`{command}`")) && PAGE.contains(command), "{command}");
        }
        let program = Place::example("avionics");
        let examples = Path::new(&program).parent().unwrap();
        let mut command = Command::new(format!("{ROOT}/scripts/avionics"));
        command.env("PUNCTUAL_EXAMPLES", examples).stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));

        // What is refused, the change that is made, and what is admitted with it are as the page says: the change is the first that was offered.
        let blocks = PAGE.split("```text\n").skip(1).map(|block| block.split_once("```").unwrap().0);
        let proofs: Vec<&str> = blocks.filter(|block| block.contains("$ deploy admit ")).collect();
        assert_eq!(proofs.len(), 2, "refused, and mended");
        for shown in &proofs {
            assert!(text.contains(shown), "{shown}\nis not in\n{text}");
        }
        let offered = proofs[0].split_once("what would admit more:\n  ").unwrap().1.lines().next().unwrap();
        assert!(proofs[1].starts_with(&format!("changed: {offered}\n")), "{offered}: {}", proofs[1]);

        // Each aircraft has flown, its displays have shown something, and its chains were measured beside what is proved.
        for (aircraft, displays) in [("trainer", 1), ("transport", 2), ("patrol", 2)] {
            let (_, flight) = text.split_once(&format!("deployment {aircraft} (")).unwrap();
            let (flight, _) = flight.split_once("\navionics: ").unwrap();
            let (status, log) = flight.split_once(&format!("stopped {aircraft}\n")).unwrap();
            let chain = status.split_once("  chain clock-to-nav: proved").unwrap().1;
            let measured = chain.split_once(" measured: median ").unwrap().0.rsplit(' ').next().unwrap();
            assert!(measured.parse::<u32>().unwrap() > 0, "{aircraft}: {status}");
            assert!(!chain.contains("bound none"), "{aircraft}: {status}");
            assert!(log.contains("nav: ") && log.contains(" m east, "), "{aircraft}: {log}");
            assert_eq!(log.contains("head-up: "), displays == 2, "{aircraft}: {log}");
        }
        assert!(text.contains("avionics: done"), "{text}");
    });
}
