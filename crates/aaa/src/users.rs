//! Users, how they show who they are, and what their contracts allow.
use std::collections::BTreeMap;

use ring::digest::{SHA256, digest};
use wan::{Class, Prefix};

/// What a user may do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Contract {
    /// Valid from, in seconds of Unix time.
    pub begins: u64,
    /// Valid until, in seconds of Unix time: not at it.
    pub ends: u64,
    /// Classes that may be asked for.
    pub classes: Vec<Class>,
    /// Addresses that may be reached.
    pub destinations: Vec<Prefix>,
    /// Bits per second of all sessions together toward destinations, once for each destination of a flow.
    pub quota: u64,
    /// Most sessions at a time.
    pub most_sessions: usize,
}

/// A user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct User {
    /// Its number, which no other user has.
    pub id: u32,
    /// Its name, which no other user has. Records carry it.
    pub name: String,
    /// The SHA-256 of its secret: who asks with the secret is the user.
    pub secret_sha256: Option<[u8; 32]>,
    /// The name in its certificate: managers that have verified it ask with this name and without a secret.
    pub certificate: Option<String>,
    /// What it may do.
    pub contract: Contract,
}

/// All users.
#[derive(Clone, Default, Debug)]
pub struct Users {
    by_name: BTreeMap<String, User>,
    by_certificate: BTreeMap<String, String>,
}

impl Users {
    /// Adds a user.
    ///
    /// # Errors
    /// Another one has its number, name or certificate.
    pub fn add(&mut self, user: User) -> Result<(), &'static str> {
        if self.by_name.values().any(|other| other.id == user.id) {
            return Err("id");
        }
        if self.by_name.contains_key(&user.name) {
            return Err("name");
        }
        if let Some(certificate) = &user.certificate
            && self.by_certificate.contains_key(certificate)
        {
            return Err("certificate");
        }
        if let Some(certificate) = &user.certificate {
            self.by_certificate.insert(certificate.clone(), user.name.clone());
        }
        self.by_name.insert(user.name.clone(), user);
        Ok(())
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    /// The user of this name.
    pub fn named(&self, name: &str) -> Option<&User> {
        self.by_name.get(name)
    }

    /// The user that a request is of: with a secret, the one of that name and secret; without, the one of that certificate,
    /// whose verification is the matter of the manager that asks.
    pub fn authenticate(&self, name: &str, secret: Option<&[u8]>) -> Option<&User> {
        match secret {
            Some(secret) => self.by_name.get(name).filter(|user| {
                // What is compared are hashes of random texts: how long it takes tells nothing of use.
                user.secret_sha256.as_ref().is_some_and(|hash| digest(&SHA256, secret).as_ref() == hash)
            }),
            None => self.by_certificate.get(name).and_then(|name| self.by_name.get(name)),
        }
    }
}
