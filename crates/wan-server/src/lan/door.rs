//! The manager of a LAN, as it is asked: over HTTP.
use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use connections::{Failed, Question, Secure};
use keys::{Identity, Role};

use super::words::Wrong;

/// How long the manager may take: it waits for a second for what is not decided.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes of an answer at most: more than those of all tunnels that an owner may have.
const LARGEST: usize = 1 << 20;

/// The manager of a LAN.
pub trait LanManager: Send {
    /// Says what an owner wants, as the body of `PUT /api/v1/tunnels/{owner}`; the body of the answer.
    ///
    /// # Errors
    /// Why there is none, in words.
    fn hold(&mut self, owner: u32, wanted: &[u8]) -> Result<Vec<u8>, String>;
}

/// Where its interface is.
#[derive(Clone)]
pub(crate) struct AtAddress {
    address: SocketAddr,
    secure: Option<Secure>,
}

impl fmt::Debug for AtAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AtAddress").field("address", &self.address).finish_non_exhaustive()
    }
}

impl AtAddress {
    /// With keys the interface speaks TLS, and this end shows the certificate of an operator: the only one in the folder.
    ///
    /// # Errors
    /// What is wrong with the keys, and what to do.
    pub(crate) fn new(address: SocketAddr, keys: Option<&Path>) -> Result<Self, String> {
        let secure = keys.map(|folder| {
            let (identity, _) = Identity::of_operator(folder, None).map_err(|error| error.to_string())?;
            identity.client_to(Role::Manager).map_err(|error| error.to_string())
        });
        Ok(Self { address, secure: secure.transpose()? })
    }

    fn unreachable(&self, failed: &Failed) -> String {
        let Failed::Broken(error) = failed else { return format!("it does not answer: {failed}") };
        if let Some(why) = connections::why(&**error, Role::Manager) {
            return why;
        }
        if self.secure.is_none() && connections::speaks_tls(&**error) {
            return "it speaks TLS: [lan] needs `keys`, a folder with the key of an operator".to_owned();
        }
        format!("it does not answer: {error}; does it run, and with --web?")
    }
}

impl LanManager for AtAddress {
    fn hold(&mut self, owner: u32, wanted: &[u8]) -> Result<Vec<u8>, String> {
        let headers = vec![
            ("host", self.address.to_string()),
            ("content-type", "application/json".to_owned()),
            ("punctual-operator", format!("AS {owner}")),
        ];
        let path = format!("/api/v1/tunnels/{owner}");
        let question = Question { method: "PUT", path, headers, body: wanted.to_vec() };
        let answered = connections::ask(self.address, self.secure.clone(), question, PATIENCE, LARGEST);
        let (status, body) = answered.map_err(|failed| self.unreachable(&failed))?;
        if status == 200 {
            return Ok(body);
        }
        let wrong: Wrong = serde_json::from_slice(&body).unwrap_or_default();
        Err(match wrong.error.as_str() {
            "" => format!("it does not answer as a manager does (status {status})"),
            error => error.to_owned(),
        })
    }
}
