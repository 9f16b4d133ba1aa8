//! `punctual grm --web`: what operators see is what is so, and what they do by hand is done.
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use dds::assurance::State;
use serde_json::Value;

use crate::browser::Browser;
use crate::ward::{NETWORK, Ward, patiently, with_gates};
use crate::{MILLISECOND, contracts};

const PLACE: &str = "127.0.0.1:8080";

fn watched() -> Ward {
    Ward::told(&with_gates(NETWORK), &["--web", PLACE])
}

fn connect(ward: &Ward) -> TcpStream {
    let stream = patiently("the page", || ward.lab.on("manager", || TcpStream::connect(PLACE)).unwrap().ok());
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// The status and the body.
fn send(ward: &Ward, request: &str, headers: &str, body: &str) -> (u16, String) {
    let mut stream = connect(ward);
    let length = body.len();
    let head = format!(
        "{request} HTTP/1.1\r\nHost: {PLACE}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn get(ward: &Ward, path: &str) -> Value {
    let (_, body) = send(ward, &format!("GET {path}"), "", "");
    serde_json::from_str(&body).unwrap_or_else(|error| panic!("{error}: {body}"))
}

/// The flow of a topic, once it is so.
fn flow(ward: &Ward, topic: &str, is: impl Fn(&Value) -> bool) -> Value {
    patiently(topic, || {
        let flows = get(ward, "/api/v1/flows");
        let found = flows["flows"].as_array()?.iter().find(|flow| flow["topic"] == topic && is(flow));
        found.cloned()
    })
}

/// Reads events until one has this in it.
fn await_event(events: &mut impl BufRead, kind: &str, text: &str) -> Value {
    let began = Instant::now();
    let (mut line, mut now) = (String::new(), String::new());
    while began.elapsed() < Duration::from_secs(60) {
        line.clear();
        assert!(events.read_line(&mut line).unwrap() > 0, "the events have ended");
        if let Some(name) = line.strip_prefix("event: ") {
            now = name.trim_end().to_owned();
        }
        if let Some(data) = line.strip_prefix("data: ").filter(|data| now == kind && data.contains(text)) {
            return serde_json::from_str(data).unwrap();
        }
    }
    panic!("{kind} with {text:?} did not come");
}

#[test]
fn operators_see_flows_live_try_requests_and_end_flows_by_hand() {
    let Some(_turn) = lab_turn::turn() else { return };
    let ward = watched();
    let writer = ward.writer("camera", "Picture", 4_000, 10 * MILLISECOND);
    let reader = ward.reader("display", "Picture", 5 * MILLISECOND);
    let admitted = flow(&ward, "Picture", |flow| flow["state"] == "admitted");
    assert_eq!((&admitted["from"], &admitted["to"]), (&"camera".into(), &"display".into()));
    let (promised, present) = (admitted["promised"].as_u64().unwrap(), admitted["present"].as_u64().unwrap());
    assert!(present > 0 && present <= promised && promised <= 5_000_000, "{admitted}");

    // What the reader measures is shown.
    patiently("the writer's match", || (writer.matched() == 1).then_some(()));
    let began = Instant::now();
    let mut measured = None;
    while measured.is_none() {
        assert!(began.elapsed() < Duration::from_secs(30), "nothing is measured");
        for _ in 0..50 {
            writer.write();
            std::thread::sleep(Duration::from_millis(11));
            reader.take();
        }
        let flows = get(&ward, "/api/v1/flows");
        let readings = flows["flows"][0]["readings"].as_array().filter(|readings| readings.len() > 1);
        measured = readings.cloned();
    }
    let last = measured.unwrap().pop().unwrap();
    assert!(last["samples"].as_u64() > Some(0) && last["median"].as_u64() > Some(0), "{last}");

    let network = get(&ward, "/api/v1/network");
    let link = network["links"].as_array().unwrap().iter().find(|link| link["from"] == "camera").unwrap();
    assert!(link["load"].as_u64() > Some(0) && link["flows"] == 1 && link["rate"] == 100_000_000, "{link}");
    assert_eq!(network["switches"][0]["state"], "ready");
    assert_eq!(network["nodes"].as_array().unwrap().len(), 4);

    // A question is answered and changes nothing.
    let before = (ward.content("s1"), contracts(&ward), get(&ward, "/api/v1/history")["last"].clone());
    let ask = |latency: u64| {
        let body = format!(
            r#"{{"from":"camera","to":"display","largest_message":4012,"minimum_separation":10000000,"maximum_latency":{latency}}}"#
        );
        let (status, answer) =
            send(&ward, "POST /api/v1/requests", "Content-Type: application/json\r\n", &body);
        assert_eq!(status, 200, "{answer}");
        serde_json::from_str::<Value>(&answer).unwrap()
    };
    let (good, bad) = (ask(5_000_000), ask(100_000));
    assert_eq!((&good["outcome"], &good["promised"]), (&"admitted".into(), &5_000_000.into()));
    assert_eq!(good["hops"].as_array().unwrap().len(), 2);
    assert_eq!(bad["outcome"], "refused");
    assert!(bad["offered_latency"].as_u64() > Some(100_000), "{bad}");
    let after = (ward.content("s1"), contracts(&ward), get(&ward, "/api/v1/history")["last"].clone());
    assert_eq!(before, after);

    // What happens is heard at once.
    let mut stream = connect(&ward);
    stream.write_all(format!("GET /api/v1/events HTTP/1.1\r\nHost: {PLACE}\r\n\r\n").as_bytes()).unwrap();
    let mut events = BufReader::new(stream);
    assert_eq!(await_event(&mut events, "state", "")["standing"], "manages");
    let refused = ward.reader("display", "Picture", 100_000);
    let entry = await_event(&mut events, "history", "refused: ");
    assert!(entry["who"].as_str().unwrap().ends_with("on display"), "{entry}");

    // A flow is released: its reader hears why, and it is admitted anew. Then it is revoked, and stays so.
    let id = admitted["id"].as_str().unwrap();
    let delete = |how: &str, headers: &str| {
        let request = format!("DELETE /api/v1/flows/{id}?how={how}&reason=the%20lamp%20is%20changed");
        send(&ward, &request, headers, "")
    };
    assert_eq!(delete("revoke", "").0, 403);
    assert_eq!(ward.flow_entries(), 1);
    let (status, done) = delete("release", "Punctual-Operator: Ann\r\n");
    assert_eq!(status, 200, "{done}");
    await_event(&mut events, "history", "released by hand by Ann at 127.0.0.1");
    await_event(&mut events, "history", "admitted within 5000 us");
    patiently("the flow", || {
        let is_admitted = reader.pairs().iter().any(|pair| pair.state == State::Admitted);
        (is_admitted && ward.flow_entries() == 1).then_some(())
    });
    let (status, done) = delete("revoke", "Punctual-Operator: Ann\r\n");
    assert_eq!(status, 200, "{done}");
    let entry = await_event(&mut events, "history", "revoked by hand by Ann at 127.0.0.1");
    assert_eq!((&entry["what"], &entry["who"]), (&"by hand".into(), &"Ann at 127.0.0.1".into()));
    patiently("the revocation", || {
        let pair = reader.pairs().into_iter().find(|pair| pair.state == State::Revoked)?;
        assert_eq!(pair.reason, "revoked by hand: the lamp is changed");
        Some(())
    });
    patiently("the end of the flow", || (ward.flow_entries() == 0 && contracts(&ward) == 0).then_some(()));
    // Longer than a lease, and than the grace after which much is tried again.
    std::thread::sleep(Duration::from_secs(12));
    assert_eq!(ward.flow_entries(), 0, "it is not admitted again");
    assert!(reader.pairs().iter().all(|pair| pair.state == State::Revoked), "{:?}", reader.pairs());
    assert!(ward.log().contains("revoked by hand by Ann at 127.0.0.1"), "{}", ward.log());
    assert_eq!(delete("revoke", "Punctual-Operator: Ann\r\n").0, 409);

    let (_, metrics) = send(&ward, "GET /metrics", "", "");
    for line in [
        "punctual_manages 1",
        "punctual_switch_ready{switch=\"s1\"} 1",
        "punctual_admitted 0",
        "punctual_events_total{what=\"by hand\"} 2",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    drop((refused, writer));
}

#[test]
fn a_person_finds_a_flow_tries_a_request_and_revokes_it_in_a_browser() {
    let Some(_turn) = lab_turn::turn() else { return };
    let ward = watched();
    let _writer = ward.writer("camera", "Picture <b>", 4_000, 10 * MILLISECOND);
    let reader = ward.reader("display", "Picture <b>", 5 * MILLISECOND);
    flow(&ward, "Picture <b>", |flow| flow["state"] == "admitted");
    let Some(mut browser) = Browser::new(&ward) else { return };
    browser.open(&format!("http://{PLACE}/"));
    browser.await_text("1 of 1 flow is admitted; no alarms.");
    browser.await_text("Picture <b>");
    for (width, dark) in [(1_280, false), (1_280, true), (400, false), (400, true)] {
        browser.look(width, dark);
        assert_eq!(
            browser.eval("document.documentElement.scrollWidth <= innerWidth"),
            true,
            "{width}: nothing sticks out"
        );
        assert_eq!(browser.eval("document.querySelectorAll('.net .node').length"), 4);
        let paper = browser.eval("getComputedStyle(document.body).backgroundColor");
        assert_eq!(paper == "rgb(255, 255, 255)", !dark, "{paper}");
        if let Some(folder) = std::env::var_os("PUNCTUAL_PICTURES") {
            let name = format!("{width}-{}.png.base64", if dark { "dark" } else { "light" });
            std::fs::write(std::path::Path::new(&folder).join(name), browser.picture()).unwrap();
        }
    }
    // It is found, shown with its way, and sorted.
    browser.eval("byId('search').value = 'nothing'; byId('search').dispatchEvent(new Event('input'))");
    browser.await_text("0 of 1");
    browser.eval("byId('search').value = 'CAMERA'; byId('search').dispatchEvent(new Event('input'))");
    browser.await_text("1 of 1");
    browser.eval("document.querySelector('#flows .row').click()");
    browser.await_text("camera to s1: level");
    assert_eq!(browser.eval("document.querySelectorAll('.net .way').length"), 2);
    browser.eval("document.querySelector('#flows th[data-sort=promised] button').click()");
    assert_eq!(
        browser.eval("document.querySelector('#flows th[data-sort=promised]').ariaSort"),
        "descending"
    );
    // A request is tried.
    browser.eval("byId('try').elements.to.value = 'display'; byId('try').requestSubmit()");
    browser.await_text("It would be admitted: promised 5.00 ms");
    browser.eval("byId('try').elements.maximum_latency.value = '0.1'; byId('try').requestSubmit()");
    browser.await_text("It would be refused: ");
    assert_eq!(ward.flow_entries(), 1);
    // The flow is revoked, by an operator with an unusual name, for a reason.
    browser.eval("[...document.querySelectorAll('#flows .more button')].find((button) => button.textContent.startsWith('Revoke')).click()");
    browser.eval("byId('operator').value = 'Zoë 李'; byId('reason').value = 'the lamp & <i>is</i> changed'; byId('ending-form').requestSubmit()");
    browser.await_text("revoked by hand: the lamp & <i>is</i> changed");
    browser.await_text("by Zoë 李 at 127.0.0.1");
    patiently("the revocation", || {
        reader.pairs().iter().any(|pair| pair.state == State::Revoked).then_some(())
    });
    browser.await_text("0 of 1 flow is admitted, 1 refused or revoked");
    assert_eq!(browser.complaints(), [""; 0]);
}

/// With keys, the fields for topic and user are what the policy decides by; the page says what it allows, and nothing is asked for.
#[test]
fn a_person_tries_requests_of_users_and_reads_what_the_policy_says() {
    let Some(_turn) = lab_turn::turn() else { return };
    const TOKEN: &str = "0123456789abcdef0123456789abcdef";
    let policy =
        "default = \"deny\"\n[[rule]]\nusers = [\"alice\"]\ntopics = [\"Vitals/*\"]\nmost-importance = 5\n";
    let ward = Ward::secured_and_told(&with_gates(NETWORK), policy, Some(TOKEN), &["--web", PLACE]);
    let Some(mut browser) = Browser::trusting(&ward) else { return };
    patiently("the page", || ward.lab.on("manager", || TcpStream::connect(PLACE)).unwrap().ok());
    browser.open(&format!("https://{PLACE}/"));
    browser.await_text("Token");
    browser.eval(&format!("byId('token').value = '{TOKEN}'; byId('token').form.requestSubmit()"));
    let has_hosts = "[...byId('try').elements.to.options].some((option) => option.value === 'display')";
    patiently("the hosts on the page", || (browser.eval(has_hosts) == true).then_some(()));
    // Before, it would have to wait for the switch.
    patiently("the switch", || ward.log().contains("switch s1: as it is to be").then_some(()));
    browser.eval("byId('try').elements.from.value = 'camera'; byId('try').elements.to.value = 'display'");
    for (topic, user, importance, words) in [
        ("Vitals/pulse", "alice", 5, "It would be admitted: promised 5.00 ms"),
        ("Other", "alice", 0, "the policy does not allow user alice to ask for \"Other\": no rule is for it"),
        ("Vitals/pulse", "bob", 0, "the policy does not allow user bob to ask for \"Vitals/pulse\""),
        (
            "Vitals/pulse",
            "alice",
            6,
            "the policy, line 2, does not allow user alice an importance of 6: at most 5 is",
        ),
        ("Vitals/pulse", "", 0, "the policy goes by users: say which user would ask"),
    ] {
        let fill = format!(
            "const fields = byId('try').elements; fields.topic.value = '{topic}'; fields.user.value = '{user}'; \
             fields.importance.value = '{importance}'; byId('try').requestSubmit()"
        );
        browser.eval(&format!("{{ {fill} }}"));
        browser.await_text(words);
        let answer = browser.eval("byId('answer').innerText");
        let begins =
            if user == "alice" && importance == 5 { "It would be admitted" } else { "It would be refused" };
        assert!(answer.as_str().unwrap().starts_with(begins), "{answer}");
    }
    assert_eq!((ward.flow_entries(), contracts(&ward)), (0, 0));
}
