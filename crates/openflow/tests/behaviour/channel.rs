//! A controller and a switch, both ends a `Channel`, in virtual time: handshake, answers, errors, silence, lies.

use std::time::Duration;

use crate::pair::{FEATURES, Pair};
use openflow::channel::{Channel, Config, DownReason, Event, Refusal, SendError};
use openflow::error_code::{ErrorCode, ErrorMessage};
use openflow::flow::FlowMod;
use openflow::hello::Hello;
use openflow::matching::Match;
use openflow::message::MessageType;
use openflow::multipart::{MultipartReply, MultipartRequest, TableStats};
use openflow::words::TableId;
use openflow::{Message, Xid};

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn bytes(xid: u32, message: &Message) -> Vec<u8> {
    let mut out = Vec::new();
    message.encode(Xid(xid), &mut out).unwrap();
    out
}

fn add(priority: u16) -> Message {
    Message::FlowMod(FlowMod::add(priority, Match::new(), Vec::new()))
}

fn refuse(code: ErrorCode) -> Message {
    Message::Error(ErrorMessage::Code { code, data: Vec::new() })
}

fn tables(number: u8) -> MultipartReply {
    let table = TableStats { table: TableId(number), active: 1, lookups: 2, matched: 3 };
    MultipartReply::Table(vec![table])
}

/// A controller that hears only what the test says.
fn alone(config: Config) -> Channel {
    let mut channel = Channel::new(config, ms(0));
    channel.handle_input(ms(0), &bytes(1, &Message::Hello(Hello::ours())));
    channel.handle_input(ms(0), &bytes(2, &Message::FeaturesReply(FEATURES)));
    assert!(matches!(channel.poll_event(), Some(Event::Up { features: Some(FEATURES), .. })));
    channel.sent(channel.output().len());
    channel
}

fn events(channel: &mut Channel) -> Vec<Event> {
    std::iter::from_fn(|| channel.poll_event()).collect()
}

#[test]
fn handshake_in_pieces_of_any_size() {
    for size in [1, 3, 7, 8, 9, 1000] {
        let mut pair = Pair::new(size);
        pair.run();
        assert!(pair.controller.is_up() && pair.switch.is_up(), "in pieces of {size}");
        let up = Event::Up { features: Some(FEATURES), peer: Hello::ours() };
        assert_eq!(pair.controller_events, [up]);
    }
}

#[test]
fn a_hello_of_open_vswitch_with_many_versions() {
    let mut channel = Channel::new(Config::controller(), ms(0));
    channel.handle_input(ms(0), &bytes(1, &Message::Hello(Hello { version: 6, bitmap: vec![0x72] })));
    assert!(!channel.is_down());
}

#[test]
fn no_version_in_common() {
    let hello = Hello { version: 6, bitmap: vec![0x62] };
    let mut channel = Channel::new(Config::controller(), ms(0));
    channel.handle_input(ms(0), &bytes(1, &Message::Hello(hello.clone())));
    assert_eq!(events(&mut channel), [Event::Down(DownReason::NoVersionInCommon(hello))]);
    let text = b"only OpenFlow 1.3 is spoken here".to_vec();
    let error = ErrorMessage::Code { code: ErrorCode::HelloIncompatible, data: text.clone() };
    assert!(channel.output().ends_with(&bytes(1, &Message::Error(error.clone()))), "it says why");

    let mut other = Channel::new(Config::switch(), ms(0));
    other.handle_input(ms(0), &bytes(1, &Message::Error(error)));
    let refused = DownReason::HelloRefused { code: ErrorCode::HelloIncompatible, text };
    assert_eq!(events(&mut other), [Event::Down(refused)]);
}

#[test]
fn what_is_no_openflow_ends_at_once() {
    let down = |input: &[u8]| {
        let mut channel = Channel::new(Config::controller(), ms(0));
        channel.handle_input(ms(0), input);
        events(&mut channel)
    };
    assert!(matches!(down(b"GET / HTTP/1.1\r\n\r\n")[..], [Event::Down(_)] | []));
    assert_eq!(down(&bytes(1, &Message::BarrierReply)), [Event::Down(DownReason::NoHello)]);
    assert!(matches!(down(&[4, 0, 0, 7, 0, 0, 0, 1])[..], [Event::Down(DownReason::BadLength(_))]));
}

#[test]
fn silence_in_the_handshake_and_later() {
    let mut channel = Channel::new(Config::controller(), ms(0));
    assert_eq!(channel.poll_timeout(), Some(ms(5000)));
    channel.handle_timeout(ms(4999));
    assert!(!channel.is_down());
    channel.handle_timeout(ms(5000));
    assert_eq!(events(&mut channel), [Event::Down(DownReason::HandshakeTimeout)]);
    assert_eq!(channel.poll_timeout(), None);

    let mut channel = alone(Config::controller());
    assert_eq!(channel.poll_timeout(), Some(ms(5000)));
    channel.handle_timeout(ms(5000));
    let (xid, echo) = Message::decode(channel.output()).unwrap();
    assert_eq!(echo, Message::EchoRequest(Vec::new()));
    channel.sent(8);
    channel.handle_input(ms(9000), &bytes(xid.0, &Message::EchoReply(Vec::new())));
    assert_eq!((events(&mut channel), channel.poll_timeout()), (vec![], Some(ms(14_000))));
    channel.handle_timeout(ms(14_000));
    // Half a message is no sign of life.
    channel.handle_input(ms(18_999), &[4, 2, 0, 8]);
    channel.handle_timeout(ms(19_000));
    assert_eq!(events(&mut channel), [Event::Down(DownReason::EchoTimeout)]);
}

#[test]
fn an_echo_is_answered_with_its_octets() {
    let mut channel = alone(Config::controller());
    channel.handle_input(ms(1), &bytes(77, &Message::EchoRequest(vec![1, 2, 3])));
    assert_eq!(channel.output(), bytes(77, &Message::EchoReply(vec![1, 2, 3])));
}

#[test]
fn answers_find_their_requests() {
    let mut channel = alone(Config::controller());
    let config = channel.send(ms(1), &Message::GetConfigRequest).unwrap();
    let ask = Message::ask(MultipartRequest::Table);
    let asked = channel.send(ms(2), &ask).unwrap();
    let refused = channel.send(ms(3), &ask).unwrap();
    assert_eq!(channel.outstanding(), 3);
    let part = |more, number| Message::MultipartReply { more, reply: tables(number) };
    channel.handle_input(ms(4), &bytes(asked.0, &part(true, 1)));
    channel.handle_input(ms(4), &bytes(refused.0, &refuse(ErrorCode::RequestBadMultipart)));
    // A barrier's answer to a question, and an answer that nobody asked for.
    channel.handle_input(ms(4), &bytes(asked.0, &Message::BarrierReply));
    channel.handle_input(ms(4), &bytes(9999, &part(false, 1)));
    channel.handle_input(ms(4), &bytes(asked.0, &part(false, 2)));
    let found = events(&mut channel);
    let MultipartReply::Table(mut whole) = tables(1) else { panic!() };
    let MultipartReply::Table(second) = tables(2) else { panic!() };
    whole.extend(second);
    let reply = Message::MultipartReply { more: false, reply: MultipartReply::Table(whole) };
    let error = ErrorMessage::Code { code: ErrorCode::RequestBadMultipart, data: Vec::new() };
    let request = Some(MessageType::MultipartRequest);
    assert_eq!(
        found,
        [
            Event::Refused { xid: refused, request, error },
            Event::Stray { xid: asked, kind: MessageType::BarrierReply },
            Event::Stray { xid: Xid(9999), kind: MessageType::MultipartReply },
            Event::Reply { xid: asked, message: reply },
        ]
    );
    assert_eq!(channel.poll_timeout(), Some(ms(5004)), "silence comes before the request's end");
    channel.handle_input(ms(10_000), &bytes(5, &Message::EchoRequest(Vec::new())));
    assert_eq!(channel.poll_timeout(), Some(ms(10_001)));
    channel.handle_timeout(ms(10_001));
    let timed_out = Event::TimedOut { xid: config, request: MessageType::GetConfigRequest };
    assert_eq!((events(&mut channel), channel.outstanding()), (vec![timed_out], 0));
}

#[test]
fn errors_belong_to_the_changes_before_a_barrier() {
    let mut channel = alone(Config::controller());
    let first = channel.commit(ms(1), &[add(1), add(2), add(3)]).unwrap();
    let second = channel.commit(ms(1), &[add(4)]).unwrap();
    let full = refuse(ErrorCode::FlowTableFull);
    channel.handle_input(ms(2), &bytes(first.changes[1].0, &full));
    channel.handle_input(ms(2), &bytes(second.changes[0].0, &full));
    channel.handle_input(ms(2), &bytes(first.barrier.0, &Message::BarrierReply));
    channel.handle_input(ms(2), &bytes(first.changes[0].0, &full));
    channel.handle_input(ms(2), &bytes(second.barrier.0, &Message::BarrierReply));
    let confirmed = |barrier, xid| {
        let refused = vec![Refusal { xid, code: ErrorCode::FlowTableFull }];
        Event::Confirmed { barrier, refused }
    };
    let found = events(&mut channel);
    assert_eq!(found[2], confirmed(first.barrier, first.changes[1]));
    assert!(matches!(found[3], Event::Refused { request: None, .. }), "its barrier has been answered");
    assert_eq!(found[4], confirmed(second.barrier, second.changes[0]));
    assert_eq!(found.len(), 5);
}

#[test]
fn limits_hold_and_refuse_before_anything_is_sent() {
    let limits = Config { max_outstanding: 2, max_unconfirmed: 3, max_output: 400, ..Config::controller() };
    let mut channel = alone(limits);
    assert_eq!(channel.commit(ms(0), &[add(1), add(2), add(3), add(4)]), Err(SendError::TooManyUnconfirmed));
    let long = Message::PacketOut(openflow::packet::PacketOut {
        buffer: openflow::words::BufferId::NONE,
        in_port: openflow::words::PortNo::CONTROLLER,
        actions: Vec::new(),
        data: vec![0; 400],
    });
    assert_eq!(channel.commit(ms(0), &[add(1), long]), Err(SendError::OutputFull));
    assert_eq!(channel.output(), [0; 0], "all or nothing");
    channel.send(ms(0), &Message::GetConfigRequest).unwrap();
    channel.send(ms(0), &Message::GetConfigRequest).unwrap();
    assert_eq!(channel.send(ms(0), &Message::BarrierRequest), Err(SendError::TooManyOutstanding));
    let not_a_change = Err(SendError::Reserved(MessageType::BarrierRequest));
    assert_eq!(channel.commit(ms(0), &[Message::BarrierRequest]), not_a_change);
    let unread = bytes(1, &Message::EchoRequest(vec![0; 200]));
    channel.handle_input(ms(0), &unread);
    channel.handle_input(ms(0), &unread);
    assert_eq!(events(&mut channel), [Event::Down(DownReason::OutputFull)]);
    assert_eq!(channel.send(ms(0), &add(1)), Err(SendError::NotUp));
}

#[test]
fn an_endless_answer_ends() {
    let mut channel = alone(Config { max_reply: 100, ..Config::controller() });
    let asked = channel.send(ms(0), &Message::ask(MultipartRequest::Table)).unwrap();
    let part = bytes(asked.0, &Message::MultipartReply { more: true, reply: tables(1) });
    for _ in 0..4 {
        channel.handle_input(ms(0), &part);
    }
    let stray = Event::Stray { xid: asked, kind: MessageType::MultipartReply };
    assert_eq!(events(&mut channel), [Event::ReplyTooLong { xid: asked }, stray]);
}

#[test]
fn an_answer_that_cannot_be_read_ends_its_request_only() {
    let mut channel = alone(Config::controller());
    let asked = channel.send(ms(0), &Message::GetConfigRequest).unwrap();
    let mut reply = vec![4, 8, 0, 9];
    reply.extend(asked.0.to_be_bytes());
    reply.push(0);
    channel.handle_input(ms(0), &reply);
    let found = events(&mut channel);
    assert!(
        matches!(found[..], [Event::Unreadable { request: Some(MessageType::GetConfigRequest), .. }]),
        "{found:?}"
    );
    assert!(channel.is_up() && channel.outstanding() == 0);
}
