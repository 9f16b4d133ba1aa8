//! HTTP servers of live pages: connections within limits, who may ask, documents with a policy, live events.
//!
//! A program binds an address, decides who may ask ([`Access`]), routes paths by `axum`, and lets [`serve`] look after the connections that
//! `connections::accept` takes. [`Document`] is a page that loads nothing from elsewhere, [`Hub`] tells all who listen, and [`answer`], [`json`] and
//! [`wrong`] write answers with the headers that [`protect`] adds.
#![forbid(unsafe_code)]

mod access;
mod answers;
mod document;
mod events;
pub mod limits;
mod patient;
mod refusals;
mod serve;
mod settings;
mod tls;

pub use access::{Access, Denied, sha256};
pub use answers::{Wrong, answer, json, protect, wrong};
pub use document::Document;
pub use events::{Hub, Listener, event, keep_alive};
pub use refusals::denied;
pub use serve::{Connections, Peer, serve};
pub use settings::Settings;
pub use tls::{certified, open_tls};

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The script of pages that a token may open, before their own: `ask`, `onToken` and `follow`. Their HTML has the form `login` with the field `token` and
/// the words `login-said`.
pub const TOKEN_SCRIPT: &str = include_str!("token.js");

/// Locks what no thread holds for longer than a calculation; a panic of another holder changes nothing about that.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
