//! Makes a switch send a frame, so that the socket is there that it sends all others with: see [`crate::memory`].
//!
//! The switch is told to for a moment by a controller that it calls by itself, because it carries frames less evenly if it listens anywhere.
use std::fs;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use openflow::action::Action;
use openflow::hello::Hello;
use openflow::packet::PacketOut;
use openflow::stream::{Framer, Longest};
use openflow::words::{BufferId, PortNo};
use openflow::{Message, Xid};

use system::Error;

/// How long the switch may take to call, and to answer.
const PATIENCE: Duration = Duration::from_secs(10);
/// An experimental frame (IEEE 802, type 0x88b5) with no receiver, of which hosts take no notice.
const FRAME: [u8; 14] = [2, 0, 0, 0xff, 0xff, 0xfd, 2, 0, 0, 0xff, 0xff, 0xfe, 0x88, 0xb5];
/// Bytes of the shortest frame.
const SHORTEST: usize = 60;

/// Where the switch calls.
#[derive(Debug)]
pub(crate) struct FirstFrame {
    listener: UnixListener,
    path: PathBuf,
}

impl FirstFrame {
    /// Waits for the switch in its folder.
    pub(crate) fn new(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("first.sock");
        let listener = UnixListener::bind(&path).map_err(Error::system(path.display()))?;
        listener.set_nonblocking(true).map_err(Error::system(path.display()))?;
        Ok(Self { listener, path })
    }

    /// Its name as a controller.
    pub(crate) fn target(&self) -> String {
        format!("unix:{}", self.path.display())
    }

    /// Has a frame sent to the port; it has been when this returns.
    ///
    /// A switch that is still being configured may hang up and call again: only what comes of its last call counts.
    pub(crate) fn send(self, port: u32) -> Result<(), Error> {
        let failed = |what: String| Error::new(format!("the first frame of a switch: {what}"), "");
        let begun = Instant::now();
        loop {
            let stream = self.called(begun).map_err(|error| failed(error.to_string()))?;
            match exchange(stream, port) {
                Err(error) if hung_up(&error) && begun.elapsed() < PATIENCE => {}
                exchanged => return exchanged.map_err(|error| failed(error.to_string())),
            }
        }
    }

    fn called(&self, begun: Instant) -> std::io::Result<UnixStream> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    stream.set_read_timeout(Some(PATIENCE))?;
                    return Ok(stream);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock && begun.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for FirstFrame {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether the switch has ended the connection.
fn hung_up(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof)
}

/// Says what is to be sent, and waits until it has been.
fn exchange(mut stream: UnixStream, port: u32) -> std::io::Result<()> {
    let mut data = FRAME.to_vec();
    data.resize(SHORTEST, 0);
    let actions = vec![Action::output(PortNo(port))];
    let packet = PacketOut { buffer: BufferId::NONE, in_port: PortNo::CONTROLLER, actions, data };
    let mut bytes = Vec::new();
    for message in [Message::Hello(Hello::ours()), Message::PacketOut(packet), Message::BarrierRequest] {
        message.encode(Xid(1), &mut bytes).map_err(std::io::Error::other)?;
    }
    stream.write_all(&bytes)?;
    let (mut framer, mut heard) = (Framer::of(Longest(u16::MAX)), [0; 2_048]);
    loop {
        let length = match stream.read(&mut heard)? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            length => length,
        };
        let mut bytes = heard.get(..length).unwrap_or_default();
        while let Some(message) = framer.next(&mut bytes).map_err(std::io::Error::other)? {
            match Message::decode(message) {
                Ok((_, Message::BarrierReply)) => return Ok(()),
                Ok((_, Message::Error(error))) => return Err(std::io::Error::other(format!("{error:?}"))),
                Ok(_) => {}
                Err(error) => return Err(std::io::Error::other(error)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_frame(test: &str) -> (FirstFrame, PathBuf) {
        let folder = std::env::temp_dir().join(format!("punctual-first-{test}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        (FirstFrame::new(&folder).unwrap(), folder)
    }

    /// A switch that has been asked for a barrier.
    fn answer(path: &Path) {
        let mut stream = UnixStream::connect(path).unwrap();
        let (mut framer, mut heard) = (Framer::of(Longest(u16::MAX)), [0; 2_048]);
        loop {
            let length = stream.read(&mut heard).unwrap();
            let mut bytes = &heard[..length];
            while let Some(message) = framer.next(&mut bytes).unwrap() {
                if let Ok((xid, Message::BarrierRequest)) = Message::decode(message) {
                    let mut reply = Vec::new();
                    Message::BarrierReply.encode(xid, &mut reply).unwrap();
                    return stream.write_all(&reply).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_switch_that_hangs_up_is_heard_when_it_calls_again() {
        let (first, folder) = first_frame("again");
        let path = folder.join("first.sock");
        // Two calls that come to nothing before anybody has looked.
        drop(UnixStream::connect(&path).unwrap());
        drop(UnixStream::connect(&path).unwrap());
        let switch = std::thread::spawn(move || answer(&path));
        first.send(1).unwrap();
        switch.join().unwrap();
        fs::remove_dir_all(folder).unwrap();
    }
}
