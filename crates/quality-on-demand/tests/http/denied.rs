//! Who is let in, and what is refused before anything is asked of the manager.
use serde_json::{Value, json};
use testkit::namespace::alone;

use crate::domains::WEST;
use crate::stage::{SESSIONS, Stage, wanted};

const OTHERS: &str = "\n[[client]]\nname = \"others\"\nuser = \"ann\"\nmost-sessions = 2\n\
    token-sha256 = \"0b14d501a594442a01c6859541bcb3e8164d183d32937b851835442f69d5c94e\"\n";

#[test]
fn who_has_no_token_gets_nothing() {
    alone(|| {
        let stage = Stage::new("denied", OTHERS);
        let body = wanted("ALARMS", 60).to_string();
        let id = stage.available(&wanted("ALARMS", 60));
        let session = format!("{SESSIONS}/{id}");
        for authorization in [
            "",
            "Bearer",
            "Bearer x",
            "Basic robots-have-a-token-of-their-own",
            "robots-have-a-token-of-their-own",
        ] {
            let headers: Vec<(&str, &str)> =
                [("Authorization", authorization)].into_iter().filter(|(_, said)| !said.is_empty()).collect();
            for (method, path) in [
                ("POST", SESSIONS),
                ("GET", &session),
                ("DELETE", &session),
                ("GET", "/qos-profiles/v1/qos-profiles"),
                ("GET", "/nothing"),
            ] {
                let reply = stage.send(method, path, &headers, &body);
                reply.is_error(401, "UNAUTHENTICATED");
                assert_eq!(reply.headers["www-authenticate"], "Bearer");
            }
        }
        assert_eq!(stage.domains.status(WEST).sessions.len(), 1);
        // Another client's session is not this one's.
        let other = [("Authorization", "Bearer password1")];
        for (method, path) in
            [("GET", session.clone()), ("DELETE", session.clone()), ("GET", format!("{session}/bound"))]
        {
            stage.send(method, &path, &other, "").is_error(403, "PERMISSION_DENIED");
        }
        stage
            .send("POST", &format!("{session}/extend"), &other, "{\"requestedAdditionalDuration\":1}")
            .is_error(403, "PERMISSION_DENIED");
        // Pages of other sites, even with a token.
        let token = ("Authorization", "Bearer password1");
        stage
            .send("GET", &session, &[token, ("Origin", "https://evil.example")], "")
            .is_error(403, "PERMISSION_DENIED");
        stage
            .send("GET", &session, &[token, ("Sec-Fetch-Site", "cross-site")], "")
            .is_error(403, "PERMISSION_DENIED");
        // Correlators.
        let long = "a".repeat(257);
        for wrong in ["a b", "a\u{e9}", "a\"", long.as_str()] {
            let reply = stage.send("GET", &session, &[token, ("x-correlator", wrong)], "");
            reply.is_error(400, "INVALID_ARGUMENT");
            assert!(!reply.headers.contains_key("x-correlator"));
        }
        assert_eq!(stage.get(&id).status, 200);
    });
}

#[test]
fn what_is_not_as_specified_changes_nothing() {
    alone(|| {
        let stage = Stage::new("wrong", "");
        let with = |name: &str, value: Value| {
            let mut body = wanted("ALARMS", 60);
            body[name] = value;
            body
        };
        for (body, status, code) in [
            (json!({}), 400, "INVALID_ARGUMENT"),
            (with("unknown", json!(1)), 400, "INVALID_ARGUMENT"),
            (with("qosProfile", json!("NOTHING")), 400, "INVALID_ARGUMENT"),
            (with("qosProfile", json!("FORMER")), 422, "QUALITY_ON_DEMAND.QOS_PROFILE_NOT_APPLICABLE"),
            (with("duration", json!(3_601)), 400, "QUALITY_ON_DEMAND.DURATION_OUT_OF_RANGE"),
            (with("duration", json!(0)), 400, "OUT_OF_RANGE"),
            (with("device", json!({"phoneNumber": "+123456789"})), 422, "UNSUPPORTED_IDENTIFIER"),
            (with("sink", json!("https://application.example/")), 400, "INVALID_SINK"),
            (json!("x".repeat(70_000)), 400, "INVALID_ARGUMENT"),
        ] {
            stage.ask("POST", SESSIONS, Some(&body)).is_error(status, code);
        }
        let mut nameless = wanted("ALARMS", 60);
        nameless.as_object_mut().unwrap().remove("device");
        stage.create(&nameless).is_error(422, "MISSING_IDENTIFIER");
        stage.get("7").is_error(400, "INVALID_ARGUMENT");
        stage.get("3fa85f64-5717-4562-b3fc-2c963f66afa6").is_error(404, "NOT_FOUND");
        stage.delete("3fa85f64-5717-4562-b3fc-2c963f66afa6").is_error(404, "NOT_FOUND");
        stage.extend("3fa85f64-5717-4562-b3fc-2c963f66afa6", 1).is_error(404, "NOT_FOUND");
        stage.ask("GET", "/quality-on-demand/v1", None).is_error(404, "NOT_FOUND");
        stage.ask("PUT", SESSIONS, None).is_error(405, "METHOD_NOT_ALLOWED");
        assert!(stage.domains.status(WEST).sessions.is_empty());
        stage.domains.are_free();
        // As many sessions as the client may have.
        for port in 1..=20 {
            let body = with("applicationServerPorts", json!({"ports": [port]}));
            assert_eq!(stage.ask("POST", SESSIONS, Some(&body)).status, 201);
        }
        let body = with("applicationServerPorts", json!({"ports": [21]}));
        stage.ask("POST", SESSIONS, Some(&body)).is_error(429, "QUOTA_EXCEEDED");
    });
}
