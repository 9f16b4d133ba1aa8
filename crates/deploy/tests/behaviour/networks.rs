//! Transfers that the network of a plan bounds: against the same flows written by hand, and what is refused.
use network::{FileLatency, FlowFile, Network};

use crate::Folder;

/// Three hosts at a switch; the screen's link is slow. They send through queues of their own.
const LAB: &str = include_str!("../plans/line-lab.toml");

/// A chain over all three hosts, whose costs are nothing but what is said of sending and receiving.
const PLAN: &str = include_str!("../plans/line.toml");

const TYPES: &str = include_str!("../plans/line.json");

/// What the command says of the plan and the network with these changes.
fn admitted(plan: &[(&str, &str)], lab: Option<&str>, arguments: &str) -> (Folder, u8, String, String) {
    let folder = Folder::new();
    let text = plan.iter().fold(PLAN.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    });
    folder.has("plan.toml", &text);
    folder.has("types.json", TYPES);
    if let Some(lab) = lab {
        folder.has("lab.toml", lab);
    }
    let (code, out, told) = folder.deploy(arguments);
    (folder, code, out, told)
}

/// A flow by hand, and its bound in picoseconds.
fn flow(name: &str, [from, to]: [&str; 2], size: u32, jitter: u64, limit: &str) -> String {
    format!(
        "[[flow]]\nname = \"{name}\"\ntopic = \"{name}\"\npublisher = \"{from}\"\nsubscribers = [{{ host = \"{to}\", limit = \"{limit}\" }}]\n\
         size = {size}\nseparation = \"10 ms\"\njitter = \"{jitter} us\"\nemission = \"20 us\"\n"
    )
}

fn bounds(flows: &[String]) -> Vec<u64> {
    let text = LAB.to_owned() + &flows.concat();
    let network = Network::parse("lab.toml", &text, |_| Err(String::new())).unwrap();
    let report = plan::plan(&network);
    report.flows.iter().map(|flow| flow.subscribers[0].bound_ps.unwrap()).collect()
}

/// Microseconds, rounded up, of so many nanoseconds and a thousandth.
fn late(nanoseconds: u64) -> u64 {
    (nanoseconds + nanoseconds.div_ceil(1_000)).div_ceil(1_000)
}

/// Stamps of one chain with one port in the component that pushes.
const STAMPS: u32 = 64 + 512;

/// The stamp of a connection whose latency is measured.
const OWN_STAMP: u32 = 128;

/// The flows of the plan are those that are written here by hand: sizes with stamps, the period of the timer, and the lateness that handlers and
/// transfers before have; the transfer is their bound with what the hosts take.
#[test]
fn transfers_are_those_of_the_network() {
    let (folder, code, out, told) =
        admitted(&[], Some(LAB), "admit {plan.toml} --write {new.toml} --export-flows {flows.toml}");
    assert_eq!((code, told.as_str()), (0, ""), "{out}");
    // The sensor's handler takes up to 100 us, and is 20 us for sending.
    let angle = |limit| flow("angle", ["sense", "act"], 100 + STAMPS, late(100_000) + 20, limit);
    // A third of 30 ms for each connection: the hosts have the rest.
    let first = bounds(&[angle("10 ms")])[0];
    let transfer = 20_000_000 + first + 30_000_000;
    let of_view = late(100_000 + transfer.div_ceil(1_000) + 200_000) + 20;
    let view = flow("view", ["act", "show"], 2_000 + STAMPS + OWN_STAMP, of_view, "10 ms");
    let both = bounds(&[angle("10 ms"), view]);
    assert_eq!(both[0], first, "they have no link in common");
    let written = std::fs::read_to_string(folder.0.path().join("new.toml")).unwrap();
    for (name, bound) in ["angle", "view"].iter().zip(&both) {
        let most = diagnostics::written(20_000_000 + bound + 30_000_000);
        assert!(written.contains(&format!("most = \"{most}\"")), "{name} {most}\n{written}");
    }
    // Two frames of a view, of 1,472 bytes of datagram at most each, store and forward: 2,704 bytes and headers at 1 Gb/s and 100 Mb/s.
    assert!(both[1] > 2_704 * 8 * 10_000 + 1_500 * 8 * 1_000, "{both:?}");
    assert!(both[1] < 2_000_000_000, "{both:?}");
    // What is asked of a manager is what the proof counts with.
    let flows = std::fs::read_to_string(folder.0.path().join("flows.toml")).unwrap();
    let flows = FlowFile::parse("flows.toml", &flows, &["sense", "act", "show"]).unwrap();
    let of_angle = flows.topics.iter().find(|topic| topic.name == "Line/angle/traced").unwrap();
    assert_eq!(of_angle.latency, FileLatency::Fixed(both[0].div_ceil(1_000)));
    assert_eq!(
        (of_angle.size, of_angle.separation, of_angle.jitter),
        (100 + STAMPS, Some(10_000_000), 121_000)
    );
    // A view is as late as the angle and its transfer make it.
    let topic = flows.topics.iter().find(|topic| topic.name == "Line/view/traced").unwrap();
    assert_eq!(
        (topic.size, topic.jitter, topic.emission),
        (2_000 + STAMPS + OWN_STAMP, of_view * 1_000, 20_000)
    );
    // The plan that was written has the same verdicts without the network.
    folder.has("alone.toml", &written.replace("network = \"lab.toml\"\n", ""));
    let (code, alone, _) = folder.deploy("admit {alone.toml}");
    assert_eq!(code, 0, "{alone}");
    let verdicts = |text: &str| -> Vec<String> {
        text.lines()
            .filter(|line| line.contains("at most") && line.contains("limit"))
            .map(str::to_owned)
            .collect()
    };
    assert_eq!(verdicts(&alone), verdicts(&out));
    assert_eq!(verdicts(&alone).len(), 2, "{alone}");
}

/// Other flows of the network file take the link: the network refuses the connection, with its reason, and so do admit and launch.
#[test]
fn what_the_network_refuses_is_refused() {
    // 16 Mb/s of views, and 87 Mb/s of video.
    let large = [("size = 2000", "size = 20000")];
    let full = format!(
        "{LAB}[[flow]]\ntopic = \"video\"\npublisher = \"sense\"\nsubscribers = [{{ host = \"show\", limit = \"9 ms\" }}]\nsize = 60_000\nseparation = \"5500 us\"\n"
    );
    let (folder, code, out, told) = admitted(&large, Some(&full), "admit {plan.toml}");
    assert_eq!(code, 1, "{out}");
    assert!(out.contains("line: no bound: ") && out.contains("refuses \"view\" within 10 ms: "), "{out}");
    assert!(out.contains("s1 to show"), "{out}");
    assert!(told.contains("plan.toml:") && told.contains("refuses \"view\""), "{told}");
    let (code, _, told) = folder.deploy("launch {plan.toml} --host act");
    assert!(code == 1 && told.contains("refuses \"view\"") && told.contains("nothing was changed"), "{told}");
    // A flow that leaves room makes the bound longer, and no more.
    let other = full.replace("5500 us", "100 ms").replace("60_000", "6_000");
    let (_, code, out, _) = admitted(&large, Some(&other), "admit {plan.toml}");
    assert_eq!(code, 0, "{out}");
}

/// Each mistake is told with its place and what to do.
#[test]
fn wrong_networks_are_refused() {
    for (plan, lab, what, remedy) in [
        (vec![], None, "plan.toml:2:11: the network file ", "name a network file, relative to the plan"),
        (
            vec![],
            Some(LAB.replace("[[host]]\nname = \"act\"", "[[host]]\nnam = \"act\"")),
            "lab.toml:6:1: ",
            "docs/plan.md",
        ),
        (
            vec![],
            Some(LAB.replace("\"show\"", "\"screen\"")),
            "has no host \"show\", where \"view\" goes",
            "those of the network are sense, act, screen",
        ),
    ] {
        let (folder, code, out, told) = admitted(&plan, lab.as_deref(), "admit {plan.toml}");
        assert_eq!((code, out.as_str()), (1, ""), "{told}");
        assert!(told.contains(what) && told.contains(remedy), "{what}\n{told}");
        let (code, _, told) = folder.deploy("launch {plan.toml} --host act");
        assert!(code == 1 && told.contains(what), "{told}");
    }
}

/// What a flow needs and the plan does not say is no zero; what it says and the analysis knows better is refused.
#[test]
fn what_a_flow_needs() {
    let of_pushes = [(
        "[connection.angle]",
        "[topic.t]\ntype = \"E\"\n[connection.more]\nfrom = \"topic:t\"\nto = [\"control.angle\"]\nseparation = \"1 s\"\nqueue = { depth = 8, full = \"drop-oldest\" }\n[connection.angle]",
    )];
    for (plan, what, remedy) in [
        (&[("size = 2000\n", "")][..], "it is not said how large events of \"view\" are", "add size = BYTES"),
        (&[(", send = \"20 us\"", "")], "it is not said how long sense takes to send", "add send = TIME"),
        (&[(", receive = \"30 us\"", "")], "takes to receive an event", "add receive = TIME"),
        (&[("clock-drift = 0", "clock-drift = 300000")], "drift more than the 200 ppm", "clock-drift"),
        (
            &[("size = 100\n", "size = 100\nseparation = \"11 ms\"\n")],
            "events of \"angle\" come every 10 ms",
            "separation = \"10 ms\"",
        ),
        (
            &[("size = 100\n", "size = 100\njitter = \"99 us\"\n")],
            "events of \"angle\" may be 101 us late",
            "jitter = \"101 us\"",
        ),
        (&of_pushes, "not known how often events of \"view\" come", "add separation = TIME"),
    ] {
        let (_, code, out, told) = admitted(plan, Some(LAB), "admit {plan.toml}");
        assert_eq!(code, 1, "{what}\n{out}");
        assert!(told.contains(what) && told.contains(remedy), "{what}\n{told}");
    }
    // More room than is needed is taken, and said to be declared where nothing else is known.
    let more = [of_pushes[0], ("size = 2000\n", "size = 2000\nseparation = \"5 ms\"\njitter = \"4 ms\"\n")];
    let (_, code, out, told) = admitted(&more, Some(LAB), "admit {plan.toml}");
    assert_eq!(code, 0, "{out}{told}");
    assert!(out.contains("for an event every 5 ms, at most 4 ms late, declared"), "{out}");
}

/// A transfer that is said stays what it is, and is told to be no more than that.
#[test]
fn a_transfer_that_is_said_is_not_computed() {
    let said = [("size = 2000\n", "transfer = { most = \"3 ms\" }\n")];
    let (_, code, out, told) = admitted(&said, Some(LAB), "admit {plan.toml}");
    assert_eq!(code, 0, "{out}{told}");
    assert!(out.contains("transfer of view: at most 3 ms, declared, not computed"), "{out}");
    assert!(out.contains("transfer of angle from sense to act: at most "), "{out}");
    // 3 ms, and what the screen does; one more may come before.
    assert!(out.contains("connection view to screen.view: admitted"), "{out}");
}

/// Plans that are admitted together share a network if their files say the same, whatever these are called: then each flow waits for those of the
/// other plan. Two networks with a host in common are none.
#[test]
fn flows_of_plans_that_run_together_are_planned_together() {
    let (folder, _, alone, _) = admitted(&[], Some(LAB), "admit {plan.toml}");
    folder.has("other.toml", &PLAN.replace("\"Line\"", "\"Other\"").replace("lab.toml", "same.toml"));
    folder.has("same.toml", LAB);
    let (_, together, told) = folder.deploy("admit {plan.toml} {other.toml}");
    let bound = |out: &str| {
        let line = out.lines().find(|line| line.starts_with("transfer of angle from sense to act: "));
        line.unwrap_or_else(|| panic!("{out}{told}")).to_owned()
    };
    assert_ne!(bound(&alone), bound(&together));
    folder.has("same.toml", &LAB.replace("100 Mb/s", "200 Mb/s"));
    let (code, _, told) = folder.deploy("admit {plan.toml} {other.toml}");
    assert_eq!(code, 1);
    assert!(told.contains("other.toml:2:11: another plan that runs at the same time sends over "), "{told}");
    assert!(told.contains("by another network file"), "{told}");
}

/// Policies of the manager of the network are asked for each flow of the plan: the host of the reader asks.
#[test]
fn flows_are_allowed_by_the_policies_of_the_plan() {
    let under = [("network = \"lab.toml\"\n", "network = \"lab.toml\"\npolicies = [\"policy.toml\"]\n")];
    let asked = |policy: &str, arguments: &str| {
        let (folder, ..) = admitted(&under, Some(LAB), "schema plan");
        folder.has("policy.toml", policy);
        let (code, out, told) = folder.deploy(arguments);
        (code, out + &told)
    };
    let rule = |host: &str, more: &str| {
        format!("default = \"deny\"\n[[rule]]\nhosts = [\"{host}\"]\ntopics = [\"Line/*\"]\n{more}\n")
    };
    let (code, text) = asked(
        &rule("*", "most-flows = 1\nmost-rate = \"20 Mb/s\"\nleast-latency = \"10 us\""),
        "admit {plan.toml}",
    );
    assert_eq!(code, 0, "{text}");
    for (policy, what) in [
        (
            "default = \"deny\"\n".to_owned(),
            "policy.toml does not allow \"angle\" to act: the policy does not allow host act to ask for \"Line/angle\"",
        ),
        (rule("show", ""), "policy.toml does not allow \"angle\" to act"),
        (rule("act", ""), "policy.toml does not allow \"view\" to show"),
        (
            rule("*", "effect = \"deny\""),
            "the policy, line 2, does not allow host act to ask for \"Line/angle\": nothing of it is allowed",
        ),
        (rule("*", "most-flows = 0"), "does not allow host act one more flow: it has 0 of 0"),
        (rule("*", "least-latency = \"9 ms\""), "a maximum latency of "),
        // 2,128 bytes of sample and stamps and more each 10 ms come to more than 2 Mb/s with all headers; 1.6 would be the sample alone.
        (rule("*", "most-rate = \"2 Mb/s\""), "does not allow host show "),
        (rule("*", "most-share = \"1 %\""), "does not allow host show "),
    ] {
        let (code, text) = asked(&policy, "admit {plan.toml}");
        assert!(code == 1 && text.contains(what), "{policy}{text}");
        assert!(
            text.contains("line: no bound: ") && text.contains("plan.toml:") && text.contains("ask for less"),
            "{text}"
        );
        let (code, text) = asked(&policy, "launch {plan.toml} --host act");
        assert!(code == 1 && text.contains("nothing was changed"), "{policy}{text}");
        // What is said of the flows is no matter of the plan alone.
        assert_eq!(asked(&policy, "validate {plan.toml}").0, 0);
    }
    // What is wrong with the file itself is told with its place there, by any command.
    for command in ["validate", "admit", "explain"] {
        let (code, text) =
            asked("default = \"deny\"\n[[rule]]\nhost = [\"act\"]\n", &format!("{command} {{plan.toml}}"));
        assert!(
            code == 1 && text.contains("policy.toml:") && text.contains("unknown field `host`"),
            "{text}"
        );
    }
    let (_, code, _, told) = admitted(&under, Some(LAB), "validate {plan.toml}");
    assert!(code == 3 && told.contains("policy.toml"), "{told}");
}

/// A host has all flows of plans that are admitted together.
#[test]
fn limits_of_policies_are_of_all_plans_together() {
    let (folder, ..) = admitted(&[], Some(LAB), "schema plan");
    folder.has("policy.toml", "default = \"allow\"\n[[rule]]\nhosts = [\"act\"]\nmost-flows = 1\n");
    let under = PLAN.replace("manifests", "policies = [\"policy.toml\"]\nmanifests");
    folder.has("other.toml", &under.replace("name = \"Line\"", "name = \"Other\""));
    let (code, out, told) = folder.deploy("admit {other.toml}");
    assert_eq!(code, 0, "{out}{told}");
    let (code, out, told) = folder.deploy("admit {plan.toml} {other.toml}");
    let text = out + &told;
    assert!(
        code == 1
            && text.contains("policy.toml does not allow \"angle\" to act: ")
            && text.contains(
                "does not allow host act one more flow: it has 1 of 1; before it come Line/angle to "
            ),
        "{text}"
    );
    // Policies are those of the network, whichever of the plans names them; what comes first has its flows.
    let (code, out, told) = folder.deploy("admit {other.toml} {plan.toml}");
    let text = out + &told;
    assert!(
        code == 1
            && text.contains("policy.toml of ")
            && text.contains("other.toml does not allow \"angle\" to act")
            && text.contains("before it come Other/angle to "),
        "{text}"
    );
}

/// A plan without chains needs what policies allow, too.
#[test]
fn plans_without_chains_are_asked_for_their_flows() {
    let (folder, ..) = admitted(&[], Some(LAB), "schema plan");
    let (before, chain) = PLAN.split_once("[chain.").expect("the plan has a chain");
    let after = chain.split_once("\n[").map(|(_, rest)| format!("[{rest}")).unwrap_or_default();
    let plan = format!("{before}{after}").replace("manifests", "policies = [\"policy.toml\"]\nmanifests");
    let free: Vec<&str> = plan.lines().filter(|line| !line.starts_with("latency")).collect();
    folder.has("free.toml", &free.join("\n"));
    folder.has("policy.toml", "default = \"allow\"\n");
    let (code, out, told) = folder.deploy("admit {free.toml}");
    assert_eq!(code, 0, "{out}{told}");
    folder.has("policy.toml", "default = \"deny\"\n");
    for command in ["admit {free.toml}", "launch {free.toml} --host act"] {
        let (code, out, told) = folder.deploy(command);
        let text = out + &told;
        assert!(
            code == 1 && text.contains("policy.toml does not allow \"angle\" to act"),
            "{command}: {text}"
        );
        assert!(text.contains("free.toml:"), "{command}: {text}");
    }
}
