//! A manager that is killed, and a server that is.
use serde_json::json;
use testkit::namespace::alone;
use testkit::patience::patiently;
use wan_server::protocol::{Answer, Ask};

use crate::domains::WEST;
use crate::stage::{Stage, wanted};

#[test]
fn while_the_manager_is_away_nothing_begins_and_nothing_is_lost() {
    alone(|| {
        let mut stage = Stage::new("away", "");
        let id = stage.available(&wanted("ALARMS", 600));
        stage.domains.kill(WEST);
        let mut other = wanted("ALARMS", 600);
        other["applicationServerPorts"] = json!({"ports": [7_411]});
        stage.create(&other).is_error(503, "UNAVAILABLE");
        stage.delete(&id).is_error(503, "UNAVAILABLE");
        stage.extend(&id, 60).is_error(503, "UNAVAILABLE");
        assert_eq!(stage.get(&id).json()["qosStatus"], json!("AVAILABLE"), "what is reserved stays so");
        stage.domains.start(WEST);
        stage.domains.connected();
        assert_eq!(stage.domains.status(WEST).sessions.len(), 1);
        assert_eq!(stage.extend(&id, 60).json()["duration"], json!(660));
        let second = stage.available(&other);
        // The one that was killed is heard again: what it ends is seen.
        let name = stage.domains.status(WEST).sessions[0].session.clone();
        assert!(matches!(stage.domains.ask(WEST, &Ask::Stop { session: name }), Answer::Stopped { .. }));
        let said = stage.becomes(&id, "UNAVAILABLE");
        assert_eq!(said["statusInfo"], json!("NETWORK_TERMINATED"));
        // It was heard, or seen afterwards.
        let why = stage.get(&format!("{id}/bound")).json();
        assert!(why["refused"]["reason"] == json!("stopped") || why["note"].is_string(), "{why}");
        for id in [&id, &second] {
            assert_eq!(stage.delete(id).status, 204);
        }
        stage.domains.are_free();
    });
}

#[test]
fn a_server_that_is_killed_goes_on_with_its_sessions() {
    alone(|| {
        let mut stage = Stage::new("again", "");
        let id = stage.available(&wanted("ALARMS", 600));
        let mut other = wanted("ALARMS", 600);
        other["applicationServerPorts"] = json!({"ports": [7_411]});
        let ended = stage.available(&other);
        let before = stage.get(&id).json();
        let name =
            stage.domains.status(WEST).sessions.iter().map(|session| session.session.clone()).max().unwrap();
        stage.kill();
        // Meanwhile one of them ends.
        assert!(matches!(stage.domains.ask(WEST, &Ask::Stop { session: name }), Answer::Stopped { .. }));
        stage.start();
        assert_eq!(stage.get(&id).json(), before);
        assert_eq!(stage.becomes(&ended, "UNAVAILABLE")["statusInfo"], json!("NETWORK_TERMINATED"));
        assert!(stage.get(&format!("{ended}/bound")).json()["note"].as_str().is_some());
        assert_eq!((stage.delete(&id).status, stage.delete(&ended).status), (204, 204));
        patiently("an end at the manager", || stage.domains.status(WEST).sessions.is_empty().then_some(()));
        stage.domains.are_free();
    });
}
