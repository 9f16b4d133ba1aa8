//! Runs the command on files of a test.
#![allow(dead_code, reason = "each test file uses some of it")]

use std::fs;
use std::path::{Path, PathBuf};

use plan::Arguments;
use serde_json::Value;
use tempfile::TempDir;

/// A shipped example.
pub(crate) fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("networks").join(name)
}

/// A folder of a test, which goes with it.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }
}

/// The arguments for a file and nothing else.
pub(crate) fn arguments(network: &Path) -> Arguments {
    Arguments {
        network: network.to_owned(),
        json: false,
        html: None,
        explain: None,
        what_if: None,
        certify: false,
        effort: 1,
        simulate: None,
    }
}

/// Exit code, output, and what was told beside it.
pub(crate) fn run(arguments: &Arguments) -> (u8, String, String) {
    let (mut out, mut told) = (Vec::new(), Vec::new());
    let code = plan::run(arguments, &mut out, &mut told);
    (code, String::from_utf8(out).unwrap(), String::from_utf8(told).unwrap())
}

/// The exit code and the report as JSON.
pub(crate) fn json(arguments: &Arguments) -> (u8, Value) {
    let (code, out, told) = run(&Arguments { json: true, ..arguments.clone() });
    (code, serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}{told}")))
}

/// The report of a flow.
pub(crate) fn flow<'v>(report: &'v Value, name: &str) -> &'v Value {
    report["flows"].as_array().unwrap().iter().find(|flow| flow["name"] == name).unwrap()
}
