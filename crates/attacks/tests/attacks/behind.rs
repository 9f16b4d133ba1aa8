//! Changes behind the manager's back: entries, groups and meters of the switch, contracts of its gates.
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::Command;

use testkit::patience::patiently;

use crate::managed::Managed;
use crate::program::PATIENCE;

/// Waits until the switch and its gates have the entries and the contracts that they had.
fn right_again(managed: &Managed, what: &str, entries: &[String], gates: &str) {
    patiently(&format!("{what}: the entries and contracts of before"), || {
        let list = managed.gate(LIST);
        (managed.flow_entries() == entries && keys(&list) == keys(gates)).then_some(())
    });
}

const LIST: &str = r#"{"request":"list"}"#;

/// The parts of the answer that name the flow of each contract, in order.
fn keys(list: &str) -> Vec<&str> {
    let mut keys: Vec<&str> =
        list.split("\"key\":").skip(1).filter_map(|rest| rest.split_once('}')).map(|(key, _)| key).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn what_was_changed_behind_the_manager_is_right_again_and_told() {
    let Some(_turn) = lab_turn::turn() else { return };
    let managed = Managed::new();
    let (entries, gates) = (managed.flow_entries(), managed.gate(LIST));
    assert_eq!(entries.len(), 1, "{entries:?}");
    let key = keys(&gates)[0].to_owned();
    let removed = format!("{{\"request\":\"remove\",\"port\":1,\"key\":{key}}}}}");
    let (flow, _) = entries[0].split_once(" actions").unwrap();
    let change = format!("table=0,{flow},actions=drop");
    type Attack<'a> = (&'static str, Box<dyn Fn() + 'a>);
    let attacks: [Attack<'_>; 4] = [
        ("all entries deleted", Box::new(|| drop(managed.switch(&["del-flows"])))),
        ("an entry changed to drop", Box::new(|| drop(managed.switch(&["mod-flows", &change])))),
        ("a contract removed", Box::new(|| drop(managed.gate(&removed)))),
        ("all contracts removed", Box::new(|| drop(managed.gate(r#"{"request":"clear"}"#)))),
    ];
    for (what, attack) in attacks {
        let told = managed.log("log").len();
        attack();
        right_again(&managed, what, &entries, &gates);
        managed.goes_on(what);
        patiently(&format!("{what}: a line in the log"), || (managed.log("log").len() > told).then_some(()));
    }
    managed.assert_none_forged();
}

impl Managed {
    /// What `ovs-ofctl` says to a command about the switch.
    fn switch(&self, words: &[&str]) -> String {
        let management = self.lab.management("s1").unwrap();
        let mut command = Command::new("ovs-ofctl");
        command.args(["-O", "OpenFlow13", words[0]]).arg(management).args(&words[1..]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Entries of admitted flows in the switch, without what changes by itself.
    fn flow_entries(&self) -> Vec<String> {
        let text = self.switch(&["dump-flows"]);
        let lines = text.lines().filter(|line| line.contains("priority=60000,"));
        let fixed = |line: &str| line.split_once("priority=60000,").unwrap().1.to_owned();
        lines.map(fixed).collect()
    }

    /// What the agent of the gates answers to a line.
    fn gate(&self, line: &str) -> String {
        let host = self.host("manager");
        let addresses = host.run("ip", "-oneline -4 address show");
        let own = addresses.split_whitespace().find(|word| word.starts_with("172.31.")).unwrap();
        let network = own.rsplit_once('.').unwrap().0;
        let agent = format!("{network}.2:6654");
        host.on(|| {
            let mut stream = TcpStream::connect(agent).unwrap();
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut answer = String::new();
            for line in [r#"{"request":"version"}"#, line] {
                writeln!(stream, "{line}").unwrap();
                answer.clear();
                reader.read_line(&mut answer).unwrap();
            }
            answer
        })
    }
}
