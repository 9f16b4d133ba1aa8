//! What most programs name: `use dds::prelude::*;`. [`Duration`] is the standard library's, which all calls take.
pub use std::time::Duration;

pub use crate::{DataReader, DataWriter, DdsType, Participant, Sample, WallTime};
