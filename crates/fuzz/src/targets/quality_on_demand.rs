//! Bodies of clients of Quality-on-Demand, and files of its operators: each is refused with words, or what follows from it is within its limits.
use diagnostics::Source;
use quality_on_demand::{ServiceFile, Sessions, Uuid, body};

const FILE: &str = include_str!("../../../quality-on-demand/examples/qod.toml");

/// Valid bodies of each kind, and a file.
pub(super) fn seeds() -> Vec<Vec<u8>> {
    let bodies = [
        r#"{"device":{"ipv4Address":{"publicAddress":"10.1.0.5","publicPort":59765}},"applicationServer":{"ipv4Address":"10.3.1.7/30"},"qosProfile":"ALARMS","duration":60}"#,
        r#"{"device":{"ipv6Address":"2001:db8::5","phoneNumber":"+123456789"},"applicationServer":{"ipAddresses":["10.3.1.7","2001:db8::7"]},"qosProfile":"CONTROL","duration":60,
        "devicePorts":{"ports":[1,2]},"applicationServerPorts":{"ranges":[{"from":3,"to":4}]},"sink":"https://a.example:8443/b?c","sinkCredential":{"credentialType":"ACCESSTOKEN",
        "accessToken":"abc","accessTokenType":"bearer","accessTokenExpiresUtc":"2026-07-03T12:27:08.312Z"}}"#,
        r#"{"requestedAdditionalDuration":1800}"#,
        r#"{"device":{"ipv4Address":{"publicAddress":"203.0.113.9","privateAddress":"10.1.0.5"}}}"#,
        r#"{"name":"ALARMS","status":"ACTIVE","device":{"networkAccessIdentifier":"5@example.com"}}"#,
        FILE,
    ];
    bodies.map(|text| text.as_bytes().to_vec()).into()
}

/// A body of a request, or a file.
pub fn quality_on_demand_body(bytes: &[u8]) {
    let refused = [
        body::extend(bytes).err(),
        body::retrieve(bytes).err(),
        body::profiles(bytes).err(),
        body::create(bytes).err(),
    ];
    for problem in refused.into_iter().flatten() {
        assert!((400..500).contains(&problem.status), "{problem:?}");
        assert!(!problem.message.is_empty() && problem.message.chars().count() <= 512, "{problem:?}");
        assert!(!problem.message.chars().any(char::is_control), "{problem:?}");
    }
    if let Ok(asked) = body::create(bytes) {
        set_up(asked);
    }
    let text = String::from_utf8_lossy(bytes);
    if let Err(problem) = ServiceFile::read("file", &text) {
        assert!(!problem.what.is_empty(), "{problem}");
        assert!(Source { file: "file", text: &text }.show(&problem).contains('^'), "{problem}");
    }
}

/// Whatever is asked for, the manager is asked for something that makes sense, and a session is shown as it was asked for.
fn set_up(asked: body::CreateSession) {
    assert!((1..=2 * body::MOST_ADDRESSES).contains(&asked.servers.len()), "{asked:?}");
    let Ok(file) = ServiceFile::read("file", FILE) else { return };
    let (Some(client), Some(profile)) = (file.clients.first(), file.profile(&asked.qos_profile)) else {
        return;
    };
    let (mut sessions, id) = (Sessions::default(), Uuid::random(1));
    let (servers, sink) = (asked.application_server.clone(), asked.sink.clone());
    let Ok(question) = sessions.create(0, id, client, profile, asked) else {
        return assert_eq!(sessions.all().count(), 0);
    };
    assert!((1..=8).contains(&question.flows.len()) && !question.callees.is_empty(), "{question:?}");
    assert!(
        question.callees.iter().all(|callee| callee.is_ipv4() == question.caller.is_ipv4()),
        "{question:?}"
    );
    let kept = sessions.get(client, id).ok().map(|session| (&session.application_server, &session.sink));
    assert_eq!(kept, Some((&servers, &sink)), "what was asked for is there");
}
