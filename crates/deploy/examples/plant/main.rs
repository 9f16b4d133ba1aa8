//! The component types of a process-control plant: one program, whose plan puts 50 components on three hosts. See docs/plant.md.
mod control;
mod events;
mod field;
mod room;

use control::{Controller, Interlock, LimitMonitor, Optimiser, Ratio};
use events::{AlarmState, Command, Permit, Reading, Setpoint};
use field::{Sensor, Smoother, Unit, Valve, Voter};
use room::{AlarmList, Historian, Horn, Operator, Panel};

component_server::serve! {
    components: [
        Unit, Sensor, Voter, Smoother, Valve,
        Controller, Ratio, Optimiser, LimitMonitor, Interlock,
        Operator, Panel, AlarmList, Horn, Historian,
    ],
    topics: [Reading, Command, Setpoint, AlarmState, Permit],
}
