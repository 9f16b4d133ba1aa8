//! The table of policies: their elements, which entities have them, and where their values go.
use alloc::string::String;
use alloc::vec::Vec;

use wire::Duration;
use wire::qos::{
    AccessScope, DataRepresentation, DestinationOrder, Durability, LivelinessKind, Ownership, ReliabilityKind,
};

use crate::entity::Entity;
use crate::values::Values;
use crate::words::{Coercion, HistoryKind, meaning, word, words};

/// How a value is written.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    /// One of these words.
    Word(fn() -> Vec<&'static str>),
    /// `<sec>` and `<nanosec>`.
    Duration,
    /// A number above zero, or LENGTH_UNLIMITED.
    Limit,
    /// A number above zero.
    Depth,
    /// A number of 32 bits with a sign.
    Integer,
    /// `true` or `false`.
    Flag,
    /// Numbers with commas between them, or base64 in an element of another name.
    Bytes,
    /// `<element>` for each text.
    Names,
    /// `<element>` for each of these words.
    Representations,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Word(&'static str),
    Duration(Duration),
    Limit(Option<u32>),
    Depth(u32),
    Integer(i32),
    Flag(bool),
    Bytes(Vec<u8>),
    Names(Vec<String>),
    Representations(Vec<DataRepresentation>),
}

/// A value of a policy.
pub(crate) struct Field {
    /// Element of the policy, such as `history`.
    pub(crate) policy: &'static str,
    /// Element in it, such as `depth`.
    pub(crate) name: &'static str,
    /// Bits of the entities that have it.
    pub(crate) of: u8,
    pub(crate) form: Form,
    pub(crate) set: fn(&mut Values, &Value),
    pub(crate) get: fn(&Values) -> Value,
}

impl Field {
    pub(crate) const fn is_of(&self, entity: Entity) -> bool {
        self.of & entity.bit() != 0
    }
}

const P: u8 = Entity::Participant.bit();
const G: u8 = Entity::Publisher.bit() | Entity::Subscriber.bit();
const T: u8 = Entity::Topic.bit();
const W: u8 = Entity::DataWriter.bit();
const R: u8 = Entity::DataReader.bit();
const ENDS: u8 = T | W | R;

macro_rules! field {
    ($policy:literal.$name:literal, $of:expr, word $kind:ty, $($place:tt)+) => {
        Field {
            policy: $policy,
            name: $name,
            of: $of,
            form: Form::Word(words::<$kind>),
            set: |values, value| {
                if let Value::Word(text) = value
                    && let Some(found) = meaning::<$kind>(text)
                {
                    values.$($place)+ = found;
                }
            },
            get: |values| Value::Word(word::<$kind>(values.$($place)+)),
        }
    };
    ($policy:literal.$name:literal, $of:expr, $form:ident, $($place:tt)+) => {
        Field {
            policy: $policy,
            name: $name,
            of: $of,
            form: Form::$form,
            set: |values, value| {
                if let Value::$form(value) = value {
                    values.$($place)+.clone_from(value);
                }
            },
            get: |values| Value::$form(values.$($place)+.clone()),
        }
    };
}

/// All values of all policies, in the order of the standard's table.
pub(crate) const FIELDS: [Field; 42] = [
    field!("user_data"."value", P | W | R, Bytes, endpoint.user_data),
    field!("topic_data"."value", T, Bytes, endpoint.topic_data),
    field!("group_data"."value", G, Bytes, endpoint.group_data),
    field!("durability"."kind", ENDS, word Durability, endpoint.durability),
    field!("durability_service"."service_cleanup_delay", T | W, Duration, endpoint.durability_service.cleanup_delay),
    field!("durability_service"."history_kind", T | W, word HistoryKind, service.kind),
    field!("durability_service"."history_depth", T | W, Depth, service.depth),
    field!("durability_service"."max_samples", T | W, Limit, endpoint.durability_service.limits.max_samples),
    field!("durability_service"."max_instances", T | W, Limit, endpoint.durability_service.limits.max_instances),
    field!(
        "durability_service"."max_samples_per_instance",
        T | W,
        Limit,
        endpoint.durability_service.limits.max_samples_per_instance
    ),
    field!("presentation"."access_scope", G, word AccessScope, endpoint.presentation.access_scope),
    field!("presentation"."coherent_access", G, Flag, endpoint.presentation.coherent_access),
    field!("presentation"."ordered_access", G, Flag, endpoint.presentation.ordered_access),
    field!("deadline"."period", ENDS, Duration, endpoint.deadline),
    field!("latency_budget"."duration", ENDS, Duration, endpoint.latency_budget),
    field!("ownership"."kind", ENDS, word Ownership, endpoint.ownership),
    field!("ownership_strength"."value", W, Integer, endpoint.ownership_strength),
    field!("liveliness"."kind", ENDS, word LivelinessKind, endpoint.liveliness.kind),
    field!("liveliness"."lease_duration", ENDS, Duration, endpoint.liveliness.lease_duration),
    field!("time_based_filter"."minimum_separation", R, Duration, endpoint.time_based_filter),
    field!("partition"."name", G, Names, endpoint.partition),
    field!("reliability"."kind", ENDS, word ReliabilityKind, endpoint.reliability.kind),
    field!("reliability"."max_blocking_time", ENDS, Duration, endpoint.reliability.max_blocking_time),
    field!("transport_priority"."value", T | W, Integer, endpoint.transport_priority),
    field!("lifespan"."duration", T | W, Duration, endpoint.lifespan),
    field!("destination_order"."kind", ENDS, word DestinationOrder, endpoint.destination_order),
    field!("history"."kind", ENDS, word HistoryKind, history.kind),
    field!("history"."depth", ENDS, Depth, history.depth),
    field!("resource_limits"."max_samples", ENDS, Limit, endpoint.resource_limits.max_samples),
    field!("resource_limits"."max_instances", ENDS, Limit, endpoint.resource_limits.max_instances),
    field!(
        "resource_limits"."max_samples_per_instance",
        ENDS,
        Limit,
        endpoint.resource_limits.max_samples_per_instance
    ),
    field!("entity_factory"."autoenable_created_entities", P | G, Flag, entity_factory.autoenable_created_entities),
    field!(
        "writer_data_lifecycle"."autodispose_unregistered_instances",
        W,
        Flag,
        writer_data_lifecycle.autodispose_unregistered_instances
    ),
    field!(
        "reader_data_lifecycle"."autopurge_nowriter_samples_delay",
        R,
        Duration,
        reader_data_lifecycle.autopurge_nowriter_samples_delay
    ),
    field!(
        "reader_data_lifecycle"."autopurge_disposed_samples_delay",
        R,
        Duration,
        reader_data_lifecycle.autopurge_disposed_samples_delay
    ),
    field!("representation"."value", ENDS, Representations, endpoint.representation),
    field!("type_consistency"."kind", R, word Coercion, coercion),
    field!("type_consistency"."ignore_sequence_bounds", R, Flag, endpoint.type_consistency.ignore_sequence_bounds),
    field!("type_consistency"."ignore_string_bounds", R, Flag, endpoint.type_consistency.ignore_string_bounds),
    field!("type_consistency"."ignore_member_names", R, Flag, endpoint.type_consistency.ignore_member_names),
    field!("type_consistency"."prevent_type_widening", R, Flag, endpoint.type_consistency.prevent_type_widening),
    field!("type_consistency"."force_type_validation", R, Flag, endpoint.type_consistency.force_type_validation),
];

/// What the standard calls the policy of an element, as errors name it.
pub(crate) fn policy_name(element: &str) -> String {
    match element {
        "representation" => String::from("DATA_REPRESENTATION"),
        "type_consistency" => String::from("TYPE_CONSISTENCY_ENFORCEMENT"),
        element => element.to_ascii_uppercase(),
    }
}

/// What is said of a value that does less here than the standard says.
pub(crate) fn remark(field: &Field) -> Option<&'static str> {
    (field.policy == "durability_service" && field.name != "service_cleanup_delay")
        .then_some("it is announced, and has no other effect here: no service keeps histories for writers")
}
