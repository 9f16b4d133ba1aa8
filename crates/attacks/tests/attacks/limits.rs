//! Processes that the system gives no more: no descriptors, no files; and another user that knocks at the door of shared memory.
use std::collections::BTreeSet;

use testkit::patience::patiently;

use crate::expected::expected;
use crate::place::{Lan, turn};
use crate::program::{Got, Program};

/// Processor time of a busy process, in seconds, while which a victim is looked at: on a busy machine that takes longer.
const LOOK: f64 = 1.0;
/// Most of that time that an idle victim may use. One that is as busy gets as much.
const SHARE: f64 = 0.15;
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

/// Waits until a busy program has used the time of a look.
fn look(busy: &Program) {
    let before = busy.processor();
    patiently("processor time of the busy program", || (busy.processor() >= before + LOOK).then_some(()));
}

/// The descriptors that a program has open, once it opens no more.
fn descriptors(program: &Program) -> BTreeSet<u32> {
    let list = || -> BTreeSet<u32> {
        let open = std::fs::read_dir(format!("/proc/{}/fd", program.id())).unwrap();
        open.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect()
    };
    let (mut open, mut unchanged) = (list(), 0);
    patiently("the end of opening files", || {
        let now = list();
        unchanged = if now == open { unchanged + 1 } else { 0 };
        open = now;
        (unchanged == 20).then(|| open.clone())
    })
}

#[test]
fn without_a_free_descriptor_samples_come_by_udp_and_the_processor_is_left_alone() {
    let _turn = turn();
    let Some(lan) = Lan::of(1) else { return };
    let host = &lan.hosts[0];
    // Which of two processes lets the other in is up to random numbers of theirs.
    let mut readers: Vec<Program> =
        (0..READERS).map(|_| Program::start("the reader", host, "sub Scarce shm=on")).collect();
    for reader in &readers {
        reader.wait("ready");
    }
    for reader in &readers {
        // The readers have met, and hold all that they need for that.
        let open = descriptors(reader);
        let next = (0..).find(|number| !open.contains(number)).unwrap();
        host.run("prlimit", &format!("--pid {} --nofile={next}:{next}", reader.id()));
    }
    let mut writer = Program::start("the writer", host, "pub Scarce shm=on");
    writer.wait(&format!("matched {READERS}"));
    for reader in &readers {
        must_arrive(&mut writer, reader, 1);
    }
    let before: Vec<f64> = readers.iter().map(Program::processor).collect();
    look(&Program::start("the busy program", host, "spin"));
    for (reader, before) in readers.iter_mut().zip(before) {
        let scarce = reader.processor() - before;
        assert!(scarce <= SHARE * LOOK, "{scarce} s in {LOOK} s of a busy program");
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
    let mut reader = Program::start("the reader", host, "sub Knocked shm=on");
    reader.wait("ready");
    // Nobody listens before there is somebody to meet: a first writer, which then leaves.
    let names = || {
        let sockets = host.on(|| std::fs::read_to_string("/proc/thread-self/net/unix").unwrap());
        let names = sockets.lines().filter_map(|line| line.split_once("@punctual-"));
        names.map(|(_, name)| name.trim().to_owned()).collect::<BTreeSet<_>>()
    };
    let first = Program::start("the first writer", host, "pub Knocked shm=on");
    patiently("the names of two", || (names().len() == 2).then_some(()));
    drop(first);
    let name = patiently("one name alone", || {
        let mut names = names();
        names.pop_first().filter(|_| names.is_empty())
    });
    let by = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let knock = format!("knock punctual-{name}");
    let knocker = Program::start_by("the other user", host, &by, &knock);
    knocker.wait("ready");
    let before = reader.processor();
    look(&knocker);
    let knocked = reader.processor() - before;
    let mut writer = Program::start("the writer", host, "pub Knocked shm=on");
    writer.wait("matched 1");
    must_arrive(&mut writer, &reader, 1);
    assert!(knocked <= SHARE * LOOK, "{knocked} s in {LOOK} s of the other user");
    assert!(reader.lives());
}
