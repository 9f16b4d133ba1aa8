//! Processes that the system gives no more: no descriptors, no files; and another user that knocks at the door of shared memory.
use std::collections::BTreeSet;
use std::time::Duration;

use crate::expected::expected;
use crate::place::{Lan, Place, turn};
use crate::program::{Got, PATIENCE, Program};

/// How long the processor time of a victim is measured.
const LOOK: Duration = Duration::from_secs(3);
/// Most of that time that it may use more than one that is left alone.
const SHARE: f64 = 0.1;
/// Readers without a free descriptor.
const READERS: usize = 5;

/// Writes samples, a small and a large one, unless it has; the reader must get them.
fn must_arrive(writer: &mut Program, reader: &Program, first: u64) {
    for (number, size) in (first..).zip([10, 100_000]) {
        if !writer.has(&format!("wrote {number}")) {
            writer.tell(&format!("write {number} {size}"));
        }
        reader.wait(&format!("got {number} "));
        let got: Vec<Got> = reader.samples().into_iter().map(|(_, got)| got).collect();
        assert!(got.contains(&expected(number, size)), "{number} is not what was written");
    }
}

/// Seconds of processor time that an idle victim uses within the look.
fn used(program: &Program) -> f64 {
    let before = program.processor();
    std::thread::sleep(LOOK);
    program.processor() - before
}

/// An idle reader that no one disturbs.
fn undisturbed(place: &Place) -> f64 {
    let reader = Program::start("the undisturbed reader", place, "sub Undisturbed shm=on");
    reader.wait("ready");
    used(&reader)
}

#[test]
fn without_a_free_descriptor_samples_come_by_udp_and_the_processor_is_left_alone() {
    let _turn = turn();
    let Some(lan) = Lan::of(1) else { return };
    let host = &lan.hosts[0];
    let alone = undisturbed(host);
    // Which of two processes lets the other in is up to random numbers of theirs.
    let mut readers: Vec<Program> =
        (0..READERS).map(|_| Program::start("the reader", host, "sub Scarce shm=on")).collect();
    for reader in &readers {
        reader.wait("ready");
    }
    // The readers have met by now, and hold all descriptors that they need for that.
    std::thread::sleep(Duration::from_secs(1));
    for reader in &readers {
        let open = std::fs::read_dir(format!("/proc/{}/fd", reader.id())).unwrap();
        let open: BTreeSet<u32> =
            open.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect();
        let next = (0..).find(|number| !open.contains(number)).unwrap();
        host.run("prlimit", &format!("--pid {} --nofile={next}:{next}", reader.id()));
    }
    let before: Vec<f64> = readers.iter().map(Program::processor).collect();
    let mut writer = Program::start("the writer", host, "pub Scarce shm=on");
    writer.wait(&format!("matched {READERS}"));
    for reader in &readers {
        must_arrive(&mut writer, reader, 1);
    }
    std::thread::sleep(LOOK);
    for (reader, before) in readers.iter_mut().zip(before) {
        let scarce = reader.processor() - before;
        assert!(
            scarce <= alone + SHARE * LOOK.as_secs_f64(),
            "{scarce} s, {alone} s undisturbed in {LOOK:?}"
        );
        assert!(reader.lives());
    }
}

#[test]
fn where_no_file_may_grow_samples_come_all_the_same() {
    let Some(lan) = Lan::of(1) else { return };
    let host = &lan.hosts[0];
    let mut limited = Program::start_by("the reader", host, &["prlimit", "--fsize=0"], "sub Files shm=on");
    let mut writer = Program::start("the writer", host, "pub Files shm=on");
    limited.wait("matched 1");
    writer.wait("matched 1");
    must_arrive(&mut writer, &limited, 1);
    let mut other =
        Program::start_by("the other writer", host, &["prlimit", "--fsize=0"], "pub Files shm=on");
    limited.wait("matched 2");
    other.wait("matched 1");
    must_arrive(&mut other, &limited, 11);
    assert!(limited.lives() && other.lives());
}

#[test]
fn another_user_that_knocks_without_end_costs_little_and_keeps_no_one_out() {
    let _turn = turn();
    let Some(lan) = Lan::of(1) else { return };
    let host = &lan.hosts[0];
    let alone = undisturbed(host);
    let mut reader = Program::start("the reader", host, "sub Knocked shm=on");
    reader.wait("ready");
    // Nobody listens before there is somebody to meet: a first writer, which then leaves.
    let names = || {
        let sockets = host.on(|| std::fs::read_to_string("/proc/thread-self/net/unix").unwrap());
        let names = sockets.lines().filter_map(|line| line.split_once("@punctual-"));
        names.map(|(_, name)| name.trim().to_owned()).collect::<BTreeSet<_>>()
    };
    let first = Program::start("the first writer", host, "pub Knocked shm=on");
    first.until(PATIENCE, || names().len() == 2);
    drop(first);
    reader.until(PATIENCE, || names().len() == 1);
    let name = names().pop_first().unwrap();
    let by = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let knock = format!("knock punctual-{name}");
    let knocker = Program::start_by("the other user", host, &by, &knock);
    knocker.wait("ready");
    let knocked = used(&reader);
    let others = knocker.processor();
    let mut writer = Program::start("the writer", host, "pub Knocked shm=on");
    writer.wait("matched 1");
    must_arrive(&mut writer, &reader, 1);
    assert!(others > 0.3, "the other user hardly knocked: {others} s of processor");
    assert!(knocked <= alone + SHARE * LOOK.as_secs_f64(), "{knocked} s of {LOOK:?}, {alone} s undisturbed");
    assert!(reader.lives());
}
