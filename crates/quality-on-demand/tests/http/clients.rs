//! What clients do that are generated from CAMARA's documents.
use serde_json::json;
use testkit::namespace::alone;
use testkit::patience::patiently;

use crate::domains::{TRANSIT, WEST};
use crate::stage::{Stage, wanted};

#[test]
fn a_session_is_opened_shown_extended_and_ended() {
    alone(|| {
        let stage = Stage::new("client", "");
        let asked = wanted("ALARMS", 600);
        let reply = stage.create(&asked);
        assert_eq!(
            (reply.status, reply.headers["content-type"].as_str()),
            (201, "application/json"),
            "{reply:?}"
        );
        let id = reply.session();
        let said = stage.becomes(&id, "AVAILABLE");
        for name in ["device", "applicationServer", "qosProfile", "duration"] {
            assert_eq!(said[name], asked[name], "{name}");
        }
        assert!(said.get("statusInfo").is_none() && said.get("sink").is_none());
        assert!(said["startedAt"].as_str() < said["expiresAt"].as_str(), "{said}");
        // It is reserved in each domain, and its bound is the one of the manager.
        assert_eq!(stage.domains.status(TRANSIT).aggregates[0].rate, 1_000_000);
        let bound = stage.get(&format!("{id}/bound")).json();
        let expected = json!([{"flow": 0, "domain": 65_003, "copy": 1, "path": [65_001, 65_002, 65_003], "kind": "every-packet", "delay": 7_400_000, "loss": 0, "rate": 1_000_000, "burst": 1_000, "dscp": 46}]);
        assert_eq!(bound["bounds"], expected, "{bound}");
        assert!(bound["caveat"].as_str().unwrap().contains("no device is set up"), "{bound}");
        // The same flow again is in conflict; another one is not.
        stage.create(&asked).is_error(409, "CONFLICT");
        let mut other = asked.clone();
        other["applicationServerPorts"] = json!({"ports": [7_411]});
        let second = stage.available(&other);
        let found = stage
            .ask("POST", "/quality-on-demand/v1/retrieve-sessions", Some(&json!({"device": asked["device"]})))
            .json();
        let mut ids: Vec<&str> =
            found.as_array().unwrap().iter().map(|session| session["sessionId"].as_str().unwrap()).collect();
        ids.sort_unstable();
        let mut both = [id.as_str(), second.as_str()];
        both.sort_unstable();
        assert_eq!(ids, both);
        let nobody = json!({"device": {"ipv6Address": "2001:db8::1"}});
        assert_eq!(
            stage.ask("POST", "/quality-on-demand/v1/retrieve-sessions", Some(&nobody)).json(),
            json!([])
        );
        // It lasts longer here and at the manager, to the hour that its profile allows.
        let name = stage.domains.status(WEST).sessions[0].session.clone();
        let ends = |name: &str| {
            stage.domains.status(WEST).sessions.iter().find(|session| session.session == name).unwrap().ends
        };
        let before = ends(&name);
        let reply = stage.extend(&id, 5_000);
        assert_eq!((reply.status, &reply.json()["duration"]), (200, &json!(3_600)), "{reply:?}");
        assert_eq!(ends(&name) - before, 3_000_000_000_000);
        // The path of what is being written works as that of what was released.
        assert_eq!(stage.ask("GET", &format!("/quality-on-demand/vwip/sessions/{second}"), None).status, 200);
        for id in [&id, &second] {
            let reply = stage.delete(id);
            assert_eq!((reply.status, reply.body.as_str()), (204, ""));
            stage.get(id).is_error(404, "NOT_FOUND");
        }
        assert!(stage.domains.status(WEST).sessions.is_empty());
        stage.domains.are_free();
    });
}

#[test]
fn a_session_expires_here_and_at_the_manager() {
    alone(|| {
        let stage = Stage::new("expires", "");
        let id = stage.create(&wanted("ALARMS", 1)).session();
        let said = stage.becomes(&id, "UNAVAILABLE");
        assert_eq!(
            (&said["statusInfo"], &said["duration"]),
            (&json!("DURATION_EXPIRED"), &json!(1)),
            "{said}"
        );
        patiently("an end at the manager", || stage.domains.status(WEST).sessions.is_empty().then_some(()));
        stage.extend(&id, 60).is_error(409, "QUALITY_ON_DEMAND.SESSION_EXTENSION_NOT_ALLOWED");
        // What has expired is in nobody's way.
        let again = stage.available(&wanted("ALARMS", 600));
        assert_eq!((stage.delete(&id).status, stage.delete(&again).status), (204, 204));
    });
}

#[test]
fn a_refusal_says_which_domain_refused_what_can_be_had_and_what_to_do() {
    alone(|| {
        let stage = Stage::new("refused", "");
        let held = stage.available(&wanted("ALARMS", 600));
        let mut pictures = wanted("PICTURES", 60);
        pictures["applicationServerPorts"] = json!({"ports": [7_500]});
        let reply = stage.create(&pictures);
        let said = reply.json();
        assert_eq!((reply.status, &said["qosStatus"]), (201, &json!("UNAVAILABLE")), "{reply:?}");
        assert_eq!(said["statusInfo"], json!("NETWORK_TERMINATED"));
        let id = reply.session();
        let bound = stage.get(&format!("{id}/bound")).json();
        let why = &bound["refused"];
        assert_eq!(
            (&why["domain"], &why["link"], &why["reason"]),
            (&json!(65_002), &json!(23), &json!("rate")),
            "{bound}"
        );
        assert_eq!((&why["missing"], &why["offer"]), (&json!(1_000_000), &json!(9_000_000)), "{bound}");
        assert!(why["remedy"].as_str().unwrap().contains("9000000 bit/s"), "{bound}");
        assert_eq!(bound["bounds"], json!([]));
        // It stays, and is in the way, until it is deleted.
        assert_eq!(stage.get(&id).json()["qosStatus"], json!("UNAVAILABLE"));
        stage.create(&pictures).is_error(409, "CONFLICT");
        assert_eq!(stage.delete(&held).status, 204);
        assert_eq!(stage.delete(&id).status, 204);
        stage.domains.are_free();
        let id = stage.available(&pictures);
        assert_eq!(stage.delete(&id).status, 204);
        // A device of another domain, and servers that none has.
        let mut foreign = wanted("ALARMS", 60);
        foreign["device"] =
            json!({"ipv4Address": {"publicAddress": "10.3.0.5", "privateAddress": "10.3.0.5"}});
        stage.create(&foreign).is_error(404, "IDENTIFIER_NOT_FOUND");
        let mut nowhere = wanted("ALARMS", 60);
        nowhere["applicationServer"] = json!({"ipAddresses": ["192.0.2.1"]});
        stage.create(&nowhere).is_error(422, "SERVICE_NOT_APPLICABLE");
        assert!(stage.domains.status(WEST).sessions.is_empty());
    });
}
