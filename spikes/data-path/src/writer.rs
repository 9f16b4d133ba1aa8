//! The reliable keep-all writer: one mutex, slabs of pre-formatted datagrams, a send token.
use crate::sock::{Addr, Sock};
use crate::wire::{self, Cursor, DATA, HEARTBEAT, PREFIX, Prefix, padded};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

#[derive(Clone, Copy, PartialEq)]
pub enum Clock {
    Off,
    Datagram,
    Sample,
}

#[derive(Clone, Copy, PartialEq)]
pub enum Batch {
    /// Every sample is its own datagram.
    Off,
    /// A datagram leaves when it is full, on flush, or by the timer.
    On,
    /// A sample leaves at once if it can; what meets a taken token or a closed window shares the next datagram.
    Auto,
}

#[derive(Clone)]
pub struct Config {
    pub entity: u32,
    pub prefix: Prefix,
    pub batch: Batch,
    /// Largest datagram; with `train` a slab is a train of datagrams of this size.
    pub datagram: usize,
    pub train: bool,
    /// Parts handed to the kernel: 1 is `sendto`, 2 and 3 are `sendmsg`.
    pub parts: usize,
    pub clock: Clock,
    /// Unacknowledged bytes on the way (as the receiving socket counts them).
    pub window: usize,
    /// Byte limit of the history; a write blocks there.
    pub limit: usize,
    /// Slab sizes, smallest first. The open slab is of the last; sealing copies into a smaller one that fits.
    pub classes: Vec<usize>,
}

/// One contiguous, complete datagram (or train of datagrams), and where its samples are.
#[derive(Default)]
pub struct Slab {
    bytes: Vec<u8>,
    data_end: usize,
    first: i64,
    last: i64,
    cost: usize,
    class: usize,
}

enum Range_ {
    Fresh,
    /// Samples cut out of the slab; the first 32 bytes of the slab go in front.
    Cut(Range<usize>),
    /// A whole datagram of a train.
    Segment(Range<usize>),
}

/// What leaves the lock: valid after unlock because the slab is sealed.
struct Transmit(Arc<Slab>, Range_);

#[derive(Default, Clone, Copy, Debug)]
pub struct Stats {
    pub sends: u64,
    pub full_socket: u64,
    pub repairs: u64,
    pub blocked: u64,
    pub asked: u64,
    pub heartbeats: u64,
    pub new_slabs: u64,
}

struct State {
    open: Slab,
    /// The emptied Arc that `open` came out of and will be sealed into.
    shell: Option<Arc<Slab>>,
    history: VecDeque<Arc<Slab>>,
    pools: Vec<Vec<Arc<Slab>>>,
    unsent: usize,
    repairs: VecDeque<Transmit>,
    repaired: (i64, Instant),
    next: i64,
    acked: i64,
    in_flight: usize,
    stored: usize,
    since_ask: usize,
    count: u32,
    sending: bool,
    armed: bool,
    waiters: u32,
    stats: Stats,
}

pub struct Writer {
    cfg: Config,
    state: Mutex<State>,
    room: Condvar,
    timer: Condvar,
    sock: Arc<Sock>,
    dest: Addr,
}

/// What a datagram takes of the receive buffer: kmalloc rounds small ones up, large ones use page fragments.
fn cost(len: usize) -> usize {
    if len > 15_000 { len + 1024 } else { (len + 384).next_power_of_two() + 256 }
}

impl Config {
    /// Size of the open slab.
    fn slab(&self) -> usize {
        self.classes.last().copied().unwrap_or(0)
    }
}

fn slab_cost(cfg: &Config, size: usize) -> usize {
    if cfg.train { size.div_ceil(cfg.datagram) * cost(cfg.datagram) } else { cost(size) }
}

impl Writer {
    pub fn new(cfg: Config, sock: Arc<Sock>, dest: Addr) -> Writer {
        // Every slab the byte limit allows (and one on its way out) is made now: no allocation later.
        let most = cfg.limit / cost(0) + 64;
        let mut smallest = 1;
        let fill = |(class, &size): (usize, &usize)| {
            let mut pool = Vec::with_capacity(most);
            pool.resize_with(cfg.limit / slab_cost(&cfg, smallest) + 4, || Slab::new(&cfg, class));
            smallest = size + 1;
            pool
        };
        let pools = cfg.classes.iter().enumerate().map(fill).collect();
        let state = State {
            open: Slab::default(),
            shell: None,
            history: VecDeque::with_capacity(most),
            pools,
            unsent: 0,
            repairs: VecDeque::new(),
            repaired: (0, Instant::now()),
            next: 1,
            acked: 0,
            in_flight: 0,
            stored: 0,
            since_ask: 0,
            count: 0,
            sending: false,
            armed: false,
            waiters: 0,
            stats: Stats::default(),
        };
        Writer { cfg, state: Mutex::new(state), room: Condvar::new(), timer: Condvar::new(), sock, dest }
    }

    pub fn entity(&self) -> u32 {
        self.cfg.entity
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Stores one sample and sends it, or leaves it in the open slab (batching) or to the holder of the token.
    pub fn write(&self, payload: &[u8]) {
        let mut s = self.lock();
        let need = DATA + padded(payload.len());
        let smallest = if self.cfg.train { self.cfg.datagram } else { self.cfg.slab() };
        assert!(PREFIX + need + 12 + HEARTBEAT <= smallest, "larger than a datagram: needs DATA_FRAG");
        while !s.fits(&self.cfg, need) {
            s.seal(&self.cfg);
            if !s.open_slab(&self.cfg) {
                s = self.drive(s);
                if s.stored > self.cfg.limit {
                    s.stats.blocked += 1;
                    s.waiters += 1;
                    s = self.room.wait(s).unwrap();
                    s.waiters -= 1;
                }
            }
        }
        if self.cfg.clock == Clock::Sample {
            wire::put_time(&mut s.open.bytes, true);
        }
        let seq = s.next;
        wire::put_data(&mut s.open.bytes, self.cfg.entity, seq, payload);
        s.open.last = seq;
        s.next += 1;
        if !s.armed {
            s.armed = true;
            self.timer.notify_one();
        }
        if self.cfg.batch == Batch::Off {
            s.seal(&self.cfg);
        }
        if s.unsent > 0 || self.cfg.batch == Batch::Auto {
            drop(self.drive(s));
        }
    }

    pub fn flush(&self) {
        let mut s = self.lock();
        s.seal(&self.cfg);
        drop(self.drive(s));
    }

    /// Waits until every sample is acknowledged.
    pub fn wait_acked(&self, timeout: Duration) -> bool {
        let mut s = self.lock();
        s.waiters += 1;
        let (mut s, r) = self.room.wait_timeout_while(s, timeout, |s| s.acked + 1 < s.next).unwrap();
        s.waiters -= 1;
        !r.timed_out()
    }

    pub fn stats(&self) -> Stats {
        self.lock().stats
    }

    /// Takes the token unless another thread has it, and sends until nothing may go. No lock during a system call.
    fn drive<'a>(&'a self, mut s: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        if s.sending {
            return s;
        }
        s.sending = true;
        while let Some(t) = s.poll(&self.cfg) {
            drop(s);
            let full = self.transmit(&t);
            drop(t);
            s = self.lock();
            s.stats.sends += 1;
            s.stats.full_socket += full;
        }
        s.sending = false;
        s
    }

    fn transmit(&self, Transmit(slab, range): &Transmit) -> u64 {
        let bytes = &slab.bytes[..];
        let (seg, to) = (self.cfg.datagram, &self.dest);
        let mut full = 0;
        loop {
            let r = match range {
                Range_::Fresh if self.cfg.train && bytes.len() > seg => {
                    self.sock.send_parts(&[bytes], to, seg as u16)
                }
                Range_::Fresh => match self.cfg.parts {
                    1 => self.sock.send(bytes, to, false),
                    2 => self.sock.send_parts(&[&bytes[..PREFIX + DATA], &bytes[PREFIX + DATA..]], to, 0),
                    _ => {
                        let (head, rest) = bytes.split_at(PREFIX + DATA);
                        let (data, tail) = rest.split_at(rest.len() - HEARTBEAT);
                        self.sock.send_parts(&[head, data, tail], to, 0)
                    }
                },
                Range_::Cut(r) => self.sock.send_parts(&[&bytes[..PREFIX], &bytes[r.clone()]], to, 0),
                Range_::Segment(r) => self.sock.send(&bytes[r.clone()], to, false),
            };
            match r {
                Ok(_) => return full,
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {
                    full += 1;
                    self.sock.wait_writable();
                }
                Err(e) => panic!("send: {e}"),
            }
        }
    }

    /// An ACKNACK: everything below `base` is acknowledged, set bits are missing.
    pub fn ack(&self, base: i64, bits: u32, words: &[u32; 8]) {
        let mut s = self.lock();
        if base > s.next {
            return;
        }
        if base - 1 > s.acked {
            s.acked = base - 1;
            while s.history.len() > s.unsent && s.history.front().is_some_and(|slab| slab.last < base) {
                let slab = s.history.pop_front().unwrap();
                s.in_flight -= slab.cost;
                s.stored -= slab.cost;
                let class = slab.class;
                s.pools[class].push(slab);
            }
            if s.waiters > 0 {
                self.room.notify_all();
            }
        }
        if bits > 0 {
            s.repair(&self.cfg, base, bits, words);
        }
        if s.unsent > 0 || !s.repairs.is_empty() || self.cfg.batch == Batch::Auto {
            drop(self.drive(s));
        }
    }

    /// The timer thread: flushes an open slab and asks for an acknowledgement while something is unacknowledged.
    pub fn run_timer(&self, period: Duration) {
        let mut out = Vec::with_capacity(PREFIX + HEARTBEAT);
        loop {
            let s = self.lock();
            drop(self.timer.wait_while(s, |s| !s.armed).unwrap());
            std::thread::sleep(period);
            let mut s = self.lock();
            s.armed = s.acked + 1 < s.next;
            if !s.armed {
                continue;
            }
            s.seal(&self.cfg);
            s = self.drive(s);
            if s.sending {
                // A heartbeat must not overtake data that was polled and is not yet sent; the holder's carries one.
                continue;
            }
            s.count += 1;
            s.stats.heartbeats += 1;
            let sent = s.history.len() - s.unsent;
            let last = s.history.range(..sent).last().map_or(s.acked, |x| x.last);
            out.clear();
            wire::put_prefix(&mut out, &self.cfg.prefix, false);
            wire::put_heartbeat(&mut out, self.cfg.entity, s.acked + 1, last, s.count, true);
            drop(s);
            let _ = self.sock.send(&out, &self.dest, false);
        }
    }
}

impl State {
    /// Room for one more sample and the heartbeat; in a train this may close a datagram and begin the next.
    fn fits(&mut self, cfg: &Config, need: usize) -> bool {
        let need = need + if cfg.clock == Clock::Sample { 12 } else { 0 } + HEARTBEAT;
        let len = self.open.bytes.len();
        if len == 0 {
            return false;
        }
        if !cfg.train {
            return len + need <= cfg.slab();
        }
        let end = (len - 1) / cfg.datagram * cfg.datagram + cfg.datagram;
        if len + need <= end {
            return true;
        }
        if end + cfg.datagram > cfg.slab() {
            return false;
        }
        wire::put_pad(&mut self.open.bytes, end - len);
        wire::put_prefix(&mut self.open.bytes, &cfg.prefix, cfg.clock == Clock::Datagram);
        true
    }

    /// Takes a slab out of the pool (or makes one); refuses at the byte limit.
    fn open_slab(&mut self, cfg: &Config) -> bool {
        if self.stored > cfg.limit {
            return false;
        }
        let mut shell = self.pooled(cfg, cfg.classes.len() - 1);
        if let Some(slab) = Arc::get_mut(&mut shell) {
            self.open = std::mem::take(slab);
        }
        self.shell = Some(shell);
        self.begin(cfg);
        true
    }

    /// Empties the open slab. Its clock is read with the first sample.
    fn begin(&mut self, cfg: &Config) {
        self.open.bytes.clear();
        (self.open.first, self.open.last) = (self.next, self.next - 1);
        wire::put_prefix(&mut self.open.bytes, &cfg.prefix, cfg.clock == Clock::Datagram);
    }

    /// The latest returned slab that nobody sends any more, or a new one.
    fn pooled(&mut self, cfg: &Config, class: usize) -> Arc<Slab> {
        let pool = &mut self.pools[class];
        match pool.iter_mut().rposition(|a| Arc::get_mut(a).is_some()) {
            Some(i) => pool.swap_remove(i),
            None => {
                self.stats.new_slabs += 1;
                Slab::new(cfg, class)
            }
        }
    }

    /// Adds the heartbeat and turns the exclusive slab into a shared one.
    fn seal(&mut self, cfg: &Config) {
        if self.shell.is_none() || self.open.last < self.open.first {
            return;
        }
        let size = self.open.bytes.len() + HEARTBEAT;
        let class = cfg.classes.iter().position(|&c| size <= c).unwrap_or(cfg.classes.len() - 1);
        let mut slab;
        let mut shell;
        if class + 1 < cfg.classes.len() {
            shell = self.pooled(cfg, class);
            slab = Arc::get_mut(&mut shell).map(std::mem::take).unwrap_or_default();
            slab.bytes.clear();
            slab.bytes.extend_from_slice(&self.open.bytes);
            (slab.first, slab.last, slab.class) = (self.open.first, self.open.last, class);
            self.begin(cfg);
        } else {
            let Some(taken) = self.shell.take() else { return };
            shell = taken;
            slab = std::mem::take(&mut self.open);
        }
        slab.data_end = slab.bytes.len();
        slab.cost = slab_cost(cfg, size);
        self.since_ask += slab.cost;
        let ask = self.since_ask >= cfg.window / 4;
        if ask {
            self.since_ask = 0;
            self.stats.asked += 1;
        }
        self.count += 1;
        let first = self.history.front().map_or(slab.first, |h| h.first);
        wire::put_heartbeat(&mut slab.bytes, cfg.entity, first, slab.last, self.count, ask);
        self.stored += slab.cost;
        if let Some(place) = Arc::get_mut(&mut shell) {
            *place = slab;
        }
        self.history.push_back(shell);
        self.unsent += 1;
    }

    fn poll(&mut self, cfg: &Config) -> Option<Transmit> {
        if let Some(t) = self.repairs.pop_front() {
            self.stats.repairs += 1;
            return Some(t);
        }
        if cfg.batch == Batch::Auto && self.unsent == 0 && self.in_flight < cfg.window {
            self.seal(cfg);
        }
        let at = self.history.len().checked_sub(self.unsent)?;
        let slab = self.history.get(at)?;
        if self.in_flight > 0 && self.in_flight + slab.cost > cfg.window {
            return None;
        }
        self.in_flight += slab.cost;
        self.unsent -= 1;
        Some(Transmit(slab.clone(), Range_::Fresh))
    }

    /// Queues runs of missing samples as cuts of their slabs. A bitmap that is missing to its very end stands for
    /// more than it can say, so that run goes on to the end of its slab.
    fn repair(&mut self, cfg: &Config, base: i64, bits: u32, words: &[u32; 8]) {
        let missing = |i: u32| words.get((i / 32) as usize).is_some_and(|w| w >> (31 - i % 32) & 1 == 1);
        let recent = self.repaired.1.elapsed() < Duration::from_millis(2);
        let sent = self.history.len() - self.unsent;
        let mut i = 0;
        while i < bits {
            let seq = base + i as i64;
            let run = (i..bits).take_while(|&k| missing(k)).count() as u32;
            if run == 0 || (recent && seq <= self.repaired.0) {
                i += 1;
                continue;
            }
            let at = self.history.partition_point(|s| s.last < seq);
            let Some(slab) = self.history.get(at).filter(|_| at < sent) else { return };
            let open_end = i + run == bits && bits as i64 == wire::BITS;
            let last = if open_end { slab.last } else { slab.last.min(seq + run as i64 - 1) };
            let cut = slab.cut(cfg, seq, last);
            self.repaired = (last, Instant::now());
            let slab = slab.clone();
            if cfg.train {
                let (a, b) = (cut.start / cfg.datagram, cut.end.div_ceil(cfg.datagram));
                let end = |k: usize| (k * cfg.datagram).min(slab.bytes.len());
                let parts = (a..b).map(|k| Transmit(slab.clone(), Range_::Segment(end(k)..end(k + 1))));
                self.repairs.extend(parts);
            } else {
                self.repairs.push_back(Transmit(slab, Range_::Cut(cut)));
            }
            i += (last - seq + 1) as u32;
        }
    }
}

impl Slab {
    fn new(cfg: &Config, class: usize) -> Arc<Slab> {
        Arc::new(Slab { bytes: Vec::with_capacity(cfg.classes[class]), class, ..Slab::default() })
    }

    /// The byte range of samples `from..=to`, found by walking the slab's own submessages.
    fn cut(&self, cfg: &Config, from: i64, to: i64) -> Range<usize> {
        let (mut at, mut range) = (PREFIX, self.data_end..self.data_end);
        let mut cursor = Cursor(&self.bytes[PREFIX..self.data_end]);
        while let Some((kind, len, seq)) = cursor.skip() {
            if kind == 0x15 && seq == from {
                range.start = at;
            }
            at += len;
            if kind == 0x15 && seq == to {
                range.end = at;
                break;
            }
            if cfg.train && at % cfg.datagram == 0 {
                cursor = Cursor(&self.bytes[(at + PREFIX).min(self.data_end)..self.data_end]);
                at += PREFIX;
            }
        }
        range
    }
}
