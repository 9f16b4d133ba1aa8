//! Discovery.
mod partition;
