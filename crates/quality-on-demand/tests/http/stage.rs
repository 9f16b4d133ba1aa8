//! A server in front of AS 65001, and a client that speaks HTTP by itself.
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Child;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::patience::patiently;

use crate::domains::{Domains, example};

const TOKEN: &str = "robots-have-a-token-of-their-own";
pub(crate) const SESSIONS: &str = "/quality-on-demand/v1/sessions";

pub(crate) struct Stage {
    pub(crate) domains: Domains,
    server: Option<Child>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// It is an error as CAMARA has them, with this code.
    pub(crate) fn is_error(&self, status: u16, code: &str) {
        let said = self.json();
        assert_eq!((self.status, said["code"].as_str()), (status, Some(code)), "{self:?}");
        assert_eq!(said["status"], json!(status));
        assert!(said["message"].as_str().is_some_and(|text| !text.is_empty()), "{self:?}");
        assert_eq!(self.headers["content-type"], "application/json");
    }

    pub(crate) fn session(&self) -> String {
        self.json()["sessionId"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

/// A session from a device of AS 65001 to a server of AS 65003.
pub(crate) fn wanted(profile: &str, duration: u64) -> Value {
    json!({
        "device": {"ipv4Address": {"publicAddress": "10.1.0.5", "publicPort": 59_765}},
        "applicationServer": {"ipv4Address": "10.3.1.7"},
        "qosProfile": profile,
        "duration": duration,
    })
}

impl Stage {
    /// All managers, and the server with the file of the example and these lines after it.
    pub(crate) fn new(test: &str, more: &str) -> Self {
        let domains = Domains::new(test);
        // A busy machine may take its time: no answer is that a session is under way.
        let file = include_str!("../../examples/qod.toml").replacen("listen", "wait = \"60 s\"\nlisten", 1);
        let text = format!("{file}{more}");
        std::fs::write(domains.path("qod.toml"), text).unwrap();
        let mut stage = Self { domains, server: None };
        stage.start();
        stage
    }

    pub(crate) fn start(&mut self) {
        let mut command = example("quality_on_demand");
        command.args(["serve", "qod.toml", "--store", "qod.redb"]);
        let server = self.server.insert(self.domains.run(command, "qod.log"));
        patiently("a server that listens", || {
            assert_eq!(server.try_wait().unwrap(), None, "qod.log says why it has ended");
            TcpStream::connect("127.0.0.1:9091").ok()
        });
    }

    /// Nothing is left to it to say goodbye with.
    pub(crate) fn kill(&mut self) {
        let mut server = self.server.take().unwrap();
        server.kill().unwrap();
        server.wait().unwrap();
    }

    /// A request with these headers, on a connection of its own.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut stream = TcpStream::connect("127.0.0.1:9091").unwrap();
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request.push_str("Host: 127.0.0.1:9091\r\n");
        }
        for (name, value) in headers {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{request}\r\n{body}").as_bytes()).unwrap();
        // Longer than the server waits for a session.
        stream.set_read_timeout(Some(Duration::from_secs(150))).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text}"));
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap().parse().unwrap();
        let pairs = lines.filter_map(|line| line.split_once(": "));
        let headers = pairs.map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned())).collect();
        Reply { status, headers, body: body.to_owned() }
    }

    /// What a client generated from CAMARA's document sends; the correlator comes back.
    pub(crate) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        let token = format!("Bearer {TOKEN}");
        let mut headers = vec![
            ("Authorization", token.as_str()),
            ("x-correlator", "b4333c46-49c0"),
            ("Accept", "application/json"),
        ];
        if body.is_some() {
            headers.push(("Content-Type", "application/json"));
        }
        let reply = self.send(method, path, &headers, &body.map(Value::to_string).unwrap_or_default());
        assert_eq!(reply.headers["x-correlator"], "b4333c46-49c0");
        reply
    }

    pub(crate) fn create(&self, body: &Value) -> Reply {
        // A set-up that a busy machine was too slow for is tried again.
        patiently("an answer in time", || {
            let reply = self.ask("POST", SESSIONS, Some(body));
            if reply.status != 201 {
                return Some(reply);
            }
            let id = reply.session();
            let bound = self.get(&format!("{id}/bound")).json();
            if bound["refused"]["reason"] == json!("no-answer") {
                assert_eq!(self.delete(&id).status, 204);
                return None;
            }
            Some(reply)
        })
    }

    pub(crate) fn get(&self, of: &str) -> Reply {
        self.ask("GET", &format!("{SESSIONS}/{of}"), None)
    }

    pub(crate) fn delete(&self, id: &str) -> Reply {
        self.ask("DELETE", &format!("{SESSIONS}/{id}"), None)
    }

    pub(crate) fn extend(&self, id: &str, more: u64) -> Reply {
        self.ask(
            "POST",
            &format!("{SESSIONS}/{id}/extend"),
            Some(&json!({"requestedAdditionalDuration": more})),
        )
    }

    /// A session that is there.
    pub(crate) fn available(&self, body: &Value) -> String {
        let id = self.create(body).session();
        self.becomes(&id, "AVAILABLE");
        id
    }

    pub(crate) fn becomes(&self, id: &str, status: &str) -> Value {
        patiently(status, || Some(self.get(id).json()).filter(|said| said["qosStatus"] == json!(status)))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}
