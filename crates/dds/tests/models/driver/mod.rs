//! The parts of the driver by which threads meet.
pub(crate) mod clock;
mod keeping;
#[path = "../../../src/driver/lead.rs"]
mod lead;
mod leading;
#[path = "../../../src/driver/timer.rs"]
mod timer;
