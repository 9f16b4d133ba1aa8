//! The list of targets: what each is called, where its seeds come from, and how much it may take.
use super::aaa::{AAA_FILE, AAA_PEER, DIAMETER_MESSAGE};
use super::plan_list::{
    BGP_TABLE, DATAFLOW, DEPLOYMENT_DESCRIPTOR, DEPLOYMENT_LINE, DEPLOYMENT_PLAN, DOMAIN_FILE,
    EXECUTION_LINE, KEEP_ALIVE_FRAME, LAUNCH_FILE, PICTURE_LAYOUT, PREDICTION_FILE, PREDICTION_RECORDS,
    QOS_FILE, QUALITY_ON_DEMAND_BODY, TYPE_MANIFEST, ZENOH_MESSAGE, ZENOH_TYPE,
};
use super::replays::COMPONENT_RECORDING;
use super::{
    admission, agents, bridge_orders, cdr, cdr_rich_type, content_filter, discovery_data, dynamic,
    etcd_answer, federation, files, filter_expression, filtered_types, filters, flow_file, gate_line,
    idl_text, lldp_frame, manager_text, managers, network_file, openflow_message, openflow_stream, operators,
    participant, policy_file, reader_cache, recording_file, recordings, rtps_message, settings,
    settings_file, settings_toml, shared_memory, signed, signed_sample, switch_models, switches, type_object,
    types, web_question,
};
use crate::runner::Target;
use crate::seeds;
use crate::structure::Structure;

/// How many inputs share a session where sessions have no state.
pub(super) const STATELESS_BATCH: u64 = 256;

/// How many inputs a participant reads from its peer: in time one of them ends the match, or stops its samples.
const PEER_BATCH: u64 = 128;
/// How many inputs a participant reads from a stranger: enough to fill what is kept of strangers.
const STRANGER_BATCH: u64 = 8192;

/// How many inputs a reader's cache gets: enough for instances to come, end, and come again.
const READER_BATCH: u64 = 512;
/// What readers may keep of the inputs of their writers, in bytes: four times the sum of their limits, since payloads that
/// idle are as much again, and both have their indices.
const READER_KEEPS: isize = 48 * 1024;

/// What a participant may keep of the inputs of its peer, in bytes: far above its limits, which are checked by themselves.
const PEER_KEEPS: isize = 512 * 1024;
/// What a participant may keep of the inputs of strangers, in bytes: about twice the sum of its limits.
const STRANGER_KEEPS: isize = 128 * 1024;

/// Whole messages as they come out of a socket.
pub const RTPS_MESSAGE: Target = Target {
    name: "rtps_message",
    structure: Structure::Message,
    seeds: seeds::messages,
    session: || Box::new(rtps_message),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: 1,
};

/// Payloads of the built-in topics, and parameter lists in general.
pub const DISCOVERY_DATA: Target = Target {
    name: "discovery_data",
    structure: Structure::ParameterList,
    seeds: seeds::parameter_lists,
    session: || Box::new(discovery_data),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: 1,
};

/// Samples of application types.
pub const CDR_RICH_TYPE: Target = Target {
    name: "cdr_rich_type",
    structure: Structure::Plain,
    seeds: cdr::seeds,
    session: || Box::new(cdr_rich_type),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: 1,
};

/// Datagrams of a matched peer, to a live participant.
pub const PARTICIPANT_PEER: Target = Target {
    name: "participant_peer",
    structure: Structure::Message,
    seeds: participant::seeds,
    session: || Box::new(participant::from_peer()),
    batch: PEER_BATCH,
    keeps: PEER_KEEPS,
    hunger: 1,
};

/// Datagrams of a participant that is not matched, to a live one.
pub const PARTICIPANT_STRANGER: Target = Target {
    name: "participant_stranger",
    structure: Structure::Message,
    seeds: participant::seeds,
    session: || Box::new(participant::from_stranger()),
    batch: STRANGER_BATCH,
    keeps: STRANGER_KEEPS,
    hunger: 1,
};

/// How many times the budget of the network a file may take: a tree of it is made, and from that the network.
const FILE_HUNGER: usize = 8;

/// How many times the budget settings may take: the file is read three times, and all variables are known by the default configuration.
const SETTINGS_HUNGER: usize = 64;

/// Network files, for `plan`.
pub const NETWORK_FILE: Target = Target {
    name: "network_file",
    structure: Structure::Plain,
    seeds: files::networks,
    session: || Box::new(network_file),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: FILE_HUNGER,
};

/// Flow files, for `grm`.
pub const FLOW_FILE: Target = Target {
    name: "flow_file",
    structure: Structure::Plain,
    seeds: files::flows,
    session: || Box::new(flow_file),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: FILE_HUNGER,
};

/// Policy files, for the manager.
pub const POLICY_FILE: Target = Target {
    name: "policy_file",
    structure: Structure::Plain,
    seeds: signed::policies,
    session: || Box::new(policy_file),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: FILE_HUNGER,
};

/// Samples of the admission topics with signatures.
pub const SIGNED_SAMPLE: Target = Target {
    name: "signed_sample",
    structure: Structure::Plain,
    seeds: signed::samples,
    session: || Box::new(signed_sample),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: FILE_HUNGER,
};

/// HTTP requests of operators to the manager.
pub const WEB_QUESTION: Target = Target {
    name: "web_question",
    structure: Structure::Plain,
    seeds: operators::questions,
    session: || Box::new(web_question),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: FILE_HUNGER,
};

/// How many times the budget of the network an answer of etcd may take: a tree of JSON is made of it.
const ANSWER_HUNGER: usize = 64;

/// Answers of etcd's JSON interface.
pub const ETCD_ANSWER: Target = Target {
    name: "etcd_answer",
    structure: Structure::Plain,
    seeds: agents::answers,
    session: || Box::new(etcd_answer),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: ANSWER_HUNGER,
};

/// How many times the usual budget an agent may take: each entry of a table becomes some rules, as trees of JSON.
const RULES_HUNGER: usize = 64;

/// Messages of a controller to the agent of a bridge.
pub const BRIDGE_ORDERS: Target = Target {
    name: "bridge_orders",
    structure: Structure::OpenFlow,
    seeds: agents::orders,
    session: || Box::new(bridge_orders),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: RULES_HUNGER,
};

/// Recordings, for `punctual replay`.
pub const RECORDING_FILE: Target = Target {
    name: "recording_file",
    structure: Structure::Plain,
    seeds: recordings::seeds,
    session: || Box::new(recording_file),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: FILE_HUNGER,
};

/// Models of switches in XML, for `plan`.
pub const SWITCH_MODELS: Target = Target {
    name: "switch_models",
    structure: Structure::Plain,
    seeds: files::models,
    session: || Box::new(switch_models),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: FILE_HUNGER,
};

/// QoS and configuration of applications.
pub const SETTINGS_FILE: Target = Target {
    name: "settings_file",
    structure: Structure::Plain,
    seeds: settings::files,
    session: || Box::new(settings_file),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: FILE_HUNGER,
};

/// Files and variables with settings of applications, in TOML.
pub const SETTINGS_TOML: Target = Target {
    name: "settings_toml",
    structure: Structure::Plain,
    seeds: settings::toml_files,
    session: || Box::new(settings_toml),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: SETTINGS_HUNGER,
};

/// Messages of OpenFlow.
pub const OPENFLOW_MESSAGE: Target = Target {
    name: "openflow_message",
    structure: Structure::Plain,
    seeds: switches::message_seeds,
    session: || Box::new(openflow_message),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: 1,
};

/// How many times the usual budget a channel may take: a message of eight bytes is an event, which is drained after the input.
const EVENT_HUNGER: usize = 8;

/// Messages of a switch to its controller.
pub const OPENFLOW_STREAM: Target = Target {
    name: "openflow_stream",
    structure: Structure::OpenFlow,
    seeds: switches::stream_seeds,
    session: || Box::new(openflow_stream),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: EVENT_HUNGER,
};

/// Samples of matched writers, to DataReaders with most policies between them.
pub const READER_CACHE: Target = Target {
    name: "reader_cache",
    structure: Structure::Message,
    seeds: reader_cache::seeds,
    session: || Box::new(reader_cache::session()),
    batch: READER_BATCH,
    keeps: READER_KEEPS,
    hunger: 1,
};

/// How many times the budget of the network types that are described at run time may take: a boolean becomes a value, and a text.
const DYNAMIC_HUNGER: usize = 32;

/// Samples of types that are described at run time, as bytes.
pub const DYNAMIC_SAMPLE: Target = Target {
    name: "dynamic_sample",
    structure: Structure::Plain,
    seeds: dynamic::sample_seeds,
    session: || Box::new(dynamic::samples()),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: DYNAMIC_HUNGER,
};

/// The same as text.
pub const DYNAMIC_TEXT: Target = Target {
    name: "dynamic_text",
    structure: Structure::Plain,
    seeds: dynamic::text_seeds,
    session: || Box::new(dynamic::texts()),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: DYNAMIC_HUNGER,
};

/// Descriptions of types.
pub const IDL_TEXT: Target = Target {
    name: "idl_text",
    structure: Structure::Plain,
    seeds: dynamic::idl_seeds,
    session: || Box::new(idl_text),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: DYNAMIC_HUNGER,
};

/// Type information and type objects of peers.
pub const TYPE_OBJECT: Target = Target {
    name: "type_object",
    structure: Structure::Plain,
    seeds: types::seeds,
    session: || Box::new(type_object),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: 4,
};

/// How many times the budget of the network an input may take: what is told of a type is read, compared and written again several times.
const LOOKUP_HUNGER: usize = 32;

/// Requests and replies of participants about types.
pub const TYPE_LOOKUP: Target = Target {
    name: "type_lookup",
    structure: Structure::Plain,
    seeds: types::lookup_seeds,
    session: || types::lookup_session(),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: LOOKUP_HUNGER,
};

/// How many inputs a manager gets: enough for its requests to be full.
const MANAGER_BATCH: u64 = 512;
/// The most bytes that it may keep of them: its requests and pending actions.
const MANAGER_KEEPS: isize = 256 * 1024;
/// How many times the budget of the network an input may take: a busy period of messages that come late in great numbers has as many
/// steps as the analysis makes at most (`latency::busy::EFFORT`), whatever the numbers.
const MANAGER_HUNGER: usize = 64;

/// Samples of the topics of admission, to a resource manager.
pub const ADMISSION_SAMPLE: Target = Target {
    name: "admission_sample",
    structure: Structure::Plain,
    seeds: admission::seeds,
    session: || Box::new(admission::session()),
    batch: MANAGER_BATCH,
    keeps: MANAGER_KEEPS,
    hunger: MANAGER_HUNGER,
};

/// Lines between the manager and the agent of a switch's gates.
pub const GATE_LINE: Target = Target {
    name: "gate_line",
    structure: Structure::Plain,
    seeds: admission::line_seeds,
    session: || Box::new(gate_line),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: 1,
};

/// How many datagrams a gateway gets of one peer that lies.
const GATEWAY_BATCH: u64 = 256;
/// What a gateway may keep of them, in bytes: records of all gateways that it knows, and what is sent to two peers.
const GATEWAY_KEEPS: isize = 1 << 20;
/// How many times the budget of the network they may take: an acknowledgement has all that is under way sent again.
const GATEWAY_HUNGER: usize = 4;

/// Datagrams of a peer, to a gateway of a federation.
pub const FEDERATION_PEER: Target = Target {
    name: "federation_peer",
    structure: Structure::Plain,
    seeds: federation::seeds,
    session: || Box::new(federation::session()),
    batch: GATEWAY_BATCH,
    keeps: GATEWAY_KEEPS,
    hunger: GATEWAY_HUNGER,
};

/// Frames of LLDP, which hosts and strange switches send.
pub const LLDP_FRAME: Target = Target {
    name: "lldp_frame",
    structure: Structure::Plain,
    seeds: lldp_frame::seeds,
    session: || Box::new(lldp_frame),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: 1,
};

/// How many inputs a participant gets from one liar, unless it is found out before.
const LIAR_BATCH: u64 = 256;
/// What may be kept of them, in bytes: buffers of large datagrams that are filled again.
const LIAR_KEEPS: isize = 8 << 20;
/// How many times the budget of the network they may take: a message of 60 bytes names a sample of 64 KiB that lies elsewhere.
const LIAR_HUNGER: usize = 32;

/// Contents of memory that another process shares.
pub const SHARED_MEMORY_RING: Target = Target {
    name: "shared_memory_ring",
    structure: Structure::Plain,
    seeds: shared_memory::ring_seeds,
    session: || Box::new(shared_memory::ring()),
    batch: LIAR_BATCH,
    keeps: LIAR_KEEPS,
    hunger: LIAR_HUNGER,
};

/// The handshake of another process before memory is shared with it.
pub const SHARED_MEMORY_MEETING: Target = Target {
    name: "shared_memory_meeting",
    structure: Structure::Plain,
    seeds: shared_memory::meeting_seeds,
    session: || Box::new(shared_memory::meeting()),
    batch: LIAR_BATCH,
    keeps: LIAR_KEEPS,
    hunger: LIAR_HUNGER,
};

/// Filter expressions and their parameters.
pub const FILTER_EXPRESSION: Target = Target {
    name: "filter_expression",
    structure: Structure::Plain,
    seeds: filters::seeds,
    session: || Box::new(filter_expression),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: FILE_HUNGER,
};

/// Text of plans in the files of systemd and Kubernetes.
pub const MANAGER_TEXT: Target = Target {
    name: "manager_text",
    structure: Structure::Plain,
    seeds: managers::seeds,
    session: || Box::new(manager_text),
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: FILE_HUNGER,
};

/// Content filters of others, and the samples that they decide about.
pub const CONTENT_FILTER: Target = Target {
    name: "content_filter",
    structure: Structure::Plain,
    seeds: filters::content_seeds,
    session: || {
        let types = filtered_types();
        Box::new(move |bytes: &[u8]| content_filter(&types, bytes))
    },
    batch: STATELESS_BATCH,
    keeps: 0,
    hunger: FILE_HUNGER,
};

/// All targets.
pub const ALL: [Target; 54] = [
    RTPS_MESSAGE,
    DISCOVERY_DATA,
    CDR_RICH_TYPE,
    PARTICIPANT_PEER,
    PARTICIPANT_STRANGER,
    READER_CACHE,
    FEDERATION_PEER,
    NETWORK_FILE,
    FLOW_FILE,
    POLICY_FILE,
    SIGNED_SAMPLE,
    SWITCH_MODELS,
    SETTINGS_FILE,
    SETTINGS_TOML,
    WEB_QUESTION,
    FILTER_EXPRESSION,
    DEPLOYMENT_PLAN,
    TYPE_MANIFEST,
    DEPLOYMENT_DESCRIPTOR,
    DATAFLOW,
    LAUNCH_FILE,
    PICTURE_LAYOUT,
    QOS_FILE,
    PREDICTION_FILE,
    PREDICTION_RECORDS,
    DOMAIN_FILE,
    BGP_TABLE,
    KEEP_ALIVE_FRAME,
    QUALITY_ON_DEMAND_BODY,
    ZENOH_MESSAGE,
    ZENOH_TYPE,
    DEPLOYMENT_LINE,
    EXECUTION_LINE,
    MANAGER_TEXT,
    CONTENT_FILTER,
    ETCD_ANSWER,
    BRIDGE_ORDERS,
    DYNAMIC_SAMPLE,
    DYNAMIC_TEXT,
    IDL_TEXT,
    RECORDING_FILE,
    COMPONENT_RECORDING,
    OPENFLOW_MESSAGE,
    OPENFLOW_STREAM,
    ADMISSION_SAMPLE,
    GATE_LINE,
    LLDP_FRAME,
    DIAMETER_MESSAGE,
    AAA_PEER,
    AAA_FILE,
    TYPE_OBJECT,
    TYPE_LOOKUP,
    SHARED_MEMORY_RING,
    SHARED_MEMORY_MEETING,
];
