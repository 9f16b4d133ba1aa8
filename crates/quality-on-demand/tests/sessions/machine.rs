//! Sessions from their beginning to their end, one step after the other.
use quality_on_demand::body::CreateSession;
use quality_on_demand::{Act, Answered, Client, Problem, Session, Sessions, State, Uuid, bounds, info};
use serde_json::{Value, json};
use wan_server::protocol::{Admitted, Bound, BoundKind, Refused, SessionAsked, SessionStatus};

use crate::bodies::good;
use crate::files::file;

/// A moment, in milliseconds since 1970.
pub(crate) const NOW: u64 = 1_800_000_000_000;
const URL: &str = "https://api.example.net";

pub(crate) fn asked(change: impl FnOnce(&mut Value)) -> CreateSession {
    let mut body = good();
    body["sink"] = json!("https://application.example/events");
    change(&mut body);
    quality_on_demand::body::create(body.to_string().as_bytes()).unwrap()
}

pub(crate) fn admitted(name: &str, ends: u64) -> Admitted {
    let bound = Bound {
        flow: 0,
        to: 65_003,
        copy: 1,
        path: vec![65_001, 65_003],
        kind: BoundKind::EveryPacket,
        delay: 7_400_000,
        loss: 0,
        price: Some(0),
        rate: 1_000_000,
        bucket: 1_000,
        dscp: 46,
    };
    let caveat = Some("as declared".to_owned());
    Admitted { session: name.to_owned(), peers: vec![65_003], bounds: vec![bound], ends, caveat }
}

pub(crate) fn refused(reason: &str) -> Refused {
    Refused {
        asn: 65_002,
        link: Some(23),
        reason: reason.to_owned(),
        missing: Some(1_000_000),
        offer: Some(9_000_000),
        unit: Some("bit/s".to_owned()),
        other: None,
        text: format!("AS 65002, link 23: {reason}"),
    }
}

pub(crate) fn held(name: &str, asked: &SessionAsked, ends: u64) -> SessionStatus {
    SessionStatus {
        session: name.to_owned(),
        user: asked.user.clone(),
        caller: asked.caller,
        callees: asked.callees.clone(),
        rates: asked.flows.iter().map(|flow| flow.rate).collect(),
        flows: asked.flows.clone(),
        bounds: Vec::new(),
        measured: Vec::new(),
        since: None,
        ends,
    }
}

pub(crate) struct Stage {
    pub(crate) sessions: Sessions,
    pub(crate) client: Client,
    ids: u128,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let client = file().clients[0].clone();
        Self { sessions: Sessions::new(URL.to_owned(), [], NOW), client, ids: 0 }
    }

    pub(crate) fn create(&mut self, asked: CreateSession) -> Result<(Uuid, SessionAsked), Problem> {
        self.ids += 1;
        let (id, file) = (Uuid::random(self.ids), file());
        let profile = file.profile(&asked.qos_profile).unwrap();
        let question = self.sessions.create(NOW, id, &self.client, profile, asked)?;
        Ok((id, question))
    }

    /// A session that is there, for a minute from now on.
    fn available(&mut self) -> (Uuid, SessionAsked) {
        let (id, question) = self.create(asked(|_| {})).unwrap();
        let name = format!("65001-{}", self.ids);
        self.sessions
            .answered(NOW, id, Answered::Admitted(admitted(&name, (NOW + 70_000) * 1_000_000)))
            .unwrap();
        self.sessions.told(&self.client, id).unwrap();
        assert_eq!(self.events(), [("AVAILABLE".to_owned(), None)]);
        (id, question)
    }

    pub(crate) fn info(&self, id: Uuid) -> Value {
        serde_json::to_value(info(self.sessions.get(&self.client, id).unwrap())).unwrap()
    }

    pub(crate) fn code(&self, id: Uuid) -> u16 {
        self.sessions.get(&self.client, id).map_or_else(|problem| problem.status, |_| 200)
    }

    /// Status and reason of each notification since.
    pub(crate) fn events(&mut self) -> Vec<(String, Option<String>)> {
        let acts = self.sessions.take_acts();
        let notices = acts.into_iter().filter_map(|act| match act {
            Act::Notify(notice) => Some(serde_json::from_str::<Value>(&notice.body).unwrap()),
            Act::Stop(..) => None,
        });
        let text = |value: &Value| value.as_str().map(str::to_owned);
        notices
            .map(|event| (text(&event["data"]["qosStatus"]).unwrap(), text(&event["data"]["statusInfo"])))
            .collect()
    }
}

pub(crate) fn unavailable(why: &str) -> Vec<(String, Option<String>)> {
    vec![("UNAVAILABLE".to_owned(), Some(why.to_owned()))]
}

#[test]
fn a_session_begins_is_extended_and_expires() {
    let mut stage = Stage::new();
    let (id, question) = stage.create(asked(|_| {})).unwrap();
    assert_eq!(
        (question.user.as_str(), question.service.as_str(), question.flows.len()),
        ("ann", "alarms", 1)
    );
    assert_eq!(question.lasts, 70_000_000_000, "somewhat longer than promised");
    let shown = stage.info(id);
    assert_eq!((&shown["qosStatus"], &shown["duration"]), (&json!("REQUESTED"), &json!(60)));
    assert!(
        shown.get("startedAt").is_none()
            && shown.get("expiresAt").is_none()
            && shown.get("statusInfo").is_none()
    );
    let ends = NOW * 1_000_000 + question.lasts;
    stage.sessions.answered(NOW, id, Answered::Admitted(admitted("65001-7", ends))).unwrap();
    let shown = stage.info(id);
    assert_eq!(shown["qosStatus"], json!("AVAILABLE"));
    assert_eq!(
        (&shown["startedAt"], &shown["expiresAt"]),
        (&json!("2027-01-15T08:00:00Z"), &json!("2027-01-15T08:01:00Z"))
    );
    assert_eq!(
        (&shown["device"], &shown["applicationServer"]),
        (&good()["device"], &good()["applicationServer"])
    );
    let bound = serde_json::to_value(bounds(stage.sessions.get(&stage.client, id).unwrap())).unwrap();
    assert_eq!(
        (&bound["bounds"][0]["delay"], &bound["bounds"][0]["domain"]),
        (&json!(7_400_000), &json!(65_003))
    );
    assert_eq!(bound["caveat"], json!("as declared"));
    // The event, whole.
    let acts = stage.sessions.take_acts();
    let [Act::Notify(notice)] = &acts[..] else { panic!("{acts:?}") };
    let event: Value = serde_json::from_str(&notice.body).unwrap();
    let expected = json!({
        "id": format!("{id}-1"), "source": format!("{URL}/quality-on-demand/v1/sessions/{id}"), "specversion": "1.0",
        "type": "org.camaraproject.quality-on-demand.v1.qos-status-changed", "time": "2027-01-15T08:00:00Z",
        "datacontenttype": "application/json", "data": {"sessionId": id, "qosStatus": "AVAILABLE"},
    });
    assert_eq!(event, expected);
    // By half an hour, and then to the hour that the profile allows.
    for (more, by, duration) in [(1_800, 1_800, 1_860), (3_000, 1_740, 3_600)] {
        let (name, asked) = stage.sessions.extend(&stage.client, id, more).unwrap().unwrap();
        assert_eq!((name.as_str(), asked), ("65001-7", by * 1_000_000_000));
        stage.sessions.extended(id, asked);
        assert_eq!(stage.info(id)["duration"], json!(duration));
    }
    assert_eq!(stage.info(id)["expiresAt"], json!("2027-01-15T09:00:00Z"));
    assert_eq!(stage.sessions.extend(&stage.client, id, 1), Ok(None));
    stage.sessions.tick(NOW + 3_599_999);
    assert_eq!(stage.info(id)["qosStatus"], json!("AVAILABLE"));
    stage.sessions.tick(NOW + 3_600_400);
    let shown = stage.info(id);
    assert_eq!(
        (&shown["qosStatus"], &shown["statusInfo"]),
        (&json!("UNAVAILABLE"), &json!("DURATION_EXPIRED"))
    );
    assert_eq!((&shown["duration"], &shown["expiresAt"]), (&json!(3_600), &json!("2027-01-15T09:00:00Z")));
    let acts = stage.sessions.take_acts();
    assert!(
        matches!(&acts[..], [Act::Stop(of, name), Act::Notify(_)] if *of == id && name == "65001-7"),
        "{acts:?}"
    );
    stage.sessions.stopped(id);
    assert_eq!(stage.sessions.extend(&stage.client, id, 1).unwrap_err().status, 409);
    stage.sessions.tick(NOW + 3_600_000 + 359_999);
    assert_eq!(stage.code(id), 200);
    stage.sessions.tick(NOW + 3_600_000 + 360_000);
    assert_eq!((stage.code(id), stage.sessions.all().count()), (404, 0));
}

#[test]
fn a_refusal_is_a_session_that_says_who_refused_or_an_error() {
    let mut stage = Stage::new();
    let (id, _) = stage.create(asked(|_| {})).unwrap();
    stage.sessions.answered(NOW, id, Answered::Refused(refused("rate"))).unwrap();
    stage.sessions.told(&stage.client, id).unwrap();
    let shown = stage.info(id);
    assert_eq!(
        (&shown["qosStatus"], &shown["statusInfo"]),
        (&json!("UNAVAILABLE"), &json!("NETWORK_TERMINATED"))
    );
    let bound = serde_json::to_value(bounds(stage.sessions.get(&stage.client, id).unwrap())).unwrap();
    let why = &bound["refused"];
    assert_eq!(
        (&why["domain"], &why["link"], &why["offer"]),
        (&json!(65_002), &json!(23), &json!(9_000_000))
    );
    assert!(why["remedy"].as_str().unwrap().contains("9000000 bit/s"), "{why}");
    assert_eq!(
        (bound["bounds"].as_array().map(Vec::len), stage.events().len()),
        (Some(0), 0),
        "the answer has said so"
    );
    // It is in the way of another one until it is deleted.
    let again = stage.create(asked(|_| {})).unwrap_err();
    assert_eq!((again.status, again.code), (409, "CONFLICT"));
    assert_eq!(stage.sessions.delete(&stage.client, id), Ok(None));
    for (reason, status, code) in [
        ("foreign-source", 404, "IDENTIFIER_NOT_FOUND"),
        ("contract-expired", 403, "PERMISSION_DENIED"),
        ("unknown-destination", 422, "SERVICE_NOT_APPLICABLE"),
        ("unknown-service", 422, "QUALITY_ON_DEMAND.QOS_PROFILE_NOT_APPLICABLE"),
        ("busy", 503, "UNAVAILABLE"),
    ] {
        let (id, _) = stage.create(asked(|_| {})).unwrap();
        let problem = stage.sessions.answered(NOW, id, Answered::Refused(refused(reason))).unwrap_err();
        assert_eq!((problem.status, problem.code), (status, code), "{reason}");
        assert_eq!(stage.code(id), 404);
    }
    let (id, _) = stage.create(asked(|_| {})).unwrap();
    let problem = stage.sessions.answered(NOW, id, Answered::NotAsked).unwrap_err();
    assert_eq!((problem.status, stage.sessions.all().count()), (503, 0));
}

#[test]
fn who_asks_for_what_cannot_be_is_told_so_before_the_manager_is_asked() {
    let mut stage = Stage::new();
    for (change, status, code) in [
        (json!({"device": null}), 422, "MISSING_IDENTIFIER"),
        (json!({"device": {"phoneNumber": "+123456789"}}), 422, "UNSUPPORTED_IDENTIFIER"),
        (json!({"qosProfile": "FORMER"}), 422, "QUALITY_ON_DEMAND.QOS_PROFILE_NOT_APPLICABLE"),
        (json!({"duration": 3_601}), 400, "QUALITY_ON_DEMAND.DURATION_OUT_OF_RANGE"),
        (json!({"qosProfile": "PICTURES", "duration": 9}), 400, "QUALITY_ON_DEMAND.DURATION_OUT_OF_RANGE"),
        (
            json!({"devicePorts": {"ranges": [{"from": 1, "to": 9}]}}),
            422,
            "QUALITY_ON_DEMAND.QOS_PROFILE_NOT_APPLICABLE",
        ),
        (
            json!({"devicePorts": {"ranges": [{"from": 1, "to": 65_535}]}}),
            422,
            "QUALITY_ON_DEMAND.QOS_PROFILE_NOT_APPLICABLE",
        ),
        (json!({"applicationServer": {"ipv6Address": "2001:db8::7"}}), 422, "SERVICE_NOT_APPLICABLE"),
    ] {
        let asked = asked(|body| {
            for (name, value) in change.as_object().unwrap() {
                match value {
                    Value::Null => drop(body.as_object_mut().unwrap().remove(name)),
                    value => body[name] = value.clone(),
                }
            }
        });
        let problem = stage.create(asked).expect_err(code);
        assert_eq!((problem.status, problem.code), (status, code), "{change}");
    }
    assert_eq!(stage.sessions.all().count(), 0);
    // A client that is a device names none.
    stage.client.device = Some("10.1.0.9".parse().unwrap());
    assert_eq!(stage.create(asked(|_| {})).unwrap_err().code, "UNNECESSARY_IDENTIFIER");
    let (id, question) =
        stage.create(asked(|body| drop(body.as_object_mut().unwrap().remove("device")))).unwrap();
    assert_eq!(question.caller.to_string(), "10.1.0.9");
    assert!(stage.info(id).get("device").is_none());
    assert_eq!(stage.sessions.of_device(&stage.client, None).unwrap().len(), 1);
}

#[test]
fn each_pair_of_ports_is_a_flow_and_only_flows_that_meet_are_in_conflict() {
    let mut stage = Stage::new();
    let ports = |device: Value, server: Value| {
        asked(|body| {
            body["qosProfile"] = json!("CONTROL");
            body["devicePorts"] = json!({"ports": device});
            body["applicationServerPorts"] = json!({"ports": server});
        })
    };
    let (_, question) = stage.create(ports(json!([1, 2]), json!([3, 4]))).unwrap();
    let mut all: Vec<_> = question
        .flows
        .iter()
        .map(|flow| (flow.direction.as_str(), flow.source_port, flow.destination_port))
        .collect();
    all.sort_unstable();
    let forward = [(1, 3), (1, 4), (2, 3), (2, 4)].map(|(from, to)| ("forward", from, to));
    let reverse = [(3, 1), (3, 2), (4, 1), (4, 2)].map(|(from, to)| ("reverse", from, to));
    assert_eq!(all, [forward, reverse].concat());
    assert!(question.flows.iter().all(|flow| flow.rate == 100_000), "each may send all of it");
    assert_eq!(stage.create(ports(json!([2]), json!([4]))).unwrap_err().code, "CONFLICT");
    assert!(stage.create(ports(json!([5]), json!([4]))).is_ok());
    let elsewhere = asked(|body| body["applicationServer"] = json!({"ipv4Address": "10.3.1.8"}));
    assert!(stage.create(elsewhere).is_ok());
    assert!(
        stage
            .create(asked(|body| body["device"]["ipv4Address"]["publicAddress"] = json!("10.1.0.6")))
            .is_ok()
    );
    // The next client has sessions of its own, and does not see these.
    let id = stage.sessions.all().next().unwrap().id;
    stage.client = Client { name: "other".to_owned(), most_sessions: 1, ..stage.client };
    assert_eq!(stage.code(id), 403);
    assert_eq!(stage.sessions.delete(&stage.client, id).unwrap_err().status, 403);
    assert!(stage.create(ports(json!([2]), json!([4]))).is_ok());
    assert_eq!(stage.create(ports(json!([9]), json!([4]))).unwrap_err().code, "QUOTA_EXCEEDED");
}

#[test]
fn a_session_is_deleted_when_the_manager_has_ended_it_and_not_before() {
    let mut stage = Stage::new();
    let (id, _) = stage.available();
    let name = stage.sessions.delete(&stage.client, id).unwrap().unwrap();
    assert_eq!(stage.sessions.delete(&stage.client, id).unwrap_err().status, 409);
    // The manager cannot be asked: the session is as it was.
    stage.sessions.not_deleted(NOW, id);
    assert_eq!((stage.info(id)["qosStatus"].clone(), stage.events().len()), (json!("AVAILABLE"), 0));
    stage.sessions.delete(&stage.client, id).unwrap();
    // The manager tells of the end before it answers.
    stage.sessions.ended(NOW, &name, refused("stopped"));
    stage.sessions.deleted(NOW, id);
    assert_eq!(stage.events(), unavailable("DELETE_REQUESTED"));
    assert_eq!(stage.code(id), 404);
    // One that is under way is ended when it is there.
    let (id, _) = stage.create(asked(|_| {})).unwrap();
    assert_eq!(stage.sessions.delete(&stage.client, id), Ok(None));
    assert_eq!(stage.code(id), 404);
    stage.sessions.answered(NOW, id, Answered::Admitted(admitted("65001-9", 0))).unwrap();
    assert_eq!(stage.sessions.take_acts(), [Act::Stop(id, "65001-9".to_owned())]);
    stage.sessions.stopped(id);
    assert_eq!(stage.sessions.all().count(), 0);
}

#[test]
fn what_the_network_ends_is_told_with_its_reason() {
    let mut stage = Stage::new();
    let (id, _) = stage.available();
    stage.sessions.ended(NOW + 5_000, "65001-1", refused("link-down"));
    assert_eq!(stage.events(), unavailable("NETWORK_TERMINATED"));
    let shown = stage.info(id);
    assert_eq!((&shown["duration"], &shown["expiresAt"]), (&json!(5), &json!("2027-01-15T08:00:05Z")));
    let bound = serde_json::to_value(bounds(stage.sessions.get(&stage.client, id).unwrap())).unwrap();
    assert_eq!(
        (&bound["refused"]["reason"], bound["bounds"].as_array().map(Vec::len)),
        (&json!("link-down"), Some(0))
    );
    stage.sessions.delete(&stage.client, id).unwrap();
    // An end that was missed is seen when all are looked at, but not where the session is younger than what was looked at.
    let mark = stage.sessions.mark();
    let (id, question) = stage.available();
    stage.sessions.compare(NOW, mark, &[]);
    assert_eq!(stage.info(id)["qosStatus"], json!("AVAILABLE"));
    let mark = stage.sessions.mark();
    stage.sessions.compare(NOW, mark, &[held("65001-2", &question, 0)]);
    assert_eq!(stage.info(id)["qosStatus"], json!("AVAILABLE"));
    stage.sessions.compare(NOW, mark, &[held("65001-3", &question, 0)]);
    assert_eq!(stage.events(), unavailable("NETWORK_TERMINATED"));
}

#[test]
fn a_session_whose_admission_was_lost_is_found_and_ended() {
    let mut stage = Stage::new();
    let (id, question) = stage.create(asked(|_| {})).unwrap();
    let problem = stage.sessions.answered(NOW + 3_000, id, Answered::Lost).unwrap_err();
    assert_eq!((problem.status, stage.code(id)), (503, 404));
    assert!(stage.sessions.looks_for_sessions());
    let ends = NOW * 1_000_000 + question.lasts;
    let mut other = held("65001-5", &question, ends);
    other.user = "bob".to_owned();
    let by_hand = held("65001-6", &question, ends - 600_000_000_000);
    let mark = stage.sessions.mark();
    stage.sessions.compare(NOW, mark, &[other.clone(), by_hand.clone()]);
    assert_eq!(stage.sessions.take_acts(), [], "sessions of others stay");
    stage.sessions.compare(NOW, mark, &[other, by_hand, held("65001-7", &question, ends + 2_000_000_000)]);
    assert_eq!(stage.sessions.take_acts().first(), Some(&Act::Stop(id, "65001-7".to_owned())));
    stage.sessions.stopped(id);
    assert!(stage.sessions.all().count() == 0 && !stage.sessions.looks_for_sessions());
    // One that its client knows of is told.
    let (id, _) = stage.create(asked(|_| {})).unwrap();
    stage.sessions.told(&stage.client, id).unwrap();
    stage.sessions.answered(NOW, id, Answered::Lost).unwrap();
    assert_eq!(stage.events(), unavailable("NETWORK_TERMINATED"));
    assert_eq!(stage.info(id)["statusInfo"], json!("NETWORK_TERMINATED"));
    // Nothing was found for a minute: there is none.
    stage.sessions.tick(NOW + 59_999);
    assert!(stage.sessions.looks_for_sessions());
    stage.sessions.tick(NOW + 60_000);
    assert!(!stage.sessions.looks_for_sessions());
}

#[test]
fn a_server_that_begins_again_goes_on_with_what_was_stored() {
    let mut stage = Stage::new();
    let (there, _) = stage.available();
    let other = |body: &mut Value| body["applicationServer"] = json!({"ipv4Address": "10.3.1.9"});
    let (open, question) = stage.create(asked(other)).unwrap();
    let stored: Vec<Session> =
        stage.sessions.take_changes().into_iter().filter_map(|(_, session)| session).collect();
    let text = serde_json::to_vec(&stored).unwrap();
    let again: Vec<Session> = serde_json::from_slice(&text).unwrap();
    assert_eq!(again, stored);
    stage.sessions = Sessions::new(URL.to_owned(), again, NOW + 1_000);
    assert_eq!((stage.info(there)["qosStatus"].clone(), stage.code(open)), (json!("AVAILABLE"), 404));
    let mark = stage.sessions.mark();
    let all = [held("65001-1", &question, 0), held("65001-2", &question, NOW * 1_000_000 + question.lasts)];
    stage.sessions.compare(NOW, mark, &all);
    assert_eq!(stage.sessions.take_acts().first(), Some(&Act::Stop(open, "65001-2".to_owned())));
    let states: Vec<State> =
        stage.sessions.all().filter(|session| !session.hidden).map(|session| session.state).collect();
    assert!(matches!(states[..], [State::Available { .. }]), "{states:?}");
}
