//! Components that fail are made anew, as the plan says, and not while a change is under way.
use std::fmt::Write as _;

use deployment::{Answer, ComponentServer, Instruction, Order, Phase};

use crate::executor::Model;
use crate::plans::types;
use crate::world::MILLISECOND;

const PLAN: &str = r#"
id = "again"
start-mode = "one"
[host.n1]
cores = 1
[artefact.x]
location = ["x"]
[process.p]
artefact = "x"
host = "n1"
[component.a]
type = "Node"
process = "p"
settings.a = 7
port.tick.period = "1 ms"
RESTART
[component.b]
type = "Node"
process = "p"
port.tick.period = "1 ms"
restart = { policy = "on-failure", delay = "0 s" }
[connection.ab]
from = "a.out"
to = ["b.in"]
[mode.one]
components = ["a"]
[mode.two]
components = ["a", "b"]
"#;

fn plan(restart: &str, mode: &str) -> String {
    PLAN.replace("RESTART", restart).replace("\"one\"\n[host", &format!("\"{mode}\"\n[host"))
}

fn launched(restart: &str) -> ComponentServer<Model> {
    let mut server = ComponentServer::new(Model::new(types(), 0));
    change(
        &mut server,
        1,
        &plan(restart, "one"),
        &[
            Order::Install("b".into()),
            Order::Install("a".into()),
            Order::Connect("ab".into()),
            Order::Configured("b".into()),
            Order::Configured("a".into()),
            Order::Activate("a".into()),
        ],
    );
    commit(&mut server, 1);
    server
}

/// A change up to its decision.
fn change(server: &mut ComponentServer<Model>, epoch: u64, plan: &str, orders: &[Order]) {
    let (process, plan) = ("p".to_owned(), plan.to_owned());
    let answers = server.handle(Instruction::PreparePlan { epoch, process, plan });
    assert!(matches!(answers.as_slice(), [Answer::Prepared { .. }]), "{answers:?}");
    let orders = orders.to_vec();
    let perform = Instruction::Perform { epoch, number: 0, phase: Phase::Start, orders };
    let answers = server.handle(perform);
    assert!(matches!(answers.as_slice(), [Answer::Done { .. }]), "{answers:?}");
}

fn commit(server: &mut ComponentServer<Model>, epoch: u64) {
    assert_eq!(server.handle(Instruction::Commit { epoch }), [Answer::Committed { epoch }]);
}

fn fail(server: &mut ComponentServer<Model>, name: &str) {
    let made = server.executor_mut().components.get_mut(name).unwrap();
    (made.is_failed, made.is_active) = (true, false);
}

fn told(answers: Vec<Answer>) -> String {
    answers.into_iter().fold(String::new(), |mut text, answer| {
        let Answer::Report { what } = answer else { panic!("{answer:?}") };
        let _ = writeln!(text, "{what}");
        text
    })
}

fn works(server: &ComponentServer<Model>, name: &str) -> bool {
    let made = &server.executor().components[name];
    made.is_active && !made.is_failed
}

fn restarts(server: &mut ComponentServer<Model>, name: &str) -> u32 {
    let answers = server.handle(Instruction::Status { number: 1 });
    let [Answer::Status { components, .. }] = answers.as_slice() else { panic!("{answers:?}") };
    components.iter().find(|component| component.name == name).unwrap().restarts
}

const TWICE: &str = "restart = { policy = \"on-failure\", limit = 2, within = \"10 s\", delay = \"100 ms\" }";

#[test]
fn it_works_again_after_the_delay_with_its_settings_and_connections() {
    let mut server = launched(TWICE);
    let (halves, number) = (server.executor().halves.clone(), server.executor().components["a"].number);
    assert_eq!(told(server.tick(0)), "");
    fail(&mut server, "a");
    assert_eq!(told(server.tick(0)), "");
    assert_eq!(server.next_tick(), Some(100 * MILLISECOND));
    assert_eq!(told(server.tick(99 * MILLISECOND)), "");
    assert!(!works(&server, "a"));
    assert_eq!(told(server.tick(100 * MILLISECOND)), "a works again, made anew 1 times\n");
    assert!(works(&server, "a"));
    let made = &server.executor().components["a"];
    assert!(made.number > number && made.part.settings["a"] == assembly::Value::Integer(7), "{made:?}");
    assert_eq!(server.executor().halves, halves);
    assert_eq!((restarts(&mut server, "a"), restarts(&mut server, "b")), (1, 0));
    // The second time after twice the delay; a third time is one too many, until the first is forgotten.
    fail(&mut server, "a");
    assert_eq!(told(server.tick(200 * MILLISECOND)), "");
    assert_eq!(server.next_tick(), Some(400 * MILLISECOND));
    assert!(told(server.tick(400 * MILLISECOND)).contains("made anew 2 times"));
    fail(&mut server, "a");
    assert!(told(server.tick(500 * MILLISECOND)).contains("has failed too often"));
    // That is told once.
    assert_eq!(told(server.tick(600 * MILLISECOND)), "");
    assert_eq!((server.next_tick(), works(&server, "a")), (None, false));
    assert_eq!(server.executor().misused, [""; 0]);
}

#[test]
fn without_a_policy_it_stays_as_it_is() {
    for policy in ["", "restart = { policy = \"never\" }"] {
        let mut server = launched(policy);
        fail(&mut server, "a");
        for second in 0..100 {
            assert_eq!(told(server.tick(second * 1_000 * MILLISECOND)), "");
        }
        assert!(!works(&server, "a") && server.next_tick().is_none());
    }
}

/// One that cannot be made anew is tried again, after more and more time.
#[test]
fn what_fails_again_is_tried_again() {
    let mut server = launched("restart = { policy = \"always\", delay = \"1 s\" }");
    fail(&mut server, "a");
    assert_eq!(told(server.tick(0)), "");
    server.executor_mut().fails_in = Some(0);
    assert!(told(server.tick(1_000 * MILLISECOND)).contains("a was not made anew: "));
    assert_eq!(told(server.tick(1_001 * MILLISECOND)), "");
    assert_eq!(server.next_tick(), Some(3_001 * MILLISECOND));
    assert!(told(server.tick(3_001 * MILLISECOND)).contains("a works again"));
}

/// A change takes what has failed as it is, and what was to be made anew is so when the change is over.
#[test]
fn a_change_comes_first() {
    let mut server = launched(TWICE);
    fail(&mut server, "a");
    assert_eq!(told(server.tick(0)), "");
    change(&mut server, 2, &plan(TWICE, "two"), &[Order::Activate("b".into())]);
    assert_eq!((told(server.tick(500 * MILLISECOND)), server.next_tick()), (String::new(), None));
    assert!(!works(&server, "a"));
    assert_eq!(server.handle(Instruction::Abort { epoch: 2 }), [Answer::Aborted { epoch: 2 }]);
    assert!(told(server.tick(500 * MILLISECOND)).contains("a works again"));
}

/// What has failed and is not in the mode is made anew, and does not work before its mode comes.
#[test]
fn another_mode_lets_it_rest() {
    let mut server = launched(TWICE);
    fail(&mut server, "b");
    assert!(told(server.tick(0)).contains("b works again"));
    assert!(!server.executor().components["b"].is_failed && !works(&server, "b"));
    change(&mut server, 2, &plan(TWICE, "two"), &[Order::Activate("b".into())]);
    commit(&mut server, 2);
    assert!(works(&server, "b"));
    assert_eq!(server.executor().anew, ["b"]);
}

#[test]
fn what_has_failed_before_a_change_between_events_stays_as_it_is() {
    let mut server = launched(TWICE);
    change(&mut server, 2, &plan(TWICE, "two"), &[Order::Activate("b".into())]);
    commit(&mut server, 2);
    fail(&mut server, "a");
    let rest = |name: &str| [Order::Passivate(name.into()), Order::Resume(name.into())];
    let orders = [rest("a"), rest("b")].concat();
    change(&mut server, 3, &plan(TWICE, "two"), &orders);
    commit(&mut server, 3);
    assert!(server.executor().components["a"].is_failed && works(&server, "b"));
}
