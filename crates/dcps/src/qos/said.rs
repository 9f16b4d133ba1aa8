//! QoS of writers and readers as files say it: what is not said is the default.
use serde::{Deserialize, Deserializer};
use wire::qos::{EndpointQos, SaidQos};

use super::{DataReaderQos, DataWriterQos};

pub(super) fn writer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EndpointQos, D::Error> {
    SaidQos::deserialize(deserializer).map(|said| said.over(DataWriterQos::default().endpoint))
}

pub(super) fn reader<'de, D: Deserializer<'de>>(deserializer: D) -> Result<EndpointQos, D::Error> {
    SaidQos::deserialize(deserializer).map(|said| said.over(DataReaderQos::default().endpoint))
}
