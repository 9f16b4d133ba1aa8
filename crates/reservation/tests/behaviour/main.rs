//! Which sessions pairs need, and what becomes of them at a manager that loses answers and begins anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod changed;
mod needed;
mod packets;
mod seeds;
mod several;
