//! The program in the kernel that marks what is beyond contracts: compiled, put at an interface by `tc`, and found there again when contracts change.
//! Its maps live as long as it is at the interface.
use std::path::Path;
use std::process::Command;

use aya::maps::{HashMap, Map, MapData, MapError, MapInfo};
use aya::programs::loaded_programs;
use serde_json::Value;
use system::{Error, check_packages, finish, make_folder, program};

use crate::demotion::{ContractBytes, KeyBytes};
use crate::setup::COLOURING;

/// The program in C, as clang reads it.
const SOURCE: &str = include_str!("colour.c");
/// Programs and files that are needed to compile it, and the Debian packages that bring them.
const PROGRAMS: [(&str, &str); 1] = [("clang", "clang")];
const FILES: [(&str, &str); 1] = [("/usr/include/bpf/bpf_helpers.h", "libbpf-dev")];
/// Where `tc` reads the compiled one.
const FOLDER: &str = "/run/punctual";
/// Its name in the kernel.
const NAME: &str = "colour";
/// Bytes of what it knows of packets with a key.
type StateBytes = [u8; 40];
/// Only what is not there yet is put in (BPF_NOEXIST).
const IF_NONE: u64 = 1;

/// Compiles it, and puts it at interfaces of one router, whose commands `tc` makes.
///
/// # Errors
/// Packages that are missing, or what the compiler or `tc` says.
pub(crate) fn attach(interfaces: &[&str], tc: impl Fn() -> Result<Command, Error>) -> Result<(), Error> {
    check_packages("marking down what is beyond contracts", &PROGRAMS, &FILES)?;
    make_folder(Path::new(FOLDER))?;
    let object = format!("{FOLDER}/{NAME}-{}-{:?}.o", std::process::id(), std::thread::current().id())
        .replace(['(', ')'], "");
    let mut clang = program("clang");
    clang.args(["-O2", "-g", "-target", "bpf", "-Wall", "-Werror"]);
    // Headers of the machine are in a folder named after it, which clang for another target does not know.
    clang.arg(format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH));
    clang.args(["-x", "c", "-c", "-", "-o"]).arg(&object);
    finish(&mut clang, Some(SOURCE))?;
    let mut lines = String::new();
    for interface in interfaces {
        lines += &format!(
            "filter replace dev {interface} parent ffff: protocol all prio {COLOURING} handle 1 bpf da object-file {object} sec tc\n"
        );
    }
    let done = tc().and_then(|mut tc| finish(tc.args(["-batch", "-"]), Some(&lines)));
    // What cannot be removed is in the way of no later one.
    let _ = std::fs::remove_file(&object);
    done.map(drop)
}

/// The contracts of the program at one interface.
#[derive(Debug)]
pub(crate) struct Contracts {
    contracts: HashMap<MapData, KeyBytes, ContractBytes>,
    states: HashMap<MapData, KeyBytes, StateBytes>,
}

fn refused<E: std::error::Error>(error: E) -> Error {
    let mut what = format!("bpf: {error}");
    let mut cause = error.source();
    while let Some(inner) = cause {
        what += &format!(": {inner}");
        cause = inner.source();
    }
    Error::new(what, "marking down needs root, and a kernel with CONFIG_NET_CLS_BPF and BTF")
}

impl Contracts {
    /// Those at an interface, by what `tc` says is there.
    ///
    /// # Errors
    /// The program is not there, or what `tc` or the kernel says.
    pub(crate) fn at(interface: &str, tc: &mut Command) -> Result<Self, Error> {
        let said = finish(tc.args(["-j", "filter", "show", "dev", interface, "parent", "ffff:"]), None)?;
        let missing = || {
            let what = format!("bpf: the program that marks what is beyond contracts is not at {interface}");
            Error::new(what, "clear the routers, and let the manager set them up")
        };
        let id = program_of(&said).ok_or_else(missing)?;
        let program = loaded_programs().flatten().find(|program| program.id() == id).ok_or_else(missing)?;
        let (mut contracts, mut states) = (None, None);
        for id in program.map_ids().map_err(refused)?.into_iter().flatten() {
            let info = MapInfo::from_id(id).map_err(refused)?;
            let of = match info.name_as_str() {
                Some("contracts") => &mut contracts,
                Some("states") => &mut states,
                _ => continue,
            };
            *of = Some(Map::HashMap(MapData::from_id(id).map_err(refused)?));
        }
        let (contracts, states) = contracts.zip(states).ok_or_else(missing)?;
        let (contracts, states) =
            (HashMap::try_from(contracts).map_err(refused)?, HashMap::try_from(states).map_err(refused)?);
        Ok(Self { contracts, states })
    }

    /// Packets with a key get a contract, or have one no more. What they have sent is not forgotten when it changes.
    ///
    /// # Errors
    /// What the kernel says: also that there is no room.
    pub(crate) fn set(&mut self, key: &KeyBytes, contract: Option<&ContractBytes>) -> Result<(), Error> {
        let is_gone = |error: &MapError| matches!(error, MapError::KeyNotFound) || not_there(error);
        let Some(contract) = contract else {
            for removed in [self.contracts.remove(key), self.states.remove(key)] {
                removed.or_else(|error| if is_gone(&error) { Ok(()) } else { Err(refused(error)) })?;
            }
            return Ok(());
        };
        if self.states.get(key, 0).is_err() {
            self.states.insert(key, [0; 40], IF_NONE).map_err(refused)?;
        }
        self.contracts.insert(key, contract, 0).map_err(refused)
    }
}

/// Whether the kernel says that there is no such key.
fn not_there(error: &MapError) -> bool {
    match error {
        MapError::SyscallError(error) => error.io_error.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    }
}

/// The number of the program among filters, as `tc` prints them.
fn program_of(filters: &str) -> Option<u32> {
    let filters: Vec<Value> = serde_json::from_str(filters).ok()?;
    let programs = filters.iter().filter_map(|filter| filter.pointer("/options/prog"));
    let own = programs.into_iter().find(|program| program.get("name").is_some_and(|name| name == NAME));
    own?.get("id")?.as_u64()?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::program_of;

    #[test]
    fn the_program_is_found_among_filters() {
        let said = r#"[{"protocol":"all","pref":1,"kind":"bpf","chain":0},{"protocol":"all","pref":1,"kind":"bpf","chain":0,"options":
            {"handle":"0x1","bpf_name":"colour.o:[tc]","direct-action":true,"prog":{"id":1640,"name":"colour","jited":1}}},
            {"protocol":"all","pref":3,"kind":"u32","chain":0}]"#;
        assert_eq!(program_of(said), Some(1_640));
        for other in ["", "[]", "{}", &said.replace("\"colour\"", "\"other\""), &said.replace("1640", "-1")] {
            assert_eq!(program_of(other), None, "{other}");
        }
    }
}
