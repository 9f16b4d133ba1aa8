//! OpenFlow: whole messages, and the bytes of a connection to a switch that lies.
use core::time::Duration;

use openflow::action::Action;
use openflow::channel::{Channel, Config, Event};
use openflow::error_code::{ErrorCode, ErrorMessage};
use openflow::flow::FlowMod;
use openflow::group::{Bucket, GroupType};
use openflow::hello::Hello;
use openflow::instruction::Instruction;
use openflow::matching::Match;
use openflow::message::HEADER_LEN;
use openflow::meter::{Band, MeterCommand, MeterFlags, MeterMod};
use openflow::multipart::{
    Description, FlowStats, GroupDescription, MeterConfig, MeterStats, MultipartReply, MultipartRequest,
    Traffic,
};
use openflow::oxm::{FieldValue, Oxm, OxmField};
use openflow::packet::{PacketIn, PacketInReason, PacketOut};
use openflow::port::{Port, PortConfig, PortFeatures, PortState};
use openflow::switch::{Capabilities, Features, Queue, QueueProperty, Queues};
use openflow::words::{Age, BufferId, GroupId, MeterId, PortNo, QueueId, TableId};
use openflow::{Message, Xid};

/// The first transaction that the channel under test uses for a question of the test.
const FIRST_QUESTION: u32 = 3;
/// Bytes that the channel may have waiting, and answers in parts.
const LIMIT: usize = 4096;

/// A match with prerequisites and masks.
fn matching() -> Option<Match> {
    let address = Oxm::masked(OxmField::Ipv4Dst, 0xefff_0000, 0xffff_0000).ok()?;
    let fields =
        [Oxm::in_port(PortNo(1)), Oxm::eth_type(0x0800), Oxm::ip_proto(17), address, Oxm::udp_dst(7401)];
    Match::of(&fields).ok()
}

fn instructions() -> Vec<Instruction> {
    let actions = vec![
        Action::SetField(FieldValue::ip_dscp(46)),
        Action::SetQueue(QueueId(1)),
        Action::Experimenter { experimenter: 1, data: [1; 8].into() },
        Action::output(PortNo(2)),
    ];
    vec![
        Instruction::Meter(MeterId(1)),
        Instruction::ApplyActions(actions),
        Instruction::GotoTable(TableId(1)),
    ]
}

pub(super) fn messages() -> Vec<Message> {
    let matching = matching().unwrap_or_default();
    let age = Age { seconds: 1, nanoseconds: 2 };
    let traffic = Traffic { packets: 3, octets: 4 };
    let stats = FlowStats {
        table: TableId(0),
        age,
        priority: 5,
        idle_timeout: 0,
        hard_timeout: 0,
        flags: Default::default(),
        cookie: 6,
        traffic,
        matching: matching.clone(),
        instructions: instructions(),
    };
    let bands = vec![Band::drop(1000, 100), Band::drop(2000, 200)];
    let meter = MeterConfig { flags: MeterFlags::KBPS, meter: MeterId(1), bands: bands.clone() };
    let bucket = Bucket::of(vec![Action::output(PortNo(1)), Action::DecNwTtl]);
    let group =
        GroupDescription { kind: GroupType::All, group: GroupId(1), buckets: vec![bucket.clone(), bucket] };
    let meter_stats = MeterStats { meter: MeterId(1), flows: 2, traffic, age, bands: vec![traffic, traffic] };
    let port = Port {
        number: PortNo(1),
        address: [2, 0, 0, 0, 0, 1],
        raw_name: Port::pack_name(b"h1-p"),
        config: PortConfig::NONE,
        state: PortState::LIVE,
        current: PortFeatures::COPPER,
        advertised: PortFeatures::NONE,
        supported: PortFeatures::NONE,
        peer: PortFeatures::NONE,
        current_speed: 1,
        max_speed: 2,
    };
    let queue = Queue { queue: QueueId(1), port: PortNo(1), properties: vec![QueueProperty::MinRate(5)] };
    let packet_in = PacketIn {
        buffer: BufferId::NONE,
        total_len: 20,
        reason: PacketInReason::NoMatch,
        table: TableId(0),
        cookie: 1,
        matching: Match::of(&[Oxm::in_port(PortNo(1))]).unwrap_or_default(),
        data: vec![0; 20],
    };
    let packet_out = PacketOut {
        buffer: BufferId::NONE,
        in_port: PortNo::CONTROLLER,
        actions: vec![Action::output(PortNo(1))],
        data: vec![0; 20],
    };
    let reply = |more, reply| Message::MultipartReply { more, reply };
    let meter_mod =
        MeterMod { command: MeterCommand::Add, flags: MeterFlags::KBPS, meter: MeterId(1), bands };
    vec![
        Message::Hello(Hello::ours()),
        Message::FlowMod(FlowMod::add(1, matching, instructions())),
        Message::MeterMod(meter_mod),
        Message::PacketIn(packet_in),
        Message::PacketOut(packet_out),
        Message::QueueGetConfigReply(Queues { port: PortNo(1), queues: vec![queue.clone(), queue] }),
        Message::Error(ErrorMessage::Code { code: ErrorCode::FlowTableFull, data: vec![0; 8] }),
        Message::EchoRequest(vec![1; 4]),
        reply(true, MultipartReply::Flow(vec![stats.clone(), stats])),
        reply(false, MultipartReply::Flow(Vec::new())),
        reply(false, MultipartReply::MeterConfig(vec![meter])),
        reply(false, MultipartReply::Meter(vec![meter_stats])),
        reply(true, MultipartReply::GroupDescription(vec![group])),
        reply(false, MultipartReply::PortDescription(vec![port.clone(), port])),
        reply(false, MultipartReply::Description(Description::default())),
        Message::BarrierReply,
    ]
}

pub(super) fn encoded(xid: u32, message: &Message) -> Vec<u8> {
    let mut out = Vec::new();
    let written = message.encode(Xid(xid), &mut out);
    assert!(written.is_ok(), "{message:?}");
    out
}

/// One message each.
pub(super) fn message_seeds() -> Vec<Vec<u8>> {
    messages().iter().map(|message| encoded(FIRST_QUESTION, message)).collect()
}

/// What a switch says one after the other: to the questions of the test, and unasked.
pub(super) fn stream_seeds() -> Vec<Vec<u8>> {
    let each = |xid| move |message: &Message| encoded(xid, message);
    let answers: Vec<_> =
        messages().iter().zip(FIRST_QUESTION..).map(|(message, xid)| encoded(xid, message)).collect();
    let same: Vec<_> = messages().iter().map(each(FIRST_QUESTION)).collect();
    vec![answers.concat(), same.concat(), same.iter().rev().flatten().copied().collect()]
}

/// Reads one message. What is read is written, and read again as the same.
pub fn openflow_message(bytes: &[u8]) {
    let (xid, message) = match Message::decode(bytes) {
        Ok(read) => read,
        Err(error) => {
            assert!(error.offset <= bytes.len(), "the error is at {} of {}", error.offset, bytes.len());
            return;
        }
    };
    let mut again = Vec::with_capacity(bytes.len());
    let written = message.encode(xid, &mut again);
    // What was left out of the input, such as the padding of HELLO, may be added.
    assert!(written.is_ok() && again.len() <= bytes.len() + HEADER_LEN, "{} octets", again.len());
    assert_eq!(Message::decode(&again), Ok((xid, message)), "what is written is read as the same");
}

/// A controller that is up, has asked questions and made changes, and hears the input; each in a fresh channel.
pub fn openflow_stream(bytes: &[u8]) {
    let config = Config { max_output: LIMIT, max_reply: LIMIT, ..Config::controller() };
    let mut channel = Channel::new(config, Duration::ZERO);
    channel.handle_input(Duration::ZERO, &encoded(1, &Message::Hello(Hello::ours())));
    let features =
        Features { datapath_id: 1, buffers: 0, tables: 1, auxiliary_id: 0, capabilities: Capabilities::NONE };
    channel.handle_input(Duration::ZERO, &encoded(2, &Message::FeaturesReply(features)));
    assert!(channel.is_up());
    let add = Message::FlowMod(FlowMod::add(1, Match::new(), Vec::new()));
    let questions = [
        Message::ask(MultipartRequest::GroupDescription),
        Message::ask(MultipartRequest::MeterConfig(MeterId::ALL)),
        add.clone(),
        Message::BarrierRequest,
        add.clone(),
        Message::ask(MultipartRequest::PortDescription),
        Message::BarrierRequest,
    ];
    for question in &questions {
        assert!(channel.send(Duration::ZERO, question).is_ok());
    }
    let mut waiting = channel.outstanding();
    // Barriers of its own, which stand between changes and questions, end without an event.
    let own = waiting - questions.iter().filter(|question| **question != add).count();
    let (first, second) = bytes.split_at(bytes.len() / 3);
    for (piece, now) in [(first, 1), (second, 2), (&[][..], 3600)] {
        let now = Duration::from_secs(now);
        channel.handle_input(now, piece);
        channel.handle_timeout(now);
        assert!(channel.output().len() <= LIMIT, "{} octets wait", channel.output().len());
        let mut ended = 0;
        while let Some(event) = channel.poll_event() {
            match event {
                Event::Confirmed { refused, .. } => {
                    assert!(refused.len() <= 2, "more changes are refused than were made");
                    ended += 1;
                }
                Event::Reply { .. } | Event::TimedOut { .. } | Event::ReplyTooLong { .. } => ended += 1,
                Event::Unreadable { request: Some(_), .. } => ended += 1,
                // A change is refused, and still waits for its barrier.
                Event::Refused { request: Some(request), .. } => {
                    ended += usize::from(request != openflow::message::MessageType::FlowMod);
                }
                _ => {}
            }
        }
        let left = channel.outstanding();
        // A barrier that was refused stands on among the changes, and may be refused again.
        assert!(left + ended + own >= waiting, "{waiting} requests waited, {left} are left, {ended} ended");
        waiting = left;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_are_right() {
        for seed in message_seeds() {
            assert!(Message::decode(&seed).is_ok());
        }
        for seed in stream_seeds() {
            openflow_stream(&seed);
        }
        assert!(matching().is_some());
    }
}
