//! Who may manage a network, and who is a switch of it: a small certificate authority, and TLS 1.3 in which both ends show who they are.
//!
//! [`Authority`] makes keys and certificates in a folder, one pair for each [`Role`]. [`Identity`] is what a program of a role has of them:
//! configurations of `rustls` for a server and a client, which trust this authority alone. A connection is good if [`Identity::check`] says that
//! the other end has the role that it claims. With the same keys files are signed: [`Identity::sign`], [`Identity::signer`].
#![forbid(unsafe_code)]

mod authority;
mod host;
mod identity;
mod role;
mod signature;

pub use authority::Authority;
pub use host::{HostIdentity, names_of};
pub use identity::Identity;
pub use role::{Name, Role};
pub use rustls;

/// The file with the certificate of the authority.
pub const AUTHORITY: &str = "authority.pem";
