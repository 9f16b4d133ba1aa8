//! Questions and answers of etcd's JSON interface: keys and values are in base64, and numbers of 64 bits are text.
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::http::Trouble;

/// A key, its value, and the revision at which it was created.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) value: Vec<u8>,
    pub(super) created: i64,
}

pub(super) fn encoded(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

/// True if the key was created at this revision; 0: if there is none.
pub(super) fn is_created_at(key: &str, revision: i64) -> Value {
    json!({"key": encoded(key), "target": "CREATE", "result": "EQUAL", "create_revision": revision.to_string()})
}

/// True if the key has this value.
pub(super) fn has_value(key: &str, value: &str) -> Value {
    json!({"key": encoded(key), "target": "VALUE", "result": "EQUAL", "value": encoded(value)})
}

/// Gives a key a value, which ends with a lease if there is one (0: none).
pub(super) fn put(key: &str, value: impl AsRef<[u8]>, lease: i64) -> Value {
    json!({"requestPut": {"key": encoded(key), "value": encoded(value), "lease": lease.to_string()}})
}

pub(super) fn delete(key: &str) -> Value {
    json!({"requestDeleteRange": {"key": encoded(key)}})
}

pub(super) fn get(key: &str) -> Value {
    json!({"requestRange": {"key": encoded(key)}})
}

pub(super) fn transaction(compare: &[Value], success: &[Value], failure: &[Value]) -> Value {
    json!({"compare": compare, "success": success, "failure": failure})
}

/// Keys from one on to another one, which is not among them, in their order.
pub(super) fn range(from: &str, to: &str, most: usize) -> Value {
    json!({"key": encoded(from), "range_end": encoded(to), "limit": most.to_string(), "sort_target": "KEY", "sort_order": "ASCEND"})
}

/// A number, which etcd writes as text, and leaves out if it is 0.
pub(super) fn number(value: &Value, key: &str) -> Result<i64, Trouble> {
    let strange = || Trouble::Strange(format!("\"{key}\" is no number"));
    match value.get(key) {
        None | Some(Value::Null) => Ok(0),
        Some(Value::String(text)) => text.parse().map_err(|_| strange()),
        Some(other) => other.as_i64().ok_or_else(strange),
    }
}

/// Whether a transaction compared well, and what its operations gave: the entries of each range, and nothing of others.
pub(super) fn transacted(answer: &Value) -> Result<(bool, Vec<Vec<Entry>>), Trouble> {
    let succeeded = answer.get("succeeded").and_then(Value::as_bool).unwrap_or(false);
    let responses = answer.get("responses").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let of = |response: &Value| {
        let range = response.get("response_range").or_else(|| response.get("responseRange"));
        range.map_or_else(|| Ok(Vec::new()), entries)
    };
    Ok((succeeded, responses.iter().map(of).collect::<Result<_, _>>()?))
}

/// The entries of a range.
pub(super) fn entries(range: &Value) -> Result<Vec<Entry>, Trouble> {
    let list = range.get("kvs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().map(entry).collect()
}

fn entry(value: &Value) -> Result<Entry, Trouble> {
    let bytes = |name: &str| {
        let text = value.get(name).map_or(Some(""), Value::as_str);
        let decoded = text.and_then(|text| STANDARD.decode(text).ok());
        decoded.ok_or_else(|| Trouble::Strange(format!("\"{name}\" is not in base64")))
    };
    // A key that is no text is none of ours, and shown as such.
    let key = String::from_utf8_lossy(&bytes("key")?).into_owned();
    Ok(Entry { key, value: bytes("value")?, created: number(value, "create_revision")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_etcd_writes_is_read() {
        let answer: Value = serde_json::from_str(
            "{\"header\":{\"revision\":\"7\"},\"succeeded\":true,\"responses\":[{\"response_range\":{\"kvs\":[{\"key\":\"YQ==\",\"create_revision\":\"5\",\"value\":\"Yg==\"}],\"count\":\"1\"}},{\"response_put\":{}}]}",
        )
        .unwrap();
        let entry = Entry { key: "a".to_owned(), value: b"b".to_vec(), created: 5 };
        assert_eq!(transacted(&answer), Ok((true, vec![vec![entry], vec![]])));
    }

    #[test]
    fn what_no_etcd_writes_is_an_error() {
        for text in [
            "{\"kvs\":[{\"key\":7}]}",
            "{\"kvs\":[{\"key\":\"?\"}]}",
            "{\"kvs\":[{\"key\":\"YQ==\",\"create_revision\":\"x\"}]}",
            "{\"kvs\":[{\"key\":\"YQ==\",\"create_revision\":1.5}]}",
            "{\"kvs\":[{\"key\":\"YQ==\",\"create_revision\":\"99999999999999999999\"}]}",
        ] {
            assert!(
                matches!(entries(&serde_json::from_str(text).unwrap()), Err(Trouble::Strange(_))),
                "{text}"
            );
        }
    }
}
