//! Round trips between two processes over loopback, once with this crate and once with plain sockets of the standard library.
//!
//! ```sh
//! unshare -n sh -c 'ip link set lo up; exec "$@"' _ cargo run --release --package punctual-udp --example ping -- 15 5000 64
//! ```
//!
//! The arguments are passes, round trips in each pass, and bytes. The far end is the same program, started anew. Both ends
//! stay on the first core that they may use, all variants take turns inside each pass, and the ratio is formed inside the
//! pass too: so other load of the machine moves the times but hardly the ratio.
use std::error::Error;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use udp::{Destination, Dscp, Received, Receiver, Report, Sender, Socket, SocketOptions, Wait};

/// What is compared; the first is what the ratios refer to.
const VARIANTS: [&str; 4] = ["std", "udp", "udp-parts", "udp-details"];
/// Longer than a round trip ever takes: after it something is lost, and the program gives up.
const PATIENCE: Duration = Duration::from_secs(10);
/// Round trips before a pass is timed.
const WARM_UP: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let first = udp::thread::cores()?.into_iter().take(1).collect::<Vec<_>>();
    udp::thread::set_cores(&first)?;
    if let [word, variant] = arguments.as_slice()
        && word == "echo"
    {
        return echo(variant);
    }
    let number = |index: usize, default: usize| -> Result<usize, Box<dyn Error>> {
        Ok(arguments.get(index).map(|text| text.parse()).transpose()?.unwrap_or(default))
    };
    let (passes, count, bytes) = (number(0, 15)?.max(1), number(1, 5_000)?.max(1), number(2, 64)?);
    if bytes == 0 || bytes > udp::MAX_DATAGRAM {
        return Err(format!("give 1 to {} bytes, not {bytes}", udp::MAX_DATAGRAM).into());
    }
    let mut times = [const { Vec::new() }; VARIANTS.len()];
    let mut ratios = [const { Vec::new() }; VARIANTS.len()];
    for _ in 0..passes {
        let mut reference = f64::NAN;
        for ((variant, times), ratios) in VARIANTS.iter().zip(&mut times).zip(&mut ratios) {
            let time = pass(variant, count, bytes)?;
            if reference.is_nan() {
                reference = time;
            }
            times.push(time);
            ratios.push(time / reference);
        }
    }
    println!("{bytes} bytes, median of {passes} passes of {count} round trips, core {first:?}");
    for ((variant, mut times), mut ratios) in VARIANTS.iter().zip(times).zip(ratios) {
        println!("{variant:12} {:8.2} us  ratio {:.3}", median(&mut times), median(&mut ratios));
    }
    Ok(())
}

/// The median round trip of one pass in microseconds.
fn pass(variant: &str, count: usize, bytes: usize) -> Result<f64, Box<dyn Error>> {
    let far = FarEnd::start(variant)?;
    let mut near = End::new(variant)?;
    near.send(&[1], far.address)?;
    let mut buffer = vec![0; 65_535];
    near.receive(&mut buffer)?;
    let datagram = vec![7; bytes];
    let mut times = Vec::with_capacity(count);
    for round in 0..WARM_UP + count {
        let start = Instant::now();
        near.send(&datagram, far.address)?;
        let (received, _) = near.receive(&mut buffer)?;
        if round >= WARM_UP {
            times.push(start.elapsed().as_secs_f64() * 1e6);
        }
        if received != bytes {
            return Err(format!("{received} bytes came back, not {bytes}").into());
        }
    }
    Ok(median(&mut times))
}

/// Sends back whatever comes, until it is killed or nothing comes any more.
fn echo(variant: &str) -> Result<(), Box<dyn Error>> {
    let mut end = End::new(variant)?;
    println!("{}", end.local()?);
    let mut buffer = vec![0; 65_535];
    loop {
        let (octets, source) = end.receive(&mut buffer)?;
        end.send(buffer.get(..octets).unwrap_or_default(), source)?;
    }
}

/// The process at the other end.
struct FarEnd {
    process: Child,
    address: SocketAddr,
}

impl FarEnd {
    fn start(variant: &str) -> Result<Self, Box<dyn Error>> {
        let mut process =
            Command::new(std::env::current_exe()?).args(["echo", variant]).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        Ok(Self { process, address: line.trim().parse()? })
    }
}

impl Drop for FarEnd {
    fn drop(&mut self) {
        // It fails only if the process has ended already.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// One socket, with one way to use it.
enum End {
    Std(UdpSocket),
    Udp { sender: Sender, receiver: Receiver, parts: bool, class: Option<Dscp> },
}

impl End {
    fn new(variant: &str) -> Result<Self, Box<dyn Error>> {
        let local: SocketAddr = "127.0.0.1:0".parse()?;
        if variant == "std" {
            let socket = UdpSocket::bind(local)?;
            socket.set_read_timeout(Some(PATIENCE))?;
            return Ok(Self::Std(socket));
        }
        let details = variant == "udp-details";
        let report = Report { class: details, destination: details, ..Report::default() };
        let socket = Socket::unicast(local, &SocketOptions { report, ..SocketOptions::default() })?;
        let class = details.then_some(Dscp::EXPEDITED_FORWARDING);
        let (sender, receiver) = (socket.sender(), socket.receiver());
        Ok(Self::Udp { sender, receiver, parts: variant == "udp-parts", class })
    }

    fn local(&self) -> Result<SocketAddr, Box<dyn Error>> {
        Ok(match self {
            Self::Std(socket) => socket.local_addr()?,
            Self::Udp { receiver, .. } => receiver.local(),
        })
    }

    fn send(&mut self, datagram: &[u8], to: SocketAddr) -> Result<(), Box<dyn Error>> {
        match self {
            Self::Std(socket) => {
                socket.send_to(datagram, to)?;
            }
            Self::Udp { sender, parts, class, .. } => {
                let destination = Destination { class: *class, ..Destination::routed(to) };
                if *parts {
                    let (head, rest) = datagram.split_at(datagram.len() / 2);
                    sender.send_parts([head, rest], &destination)?;
                } else {
                    sender.send(datagram, &destination)?;
                }
            }
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> Result<(usize, SocketAddr), Box<dyn Error>> {
        match self {
            Self::Std(socket) => Ok(socket.recv_from(buffer)?),
            Self::Udp { receiver, .. } => match receiver.receive(buffer, Wait::AtMost(PATIENCE))? {
                Received::Datagram(datagram) => Ok((datagram.octets, datagram.source)),
                other => Err(format!("no datagram: {other:?}").into()),
            },
        }
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
