//! Deployment plans of components: read, checked, explained, split and compared.
//!
//! A [`Plan`] says which components there are, where they run, what connects them and with what quality. [`Plan::read`] reads one from
//! TOML; what component types are like, a [`Manifest`] says. Everything here is a value: files come in as texts, and what is to be done
//! goes out as a list. `docs/deploy-plan.md` says what files look like.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod begins;
mod check;
mod choices;
mod cores;
mod diff;
mod explain;
mod format;
mod gateways;
mod get;
mod graph;
mod hand_over;
mod import;
mod join_tree;
mod json;
mod layered;
mod links;
mod manifest;
mod places;
mod plan;
mod qos;
mod read;
mod reference;
mod shape;
mod split;
mod timing;
mod tree;
mod value;
mod write;
mod write_manifest;

pub use check::Placed;
pub use diff::{Change, Difference, Kind, Step, Version, difference, steps};
pub use explain::{Explained, Holding};
pub use gateways::{Gateway, group};
pub use graph::{Graph, GraphEdge, GraphNode, NodeKind};
pub use import::{
    Descriptors, Imported, ImportedPrograms, Included, LaunchFile, import, import_dataflow, import_launch,
};
pub use join_tree::{DEEPEST_JOIN, FlatJoin, JoinPart, JoinTree, NotFlat};
pub use layered::{Area, Arranged, GRID, Outline, OutlineEdge, OutlineGroup, OutlineNode};
pub use links::{Layout, Link, Place, Reason};
pub use manifest::{
    Catalogue, ComponentType, EventType, FieldKind, Manifest, PortKind, PortType, Setting, SettingKind,
};
pub use places::Places;
pub use plan::{
    Artefact, ArtefactKind, Chain, Component, Connection, Container, End, FullPolicy, Host, Join, JoinKind,
    KeepPolicy, Lane, LaneDispatch, Locality, LocalityKind, MOST_MODES, MOST_QUIESCE, Mode, Named, Placement,
    Plan, Port, Process, Queue, Restart, RestartPolicy, SchedulingClass, Service, ServiceKind, Timing, Topic,
    Transport,
};
pub use qos::{Qos, Quality, Said, Scope, Side};
pub use reference::reference;
pub use split::{ContainerPart, Endpoint, HostPart, ProcessPart};
pub use timing::{Costs, Execution, ExecutionStep, PROBE_PERIOD, Stall, Throttling, Transfer};
pub use value::Value;
