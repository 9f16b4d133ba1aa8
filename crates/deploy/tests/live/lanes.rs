//! Threads of lanes as the system has them, and processes in control groups.
use std::path::PathBuf;
use std::time::Duration;

use container::{Scheduling, Threads};

use crate::place::Place;

/// A plan whose lane is of this class.
fn plan(lane: &str) -> String {
    testkit::changed(
        &Place::plan(),
        "lanes.control = { threads = 1 }",
        &format!("lanes.control = {{ {lane} }}"),
    )
}

/// The name, real-time priority and scheduling policy of each thread of a process that has a policy of its own.
fn scheduling(pid: u32) -> Vec<(String, u32, u32)> {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let stats = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("stat")).ok());
    let of_thread = |stat: String| {
        let (head, rest) = stat.rsplit_once(") ")?;
        let (_, name) = head.split_once('(')?;
        // Fields 40 and 41 of proc(5), of which the rest begins with the third.
        let mut fields = rest.split(' ').skip(37).map_while(|field| field.parse().ok());
        Some((name.to_owned(), fields.next()?, fields.next()?))
    };
    stats.filter_map(of_thread).filter(|(_, _, policy)| *policy != 0).collect()
}

/// Whether this test may have threads of real-time classes; where it may not, it says so.
pub(crate) fn may() -> bool {
    let (runtime, period) = (Duration::from_micros(50), Duration::from_millis(10));
    let scheduling = Scheduling::Deadline { runtime, period };
    let granted = Threads::try_deadline(&[Threads { scheduling, ..Threads::default() }]);
    granted.inspect_err(|error| eprintln!("passed over: {error}")).is_ok()
}

#[test]
fn lanes_are_round_robin_or_have_a_deadline_as_the_plan_says() {
    if !may() {
        return;
    }
    testkit::namespace::alone(|| {
        let place = Place::new("classes");
        for (lane, expected, names_expected) in [
            ("class = \"fifo\", priority = 6", (6, 1), &["flight-1"][..]),
            ("class = \"round-robin\", priority = 7", (7, 2), &["flight-1"]),
            ("class = \"deadline\", runtime = \"50 us\", period = \"10 ms\"", (0, 6), &["flight-1"]),
            // The timer of the receiver and the consumer of the airframe.
            (
                "class = \"round-robin\", priority = 7, dispatch = \"own\"",
                (7, 2),
                &["airframe.fix", "gps.tick"],
            ),
            ("class = \"fifo\", priority = 6, dispatch = \"earliest-deadline\"", (6, 1), &["flight-edf"]),
        ] {
            // Not pinned: the kernel lets threads of the class deadline go to all cores.
            place.has("tracker.toml", &plan(lane));
            let mut supervisor = place.launch("tracker.toml");
            supervisor.position();
            let threads = scheduling(place.pid_of("sense"));
            let mut names: Vec<&str> = threads.iter().map(|(name, ..)| name.as_str()).collect();
            names.sort_unstable();
            assert_eq!(names, names_expected, "{lane}");
            assert!(
                threads.iter().all(|(_, priority, policy)| (*priority, *policy) == expected),
                "{threads:?}"
            );
            assert!(!place.ok("status tracker").contains("not permitted"), "{lane}");
            assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
            assert!(supervisor.ended().success());
            supervisor.all_gone();
        }
    });
}

#[test]
fn a_publisher_that_is_silent_is_reported() {
    testkit::namespace::alone(|| {
        let place = Place::new("silence");
        // It publishes each 10 ms.
        let silent = "to = [\"airframe.fix\"]\npublisher-silence = \"1 ms\"";
        place.has("tracker.toml", &testkit::changed(&Place::plan(), "to = [\"airframe.fix\"]", silent));
        let mut supervisor = place.launch("tracker.toml");
        supervisor.prints_with("has published nothing for longer than its connection allows");
        assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
        assert!(supervisor.ended().success());
    });
}

/// The plan says that the host has one core. The kernel, which knows of more, refuses the class to a thread that is kept on one.
#[test]
fn what_the_kernel_refuses_to_the_class_deadline_is_not_launched() {
    if !may() {
        return;
    }
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        eprintln!("passed over: one core is all of them");
        return;
    }
    testkit::namespace::alone(|| {
        let place = Place::new("pinned");
        let pinned = "class = \"deadline\", runtime = \"50 us\", period = \"10 ms\", cores = [0]";
        place.has("tracker.toml", &plan(pinned));
        let (code, out, told) = place.deploy("launch {tracker.toml}");
        assert_eq!((code, out.as_str()), (1, ""), "{told}");
        assert!(told.contains("the class deadline is not permitted on the cores [0]"), "{told}");
        assert!(told.contains("cpuset.cpus.partition"), "{told}");
        assert_eq!(place.processes(), [0; 0]);
        // Of a host with two cores the plan itself says so.
        place.has("tracker.toml", &testkit::changed(&plan(pinned), "cores = 1\n", "cores = 2\n"));
        let (code, out, told) = place.deploy("launch {tracker.toml}");
        assert_eq!((code, out.as_str()), (1, ""), "{told}");
        assert!(told.contains("tracker.toml:") && told.contains("on some cores of several"), "{told}");
    });
}

/// Where all control groups of version 2 are, if this test may make some; where it may not, it says so.
fn groups() -> Option<PathBuf> {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    // The root of the mount, and its place; after a dash its type. A mount of which the root is not that of all groups is another one's part.
    let place = |line: &str| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut words = mount.split(' ').skip(3);
        let is_whole = words.next() == Some("/") && kind.starts_with("cgroup2 ");
        words.next().filter(|_| is_whole).map(PathBuf::from)
    };
    let Some(root) = mounts.lines().filter_map(place).next_back() else {
        eprintln!("passed over: control groups of version 2 are not mounted here from their root");
        return None;
    };
    let probe = root.join(format!("punctual-probe-{}", std::process::id()));
    if let Err(error) = std::fs::create_dir(&probe) {
        eprintln!("passed over: {}: {error}", probe.display());
        return None;
    }
    std::fs::remove_dir(&probe).unwrap();
    Some(root)
}

#[test]
fn a_process_is_in_its_control_group_which_is_removed_after_it() {
    let Some(root) = groups() else { return };
    testkit::namespace::alone(|| {
        let place = Place::new("group");
        let name = format!("punctual-test-{}", std::process::id());
        let text = testkit::changed(
            &Place::plan(),
            "[process.sense]\n",
            &format!("[process.sense]\ncgroup = \"{name}/sense\"\n"),
        );
        place.has("tracker.toml", &text);
        let mut supervisor = place.launch("tracker.toml");
        supervisor.position();
        let group = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
        let pid = place.pid_of("sense");
        assert!(group(pid).lines().any(|line| line == format!("0::/{name}/sense")), "{}", group(pid));
        assert!(!group(place.pid_of("show")).contains(&name));
        // The next process is in it again.
        crate::place::kill(pid);
        supervisor.prints("punctual: process sense ended: killed by signal 9");
        testkit::patience::patiently("the process is started again in its group", || {
            let procs = std::fs::read_to_string(root.join(&name).join("sense/cgroup.procs"));
            procs.ok()?.lines().any(|line| line != pid.to_string()).then_some(())
        });
        assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
        assert!(supervisor.ended().success());
        assert!(!root.join(&name).exists(), "groups that were made are removed");

        // A group that is not this program's stays, and a group that cannot be made starts nothing.
        std::fs::create_dir(root.join(&name)).unwrap();
        let mut supervisor = place.launch("tracker.toml");
        assert_eq!(place.ok("stop tracker"), "stopped tracker\n");
        assert!(supervisor.ended().success());
        supervisor.all_gone();
        assert!(root.join(&name).exists() && !root.join(&name).join("sense").exists());
        std::fs::remove_dir(root.join(&name)).unwrap();
    });
}
