//! An option of packet sockets, for those who stand for a network card.
use std::io;
use std::os::fd::AsFd;

use crate::option;

/// PACKET_VNET_HDR of linux/if_packet.h.
const VNET_HDR: libc::c_int = 15;

/// From now on `struct virtio_net_hdr` is in front of each frame that this packet socket receives or sends (packet(7), PACKET_VNET_HDR): whether its
/// checksum is to be finished, and whether it is to be cut into several.
///
/// # Errors
/// The system's; it is no packet socket.
pub fn tell_offloads(socket: &impl AsFd) -> io::Result<()> {
    option::set(socket.as_fd(), libc::SOL_PACKET, VNET_HDR, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_socket_has_no_such_option() {
        assert!(tell_offloads(&std::net::UdpSocket::bind("127.0.0.1:0").unwrap()).is_err());
    }
}
