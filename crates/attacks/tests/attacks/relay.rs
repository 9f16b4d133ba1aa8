//! A path between two hosts that loses frames by a seed, or swallows those above a size without a word.
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use nix::ifaddrs::getifaddrs;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, LinkAddr, MsgFlags, SockFlag, SockProtocol, SockType, bind, recv, send, setsockopt,
    socket, sockopt,
};
use std::os::fd::AsFd;

use crate::place::{INTERFACE, Place, address};
use crate::random::Random;

/// What happens to frames.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path {
    /// Of a thousand frames so many are lost.
    pub(crate) loss: u64,
    /// Frames of more bytes, with the header of Ethernet, are lost.
    pub(crate) largest: usize,
    pub(crate) seed: u64,
}

/// Two hosts, 10.9.0.1 and 10.9.0.2, with a path between them, which is there until this is dropped.
pub(crate) struct Relay {
    pub(crate) hosts: [Place; 2],
    /// Frames that came from each of them.
    pub(crate) frames: Arc<[AtomicU64; 2]>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    _between: Place,
}

impl Relay {
    /// With this path.
    pub(crate) fn new(path: Path) -> Option<Self> {
        let (between, hosts) = (Place::new()?, [Place::new()?, Place::new()?]);
        between.on(|| std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1").unwrap());
        for (number, host) in (1..).zip(&hosts) {
            let end = format!("end{number}");
            let name = format!("name {INTERFACE} netns {}", host.path());
            between.run("ip", &format!("link add name {end} type veth peer {name}"));
            // Frames are to be on this path as they would be on a wire.
            for (place, interface) in [(&between, end.as_str()), (host, INTERFACE)] {
                place.run(
                    "ethtool",
                    &format!("-K {interface} tx off tso off gso off gro off tx-udp-segmentation off"),
                );
            }
            between.run("ip", &format!("link set {end} up"));
            host.run("ip", &format!("address add {}/24 dev {INTERFACE}", address(number)));
            host.run("ip", &format!("link set {INTERFACE} up"));
            host.run("ip", &format!("route add 224.0.0.0/4 dev {INTERFACE}"));
        }
        let ends = between.on(|| ["end1", "end2"].map(open));
        hosts.iter().for_each(|host| host.wait_for_carrier(INTERFACE));
        let (frames, stop) = (Arc::<[AtomicU64; 2]>::default(), Arc::<AtomicBool>::default());
        let ends = ends.map(Arc::new);
        let mut threads = Vec::new();
        for side in 0..2 {
            let (from, to) = (Arc::clone(&ends[side]), Arc::clone(&ends[1 - side]));
            let (frames, stop) = (Arc::clone(&frames), Arc::clone(&stop));
            threads.push(std::thread::spawn(move || carry(&from, &to, path, &frames[side], &stop)));
        }
        Some(Self { hosts, frames, stop, threads, _between: between })
    }

    /// Frames that came from the first host until now.
    pub(crate) fn frames(&self) -> u64 {
        self.frames[0].load(Ordering::Relaxed)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// A socket for the frames of an interface.
pub(crate) fn open(interface: &str) -> OwnedFd {
    let link: LinkAddr = getifaddrs()
        .unwrap()
        .filter(|found| found.interface_name == interface)
        .find_map(|found| found.address?.as_link_addr().copied())
        .unwrap();
    let fd =
        socket(AddressFamily::Packet, SockType::Raw, SockFlag::SOCK_CLOEXEC, SockProtocol::EthAll).unwrap();
    bind(fd.as_raw_fd(), &link).unwrap();
    setsockopt(&fd, sockopt::RcvBufForce, &(64 << 20)).unwrap();
    fd
}

fn carry(from: &OwnedFd, to: &OwnedFd, path: Path, frames: &AtomicU64, stop: &AtomicBool) {
    let (mut random, mut frame) = (Random::new(path.seed), vec![0; 65_536]);
    while !stop.load(Ordering::Relaxed) {
        let mut waits = [PollFd::new(from.as_fd(), PollFlags::POLLIN)];
        if poll(&mut waits, PollTimeout::from(20_u8)).unwrap_or(0) == 0 {
            continue;
        }
        while let Ok(length) = recv(from.as_raw_fd(), &mut frame, MsgFlags::MSG_DONTWAIT) {
            frames.fetch_add(1, Ordering::Relaxed);
            if length <= path.largest && random.below(1_000) >= path.loss {
                // A full queue loses it, as a real one does.
                let _ = send(to.as_raw_fd(), &frame[..length], MsgFlags::empty());
            }
        }
    }
}
