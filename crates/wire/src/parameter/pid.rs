//! Parameter ids (RTPS 2.5, table 9.14 and following; XTypes 1.3, 7.6.3; DDS Security 1.1, 7.4).

/// Set in ids whose meaning depends on the vendor.
pub const VENDOR: u16 = 0x8000;
/// Set in ids that must be understood, or the whole record is ignored.
pub const MUST_UNDERSTAND: u16 = 0x4000;

/// Filler, skipped.
pub const PAD: u16 = 0x0000;
/// End of the list.
pub const SENTINEL: u16 = 0x0001;
/// Lease duration of a participant.
pub const PARTICIPANT_LEASE_DURATION: u16 = 0x0002;
/// TIME_BASED_FILTER.
pub const TIME_BASED_FILTER: u16 = 0x0004;
/// Topic name.
pub const TOPIC_NAME: u16 = 0x0005;
/// OWNERSHIP_STRENGTH.
pub const OWNERSHIP_STRENGTH: u16 = 0x0006;
/// Type name.
pub const TYPE_NAME: u16 = 0x0007;
/// Domain id of a participant.
pub const DOMAIN_ID: u16 = 0x000f;
/// Protocol version of a participant.
pub const PROTOCOL_VERSION: u16 = 0x0015;
/// Vendor id of a participant.
pub const VENDOR_ID: u16 = 0x0016;
/// RELIABILITY.
pub const RELIABILITY: u16 = 0x001a;
/// LIVELINESS.
pub const LIVELINESS: u16 = 0x001b;
/// DURABILITY.
pub const DURABILITY: u16 = 0x001d;
/// DURABILITY_SERVICE.
pub const DURABILITY_SERVICE: u16 = 0x001e;
/// OWNERSHIP.
pub const OWNERSHIP: u16 = 0x001f;
/// PRESENTATION.
pub const PRESENTATION: u16 = 0x0021;
/// DEADLINE.
pub const DEADLINE: u16 = 0x0023;
/// DESTINATION_ORDER.
pub const DESTINATION_ORDER: u16 = 0x0025;
/// LATENCY_BUDGET.
pub const LATENCY_BUDGET: u16 = 0x0027;
/// PARTITION.
pub const PARTITION: u16 = 0x0029;
/// LIFESPAN.
pub const LIFESPAN: u16 = 0x002b;
/// USER_DATA.
pub const USER_DATA: u16 = 0x002c;
/// GROUP_DATA.
pub const GROUP_DATA: u16 = 0x002d;
/// TOPIC_DATA.
pub const TOPIC_DATA: u16 = 0x002e;
/// Unicast locator of an endpoint.
pub const UNICAST_LOCATOR: u16 = 0x002f;
/// Multicast locator of an endpoint.
pub const MULTICAST_LOCATOR: u16 = 0x0030;
/// Default unicast locator of a participant's user endpoints.
pub const DEFAULT_UNICAST_LOCATOR: u16 = 0x0031;
/// Unicast locator of a participant's built-in endpoints.
pub const METATRAFFIC_UNICAST_LOCATOR: u16 = 0x0032;
/// Multicast locator of a participant's built-in endpoints.
pub const METATRAFFIC_MULTICAST_LOCATOR: u16 = 0x0033;
/// Count of manual liveliness assertions of a participant.
pub const PARTICIPANT_MANUAL_LIVELINESS_COUNT: u16 = 0x0034;
/// CONTENT_FILTER_PROPERTY of a reader.
pub const CONTENT_FILTER_PROPERTY: u16 = 0x0035;
/// HISTORY.
pub const HISTORY: u16 = 0x0040;
/// RESOURCE_LIMITS.
pub const RESOURCE_LIMITS: u16 = 0x0041;
/// True if a reader wants QoS inline.
pub const EXPECTS_INLINE_QOS: u16 = 0x0043;
/// Default multicast locator of a participant's user endpoints.
pub const DEFAULT_MULTICAST_LOCATOR: u16 = 0x0048;
/// TRANSPORT_PRIORITY.
pub const TRANSPORT_PRIORITY: u16 = 0x0049;
/// GUID of a participant.
pub const PARTICIPANT_GUID: u16 = 0x0050;
/// GUID of a publisher or subscriber.
pub const GROUP_GUID: u16 = 0x0052;
/// Entity id of a publisher or subscriber.
pub const GROUP_ENTITY_ID: u16 = 0x0053;
/// Bits of the built-in endpoints that a participant has.
pub const BUILTIN_ENDPOINT_SET: u16 = 0x0058;
/// Properties of a participant or endpoint.
pub const PROPERTY_LIST: u16 = 0x0059;
/// GUID of an endpoint.
pub const ENDPOINT_GUID: u16 = 0x005a;
/// Largest serialized sample of a writer.
pub const TYPE_MAX_SIZE_SERIALIZED: u16 = 0x0060;
/// Name of an entity.
pub const ENTITY_NAME: u16 = 0x0062;
/// Key hash of the instance.
pub const KEY_HASH: u16 = 0x0070;
/// Disposed, unregistered, filtered.
pub const STATUS_INFO: u16 = 0x0071;
/// DATA_REPRESENTATION.
pub const DATA_REPRESENTATION: u16 = 0x0073;
/// TYPE_CONSISTENCY_ENFORCEMENT.
pub const TYPE_CONSISTENCY_ENFORCEMENT: u16 = 0x0074;
/// Type information of XTypes.
pub const TYPE_INFORMATION: u16 = 0x0075;
/// Content filters that were applied.
pub const CONTENT_FILTER_INFO: u16 = 0x0055;
/// Coherent set that the sample belongs to.
pub const COHERENT_SET: u16 = 0x0056;
/// Readers that the sample is for.
pub const DIRECTED_WRITE: u16 = 0x0057;
/// The writer that wrote first, when a service forwards.
pub const ORIGINAL_WRITER_INFO: u16 = 0x0061;
/// Coherent set of a group.
pub const GROUP_COHERENT_SET: u16 = 0x0063;
/// Sequence number in a group.
pub const GROUP_SEQ_NUM: u16 = 0x0064;
/// The sample that this one answers (DDS-RPC 1.0, 7.8.2).
pub const RELATED_SAMPLE_IDENTITY: u16 = 0x0083;
/// Domain tag of a participant.
pub const DOMAIN_TAG: u16 = 0x4014;

/// Ours; its value begins with a magic word (docs/wire.md).
pub const PUNCTUAL: u16 = 0x8f01;
