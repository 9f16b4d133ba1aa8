//! Sites: a domain each, with a bridge as a process.
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

/// A bridge of a site.
pub(crate) fn bridge(domain: u32, more: &[&str]) -> Background {
    let mut command = Command::new(env!("CARGO_BIN_EXE_punctual-bridge"));
    command.args(["--loopback", "--domain", &domain.to_string()]).args(more);
    Background::start(command.stdin(Stdio::null()).stdout(Stdio::null()))
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
