//! Whether values are as the schemas of an OpenAPI document say; the tests of other interfaces look by it, too.
use serde_json::Value;

/// Whether a value is as a schema says, with no property besides; else where it is not.
pub(crate) fn check(document: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{place}: {what}: {value} by {schema}"));
    if let Some(reference) = schema["$ref"].as_str() {
        let pointer = reference.trim_start_matches('#');
        return match document.pointer(pointer) {
            Some(schema) => check(document, schema, value, place),
            None => wrong("no such schema"),
        };
    }
    if let Some(any) = schema["anyOf"].as_array() {
        return match any.iter().any(|schema| check(document, schema, value, place).is_ok()) {
            true => Ok(()),
            false => wrong("none of these"),
        };
    }
    let types = match &schema["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(some) => some.iter().filter_map(Value::as_str).collect(),
        _ => return wrong("the schema has no type"),
    };
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() && types.contains(&"integer") => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if !types.contains(&kind) {
        return wrong("another type");
    }
    if let Some(words) = schema["enum"].as_array()
        && !words.contains(value)
    {
        return wrong("another word");
    }
    if let Some(items) = value.as_array() {
        for (index, item) in items.iter().enumerate() {
            check(document, &schema["items"], item, &format!("{place}[{index}]"))?;
        }
    }
    if let (Some(object), Some(properties)) = (value.as_object(), schema["properties"].as_object()) {
        for (name, value) in object {
            let Some(schema) = properties.get(name) else {
                return wrong(&format!("{name} is not documented"));
            };
            check(document, schema, value, &format!("{place}.{name}"))?;
        }
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                return wrong(&format!("{name} is missing"));
            }
        }
    }
    Ok(())
}
