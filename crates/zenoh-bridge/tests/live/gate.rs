//! A connection between bridges that a test can hold up, cut and listen to.
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

#[derive(Default)]
struct State {
    /// Nothing goes on toward those who connect.
    is_stuck: bool,
    is_cut: bool,
    streams: Vec<TcpStream>,
    /// All that went either way.
    heard: Vec<u8>,
}

/// Stands between those who connect here and a bridge that listens.
#[derive(Clone)]
pub(crate) struct Gate(Arc<(Mutex<State>, Condvar)>);

impl Gate {
    /// Listens on a port of this host and connects to another one. Its threads end with the test's process.
    pub(crate) fn open(listen: u16, to: u16) -> Self {
        let gate = Self(Arc::default());
        let listener = TcpListener::bind(("127.0.0.1", listen)).unwrap();
        let of = gate.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                // Who connects tries again.
                if let (Ok(near), Ok(far)) = (stream, TcpStream::connect(("127.0.0.1", to))) {
                    of.join(&near, &far);
                }
            }
        });
        gate
    }

    fn join(&self, near: &TcpStream, far: &TcpStream) {
        let copy = |stream: &TcpStream| stream.try_clone().unwrap();
        {
            let mut state = self.0.0.lock().unwrap();
            if state.is_cut {
                return;
            }
            state.streams.extend([copy(near), copy(far)]);
        }
        for (from, to, may_stick) in [(copy(near), copy(far), false), (copy(far), copy(near), true)] {
            let gate = self.clone();
            thread::spawn(move || gate.pass(from, to, may_stick));
        }
    }

    fn pass(&self, mut from: TcpStream, mut to: TcpStream, may_stick: bool) {
        let mut bytes = [0; 16_384];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let state = self.0.0.lock().unwrap();
            let mut state = self.0.1.wait_while(state, |state| may_stick && state.is_stuck).unwrap();
            state.heard.extend(&bytes[..count]);
            drop(state);
            if to.write_all(&bytes[..count]).is_err() {
                break;
            }
        }
        for stream in [from, to] {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// Whether nothing goes on toward those who have connected.
    pub(crate) fn stick(&self, is_stuck: bool) {
        self.0.0.lock().unwrap().is_stuck = is_stuck;
        self.0.1.notify_all();
    }

    /// Ends all connections, and whether new ones are refused.
    pub(crate) fn cut(&self, is_cut: bool) {
        let mut state = self.0.0.lock().unwrap();
        state.is_cut = is_cut;
        for stream in state.streams.drain(..) {
            drop(stream.shutdown(Shutdown::Both));
        }
    }

    /// Whether this text went either way.
    pub(crate) fn has_heard(&self, text: &str) -> bool {
        let state = self.0.0.lock().unwrap();
        state.heard.windows(text.len()).any(|bytes| bytes == text.as_bytes())
    }
}
