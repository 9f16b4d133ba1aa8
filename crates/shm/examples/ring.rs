//! Rings between two processes against plain UDP over loopback, in one run.
//!
//! ```sh
//! unshare -n sh -c 'ip link set lo up; exec "$@"' _ cargo run --release --package punctual-shm --example ring
//! ```
//!
//! The far end is the same program, started anew. Variants take turns inside each pass, and ratios are formed inside the pass:
//! other load of the machine moves the times but hardly the ratios. Round trips are given as medians over all passes of the passes'
//! medians; what is called `one core` has both processes on the first core that may be used, `two cores` each on one of its own.
use std::error::Error;
use std::hint::spin_loop;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use shm::{
    Bell, CAPACITY, Consumer, Doorbell, Meeting, Producer, Refused, Said, Segment, Talk, Window, join, ready,
};

type Failure = Box<dyn Error>;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);
const PASSES: usize = 9;
const ROUND_TRIPS: usize = 5_000;
const WARM_UP: usize = 500;
/// Messages of each pass of the throughput variants.
const MESSAGES: usize = 200_000;
/// Messages under way when loans are written: what lies in the caches of two cores, not in main memory.
const UNDER_WAY: u64 = 16;
const LARGE: usize = 16 << 10;

/// How an end waits for the next message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    Sleep,
    Spin,
}

struct Link {
    producer: Producer,
    consumer: Consumer,
    doorbell: Doorbell,
    bell: Bell,
    /// Ends with the other process.
    _talk: Talk,
}

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [word, variant, place, bytes] = arguments.as_slice()
        && word == "echo"
    {
        return far_end(variant, place, bytes.parse()?);
    }
    let cores = cores()?;
    let mut table = Table::default();
    for _ in 0..PASSES {
        for bytes in [64, 1_024, LARGE] {
            let udp = round_trips("udp", 0, bytes)?;
            table.add(format!("{bytes:6} bytes, one core, udp, blocking"), udp, udp);
            let sleeping = round_trips("sleep", 0, bytes)?;
            table.add(format!("{bytes:6} bytes, one core, ring, futex"), sleeping, udp);
        }
        if cores > 1 {
            for bytes in [64, 1_024, LARGE] {
                let udp = round_trips("udp", 1, bytes)?;
                table.add(format!("{bytes:6} bytes, two cores, udp, blocking"), udp, udp);
                for (variant, name) in [("sleep", "futex"), ("spin", "spinning")] {
                    let time = round_trips(variant, 1, bytes)?;
                    table.add(format!("{bytes:6} bytes, two cores, ring, {name}"), time, udp);
                }
            }
            for (variant, name) in [("loan", "written whole and copied out"), ("touch", "first line touched")]
            {
                let rate = throughput(variant)?;
                table.rate(format!("{LARGE:6} bytes, two cores, loans, {name}"), rate);
            }
        }
    }
    table.print();
    Ok(())
}

/// Microseconds.
fn round_trips(variant: &str, far_core: usize, bytes: usize) -> Result<f64, Failure> {
    pin(0)?;
    let message = vec![7_u8; bytes];
    let mut buffer = vec![0_u8; bytes];
    let mut times = Vec::with_capacity(ROUND_TRIPS);
    if variant == "udp" {
        let near = UdpSocket::bind("127.0.0.1:0")?;
        near.set_read_timeout(Some(PATIENCE))?;
        let place = near.local_addr()?.to_string();
        let mut child = start(variant, &place, far_core, bytes)?;
        let (_, far) = near.recv_from(&mut buffer)?;
        for round in 0..WARM_UP + ROUND_TRIPS {
            let begun = Instant::now();
            near.send_to(&message, far)?;
            near.recv_from(&mut buffer)?;
            if round >= WARM_UP {
                times.push(begun.elapsed());
            }
        }
        near.send_to(&[], far)?;
        child.wait()?;
    } else {
        let waiting = if variant == "spin" { Waiting::Spin } else { Waiting::Sleep };
        let (mut link, mut child) = meet(variant, far_core, bytes)?;
        for round in 0..WARM_UP + ROUND_TRIPS {
            let begun = Instant::now();
            link.send(&message, waiting)?;
            link.receive(&mut buffer, waiting)?;
            if round >= WARM_UP {
                times.push(begun.elapsed());
            }
        }
        link.send(&[], waiting)?;
        child.wait()?;
    }
    times.sort();
    Ok(times.get(times.len() / 2).ok_or("no round trips")?.as_secs_f64() * 1e6)
}

/// Messages each second.
fn throughput(variant: &str) -> Result<f64, Failure> {
    pin(0)?;
    let (mut link, mut child) = meet(variant, 1, LARGE)?;
    let begun = Instant::now();
    for number in 0..MESSAGES {
        // Not further ahead than what caches hold.
        let span = (LARGE + 64) as u64;
        while (number as u64).saturating_sub(link.producer.progress() / span) >= UNDER_WAY {
            spin_loop();
        }
        loop {
            match link.producer.loan(LARGE) {
                Ok(mut loan) => {
                    if variant == "loan" {
                        loan.fill(number as u8);
                    } else if let Some(line) = loan.get_mut(..64) {
                        line.fill(number as u8);
                    }
                    loan.commit();
                    break;
                }
                Err(Refused::Full) => spin_loop(),
                Err(refused) => return Err(refused.into()),
            }
        }
    }
    while !link.producer.is_drained() {
        spin_loop();
    }
    let rate = MESSAGES as f64 / begun.elapsed().as_secs_f64();
    link.send(&[], Waiting::Spin)?;
    child.wait()?;
    Ok(rate)
}

fn far_end(variant: &str, place: &str, octets: usize) -> Result<(), Failure> {
    let mut buffer = vec![0_u8; octets];
    if variant == "udp" {
        let socket = UdpSocket::bind("127.0.0.1:0")?;
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.connect(place)?;
        socket.send(&[0])?;
        loop {
            match socket.recv(&mut buffer)? {
                0 => return Ok(()),
                len => socket.send(buffer.get(..len).unwrap_or_default())?,
            };
        }
    }
    let mut link = exchange(Talk::new(place.as_bytes())?)?;
    if variant == "loan" || variant == "touch" {
        let wanted = if variant == "loan" { octets } else { 64 };
        loop {
            match link.consumer.peek()? {
                None => spin_loop(),
                Some(message) if message.is_empty() => return Ok(()),
                Some(message) => {
                    message.copy_to(0, buffer.get_mut(..wanted).unwrap_or_default());
                    message.done();
                }
            }
        }
    }
    let waiting = if variant == "spin" { Waiting::Spin } else { Waiting::Sleep };
    loop {
        match link.receive(&mut buffer, waiting)? {
            0 => return Ok(()),
            len => link.send(buffer.get(..len).unwrap_or_default(), waiting)?,
        }
    }
}

impl Link {
    fn send(&mut self, bytes: &[u8], waiting: Waiting) -> Result<(), Failure> {
        self.producer.send(bytes.len(), std::iter::once(bytes))?;
        if waiting == Waiting::Sleep {
            self.bell.ring();
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8], waiting: Waiting) -> Result<usize, Failure> {
        let mut sleeps = 0;
        loop {
            if let Some(len) = self.consumer.receive(buffer)? {
                return Ok(len);
            }
            if waiting == Waiting::Spin {
                spin_loop();
                continue;
            }
            let consumer = &self.consumer;
            self.doorbell.sleep(Duration::from_secs(1), || consumer.is_ready());
            sleeps += 1;
            if sleeps > PATIENCE.as_secs() {
                return Err("the far end is silent".into());
            }
        }
    }
}

/// Starts the far end and joins rings with it.
fn meet(variant: &str, far_core: usize, bytes: usize) -> Result<(Link, Child), Failure> {
    let name = format!("punctual-ring-example-{}", std::process::id());
    let meeting = Meeting::new(name.as_bytes())?;
    let child = start(variant, &name, far_core, bytes)?;
    ready(&[meeting.as_fd()], Some(PATIENCE))?;
    let talk = meeting.accept()?.ok_or("the far end did not come")?;
    Ok((exchange(talk)?, child))
}

fn exchange(talk: Talk) -> Result<Link, Failure> {
    let nonce = u64::from(std::process::id());
    let (segment, doorbell) = (Segment::new(nonce, CAPACITY)?, Doorbell::new()?);
    talk.say(&nonce.to_ne_bytes(), &[segment.file(), doorbell.file()])?;
    ready(&[talk.as_fd()], Some(PATIENCE))?;
    let mut words = [0; 8];
    let Said::Words(8, files) = talk.hear(&mut words)? else { return Err("the far end said nothing".into()) };
    let [ring, bell] = files.as_slice() else { return Err("no memory".into()) };
    let window = Window::open(ring.as_fd(), u64::from_ne_bytes(words))?;
    let bell = Bell::open(bell.as_fd())?;
    let (producer, consumer) = join(segment, window);
    Ok(Link { producer, consumer, doorbell, bell, _talk: talk })
}

fn start(variant: &str, place: &str, core: usize, bytes: usize) -> Result<Child, Failure> {
    pin(core)?;
    let child = Command::new(std::env::current_exe()?)
        .args(["echo", variant, place, &bytes.to_string()])
        .stdin(Stdio::null())
        .spawn();
    pin(0)?;
    Ok(child?)
}

fn cores() -> Result<usize, Failure> {
    let set = sched_getaffinity(Pid::from_raw(1)).or_else(|_| sched_getaffinity(Pid::from_raw(0)))?;
    Ok((0..CpuSet::count()).filter(|core| set.is_set(*core) == Ok(true)).count())
}

fn pin(core: usize) -> Result<(), Failure> {
    let mut set = CpuSet::new();
    set.set(core)?;
    Ok(sched_setaffinity(Pid::from_raw(0), &set)?)
}

/// Rows in the order in which they were first added.
#[derive(Default)]
struct Table {
    rows: Vec<(String, Vec<f64>, Vec<f64>)>,
}

impl Table {
    fn add(&mut self, name: String, time: f64, reference: f64) {
        let row = self.row(name);
        row.1.push(time);
        row.2.push(time / reference);
    }

    fn rate(&mut self, name: String, rate: f64) {
        self.row(name).1.push(rate);
    }

    fn row(&mut self, name: String) -> &mut (String, Vec<f64>, Vec<f64>) {
        let known = self.rows.iter().position(|row| row.0 == name);
        let index = known.unwrap_or(self.rows.len());
        if known.is_none() {
            self.rows.push((name, Vec::new(), Vec::new()));
        }
        &mut self.rows[index]
    }

    fn print(&mut self) {
        println!("median of {PASSES} passes [smallest, largest]");
        for (name, values, ratios) in &mut self.rows {
            values.sort_by(f64::total_cmp);
            ratios.sort_by(f64::total_cmp);
            let [low, middle, high] = [0, values.len() / 2, values.len() - 1].map(|at| values[at]);
            match ratios.get(ratios.len() / 2) {
                Some(ratio) => {
                    println!("{name:45} {middle:8.2} us [{low:.2}, {high:.2}]  ratio to udp {ratio:.3}")
                }
                None => println!(
                    "{name:58} {:6.0} thousand/s [{:.0}, {:.0}]",
                    middle / 1e3,
                    low / 1e3,
                    high / 1e3
                ),
            }
        }
    }
}
