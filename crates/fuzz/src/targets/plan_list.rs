//! The part of the list about deployments: plans, what is imported into them, the lines of those who carry them out, pictures; QoS files, files of domains, tables of BGP and keep-alives of links, and what comes over Zenoh.
use super::list::STATELESS_BATCH;
use super::{
    bgp_table, bgp_tables, dataflow, deployment, deployment_descriptor, deployment_line, deployment_plan,
    domain_file, domain_files, execution_line, hosts, keep_alive_frame, launch_file, launching,
    picture_layout, pictures, prediction_file, prediction_records, predictions, qos_file, qos_files,
    quality_on_demand, quality_on_demand_body, type_manifest, zenoh_message, zenoh_messages, zenoh_type,
};
use crate::runner::Target;
use crate::structure::Structure;

/// How many times the budget of the network a plan may take: fifteen qualities are explained for each end of a connection, which is ten bytes
/// of the file.
const PLAN_HUNGER: usize = 256;

/// Deployment plans, with the types of the example.
pub const DEPLOYMENT_PLAN: Target = Target {
    name: "deployment_plan",
    structure: Structure::Plain,
    seeds: deployment::plans,
    session: || Box::new(deployment_plan),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};

/// Manifests of component types.
pub const TYPE_MANIFEST: Target = Target {
    name: "type_manifest",
    structure: Structure::Plain,
    seeds: deployment::manifests,
    session: || Box::new(type_manifest),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};

/// Descriptors in XML: deployment plans, domains and events.
pub const DEPLOYMENT_DESCRIPTOR: Target = Target {
    name: "deployment_descriptor",
    structure: Structure::Plain,
    seeds: deployment::descriptors,
    session: || Box::new(deployment_descriptor),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};

/// Dataflows of dora, in YAML.
pub const DATAFLOW: Target = Target {
    name: "dataflow",
    structure: Structure::Plain,
    seeds: deployment::dataflows,
    session: || Box::new(dataflow),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};

/// Launch files of ROS 2, in XML.
pub const LAUNCH_FILE: Target = Target {
    name: "launch_file",
    structure: Structure::Plain,
    seeds: deployment::launch_files,
    session: || Box::new(launch_file),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};

/// Boxes and lines of pictures of plans.
pub const PICTURE_LAYOUT: Target = Target {
    name: "picture_layout",
    structure: Structure::Plain,
    seeds: pictures::outlines,
    session: || Box::new(picture_layout),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};

/// Lines between supervisors, component servers and commands.
pub const DEPLOYMENT_LINE: Target = Target {
    name: "deployment_line",
    structure: Structure::Plain,
    seeds: launching::lines,
    session: || Box::new(deployment_line),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};

/// Lines between execution managers, node managers and commands.
pub const EXECUTION_LINE: Target = Target {
    name: "execution_line",
    structure: Structure::Plain,
    seeds: hosts::lines,
    session: || Box::new(execution_line),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};

/// Files of domains, for sessions over several of them.
pub const DOMAIN_FILE: Target = Target {
    name: "domain_file",
    structure: Structure::Plain,
    seeds: domain_files::seeds,
    session: || Box::new(domain_file),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};

/// Frames on a link between switches.
pub const KEEP_ALIVE_FRAME: Target = Target {
    name: "keep_alive_frame",
    structure: Structure::Plain,
    seeds: keep_alive_frame::seeds,
    session: || Box::new(keep_alive_frame),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: 1,
};

/// Answers of a BGP speaker about ranges of addresses.
pub const BGP_TABLE: Target = Target {
    name: "bgp_table",
    structure: Structure::Plain,
    seeds: bgp_tables::seeds,
    session: || Box::new(bgp_table),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};

/// Bodies of clients of Quality-on-Demand, and files of its operators.
pub const QUALITY_ON_DEMAND_BODY: Target = Target {
    name: "quality_on_demand_body",
    structure: Structure::Plain,
    seeds: quality_on_demand::seeds,
    session: || Box::new(quality_on_demand_body),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};

/// What other programs send a bridge over Zenoh.
pub const ZENOH_MESSAGE: Target = Target {
    name: "zenoh_message",
    structure: Structure::Plain,
    seeds: zenoh_messages::seeds,
    session: || Box::new(zenoh_message),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};

/// What another bridge tells of a type.
pub const ZENOH_TYPE: Target = Target {
    name: "zenoh_type",
    structure: Structure::Plain,
    seeds: zenoh_messages::type_seeds,
    session: || Box::new(zenoh_type),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};

/// Files of stages, hops and topics, and what is predicted for them.
pub const PREDICTION_FILE: Target = Target {
    name: "prediction_file",
    structure: Structure::Plain,
    seeds: predictions::files,
    session: || Box::new(prediction_file),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};

/// Measurements by which predictions are calibrated.
pub const PREDICTION_RECORDS: Target = Target {
    name: "prediction_records",
    structure: Structure::Plain,
    seeds: predictions::records,
    session: || Box::new(prediction_records),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};

/// QoS files in XML.
pub const QOS_FILE: Target = Target {
    name: "qos_file",
    structure: Structure::Plain,
    seeds: qos_files::seeds,
    session: || Box::new(qos_file),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: PLAN_HUNGER,
};
