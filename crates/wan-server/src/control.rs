//! The local socket of a manager: connections of commands and of programs of callees, and how commands ask.
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use std::time::Duration;

use connections::local::{self, Listening, NotListening};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::mpsc::Sender;

use crate::event::Event;
use crate::protocol::{Answer, Ask, LONGEST_ANSWER, LONGEST_ASKED, Reply};

/// The kind of these sockets.
const KIND: &str = "punctual-rm";
/// Connections at a time.
const MOST: usize = 512;
/// Lines of one answer that wait at most; further events are left out, and counted.
const WAITING: usize = 4_096;
/// One that does not read what it is told for so long is left.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the manager of a domain listens.
///
/// # Errors
/// The folder cannot be used: why, and what to do.
pub(crate) fn socket(asn: u32) -> Result<PathBuf, String> {
    Ok(local::folder(KIND)?.join(format!("{asn}.sock")))
}

/// A value as a line.
pub(crate) fn line(of: &impl Serialize) -> String {
    // These types have no maps whose keys are no text, and nothing else that can fail.
    let mut text = serde_json::to_string(of).unwrap_or_default();
    text.push('\n');
    text
}

/// The next line, of so many bytes at most; `None` at the end.
///
/// # Errors
/// It is longer or no such text, or the connection fails.
fn next<T: DeserializeOwned>(from: &mut BufReader<UnixStream>, longest: u64) -> io::Result<Option<T>> {
    let mut text = String::new();
    let read = from.take(longest).read_line(&mut text)?;
    if read == 0 {
        return Ok(None);
    }
    let wrong = |what: String| io::Error::new(io::ErrorKind::InvalidData, what);
    if !text.ends_with('\n') {
        return Err(wrong(format!("a line does not end, or has more than {longest} bytes")));
    }
    serde_json::from_str(&text).map(Some).map_err(|error| wrong(error.to_string()))
}

/// Listens for commands; what they want goes to `tell`.
pub(crate) fn listen(path: &Path, tell: &Sender<Event>) -> Result<Listening, NotListening> {
    let (tell, numbers) = (tell.clone(), Arc::new(AtomicU64::new(1)));
    let serve = move |connection: UnixStream| {
        let number = numbers.fetch_add(1, Relaxed);
        // What went wrong was told to the other end, or it is gone.
        let _ = attend(number, connection, &tell);
        let _ = tell.blocking_send(Event::Left(number));
    };
    let refuse = |mut connection: UnixStream| {
        let what = format!("{MOST} commands are asked already: try again");
        let _ = connection.write_all(line(&Answer::Unavailable { what }).as_bytes());
    };
    local::listen(path, MOST, serve, refuse)
}

/// One question after the other, until the connection ends.
fn attend(number: u64, mut connection: UnixStream, tell: &Sender<Event>) -> io::Result<()> {
    connection.set_write_timeout(Some(PATIENCE))?;
    let mut reader = BufReader::new(connection.try_clone()?);
    loop {
        let ask = match next::<Ask>(&mut reader, LONGEST_ASKED) {
            Ok(Some(ask)) => ask,
            Ok(None) => return Ok(()),
            Err(error) => {
                let what = format!("the question makes no sense: {error}");
                return connection.write_all(line(&Answer::Wrong { what }).as_bytes());
            }
        };
        let (lines, told) = sync_channel(WAITING);
        let is_lasting = matches!(ask, Ask::Callee { .. } | Ask::Monitor);
        if tell.blocking_send(Event::Asked(number, ask, lines)).is_err() {
            let what = "the manager has ended".to_owned();
            return connection.write_all(line(&Answer::Unavailable { what }).as_bytes());
        }
        if !is_lasting {
            pass(&told, &mut connection)?;
            continue;
        }
        // Questions and events go out while answers come in; the end of what comes in is noticed also if nothing goes out.
        let mut to = connection.try_clone()?;
        let writes = thread::Builder::new().name("questions".to_owned()).spawn(move || {
            let passed = pass(&told, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Both);
            passed
        })?;
        while let Ok(Some(reply)) = next::<Reply>(&mut reader, LONGEST_ASKED) {
            if tell.blocking_send(Event::Replied(number, reply)).is_err() {
                break;
            }
        }
        let _ = connection.shutdown(std::net::Shutdown::Both);
        // The manager drops its end when it hears that the connection has.
        drop(writes);
        return Ok(());
    }
}

fn pass(told: &Receiver<String>, to: &mut UnixStream) -> io::Result<()> {
    for text in told {
        to.write_all(text.as_bytes())?;
    }
    Ok(())
}

/// A connection of a command to a manager.
#[derive(Debug)]
pub struct Client {
    to: UnixStream,
    from: BufReader<UnixStream>,
}

/// Why a manager cannot be asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoManager {
    /// None runs, or several do: what to do.
    Unknown(String),
    /// Anything else.
    Failed(String),
}

impl Client {
    /// Connects to the manager of a domain, or to the only one that runs.
    ///
    /// # Errors
    /// See [`NoManager`].
    pub fn connect(asn: Option<u32>) -> Result<Self, NoManager> {
        let folder = local::folder(KIND).map_err(NoManager::Failed)?;
        let names = match asn {
            Some(asn) => vec![asn.to_string()],
            None => local::names(KIND).map_err(NoManager::Failed)?,
        };
        let mut found = None;
        for name in &names {
            let path = folder.join(format!("{name}.sock"));
            let Some(client) = Self::open(&path).map_err(NoManager::Failed)? else { continue };
            if found.replace(client).is_some() {
                let what = format!("several managers run here: say which with --asn: {}", names.join(", "));
                return Err(NoManager::Unknown(what));
            }
        }
        found.ok_or_else(|| {
            let of = asn.map_or_else(String::new, |asn| format!(" of AS {asn}"));
            NoManager::Failed(format!("no manager{of} runs here: punctual rm serve FILE starts it"))
        })
    }

    /// Connects to the manager that listens at a path; `None` if none does.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn open(path: &Path) -> Result<Option<Self>, String> {
        let Some(to) = local::connect(path)? else { return Ok(None) };
        let from = BufReader::new(to.try_clone().map_err(|error| error.to_string())?);
        Ok(Some(Self { to, from }))
    }

    /// Asks; [`Self::answer`] has the answer.
    ///
    /// # Errors
    /// The connection fails.
    pub fn ask(&mut self, ask: &impl Serialize) -> io::Result<()> {
        self.to.write_all(line(ask).as_bytes())
    }

    /// The next line of the answer; `None` if the manager has ended.
    ///
    /// # Errors
    /// The connection fails, or the manager speaks otherwise.
    pub fn answer<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        next(&mut self.from, LONGEST_ANSWER)
    }

    /// A second end for a thread that answers while this one reads.
    ///
    /// # Errors
    /// The system refuses it.
    pub fn writer(&self) -> io::Result<UnixStream> {
        self.to.try_clone()
    }
}
