//! Notifications: where they go, what they say, and where they never go.
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use axum::Router;
use axum::body::{Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use keys::Authority;
use serde_json::{Value, json};
use testkit::namespace::alone;
use testkit::patience::patiently;

use crate::stage::{Stage, wanted};

/// Path, `Authorization`, media type and body of a request to a sink.
type Heard = (String, String, String, String);

#[derive(Clone)]
struct Sink {
    heard: Sender<Heard>,
    /// The first so many are turned away.
    refusals: Arc<std::sync::atomic::AtomicUsize>,
}

async fn take(State(sink): State<Sink>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body: Bytes = to_bytes(body, 65_536).await.unwrap();
    let said = |name| head.headers.get(name).map_or("", |value| value.to_str().unwrap()).to_owned();
    let path = head.uri.path().to_owned();
    let text = String::from_utf8(body.to_vec()).unwrap();
    sink.heard.send((path.clone(), said(header::AUTHORIZATION), said(header::CONTENT_TYPE), text)).unwrap();
    let left = sink.refusals.load(std::sync::atomic::Ordering::Relaxed);
    match path.as_str() {
        "/elsewhere" => (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, "/followed")]).into_response(),
        _ if left > 0 => {
            sink.refusals.store(left - 1, std::sync::atomic::Ordering::Relaxed);
            StatusCode::SERVICE_UNAVAILABLE.into_response()
        }
        _ => StatusCode::NO_CONTENT.into_response(),
    }
}

/// A server of HTTPS at a port of this host, with a certificate for `localhost`.
fn sink(stage: &Stage, port: u16, refusals: usize) -> Receiver<Heard> {
    let keys = stage.domains.path("keys");
    Authority::open(&keys).unwrap().issue_host("localhost", 365).unwrap();
    let certificate =
        page_server::certified(&keys.join("localhost.pem"), &keys.join("localhost.key")).unwrap();
    let tls = Arc::new(page_server::open_tls(certificate).unwrap());
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    listener.set_nonblocking(true).unwrap();
    let (heard, told) = channel();
    let router = Router::new().fallback(take).with_state(Sink { heard, refusals: Arc::new(refusals.into()) });
    std::thread::spawn(move || {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let (accepted, arrivals) = tokio::sync::mpsc::channel(1);
            tokio::spawn(connections::accept(listener, Some(tls), "sink: clients", accepted));
            page_server::serve(arrivals, page_server::Connections::default(), router).await;
        });
    });
    told
}

fn with_sink(sink: &str, port: u16) -> Value {
    let mut body = wanted("ALARMS", 600);
    body["applicationServerPorts"] = json!({"ports": [port]});
    body["sink"] = json!(sink);
    body["sinkCredential"] = json!({"credentialType": "ACCESSTOKEN", "accessToken": "abc", "accessTokenType": "bearer",
        "accessTokenExpiresUtc": "2126-07-03T12:27:08.312Z"});
    body
}

const ALLOWED: &str =
    "\n[notifications]\nauthorities = \"keys/authority.pem\"\nallow = [\"127.0.0.0/8\", \"::1/128\"]\n";
const CLOSED: &str = "\n[notifications]\nauthorities = \"keys/authority.pem\"\n";

fn event(heard: &Heard) -> Value {
    let (_, authorization, kind, body) = heard;
    assert_eq!((authorization.as_str(), kind.as_str()), ("Bearer abc", "application/cloudevents+json"));
    let event: Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        (&event["specversion"], &event["type"]),
        (&json!("1.0"), &json!("org.camaraproject.quality-on-demand.v1.qos-status-changed"))
    );
    event
}

#[test]
fn begin_and_end_are_told_until_they_are_taken_and_redirects_are_not_followed() {
    alone(|| {
        let stage = Stage::new("told", ALLOWED);
        let heard = sink(&stage, 8_443, 1);
        let id = stage.available(&with_sink("https://localhost:8443/events", 7_411));
        assert!(stage.get(&id).json().get("sinkCredential").is_none(), "secrets are not shown");
        // The first try is turned away; the second one is the same event.
        let (first, second) = (told(&heard), told(&heard));
        let of = event(&first);
        assert_eq!(
            (first.0.as_str(), &of, &of["data"]["sessionId"]),
            ("/events", &event(&second), &json!(id))
        );
        assert_eq!(of["data"], json!({"sessionId": id, "qosStatus": "AVAILABLE"}));
        assert_eq!(of["source"], json!(format!("http://127.0.0.1:9091/quality-on-demand/v1/sessions/{id}")));
        assert_eq!(stage.delete(&id).status, 204);
        let mut known = vec![of["id"].clone()];
        let last = event(&next(&heard, &mut known));
        let expected = json!({"sessionId": id, "qosStatus": "UNAVAILABLE", "statusInfo": "DELETE_REQUESTED"});
        assert_eq!(last["data"], expected);
        // Notifications of a client go one after the other: what comes next is heard after the redirect would have been followed.
        let id = stage.available(&with_sink("https://localhost:8443/elsewhere", 7_411));
        assert_eq!(stage.delete(&id).status, 204);
        let another = stage.available(&with_sink("https://localhost:8443/last", 7_411));
        let paths: Vec<String> = (0..3).map(|_| next(&heard, &mut known).0).collect();
        assert_eq!(paths, ["/elsewhere", "/elsewhere", "/last"]);
        assert_eq!(stage.delete(&another).status, 204);
    });
}

fn told(heard: &Receiver<Heard>) -> Heard {
    patiently("a notification", || heard.try_recv().ok())
}

/// The next event that was not heard before: a busy machine may be too slow for an answer, and be told again.
fn next(heard: &Receiver<Heard>, known: &mut Vec<Value>) -> Heard {
    loop {
        let next = told(heard);
        let (id, is_followed) = (event(&next)["id"].clone(), next.0 == "/followed");
        if is_followed || !known.contains(&id) {
            known.push(id);
            return next;
        }
    }
}

#[test]
fn addresses_inside_hear_nothing() {
    alone(|| {
        let stage = Stage::new("inside", CLOSED);
        let heard = sink(&stage, 8_443, 0);
        for (port, sink) in (7_411_u16..).zip([
            "https://localhost:8443/name",
            "https://127.0.0.1:8443/address",
            "https://[::1]:8443/address",
        ]) {
            let id = stage.available(&with_sink(sink, port));
            assert_eq!(stage.delete(&id).status, 204);
        }
        let log = || std::fs::read_to_string(stage.domains.path("qod.log")).unwrap();
        testkit::patience::patiently_or(log, || {
            (log().matches("is not of the Internet at large").count() == 6).then_some(())
        });
        assert!(heard.try_recv().is_err());
    });
}
