//! The control socket of a supervisor: its path, the supervisor that listens, and the commands that connect.
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use connections::local::{self, Listening, NotListening};
use deployment::{Control, ControlAnswer, LONGEST_LINE, LONGEST_REQUEST, Lines, line, read};

use crate::command::{BAD_NEWS, FAILED, Failure};

/// How many commands may be asked at once.
const MOST: usize = 16;
/// How long a command may take to say what it wants.
const PATIENCE: Duration = Duration::from_secs(10);
/// The kind of these sockets.
const KIND: &str = "punctual-deploy";

/// A command, and where its answer goes.
pub(crate) struct Asked {
    pub(crate) control: Control,
    pub(crate) answer: Sender<ControlAnswer>,
}

/// The folder of control sockets, which no other user may enter.
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    local::folder(KIND).map_err(|what| (FAILED, what))
}

/// Where the supervisor of a deployment listens.
pub(crate) fn socket(deployment: &str) -> Result<PathBuf, Failure> {
    Ok(folder()?.join(format!("{deployment}.sock")))
}

/// The deployments that have a socket, whether they run or not.
pub(crate) fn deployments() -> Result<Vec<String>, Failure> {
    local::names(KIND).map_err(|what| (FAILED, what))
}

/// Listens for commands, each of which is handed to `hand_on`.
///
/// # Errors
/// There is a supervisor of this deployment, or the socket cannot be made.
pub(crate) fn listen(
    path: &Path,
    hand_on: impl Fn(Asked) -> bool + Clone + Send + 'static,
) -> Result<Listening, Failure> {
    let refuse = |connection: UnixStream| {
        let what = format!("{MOST} commands are asked already: try again");
        let _ = answer(connection, &ControlAnswer::Refused { what });
    };
    let listening = local::listen(path, MOST, move |connection| attend(connection, &hand_on), refuse);
    listening.map_err(|why| match why {
        NotListening::Taken(path) => {
            let what = format!(
                "{} belongs to a supervisor that runs: punctual deploy apply goes on to another plan, and stop ends it",
                path.display()
            );
            (BAD_NEWS, what)
        }
        NotListening::Failed(what) => (FAILED, what),
    })
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

/// Asks the supervisor of a deployment. Applying and stopping take as long as they take.
///
/// # Errors
/// There is none, or it does not answer.
pub(crate) fn ask(deployment: &str, control: &Control) -> Result<ControlAnswer, Failure> {
    let path = socket(deployment)?;
    let connected = local::connect(&path).and_then(|found| found.ok_or_else(|| "it does not run".to_owned()));
    let mut connection = connected.map_err(|what| {
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
