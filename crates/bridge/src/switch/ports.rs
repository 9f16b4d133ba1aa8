//! The ports of a switch: their changes are told, frames of controllers leave by them, and copies of frames go to controllers.
use openflow::Message;
use openflow::action::Action;
use openflow::error_code::ErrorCode;
use openflow::matching::Match;
use openflow::oxm::Oxm;
use openflow::packet::{PacketIn, PacketInReason, PacketOut};
use openflow::port::{Port, PortReason, PortStatus};
use openflow::words::{BufferId, PortNo, TableId};

use super::Switch;
use crate::datapath::DataPath;

/// The longest frame that a controller may send.
const LONGEST: usize = 9_216;

impl<D: DataPath> Switch<D> {
    /// Ports that have come, gone or changed are told, and have their rules from then on.
    pub fn look_at_ports(&mut self) {
        let ports = self.path.ports();
        if ports == self.ports {
            return;
        }
        let old = std::mem::replace(&mut self.ports, ports);
        let find = |list: &[Port], number: PortNo| list.iter().find(|port| port.number == number).cloned();
        let mut news = Vec::new();
        for port in &old {
            if find(&self.ports, port.number).is_none() {
                news.push(PortStatus { reason: PortReason::Delete, port: port.clone() });
            }
        }
        for port in &self.ports {
            match find(&old, port.number) {
                None => news.push(PortStatus { reason: PortReason::Add, port: port.clone() }),
                Some(was) if was != *port => {
                    news.push(PortStatus { reason: PortReason::Modify, port: port.clone() })
                }
                Some(_) => {}
            }
        }
        if news.iter().any(|news| news.reason != PortReason::Modify)
            && let Err(error) = self.path.apply(&self.tables)
        {
            self.log.push(format!("ports have changed, and the rules have not: {error}"));
        }
        for status in news {
            self.tell(&Message::PortStatus(status), true);
        }
    }

    /// A copy of a frame for the controller came, from an entry of this number.
    pub fn copied(&mut self, table: u8, entry: u64, in_port: u32, total: usize, data: &[u8]) {
        let Some(cookie) = self.tables.entry(entry).map(|entry| entry.flow.cookie) else { return };
        let packet = PacketIn {
            buffer: BufferId::NONE,
            total_len: u16::try_from(total).unwrap_or(u16::MAX),
            reason: PacketInReason::Action,
            table: TableId(table),
            cookie,
            matching: Match::of(&[Oxm::in_port(PortNo(in_port))]).unwrap_or_default(),
            data: data.to_vec(),
        };
        self.tell(&Message::PacketIn(packet), false);
    }

    /// Sends a frame of a controller.
    pub(super) fn send(&mut self, packet: &PacketOut) -> Result<(), ErrorCode> {
        if packet.buffer != BufferId::NONE {
            return Err(ErrorCode::RequestBufferUnknown);
        }
        if packet.data.len() < 14 || packet.data.len() > LONGEST {
            return Err(ErrorCode::RequestBadPacket);
        }
        let mut out = Vec::new();
        for action in &packet.actions {
            match action {
                Action::Output { port, .. } if [PortNo::ALL, PortNo::FLOOD].contains(port) => {
                    out.extend(
                        self.ports.iter().map(|port| port.number).filter(|port| *port != packet.in_port),
                    );
                }
                Action::Output { port, .. } if self.ports.iter().any(|known| known.number == *port) => {
                    out.push(*port)
                }
                Action::Output { .. } => return Err(ErrorCode::ActionBadOutPort),
                _ => return Err(ErrorCode::ActionBadType),
            }
        }
        for port in out {
            if let Err(error) = self.path.send(port.0, &packet.data) {
                self.log.push(format!("a frame of a controller was not sent: {error}"));
            }
        }
        Ok(())
    }
}
