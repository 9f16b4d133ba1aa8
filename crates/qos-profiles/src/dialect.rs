//! What belongs to the files of other vendors, so that an error can say whose it is and what to write.

/// Where a name is from, and what the standard has in its place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Foreign {
    pub(crate) whose: &'static str,
    pub(crate) remedy: &'static str,
}

const FAST: &str = "Fast DDS";
const RTI: &str = "RTI Connext";
const CYCLONE: &str = "Cyclone DDS";
const DDS4CCM: &str = "DDS4CCM, as OpenDDS and OpenSplice read it";

const FAST_REMEDY: &str = "write the policies as a <qos_profile> of a <qos_library>; transports and discovery are settings of the participant: docs/config.md";
const RTI_REMEDY: &str =
    "leave it out: it sets what only that product has; limits of participants are in docs/config.md";
const CYCLONE_REMEDY: &str =
    "that file sets the network up, and no QoS; the settings of a participant here are in docs/config.md";
const DDS4CCM_REMEDY: &str =
    "give the root no namespace, or that of DDS-XML, and put profiles into a <qos_library>";

/// Names of elements and attributes that only others have.
const NAMES: &[(&str, &[&str], &str)] = &[
    (
        FAST,
        &[
            "profiles",
            "participant",
            "data_writer",
            "data_reader",
            "publisher",
            "subscriber",
            "transport_descriptors",
            "library_settings",
            "log",
            "profile_name",
            "is_default_profile",
            "historyQos",
            "resourceLimitsQos",
            "topic",
            "qos",
            "rtps",
            "historyMemoryPolicy",
            "times",
            "propertiesPolicy",
            "participant_factory",
            "replier",
            "requester",
            "data_sharing",
            "disablePositiveAcks",
            "publishMode",
            "allocated_samples",
            "extra_samples",
            "ignore_non_matching_locators",
        ],
        FAST_REMEDY,
    ),
    (
        RTI,
        &[
            "participant_factory_qos",
            "domain_participant_factory_qos",
            "is_default_participant_factory_profile",
            "qos_snippet",
            "initial_samples",
            "initial_instances",
            "instance_hash_buckets",
            "publication_name",
            "subscription_name",
            "participant_name",
            "publisher_name",
            "subscriber_name",
            "protocol",
            "transport_builtin",
            "transport_selection",
            "transport_unicast",
            "transport_multicast",
            "property",
            "publish_mode",
            "multicast",
            "unicast",
            "discovery",
            "discovery_config",
            "database",
            "event",
            "receiver_pool",
            "availability",
            "batch",
            "writer_resource_limits",
            "reader_resource_limits",
            "wire_protocol",
            "type_support",
            "multi_channel",
            "service",
            "asynchronous_publisher",
            "exclusive_area",
            "locatorfilter",
            "data_tags",
            "monitoring",
            "logging",
            "topic_query_dispatch",
            "refilter",
            "acknowledgment_kind",
            "instance_state_consistency_kind",
            "storage_settings",
            "writer_depth",
            "assertions_per_lease_duration",
            "assert_liveliness",
            "scope",
            "drop_incomplete_coherent_set",
            "source_timestamp_tolerance",
            "autopurge_unregistered_instances_delay",
            "autopurge_disposed_instances_delay",
            "autopurge_nowriter_instances_delay",
            "autopurge_disposed_samples_delay_kind",
            "compression_settings",
            "ignore_enum_literal_names",
            "max_samples_per_remote_writer",
            "user_object",
            "fragmentation",
            "direct_communication",
        ],
        RTI_REMEDY,
    ),
    (RTI, &["participant_qos"], "write <domain_participant_qos>"),
    (RTI, &["base_name"], "write base_name=\"Library::Profile\" as an attribute; a profile has one base"),
    (
        CYCLONE,
        &["CycloneDDS", "CycloneDDSConfig", "DDSI2E", "ddsi2", "entity_name", "ignore_local"],
        CYCLONE_REMEDY,
    ),
    (DDS4CCM, &["domainparticipant_qos"], "write <domain_participant_qos>"),
    (DDS4CCM, &["profile", "qosProfile"], DDS4CCM_REMEDY),
    ("OpenSplice", &["OpenSplice"], CYCLONE_REMEDY),
    ("OpenDDS", &["OpenDDS"], CYCLONE_REMEDY),
    ("the OMG's rules for examples, and no part of its schema", &["user_data_qos"], "write <user_data>"),
];

/// Namespaces that only others have.
const NAMESPACES: &[(&str, &str, &str)] = &[
    ("eprosima.com", FAST, FAST_REMEDY),
    ("cdds.io", CYCLONE, CYCLONE_REMEDY),
    ("omg.org/dds", DDS4CCM, DDS4CCM_REMEDY),
    ("rti.com", RTI, "give the root no namespace, or that of DDS-XML"),
];

/// Whose an element or attribute is.
pub(crate) fn of_name(name: &str) -> Option<Foreign> {
    let found = NAMES.iter().find(|(_, names, _)| names.contains(&name));
    found.map(|&(whose, _, remedy)| Foreign { whose, remedy })
}

/// Whose a namespace is.
pub(crate) fn of_namespace(uri: &str) -> Option<Foreign> {
    let found = NAMESPACES.iter().find(|(part, ..)| uri.contains(part));
    found.map(|&(_, whose, remedy)| Foreign { whose, remedy })
}

/// The namespace of DDS-XML 1.0, with which some put a slash at the end.
pub(crate) fn is_standard(uri: &str) -> bool {
    uri.strip_suffix('/').unwrap_or(uri) == "http://www.omg.org/spec/DDS-XML"
}
