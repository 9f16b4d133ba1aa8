//! Whether an answer is what the OpenAPI document says.
use serde_json::Value;

/// Every property is documented and of its type, and none that is required is missing.
pub(crate) fn conforms(document: &Value, schema: &Value, value: &Value) {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = document.pointer(reference.trim_start_matches('#')).expect(reference);
        return conforms(document, schema, value);
    }
    let is_of_its_type = match schema["type"].as_str().expect("a schema has a type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_u64(),
        other => panic!("{other} is used by no schema"),
    };
    assert!(is_of_its_type, "{value} by {schema}");
    if let Some(words) = schema["enum"].as_array() {
        assert!(words.contains(value), "{value} by {schema}");
    }
    for item in value.as_array().into_iter().flatten() {
        conforms(document, &schema["items"], item);
    }
    // A schema without properties says nothing of them.
    let Some(object) = value.as_object().filter(|_| schema.get("properties").is_some()) else { return };
    for name in schema["required"].as_array().into_iter().flatten() {
        assert!(object.contains_key(name.as_str().unwrap()), "{name} is missing: {value}");
    }
    for (name, value) in object {
        conforms(document, schema["properties"].get(name).expect(name), value);
    }
}
