//! A machine on which processes meet: connections between them that carry words and descriptors, as local sockets do.
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::{Arc, Mutex, Weak};

use dds::links::{Connection, Connections};
use shm::Said;

use super::host::lock;
use crate::random::Random;

/// One machine.
#[derive(Default)]
pub(super) struct Room {
    /// Who listens, and who waits there.
    listeners: Mutex<BTreeMap<Vec<u8>, VecDeque<Talk>>>,
    pipes: Mutex<Vec<Weak<Pipe>>>,
}

/// The place of a process on its machine.
pub(super) struct Place {
    room: Arc<Room>,
    name: Vec<u8>,
    user: u32,
}

/// One end of a connection.
pub(super) struct Talk {
    pipe: Arc<Pipe>,
    side: usize,
}

/// What was said, with the descriptors.
type Words = (Vec<u8>, Vec<OwnedFd>);

struct Pipe {
    state: Mutex<State>,
    user: u32,
}

#[derive(Default)]
struct State {
    /// What each side has not heard yet.
    unheard: [VecDeque<Words>; 2],
    /// Which side has closed.
    closed: [bool; 2],
}

impl Room {
    /// Ends a connection that both sides still have, if there is one, as the system may do by itself.
    pub(super) fn cut(&self, random: &mut Random) -> bool {
        let mut pipes = lock(&self.pipes);
        pipes.retain(|pipe| pipe.upgrade().is_some_and(|pipe| lock(&pipe.state).closed == [false; 2]));
        let at = random.below(pipes.len() as u64) as usize;
        let pipe = pipes.get(at).and_then(Weak::upgrade);
        pipe.map(|pipe| lock(&pipe.state).closed = [true; 2]).is_some()
    }

    /// Connects with the participant that listens.
    ///
    /// # Errors
    /// No participant listens.
    pub(super) fn connect(&self, name: &[u8], user: u32) -> io::Result<Talk> {
        let mut listeners = lock(&self.listeners);
        let queue = listeners.get_mut(name).ok_or(io::ErrorKind::ConnectionRefused)?;
        // Of other users none is met: `obstacle` sees to that before.
        let pipe = Arc::new(Pipe { state: Mutex::default(), user });
        lock(&self.pipes).push(Arc::downgrade(&pipe));
        queue.push_back(Talk { pipe: Arc::clone(&pipe), side: 1 });
        Ok(Talk { pipe, side: 0 })
    }
}

impl Place {
    /// Listens.
    pub(super) fn new(room: &Arc<Room>, name: Vec<u8>, user: u32) -> Self {
        lock(&room.listeners).insert(name.clone(), VecDeque::new());
        Self { room: Arc::clone(room), name, user }
    }

    /// True if a participant waits.
    pub(super) fn is_wanted(&self) -> bool {
        lock(&self.room.listeners).get(&self.name).is_some_and(|queue| !queue.is_empty())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let waiting = lock(&self.room.listeners).remove(&self.name);
        drop(waiting);
    }
}

impl Connections for Place {
    type Connection = Talk;

    fn connect(&self, name: &[u8]) -> io::Result<Talk> {
        self.room.connect(name, self.user)
    }

    fn accept(&self) -> io::Result<Option<Talk>> {
        Ok(lock(&self.room.listeners).get_mut(&self.name).and_then(VecDeque::pop_front))
    }
}

impl Talk {
    /// True if there is something to hear, the end included.
    pub(super) fn is_ready(&self) -> bool {
        let state = lock(&self.pipe.state);
        let unheard = state.unheard.get(self.side).is_some_and(|words| !words.is_empty());
        unheard || state.closed.contains(&true)
    }
}

impl Connection for Talk {
    fn user(&self) -> io::Result<u32> {
        Ok(self.pipe.user)
    }

    fn leaves_few(&self) -> bool {
        false
    }

    fn say(&self, words: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut state = lock(&self.pipe.state);
        if state.closed.contains(&true) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        let files = files.iter().map(BorrowedFd::try_clone_to_owned).collect::<io::Result<_>>()?;
        if let Some(unheard) = state.unheard.get_mut(1 - self.side) {
            unheard.push_back((words.to_vec(), files));
        }
        Ok(())
    }

    fn hear(&self, buffer: &mut [u8]) -> io::Result<Said> {
        let mut state = lock(&self.pipe.state);
        let is_over = state.closed.contains(&true);
        let said = state.unheard.get_mut(self.side).and_then(VecDeque::pop_front);
        let Some((words, files)) = said else { return Ok(if is_over { Said::Gone } else { Said::Nothing }) };
        Ok(match buffer.get_mut(..words.len()) {
            Some(to) if !words.is_empty() => {
                to.copy_from_slice(&words);
                Said::Words(words.len(), files)
            }
            _ => Said::Gone,
        })
    }
}

impl Drop for Talk {
    fn drop(&mut self) {
        if let Some(closed) = lock(&self.pipe.state).closed.get_mut(self.side) {
            *closed = true;
        }
    }
}
