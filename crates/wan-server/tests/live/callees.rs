//! Callees whose program is asked.
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use testkit::namespace::alone;
use testkit::patience::patiently;
use wan_server::protocol::Question;

use crate::domains::{Domains, EAST, MILLISECOND, flow, session};

#[test]
fn a_program_of_callees_takes_part_lowers_refuses_or_is_silent() {
    alone(|| {
        // A busy machine answers before this is over, and the one that is silent is waited for.
        let limits = "[limits]\npatience = \"16 s\"\ncallee-patience = \"8 s\"\nlifetime = \"50 s\"\n";
        let domains = Domains::new("callees", limits);
        let mut wanted = flow(2_000_000, 25 * MILLISECOND);
        wanted.least_rate = 1_000_000;
        let asked = session("10.3.2.7", vec![wanted]);
        let why = domains.establish(&asked).expect_err("no program is there");
        assert_eq!((why.asn, why.reason.as_str()), (EAST, "callee-refused"));

        let mut command = domains.command();
        command
            .args(["callee", "10.3.2.0/24", "--asn", "65003"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut program = command.spawn().unwrap();
        let mut answers = program.stdin.take().unwrap();
        let mut questions = BufReader::new(program.stdout.take().unwrap()).lines();
        let mut question =
            || -> Question { serde_json::from_str(&questions.next().unwrap().unwrap()).unwrap() };
        std::thread::scope(|scope| {
            // It may not be registered yet when the first session is asked for.
            let first = scope.spawn(|| patiently("a session", || domains.establish(&asked).ok()));
            let put = question();
            assert_eq!((put.caller, &put.callees), (asked.caller, &asked.callees));
            assert_eq!((put.flows[0].rate, put.flows[0].least_rate), (2_000_000, 1_000_000));
            // What is no answer is left out, and an answer to another question as well.
            writeln!(answers, "yes").unwrap();
            writeln!(answers, "{{\"number\":{},\"rates\":[1]}}", put.number + 100).unwrap();
            writeln!(answers, "{{\"number\":{},\"rates\":[1500000]}}", put.number).unwrap();
            let admitted = first.join().unwrap();
            assert_eq!((admitted.bounds[0].rate, put.session), (1_500_000, admitted.session));

            let second = scope.spawn(|| domains.establish(&asked));
            let put = question();
            writeln!(answers, "{{\"number\":{}}}", put.number).unwrap();
            assert_eq!(second.join().unwrap().expect_err("it refuses").reason, "callee-refused");

            let third = scope.spawn(|| domains.establish(&asked));
            question();
            assert_eq!(third.join().unwrap().expect_err("it is silent").reason, "callee-refused");
        });
        drop(answers);
        assert_eq!(program.wait().unwrap().code(), Some(0));
        patiently("a program that has left", || {
            domains.establish(&asked).err().filter(|why| why.reason == "callee-refused")
        });
        assert_eq!(domains.status(EAST).hosted.len(), 1);
    });
}
