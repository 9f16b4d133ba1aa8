//! What is documented is what is answered: every path with its methods, every property with its type.
use serde_json::{Value, json};
use testkit::namespace::alone;

use web::Said;

use crate::stage::{NOW, Stage, dropped, id};

/// Whether a value is as a schema says, with no property besides; else where it is not.
fn check(document: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
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

fn tunnels() -> Value {
    let tunnel = |id: &str, packets: Value| {
        json!({"id": id, "from": "camera", "to": "display", "packets": packets, "rate": 1_000_000,
            "burst": 4_000, "least_packet": 100, "largest_packet": 1_000, "jitter": 0, "limit": 5_000_000,
            "importance": 9})
    };
    let flow = json!({"flow": {"source": "10.0.0.1", "source_port": 0, "destination": "10.1.0.1",
        "destination_port": 7_400}});
    json!({"lifetime": 7_000_000_000_u64, "tunnels": [tunnel("01", json!({"codepoint": 46})), tunnel("02", flow)]})
}

fn document() -> Value {
    serde_json::from_str(web::OPENAPI).unwrap()
}

#[test]
fn answers_are_as_documented() {
    alone(|| {
        let (stage, document) = (Stage::shown(), document());
        let mut tried = Vec::new();
        for (path, methods) in document["paths"].as_object().unwrap() {
            for (method, operation) in methods.as_object().unwrap() {
                let place = path.replace("{id}", &id()).replace("{name}", "s1");
                let reply = match (path.as_str(), method.as_str()) {
                    ("/api/v1/events", "get") => continue,
                    ("/api/v1/requests", "post") => {
                        let question = json!({"from": "camera", "to": "display", "largest_message": 4000,
                            "minimum_separation": 10_000_000, "maximum_latency": 5_000_000});
                        stage.question(question.to_string().as_bytes())
                    }
                    ("/api/v1/switches/{name}/drain", _) => {
                        let query = if method == "put" { "?reason=new%20firmware&force=true" } else { "" };
                        let name = [("Punctual-Operator", "Ann Example")];
                        stage.send(&method.to_uppercase(), &format!("{place}{query}"), &name, b"")
                    }
                    ("/api/v1/tunnels/{owner}", _) => {
                        let headers =
                            [("Punctual-Operator", "AS 65003"), ("Content-Type", "application/json")];
                        let place = place.replace("{owner}", "65003");
                        stage.send("PUT", &place, &headers, tunnels().to_string().as_bytes())
                    }
                    ("/api/v1/network/reload", _) => stage.send(
                        "POST",
                        &format!("{place}?check=true"),
                        &[("Punctual-Operator", "Ann Example")],
                        b"",
                    ),
                    (_, "delete") => {
                        let place = format!("{place}?how=revoke&reason=maintenance%20of%20s1");
                        stage.send("DELETE", &place, &[("Punctual-Operator", "Ann Example")], b"")
                    }
                    (_, "get") => stage.get(&place),
                    other => panic!("what is {other:?}?"),
                };
                assert_eq!(reply.status, 200, "{path} {method}: {reply:?}");
                let content = operation["responses"]["200"]["content"].as_object().unwrap();
                let (kind, content) = content.iter().next().unwrap();
                assert!(reply.head.contains(&format!("content-type: {kind}")), "{path}: {}", reply.head);
                if kind == "application/json" {
                    check(&document, &content["schema"], &reply.json(), path).unwrap();
                }
                tried.push((path.clone(), method.clone()));
            }
        }
        assert_eq!(tried.len(), 14, "{tried:?}");
        let words = stage.asked.lock().unwrap().join("\n");
        assert!(words.contains("Ann Example at 127.0.0.1") && words.contains("maintenance of s1"), "{words}");
    });
}

#[test]
fn errors_are_as_documented() {
    alone(|| {
        let (stage, document) = (Stage::shown(), document());
        let delete = |id: &str, query: &str, headers: &[(&str, &str)]| {
            stage.send("DELETE", &format!("/api/v1/flows/{id}{query}"), headers, b"")
        };
        let (drains, reloads) = ("/api/v1/switches/{name}/drain", "/api/v1/network/reload");
        let drain = |method: &str, switch: &str, query: &str, headers: &[(&str, &str)]| {
            stage.send(method, &format!("{}{query}", drains.replace("{name}", switch)), headers, b"")
        };
        let (name, good) = ([("Punctual-Operator", "Ann")], "?how=revoke&reason=x");
        let unknown = id().replace('1', "2");
        let question = "/api/v1/requests";
        let (tunnel, owner) = ("/api/v1/tunnels/{owner}", "/api/v1/tunnels/65003");
        let as_operator = [("Punctual-Operator", "AS 65003"), ("Content-Type", "application/json")];
        let hold = |path: &str, body: &[u8]| stage.send("PUT", path, &as_operator, body);
        let wrong_tunnel = tunnels().to_string().replace("5000000", "1");
        check(&document, &json!({"$ref": "#/components/schemas/TunnelsWanted"}), &tunnels(), tunnel).unwrap();
        let json_type = [("Content-Type", "application/json")];
        for (path, method, status, reply) in [
            ("/api/v1/flows/{id}", "get", 404, stage.get("/api/v1/flows/nothing")),
            ("/api/v1/flows/{id}", "delete", 400, delete(&id(), "", &name)),
            ("/api/v1/flows/{id}", "delete", 400, delete(&id(), "?how=kill&reason=x", &name)),
            ("/api/v1/flows/{id}", "delete", 400, delete(&id(), "?how=revoke&reason=%20", &name)),
            ("/api/v1/flows/{id}", "delete", 400, delete(&id(), "?how=revoke&reason=a%0Ab", &name)),
            ("/api/v1/flows/{id}", "delete", 403, delete(&id(), good, &[])),
            ("/api/v1/flows/{id}", "delete", 404, delete(&unknown, good, &name)),
            ("/api/v1/flows/{id}", "delete", 404, delete("x-y", good, &name)),
            ("/api/v1/flows/{id}", "delete", 409, delete(&id(), "?how=release&reason=busy", &name)),
            (question, "post", 400, stage.question(b"{}")),
            (question, "post", 400, stage.question(b"\xff\xfe")),
            (question, "post", 413, stage.question(&vec![b' '; 70_000])),
            (question, "post", 415, stage.send("POST", question, &[("Content-Type", "text/plain")], b"{}")),
            (question, "post", 415, stage.send("POST", question, &[], b"{}")),
            (
                question,
                "post",
                422,
                stage.question(
                    br#"{"from":"x","to":"y","largest_message":1,"minimum_separation":1,"maximum_latency":1}"#,
                ),
            ),
            (tunnel, "put", 400, hold(owner, b"{}")),
            (tunnel, "put", 400, hold("/api/v1/tunnels/x", b"{}")),
            (tunnel, "put", 403, stage.send("PUT", owner, &[json_type[0]], b"{}")),
            (tunnel, "put", 413, hold(owner, &vec![b' '; 70_000])),
            (tunnel, "put", 415, stage.send("PUT", owner, &as_operator[..1], b"{}")),
            (tunnel, "put", 422, hold(owner, wrong_tunnel.as_bytes())),
            (reloads, "post", 400, stage.send("POST", "/api/v1/network/reload?sure=1", &name, b"")),
            (reloads, "post", 403, stage.send("POST", reloads, &[], b"")),
            (reloads, "post", 422, stage.send("POST", reloads, &name, b"")),
            (drains, "put", 400, drain("PUT", "s1", "", &name)),
            (drains, "put", 400, drain("PUT", "s1", "?reason=%20", &name)),
            (drains, "put", 403, drain("PUT", "s1", "?reason=x", &[])),
            (drains, "put", 404, drain("PUT", "s2", "?reason=x", &name)),
            (drains, "delete", 403, drain("DELETE", "s1", "", &[])),
            (drains, "delete", 404, drain("DELETE", "s2", "", &name)),
            ("/api/v1/history", "get", 400, stage.get("/api/v1/history?after=x")),
            ("/api/v1/network", "get", 421, stage.send("GET", "/api/v1/network", &[("Host", "evil.example")], b"")),
            (
                "/api/v1/network",
                "get",
                403,
                stage.send("GET", "/api/v1/network", &[("Origin", "http://evil.example")], b""),
            ),
            (question, "post", 403, stage.send("POST", question, &[json_type[0], ("Origin", "null")], b"{}")),
        ] {
            reply.is_wrong(status);
            let documented = &document["paths"][path][method]["responses"][status.to_string()];
            let schema = &documented["content"]["application/json"]["schema"];
            check(&document, schema, &reply.json(), path).unwrap();
        }
        stage.get("/nothing").is_wrong(404);
        stage.send("PUT", "/api/v1/flows", &[], b"").is_wrong(405);
    });
}

#[test]
fn a_manager_that_has_not_begun_or_stands_by_says_so() {
    alone(|| {
        let stage = Stage::new();
        let paths = ["/api/v1/network", "/api/v1/flows", "/api/v1/alarms", "/api/v1/flows/x"];
        for path in paths {
            stage.get(path).is_wrong(503);
        }
        assert_eq!(stage.get("/").status, 200);
        stage.show(1);
        stage.await_metric("punctual_manages 1");
        assert_eq!(stage.get("/api/v1/network").status, 200);
        stage.publisher.lock().unwrap().stand_by();
        stage.await_metric("punctual_manages 0");
        for path in paths {
            let reply = stage.get(path);
            reply.is_wrong(503);
            assert!(reply.body.contains("stands by"), "{reply:?}");
        }
    });
}

#[test]
fn readings_history_and_drops_add_up() {
    alone(|| {
        let stage = Stage::shown();
        for seconds in 4..300 {
            stage.show(seconds);
            stage.publisher.lock().unwrap().say(Said { time: NOW + seconds * 1_000, ..dropped(2) });
        }
        stage.await_metric("how=\"dropped\"} 599");
        let flows = stage.get("/api/v1/flows").json();
        let flow = &flows["flows"][0];
        assert_eq!(flow["readings"].as_array().unwrap().len(), 60);
        let one = stage.get(&format!("/api/v1/flows/{}", id())).json();
        let readings = one["flow"]["readings"].as_array().unwrap();
        assert_eq!((readings.len(), readings[119]["samples"].as_u64()), (120, Some(29_900)));
        assert_eq!(one["history"].as_array().unwrap().len(), 297);
        let history = stage.get("/api/v1/history?after=290").json();
        assert_eq!((history["last"].as_u64(), history["entries"].as_array().unwrap().len()), (Some(297), 7));
        let alarms = stage.get("/api/v1/alarms").json().to_string();
        for subject in [
            "the disk is full",
            "ports of s1",
            "0x9 is refused",
            "frames dropped",
            "came later than the 5000 us",
        ] {
            assert!(alarms.contains(subject), "{subject}: {alarms}");
        }
        let drops = &stage.get("/api/v1/network").json()["drops"][0];
        assert_eq!((drops["frames"].as_u64(), drops["place"].as_str()), (Some(599), Some("the gates of s1")));
        let metrics = stage.get("/metrics").body;
        let late = "punctual_flow_late_total{topic=\"Picture \\\"</script><b>\\\\\\n\",from=\"camera\",to=\"display\"";
        assert!(metrics.contains(late), "{metrics}");
        for (from, undecided) in [("camera", 0), ("s1", 1)] {
            let is = |line: &str| {
                line.starts_with(&format!("punctual_link_undecided{{from=\"{from}\""))
                    && line.ends_with(&format!(" {undecided}"))
            };
            assert!(metrics.lines().any(is), "{from}: {metrics}");
        }
        for line in metrics.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok() && name.starts_with("punctual_"), "{line}");
        }
    });
}
