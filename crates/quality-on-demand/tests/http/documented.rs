//! What is documented is what is answered: every path with its methods, every property with its type; and profiles.
use serde_json::{Value, json};
use testkit::namespace::alone;

use crate::conforms::conforms;
use crate::stage::{Stage, wanted};

#[test]
fn paths_methods_and_answers_are_as_documented() {
    alone(|| {
        let stage = Stage::new("documented", "");
        let document = stage.send("GET", "/openapi.json", &[], "").json();
        let text: Value = serde_json::from_str(quality_on_demand::OPENAPI).unwrap();
        assert_eq!(document, text);
        let mut looked = 0;
        for (path, methods) in document["paths"].as_object().unwrap() {
            for method in ["get", "post", "put", "patch", "delete"] {
                let id = stage.available(&wanted("ALARMS", 600));
                let place = path.replace("{sessionId}", &id).replace("{name}", "ALARMS");
                let body = match path.rsplit('/').next().unwrap() {
                    "extend" => json!({"requestedAdditionalDuration": 1}),
                    "sessions" => {
                        let mut body = wanted("CONTROL", 600);
                        body["applicationServer"] = json!({"ipAddresses": ["10.3.1.8", "10.3.1.9"]});
                        body
                    }
                    "retrieve-sessions" => {
                        json!({"device": {"ipv4Address": {"publicAddress": "10.1.0.5", "publicPort": 1}}})
                    }
                    _ => json!({}),
                };
                let reply = stage.ask(&method.to_uppercase(), &place, Some(&body));
                let Some(operation) = methods.get(method) else {
                    reply.is_error(405, "METHOD_NOT_ALLOWED");
                    assert_eq!(stage.delete(&id).status, 204);
                    continue;
                };
                looked += 1;
                let good = operation["responses"]
                    .as_object()
                    .unwrap()
                    .iter()
                    .find(|(status, _)| status.starts_with('2'));
                let (status, answer) = good.unwrap();
                assert_eq!(reply.status.to_string(), *status, "{method} {path}: {reply:?}");
                if let Some(content) = answer.get("content") {
                    conforms(&document, &content["application/json"]["schema"], &reply.json());
                }
                if path.ends_with("/sessions") {
                    assert_eq!(stage.delete(&reply.session()).status, 204);
                }
                if method != "delete" {
                    assert_eq!(stage.delete(&id).status, 204);
                }
            }
        }
        assert_eq!(looked, 10);
        let error = stage.get("7").json();
        conforms(&document, &document["components"]["schemas"]["ErrorInfo"], &error);
    });
}

#[test]
fn profiles_are_listed_found_and_shown() {
    alone(|| {
        let stage = Stage::new("profiles", "");
        let alarms = stage.ask("GET", "/qos-profiles/v1/qos-profiles/ALARMS", None).json();
        let expected = json!({
            "name": "ALARMS", "description": "Alarms from a device to its servers, within 25 ms", "status": "ACTIVE",
            "targetMinUpstreamRate": {"value": 1_000, "unit": "kbps"}, "minDuration": {"value": 1, "unit": "Seconds"},
            "maxDuration": {"value": 3_600, "unit": "Seconds"}, "packetDelayBudget": {"value": 25, "unit": "Milliseconds"},
        });
        assert_eq!(alarms, expected);
        stage.ask("GET", "/qos-profiles/v1/qos-profiles/NOTHING", None).is_error(404, "NOT_FOUND");
        stage.ask("GET", "/qos-profiles/v1/qos-profiles/A", None).is_error(400, "INVALID_ARGUMENT");
        let names = |reply: Value| -> Vec<String> {
            reply
                .as_array()
                .unwrap()
                .iter()
                .map(|profile| profile["name"].as_str().unwrap().to_owned())
                .collect()
        };
        let all = ["ALARMS", "PICTURES", "CONTROL", "FORMER"];
        assert_eq!(names(stage.ask("GET", "/qos-profiles/v1/qos-profiles", None).json()), all);
        let found = |body: Value| stage.ask("POST", "/qos-profiles/vwip/retrieve-qos-profiles", Some(&body));
        assert_eq!(names(found(json!({})).json()), all);
        assert_eq!(names(found(json!({"status": "DEPRECATED"})).json()), ["FORMER"]);
        assert_eq!(
            names(found(json!({"name": "CONTROL", "device": {"ipv6Address": "2001:db8::1"}})).json()),
            ["CONTROL"]
        );
        assert_eq!(found(json!({"name": "NOTHING"})).json(), json!([]));
        found(json!({"names": "CONTROL"})).is_error(400, "INVALID_ARGUMENT");
        found(json!({"device": {"phoneNumber": "+123456789"}})).is_error(422, "UNSUPPORTED_IDENTIFIER");
    });
}
