//! What of a plan is not carried out is refused or told, with its place; hostile lines are answered.
use assembly::Plan;
use deployment::{Answer, Carrier, ComponentServer, Instruction, Order, Part, Phase, launchable};
use diagnostics::Source;
use testkit::each_is_told;

use crate::executor::Model;
use crate::plans::types;

const FIRST: &str = include_str!("plans/first.toml");

/// What forbids a launch, and what is told, as text.
fn said(text: &str) -> (String, String) {
    let source = Source { file: "plan.toml", text };
    let (plan, places) = Plan::read(source).unwrap_or_else(|problems| panic!("{problems:?}"));
    assert_eq!(plan.check(source, &places, &types()), [], "{text}");
    let (wrong, warnings) = launchable(&plan, source, &places, &types(), &["p", "q", "r"]);
    let shown = |problems: &[diagnostics::Problem]| {
        problems.iter().map(|problem| source.show(problem)).collect::<Vec<_>>().join("\n")
    };
    (shown(&wrong), shown(&warnings))
}

/// Adds a line behind another one of the plan, and looks for what is told of the result.
fn each_addition_is_told(additions: &[(&str, &str, &str)], told: impl Fn(&str) -> String) {
    for (before, line, expected) in additions {
        each_is_told(FIRST, &[(before, &format!("{before}\n{line}"), expected)], &told);
    }
}

const TO_D: &str = "to = [\"d.in\"]";
const NODE: &str = "type = \"Node\"";

#[test]
fn what_cannot_be_carried_out_is_refused_where_it_is_said() {
    assert_eq!(said(FIRST), (String::new(), String::new()));
    let refused = |text: &str| {
        let (wrong, _) = said(text);
        assert!(wrong.contains('^') && wrong.lines().count() >= 4, "{wrong}");
        wrong
    };
    let additions = [
        ("[process.q]", "cgroup = \"x\"", "plan.toml:10:10: processes are not moved into control groups"),
        (TO_D, "queue = { depth = 4, full = \"block\", wait = \"1 ms\" }", "a topic's queue cannot block"),
        (NODE, "artefact = \"x\"", "code is not loaded into processes that run"),
        (TO_D, "queue = { depth = 99999 }", "queues have at most 65535 entries"),
        ("to = [\"b.in\", \"c.in\"]", "qos = { priority = 300 }", "the priority 300 cannot be had"),
    ];
    each_addition_is_told(&additions, refused);
    let federated = format!("{TO_D}\nservice = \"far\"\n[service.far]\nkind = \"federated\"\nat = \"q\"");
    let deadline = "class = \"deadline\", runtime = \"1 ms\", period = \"9 ms\"";
    let changes = [
        ("threads = 2", deadline, "no threads of the class deadline"),
        ("port.tick.period = \"1 ms\"\n", "", "the timer \"tick\" has no period"),
        ("[process.q]\nartefact = \"x\"", "[process.q]", "nothing says what the process \"q\" executes"),
        ("location = [\"x\"]", "location = [\"http://x\"]", "\"x\" is nowhere on this host"),
        (TO_D, federated.as_str(), "federated services are not carried out"),
    ];
    each_is_told(FIRST, &changes, refused);
}

#[test]
fn what_changes_nothing_is_told() {
    let additions = [
        (TO_D, "latency = \"1 ms\"", "a launch does not look after times"),
        (TO_D, "qos = { timeout = \"1 ms\" }", "timeout is not carried out for cd"),
        (NODE, "restart = { policy = \"always\" }", "components are not started again"),
    ];
    each_addition_is_told(&additions, |text| {
        let (wrong, warnings) = said(text);
        assert_eq!(wrong, "");
        warnings
    });
}

#[test]
fn what_a_foreign_program_cannot_be_given_is_refused() {
    let foreign = FIRST
        .replace("[artefact.x]\nlocation = [\"x\"]", "[artefact.x]\nlocation = [\"x\"]\nkind = \"foreign\"");
    // Programs among themselves are what they are.
    let (wrong, warnings) = said(&foreign.replace("threads = 2", "class = \"fifo\", priority = 3"));
    assert_eq!(wrong, "");
    assert!(warnings.contains("a foreign program gets no settings"), "{warnings}");
    let refused = |text: &str| {
        said(&text.replace(
            "[artefact.x]\nlocation = [\"x\"]",
            "[artefact.x]\nlocation = [\"x\"]\nkind = \"foreign\"",
        ))
        .0
    };
    let q = "[process.q]";
    each_is_told(
        FIRST,
        &[
            ("[process.r]", "[process.r]", "a foreign program has the threads that it makes itself"),
            ("threads = 2 }", "}\nlanes.slow = {}", "a foreign program is in one lane"),
            ("threads = 2", "class = \"round-robin\", priority = 3", "not put into the class round-robin"),
            (q, &format!("{q}\ncgroup = \"x\""), "processes are not moved into control groups"),
            (q, &format!("{q}\nlock-memory = true"), "locked by itself alone"),
        ],
        refused,
    );
    let one = FIRST.replace(
        "[process.q]\nartefact = \"x\"",
        "[artefact.y]\nlocation = [\"y\"]\nkind = \"foreign\"\n[process.q]\nartefact = \"y\"",
    );
    let (wrong, _) = said(&one);
    assert!(wrong.contains("a foreign program does not know the topic of a connection"), "{wrong}");
}

#[test]
fn processes_of_several_hosts_begin_in_any_order_and_that_is_told() {
    let far = FIRST.replace("[host.n1]", "[host.n2]\ncores = 2\n[host.n1]").replace(
        "[process.q]\nartefact = \"x\"\nhost = \"n1\"",
        "[process.q]\nartefact = \"x\"\nhost = \"n2\"\ndepends-on = [\"p\"]",
    );
    let (wrong, warnings) = said(&far);
    assert_eq!(wrong, "");
    assert!(warnings.contains("\"p\" is on n1: which of both begins first is left open"), "{warnings}");
}

#[test]
fn connections_become_ends_of_processes() {
    let (plan, _) = Plan::read(Source { file: "plan", text: FIRST }).unwrap();
    let p = Part::of(&plan, "p", &types()).0;
    let shape = |part: &Part, name: &str| -> Vec<(String, bool, bool, &str)> {
        let halves = part.connections.get(name).cloned().unwrap_or_default();
        let kind = |carrier: &Carrier| match carrier {
            Carrier::Channel(_) => "channel",
            Carrier::Topic { topic, .. } if topic == "both/ab" => "topic both/ab",
            _ => "else",
        };
        halves
            .iter()
            .map(|it| (it.name.clone(), it.from.is_some(), it.to.is_some(), kind(&it.carrier)))
            .collect()
    };
    let local = ("ab 0".to_owned(), true, true, "channel");
    assert_eq!(shape(&p, "ab"), [local, ("ab out".to_owned(), true, false, "topic both/ab")]);
    let q = Part::of(&plan, "q", &types()).0;
    assert_eq!(shape(&q, "ab"), [("ab 1".to_owned(), false, true, "topic both/ab")]);
    assert_eq!(p.containers["k"].lanes[0].threads, 2);
    assert!(p.containers.contains_key("") && !q.containers.contains_key("k"));
}

#[test]
fn instructions_out_of_order_do_no_harm() {
    let mut server = ComponentServer::new(Model::new(types(), 0));
    let plan = FIRST.to_owned();
    let process = "p".to_owned();
    let perform = |epoch, number, orders: &[Order]| Instruction::Perform {
        epoch,
        number,
        phase: Phase::StartLaunch,
        orders: orders.to_vec(),
    };
    let is_failed = |answers: Vec<Answer>| matches!(&answers[..], [Answer::Failed { .. }]);
    assert!(is_failed(server.handle(perform(1, 0, &[]))));
    assert!(is_failed(server.handle(Instruction::Commit { epoch: 1 })));
    let no_plan = Instruction::PreparePlan { epoch: 1, process: process.clone(), plan: "[[[".to_owned() };
    assert!(is_failed(server.handle(no_plan)));
    let prepare = Instruction::PreparePlan { epoch: 1, process, plan };
    let prepared = server.handle(prepare.clone());
    assert!(matches!(&prepared[..], [Answer::Prepared { epoch: 1, .. }]), "{prepared:?}");
    assert_eq!(server.handle(prepare.clone()), prepared);
    let add = perform(1, 0, &[Order::AddContainer("k".to_owned()), Order::Install("a".to_owned())]);
    let done = [Answer::Done { epoch: 1, number: 0 }];
    assert_eq!(server.handle(add.clone()), done);
    assert_eq!(server.handle(add), done);
    assert!(is_failed(server.handle(perform(1, 3, &[]))));
    // After a failure nothing is done but taking back.
    assert!(is_failed(server.handle(perform(1, 1, &[Order::Install("b".to_owned())]))));
    assert!(is_failed(server.handle(Instruction::Commit { epoch: 1 })));
    assert_eq!(server.handle(Instruction::Abort { epoch: 1 }), [Answer::Aborted { epoch: 1 }]);
    assert!(server.executor().components.is_empty() && server.executor().halves.is_empty());
    assert_eq!(server.handle(Instruction::Abort { epoch: 1 }), [Answer::Aborted { epoch: 1 }]);
    // A change that has ended does not begin again.
    assert_eq!(server.handle(prepare), [Answer::Aborted { epoch: 1 }]);
    assert!(matches!(
        &server.handle(perform(1, 0, &[Order::Remove("zzz".to_owned())]))[..],
        [Answer::Aborted { .. }]
    ));
}
