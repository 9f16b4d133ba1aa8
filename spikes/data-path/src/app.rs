//! The measuring ends: ping, pong, publisher, subscriber, and the same over raw sockets.
use crate::Options;
use crate::reader::{Cache, Port, Reader, Receive};
use crate::sock::{Addr, Sock, cpu_seconds};
use crate::wire::Prefix;
use crate::writer::{Batch, Clock, Config, Writer};
use crate::{ALLOCATIONS, wire};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

const PORTS: [u16; 2] = [17410, 17411];
const WRITERS: [u32; 2] = [0x0103, 0x0203];
const WARM_UP: usize = 500;
/// The writing thread's number stands above this bit of a payload's number.
const THREAD: u32 = 56;

pub fn port(o: &Options, side: usize) -> Arc<Port> {
    let prefix = |s: usize| -> Prefix { [s as u8 + 1; 12] };
    let gro = o.num("gro", 0) == 1;
    let sock = Arc::new(Sock::bind(PORTS[side], gro).expect("bind"));
    let (size, train) = (o.num("size", 64), o.num("train", 0) == 1);
    let datagram = o.num("datagram", 65504);
    let one = wire::PREFIX + wire::DATA + 12 + wire::padded(size) + wire::HEARTBEAT;
    let one = one.next_multiple_of(256);
    let (batch, classes) = match o.text("batch", "off").as_str() {
        "off" => (Batch::Off, vec![one]),
        "on" if train => (Batch::On, vec![65504 / datagram * datagram]),
        "on" => (Batch::On, vec![datagram]),
        "auto" => (Batch::Auto, vec![one, one + 8192, datagram]),
        other => panic!("batch={other}"),
    };
    let window = o.num("window", 1024) << 10;
    let clock = match o.text("clock", "datagram").as_str() {
        "off" => Clock::Off,
        "sample" => Clock::Sample,
        _ => Clock::Datagram,
    };
    let cfg = Config {
        entity: WRITERS[side],
        prefix: prefix(side),
        batch,
        datagram,
        train,
        parts: o.num("parts", 1),
        clock,
        window,
        limit: o.num("limit", window >> 10) << 10,
        classes,
    };
    let writer = Writer::new(cfg, sock.clone(), Addr::local(PORTS[1 - side]));
    let reader = Reader::new(prefix(1 - side), WRITERS[1 - side], o.num("pin", 4096));
    let receive = Receive { gro, drop_every: o.num("drop", 0) as u64, relock: o.num("relock", 0) == 1 };
    let port = Arc::new(Port::new(sock, writer, reader, prefix(side), Addr::local(PORTS[1 - side]), receive));
    let timer = port.clone();
    let period = Duration::from_millis(o.num("period", 20) as u64);
    thread::spawn(move || timer.writer.run_timer(period));
    port
}

/// Payload number `seq`: the number at both ends (if there is room), a fixed pattern between.
pub fn fill(payload: &mut [u8], seq: u64) {
    let n = payload.len();
    if n >= 16 {
        payload[n - 8..].copy_from_slice(&seq.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    }
    payload[..8].copy_from_slice(&seq.to_le_bytes());
}

pub fn pattern(size: usize) -> Vec<u8> {
    (0..size).map(|i| (i * 7 + 3) as u8).collect()
}

fn ready() {
    use std::io::Write;
    println!("ready");
    std::io::stdout().flush().unwrap();
}

fn wait(p: &Port, cache: &mut Cache, mode: &str) {
    if mode == "waitset" { p.wait(cache) } else { p.wait_handed(cache) }
}

struct Rtt {
    times: Vec<u32>,
    start: Instant,
    cpu: f64,
    allocations: u64,
    total: usize,
}

impl Rtt {
    fn new(count: usize) -> Rtt {
        let times = Vec::with_capacity(count + WARM_UP);
        Rtt { times, start: Instant::now(), cpu: 0.0, allocations: 0, total: count + WARM_UP }
    }
    /// Notes the end of a round trip; true when all are done.
    fn stop(&mut self) -> bool {
        self.times.push(self.start.elapsed().as_nanos() as u32);
        if self.times.len() == WARM_UP {
            self.cpu = cpu_seconds();
            self.allocations = ALLOCATIONS.load(Relaxed);
        }
        self.times.len() == self.total
    }
    fn print(&mut self) {
        let allocations = ALLOCATIONS.load(Relaxed) - self.allocations;
        let n = self.total - WARM_UP;
        let cpu = (cpu_seconds() - self.cpu) * 1e6 / n as f64;
        let t = &mut self.times[WARM_UP..];
        let mean = t.iter().map(|&x| x as f64).sum::<f64>() / n as f64;
        t.sort_unstable();
        println!("{} {} {mean:.0} {cpu:.2} {allocations}", t[n / 2], t[n * 99 / 100]);
    }
}

/// A second thread makes every system call count its use of the descriptor.
fn sleeper(o: &Options) {
    if o.num("thread", 0) == 1 {
        thread::spawn(|| thread::sleep(Duration::from_secs(60)));
    }
}

pub fn raw_pong(o: &Options) {
    sleeper(o);
    let sock = Sock::bind(PORTS[1], false).expect("bind");
    let mut buf = vec![0; 65536];
    ready();
    loop {
        let (n, from) = sock.recv(&mut buf).expect("receive");
        sock.send(&buf[..n], &from, true).expect("send");
    }
}

pub fn raw_ping(o: &Options) {
    sleeper(o);
    let sock = Sock::bind(PORTS[0], false).expect("bind");
    let to = Addr::local(PORTS[1]);
    let (mut payload, mut buf) = (pattern(o.num("size", 64)), vec![0; 65536]);
    let mut rtt = Rtt::new(o.num("count", 4000));
    let mut seq = 0;
    loop {
        seq += 1;
        fill(&mut payload, seq);
        rtt.start = Instant::now();
        sock.send(&payload, &to, true).expect("send");
        let (n, _) = sock.recv(&mut buf).expect("receive");
        assert_eq!(buf[..n], payload[..]);
        if rtt.stop() {
            break rtt.print();
        }
    }
}

pub fn pong(o: &Options) {
    let p = port(o, 1);
    let mode = o.text("mode", "listener");
    let mut cache = Cache::new();
    ready();
    let echo = |p: &Port, cache: &Cache| cache.iter().for_each(|(_, payload)| p.writer.write(payload));
    if mode == "listener" {
        return p.run(|p| {
            p.reader.take(&mut cache);
            echo(p, &cache);
        });
    }
    let background = p.clone();
    thread::spawn(move || background.run(|_| {}));
    loop {
        wait(&p, &mut cache, &mode);
        echo(&p, &cache);
    }
}

pub fn ping(o: &Options) {
    let p = port(o, 0);
    let mode = o.text("mode", "listener");
    let mut payload = pattern(o.num("size", 64));
    let mut rtt = Rtt::new(o.num("count", 4000));
    let mut cache = Cache::new();
    let mut seq = 1;
    fill(&mut payload, seq);
    let background = p.clone();
    if mode == "listener" {
        let (done, end) = mpsc::channel();
        thread::spawn(move || {
            background.run(|p| {
                p.reader.take(&mut cache);
                for (_, got) in cache.iter() {
                    assert_eq!(got, payload);
                    if rtt.stop() {
                        rtt.print();
                        done.send(()).unwrap();
                        return;
                    }
                    seq += 1;
                    fill(&mut payload, seq);
                    rtt.start = Instant::now();
                    p.writer.write(&payload);
                }
            })
        });
        let mut first = pattern(o.num("size", 64));
        fill(&mut first, 1);
        p.writer.write(&first);
        end.recv().unwrap();
    } else {
        thread::spawn(move || background.run(|_| {}));
        loop {
            rtt.start = Instant::now();
            p.writer.write(&payload);
            wait(&p, &mut cache, &mode);
            for (_, got) in cache.iter() {
                assert_eq!(got, payload);
            }
            if rtt.stop() {
                break rtt.print();
            }
            seq += 1;
            fill(&mut payload, seq);
        }
    }
    if o.num("stats", 0) == 1 {
        eprintln!("{:?}, receive calls {}", p.writer.stats(), p.received.load(Relaxed));
    }
}

/// Publishes for `ms` milliseconds, then an empty sample as the end mark, then waits until all is acknowledged.
pub fn publish(o: &Options) {
    let p = port(o, 0);
    let background = p.clone();
    thread::spawn(move || background.run(|_| {}));
    let (size, time) = (o.num("size", 16), Duration::from_millis(o.num("ms", 1000) as u64));
    let mut payload = pattern(size);
    let (mut seq, mut warm, start) = (0u64, None, Instant::now());
    let others: Vec<_> = (1..o.num("threads", 1) as u64)
        .map(|id| {
            let (p, mut payload) = (p.clone(), pattern(size));
            thread::spawn(move || {
                let mut n = 0u64;
                while start.elapsed() < time {
                    n += 1;
                    fill(&mut payload, id << THREAD | n);
                    p.writer.write(&payload);
                }
            })
        })
        .collect();
    let end = loop {
        for _ in 0..64 {
            seq += 1;
            fill(&mut payload, seq);
            p.writer.write(&payload);
        }
        let t = start.elapsed();
        if warm.is_none() && t > time / 4 {
            warm = Some((ALLOCATIONS.load(Relaxed), cpu_seconds(), seq));
        }
        if t > time {
            break t;
        }
    };
    let (allocations, cpu, from) = warm.expect("longer run");
    let allocations = ALLOCATIONS.load(Relaxed) - allocations;
    let cpu = (cpu_seconds() - cpu) / (seq - from) as f64 * 1e6;
    others.into_iter().for_each(|t| t.join().unwrap());
    p.writer.write(&[]);
    p.writer.flush();
    let acked = p.writer.wait_acked(Duration::from_secs(10));
    println!("{:.0} {cpu:.4} {allocations} {}", seq as f64 / end.as_secs_f64(), acked as u8);
    if o.num("stats", 0) == 1 {
        eprintln!("{seq} samples, {:?}", p.writer.stats());
    }
}

/// Receives until the end mark; checks the order and the content of every sample.
pub fn subscribe(o: &Options) {
    let p = port(o, 1);
    let mode = o.text("mode", "listener");
    let mut want = pattern(o.num("size", 16));
    let (mut cache, mut seq, mut counts) = (Cache::new(), 0u64, [0u64; 256]);
    let (mut first, mut warm) = (None, None);
    let (done, end) = mpsc::channel();
    let warm_up = Duration::from_millis(o.num("ms", 1000) as u64 / 4);
    let mut consume = move |cache: &Cache| {
        let first = *first.get_or_insert_with(Instant::now);
        for (sn, payload) in cache.iter() {
            seq += 1;
            assert_eq!(sn as u64, seq, "order");
            if payload.is_empty() {
                let t = first.elapsed().as_secs_f64();
                let (allocations, cpu, from) = warm.expect("longer run");
                let allocations = ALLOCATIONS.load(Relaxed) - allocations;
                let cpu = (cpu_seconds() - cpu) / (seq - from) as f64 * 1e6;
                println!("{:.0} {cpu:.4} {allocations} {}", seq as f64 / t, seq - 1);
                done.send(()).unwrap();
                return;
            }
            let (number, _) = payload.split_first_chunk::<8>().expect("content");
            let id = u64::from_le_bytes(*number) >> THREAD;
            let count = &mut counts[id as usize];
            *count += 1;
            fill(&mut want, id << THREAD | *count);
            assert!(payload == want, "content of {seq}");
        }
        if warm.is_none() && first.elapsed() > warm_up {
            warm = Some((ALLOCATIONS.load(Relaxed), cpu_seconds(), seq));
        }
    };
    ready();
    if mode == "listener" {
        thread::spawn({
            let p = p.clone();
            move || {
                p.run(|p| {
                    p.reader.take(&mut cache);
                    consume(&cache);
                })
            }
        });
    } else {
        let background = p.clone();
        thread::spawn(move || background.run(|_| {}));
        thread::spawn({
            let p = p.clone();
            move || loop {
                wait(&p, &mut cache, &mode);
                consume(&cache);
            }
        });
    }
    end.recv().unwrap();
    // Stay a little to acknowledge.
    thread::sleep(Duration::from_millis(100));
    if o.num("stats", 0) == 1 {
        eprintln!("receive calls {}", p.received.load(Relaxed));
    }
}

/// Raw datagrams of `size` bytes one way, best effort: what the socket itself carries.
pub fn raw_publish(o: &Options) {
    let sock = Sock::bind(PORTS[0], false).expect("bind");
    let (payload, to) = (pattern(o.num("size", 65504)), Addr::local(PORTS[1]));
    let (start, cpu, mut n) = (Instant::now(), cpu_seconds(), 0u64);
    while start.elapsed() < Duration::from_millis(o.num("ms", 1000) as u64) {
        sock.send(&payload, &to, true).expect("send");
        n += 1;
    }
    let t = start.elapsed().as_secs_f64();
    println!("{:.0} {:.4} 0 1", n as f64 / t, (cpu_seconds() - cpu) / n as f64 * 1e6);
    for _ in 0..50 {
        thread::sleep(Duration::from_millis(2));
        sock.send(&[], &to, true).expect("send");
    }
}

pub fn raw_subscribe() {
    let sock = Sock::bind(PORTS[1], false).expect("bind");
    let mut buf = vec![0; 65536];
    let (mut n, mut first) = (0u64, None);
    ready();
    while sock.recv(&mut buf).expect("receive").0 > 0 {
        first.get_or_insert_with(Instant::now);
        n += 1;
    }
    let t = first.unwrap_or_else(Instant::now).elapsed().as_secs_f64();
    println!("{:.0} {:.4} 0 {n}", n as f64 / t, cpu_seconds() / n as f64 * 1e6);
}
