//! What a participant needs from its surroundings, and what it offers to them.
//!
//! [`Host`] is time, the way out for datagrams, and being woken; [`Engine`] takes what comes in. The driver is a host of
//! sockets and threads, the simulation one with a virtual network: everything between the two is the same code.
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::Arc;

use rtps::{Network, Path, Transmit};
use wire::discovery::{ParticipantData, SharedMemory};
use wire::{GuidPrefix, Instant, Locator, Now, Timestamp};

use crate::bytes::Bytes;

/// The source of a datagram that came through shared memory: it has no address, and the link has seen to it that its header names the
/// participant that the link leads to.
pub const BY_LINK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// From which of its sockets a participant sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Channel {
    /// The socket of discovery: answers come back to it.
    Metatraffic,
    /// The socket of the endpoints, or one that takes its place for a peer. Answers go to the announced address of the endpoints.
    User,
}

/// The result of sending a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sent {
    /// It left, or was lost as datagrams may be; the host counts what it could not send.
    Done,
    /// The socket has no room now: it has to be offered again.
    Full,
}

/// The result of writing bytes into shared memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copied {
    /// They lie there, and their reader looks.
    Done,
    /// They lie there, and their reader sleeps, or is about to: [`Host::ring`] is to follow.
    Unheard,
    /// They have to go by [`Host::send`].
    No,
}

/// A socket that one writer sends from, and nothing else: what the network was set up for is recognised by its port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowSocket {
    /// Address and port that datagrams come from.
    pub address: SocketAddr,
    /// Most bytes of UDP payload that leave in one piece.
    pub max_datagram: u32,
    /// Several datagrams leave by one call.
    pub trains: bool,
}

/// The outside of a participant. All calls may come from any thread, and must not call the engine from within.
pub trait Host: Send + Sync + 'static {
    /// The time.
    fn now(&self) -> Now;

    /// The monotonic part of [`Host::now`] alone.
    fn monotonic(&self) -> Instant {
        self.now().monotonic
    }

    /// Opens a socket for the flow of a writer, at the first IPv4 address that is announced, or the first IPv6 address
    /// that is not of a link alone if there is none; `None` if that cannot be.
    fn open_flow(&self) -> Option<FlowSocket> {
        None
    }

    /// Lets go of what [`Host::open_flow`] gave.
    fn close_flow(&self, port: NonZeroU16) {
        let _ = port;
    }

    /// From now on the engine is told when the kernel got the datagrams of the endpoints, if the kernel says so
    /// ([`Engine::on_datagram_at`]). It costs about 0.1 us for each.
    fn stamp_arrivals(&self) {}

    /// Sends a datagram, or a train of them, along one path, in the class that it names or that its flow has. A path with a flow leaves from
    /// the socket of that flow, one with a link through that shared memory if it can, any other from the socket of the channel or one in its place. Never blocks.
    fn send(&self, channel: Channel, path: &Path, datagram: &Transmit<Bytes>) -> Sent;

    /// Copies a datagram of the endpoints into the shared memory that `link` leads to, if that takes no system call and no wait. The
    /// caller holds the lock of an endpoint, so neither the engine nor anything that locks an endpoint may be called.
    fn copy(&self, link: NonZeroU32, datagram: &[u8]) -> Copied {
        let _ = (link, datagram);
        Copied::No
    }

    /// Wakes the reader of what [`Host::copy`] has written.
    fn ring(&self, link: NonZeroU32) {
        let _ = link;
    }

    /// Memory of `len` bytes that other processes of the host can copy a sample out of; `None` if there is none, or none is left. What
    /// lies in it is sent along any path all the same.
    fn lend(&self, len: usize) -> Option<shm::ChunkMut> {
        let _ = len;
        None
    }

    /// [`Engine::on_timeout`] is wanted at `at`. Only the earliest of all wishes since the last `on_timeout` counts, and a later
    /// wish never puts off an earlier one.
    fn wake_at(&self, at: Instant);

    /// Lets the calling thread do the receiving itself until `done` says so or `until` has passed; `done` is asked after each datagram.
    /// False, at once, if another thread cannot or must not give the receiving up: the caller has to wait otherwise then.
    fn receive(&self, until: Instant, done: &dyn Fn() -> bool) -> bool;

    /// Ends a [`Host::receive`] in progress, so that its `done` is asked again.
    fn interrupt(&self);

    /// Whether every [`Host::receive`] of a thread that is not inside is refused from now on, as for listeners, which are not to wait
    /// until a waiting thread has come back.
    fn keep_own_thread(&self, keep: bool);

    /// True if [`Engine::on_rest`] is called each time before the endpoints' socket is read on. Only then are acknowledgements held back
    /// for a datagram that takes them along.
    fn tells_of_rest(&self) -> bool {
        false
    }

    /// True on a thread that has to receive by itself while it waits: one that is inside [`Engine::on_datagram`] or
    /// [`Engine::on_timeout`] of this participant, as callbacks are, or the only thread of a simulation.
    fn is_inside(&self) -> bool;

    /// There are endpoints of another participant to exchange samples with, perhaps not for the first time: the host may tell of shared memory
    /// with it by [`Engine::on_link`].
    fn matched(&self, participant: &ParticipantData) {
        let _ = participant;
    }

    /// A participant that was found is gone.
    fn lost(&self, participant: GuidPrefix) {
        let _ = participant;
    }

    /// True in a process that was forked from the one whose threads and sockets these are: nothing is to be done there.
    fn is_of_parent_process(&self) -> bool {
        false
    }

    /// The participant is gone: no call of the engine follows, and every thread and socket is let go of. May be called from inside.
    fn close(&self);

    /// A report about the host for people: interfaces, ports, buffers asked for and granted, failures; a line each.
    fn report(&self) -> Vec<String>;
}

/// A participant as its host sees it. All calls may come from any thread, several at a time, and call callbacks of the application.
pub trait Engine: Send + Sync + 'static {
    /// A datagram came in: from a socket address, or [`BY_LINK`].
    fn on_datagram(&self, from: SocketAddr, datagram: &[u8]);

    /// As [`Engine::on_datagram`], with the time at which the kernel got it.
    fn on_datagram_at(&self, from: SocketAddr, datagram: &[u8], received: Timestamp) {
        let _ = received;
        self.on_datagram(from, datagram);
    }

    /// As [`Engine::on_datagram`], for the first `len` bytes of a buffer, which may be kept instead of being copied: as long as a reader
    /// holds it no thread writes to it.
    fn on_kept_datagram(&self, from: SocketAddr, buffer: &Arc<Vec<u8>>, len: usize) {
        self.on_datagram(from, buffer.get(..len).unwrap_or_default());
    }

    /// The thread that handed in datagrams of the endpoints has processed all of them, callbacks included, and is about to wait for
    /// the next. See [`Host::tells_of_rest`].
    fn on_rest(&self) {}

    /// Does what is due by [`Host::now`] and asks to be woken for the next.
    fn on_timeout(&self);

    /// The network of the host and our own addresses have changed.
    fn on_network(&self, addresses: &Addresses);

    /// Shared memory leads to a participant, under this number, or no longer: paths are to say so. Datagrams for a number that is over
    /// go to the destination of their path.
    fn on_link(&self, participant: GuidPrefix, link: Option<NonZeroU32>) {
        let _ = (participant, link);
    }
}

/// The addresses of a participant, and the interfaces that it may use.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Addresses {
    /// Interfaces that may be used.
    pub network: Network,
    /// Addresses at which discovery listens.
    pub metatraffic_unicast: Vec<Locator>,
    /// Groups that discovery listens to, and that announcements go to; empty without multicast.
    pub metatraffic_multicast: Vec<Locator>,
    /// Addresses at which endpoints listen.
    pub default_unicast: Vec<Locator>,
    /// Groups that endpoints listen to.
    pub default_multicast: Vec<Locator>,
    /// Ports that datagrams leave from besides those of the locators, for IPv4 and for IPv6; 0 for none.
    pub sending_ports: [u16; 2],
    /// Bytes that the endpoints' socket can hold, as the kernel counts.
    pub receive_buffer: Option<u32>,
    /// How processes of this host connect to it for shared memory.
    pub shared_memory: Option<SharedMemory>,
}
