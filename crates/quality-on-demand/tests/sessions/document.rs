//! The OpenAPI document: its references lead somewhere.
use serde_json::Value;

fn references(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            found.extend(object.get("$ref").and_then(Value::as_str).map(str::to_owned));
            object.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn references_lead_to_what_is_there_and_all_that_is_there_is_referred_to() {
    let document: Value = serde_json::from_str(quality_on_demand::OPENAPI).unwrap();
    let mut found = Vec::new();
    references(&document, &mut found);
    for reference in &found {
        assert!(document.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
    }
    for (kind, all) in document["components"].as_object().unwrap() {
        for name in all.as_object().unwrap().keys().filter(|_| kind != "securitySchemes") {
            let reference = format!("#/components/{kind}/{name}");
            assert!(found.contains(&reference), "{reference} is used by nothing");
        }
    }
}
