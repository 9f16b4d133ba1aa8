//! Plans whose channels are federated, by each transport: three processes of one host, of which one is killed.
use std::collections::BTreeMap;

use testkit::patience::patiently;

use crate::place::{self, Place};

/// A launched plan of sites, and the files that they write.
struct Sites {
    place: Place,
}

/// By process of the one who heard and of the one who spoke: the numbers of the words, in the order in which they came.
type Heard = BTreeMap<(u32, u32), Vec<u32>>;

impl Sites {
    /// The plan of the example, changed.
    fn new(test: &str, changes: &[(&str, &str)]) -> Self {
        let place = Place::new(test);
        let program = Place::example("sites");
        place.ok(&format!("describe {program} -o {{sites.json}}"));
        let mut plan = include_str!("../../examples/sites.toml")
            .replace("../../../target/debug/examples/sites", &program)
            // No gateway is taken for dead because the machine is busy.
            .replace("kind = \"federated\"", "kind = \"federated\"\nlease = \"10 min\"");
        for name in ["north", "east", "west"] {
            let file = place.path(&format!("{name}.log"));
            let (with, without) = (format!("file = \"{}\"", file.display()), "file = \"\"");
            plan = plan.replacen(without, &with, 1);
        }
        for (from, to) in changes {
            assert!(plan.contains(from), "{from}");
            plan = plan.replace(from, to);
        }
        place.has("sites.toml", &plan);
        Self { place }
    }

    /// The lines of a process in the status, its pid, and the counts of its gateway: published, transfers, given up.
    fn process(&self, name: &str) -> (u32, [u64; 3]) {
        let status = self.place.deploy("status sites").1;
        let mut lines = status.lines().skip_while(|line| !line.contains(&format!("process {name}: ")));
        let first = lines.next().unwrap_or_else(|| panic!("{name}: {status}"));
        let pid = first.split(", pid ").nth(1).and_then(|rest| rest.split(',').next()?.parse().ok());
        let gateway = lines.find(|line| line.contains("gateway: ")).unwrap_or_default();
        let count = |what: &str| {
            let before = gateway.split(what).next().unwrap_or_default();
            before.rsplit(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
        };
        let counts = [count(" published"), count(" transfers"), count(" given up")];
        (pid.unwrap_or(0), counts)
    }

    fn heard(&self) -> Heard {
        let mut heard = Heard::new();
        for name in ["north", "east", "west"] {
            let text = std::fs::read_to_string(self.place.path(&format!("{name}.log"))).unwrap_or_default();
            for line in text.lines() {
                let numbers: Vec<u32> = line.split(' ').map(|word| word.parse().unwrap()).collect();
                let [by, of, number] = numbers[..] else { panic!("{name}: {line}") };
                heard.entry((by, of)).or_default().push(number);
            }
        }
        heard
    }

    /// Waits until each of these has heard so many words of each other one, and more than at the call.
    fn hear_each_other(&self, pids: &[u32], count: usize) {
        let before = self.heard();
        let pairs =
            pids.iter().flat_map(|by| pids.iter().filter(move |of| *of != by).map(move |of| (*by, *of)));
        let pairs: Vec<(u32, u32)> = pairs.collect();
        patiently("words of all", || {
            let heard = self.heard();
            let len = |heard: &Heard, pair: &(u32, u32)| heard.get(pair).map_or(0, Vec::len);
            pairs.iter().all(|pair| len(&heard, pair) >= count + len(&before, pair)).then_some(())
        });
    }
}

/// No word came twice, and none is missing between the first and the last. Of the west, one of ten is wanted.
fn judge(heard: &Heard, (by, of): (u32, u32), step: u32) {
    let mut numbers = heard[&(by, of)].clone();
    numbers.sort_unstable();
    assert!(numbers.iter().all(|number| number % step == 0), "{by} of {of}: {numbers:?}");
    let pairs = numbers.iter().zip(&numbers[1..]);
    let wrong: Vec<_> = pairs.filter(|(one, next)| **next != **one + step).collect();
    assert!(wrong.is_empty(), "{by} of {of}, missing or twice: {wrong:?}");
}

/// All of it, by a transport.
fn three_processes(test: &str, changes: &[(&str, &str)]) {
    testkit::namespace::alone(|| {
        let sites = Sites::new(test, changes);
        let mut supervisor = sites.place.launched_with("launch {sites.toml}", 3);
        let pids = ["north", "east", "west"].map(|name| sites.process(name).0);
        let [north, east, west] = pids;
        sites.hear_each_other(&pids, 3);

        // The filter holds where the words are from: of ten words, one goes to each of two.
        let (_, [published, transfers, given_up]) = sites.process("west");
        assert!(transfers > 0 && transfers <= published / 10 * 2 + 2, "{transfers} of {published}");
        assert_eq!(given_up, 0);

        place::kill(west);
        supervisor.prints("punctual: process west ended: killed by signal 9");
        supervisor.prints("punctual: process west runs again");
        let (again, _) = sites.process("west");
        assert_ne!(again, west);
        sites.hear_each_other(&[north, east, again], 3);
        assert_eq!((sites.process("north").0, sites.process("east").0), (north, east));
        assert_eq!(sites.place.ok("stop sites"), "stopped sites\n");
        assert!(supervisor.ended().success());
        supervisor.all_gone();

        let heard = sites.heard();
        for (by, of) in heard.keys().copied() {
            let is_of_west = [west, again].contains(&of);
            judge(&heard, (by, of), if is_of_west { 10 } else { 1 });
        }
        assert_eq!(heard.len(), 10, "{:?}", heard.keys());
    });
}

#[test]
fn three_processes_are_federated_by_udp() {
    three_processes("federated-udp", &[]);
}

#[test]
fn three_processes_are_federated_by_tcp() {
    three_processes("federated-tcp", &[("transport = \"udp\"", "transport = \"tcp\"")]);
}

#[test]
fn three_processes_are_federated_by_multicast() {
    let group = "transport = \"udp\"\ngroups = { Word = \"239.255.7.1\" }";
    three_processes("federated-multicast", &[("transport = \"udp\"", group)]);
}

/// What one site says is heard by none while its connection is suspended; the others hear each other, and nothing comes later.
#[test]
fn a_connection_by_gateways_is_suspended() {
    testkit::namespace::alone(|| {
        let sites = Sites::new("federated-suspended", &[]);
        let mut supervisor = sites.place.launched_with("launch {sites.toml}", 3);
        let pids = ["north", "east", "west"].map(|name| sites.process(name).0);
        let [north, east, west] = pids;
        sites.hear_each_other(&pids, 3);
        let heard_of_north = || {
            let heard = sites.heard();
            [east, west].map(|by| heard[&(by, north)].len())
        };
        sites.place.ok("suspend sites from-north");
        // What was on its way may come still, so that some words of others are waited for.
        sites.hear_each_other(&[east, west], 3);
        let still = heard_of_north();
        sites.hear_each_other(&[east, west], 3);
        assert_eq!(heard_of_north(), still, "what is suspended carries nothing");
        sites.place.ok("resume sites from-north");
        sites.hear_each_other(&pids, 3);
        let numbers = &sites.heard()[&(east, north)];
        let gaps = numbers.windows(2).filter(|pair| pair[1] != pair[0] + 1).count();
        assert_eq!(gaps, 1, "{numbers:?}");
        assert_eq!(sites.place.ok("stop sites"), "stopped sites\n");
        assert!(supervisor.ended().success());
    });
}

/// Other peers: the processes go on, with another gateway.
#[test]
fn a_gateway_is_changed_while_its_process_runs() {
    testkit::namespace::alone(|| {
        let sites = Sites::new("federated-apply", &[]);
        let mut supervisor = sites.place.launched_with("launch {sites.toml}", 3);
        let pids = ["north", "east", "west"].map(|name| sites.process(name).0);
        sites.hear_each_other(&pids, 1);
        let plan = std::fs::read_to_string(sites.place.path("sites.toml")).unwrap();
        sites.place.has("next.toml", &plan.replace("transport = \"udp\"", "transport = \"tcp\""));
        assert_eq!(sites.place.ok("apply {next.toml}"), "applied sites\n");
        sites.hear_each_other(&pids, 1);
        // No federation any more: topics do the same.
        let mut plain = plan.split("[service.north]").next().unwrap().to_owned();
        plain += &plan[plan.find("[connection.from-north]").unwrap()..];
        for name in ["north", "east", "west"] {
            plain = testkit::changed(&plain, &format!("service = \"{name}\"\n"), "");
        }
        sites.place.has("plain.toml", &plain);
        assert_eq!(sites.place.ok("apply {plain.toml}"), "applied sites\n");
        sites.hear_each_other(&pids, 1);
        assert!(!sites.place.ok("status sites").contains("gateway: "));
        assert_eq!(pids, ["north", "east", "west"].map(|name| sites.process(name).0));
        supervisor.interrupt();
        assert!(supervisor.ended().success());
        supervisor.all_gone();
    });
}

/// What is exported needs no supervisor to find the others: their addresses follow from the plan.
#[test]
fn exported_processes_are_federated() {
    testkit::namespace::alone(|| {
        let sites = Sites::new("federated-exported", &[]);
        let mut processes = ["north", "east", "west"].map(|name| {
            let mut command = std::process::Command::new(Place::example("sites"));
            command.arg(format!("--serve={name}@{}", sites.place.path("sites.toml").display()));
            sites.place.start(command)
        });
        patiently("words of all", || (sites.heard().len() == 6).then_some(()));
        for process in &mut processes {
            process.terminate();
            assert!(process.ended().success());
        }
        // A host without the interface that is to be used.
        let bad = "transport = \"udp\"\ninterface = \"none0\"\ngroups = { Word = \"239.255.7.1\" }";
        let sites = Sites::new("federated-bad", &[("transport = \"udp\"", bad)]);
        let (code, _, told) = sites.place.deploy("launch {sites.toml}");
        assert!(code == 1 && told.contains("no network interface \"none0\""), "{told}");
    });
}
