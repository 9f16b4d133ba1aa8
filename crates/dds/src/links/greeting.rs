//! What two participants say to each other when they meet, and what it takes of the system.
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use shm::{Bell, ChunkWindow, Said, Window};
use wire::discovery::SharedMemory;

/// A connection with another process of the host. It does not block.
pub trait Connection {
    /// The effective user of the other side, of whom the system says so.
    ///
    /// # Errors
    /// The system's.
    fn user(&self) -> io::Result<u32>;

    /// True if it takes one of the last descriptors that the process may have.
    fn leaves_few(&self) -> bool;

    /// Says something, and gives descriptors.
    ///
    /// # Errors
    /// The system's: the other side may be gone.
    fn say(&self, words: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()>;

    /// What the other side has said next.
    ///
    /// # Errors
    /// The system's.
    fn hear(&self, buffer: &mut [u8]) -> io::Result<Said>;
}

/// Where connections come from.
pub trait Connections {
    /// One of them.
    type Connection: Connection;

    /// Connects with the process that listens at this name.
    ///
    /// # Errors
    /// The system's: perhaps none does.
    fn connect(&self, name: &[u8]) -> io::Result<Self::Connection>;

    /// The next process that connects; `None` if there is none.
    ///
    /// # Errors
    /// The system's, as for too many open files.
    fn accept(&self) -> io::Result<Option<Self::Connection>>;
}

impl Connection for shm::Talk {
    fn user(&self) -> io::Result<u32> {
        self.peer().map(|peer| peer.user)
    }

    fn leaves_few(&self) -> bool {
        shm::leaves_few(self.as_fd())
    }

    fn say(&self, words: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
        Self::say(self, words, files)
    }

    fn hear(&self, buffer: &mut [u8]) -> io::Result<Said> {
        Self::hear(self, buffer)
    }
}

impl Connections for shm::Meeting {
    type Connection = shm::Talk;

    fn connect(&self, name: &[u8]) -> io::Result<shm::Talk> {
        shm::Talk::new(name)
    }

    fn accept(&self) -> io::Result<Option<shm::Talk>> {
        Self::accept(self)
    }
}

const MAGIC: [u8; 4] = *b"PNLK";
const VERSION: u8 = 2;
/// Magic word, version, three bytes of zeros, nonce of the speaker, nonce of whom it is for.
pub(super) const LEN: usize = 24;

/// What one says to another, by their nonces.
pub(super) fn words(own: u64, other: u64) -> [u8; LEN] {
    let mut greeting = [0; LEN];
    greeting[..4].copy_from_slice(&MAGIC);
    greeting[4] = VERSION;
    greeting[8..16].copy_from_slice(&own.to_le_bytes());
    greeting[16..].copy_from_slice(&other.to_le_bytes());
    greeting
}

/// The nonces of the sender and of the receiver.
pub(super) fn read(buffer: &[u8]) -> Option<(u64, u64)> {
    let word = |at: usize| {
        let bytes: Option<[u8; 8]> = buffer.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u64::from_le_bytes)
    };
    let is_ours = buffer.get(..4) == Some(&MAGIC) && buffer.get(4) == Some(&VERSION);
    is_ours.then(|| word(8).zip(word(16))).flatten()
}

/// The kernel has to say of the process what was announced.
pub(super) fn check_user(talk: &impl Connection, memory: &SharedMemory) -> Result<(), String> {
    let user = talk.user().map_err(|error| format!("whose process it is cannot be told: {error}"))?;
    if user == memory.user {
        return Ok(());
    }
    Err(format!("it says that it runs as user {}, and the kernel that it is {}", memory.user, user))
}

/// What the other side gave.
pub(super) struct Given {
    pub(super) window: Window,
    pub(super) bell: Bell,
    pub(super) chunks: ChunkWindow,
}

/// What the other side gave, if it holds the nonce that was announced.
pub(super) fn open(files: &[OwnedFd], memory: &SharedMemory) -> Result<Given, String> {
    let [segment, bell, chunks]: [BorrowedFd<'_>; 3] = match files {
        [segment, bell, chunks] => [segment.as_fd(), bell.as_fd(), chunks.as_fd()],
        _ => return Err("it gave no memory: UDP is used".to_owned()),
    };
    let window = Window::open(segment, memory.nonce).map_err(|error| error.to_string())?;
    let bell = Bell::open(bell).map_err(|error| error.to_string())?;
    let chunks = ChunkWindow::open(chunks, memory.nonce).map_err(|error| error.to_string())?;
    Ok(Given { window, bell, chunks })
}
