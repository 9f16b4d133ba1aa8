//! Topics as key expressions of Zenoh, as `zenoh-plugin-dds` has them, and what bridges tell each other in keys.
use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use wire::Guid;
use wire::discovery::{EndpointData, EndpointRole};

use crate::attachment::Kind;

/// What all keys begin with that bridges use among themselves: a chunk that no wildcard of others means.
pub const OWN: &str = "@punctual/1";
/// Most bytes of a key, which Zenoh sends with a length of 16 bits.
const LONGEST: usize = 4_096;
/// Most bytes of an announcement in a token.
const LONGEST_TOKEN: usize = 32_768;
/// The chunk below a key that tells the end of instances: a program that knows samples only does not subscribe to it.
const ENDS: &str = "@punctual_end";
/// The chunk below a key where `zenoh-plugin-dds` asks for samples of writers that keep theirs.
const PLUGIN_CACHE: &str = "@dds_pub_cache";

/// One run of a bridge.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct BridgeId(pub [u8; 16]);

impl fmt::Display for BridgeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl BridgeId {
    /// Reads what is displayed.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() != 32 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        u128::from_str_radix(text, 16).ok().map(|number| Self(number.to_be_bytes()))
    }
}

/// Why a topic has no key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoKey(String);

impl fmt::Display for NoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The key of a topic in a partition: `scope/partition/topic`, without what is not there.
///
/// # Errors
/// Zenoh gives a character of it another meaning, or forbids it.
pub fn of_topic(scope: &str, partition: &str, topic: &str) -> Result<String, NoKey> {
    let mut key = String::new();
    for (what, part) in [("scope", scope), ("partition", partition), ("topic", topic)] {
        if part.is_empty() && what != "topic" {
            continue;
        }
        check(part)
            .map_err(|why| NoKey(format!("the {what} {part:?} cannot be part of a key of Zenoh: {why}")))?;
        if !key.is_empty() {
            key.push('/');
        }
        key.push_str(part);
    }
    if key.len() > LONGEST {
        return Err(NoKey(format!("the key of the topic has {} bytes, more than {LONGEST}", key.len())));
    }
    Ok(key)
}

/// True for a text that is a key without wildcards, of samples.
pub fn is_plain(key: &str) -> bool {
    key.len() <= LONGEST && check(key).is_ok()
}

fn check(part: &str) -> Result<(), &'static str> {
    if part.contains(['*', '$', '?', '#']) {
        return Err("it has one of * $ ? #");
    }
    if part.chars().any(char::is_control) {
        return Err("it has a control character");
    }
    for chunk in part.split('/') {
        if chunk.is_empty() {
            return Err("it has an empty part between slashes, before the first or after the last");
        }
        if chunk.starts_with('@') {
            return Err("a part of it begins with @");
        }
    }
    Ok(())
}

/// The keys of an endpoint: one for each of its partitions.
///
/// # Errors
/// One of them has none.
pub fn of_endpoint(scope: &str, data: &EndpointData) -> Result<Vec<String>, NoKey> {
    if data.qos.partition.is_empty() {
        return of_topic(scope, "", &data.topic_name).map(|key| Vec::from([key]));
    }
    let mut keys = Vec::new();
    for partition in &data.qos.partition {
        let key = of_topic(scope, partition, &data.topic_name)?;
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    Ok(keys)
}

/// Where the ends of instances of a key are told.
pub fn ends(key: &str) -> String {
    format!("{key}/{ENDS}")
}

/// Where a message of a key goes: samples under the key itself, all else where ends of instances are told.
pub fn at(key: &str, kind: Kind) -> String {
    if kind == Kind::Sample { key.to_owned() } else { ends(key) }
}

/// The key whose ends are told here; the key itself if it is none of these.
pub fn without_ends(key: &str) -> &str {
    key.strip_suffix(ENDS).and_then(|rest| rest.strip_suffix('/')).unwrap_or(key)
}

/// Where a bridge answers those who ask what it sent under any key.
pub fn cache_of(bridge: BridgeId) -> String {
    format!("{OWN}/{bridge}/cache/**")
}

/// Where it is asked what it sent under this key.
pub fn cache_of_key(bridge: BridgeId, key: &str) -> String {
    format!("{OWN}/{bridge}/cache/{key}")
}

/// The key that is asked for.
pub fn asked(bridge: BridgeId, key: &str) -> Option<&str> {
    let rest = key.strip_prefix(OWN)?.strip_prefix('/')?;
    let (id, rest) = rest.split_once('/')?;
    (BridgeId::parse(id)? == bridge).then_some(())?;
    rest.strip_prefix("cache/").filter(|key| is_plain(key))
}

/// Where a bridge answers those who ask for the types of writers.
pub fn types_of(bridge: BridgeId) -> String {
    format!("{OWN}/{bridge}/type/*")
}

/// Where it is asked for the type of this writer.
pub fn type_of_writer(bridge: BridgeId, writer: Guid) -> String {
    let mut key = format!("{OWN}/{bridge}/type/");
    writer.to_bytes().iter().for_each(|byte| key.push_str(&format!("{byte:02x}")));
    key
}

/// The writer whose type is asked for.
pub fn asked_type(bridge: BridgeId, key: &str) -> Option<Guid> {
    let rest = key.strip_prefix(OWN)?.strip_prefix('/')?;
    let (id, rest) = rest.split_once('/')?;
    (BridgeId::parse(id)? == bridge).then_some(())?;
    // As many digits as the number of a run has.
    BridgeId::parse(rest.strip_prefix("type/")?).map(|digits| Guid::from_bytes(digits.0))
}

/// Where `zenoh-plugin-dds` asks for what writers of this key have kept.
pub fn plugin_caches(key: &str) -> String {
    format!("{key}/{PLUGIN_CACHE}/*")
}

/// Where this bridge answers it.
pub fn plugin_cache(key: &str, bridge: BridgeId) -> String {
    format!("{key}/{PLUGIN_CACHE}/{bridge}")
}

/// What tokens of all bridges are.
pub fn tokens(scope: &str) -> String {
    format!("{OWN}/*/writer/{}/*/*", scope_chunk(scope))
}

/// The token of a writer: who announces it, in which scope, under which number among the announcements of that bridge, and its announcement without
/// what is of its site alone.
pub fn token(bridge: BridgeId, scope: &str, number: u64, data: &EndpointData) -> Option<String> {
    let mut told =
        EndpointData::new(data.guid, data.topic_name.clone(), data.type_name.clone(), data.qos.clone());
    told.max_serialized_size = data.max_serialized_size;
    told.type_information.clone_from(&data.type_information);
    let mut bytes = Vec::new();
    told.encode(&mut bytes);
    let (scope, announced) = (scope_chunk(scope), URL_SAFE_NO_PAD.encode(bytes));
    let text = format!("{OWN}/{bridge}/writer/{scope}/{number}/{announced}");
    (text.len() <= LONGEST_TOKEN).then_some(text)
}

/// A scope as one chunk.
fn scope_chunk(scope: &str) -> String {
    if scope.is_empty() { "-".to_owned() } else { URL_SAFE_NO_PAD.encode(scope) }
}

/// Reads a token of this scope.
pub fn read_token(scope: &str, token: &str) -> Option<(BridgeId, u64, EndpointData)> {
    if token.len() > LONGEST_TOKEN {
        return None;
    }
    let rest = token.strip_prefix(OWN)?.strip_prefix('/')?;
    let (id, rest) = rest.split_once('/')?;
    let (in_scope, rest) = rest.strip_prefix("writer/")?.split_once('/')?;
    let (number, announced) = rest.split_once('/')?;
    if in_scope != scope_chunk(scope) {
        return None;
    }
    let bytes = URL_SAFE_NO_PAD.decode(announced).ok()?;
    let data = EndpointData::decode(&bytes, EndpointRole::Writer).ok()?;
    Some((BridgeId::parse(id)?, number.parse().ok()?, data))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;
    use wire::qos::EndpointQos;
    use wire::{EntityId, EntityKind, GuidPrefix};

    #[test]
    fn keys_are_those_of_the_plugin() {
        assert_eq!(of_topic("", "", "Square").as_deref(), Ok("Square"));
        assert_eq!(of_topic("", "", "rt/chatter").as_deref(), Ok("rt/chatter"));
        assert_eq!(of_topic("plant/1", "left", "Square").as_deref(), Ok("plant/1/left/Square"));
        for topic in ["", "/Square", "a//b", "a/", "a*", "a$b", "a?", "a#", "@a", "a/@b", "a\nb"] {
            let why = of_topic("", "", topic).unwrap_err().to_string();
            assert!(why.starts_with("the topic"), "{why}");
        }
        assert!(of_topic("", "left*", "Square").unwrap_err().to_string().starts_with("the partition"));
        assert!(of_topic("", "", &"a".repeat(5_000)).is_err());
    }

    #[test]
    fn a_token_tells_the_writer() {
        let guid = Guid::new(GuidPrefix([9; 12]), EntityId::user(4, EntityKind::WriterWithKey));
        let mut qos = EndpointQos::writer();
        qos.partition = Vec::from(["left".to_string()]);
        qos.user_data = Vec::from([1, 2, 3]);
        let mut data = EndpointData::new(guid, "Square".to_string(), "ShapeType".to_string(), qos);
        data.type_information = Some(Vec::from([1, 2, 3, 4]));
        let id = BridgeId([0xab; 16]);
        for scope in ["", "plant/1"] {
            let token = token(id, scope, 7, &data).unwrap();
            assert_eq!(read_token(scope, &token), Some((id, 7, data.clone())));
            assert_eq!(read_token("other", &token), None);
            assert!(token.starts_with("@punctual/1/abababab"), "{token}");
            assert!(!token.contains(['*', '$', '?', '#']) && !token.contains("//"));
        }
        for token in ["", "@punctual/1", "@punctual/1/x/writer/-/1/AAAA", "@punctual/1//writer///"] {
            assert_eq!(read_token("", token), None);
        }
    }

    #[test]
    fn keys_of_bridges_are_read_as_they_are_made() {
        let id = BridgeId([1; 16]);
        assert_eq!(BridgeId::parse(&id.to_string()), Some(id));
        assert_eq!(BridgeId::parse("+1111111111111111111111111111111"), None);
        assert_eq!(asked(id, &cache_of_key(id, "plant/Square")), Some("plant/Square"));
        assert_eq!(asked(BridgeId([2; 16]), &cache_of_key(id, "plant/Square")), None);
        assert_eq!(asked(id, &cache_of(id)), None);
        let writer = Guid::from_bytes([0x1f; 16]);
        assert_eq!(asked_type(id, &type_of_writer(id, writer)), Some(writer));
        for key in [types_of(id), cache_of_key(id, "Square"), type_of_writer(BridgeId([2; 16]), writer)] {
            assert_eq!(asked_type(id, &key), None, "{key}");
        }
        assert_eq!((without_ends(&ends("a/b")), without_ends("a/b")), ("a/b", "a/b"));
    }
}
