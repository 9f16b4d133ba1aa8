//! Whether a file is right, without planning anything: for editors, and for tests that throw bytes at it.
use std::path::Path;

use diagnostics::{Problem, Source};

use crate::models::Models;
use crate::network::Network;

/// Checks a network file; `load` reads the model files that it names.
///
/// # Errors
/// The first thing that is wrong, and where.
pub fn check_network(
    file: &str,
    text: &str,
    load: impl Fn(&Path) -> Result<String, String>,
) -> Result<(), Problem> {
    Network::read(Source { file, text }, load).map(drop)
}

/// Checks a file with models of switches in XML.
///
/// # Errors
/// The first thing that is wrong, and where.
pub fn check_models(file: &str, text: &str) -> Result<(), Problem> {
    Models::shipped().add_xml(Source { file, text })
}
