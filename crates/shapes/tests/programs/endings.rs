//! Exit codes, and ends that must not hang.
use std::process::Stdio;

use crate::namespace::alone;
use crate::program::{Program, command};

/// The exit code and what was printed, of a program that ends by itself.
fn ended(arguments: &str) -> (i32, String) {
    let output = command(arguments).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn a_wrong_command_line_prints_the_usage() {
    for line in ["", "-t Square", "-P -S -t Square", "-P -t Square -x 7", "-P -t Square --nothing"] {
        let (code, text) = ended(line);
        assert!(code == 1 && text.contains("Usage: shape_main"), "{line}: {code} {text}");
    }
    let (code, text) = ended("-h");
    assert!(code == 0 && text.contains("--final-instance-state"), "{text}");
}

#[test]
fn what_is_not_supported_is_said_and_nothing_is_begun() {
    for (line, text) in [
        ("-S -t Square --coherent --access-scope t", "PRESENTATION coherent access is not supported\n"),
        ("-P -t Square --ordered", "PRESENTATION ordered access is not supported\n"),
        ("-P -t Square -D t", "DURABILITY transient is not supported\n"),
        ("-P -t Square -D p", "DURABILITY persistent is not supported\n"),
        ("-S -t Square -c RED", "a content-filtered topic is not supported\n"),
    ] {
        assert_eq!(ended(line), (2, text.to_owned()));
    }
}

#[test]
fn what_cannot_begin_ends_with_2() {
    alone(|| {
        let output = command("-S -t Square -d 233").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains("233"), "{said}");
    });
}

#[test]
fn an_interrupt_ends_both_in_good_order() {
    alone(|| {
        let mut subscriber = Program::start("-S -t Square");
        let mut publisher = Program::start("-P -t Square --final-instance-state d");
        subscriber.shape();
        publisher.interrupt();
        publisher.expect("Done.");
        assert_eq!(publisher.end(), 0);
        subscriber.expect("Square     BLUE       NOT_ALIVE_DISPOSED_INSTANCE_STATE");
        subscriber.interrupt();
        subscriber.expect("Done.");
        assert_eq!(subscriber.end(), 0);
    });
}

#[test]
fn an_interrupt_ends_a_program_whose_output_nobody_reads() {
    alone(|| {
        // The pipe is full after some hundred lines.
        let mut child = command("-P -t Square -w --write-period 0 --num-instances 100")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
        let stuck = || std::fs::read_to_string(format!("/proc/{pid}/wchan")).unwrap_or_default();
        let start = std::time::Instant::now();
        while !stuck().contains("pipe") && start.elapsed().as_secs() < 20 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGINT).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
    });
}
