//! What commands ask a server that runs: a line of JSON each way, over a socket in its folder.
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream as Plain;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use system::Error;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::Sender;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::entry::Granted;

/// The socket, in the folder of the store.
const SOCKET: &str = "control";
/// The longest question, and how long it may take.
const LONGEST: u64 = 4_096;
const PATIENCE: Duration = Duration::from_secs(10);

/// A question.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Question {
    /// Which sessions are granted, and who is connected?
    Sessions,
    /// End a session.
    Abort {
        /// The session.
        session: String,
    },
    /// Have the client of a session ask again.
    AskAgain {
        /// The session.
        session: String,
    },
    /// Read the file of users again.
    Reload,
}

/// An answer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Answer {
    /// It is done.
    Done {
        /// What to tell.
        text: String,
    },
    /// It is not.
    Failed {
        /// Why.
        text: String,
    },
    /// What there is.
    Sessions {
        /// Sessions.
        sessions: Vec<Granted>,
        /// Peers, and whether they are connected.
        peers: Vec<(String, bool)>,
    },
}

/// A question, and where its answer goes.
pub(super) type Asked = (Question, oneshot::Sender<Answer>);

/// Listens. The folder belongs to the server alone, which is sure since it holds the lock of its files.
pub(super) fn listen(folder: &Path, asked: Sender<Asked>) -> Result<PathBuf, Error> {
    let path = folder.join(SOCKET);
    // That of a server that was killed.
    let _ = std::fs::remove_file(&path);
    let listener = UnixListener::bind(&path).map_err(Error::system(path.display()))?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))
        .map_err(Error::system(path.display()))?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let asked = asked.clone();
            tokio::spawn(async move {
                let _ = timeout(PATIENCE, serve(stream, asked)).await;
            });
        }
    });
    Ok(path)
}

async fn serve(stream: UnixStream, asked: Sender<Asked>) -> std::io::Result<()> {
    let (from, mut to) = stream.into_split();
    let mut line = String::new();
    tokio::io::BufReader::new(from.take(LONGEST)).read_line(&mut line).await?;
    let answer = match serde_json::from_str(&line) {
        Ok(question) => {
            let (told, answer) = oneshot::channel();
            let failed = || Answer::Failed { text: "the server ends".to_owned() };
            match asked.send((question, told)).await {
                Ok(()) => answer.await.unwrap_or_else(|_| failed()),
                Err(_) => failed(),
            }
        }
        Err(error) => Answer::Failed { text: format!("this question is not understood: {error}") },
    };
    let mut text = serde_json::to_string(&answer)?;
    text.push('\n');
    to.write_all(text.as_bytes()).await
}

/// Asks the server of a folder.
///
/// # Errors
/// There is none, or it gives no answer.
pub fn ask(folder: &Path, question: &Question) -> Result<Answer, Error> {
    let path = folder.join(SOCKET);
    let asked = || -> std::io::Result<Answer> {
        let mut stream = Plain::connect(&path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut text = serde_json::to_string(question)?;
        text.push('\n');
        stream.write_all(text.as_bytes())?;
        let mut line = String::new();
        BufReader::new(stream.take(1 << 30)).read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    };
    asked().map_err(|error| {
        Error::new(
            format!("{}: {error}", path.display()),
            "is the server there? `punctual aaa serve` starts it",
        )
    })
}
