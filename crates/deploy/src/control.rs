//! The control socket of a supervisor: its path, the supervisor that listens, and the commands that connect.
use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use deployment::{Control, ControlAnswer, LONGEST_LINE, LONGEST_REQUEST, Lines, line, read};
use nix::unistd::geteuid;

use crate::command::{BAD_NEWS, FAILED, Failure};

/// How many commands may be asked at once.
const MOST: usize = 16;
/// How long a command may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long commands are waited for that are told an answer, when all is over.
const GOODBYE: Duration = Duration::from_secs(2);

/// A command, and where its answer goes.
pub(crate) struct Asked {
    pub(crate) control: Control,
    pub(crate) answer: Sender<ControlAnswer>,
}

/// The socket while it is there. The lock beside it says that a supervisor is alive: a supervisor that finds a socket without one may take its place.
pub(crate) struct Listening {
    path: PathBuf,
    _lock: File,
    open: Arc<Open>,
}

/// How many commands have not been answered yet.
#[derive(Default)]
struct Open {
    count: Mutex<usize>,
    less: Condvar,
}

impl Open {
    /// One more, unless there are too many.
    fn enter(&self) -> bool {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        let may = *count < MOST;
        *count += usize::from(may);
        may
    }

    fn leave(&self) {
        *self.count.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        self.less.notify_all();
    }
}

/// The folder of control sockets, which no other user may enter: in that of the session, or in that for temporary files.
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    let path = match std::env::var_os("XDG_RUNTIME_DIR").filter(|path| !path.is_empty()) {
        Some(session) => Path::new(&session).join("punctual-deploy"),
        None => std::env::temp_dir().join(format!("punctual-deploy-{}", geteuid())),
    };
    let failed = |what: String| (FAILED, format!("{}: {what}", path.display()));
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

/// Where the supervisor of a deployment listens.
pub(crate) fn socket(deployment: &str) -> Result<PathBuf, Failure> {
    Ok(folder()?.join(format!("{deployment}.sock")))
}

/// The deployments that have a socket, whether they run or not.
pub(crate) fn deployments() -> Result<Vec<String>, Failure> {
    let folder = folder()?;
    let entries =
        std::fs::read_dir(&folder).map_err(|error| (FAILED, format!("{}: {error}", folder.display())))?;
    let names = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let names = names.filter(|path| path.extension().is_some_and(|it| it == "sock"));
    let mut names: Vec<String> =
        names.filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned())).collect();
    names.sort();
    Ok(names)
}

/// Listens for commands, each of which is handed to `hand_on`.
///
/// # Errors
/// There is a supervisor of this deployment, or the socket cannot be made.
pub(crate) fn listen(
    path: &Path,
    hand_on: impl Fn(Asked) -> bool + Clone + Send + 'static,
) -> Result<Listening, Failure> {
    let failed = |error: io::Error| (FAILED, format!("{}: {error}", path.display()));
    let lock = path.with_extension("lock");
    let lock = File::create(&lock).map_err(|error| (FAILED, format!("{}: {error}", lock.display())))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let what = format!(
                "{} belongs to a supervisor that runs: punctual deploy apply goes on to another plan, and stop ends it",
                path.display()
            );
            return Err((BAD_NEWS, what));
        }
        Err(TryLockError::Error(error)) => return Err(failed(error)),
    }
    // The socket of a supervisor that was killed.
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let listener = UnixListener::bind(path).map_err(failed)?;
    let open = Arc::new(Open::default());
    let of = Arc::clone(&open);
    let spawned = thread::Builder::new().name("control".to_owned()).spawn(move || {
        for connection in listener.incoming().flatten() {
            if !of.enter() {
                let what = format!("{MOST} commands are asked already: try again");
                let _ = answer(connection, &ControlAnswer::Refused { what });
                continue;
            }
            let (hand_on, its) = (hand_on.clone(), Arc::clone(&of));
            let spawned = thread::Builder::new().name("command".to_owned()).spawn(move || {
                attend(connection, &hand_on);
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

/// Reads what one command wants, and tells it the answer.
fn attend(mut connection: UnixStream, hand_on: &impl Fn(Asked) -> bool) {
    let _ = connection.set_read_timeout(Some(PATIENCE));
    let _ = connection.set_write_timeout(Some(PATIENCE));
    let asked = next(&mut connection, LONGEST_REQUEST)
        .and_then(|text| read::<Control>(&text).map_err(|error| error.to_string()));
    let told = match asked {
        Err(what) => ControlAnswer::Refused { what },
        Ok(control) => {
            let (tell, told) = channel();
            let is_heard = hand_on(Asked { control, answer: tell });
            let over = ControlAnswer::Refused { what: "the supervisor has ended".to_owned() };
            if is_heard { told.recv().unwrap_or(over) } else { over }
        }
    };
    let _ = answer(connection, &told);
}

fn answer(mut connection: UnixStream, told: &ControlAnswer) -> io::Result<()> {
    let text = line(told).map_err(io::Error::other)?;
    connection.write_all(text.as_bytes())
}

/// The next line that comes.
fn next(connection: &mut UnixStream, longest: usize) -> Result<String, String> {
    let mut lines = Lines::new(longest);
    let mut buffer = [0; 8 << 10];
    loop {
        if let Some(text) = lines.next_line().map_err(|error| error.to_string())? {
            return Ok(text);
        }
        match connection.read(&mut buffer) {
            Ok(0) => return Err("the connection ended before a line did".to_owned()),
            Ok(count) => lines.feed(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}

impl Listening {
    /// Ends: no command finds the socket any more, and those that were answered have got it.
    pub(crate) fn close(self) {
        let _ = std::fs::remove_file(&self.path);
        let count = self.open.count.lock().unwrap_or_else(PoisonError::into_inner);
        drop(self.open.less.wait_timeout_while(count, GOODBYE, |count| *count > 0));
    }
}

/// Asks the supervisor of a deployment. Applying and stopping take as long as they take.
///
/// # Errors
/// There is none, or it does not answer.
pub(crate) fn ask(deployment: &str, control: &Control) -> Result<ControlAnswer, Failure> {
    let path = socket(deployment)?;
    let mut connection = UnixStream::connect(&path).map_err(|error| {
        let what = match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => "it does not run".to_owned(),
            _ => format!("{}: {error}", path.display()),
        };
        (BAD_NEWS, format!("deployment {deployment}: {what}; punctual deploy launch starts it"))
    })?;
    let failed = |what: String| (FAILED, format!("deployment {deployment}: {what}"));
    // Supervisors that ask each other do not wait for ever.
    let longest = matches!(control, Control::Status).then_some(PATIENCE);
    connection.set_read_timeout(longest).map_err(|error| failed(error.to_string()))?;
    let text = line(control).map_err(|error| failed(error.to_string()))?;
    connection.write_all(text.as_bytes()).map_err(|error| failed(error.to_string()))?;
    let told = next(&mut connection, LONGEST_LINE).map_err(failed)?;
    read(&told).map_err(|error| failed(error.to_string()))
}
