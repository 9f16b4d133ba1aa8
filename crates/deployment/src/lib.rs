//! Deployment plans carried out, on one host: what the supervisor and the component servers tell each other, and both sides as state
//! machines.
//!
//! [`Supervisor`] leads from one plan to another: it says which processes to start and end, and what to send to them. [`ComponentServer`]
//! does what it is told by an [`Executor`], and takes it back if the whole does not come about. Neither knows a process, a socket or a
//! clock: lines, ends of processes and the time go in, and what is to be done comes out. A component server that systemd or Kubernetes
//! starts has no supervisor, and follows [`standalone()`]. `docs/deploy-plan.md` describes what people see of it.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod again;
mod chains;
mod deadline;
mod finishing;
mod foreign;
mod gateway;
mod hand_over;
mod joining;
mod launchable;
mod lines;
mod making;
mod part;
mod protocol;
mod quiesce;
mod quoting;
mod restart;
mod server;
mod standalone;
mod steps;
mod supervisor;
mod work;

pub use chains::measure_of;
pub use foreign::{foreign_lane, is_foreign};
pub use hand_over::{Frozen, GivenUp, HandedOver, MOST_STATE, Matched, Position};
pub use launchable::{Trouble, deployment_name, launchable, plain_name};
pub use lines::{LineError, Lines};
pub use part::{
    Branch, Carrier, ChainPart, ClockPart, ComponentPart, ContainerPart, Delivery, GatewayPart, Half,
    HopPart, HostWatch, LanePart, LaneWorker, Logical, Part, PeerPart, QueueOrder, Reach, Sureness, Waits,
};
pub use protocol::{
    Answer, ChainReport, ChainStatus, ComponentStatus, ConnectionReport, ConnectionStatus, Control,
    ControlAnswer, GatewayStatus, HandlerStatus, HopStatus, Instruction, LEASE, LONGEST_LINE,
    LONGEST_REQUEST, Order, Phase, PlanStatus, ProcessStatus, Proof, ProtocolError, Spread, line, read,
};
pub use quoting::{Unquotable, pod_text, unit_value, unit_word};
pub use restart::{RESTART, Restarts};
pub use server::ComponentServer;
pub use standalone::{Standalone, standalone, start_order};
pub use supervisor::{
    Action, ChangeCheckpoint, ChangePurpose, ChangeStage, Checkpoint, Incarnation, Input, Outcome,
    ProcessRecord, Request, StartedProcess, Supervisor, Target,
};
pub use work::{Executor, Performed, Work};
