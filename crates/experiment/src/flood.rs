//! A host that has gone mad: it sends with the addresses, ports and class of its own admitted flow, as fast as its link carries, past the
//! writer that would keep the contract. What stops it stands in the network.
use std::io;
use std::net::SocketAddr;
use std::thread;
use std::time::{Duration, Instant};

use dds::assurance::State;
use dds::qos::{DataReaderQos, Durability, History, Reliability};
use dds::{DataReader, DomainParticipant, Error, Guid, NO_STATUS, QosKind, States};
use socket2::{Domain, Protocol, Socket, Type};
use wire::admission::{VERDICT_TOPIC, VERDICT_TYPE, Verdict};

/// Bytes of UDP payload in each datagram: a full frame.
const PAYLOAD: u16 = 1_472;
const HEADERS: u16 = 20 + 8;
/// The protocol number of packets that bring their own IPv4 header.
const IPPROTO_RAW: i32 = 255;
/// Number of UDP in the IPv4 header.
const UDP: u8 = 17;
/// Bytes around an IPv4 packet on the wire: Ethernet header, check sequence, preamble and gap.
pub(crate) const AROUND: u64 = 14 + 24;
/// Bytes of a datagram with its IPv4 header.
pub(crate) const PACKET: u64 = 1_500;
/// Datagrams that are sent at once.
const BURST: u32 = 16;

/// The verdicts that the manager publishes.
pub(crate) struct Verdicts(DataReader<Verdict>);

impl Verdicts {
    /// Subscribes to them.
    ///
    /// # Errors
    /// What the middleware says.
    pub(crate) fn hear(participant: &DomainParticipant) -> Result<Self, Error> {
        let topic = participant.create_topic::<Verdict>(
            VERDICT_TOPIC,
            VERDICT_TYPE,
            QosKind::Default,
            None,
            NO_STATUS,
        )?;
        let subscriber = participant.create_subscriber(QosKind::Default, None, NO_STATUS)?;
        let mut qos = DataReaderQos::default();
        qos.endpoint.reliability = Reliability::RELIABLE;
        qos.endpoint.durability = Durability::TransientLocal;
        qos.endpoint.history = History::KeepLast(1);
        Ok(Self(subscriber.create_datareader(&topic, QosKind::Specific(qos), None, NO_STATUS)?))
    }

    /// The verdict in force for a writer, if it is admitted.
    ///
    /// # Errors
    /// What the middleware says.
    pub(crate) fn of(&self, writer: Guid) -> Result<Option<Verdict>, Error> {
        let samples = self.0.read(usize::MAX, States::ANY)?;
        let verdicts = samples.into_iter().filter_map(|sample| sample.data);
        let mine = verdicts.filter(|verdict| verdict.pair().0 == writer && verdict.state == State::Admitted);
        Ok(mine.max_by_key(|verdict| (verdict.epoch, verdict.serial)))
    }
}

/// Sends datagrams of a flow for some time, one each `separation` in bursts; how many were sent. Needs root.
///
/// # Errors
/// What the system says; that the host's queue is full is none.
pub(crate) fn flood(verdict: &Verdict, separation: Duration, time: Duration) -> io::Result<u64> {
    let socket = Socket::new(Domain::IPV4, Type::RAW, Some(Protocol::from(IPPROTO_RAW)))?;
    socket.set_header_included_v4(true)?;
    let packet = packet(verdict);
    let to = SocketAddr::from((verdict.destination.address.ip(), 0)).into();
    let start = Instant::now();
    let (mut sent, mut bursts) = (0, 0);
    while start.elapsed() < time {
        for _ in 0..BURST {
            match socket.send_to(&packet, &to) {
                Ok(_) => sent += 1,
                // The queue of the link is full: the next one.
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock) => {}
                Err(error) if error.raw_os_error() == Some(nix::errno::Errno::ENOBUFS as i32) => {}
                Err(error) => return Err(error),
            }
        }
        bursts += 1;
        let next = start + separation * BURST * bursts;
        thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(sent)
}

/// A datagram of the flow, with its headers; the kernel completes lengths and sums of the outer one.
fn packet(verdict: &Verdict) -> Vec<u8> {
    let length = PAYLOAD + HEADERS;
    let mut packet = Vec::with_capacity(usize::from(length));
    packet.extend([0x45, verdict.dscp << 2]);
    packet.extend(length.to_be_bytes());
    // Identification, no fragments, time to live, protocol, and a sum that the kernel fills in.
    packet.extend([0, 0, 0x40, 0, 64, UDP, 0, 0]);
    // Labs of the experiment have IPv4.
    for address in [verdict.source.address, verdict.destination.address] {
        packet.extend(&address.bytes()[12..]);
    }
    packet.extend(verdict.source.port.to_be_bytes());
    packet.extend(verdict.destination.port.to_be_bytes());
    packet.extend((PAYLOAD + 8).to_be_bytes());
    // No checksum.
    packet.extend([0, 0]);
    packet.resize(usize::from(length), 0);
    packet
}

#[cfg(test)]
mod tests {
    use wire::admission::Socket;

    use super::*;

    #[test]
    fn a_forged_datagram_is_one_of_the_flow() {
        let verdict = Verdict {
            source: Socket { address: [10, 1, 0, 1].into(), port: 0x1234 },
            destination: Socket { address: [10, 1, 0, 4].into(), port: 7411 },
            dscp: 34,
            ..Verdict::default()
        };
        let packet = packet(&verdict);
        assert_eq!(packet.len() as u64, PACKET);
        assert_eq!(packet[..4], [0x45, 34 << 2, 1500_u16.to_be_bytes()[0], 1500_u16.to_be_bytes()[1]]);
        assert_eq!(packet[12..24], [10, 1, 0, 1, 10, 1, 0, 4, 0x12, 0x34, 0x1c, 0xf3]);
        assert_eq!(packet[24..28], [0x05, 0xc8, 0, 0]);
    }
}
