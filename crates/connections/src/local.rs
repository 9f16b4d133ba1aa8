//! Sockets by which commands of the same user ask a program that runs: where they are, the program that listens, and commands that connect.
use std::fmt;
use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use nix::unistd::geteuid;

/// How long commands are waited for that are told an answer, when all is over.
const GOODBYE: Duration = Duration::from_secs(2);

/// Why a program cannot listen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NotListening {
    /// Another one does, at this path.
    Taken(PathBuf),
    /// Anything else, in words.
    Failed(String),
}

/// The socket while it is there. The lock beside it says that a program is alive: one that finds a socket without one may take its place.
pub struct Listening {
    path: PathBuf,
    _lock: File,
    open: Arc<Open>,
}

impl fmt::Debug for Listening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Listening").field("path", &self.path).finish_non_exhaustive()
    }
}

/// How many connections are served.
#[derive(Default)]
struct Open {
    count: Mutex<usize>,
    less: Condvar,
}

impl Open {
    /// One more, unless there are too many.
    fn enter(&self, most: usize) -> bool {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let may = *count < most;
        *count += usize::from(may);
        may
    }

    fn leave(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.less.notify_all();
    }
}

/// The folder of the sockets of a kind of program, which no other user may enter: in that of the session, or in that for temporary files.
///
/// # Errors
/// It cannot be made, or is not that of this user alone: what, and what to do.
pub fn folder(kind: &str) -> Result<PathBuf, String> {
    let path = match std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty()) {
        Some(session) => Path::new(&session).join(kind),
        None => std::env::temp_dir().join(format!("{kind}-{}", geteuid())),
    };
    let failed = |what: String| format!("{}: {what}", path.display());
    let made = DirBuilder::new().recursive(true).mode(0o700).create(&path);
    made.map_err(|error| failed(format!("{error}; set XDG_RUNTIME_DIR to a folder of yours")))?;
    let about = std::fs::symlink_metadata(&path).map_err(|error| failed(error.to_string()))?;
    if !about.is_dir() || about.uid() != geteuid().as_raw() || about.mode() & 0o077 != 0 {
        return Err(failed(
            "it is not yours alone; remove it, or set XDG_RUNTIME_DIR to a folder of yours".to_owned(),
        ));
    }
    Ok(path)
}

/// The names of the sockets of a kind of program, whether it runs or not.
///
/// # Errors
/// As [`folder`].
pub fn names(kind: &str) -> Result<Vec<String>, String> {
    let folder = folder(kind)?;
    let entries = std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let names = names.filter(|path| path.extension().is_some_and(|it| it == "sock"));
    let mut names: Vec<String> =
        names.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect();
    names.sort();
    Ok(names)
}

/// Listens, and gives each connection to `serve`, in a thread of its own; those beyond `most` at a time to `refuse`.
///
/// # Errors
/// Another program has the place, or the socket cannot be made.
pub fn listen(
    path: &Path,
    most: usize,
    serve: impl Fn(UnixStream) + Clone + Send + 'static,
    refuse: impl Fn(UnixStream) + Send + 'static,
) -> Result<Listening, NotListening> {
    let failed = |error: io::Error| NotListening::Failed(format!("{}: {error}", path.display()));
    let lock = path.with_extension("lock");
    let lock =
        File::create(&lock).map_err(|error| NotListening::Failed(format!("{}: {error}", lock.display())))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(NotListening::Taken(path.to_owned())),
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    // The socket of a program that was killed.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    let open = Arc::new(Open::default());
    let of = Arc::clone(&open);
    let spawned = thread::Builder::new().name("control".to_owned()).spawn(move || {
        for connection in listener.incoming().flatten() {
            if !of.enter(most) {
                refuse(connection);
                continue;
            }
            let (serve, its) = (serve.clone(), Arc::clone(&of));
            let spawned = thread::Builder::new().name("command".to_owned()).spawn(move || {
                serve(connection);
                its.leave();
            });
            if spawned.is_err() {
                of.leave();
            }
        }
    });
    spawned.map_err(failed)?;
    Ok(Listening { path: path.to_owned(), _lock: lock, open })
}

impl Listening {
    /// Ends: no command finds the socket any more, and those that were answered have got it.
    pub fn close(self) {
        let _ = std::fs::remove_file(&self.path);
        let count = self.open.count.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.open.less.wait_timeout_while(count, GOODBYE, |count| *count > 0));
    }
}

/// Connects to a program; `None` if none is there.
///
/// # Errors
/// Anything else, in words.
pub fn connect(path: &Path) -> Result<Option<UnixStream>, String> {
    match UnixStream::connect(path) {
        Ok(stream) => Ok(Some(stream)),
        Err(error) => match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ok(None),
            _ => Err(format!("{}: {error}", path.display())),
        },
    }
}
