//! Server and clients as state machines in virtual time: crashes, cuts, slow stores, wrong requests.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod accounts;
mod hostile;
mod seeds;
mod unauthorised;
mod world;

use aaa::users::Users;

/// Two users: alice with a certificate and little, bob with a secret and more.
pub(crate) const USERS: &str = r#"
[[user]]
id = 1
name = "alice"
certificate = "user-alice"
[user.contract]
begins = 2026-01-01
ends = 2027-01-01
classes = ["ef", "af4"]
destinations = ["203.0.113.0/24"]
quota = "1 Mb/s"
most-sessions = 3

[[user]]
id = 2
name = "bob"
secret-sha256 = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"
[user.contract]
begins = 2026-01-01
ends = 2026-06-01
classes = ["af1"]
destinations = ["198.51.100.7", "203.0.113.0/25"]
quota = "2 Mb/s"
most-sessions = 2
"#;

/// Within both contracts, in seconds of Unix time: 2026-03-01.
pub(crate) const DURING: u64 = 1_772_323_200;

pub(crate) fn users() -> Users {
    aaa::read_users("users.toml", USERS).unwrap()
}
