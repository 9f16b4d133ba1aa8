//! Sends numbered datagrams, and measures what arrives: losses, one-way times by the clock that all namespaces of a machine share, and the
//! bucket that the arrivals need at a rate. `one_way receive ADDRESS:PORT SECONDS RATE` and `one_way send ADDRESS:PORT PER_SECOND BYTES
//! SECONDS [PORT_FROM]`; RATE counts bits of IP packets.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a program for measurements")]
use std::net::UdpSocket;
use std::str::FromStr;
use std::time::{Duration, Instant, SystemTime};

/// Headers of IPv4 and UDP.
const HEADERS: u64 = 28;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("receive") => receive(&arguments),
        Some("send") => send(&arguments),
        _ => {
            panic!("one_way receive ADDRESS:PORT SECONDS RATE, or send ADDRESS:PORT PER_SECOND BYTES SECONDS")
        }
    }
}

fn number<T: FromStr>(arguments: &[String], at: usize, what: &str) -> T {
    let text = arguments.get(at).unwrap_or_else(|| panic!("{what} is missing"));
    text.parse().unwrap_or_else(|_| panic!("{what} is no number: {text}"))
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
    u64::try_from(since.as_nanos()).unwrap()
}

fn send(arguments: &[String]) {
    let (rate, size): (u32, usize) = (number(arguments, 3, "PER_SECOND"), number(arguments, 4, "BYTES"));
    let seconds: u32 = number(arguments, 5, "SECONDS");
    let from: u16 = if arguments.len() > 6 { number(arguments, 6, "PORT_FROM") } else { 0 };
    let socket = UdpSocket::bind(("0.0.0.0", from)).unwrap();
    socket.connect(arguments[2].as_str()).unwrap();
    let (begun, mut failed) = (Instant::now(), 0);
    let mut datagram = vec![0; size.max(16)];
    for number in 0..u64::from(rate) * u64::from(seconds) {
        let due = Duration::from_nanos(number * 1_000_000_000 / u64::from(rate));
        std::thread::sleep(due.saturating_sub(begun.elapsed()));
        datagram[..8].copy_from_slice(&number.to_le_bytes());
        datagram[8..16].copy_from_slice(&now().to_le_bytes());
        failed += u64::from(socket.send(&datagram).is_err());
    }
    println!("sent {}, refused {failed}", u64::from(rate) * u64::from(seconds));
}

fn receive(arguments: &[String]) {
    let seconds: u64 = number(arguments, 3, "SECONDS");
    let rate: u64 = number(arguments, 4, "RATE");
    let socket = UdpSocket::bind(arguments[2].as_str()).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let (mut times, mut bytes, mut sent) = (Vec::new(), 0, 0);
    let (mut first, mut last, mut level, mut worst) = (None, 0, 0_u128, 0_u128);
    let mut datagram = [0; 65_536];
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(seconds) {
        let Ok(length) = socket.recv(&mut datagram) else { continue };
        let at = now();
        let word = |from: usize| u64::from_le_bytes(datagram[from..from + 8].try_into().unwrap());
        sent = sent.max(word(0) + 1);
        times.push(at.saturating_sub(word(8)));
        let size = u64::try_from(length).unwrap() + HEADERS;
        bytes += size;
        // In bits times 10^9, so that nothing is rounded.
        let leaked = u128::from(at - first.map_or(at, |_| last)) * u128::from(rate);
        level = level.saturating_sub(leaked) + u128::from(size) * 8_000_000_000;
        worst = worst.max(level);
        first.get_or_insert(at);
        last = at;
    }
    let Some(first) = first else { return println!("received 0") };
    times.sort_unstable();
    let at = |thousandths: usize| times[(times.len() * thousandths / 1_000).min(times.len() - 1)] / 1_000;
    let taken = (last - first).max(1);
    println!(
        "received {} of {sent}; {} bit/s of IP; bucket {} bytes; one way p50 {} p99 {} most {} us",
        times.len(),
        u128::from(bytes) * 8_000_000_000 / u128::from(taken),
        worst.div_ceil(8_000_000_000),
        at(500),
        at(990),
        at(1_000),
    );
}
