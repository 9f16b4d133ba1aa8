//! Processes that are killed in the middle of everything: the other side sees it, reads what was whole, and goes on; nothing is left.
//!
//! This program is the survivor, and started with the word `victim` the other side.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use shm::{
    Bell, Consumer, Doorbell, MIN_CAPACITY, Meeting, Producer, Refused, Said, Segment, Talk, Window, join,
    ready,
};

/// Longer than anything here takes; only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long a process lives at most before it is killed.
const LONGEST_LIFE: u64 = 3_000;

struct Link {
    producer: Producer,
    consumer: Consumer,
    bell: Bell,
    talk: Talk,
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, name] = arguments.as_slice()
        && word == "victim"
    {
        return victim(name);
    }
    let kills = tiers::current().number("shm.kills");
    let name = format!("punctual-crashes-{}", std::process::id());
    let meeting = Meeting::new(name.as_bytes()).unwrap();
    let doorbell = Doorbell::new().unwrap();
    let mut random = tiers::current().first_seed() | 1;
    let (mut talked, mut received) = (0_u64, 0_u64);
    // The first may make the allocator and the loader take what they keep.
    let mut before = None;
    for kill in 0..kills {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let life = Duration::from_micros((random >> 33) % LONGEST_LIFE);
        let mut child = start(&name);
        let from = survive(&meeting, &doorbell, &mut child, life);
        talked += u64::from(from > 0);
        received += from;
        let left = Left::look();
        let first = before.get_or_insert(left.clone());
        assert_eq!(left, *first, "after {} kills", kill + 1);
    }
    println!("{kills} processes killed, {talked} of them while they wrote, {received} messages read");
    assert!(talked > 0, "none of them lived long enough to write");
}

/// Meets a process, exchanges messages with it, and kills it after that time; gives how many messages it had written.
fn survive(meeting: &Meeting, doorbell: &Doorbell, child: &mut Child, life: Duration) -> u64 {
    let mut link = None;
    let met = Instant::now();
    // Time counts from when it begins to write; some are killed while they meet us.
    let meets = !life.as_micros().is_multiple_of(4);
    while link.is_none() && meets {
        assert!(met.elapsed() < PATIENCE, "the other process never came");
        ready(&[meeting.as_fd()], Some(PATIENCE)).unwrap();
        link = meeting.accept().unwrap().map(|talk| exchange(talk, doorbell).expect("it is not killed yet"));
    }
    let mut end = None;
    let (mut expected, mut sent, begun) = (0, 0_u64, Instant::now());
    let mut buffer = vec![0; 8_192];
    loop {
        if end.is_none() && begun.elapsed() >= life {
            child.kill().unwrap();
            child.wait().unwrap();
            end = Some(Instant::now());
        }
        let Some(link) = &mut link else {
            if end.is_some() {
                forget(meeting);
                return 0;
            }
            std::thread::yield_now();
            continue;
        };
        while let Some(len) = link.consumer.receive(&mut buffer).expect("it was an honest process") {
            check(&buffer[..len], expected);
            expected += 1;
        }
        match send(&mut link.producer, sent) {
            Ok(()) => sent += 1,
            Err(Refused::Full) => {}
            Err(refused) => panic!("{refused}"),
        }
        link.bell.ring();
        if let Some(end) = end {
            // Everything that was whole has been read: now the kernel has to say that it is gone.
            ready(&[link.talk.as_fd()], Some(PATIENCE)).unwrap();
            assert!(matches!(link.talk.hear(&mut [0; 16]), Ok(Said::Gone)));
            assert!(end.elapsed() < PATIENCE && !link.consumer.is_ready());
            return expected;
        }
        let consumer = &link.consumer;
        doorbell.sleep(Duration::from_millis(1), || consumer.is_ready());
    }
}

fn start(name: &str) -> Child {
    let own = std::env::current_exe().unwrap();
    Command::new(own).args(["victim", name]).stdin(Stdio::null()).spawn().unwrap()
}

fn victim(name: &str) {
    let doorbell = Doorbell::new().unwrap();
    let mut link = exchange(Talk::new(name.as_bytes()).unwrap(), &doorbell).unwrap();
    let (mut sent, mut expected) = (0, 0);
    let mut buffer = vec![0; 8_192];
    // Nobody is left behind, should the survivor end.
    while !matches!(link.talk.hear(&mut [0; 16]), Ok(Said::Gone)) {
        for _ in 0..100 {
            if send(&mut link.producer, sent).is_ok() {
                sent += 1;
            }
            link.bell.ring();
            if let Some(len) = link.consumer.receive(&mut buffer).unwrap() {
                check(&buffer[..len], expected);
                expected += 1;
            }
        }
    }
}

/// A message tells its number in each word.
fn send(producer: &mut Producer, number: u64) -> Result<(), Refused> {
    let mut loan = producer.loan((number % 1_000) as usize * 8 + 8)?;
    loan.as_chunks_mut::<8>().0.iter_mut().for_each(|word| *word = number.to_ne_bytes());
    loan.commit();
    Ok(())
}

fn check(message: &[u8], number: u64) {
    assert_eq!(message.len(), (number % 1_000) as usize * 8 + 8);
    assert!(
        message.as_chunks::<8>().0.iter().all(|word| *word == number.to_ne_bytes()),
        "message {number} is torn"
    );
}

fn exchange(talk: Talk, doorbell: &Doorbell) -> Option<Link> {
    let nonce = u64::from(std::process::id());
    let segment = Segment::new(nonce, MIN_CAPACITY).unwrap();
    talk.say(&nonce.to_ne_bytes(), &[segment.file(), doorbell.file()]).ok()?;
    ready(&[talk.as_fd()], Some(PATIENCE)).unwrap();
    let mut words = [0; 8];
    let Said::Words(8, files) = talk.hear(&mut words).unwrap() else { return None };
    let window = Window::open(files[0].as_fd(), u64::from_ne_bytes(words)).unwrap();
    let bell = Bell::open(files[1].as_fd()).unwrap();
    let (producer, consumer) = join(segment, window);
    Some(Link { producer, consumer, bell, talk })
}

/// Takes those who came and were killed since.
fn forget(meeting: &Meeting) {
    while meeting.accept().unwrap().is_some() {}
}

/// What this process and the host hold.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Left {
    descriptors: usize,
    mappings: usize,
    children: usize,
    files: Vec<std::ffi::OsString>,
}

impl Left {
    fn look() -> Self {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let thread = std::fs::read_to_string("/proc/thread-self/children").unwrap_or_default();
        // Others use /dev/shm too, by their own names.
        let files =
            std::fs::read_dir("/dev/shm").into_iter().flatten().flatten().map(|file| file.file_name());
        let ours = |name: &std::ffi::OsString| name.to_string_lossy().contains("punctual");
        Self {
            descriptors: std::fs::read_dir("/proc/self/fd").unwrap().count(),
            mappings: maps.lines().filter(|line| line.contains("memfd:punctual")).count(),
            children: thread.split_whitespace().count(),
            files: files.filter(ours).collect(),
        }
    }
}
