//! The reliable keep-all reader and the port that receives for it.
use crate::sock::{Addr, Sock};
use crate::wire::{self, BITS, Cursor, Prefix, Sub, padded};
use crate::writer::Writer;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Most received buffers that samples may keep; beyond that they are copied.
const BUFFERS: usize = 64;
/// Bytes a reader keeps before it stops accepting.
const CACHE: usize = 16 << 20;
/// Bytes kept out of order.
const EARLY: usize = 4 << 20;

#[derive(Clone, Copy)]
struct Entry {
    /// Index into `pinned`, or `COPIED`.
    from: u32,
    at: u32,
    len: u32,
    seq: i64,
}

const COPIED: u32 = u32::MAX;

/// Samples in order. `take` swaps the reader's cache with the application's empty one.
#[derive(Default)]
pub struct Cache {
    bytes: Vec<u8>,
    entries: Vec<Entry>,
    pinned: Vec<Arc<Vec<u8>>>,
}

impl Cache {
    pub fn new() -> Cache {
        Cache {
            bytes: Vec::with_capacity(256 << 10),
            entries: Vec::with_capacity(8192),
            pinned: Vec::with_capacity(BUFFERS),
        }
    }
    fn clear(&mut self) {
        self.bytes.clear();
        self.entries.clear();
        self.pinned.clear();
    }
    pub fn iter(&self) -> impl Iterator<Item = (i64, &[u8])> {
        self.entries.iter().map(|e| {
            let store = self.pinned.get(e.from as usize).map_or(&self.bytes, |b| b);
            (e.seq, store.get(e.at as usize..(e.at + e.len) as usize).unwrap_or(&[]))
        })
    }
    fn copy(&mut self, seq: i64, payload: &[u8]) {
        self.entries.push(Entry {
            from: COPIED,
            at: self.bytes.len() as u32,
            len: payload.len() as u32,
            seq,
        });
        self.bytes.extend_from_slice(payload);
    }
    fn pin(&mut self, seq: i64, buffer: &Arc<Vec<u8>>, at: usize, len: usize) {
        if self.pinned.last().is_none_or(|b| !Arc::ptr_eq(b, buffer)) {
            self.pinned.push(buffer.clone());
        }
        self.entries.push(Entry { from: self.pinned.len() as u32 - 1, at: at as u32, len: len as u32, seq });
    }
}

struct State {
    next: i64,
    cache: Cache,
    early: BTreeMap<i64, Vec<u8>>,
    early_bytes: usize,
    answer: Option<i64>,
    nacked: i64,
    count: u32,
    sleepers: u32,
}

pub struct Reader {
    peer: Prefix,
    writer: u32,
    /// Samples of at least this size keep the received buffer.
    pin: usize,
    state: Mutex<State>,
    data: Condvar,
}

impl Reader {
    pub fn new(peer: Prefix, writer: u32, pin: usize) -> Reader {
        let state = State {
            next: 1,
            cache: Cache::new(),
            early: BTreeMap::new(),
            early_bytes: 0,
            answer: None,
            nacked: 0,
            count: 0,
            sleepers: 0,
        };
        Reader { peer, writer, pin, state: Mutex::new(state), data: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    pub fn take(&self, into: &mut Cache) -> bool {
        into.clear();
        std::mem::swap(&mut self.lock().cache, into);
        !into.entries.is_empty()
    }
}

impl State {
    fn accept(&mut self, seq: i64, payload: &[u8], pin: Option<(&Arc<Vec<u8>>, usize)>) {
        if seq != self.next || self.cache.bytes.len() + payload.len() > CACHE {
            if seq > self.next && self.early_bytes + payload.len() <= EARLY && !self.early.contains_key(&seq)
            {
                self.early_bytes += payload.len();
                self.early.insert(seq, payload.to_vec());
            }
            return;
        }
        match pin {
            Some((buffer, at)) => self.cache.pin(seq, buffer, at, payload.len()),
            None => self.cache.copy(seq, payload),
        }
        self.next += 1;
        while !self.early.is_empty() {
            let Some(kept) = self.early.remove(&self.next) else { break };
            self.early_bytes -= kept.len();
            self.cache.copy(self.next, &kept);
            self.next += 1;
        }
        if self.early.first_key_value().is_some_and(|(&k, _)| k < self.next) {
            self.early.retain(|&k, _| k >= self.next);
        }
    }

    fn heartbeat(&mut self, last: i64, ask: bool) {
        // A final heartbeat is answered once per gap, an asking one always.
        if ask || (last >= self.next && self.nacked != self.next) {
            self.answer = Some(last);
        }
    }

    fn missing(&mut self, last: i64) -> (u32, [u32; 8]) {
        let mut words = [0u32; 8];
        let bits = (last + 1 - self.next).clamp(0, BITS) as u32;
        for i in 0..bits {
            if !self.early.contains_key(&(self.next + i as i64)) {
                words[(i / 32) as usize] |= 1 << (31 - i % 32);
            }
        }
        if bits > 0 {
            self.nacked = self.next;
        }
        (bits, words)
    }
}

/// How long the receive thread leaves an unused role to a WaitSet.
const LEASE: Duration = Duration::from_millis(5);

/// The receive role: whoever has taken `rx` out is the one that blocks in the receive call.
struct Role {
    rx: Option<Box<Rx>>,
    sleepers: u32,
    uses: u64,
}

struct Rx {
    pool: Vec<Arc<Vec<u8>>>,
    at: usize,
    out: Vec<u8>,
    datagrams: u64,
}

#[derive(Clone, Copy)]
pub struct Receive {
    pub gro: bool,
    /// Drops every n-th received datagram, to prove the repairs.
    pub drop_every: u64,
    /// Locks the reader once per sample instead of once per datagram.
    pub relock: bool,
}

/// Base, bits, bitmap and count of an ACKNACK.
type Answer = (i64, u32, [u32; 8], u32);

/// One socket, one writer and one reader: a participant without discovery.
pub struct Port {
    pub sock: Arc<Sock>,
    pub writer: Writer,
    pub reader: Reader,
    prefix: Prefix,
    peer: Addr,
    role: Mutex<Role>,
    followers: Condvar,
    idle: Condvar,
    options: Receive,
    /// Set while a WaitSet wants the role; the receive thread looks at it after every datagram.
    wanted: AtomicBool,
    pub received: AtomicU64,
}

impl Port {
    pub fn new(
        sock: Arc<Sock>,
        writer: Writer,
        reader: Reader,
        prefix: Prefix,
        peer: Addr,
        options: Receive,
    ) -> Port {
        let pool = vec![Arc::new(vec![0; 65536])];
        let rx = Rx { pool, at: 0, out: Vec::with_capacity(128), datagrams: 0 };
        let role = Mutex::new(Role { rx: Some(Box::new(rx)), sleepers: 0, uses: 0 });
        let (followers, idle, wanted, received) = Default::default();
        Port { sock, writer, reader, prefix, peer, role, followers, idle, options, wanted, received }
    }

    /// The receive thread. `on_data` runs with no state lock held. While WaitSets use the role it stays away, and
    /// takes it back when the role was not used for one period.
    pub fn run(&self, mut on_data: impl FnMut(&Port)) {
        loop {
            let mut role = self.role.lock().unwrap();
            let mut rx = loop {
                if !self.wanted.load(Relaxed)
                    && let Some(rx) = role.rx.take()
                {
                    break rx;
                }
                let uses = role.uses;
                role = self.idle.wait_timeout(role, LEASE).unwrap().0;
                if role.uses == uses && role.rx.is_some() {
                    self.wanted.store(false, Relaxed);
                }
            };
            drop(role);
            loop {
                if self.receive(&mut rx) {
                    on_data(self);
                }
                if self.wanted.load(Relaxed) {
                    break;
                }
            }
            self.give_back(rx);
        }
    }

    fn give_back(&self, rx: Box<Rx>) {
        let mut role = self.role.lock().unwrap();
        role.rx = Some(rx);
        if role.sleepers > 0 {
            self.followers.notify_one();
        }
    }

    /// WaitSet: takes samples, or becomes the receiver itself, or (role taken) sleeps until the role comes free.
    pub fn wait(&self, into: &mut Cache) {
        while !self.reader.take(into) {
            let mut role = self.role.lock().unwrap();
            role.uses += 1;
            self.wanted.store(true, Relaxed);
            match role.rx.take() {
                Some(mut rx) => {
                    drop(role);
                    self.receive(&mut rx);
                    self.give_back(rx);
                }
                None => {
                    role.sleepers += 1;
                    self.followers.wait(role).unwrap().sleepers -= 1;
                }
            }
        }
    }

    /// The usual WaitSet: the receive thread wakes this one.
    pub fn wait_handed(&self, into: &mut Cache) {
        while !self.reader.take(into) {
            let mut s = self.reader.lock();
            s.sleepers += 1;
            s = self.reader.data.wait_while(s, |s| s.cache.entries.is_empty()).unwrap();
            s.sleepers -= 1;
        }
    }

    /// One receive call and all that follows from it; true if the reader has new samples.
    fn receive(&self, rx: &mut Rx) -> bool {
        let Some(at) = rx.pool.iter_mut().position(|b| Arc::get_mut(b).is_some()) else { return false };
        rx.at = at;
        let Some(buf) = rx.pool.get_mut(at).and_then(Arc::get_mut) else { return false };
        let (n, segment) = if self.options.gro {
            self.sock.recv_gro(buf).expect("receive")
        } else {
            (self.sock.recv(buf).expect("receive").0, 0)
        };
        let step = if segment == 0 { n.max(1) } else { segment };
        let mut new = false;
        let mut start = 0;
        while start < n {
            let end = (start + step).min(n);
            rx.datagrams += 1;
            let every = self.options.drop_every;
            if every == 0 || !rx.datagrams.is_multiple_of(every) {
                let buffer = &rx.pool[at];
                let (got, answer) = self.process(buffer, start, end);
                new |= got;
                if let Some((base, bits, words, count)) = answer {
                    rx.out.clear();
                    wire::put_acknack(
                        &mut rx.out,
                        &self.prefix,
                        self.reader.writer,
                        base,
                        &words,
                        bits,
                        count,
                    );
                    let _ = self.sock.send(&rx.out, &self.peer, false);
                }
            }
            start = end;
        }
        if rx.pool.len() < BUFFERS && rx.pool.iter_mut().all(|b| Arc::get_mut(b).is_none()) {
            rx.pool.push(Arc::new(vec![0; 65536]));
        }
        self.received.fetch_add(1, Relaxed);
        new
    }

    /// Parses one message. The reader is locked once for the whole run of its submessages.
    fn process(&self, buffer: &Arc<Vec<u8>>, start: usize, end: usize) -> (bool, Option<Answer>) {
        let mut cursor = Cursor(buffer.get(start..end).unwrap_or(&[]));
        if cursor.header() != Some(self.reader.peer) {
            return (false, None);
        }
        let mut run: Option<MutexGuard<'_, State>> = None;
        let mut got = false;
        while let Some(sub) = cursor.next() {
            match sub {
                Sub::Data { writer, seq, payload } if writer == self.reader.writer => {
                    let s = run.get_or_insert_with(|| self.reader.lock());
                    let keep = payload.len() >= self.reader.pin && s.cache.pinned.len() + 1 < BUFFERS / 2;
                    let at = end - cursor.0.len() - padded(payload.len());
                    s.accept(seq, payload, keep.then_some((buffer, at)));
                    got = true;
                    if self.options.relock {
                        run = None;
                    }
                }
                Sub::Heartbeat { writer, last, ask, .. } if writer == self.reader.writer => {
                    run.get_or_insert_with(|| self.reader.lock()).heartbeat(last, ask);
                }
                Sub::AckNack { writer, base, bits, words } if writer == self.writer.entity() => {
                    run = None;
                    self.writer.ack(base, bits, &words);
                }
                _ => {}
            }
        }
        let Some(mut s) = run else { return (got, None) };
        if s.sleepers > 0 && got {
            self.reader.data.notify_one();
        }
        let answer = s.answer.take().map(|last| {
            let (bits, words) = s.missing(last);
            s.count += 1;
            (s.next, bits, words, s.count)
        });
        (got && !s.cache.entries.is_empty(), answer)
    }
}
