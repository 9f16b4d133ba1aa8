//! Sessions at both ends, step by step: RFC 6733, 8.1.

use diameter::command::{AaAnswer, AaRequest, TerminationCause};
use diameter::local::Local;
use diameter::session::client::{Client, EndReason, Output, Request, Restored, State};
use diameter::session::server::{Grant, Server, State as ServerState};
use diameter::session::session_id;
use diameter::value::Identity;
use diameter::{Message, ResultCode};

const SECOND: u64 = 1_000_000_000;

fn local(host: &str) -> Local {
    Local {
        host: Identity::new(host).unwrap(),
        realm: Identity::new("x").unwrap(),
        addresses: Vec::new(),
        product_name: "Punctual".into(),
        origin_state_id: 0,
        auth_applications: Vec::new(),
        acct_applications: Vec::new(),
    }
}

fn request() -> Request {
    Request {
        session_id: session_id(&Identity::new("c.x").unwrap(), 1, 2),
        application: 1,
        realm: Identity::new("x").unwrap(),
        user: None,
        password: None,
        qos_resources: None,
    }
}

fn client() -> Client {
    Client::new(local("c.x"), request())
}

/// A client that has started anew at 10 s asks the server again, and has its answer at 11 s.
fn restored(until: u64, server: &mut Server, grant: Grant) -> (Client, AaAnswer) {
    let restored = Restored { class: Vec::new(), until };
    let mut client = Client::restored(local("c.x"), request(), restored, 10 * SECOND);
    client.on_timer(10 * SECOND);
    let request = asked(&mut client);
    let answer = server.decide(11 * SECOND, &request, Ok(grant));
    client.on_answer(11 * SECOND, &answer);
    (client, answer)
}

fn grant() -> Grant {
    Grant {
        lifetime: 100,
        grace: 10,
        session_timeout: None,
        interim_interval: None,
        class: Vec::new(),
        qos_resources: None,
    }
}

fn outputs(client: &mut Client) -> Vec<Output> {
    std::iter::from_fn(|| client.poll_output()).collect()
}

fn asked(client: &mut Client) -> AaRequest {
    match client.poll_output() {
        Some(Output::Send(Message::AaRequest(request))) => request,
        other => panic!("{other:?} instead of a request"),
    }
}

/// Asked at 0, granted at 1 s.
fn opened(grant: Grant) -> (Client, Server, AaRequest, AaAnswer) {
    let mut client = client();
    client.ask(0);
    let request = asked(&mut client);
    let mut server = Server::new(local("s.x"), &request);
    let answer = server.decide(SECOND, &request, Ok(grant));
    client.on_answer(2 * SECOND, &answer);
    (client, server, request, answer)
}

#[test]
fn a_grant_opens_and_its_end_closes() {
    let (mut client, mut server, ..) = opened(grant());
    assert!(matches!(outputs(&mut client)[..], [Output::Granted { .. }]));
    assert!(client.is_open());
    client.on_timer(75 * SECOND);
    let renewal = asked(&mut client);
    assert_eq!(renewal.destination_host, Some(Identity::new("s.x").unwrap()));
    let again = server.decide(76 * SECOND, &renewal, Ok(grant()));
    client.on_answer(77 * SECOND, &again);
    assert!(matches!(outputs(&mut client)[..], [Output::Granted { .. }]));
    // From when it was asked: 75 + 100 + 10; the server counts from its answer.
    assert_eq!(server.due(), Some(186 * SECOND));
    client.on_timer(150 * SECOND);
    asked(&mut client);
    client.on_unanswered(160 * SECOND);
    assert!(client.is_open(), "the grant holds");
    client.on_timer(185 * SECOND - 1);
    outputs(&mut client);
    client.on_timer(185 * SECOND);
    let over = outputs(&mut client);
    let [Output::Ended(EndReason::Expired), Output::Send(Message::SessionTerminationRequest(end))] =
        &over[..]
    else {
        panic!("{over:?}");
    };
    assert_eq!(end.termination_cause, TerminationCause::AuthExpired);
    assert_eq!(server.on_termination(end).result_code, ResultCode::SUCCESS);
    assert_eq!(server.on_termination(end).result_code, ResultCode::UNKNOWN_SESSION_ID);
}

#[test]
fn without_an_answer_nothing_opens() {
    let mut client = client();
    client.ask(0);
    let request = asked(&mut client);
    client.on_unanswered(SECOND);
    assert_eq!(outputs(&mut client), [Output::Ended(EndReason::Unreachable)]);
    // A grant that comes too late is given back.
    let mut server = Server::new(local("s.x"), &request);
    client.on_answer(2 * SECOND, &server.decide(SECOND, &request, Ok(grant())));
    let late = outputs(&mut client);
    assert!(matches!(&late[..], [Output::Send(Message::SessionTerminationRequest(_))]), "{late:?}");
    assert!(!client.is_open());
}

#[test]
fn only_a_success_for_this_session_opens() {
    for code in [None, Some(1001), Some(3002), Some(4001), Some(5003), Some(0)] {
        let mut client = client();
        client.ask(0);
        let request = asked(&mut client);
        let mut answer = Server::new(local("s.x"), &request).decide(0, &request, Ok(grant()));
        answer.result_code = code.map(ResultCode);
        client.on_answer(1, &answer);
        assert!(matches!(outputs(&mut client)[..], [Output::Ended(EndReason::Refused(_))]), "{code:?}");
    }
    let mut client = client();
    client.ask(0);
    let request = asked(&mut client);
    let mut answer = Server::new(local("s.x"), &request).decide(0, &request, Ok(grant()));
    answer.session_id.push('0');
    client.on_answer(1, &answer);
    assert_eq!((client.state(), outputs(&mut client)), (State::Pending, vec![]));
    client.on_error(1, ResultCode::SUCCESS);
    assert!(!client.is_open());
}

#[test]
fn an_answer_that_was_under_way_longer_than_its_grant_opens_nothing() {
    let mut client = client();
    client.ask(0);
    let request = asked(&mut client);
    let answer = Server::new(local("s.x"), &request).decide(0, &request, Ok(grant()));
    client.on_answer(110 * SECOND, &answer);
    assert!(!client.is_open());
    let over = outputs(&mut client);
    assert!(matches!(over[..], [Output::Ended(EndReason::Expired), Output::Send(_)]), "{over:?}");
}

#[test]
fn the_server_ends_a_session_and_grants_no_more() {
    let (mut client, mut server, request, _) = opened(grant());
    outputs(&mut client);
    let abort = server.abort().unwrap();
    let refused = server.decide(3 * SECOND, &request, Ok(grant()));
    assert_eq!(refused.result(), ResultCode::AUTHORIZATION_REJECTED);
    assert_eq!(server.abort(), Some(abort.clone()), "again, until it is answered");
    client.on_abort(&abort);
    let done = outputs(&mut client);
    let [
        Output::Answer(Message::AbortSessionAnswer(answer)),
        Output::Ended(EndReason::Aborted),
        Output::Send(_),
    ] = &done[..]
    else {
        panic!("{done:?}");
    };
    assert_eq!(answer.result_code, ResultCode::SUCCESS);
    server.on_abort_answer(answer.result_code);
    assert_eq!((server.state(), server.abort()), (ServerState::Ended, None));
    client.on_abort(&abort);
    let again = outputs(&mut client);
    assert!(matches!(&again[..], [Output::Answer(Message::AbortSessionAnswer(answer))]
        if answer.result_code == ResultCode::UNKNOWN_SESSION_ID));
}

#[test]
fn re_authorization_asks_again_and_a_refusal_ends() {
    let (mut client, mut server, ..) = opened(grant());
    outputs(&mut client);
    client.on_re_auth(3 * SECOND, &server.re_auth().unwrap());
    let Some(Output::Answer(Message::ReAuthAnswer(answer))) = client.poll_output() else {
        panic!("an answer")
    };
    assert_eq!(answer.result_code, ResultCode::SUCCESS);
    let request = asked(&mut client);
    let refused = server.decide(4 * SECOND, &request, Err(ResultCode::RESOURCES_EXCEEDED));
    assert_eq!(server.state(), ServerState::Ended);
    client.on_answer(5 * SECOND, &refused);
    let reason = EndReason::Refused(ResultCode::RESOURCES_EXCEEDED);
    assert_eq!(outputs(&mut client), [Output::Ended(reason)]);
}

#[test]
fn an_agent_without_way_does_not_end_an_open_session() {
    let (mut client, server, ..) = opened(grant());
    outputs(&mut client);
    client.on_re_auth(3 * SECOND, &server.re_auth().unwrap());
    outputs(&mut client);
    client.on_error(4 * SECOND, ResultCode::UNABLE_TO_DELIVER);
    assert!(client.is_open());
    client.on_timer(9 * SECOND);
    asked(&mut client);
}

#[test]
fn another_client_neither_renews_nor_ends_a_session() {
    let (_, mut server, mut request, _) = opened(grant());
    request.origin_host = Identity::new("evil.x").unwrap();
    let answer = server.decide(2 * SECOND, &request, Ok(grant()));
    assert_eq!(answer.result(), ResultCode::UNKNOWN_SESSION_ID);
    server.decide(2 * SECOND, &request, Err(ResultCode::AUTHORIZATION_REJECTED));
    assert_eq!(server.state(), ServerState::Open);
}

#[test]
fn a_session_has_its_time_whatever_is_renewed() {
    let limited = Grant { session_timeout: Some(120), ..grant() };
    let (mut client, mut server, ..) = opened(limited.clone());
    outputs(&mut client);
    client.on_timer(75 * SECOND);
    let request = asked(&mut client);
    client.on_answer(76 * SECOND, &server.decide(76 * SECOND, &request, Ok(limited.clone())));
    outputs(&mut client);
    client.on_timer(120 * SECOND);
    assert!(outputs(&mut client).contains(&Output::Ended(EndReason::SessionTimeout)));
    let late = server.decide(121 * SECOND, &request, Ok(limited));
    assert!(!late.result().is_success(), "the server counts it, too");
}

#[test]
fn a_session_has_its_time_also_when_the_client_starts_anew() {
    let limited = Grant { session_timeout: Some(120), ..grant() };
    let (first, mut server, ..) = opened(limited.clone());
    let until = first.until().unwrap();
    assert_eq!(until, 110 * SECOND);
    let (mut client, answer) = restored(until, &mut server, limited.clone());
    // Of 120 s since 1 s.
    assert_eq!(answer.session_timeout, Some(110));
    outputs(&mut client);
    client.on_timer(85 * SECOND);
    let request = asked(&mut client);
    client.on_answer(86 * SECOND, &server.decide(86 * SECOND, &request, Ok(limited)));
    assert!(matches!(outputs(&mut client)[..], [Output::Granted { .. }]));
    client.on_timer(120 * SECOND - 1);
    assert!(client.is_open());
    client.on_timer(120 * SECOND);
    assert!(outputs(&mut client).contains(&Output::Ended(EndReason::SessionTimeout)));
}

#[test]
fn an_answer_that_says_no_end_does_not_lift_that_of_an_earlier_run() {
    let endless = Grant { lifetime: u32::MAX, ..grant() };
    let (_, mut server, ..) = opened(endless.clone());
    let (mut client, answer) = restored(50 * SECOND, &mut server, endless);
    assert_eq!(answer.session_timeout, None);
    assert_eq!(client.until(), Some(50 * SECOND));
    outputs(&mut client);
    client.on_timer(50 * SECOND);
    assert!(outputs(&mut client).contains(&Output::Ended(EndReason::Expired)));
    // Any other end takes its place.
    let (_, mut server, ..) = opened(grant());
    let (client, _) = restored(50 * SECOND, &mut server, grant());
    assert_eq!(client.until(), Some(120 * SECOND));
}
