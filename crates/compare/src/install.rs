//! Drivers of other middleware: their texts are in this program, and are built in a folder of the user the first time they are wanted.
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::contender::{Contender, Program, Scope};

/// What builds a driver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recipe {
    /// Its name, and that of its folder.
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) about: &'static str,
    /// What it is for.
    scope: Scope,
    /// Files by name; `build` among them is run by the shell, and leaves the program `driver` and a line in `version`.
    files: &'static [(&'static str, &'static str)],
}

/// The texts of a driver in C or C++, with what it shares with others.
macro_rules! in_c {
    ($peer:literal: $($name:literal)*) => {
        &[
            $(($name, include_str!(concat!("../../../bench/peers/", $peer, "/", $name))),)*
            ("measure.h", include_str!("../../../bench/peers/measure.h")),
        ]
    };
}

/// The same in Rust.
macro_rules! in_rust {
    ($peer:literal) => {
        &[
            ("build", include_str!("../../../bench/peers/build-rust")),
            ("Cargo.toml", include_str!(concat!("../../../bench/peers/", $peer, "/Cargo.toml"))),
            ("src/main.rs", include_str!(concat!("../../../bench/peers/", $peer, "/src/main.rs"))),
            ("src/roles.rs", include_str!("../../../bench/peers/roles.rs")),
            ("src/measure.rs", include_str!("driver/measure.rs")),
        ]
    };
}

/// All that can be built.
pub(crate) const RECIPES: [Recipe; 7] = [
    Recipe {
        name: "raw-memory",
        about: "shared memory with futexes, or spinning",
        scope: Scope::Memory,
        files: in_c!("raw-memory": "build" "driver.c"),
    },
    Recipe {
        name: "cyclone",
        about: "Eclipse Cyclone DDS, from Debian",
        scope: Scope::All,
        files: in_c!("cyclone": "build" "driver.c" "message.idl"),
    },
    Recipe {
        name: "fastdds",
        about: "eProsima Fast DDS, from Debian",
        scope: Scope::All,
        files: in_c!("fastdds": "build" "driver.cpp"),
    },
    Recipe { name: "rustdds", about: "RustDDS 0.15.1", scope: Scope::All, files: in_rust!("rustdds") },
    Recipe { name: "dust_dds", about: "Dust DDS 0.16.0", scope: Scope::All, files: in_rust!("dust_dds") },
    Recipe { name: "zenoh", about: "zenoh 1.10.2", scope: Scope::All, files: in_rust!("zenoh") },
    Recipe { name: "iceoryx2", about: "iceoryx2 0.10.0", scope: Scope::Memory, files: in_rust!("iceoryx2") },
];

/// Longest time for one.
const LIMIT: Duration = Duration::from_secs(900);
const LOOK: Duration = Duration::from_millis(100);
/// Says that all is there: the texts that it was built from.
const DONE: &str = "installed";

/// Where drivers are kept unless the user says otherwise.
pub(crate) fn folder() -> Result<PathBuf, String> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("punctual/compare"))
        .ok_or_else(|| "there is no HOME: say where drivers are kept with --folder".to_owned())
}

impl Recipe {
    /// Builds it unless that was done; `None` if the user wants an end.
    pub(crate) fn ensure(
        &self,
        place: &Path,
        may_build: bool,
        stopped: &AtomicBool,
        progress: &dyn Fn(&str),
    ) -> Option<Contender> {
        let program = self.built(&place.join(self.name), may_build, stopped, progress);
        if stopped.load(Ordering::Relaxed) {
            return None;
        }
        let version = fs::read_to_string(place.join(self.name).join("version")).unwrap_or_default();
        let version = crate::protocol::shown(version.lines().next().unwrap_or_default());
        let about =
            if version.is_empty() { self.about.to_owned() } else { format!("{}, {version}", self.about) };
        Some(Contender { name: self.name.to_owned(), about, program, scope: self.scope })
    }

    fn built(
        &self,
        place: &Path,
        may_build: bool,
        stopped: &AtomicBool,
        progress: &dyn Fn(&str),
    ) -> Result<Program, String> {
        let said = |error: std::io::Error| format!("{}: {error}", place.display());
        let program = Program { path: place.join("driver"), words: Vec::new(), knows_figures: false };
        let texts: String = self.files.iter().map(|(name, text)| format!("--- {name}\n{text}")).collect();
        let done = place.join(DONE);
        let is_done =
            || fs::read_to_string(&done).is_ok_and(|found| found == texts) && program.path.is_file();
        if is_done() {
            return Ok(program);
        }
        if !may_build {
            return Err("it is not built here, and `--offline` forbids to build it".to_owned());
        }
        fs::create_dir_all(place).map_err(said)?;
        // Two runs at once would build over each other.
        let lock = File::create(place.join("lock")).map_err(said)?;
        let start = Instant::now();
        while lock.try_lock().is_err() {
            if stopped.load(Ordering::Relaxed) || start.elapsed() > LIMIT {
                return Err(format!("another process builds in {}", place.display()));
            }
            progress(&format!("{}: another run builds it", self.name));
            std::thread::sleep(LOOK);
        }
        if is_done() {
            return Ok(program);
        }
        for (name, text) in self.files {
            let path = place.join(name);
            path.parent()
                .map_or(Ok(()), fs::create_dir_all)
                .and_then(|()| fs::write(&path, text))
                .map_err(said)?;
        }
        let log = place.join("build.log");
        let output = File::create(&log).map_err(said)?;
        let errors = output.try_clone().map_err(said)?;
        let mut command = Command::new("sh");
        command.arg("build").current_dir(place).env("CARGO_TARGET_DIR", place.join("target"));
        command.process_group(0).stdin(Stdio::null()).stdout(output).stderr(errors);
        let mut build = Build(command.spawn().map_err(said)?);
        let start = Instant::now();
        let ended = loop {
            if let Ok(Some(status)) = build.0.try_wait() {
                break status;
            }
            if stopped.load(Ordering::Relaxed) {
                return Err("the user wanted an end".to_owned());
            }
            if start.elapsed() > LIMIT {
                return Err(format!("its build took more than {} s", LIMIT.as_secs()));
            }
            let line = last_of(&log);
            progress(&format!("building {}, {} s: {line:.80}", self.name, start.elapsed().as_secs()));
            std::thread::sleep(LOOK);
        };
        if !ended.success() || !program.path.is_file() {
            return Err(format!("its build failed: {}; all of it is in {}", last_of(&log), log.display()));
        }
        fs::write(&done, texts).map_err(said)?;
        Ok(program)
    }
}

/// A build that runs; ended with all that it has started when this is dropped.
struct Build(Child);

impl Drop for Build {
    fn drop(&mut self) {
        if let (Ok(None), Ok(id)) = (self.0.try_wait(), i32::try_from(self.0.id())) {
            let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
            let _ = self.0.wait();
        }
    }
}

/// The last line of a log.
fn last_of(log: &Path) -> String {
    File::open(log).map(crate::process::last_line).unwrap_or_default()
}
