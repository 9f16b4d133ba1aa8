//! A program with its types, and its command line.
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};
use std::process::ExitCode;

use assembly::Catalogue;
use container::{Component, ComponentType, Event};
use dds::DdsType;

use crate::describe::manifest;
use crate::executor::{Runner, recorded};
use crate::handler_times;
use crate::recorder::Codec;
use crate::replay::{Replayed, replayed};
use crate::session;
use crate::standalone::{self, Order};
use crate::topics::Carried;

/// It was called in another way than a component server is.
const WRONG: u8 = 2;
/// A replay is not the same as its recording.
const DIFFERENT: u8 = 1;
/// Before the file of a recording.
const REPLAY: &str = "--replay=";
/// It could not do what it should.
const FAILED: u8 = 3;

/// A component server in the making; [`crate::serve!`] makes one.
pub struct Program {
    build: &'static str,
    types: Vec<ComponentType>,
    topics: BTreeMap<&'static str, Carried>,
    codecs: Vec<Codec>,
}

impl Program {
    /// A program without types. What it was built from is told by `build`, for people.
    pub const fn new(build: &'static str) -> Self {
        Self { build, types: Vec::new(), topics: BTreeMap::new(), codecs: Vec::new() }
    }

    /// With components of this type.
    #[must_use]
    pub fn component<C: Component>(mut self) -> Self {
        self.types.push(ComponentType::of::<C>());
        self
    }

    /// With events of this type between processes; ports name the type so.
    #[must_use]
    pub fn topic<T: DdsType + Event>(mut self, name: &'static str) -> Self {
        self.topics.insert(name, Carried::of::<T>());
        self.codecs.push(Codec::of::<T>(name));
        self
    }

    /// Its manifest, as plans name it.
    pub fn manifest(&self) -> String {
        self.described().json()
    }

    fn described(&self) -> assembly::Manifest {
        manifest(self.build, &self.types, self.topics.keys().copied())
    }

    /// Gives a component what was recorded of it, in virtual time. The types of this program have to have it.
    ///
    /// # Errors
    /// What is read is no recording of a component, or the program does not have what is in it.
    pub fn replay(&self, recording: impl Read) -> Result<Replayed, String> {
        replayed(recording, &self.types, &self.codecs)
    }

    /// Does what the command line says: `--describe`, `--serve`, or `--serve=PROCESS@PLAN`, as an exported plan has it; what follows is for
    /// the program's own use.
    pub fn main(self) -> ExitCode {
        let asked = std::env::args().nth(1);
        let done = match asked.as_deref() {
            Some("--describe") => {
                let mut out = io::stdout().lock();
                writeln!(out, "{}", self.manifest()).map_err(|error| (FAILED, error.to_string()))
            }
            Some("--serve") => self.serve().map_err(|error| (FAILED, error)),
            Some(asked) if asked.starts_with(REPLAY) => {
                let file = asked.strip_prefix(REPLAY).unwrap_or_default();
                let read = File::open(file).map_err(|error| error.to_string());
                match read.and_then(|read| self.replay(read)) {
                    Ok(replayed) => {
                        let is_same = replayed.different.is_none();
                        let told = writeln!(io::stdout().lock(), "{replayed}");
                        match told {
                            Ok(()) if is_same => Ok(()),
                            Ok(()) => return ExitCode::from(DIFFERENT),
                            Err(error) => Err((FAILED, error.to_string())),
                        }
                    }
                    Err(error) => Err((FAILED, format!("{file}: {error}"))),
                }
            }
            asked => match asked.and_then(Order::parse) {
                Some(order) => self.serve_alone(&order).map_err(|error| (FAILED, error)),
                None => Err((
                    WRONG,
                    format!(
                        "{} is a component server: --describe prints its manifest, punctual deploy launch starts it, \
                         --serve=PROCESS@PLAN is for what punctual deploy export has written, and --replay=FILE replays a \
                         recording of a component",
                        self.build
                    ),
                )),
            },
        };
        match done {
            Ok(()) => ExitCode::SUCCESS,
            Err((code, error)) => {
                eprintln!("{}: {error}", self.build);
                ExitCode::from(code)
            }
        }
    }

    fn serve(&self) -> Result<(), String> {
        session::run(self.build, self.runner()?)
    }

    fn serve_alone(&self, order: &Order) -> Result<(), String> {
        standalone::run(self.runner()?, order)
    }

    fn runner(&self) -> Result<Runner, String> {
        let own = self.described();
        let catalogue = Catalogue::of([(self.build.to_owned(), own)]).unwrap_or_default();
        let (types, topics, codecs) = (self.types.clone(), self.topics.clone(), self.codecs.clone());
        Ok(Runner::new(types, topics, catalogue, codecs, recorded()?, handler_times::is_wanted()?))
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Program({}, {:?}, {:?})", self.build, self.types, self.topics.keys())
    }
}
