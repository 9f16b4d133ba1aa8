//! The agent of a switch's gates: hostile clients do no harm, and gates outlive it.
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::process::Command;
use std::time::Duration;

use gate::protocol::{Answer, Refusal, Request};
use gate::{Contract, Key, Kind};
use lab::Lab;
use lab::layout::GATE_PORT;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::three::{program, three, up};
use crate::traffic::{Counter, address, greet, send, socket};
use lab_turn::turn;

/// A connection without any manners.
fn connect(lab: &Lab) -> TcpStream {
    let namespace = lab.switch("s1").unwrap().namespace.clone();
    let file = std::fs::File::open(format!("/run/netns/{namespace}")).unwrap();
    let stream = std::thread::spawn(move || {
        nix::sched::setns(file, nix::sched::CloneFlags::CLONE_NEWNET).unwrap();
        TcpStream::connect((Ipv4Addr::LOCALHOST, GATE_PORT)).unwrap()
    });
    let stream = stream.join().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    stream
}

/// What the agent says next; nothing if it closes.
fn answer(stream: &TcpStream) -> Option<Answer> {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).unwrap();
    (!line.is_empty()).then(|| serde_json::from_str(&line).unwrap())
}

fn is_refused(answer: Option<&Answer>, why: Refusal) -> bool {
    matches!(answer, Some(Answer::Refused { reason, .. }) if *reason == why)
}

#[test]
fn hostile_clients_do_no_harm() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("gated"));
    let mut stream = connect(&lab);
    for line in
        ["nonsense\n", "{\"request\":\"set\"}\n", "[[[[[[[[[[\n", "\u{0}\u{1}\n", "{\"request\":\"open\"}\n"]
    {
        stream.write_all(line.as_bytes()).unwrap();
        let said = answer(&stream);
        assert!(is_refused(said.as_ref(), Refusal::Malformed), "{line:?}: {said:?}");
    }
    stream.write_all(b"{\"request\":\"limit\",\"port\":1,\"frames\":0}\n").unwrap();
    assert!(is_refused(answer(&stream).as_ref(), Refusal::Range));
    // A line without end: refused, and the connection is over.
    let _ = stream.write_all(&[b'['; 10_000]);
    assert!(is_refused(answer(&stream).as_ref(), Refusal::Malformed));
    // In the middle of a request; the next one is answered all the same.
    connect(&lab).write_all(b"{\"request\":").unwrap();
    // As many clients as there is room for, who say nothing; one more is told so.
    let mut idle: Vec<TcpStream> = Vec::new();
    let refused = (0..64).find_map(|_| {
        let stream = connect(&lab);
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let mut line = String::new();
        let heard = BufReader::new(&stream).read_line(&mut line).is_ok();
        idle.push(stream);
        heard.then_some(line)
    });
    let refused: Answer = serde_json::from_str(&refused.expect("not everybody is let in")).unwrap();
    assert!(is_refused(Some(&refused), Refusal::Full), "{refused:?}");
    assert!(idle.len() <= 9, "{} clients were let in", idle.len());
    idle.clear();
    let since = std::time::Instant::now();
    loop {
        let listed = lab.gate("s1").and_then(|mut client| client.ask(&Request::List));
        if matches!(listed, Ok(Answer::List { .. })) {
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "nobody is served any more: {listed:?}");
    }
}

#[test]
fn as_many_contracts_as_there_is_room_for_and_no_more() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("gated"));
    let mut client = lab.gate("s1").unwrap();
    let contract =
        Contract { kind: Kind::Messages, octets: 84, separation: 1_000, tolerance: 0, window: 0, dscp: 10 };
    let key = |port: u16| Key {
        source: Ipv4Addr::new(10, 1, 0, 1).into(),
        source_port: port,
        destination: Ipv4Addr::new(10, 1, 0, 3).into(),
        destination_port: 5_000,
    };
    for port in 1..=1_024 {
        let answer = client.ask(&Request::Set { port: 1, key: key(port), contract }).unwrap();
        assert_eq!(answer, Answer::Set { port: 1, key: key(port), contract });
    }
    let more = client.ask(&Request::Set { port: 1, key: key(1_025), contract }).unwrap();
    assert!(is_refused(Some(&more), Refusal::Full), "{more:?}");
    // One that is there can be changed all the same.
    let contract = Contract { octets: 840, ..contract };
    let changed = client.ask(&Request::Set { port: 1, key: key(7), contract }).unwrap();
    assert_eq!(changed, Answer::Set { port: 1, key: key(7), contract });
    assert!(
        matches!(client.ask(&Request::List), Ok(Answer::List { contracts, .. }) if contracts.len() == 1_024)
    );
    assert_eq!(client.ask(&Request::Clear), Ok(Answer::Cleared { contracts: 1_024 }));
    assert!(matches!(client.ask(&Request::List), Ok(Answer::List { contracts, .. }) if contracts.is_empty()));
}

#[test]
fn gates_outlive_their_agent() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("gated"));
    greet(&lab, "a", "c");
    let key = Key {
        source: lab.host_address("a").unwrap().into(),
        source_port: 6_000,
        destination: lab.host_address("c").unwrap().into(),
        destination_port: 5_000,
    };
    let contract = Contract {
        kind: Kind::Messages,
        octets: 10 * 130,
        separation: 3_600_000_000_000,
        tolerance: 0,
        window: 3_600_000_000_000,
        dscp: 10,
    };
    let set = lab.gate("s1").unwrap().ask(&Request::Set { port: 1, key, contract }).unwrap();
    assert_eq!(set, Answer::Set { port: 1, key, contract });
    let namespace = lab.switch("s1").unwrap().namespace.clone();
    let agent = std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let line = std::fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        let ours = line.contains("gate serve") && line.contains(&lab.record().name);
        ours.then(|| (entry.file_name().to_str().unwrap().parse::<i32>().unwrap(), line))
    });
    let (id, line) = agent.unwrap();
    kill(Pid::from_raw(id), Signal::SIGKILL).unwrap();
    // Nobody sets it, and it holds: ten datagrams are one message, and an hour goes to the next.
    let counter = Counter::on(socket(&lab, "c", 5_000, 0));
    send(&socket(&lab, "a", 6_000, 0), address(&lab, "c", 5_000), 64, 100, Duration::from_micros(100));
    assert_eq!(counter.numbers().len(), 10);

    let arguments: Vec<&str> = line.split_whitespace().skip(1).collect();
    // `ip netns exec` has file systems of its own, and would not find the pins.
    let mut again = Command::new("nsenter");
    again.arg(format!("--net=/run/netns/{namespace}")).arg(program()).args(&arguments);
    again.env("PUNCTUAL_LAB", &lab.record().name).stdout(std::process::Stdio::piped());
    let mut again = again.spawn().unwrap();
    let mut ready = [0; 6];
    again.stdout.take().unwrap().read_exact(&mut ready).unwrap();
    let listed = lab.gate("s1").unwrap().ask(&Request::List).unwrap();
    let Answer::List { contracts, .. } = listed else { panic!("{listed:?}") };
    assert_eq!((contracts[0].key, contracts[0].contract), (key, contract));
    let counters = contracts[0].counters;
    assert_eq!((counters.messages, counters.frames, counters.dropped()), (1, 10, 90));
    // What was sent is not forgotten.
    let counter = Counter::on(socket(&lab, "c", 5_000, 0));
    send(&socket(&lab, "a", 6_000, 0), address(&lab, "c", 5_000), 64, 10, Duration::from_micros(100));
    assert_eq!(counter.numbers().len(), 0);
    drop(lab);
    again.wait().unwrap();
}

#[test]
fn a_manager_of_a_lower_epoch_changes_nothing() {
    let Some(_turn) = turn() else { return };
    let lab = up(&three("gated"));
    let [mut old, mut new, mut tool] = [(); 3].map(|()| lab.gate("s1").unwrap());
    let limit = Request::Limit { port: 1, frames: 4_321 };
    let set = Answer::Limit { port: 1, frames: 4_321 };
    assert_eq!(old.ask(&Request::Lead { epoch: 7 }), Ok(Answer::Leads { epoch: 7 }));
    assert_eq!(old.ask(&limit).unwrap(), set);
    assert_eq!(new.ask(&Request::Lead { epoch: 8 }), Ok(Answer::Leads { epoch: 8 }));
    for request in [limit, Request::Clear, Request::Lead { epoch: 7 }] {
        let answer = old.ask(&request).unwrap();
        assert!(is_refused(Some(&answer), Refusal::Stale), "{request:?}: {answer:?}");
    }
    assert!(matches!(old.ask(&Request::List), Ok(Answer::List { .. })), "it may look");
    assert_eq!([new.ask(&limit).unwrap(), tool.ask(&limit).unwrap()], [set.clone(), set]);
    let mut late = lab.gate("s1").unwrap();
    let answer = late.ask(&Request::Lead { epoch: 7 }).unwrap();
    assert!(is_refused(Some(&answer), Refusal::Stale), "{answer:?}");
    assert!(is_refused(Some(&late.ask(&Request::Clear).unwrap()), Refusal::Stale));
}
