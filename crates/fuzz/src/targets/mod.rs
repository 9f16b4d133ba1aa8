//! The code under test: what reads bytes from the network or from files, and the rules that hold for any bytes.
mod aaa;
mod admission;
mod agents;
mod bgp_tables;
mod cdr;
mod deployment;
mod discovery;
mod domain_files;
mod dynamic;
mod federation;
mod files;
mod filters;
mod hosts;
mod keep_alive_frame;
mod launching;
mod list;
mod lldp_frame;
mod managers;
mod messages;
mod operators;
mod participant;
mod pictures;
mod plan_list;
mod predictions;
mod qos_files;
mod quality_on_demand;
mod reader_cache;
mod recordings;
mod replays;
mod settings;
mod shared_memory;
mod signed;
mod switches;
mod types;
mod zenoh_messages;

use crate::runner::Target;

pub use aaa::{AAA_FILE, AAA_PEER, DIAMETER_MESSAGE, aaa_file, aaa_peer, diameter_message};
pub use admission::{admission_sample, gate_line};
pub use agents::{bridge_orders, etcd_answer};
pub use bgp_tables::bgp_table;
pub use cdr::cdr_rich_type;
pub use deployment::{dataflow, deployment_descriptor, deployment_plan, launch_file, type_manifest};
pub use discovery::discovery_data;
pub use domain_files::domain_file;
pub use dynamic::idl_text;
pub use files::{flow_file, network_file, switch_models};
pub use filters::{content_filter, filter_expression, filtered_types};
pub use hosts::execution_line;
pub use keep_alive_frame::keep_alive_frame;
pub use launching::deployment_line;
pub use list::*;
pub use lldp_frame::lldp_frame;
pub use managers::manager_text;
pub use messages::rtps_message;
pub use operators::web_question;
pub use pictures::picture_layout;
pub use plan_list::*;
pub use predictions::{prediction_file, prediction_records};
pub use qos_files::qos_file;
pub use quality_on_demand::quality_on_demand_body;
pub use recordings::recording_file;
pub use replays::{COMPONENT_RECORDING, component_recording};
pub use settings::{settings_file, settings_toml};
pub use signed::{policy_file, signed_sample};
pub use switches::{openflow_message, openflow_stream};
pub use types::{type_lookup, type_object};
pub use zenoh_messages::{zenoh_message, zenoh_type};

/// Runs bytes as one input of [`SHARED_MEMORY_RING`].
pub fn shared_memory_ring(bytes: &[u8]) {
    shared_memory::ring()(bytes);
}

/// Runs bytes as one input of [`SHARED_MEMORY_MEETING`].
pub fn shared_memory_meeting(bytes: &[u8]) {
    shared_memory::meeting()(bytes);
}

/// Runs bytes as one input of [`DYNAMIC_SAMPLE`].
pub fn dynamic_sample(bytes: &[u8]) {
    dynamic::samples()(bytes);
}

/// Runs bytes as one input of [`DYNAMIC_TEXT`].
pub fn dynamic_text(bytes: &[u8]) {
    dynamic::texts()(bytes);
}

/// The target of this name.
pub fn find(name: &str) -> Option<&'static Target> {
    ALL.iter().find(|target| target.name == name)
}
