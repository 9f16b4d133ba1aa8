//! Participants that find each other where that is not simple.
use std::net::UdpSocket;
use std::time::Instant;

use dds::config::{Config, Family};
use dds::{DomainParticipant, DomainParticipantFactory, NO_STATUS, QosKind};

use crate::PATIENCE;
use crate::cable::veth;
use crate::namespace::alone;
use crate::process::is_own;

fn participant(config: &Config) -> DomainParticipant {
    let factory = DomainParticipantFactory::get_instance();
    factory.create_participant_with(0, QosKind::Default, config, None, NO_STATUS).unwrap()
}

/// Waits until each has found all others.
fn all_found(participants: &[DomainParticipant]) {
    let begun = Instant::now();
    for participant in participants {
        while participant.get_discovered_participants().len() + 1 < participants.len() {
            assert!(begun.elapsed() < PATIENCE, "not found: {:#?}", participant.report());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }
    let factory = DomainParticipantFactory::get_instance();
    participants.iter().for_each(|participant| factory.delete_participant(participant).unwrap());
}

#[test]
fn ipv6_on_loopback_with_a_peer() {
    alone(|| {
        let mut config = Config::default();
        config.network.family = Family::V6;
        config.discovery.static_peers = vec!["::1".parse().unwrap()];
        all_found(&[participant(&config), participant(&config)]);
    });
}

#[test]
fn ipv6_on_loopback_without_a_peer() {
    alone(|| {
        let mut config = Config::default();
        config.network.family = Family::V6;
        all_found(&[participant(&config), participant(&config), participant(&config)]);
    });
}

#[test]
fn ipv6_with_nothing_but_link_local_addresses() {
    alone(|| {
        // The system gives them by itself.
        veth("left", "right", "10.9.0.1/24");
        let mut config = Config::default();
        config.network.family = Family::V6;
        let is_there = |participant: &DomainParticipant| {
            participant.report().iter().any(|line| line.contains("left: fe80:"))
        };
        let pair = [participant(&config), participant(&config)];
        let begun = Instant::now();
        while !pair.iter().all(is_there) {
            assert!(begun.elapsed() < PATIENCE, "no link-local address: {:#?}", pair[0].report());
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        all_found(&pair);
    });
}

#[test]
fn participants_beyond_the_ports_of_the_standard() {
    // A program that another test starts holds our sockets for a moment.
    if !is_own("finding::participants_beyond_the_ports_of_the_standard") {
        return;
    }
    for family in [Family::V4, Family::Both] {
        alone(|| {
            let taken: Vec<_> =
                (1..120).map(|id| UdpSocket::bind(("0.0.0.0", 7_410 + 2 * id)).unwrap()).collect();
            let mut config = Config::default();
            config.network.family = family;
            all_found(&[(); 4].map(|()| participant(&config)));
            drop(taken);
        });
    }
}

/// A packet that goes to the group by loopback has no source address there: 127.0.0.1 is none for other hosts.
#[test]
fn i6_a_peer_without_any_address_but_loopback_is_answered() {
    alone(|| {
        let participant = participant(&Config::default());
        let peer = UdpSocket::bind("0.0.0.0:0").unwrap();
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        let prefix = wire::GuidPrefix([7; 12]);
        let mut record = wire::discovery::ParticipantData::new(prefix);
        record.builtin_endpoints = wire::discovery::BuiltinEndpointSet(0xc3f);
        record.user_data = vec![7; 300];
        let (mut payload, mut bytes) = (Vec::new(), Vec::new());
        record.encode(&mut payload);
        wire::message::encode::header(&mut bytes, prefix);
        let header = wire::message::encode::DataHeader {
            reader_id: wire::EntityId::UNKNOWN,
            writer_id: wire::EntityId::SPDP_WRITER,
            sequence_number: wire::SequenceNumber::FIRST,
            inline_qos: None,
            kind: wire::message::PayloadKind::Data,
        };
        wire::message::encode::data(&mut bytes, &header, &payload);
        peer.send_to(&bytes, "239.255.0.1:7400").unwrap();
        let mut answer = [0; 2_048];
        let (len, _) = peer.recv_from(&mut answer).expect("an answer");
        assert!(answer[..len].windows(12).any(|bytes| bytes == [7; 12]));
        drop(participant);
    });
}
