//! Bodies: what is not as specified is refused with its place.
use quality_on_demand::body;
use serde_json::{Value, json};

pub(crate) fn good() -> Value {
    json!({
        "device": {"ipv4Address": {"publicAddress": "10.1.0.5", "publicPort": 59_765}},
        "applicationServer": {"ipv4Address": "10.3.1.7"},
        "qosProfile": "ALARMS",
        "duration": 60,
    })
}

fn with(path: &str, value: Value) -> Vec<u8> {
    let mut body = good();
    let (parent, name) = path.rsplit_once('/').unwrap();
    body.pointer_mut(parent).unwrap()[name] = value;
    body.to_string().into_bytes()
}

fn code(bytes: &[u8]) -> (u16, &'static str) {
    let problem = body::create(bytes).expect_err(&String::from_utf8_lossy(bytes));
    assert!(!problem.message.is_empty() && problem.message.chars().count() <= 512, "{problem:?}");
    (problem.status, problem.code)
}

const INVALID: (u16, &str) = (400, "INVALID_ARGUMENT");
const RANGE: (u16, &str) = (400, "OUT_OF_RANGE");

#[test]
fn what_is_as_specified_is_taken() {
    let asked = body::create(good().to_string().as_bytes()).unwrap();
    assert_eq!((asked.duration, asked.qos_profile.as_str()), (60, "ALARMS"));
    assert_eq!(asked.servers, ["10.3.1.7".parse::<std::net::IpAddr>().unwrap()]);
    let (address, shown) = asked.device.unwrap().address().unwrap();
    assert_eq!(address.to_string(), "10.1.0.5");
    assert_eq!(serde_json::to_value(shown).unwrap(), good()["device"]);
    for (path, value) in [
        ("/applicationServer", json!({"ipAddresses": ["10.3.1.7", "2001:db8::7"]})),
        ("/applicationServer", json!({"ipv4Address": "10.3.1.7/32", "ipv6Address": "2001:db8::/124"})),
        ("/applicationServer", json!({"ipv4Address": "10.3.1.7/28"})),
        ("/devicePorts", json!({"ports": [1, 65_535], "ranges": [{"from": 5_010, "to": 5_020}]})),
        ("/applicationServerPorts", json!({"ports": [7_400]})),
        ("/duration", json!(2_147_483_647)),
        ("/sink", json!("https://application.example/notifications")),
        ("/device", json!({"ipv6Address": "2001:db8::5", "phoneNumber": "+123456789"})),
        ("/device", json!({"networkAccessIdentifier": "5@example.com"})),
    ] {
        let bytes = with(path, value);
        assert!(body::create(&bytes).is_ok(), "{}", String::from_utf8_lossy(&bytes));
    }
    let both = with(
        "/device",
        json!({"phoneNumber": "+123456789", "ipv4Address": {"publicAddress": "203.0.113.9", "privateAddress": "10.1.0.6"}}),
    );
    let (address, shown) = body::create(&both).unwrap().device.unwrap().address().unwrap();
    // The private one is what packets have inside, and one identifier is shown.
    assert_eq!((address.to_string().as_str(), shown.phone_number), ("10.1.0.6", None));
    let range = body::create(&with("/applicationServer", json!({"ipv4Address": "10.3.1.7/30"}))).unwrap();
    let all: Vec<String> = range.servers.iter().map(ToString::to_string).collect();
    assert_eq!(all, ["10.3.1.4", "10.3.1.5", "10.3.1.6", "10.3.1.7"]);
    assert_eq!(body::extend(br#"{"requestedAdditionalDuration": 30}"#), Ok(30));
    assert_eq!(body::retrieve(b" {}"), Ok(None));
}

#[test]
fn what_is_not_is_refused_with_the_words_of_camara() {
    for bytes in
        [&b""[..], b" ", b"{}", b"[]", b"7", b"{", b"null", b"\xff", b"{\"duration\": 60}", &[b'['; 4_096]]
    {
        assert_eq!(code(bytes), INVALID);
    }
    let twice = good().to_string().replace("\"duration\":60", "\"duration\":60,\"duration\":61");
    assert_eq!(code(twice.as_bytes()), INVALID);
    let long = with("/qosProfile", json!("A".repeat(body::LONGEST)));
    assert_eq!(code(&long), INVALID);
    for (path, value, expected) in [
        ("/unknown", json!(1), INVALID),
        ("/device/unknown", json!(1), INVALID),
        ("/device/ipv4Address/unknown", json!(1), INVALID),
        ("/applicationServer/unknown", json!(1), INVALID),
        ("/device", json!({}), INVALID),
        ("/device", json!(null), INVALID),
        ("/device", json!([]), INVALID),
        ("/device", json!({"phoneNumber": "123456789"}), INVALID),
        ("/device", json!({"phoneNumber": "+0123456"}), INVALID),
        ("/device", json!({"phoneNumber": "+1234567890123456"}), INVALID),
        ("/device", json!({"ipv4Address": {"publicAddress": "10.1.0.5"}}), INVALID),
        ("/device", json!({"ipv4Address": {"publicAddress": "10.1.0.256", "publicPort": 1}}), INVALID),
        ("/device", json!({"ipv4Address": {"publicAddress": "10.1.0.5/24", "publicPort": 1}}), INVALID),
        ("/device", json!({"ipv4Address": {"publicPort": 1}}), INVALID),
        ("/device/ipv4Address/publicPort", json!(0), RANGE),
        ("/device/ipv4Address/publicPort", json!(65_536), RANGE),
        ("/device/ipv4Address/publicPort", json!(-1), INVALID),
        ("/device", json!({"ipv6Address": "2001:db8::/64"}), INVALID),
        ("/applicationServer", json!({}), INVALID),
        ("/applicationServer", json!({"ipAddresses": []}), INVALID),
        ("/applicationServer", json!({"ipAddresses": ["10.3.1.7", "10.3.1.7"]}), INVALID),
        ("/applicationServer", json!({"ipAddresses": ["10.3.1.7/32"]}), INVALID),
        ("/applicationServer", json!({"ipAddresses": ["10.3.1.7"], "ipv4Address": "10.3.1.7"}), INVALID),
        ("/applicationServer/ipv4Address", json!("10.3.1.7/33"), INVALID),
        ("/applicationServer/ipv4Address", json!("10.3.1.7/"), INVALID),
        ("/applicationServer/ipv4Address", json!("10.3.1.7/+8"), INVALID),
        ("/applicationServer/ipv4Address", json!("2001:db8::7"), INVALID),
        ("/applicationServer/ipv6Address", json!("10.3.1.7"), INVALID),
        ("/applicationServer/ipv4Address", json!("10.3.0.0/27"), (422, "SERVICE_NOT_APPLICABLE")),
        ("/applicationServer/ipv4Address", json!("0.0.0.0/0"), (422, "SERVICE_NOT_APPLICABLE")),
        ("/applicationServer", json!({"ipv6Address": "::/0"}), (422, "SERVICE_NOT_APPLICABLE")),
        ("/devicePorts", json!({}), INVALID),
        ("/devicePorts", json!({"ports": []}), INVALID),
        ("/devicePorts", json!({"ports": [0]}), RANGE),
        ("/devicePorts", json!({"ports": [65_536]}), RANGE),
        ("/devicePorts", json!({"ranges": [{"from": 2, "to": 1}]}), RANGE),
        ("/devicePorts", json!({"ranges": [{"from": 2}]}), INVALID),
        ("/qosProfile", json!("A"), INVALID),
        ("/qosProfile", json!("A B"), INVALID),
        ("/qosProfile", json!({}), INVALID),
        ("/duration", json!(0), RANGE),
        ("/duration", json!(2_147_483_648_u64), RANGE),
        ("/duration", json!(1.5), INVALID),
        ("/duration", json!("60"), INVALID),
        ("/sink", json!("http://application.example/"), (400, "INVALID_SINK")),
        ("/sink", json!("https://user@application.example/"), (400, "INVALID_SINK")),
        ("/sink", json!(format!("https://application.example/{}", "a".repeat(2_048))), (400, "INVALID_SINK")),
    ] {
        assert_eq!(code(&with(path, value.clone())), expected, "{path} {value}");
    }
    let many: Vec<String> = (0..17).map(|last| format!("10.3.1.{last}")).collect();
    assert_eq!(code(&with("/applicationServer", json!({"ipAddresses": many}))), INVALID);
    for (bytes, expected) in [
        (&br#"{"requestedAdditionalDuration": 0}"#[..], "OUT_OF_RANGE"),
        (br#"{"requestedAdditionalDuration": "1"}"#, "INVALID_ARGUMENT"),
        (br#"{"requestedAdditionalDuration": 1, "more": 1}"#, "INVALID_ARGUMENT"),
        (b"{}", "INVALID_ARGUMENT"),
        (b"", "INVALID_ARGUMENT"),
    ] {
        assert_eq!(body::extend(bytes).unwrap_err().code, expected);
    }
    assert_eq!(body::retrieve(b"").unwrap_err().code, "INVALID_ARGUMENT");
    assert_eq!(body::retrieve(br#"{"device": {}}"#).unwrap_err().code, "INVALID_ARGUMENT");
    assert_eq!(body::profiles(br#"{"status": "OLD"}"#).unwrap_err().code, "INVALID_ARGUMENT");
}

#[test]
fn credentials_of_sinks_are_bearer_tokens() {
    let credential = |change: &dyn Fn(&mut Value)| {
        let mut credential = json!({"credentialType": "ACCESSTOKEN", "accessToken": "abc", "accessTokenType": "bearer",
            "accessTokenExpiresUtc": "2026-07-03T12:27:08.312Z"});
        change(&mut credential);
        let mut body = good();
        body["sink"] = json!("https://application.example/");
        body["sinkCredential"] = credential;
        body.to_string().into_bytes()
    };
    let token = body::create(&credential(&|_| {})).unwrap().token.unwrap();
    assert_eq!((token.token.as_str(), token.expires), ("abc", 1_783_081_628_312));
    type Change = fn(&mut Value);
    let cases: [(Change, (u16, &str)); 9] = [
        (|it| it["credentialType"] = json!("PLAIN"), INVALID),
        (|it| it["credentialType"] = json!("PRIVATE_KEY_JWT"), (422, "PRIVATE_KEY_JWT_NOT_CONFIGURED")),
        (|it| it["accessTokenType"] = json!("mac"), (400, "INVALID_TOKEN")),
        (|it| it["accessTokenExpiresUtc"] = json!("2026-07-03 12:27"), INVALID),
        (|it| it["accessTokenExpiresUtc"] = json!("2026-07-03T12:27:08"), INVALID),
        (|it| it["accessToken"] = json!("a\r\nHost: b"), INVALID),
        (|it| it["accessToken"] = json!(""), INVALID),
        (|it| it["clientId"] = json!("a"), INVALID),
        (|it| drop(it.as_object_mut().unwrap().remove("accessToken")), INVALID),
    ];
    for (change, expected) in cases {
        assert_eq!(code(&credential(&change)), expected);
    }
    let mut alone = good();
    alone["sinkCredential"] = json!({"credentialType": "ACCESSTOKEN"});
    assert_eq!(code(alone.to_string().as_bytes()), INVALID);
}
