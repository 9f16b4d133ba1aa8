//! Plans over two hosts: an execution manager and two node managers, as processes.
use std::path::PathBuf;

use keys::{Authority, Name, Role};
use testkit::namespace::alone;
use testkit::patience::patiently;

use crate::place::{Place, Supervisor};

/// Two hosts, and where the manager and its operator are.
pub(crate) struct Site {
    pub(crate) site: Place,
    pub(crate) east: Place,
    pub(crate) west: Place,
}

fn node(name: &str) -> Role {
    Role::Node(Name::new(name).unwrap())
}

impl Site {
    pub(crate) fn new(test: &str) -> Self {
        let place = |name: &str| Place::new(&format!("{test}-{name}"));
        let all = Self { site: place("site"), east: place("east"), west: place("west") };
        let authority = Authority::open(&all.keys()).unwrap();
        let operator = Role::Operator(Name::new("ann").unwrap());
        for role in [Role::Manager, node("east"), node("west"), operator] {
            authority.issue(role).unwrap();
        }
        all
    }

    pub(crate) fn keys(&self) -> PathBuf {
        self.site.path("keys")
    }

    /// A plan whose display is on the host in the west, and all else in the east.
    pub(crate) fn plan() -> String {
        Place::plan()
            .replace("[host.here]\ncores = 1\n", "[host.east]\ncores = 1\n[host.west]\ncores = 1\n")
            .replace("[process.show]\nhost = \"here\"", "[process.show]\nhost = \"west\"")
            .replace("host = \"here\"", "host = \"east\"")
    }

    pub(crate) fn manager(&self) -> Supervisor {
        let mut manager =
            self.site.begin("manager --listen 127.0.0.1 --keys {keys} --store {deployments.redb}");
        manager.prints("listens at 127.0.0.1:7410; leads ");
        manager
    }

    pub(crate) fn node(&self, name: &str) -> Supervisor {
        let mut node = self.begin_node(name);
        node.prints("punctual: connected to the manager");
        node
    }

    /// Starts a node manager, and waits for nothing.
    pub(crate) fn begin_node(&self, name: &str) -> Supervisor {
        self.begin_node_with(name, "")
    }

    /// Starts a node manager with more options.
    pub(crate) fn begin_node_with(&self, name: &str, more: &str) -> Supervisor {
        let place = if name == "east" { &self.east } else { &self.west };
        place.begin(&(self.of_node(name) + more))
    }

    fn of_node(&self, name: &str) -> String {
        format!("node --manager 127.0.0.1 --name {name} --keys {}", self.keys().display())
    }

    /// Both node managers. The lines of all of their processes come in one order, from the first one.
    pub(crate) fn nodes_in_order(&self) -> (Supervisor, Supervisor) {
        let (mut east, west) = self.east.begin_with(&self.of_node("east"), &self.west, &self.of_node("west"));
        for _ in 0..2 {
            east.prints("punctual: connected to the manager");
        }
        (east, west)
    }

    pub(crate) fn asked(line: &str) -> String {
        format!("{line} --manager 127.0.0.1 --keys {{keys}}")
    }

    pub(crate) fn deploy(&self, line: &str) -> (i32, String, String) {
        self.site.deploy(&Self::asked(line))
    }

    pub(crate) fn ok(&self, line: &str) -> String {
        self.site.ok(&Self::asked(line))
    }

    /// What the status says once all runs.
    pub(crate) fn whole(&self) -> String {
        patiently("all that runs", || {
            let (code, out, _) = self.deploy("status tracker");
            (code == 0).then_some(out)
        })
    }

    pub(crate) fn pids(status: &str) -> Vec<&str> {
        status.lines().filter_map(|line| line.split(", pid ").nth(1)).collect()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.east.processes().is_empty() && self.west.processes().is_empty()
    }
}

#[test]
fn a_plan_of_two_hosts_is_launched_changed_adopted_and_stopped() {
    alone(|| {
        let site = Site::new("hosts");
        site.site.has("tracker.toml", &Site::plan());
        let mut manager = site.manager();
        let (code, out, told) = site.deploy("launch {tracker.toml}");
        assert_eq!((code, out.as_str()), (1, ""), "{told}");
        assert!(
            told.contains("host east is not there: start punctual deploy node --name east on it"),
            "{told}"
        );
        let (mut east, mut west) = (site.node("east"), site.node("west"));
        assert_eq!(site.ok("launch {tracker.toml}"), "launched tracker\n");
        west.position();
        let status = site.whole();
        for part in [
            "host east: there\nhost west: there\ndeployment tracker (tracker.toml), epoch ",
            "  host east: has followed\n",
            "  host west: has followed\n",
            "  process sense: running, pid ",
            "      display (Display): active; ",
        ] {
            assert!(status.contains(part), "{part}\n{status}");
        }
        let pids = Site::pids(&status);
        assert_eq!(pids.len(), 2);
        // A command on a host says who leads.
        let (code, _, told) = site.east.deploy("stop tracker");
        assert!(code == 1 && told.contains("the execution manager at 127.0.0.1:7410 leads"), "{told}");

        // Another setting: the same processes go on.
        site.site.has("next.toml", &Site::plan().replace("gain = 0.25", "gain = 1.0"));
        let (code, steps, _) = site.deploy("diff {next.toml}");
        assert!(code == 1 && steps.contains("set airframe.gain = 1.0"), "{steps}");
        assert_eq!(site.ok("apply {next.toml}"), "applied tracker\n");
        let status = site.whole();
        assert_eq!(Site::pids(&status), pids, "{status}");
        assert!(status.contains("deployment tracker (next.toml)"), "{status}");

        // Events go on without a manager, and the next one adopts the processes.
        manager.kill();
        let (before, _) = west.position();
        let (after, _) =
            patiently("more positions", || Some(west.position()).filter(|(at, _)| *at > before + 5));
        assert!(after > before);
        let (code, _, told) = site.deploy("status tracker");
        assert!(code == 3 && told.contains("the execution manager at 127.0.0.1:7410: "), "{told}");
        let mut manager = site.manager();
        let status = site.whole();
        assert_eq!(Site::pids(&status), pids, "{status}");

        // One more component in the east, and the display elsewhere: its host in the west has nothing any more.
        site.site.has("east.toml", &Site::plan().replace("host = \"west\"", "host = \"east\""));
        assert_eq!(site.ok("apply {east.toml}"), "applied tracker\n");
        east.position();
        let status = site.whole();
        assert!(!status.contains("  host west:"), "{status}");
        assert_eq!(site.ok("stop tracker"), "stopped tracker\n");
        let (code, _, told) = site.deploy("status");
        assert!(code == 1 && told.contains("no deployment runs"), "{told}");
        for node in [&mut east, &mut west] {
            node.interrupt();
            assert!(node.ended().success());
            node.all_gone();
        }
        manager.interrupt();
        assert!(manager.ended().success());
        assert!(site.is_empty());
    });
}

#[test]
fn who_has_no_right_key_is_refused_and_told_why() {
    alone(|| {
        let site = Site::new("keys");
        site.site.has("tracker.toml", &Site::plan());
        let mut manager = site.manager();
        // Keys of another authority.
        let others = site.site.path("others");
        let authority = Authority::open(&others).unwrap();
        for role in [node("east"), Role::Operator(Name::new("eve").unwrap())] {
            authority.issue(role).unwrap();
        }
        let east = format!("node --manager 127.0.0.1 --name east --keys {}", others.display());
        let mut stranger = site.east.begin(&east);
        stranger.prints_with("no manager: 127.0.0.1:7410: its certificate is of another authority");
        stranger.interrupt();
        let (code, _, told) = site.site.deploy("status --manager 127.0.0.1 --keys {others}");
        assert!(code == 3 && told.contains("is of another authority"), "{told}");
        // The key of another host under the name of this one.
        let keys = site.keys();
        for end in ["pem", "key"] {
            std::fs::copy(keys.join(format!("node-west.{end}")), others.join(format!("node-east.{end}")))
                .unwrap();
        }
        std::fs::copy(keys.join("authority.pem"), others.join("authority.pem")).unwrap();
        let mut stranger = site.east.begin(&east);
        stranger.prints_with("its key is that of host west, and it says that it is east");
        stranger.interrupt();
        // A node manager gives no commands, and no other role does either.
        for end in ["pem", "key"] {
            std::fs::copy(keys.join(format!("node-west.{end}")), others.join(format!("operator-eve.{end}")))
                .unwrap();
        }
        let (code, _, told) = site.site.deploy("stop tracker --manager 127.0.0.1 --keys {others}");
        assert!(code != 0, "{told}");
        // No key at all, and names that no key has.
        let (code, _, told) = site.site.deploy("node --manager 127.0.0.1 --name north --keys {keys}");
        assert!(code == 2 && told.contains("node-north.pem") && told.contains("punctual grm keys"), "{told}");
        let (code, _, told) = site.site.deploy("node --manager 127.0.0.1 --name North --keys {keys}");
        assert!(code == 2 && told.contains("small letters"), "{told}");
        let (code, _, told) = site.site.deploy("status --manager 127.0.0.1");
        assert!(code == 2 && told.contains("--keys"), "{told}");
        manager.interrupt();
        assert!(manager.ended().success());
    });
}

/// A program that is not what the plan says, on one host: nothing is started on any.
#[test]
fn a_flipped_byte_in_a_program_starts_nothing() {
    alone(|| {
        let site = Site::new("flipped");
        let program = Place::example("tracker");
        let mut bytes = std::fs::read(&program).unwrap();
        let digest = ring::digest::digest(&ring::digest::SHA256, &bytes);
        let digest: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let plan = Site::plan()
            .replace(&format!("[\"{program}\"]"), &format!("[\"tracker\"]\ndigest = \"sha256:{digest}\""));
        site.site.has("tracker.toml", &plan);
        std::fs::copy(&program, site.west.path("tracker")).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(site.east.path("tracker"), &bytes).unwrap();
        let _manager = site.manager();
        let keys = site.keys();
        let nodes = [("east", &site.east), ("west", &site.west)].map(|(name, place)| {
            let programs = place.path("");
            let mut node = place.begin(&format!(
                "node --manager 127.0.0.1 --name {name} --keys {} --programs {}",
                keys.display(),
                programs.display()
            ));
            node.prints("punctual: connected to the manager");
            node
        });
        let (code, _, told) = site.deploy("launch {tracker.toml}");
        assert!(code == 1 && told.contains("host east: artefact tracker: "), "{told}");
        assert!(told.contains("is not what the plan says: its digest is sha256:"), "{told}");
        // The node managers alone.
        assert_eq!((site.east.processes().len(), site.west.processes().len()), (1, 1));
        for node in &nodes {
            node.interrupt();
        }
    });
}

/// The network file and policies go to the manager with the plan: the manager refuses what the network or a policy refuses, before it asks any host.
#[test]
fn the_manager_plans_the_network() {
    const LAB: &str = include_str!("../plans/line-lab.toml");
    let processes = [("p1", "sense"), ("p2", "act"), ("p3", "show")]
        .map(|(process, host)| format!("[process.{process}]\nhost = \"{host}\"\nartefact = \"all\"\n"));
    let plan = include_str!("../plans/line.toml").to_owned()
        + "[artefact.all]\nlocation = [\"line\"]\n"
        + &processes.concat();
    alone(|| {
        let site = Site::new("network");
        let _manager = site.manager();
        site.site.has("line.toml", &plan);
        site.site.has("types.json", include_str!("../plans/line.json"));
        let launch = |lab: &str| {
            site.site.has("lab.toml", lab);
            let (code, out, told) = site.deploy("launch {line.toml}");
            assert_eq!((code, out.as_str()), (1, ""), "{told}");
            told
        };
        assert!(launch(LAB).contains(" is not there: start punctual deploy node"));
        let slow = launch(&LAB.replace("100 Mb/s", "1 Mb/s"));
        assert!(slow.contains("refuses \"view\" within 10 ms: "), "{slow}");
        // A policy that allows both flows, and one that does not.
        site.site.has("line.toml", &format!("policies = [\"policy.toml\"]\n{plan}"));
        let rule = |host: &str| {
            format!("default = \"deny\"\n[[rule]]\nhosts = [\"{host}\"]\ntopics = [\"Line/*\"]\n")
        };
        site.site.has("policy.toml", &rule("*"));
        assert!(launch(LAB).contains(" is not there: start punctual deploy node"));
        site.site.has("policy.toml", &rule("act"));
        let forbidden = launch(LAB);
        assert!(forbidden.contains("policy.toml does not allow \"view\" to show"), "{forbidden}");
        assert!(!forbidden.contains(" is not there"), "{forbidden}");
    });
}

/// The commands of docs/deploy-hosts.md, in their order.
#[test]
fn the_guide_goes_as_it_is_written() {
    const PAGE: &str = include_str!("../../../../docs/deploy-hosts.md");
    alone(|| {
        let site = Place::new("guide");
        let places = [Place::new("guide-east"), Place::new("guide-west")];
        std::fs::create_dir(site.path("programs")).unwrap();
        std::fs::copy(Place::example("tracker"), site.path("programs/tracker")).unwrap();
        let plan = Site::plan().replace(&format!("[\"{}\"]", Place::example("tracker")), "[\"tracker\"]");
        site.has("tracker.toml", &plan);
        site.has("next.toml", &plan.replace("gain = 0.25", "gain = 1.0"));
        let is_file = |word: &str| {
            matches!(word, "keys" | "programs" | "programs/tracker")
                || word.contains(".toml")
                || word.contains(".redb")
        };
        let mut running: Vec<Supervisor> = Vec::new();
        let mut done = Vec::new();
        for line in PAGE.lines().filter_map(|line| line.strip_prefix("punctual ")) {
            if let Some(roles) = line.strip_prefix("grm keys keys ") {
                let authority = Authority::open(&site.path("keys")).unwrap();
                for role in roles.split(' ') {
                    assert!(authority.issue(role.parse().unwrap()).unwrap());
                }
                continue;
            }
            let line = line.strip_prefix("deploy ").unwrap().replace("192.0.2.1", "127.0.0.1");
            let word = |word: &str| match site.path(word).to_str() {
                Some(path) if is_file(word) => path.to_owned(),
                _ => word.to_owned(),
            };
            let typed: Vec<String> = line.split(' ').map(word).collect();
            let (verb, typed) = (line.split(' ').next().unwrap().to_owned(), typed.join(" "));
            match verb.as_str() {
                "manager" => {
                    running.push(site.begin(&typed));
                    running.last_mut().unwrap().prints("listens at ");
                }
                "node" => {
                    running.push(places[running.len() - 1].begin(&typed));
                    running.last_mut().unwrap().prints("punctual: connected to the manager");
                }
                "status" => patiently("all that runs", || (site.deploy(&typed).0 == 0).then_some(())),
                "diff" => assert_eq!(site.deploy(&typed).0, 1),
                _ => drop(site.ok(&typed)),
            }
            done.push(verb);
        }
        assert_eq!(done, ["manager", "node", "node", "sign", "launch", "status", "diff", "apply", "stop"]);
        for program in &mut running {
            program.interrupt();
            assert!(program.ended().success());
        }
    });
}
