//! Exported processes, started by the commands of their units as they stand, without systemd.
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::expected;
use crate::place::{Place, Supervisor};
use crate::units::{Unit, verify};

/// How long a process may take until its components work: on a busy machine it takes much less.
const LIMIT: Duration = Duration::from_secs(120);

/// An exported deployment, and the socket on which its processes tell that they work.
struct Exported<'p> {
    place: &'p Place,
    units: PathBuf,
    told: UnixDatagram,
}

impl<'p> Exported<'p> {
    fn new(place: &'p Place, options: &str) -> Self {
        export(place, options);
        let told = UnixDatagram::bind(place.path("notify")).unwrap();
        told.set_read_timeout(Some(LIMIT)).unwrap();
        Self { place, units: place.path("units"), told }
    }

    /// The names of the services, in the order in which systemd starts them.
    fn services(&self, deployment: &str) -> Vec<String> {
        let target = Unit::open(&self.units.join(format!("punctual-{deployment}.target")));
        target.all("Unit", "Wants").to_vec()
    }

    /// Starts a process as its unit says.
    fn start(&self, service: &str) -> Supervisor {
        let unit = Unit::open(&self.units.join(service));
        let words = unit.command();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(unit.one("Service", "WorkingDirectory").unwrap());
        command.env_clear().envs(unit.environment().iter().map(|variable| variable.split_once('=').unwrap()));
        command.env("NOTIFY_SOCKET", self.place.path("notify"));
        self.place.start(command)
    }

    /// Waits until a process says that it works.
    fn works(&self) {
        let mut buffer = [0; 64];
        let count = self.told.recv(&mut buffer).expect("a process says that it works");
        assert_eq!(&buffer[..count], b"READY=1");
    }
}

fn export(place: &Place, options: &str) {
    place.ok(&format!("export {{plan.toml}} --to systemd -o {{units}}{options}"));
}

#[test]
fn exported_processes_work_and_stop() {
    testkit::namespace::alone(|| {
        let place = Place::new("exported");
        place.has("plan.toml", &Place::plan());
        let exported = Exported::new(&place, "");
        let services = exported.services("tracker");
        assert_eq!(services, ["punctual-tracker.show.service", "punctual-tracker.sense.service"]);
        let mut processes: Vec<Supervisor> = Vec::new();
        for service in &services {
            processes.push(exported.start(service));
            exported.works();
        }
        let [show, sense] = &mut processes[..] else { panic!("two processes") };
        let (count, position) = show.position();
        assert_eq!(position, expected(count, 0.25), "position {count}");
        // A process that was killed is started again by its manager, here with another plan, and the other one goes on.
        sense.kill();
        place.has("plan.toml", &Place::plan().replace("gain = 0.25", "gain = 1.0"));
        export(&place, "");
        let mut sense = exported.start(&services[1]);
        exported.works();
        // With all of the gain the airframe is where the last fix is, which is a whole number.
        while !show.position().1.ends_with(".000") {}
        sense.terminate();
        assert!(sense.ended().success());
        show.interrupt();
        assert!(show.ended().success());
        assert_eq!(place.processes(), Vec::<u32>::new());
    });
}

/// Cores that the system does not grant are what the proof rests on.
#[test]
fn exported_processes_end_where_the_proof_does_not_hold() {
    testkit::namespace::alone(|| {
        let place = Place::new("exported-unproved");
        let program = Place::example("heating");
        place.ok(&format!("describe {program} -o {{heating.json}}"));
        let plan = include_str!("../../examples/heating.toml")
            .replace("../../../target/debug/examples/heating", &program);
        let plan = testkit::changed(&plan, "cores = 1\n", "cores = 1024\n");
        place.has("plan.toml", &testkit::changed(&plan, "cores = [0]", "cores = [1023]"));
        let room = "punctual-heating.room.service";
        let exported = Exported::new(&place, "");
        let mut process = exported.start(room);
        process.prints_with("export the plan with --unproved");
        assert_eq!(process.ended().code(), Some(3));
        std::fs::remove_file(place.path("notify")).unwrap();
        let exported = Exported::new(&place, " --unproved");
        let mut process = exported.start(room);
        exported.works();
        process.terminate();
        assert!(process.ended().success());
    });
}

#[test]
fn orders_that_cannot_be_carried_out_are_told() {
    testkit::namespace::alone(|| {
        let place = Place::new("exported-bad");
        place.has("plan.toml", &Place::plan());
        place.has(
            "fails.toml",
            &Place::plan().replace("settings.file", "settings.fails = true\nsettings.file"),
        );
        place.has("wrong.toml", "name = 1\n");
        for (order, told) in [
            ("sense@{none.toml}", "No such file"),
            ("sense@{wrong.toml}", "wrong.toml: "),
            ("sence@{plan.toml}", "the plan has no process \"sence\": it has sense, show"),
            ("show@{fails.toml}", "it is told to fail"),
        ] {
            let (process, file) = order.trim_end_matches('}').split_once("@{").unwrap();
            let mut command = Command::new(Place::example("tracker"));
            command.arg(format!("--serve={process}@{}", place.path(file).display()));
            let mut process = place.start(command);
            process.prints_with(told);
            assert_eq!(process.ended().code(), Some(3), "{order}");
        }
    });
}

#[test]
fn every_example_is_exported() {
    let examples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let files = std::fs::read_dir(&examples).unwrap().map(|entry| entry.unwrap().path());
    let plans: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|it| it == "toml")).collect();
    assert!(plans.len() >= 2, "{plans:?}");
    for plan in plans {
        let name = plan.file_stem().unwrap().to_str().unwrap();
        let (place, program) = (Place::new(&format!("exported-{name}")), Place::example(name));
        place.ok(&format!("describe {program} -o {{{name}.json}}"));
        let text = std::fs::read_to_string(&plan).unwrap();
        place.has("plan.toml", &text.replace(&format!("../../../target/debug/examples/{name}"), &program));
        export(&place, "");
        verify(&place.path("units"));
        place.ok("export {plan.toml} --to kubernetes --image registry/image:1 -o {manifests}");
        let id = text.lines().find_map(|line| line.strip_prefix("id = \"")?.strip_suffix('"')).unwrap();
        assert!(place.path(&format!("manifests/punctual-{id}.yaml")).is_file());
    }
}
