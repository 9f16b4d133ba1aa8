//! Labs come and go, and leave nothing, however they end.
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use lab::{Condition, Lab, Options, down, list};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::three::{program, three, up};
use crate::traffic::{Counter, address, greet, send, socket};
use lab_turn::{Folder, name, network, turn};

/// Settings of the machine for the sockets of all programs.
fn settings() -> [String; 2] {
    ["wmem", "rmem"]
        .map(|name| std::fs::read_to_string(format!("/proc/sys/net/core/{name}_default")).unwrap())
}

/// What there is of a lab: namespaces, processes, mounts, folders.
fn left(name: &str) -> Vec<String> {
    let mut left = Vec::new();
    let names = |folder: &str| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<_>>()
    };
    let prefix = format!("{name}-");
    left.extend(names("/run/netns").into_iter().filter(|file| file.starts_with(&prefix)));
    left.extend(names(lab::PLACE).into_iter().filter(|file| file == name));
    let mark = format!("PUNCTUAL_LAB={name}");
    for id in names("/proc").into_iter().filter(|id| id.parse::<u32>().is_ok()) {
        let environment = std::fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        if environment.split(|octet| *octet == 0).any(|entry| entry == mark.as_bytes()) {
            left.push(format!("process {id}"));
        }
    }
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let place = format!("{}/{name}/", lab::PLACE);
    left.extend(mounts.lines().filter(|line| line.contains(&place)).map(str::to_owned));
    left
}

fn condition(name: &str) -> Option<Condition> {
    list().unwrap().into_iter().find(|lab| lab.name == name).map(|lab| lab.condition)
}

#[test]
fn hosts_hear_each_other_and_two_labs_do_not() {
    let Some(_turn) = turn() else { return };
    let before = settings();
    let (one, other) = (up(&three("gated")), up(&three("plain")));
    assert_eq!(settings(), before, "the machine's settings are as before");
    let names = [one.record().name.clone(), other.record().name.clone()];
    for lab in [&one, &other] {
        greet(lab, "a", "c");
        greet(lab, "b", "c");
        assert_eq!(condition(&lab.record().name), Some(Condition::Alive));
        // A group reaches everybody.
        let listening = ["b", "c"].map(|host| {
            let socket = socket(lab, host, 7_400, 0);
            let group = std::net::Ipv4Addr::new(239, 255, 0, 1);
            socket.join_multicast_v4(&group, &lab.host_address(host).unwrap()).unwrap();
            Counter::on(socket)
        });
        let group = "239.255.0.1:7400".parse().unwrap();
        send(&socket(lab, "a", 0, 0), group, 64, 10, Duration::from_millis(1));
        for counter in listening {
            assert_eq!(counter.numbers().len(), 10);
        }
    }
    // The same addresses, and nobody hears the other lab.
    assert_eq!(one.host_address("a"), other.host_address("a"));
    let counter = Counter::on(socket(&other, "c", 5_000, 0));
    send(&socket(&one, "a", 0, 0), address(&one, "c", 5_000), 64, 10, Duration::from_millis(1));
    assert_eq!(counter.numbers().len(), 0);

    let missing = one.command("d", "true").unwrap_err().to_string();
    assert!(missing.contains("no host \"d\"") && missing.contains("a, b, c"), "{missing}");
    let shown = one.command("b", "ip").unwrap().args(["-br", "address", "show", "eth0"]).output().unwrap();
    assert!(String::from_utf8(shown.stdout).unwrap().contains("10.1.0.2/16"));

    let again = Lab::up(&network(three("plain").as_str()), &names[0]).unwrap_err();
    assert!(again.to_string().contains("punctual lab down"), "{again}");
    assert_eq!(condition(&names[0]), Some(Condition::Alive), "the refusal does no harm");
    drop(one);
    other.down().unwrap();
    for name in names {
        assert_eq!(left(&name), Vec::<String>::new());
        assert_eq!(down(&name), Ok(false));
    }
}

/// A lab that is being built by a process of its own.
struct Up {
    name: String,
    _folder: Folder,
    process: std::process::Child,
}

impl Up {
    fn start(text: &str) -> Self {
        let folder = Folder::new();
        let (file, name) = (folder.file("net.toml", text), name());
        let mut command = Command::new(program());
        command.args(["lab", "up", "--name", &name]).arg(file).stdin(Stdio::null());
        let process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { name, _folder: folder, process }
    }

    /// Waits until so many things of it are there, or it has ended.
    fn has(&mut self, count: usize) {
        while left(&self.name).len() < count && self.process.try_wait().unwrap().is_none() {
            thread::yield_now();
        }
    }

    fn signal(&self, signal: Signal) {
        let _ = kill(Pid::from_raw(self.process.id().cast_signed()), signal);
    }
}

/// Everything that labs are made of: gates, a delay, a control channel.
fn everything() -> String {
    let text = three("gated").replace("name = \"c\"\n", "name = \"c\"\nmanager = true\n");
    text.replace("rate = \"20 Mb/s\"", "rate = \"20 Mb/s\"\ndelay = \"1 ms\"")
}

#[test]
fn the_sockets_of_a_switch_have_room_where_settings_for_all_sockets_cannot_be_changed() {
    let Some(_turn) = turn() else { return };
    // The kernel refuses changes of them in a network namespace that is not its first one, such as that of a container.
    testkit::namespace::bare(|| {
        let lab = up(&three("gated"));
        let place = Path::new(lab::PLACE).join(&lab.record().name);
        let process = std::fs::read_to_string(place.join("switch-s1/vswitchd.pid")).unwrap();
        let process = process.trim();
        let shown = Command::new("nsenter")
            .arg(format!("--net=/proc/{process}/ns/net"))
            .args(["ss", "-O0nmp"])
            .output();
        let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
        let size = |line: &str, name: &str| -> u64 {
            let text = line.split([',', '(']).find_map(|part| part.strip_prefix(name)).expect(line);
            text.parse().expect(line)
        };
        let of_switch = shown.lines().filter(|line| line.contains(&format!("pid={process},")));
        let sizes: Vec<_> = of_switch.map(|line| (size(line, "rb"), size(line, "tb"))).collect();
        // One for each port, and one to send by.
        assert!(sizes.len() > 3, "{shown}");
        assert!(sizes.iter().all(|(received, sent)| (*received).min(*sent) >= 4 << 20), "{shown}");
    });
}

#[test]
fn what_a_killed_builder_leaves_is_removed() {
    let Some(_turn) = turn() else { return };
    let before = settings();
    let mut whole = Up::start(&everything());
    assert!(whole.process.wait().unwrap().success());
    let points = left(&whole.name).len();
    assert!(points > 8, "{:?}", left(&whole.name));
    let mut command = Command::new(program());
    assert!(command.args(["lab", "down", &whole.name]).stdout(Stdio::null()).status().unwrap().success());
    assert_eq!(left(&whole.name), Vec::<String>::new());
    // Killed when so many things of it are there.
    for point in 0..points {
        let mut up = Up::start(&everything());
        up.has(point);
        up.signal(Signal::SIGKILL);
        let removed = Command::new(program()).args(["lab", "down", &up.name]).output().unwrap();
        let said = String::from_utf8_lossy(&removed.stderr);
        assert!(matches!(removed.status.code(), Some(0 | 1)), "point {point}: {said}");
        up.process.wait().unwrap();
        assert_eq!(left(&up.name), Vec::<String>::new(), "point {point}");
        assert_eq!(settings(), before, "point {point}");
    }
}

#[test]
fn an_interrupted_builder_leaves_nothing() {
    let Some(_turn) = turn() else { return };
    // When its place is there, a switch has still to be started, which takes longer than either.
    for point in [1, 3] {
        let mut up = Up::start(&everything());
        let place = Path::new(lab::PLACE).join(&up.name).join("lab.json");
        while !place.exists() && up.process.try_wait().unwrap().is_none() {
            thread::yield_now();
        }
        up.has(point);
        up.signal(Signal::SIGINT);
        let code = up.process.wait().unwrap().code();
        assert_eq!(code, Some(3), "point {point}");
        assert_eq!(left(&up.name), Vec::<String>::new(), "point {point}");
    }
}

#[test]
fn what_goes_wrong_while_building_is_undone() {
    let Some(_turn) = turn() else { return };
    let name = name();
    let options = Options { program: Some("/nowhere/punctual".into()), ..Options::default() };
    let network = network(&three("gated"));
    let error = Lab::up_with(&network, &name, &options).unwrap_err().to_string();
    assert!(error.contains("does not start") && error.contains("/nowhere/punctual"), "{error}");
    assert_eq!(left(&name), Vec::<String>::new());
    // A namespace of somebody else is not touched.
    let theirs = format!("{name}-b");
    assert!(Command::new("ip").args(["netns", "add", &theirs]).status().unwrap().success());
    let error = Lab::up_with(&network, &name, &options).unwrap_err().to_string();
    assert!(error.contains("not of this lab"), "{error}");
    let there = Path::new("/run/netns").join(&theirs).exists();
    assert!(Command::new("ip").args(["netns", "del", &theirs]).status().unwrap().success());
    assert!(there && left(&name).is_empty(), "{:?}", left(&name));
}

#[test]
fn who_is_not_root_is_told() {
    let Some(_turn) = turn() else { return };
    let folder = Folder::new();
    let copy = folder.0.join("punctual-lab");
    std::fs::copy(program(), &copy).unwrap();
    let file = folder.file("net.toml", &three("plain"));
    let mut command = Command::new("setpriv");
    command
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(copy)
        .args(["lab", "up"])
        .arg(file);
    let output = command.args(["--name", &name()]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("a lab needs root") && said.contains("use sudo"), "{said}");
}

#[test]
fn a_lab_that_lost_a_process_is_left_over() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("plain"));
    let folder = Path::new(lab::PLACE).join(&lab.record().name);
    let id = std::fs::read_to_string(folder.join("switch-s1/vswitchd.pid")).unwrap();
    assert_eq!(lab.ended(), None);
    kill(Pid::from_raw(id.trim().parse().unwrap()), Signal::SIGKILL).unwrap();
    testkit::patience::patiently("the end of the process", || {
        (condition(&lab.record().name) != Some(Condition::Alive)).then_some(())
    });
    assert_eq!(condition(&lab.record().name), Some(Condition::LeftOver));
    let said = lab.ended().unwrap();
    assert!(said.starts_with("1 of the lab's ") && said.contains("processes ended by themselves"), "{said}");
}

#[test]
fn what_another_version_left_is_removed() {
    let Some(_turn) = turn() else { return };
    let name = up(&three("plain")).keep().name;
    let file = Path::new(lab::PLACE).join(&name).join("lab.json");
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("\"version\": 1,") && text.contains("\"begun\""), "{text}");
    std::fs::write(
        &file,
        text.replace("\"version\": 1,", "\"version\": 99,").replace("\"begun\"", "\"since\""),
    )
    .unwrap();
    assert_eq!(condition(&name), Some(Condition::LeftOver));
    assert!(Lab::find(&name).unwrap_err().to_string().contains("punctual lab down"));
    assert_eq!((down(&name), left(&name)), (Ok(true), Vec::new()));
}
