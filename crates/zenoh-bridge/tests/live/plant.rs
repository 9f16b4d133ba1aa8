//! Sites: a domain each, with a bridge as a process.
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use dds::config::{Config, Interfaces};
use dds::prelude::*;
use dds::{InstanceState, Participant, States};
use testkit::background::Background;
use testkit::patience::patiently_or;

#[derive(DdsType, Clone, PartialEq, Debug, Default)]
pub(crate) struct Joint {
    #[dds(key)]
    pub(crate) arm: u32,
    pub(crate) angle: i32,
}

/// A participant in the domain of a site.
pub(crate) fn participant(domain: u32) -> Participant {
    let mut config = Config::default();
    config.network.interfaces = Interfaces::Loopback;
    Participant::builder(domain).config(config).create().unwrap()
}

fn command(domain: u32, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual-bridge"));
    command.args(["--loopback", "--domain", &domain.to_string()]).args(more).stdin(Stdio::null());
    command
}

/// A bridge of a site.
pub(crate) fn bridge(domain: u32, more: &[&str]) -> Background {
    Background::start(command(domain, more).stdout(Stdio::null()))
}

/// A bridge whose few lines are read at its end.
pub(crate) fn bridge_that_tells(domain: u32, more: &[&str]) -> Background {
    Background::start(command(domain, more).stdout(Stdio::piped()))
}

/// A bridge that writes all that it says to a file.
pub(crate) fn bridge_that_writes(domain: u32, more: &[&str], to: &Path) -> Background {
    let file = File::create(to).unwrap();
    Background::start(command(domain, more).stdout(file.try_clone().unwrap()).stderr(file))
}

/// A folder for the files of a test, which are gone with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("punctual-zenoh-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// What came: arm, angle, state of the instance and time of the source.
pub(crate) type Came = (u32, Option<i32>, InstanceState, i64);

/// Takes what comes until it is enough.
pub(crate) fn take(reader: &DataReader<Joint>, came: &mut Vec<Came>, is_enough: impl Fn(&[Came]) -> bool) {
    let so_far = std::cell::RefCell::new(String::new());
    patiently_or(
        || format!("what was expected; there is {}", so_far.borrow()),
        || {
            for sample in reader.take(usize::MAX, States::ANY).unwrap() {
                // The key of an instance that has ended is not asked for: the reader may have forgotten it.
                let arm = sample.data.as_ref().map_or(u32::MAX, |joint| joint.arm);
                let angle = sample.data.as_ref().map(|joint| joint.angle);
                came.push((arm, angle, sample.info.instance_state, sample.info.source_timestamp.as_nanos()));
            }
            *so_far.borrow_mut() = format!("{came:?}");
            is_enough(came).then_some(())
        },
    );
}

/// The angles that came, in order.
pub(crate) fn angles(came: &[Came]) -> Vec<i32> {
    came.iter().filter_map(|(_, angle, ..)| *angle).collect()
}
