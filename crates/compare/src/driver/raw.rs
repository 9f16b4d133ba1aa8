//! The raw limit: UDP over loopback with the system calls that any middleware needs, and nothing else.
use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::socket::{
    ControlMessage, ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg, recvmsg,
    sendmmsg, sendmsg, setsockopt, sockopt,
};

use super::measure::{
    Counter, FILLING, Role, RoundTrips, Task, Wake, Wrong, answered, at_end, cannot, end_of_input, first,
    publish, ready, until_silent,
};

/// How datagrams leave and are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// A call for each.
    One,
    /// A call for many (`sendmmsg`, `recvmmsg`).
    Many,
    /// One that the kernel cuts into many (UDP_SEGMENT, UDP_GRO).
    Train,
}

/// Each comparison has a network of its own, so these are free.
const PING: u16 = 7_776;
const PONG: u16 = 7_777;
/// As much as a socket shall hold, in bytes; raw datagrams have nothing else against losses.
const BUFFER: usize = 4 << 20;
/// Datagrams in one call.
const MANY: usize = 32;
/// Segments of a train, and bytes of all of them together (`UDP_MAX_SEGMENTS`, and what fits behind an IP header).
const SEGMENTS: usize = 64;
const TRAIN: usize = 65_000;
/// How often a reader looks whether it shall end.
const LOOK: Duration = Duration::from_millis(50);
const EARLY: Duration = Duration::from_millis(1);

/// Does what it is asked. Where shared memory is asked for it is UDP all the same: what everything is compared with.
pub(crate) fn run(way: Way, task: &Task) -> Result<(), Wrong> {
    let measures_rate = matches!(task.role, Role::Pub | Role::Sub);
    if way != Way::One && !measures_rate {
        cannot("it is for many samples at once");
        return Ok(());
    }
    if way == Way::Train && task.size * 2 > TRAIN {
        cannot("two samples do not fit in one train");
        return Ok(());
    }
    if task.size > TRAIN {
        cannot("the sample does not fit in a datagram");
        return Ok(());
    }
    match task.role {
        Role::Ping => ping(task),
        Role::Pong => pong(task),
        Role::Pub => {
            let socket = socket(PING, PONG)?;
            match way {
                Way::One => write_one(task, &socket),
                Way::Many => write_many(task, &socket),
                Way::Train => write_trains(task, &socket),
            }
        }
        Role::Sub => read(way, task),
        Role::Early => early(),
        Role::First => {
            let socket = socket(PONG, PING)?;
            socket.recv(&mut [0; 64])?;
            first();
            Ok(())
        }
    }
}

/// A socket of one port, connected to the other.
fn socket(own: u16, other: u16) -> Result<UdpSocket, Wrong> {
    let at = |port| SocketAddrV4::new(Ipv4Addr::LOCALHOST, port);
    let socket = UdpSocket::bind(at(own))?;
    socket.connect(at(other))?;
    if setsockopt(&socket, sockopt::RcvBufForce, &BUFFER).is_err() {
        setsockopt(&socket, sockopt::RcvBuf, &BUFFER)?;
    }
    Ok(socket)
}

/// Writes the number of a sample into it.
fn number(data: &mut [u8], number: u64) {
    if let Some(place) = data.first_chunk_mut() {
        *place = number.to_le_bytes();
    }
}

/// The number of a sample.
fn number_of(data: &[u8]) -> u64 {
    data.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// Receives one; looks again and again if it shall not wait. `None` if the driver shall end.
fn receive(socket: &UdpSocket, data: &mut [u8], ends: &AtomicBool) -> Result<Option<usize>, Wrong> {
    loop {
        match socket.recv(data) {
            Ok(bytes) => return Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if ends.load(Ordering::Relaxed) {
                    return Ok(None);
                }
                std::hint::spin_loop();
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn ping(task: &Task) -> Result<(), Wrong> {
    let socket = socket(PING, PONG)?;
    socket.set_nonblocking(task.wake == Wake::Spin)?;
    let ends = end_of_input();
    let trips = RoundTrips::new(task);
    let mut data = vec![FILLING; task.size];
    let mut next = Some(trips.begin());
    while let Some(now) = next {
        number(&mut data, now);
        socket.send(&data)?;
        next = match receive(&socket, &mut data, &ends)? {
            Some(_) => trips.back(number_of(&data)),
            None => None,
        };
    }
    trips.say();
    Ok(())
}

fn pong(task: &Task) -> Result<(), Wrong> {
    let socket = socket(PONG, PING)?;
    socket.set_nonblocking(task.wake == Wake::Spin)?;
    // It waits without a time limit, as it should be measured, so another thread has to end it.
    at_end(|| {
        answered();
        std::process::exit(0);
    });
    let never = AtomicBool::new(false);
    let mut data = vec![0; task.size];
    ready();
    while let Some(bytes) = receive(&socket, &mut data, &never)? {
        socket.send(data.get(..bytes).unwrap_or_default())?;
    }
    Ok(())
}

fn write_one(task: &Task, socket: &UdpSocket) -> Result<(), Wrong> {
    let mut data = vec![FILLING; task.size];
    let write = |count| {
        number(&mut data, count);
        full(socket.send(&data).map(|_| ()))
    };
    publish(task, &end_of_input(), write, || Ok(()))
}

/// A full socket has no room; that the reader is gone is not known here.
fn full(sent: std::io::Result<()>) -> Result<bool, Wrong> {
    match sent {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.raw_os_error(), Some(nix::libc::ENOBUFS | nix::libc::EAGAIN)) => {
            Ok(false)
        }
        Err(error) => Err(error.into()),
    }
}

fn write_many(task: &Task, socket: &UdpSocket) -> Result<(), Wrong> {
    let mut headers = MultiHeaders::<()>::preallocate(MANY, None);
    let mut waiting = Vec::with_capacity(MANY);
    let mut data = vec![vec![FILLING; task.size]; MANY];
    let fd = socket.as_raw_fd();
    let write = |count| {
        waiting.push(count);
        if waiting.len() < MANY {
            return Ok(true);
        }
        for (data, count) in data.iter_mut().zip(waiting.drain(..)) {
            number(data, count);
        }
        let slices: Vec<[IoSlice<'_>; 1]> = data.iter().map(|data| [IoSlice::new(data)]).collect();
        let mut from = 0;
        while let Some(rest) = slices.get(from..).filter(|rest| !rest.is_empty()) {
            let addresses = vec![None::<()>; rest.len()];
            let sent = sendmmsg(fd, &mut headers, rest, addresses, [], MsgFlags::empty())?;
            let sent = sent.count();
            from += sent.max(1);
        }
        Ok(true)
    };
    publish(task, &end_of_input(), write, || Ok(()))
}

fn write_trains(task: &Task, socket: &UdpSocket) -> Result<(), Wrong> {
    let segments = (TRAIN / task.size).min(SEGMENTS);
    let segment = u16::try_from(task.size)?;
    let mut train = vec![FILLING; task.size * segments];
    let mut filled = 0;
    let fd = socket.as_raw_fd();
    let write = |count| {
        if let Some(data) = train.get_mut(filled * task.size..) {
            number(data, count);
        }
        filled += 1;
        if filled < segments {
            return Ok(true);
        }
        filled = 0;
        let (slices, control) = ([IoSlice::new(&train)], [ControlMessage::UdpGsoSegments(&segment)]);
        match sendmsg::<()>(fd, &slices, &control, MsgFlags::empty(), None) {
            Ok(_) => Ok(true),
            Err(error) => Err(error.into()),
        }
    };
    publish(task, &end_of_input(), write, || Ok(()))
}

fn read(way: Way, task: &Task) -> Result<(), Wrong> {
    let socket = socket(PONG, PING)?;
    socket.set_read_timeout(Some(LOOK))?;
    if way == Way::Train {
        setsockopt(&socket, sockopt::UdpGroSegment, &true)?;
    }
    let ends = end_of_input();
    let mut counter = Counter::new(task);
    ready();
    match way {
        Way::One => read_one(&socket, task, &ends, &mut counter)?,
        Way::Many => read_many(&socket, task, &ends, &mut counter)?,
        Way::Train => read_trains(&socket, &ends, &mut counter)?,
    }
    counter.say();
    Ok(())
}

fn read_one(socket: &UdpSocket, task: &Task, ends: &AtomicBool, counter: &mut Counter) -> Result<(), Wrong> {
    let mut data = vec![0; task.size + 1];
    until_silent(ends, || {
        loop {
            match socket.recv(&mut data) {
                Ok(bytes) => counter.add(number_of(&data), data.get(..bytes).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error.into()),
            }
        }
        counter.idle();
        Ok(counter.count())
    })
}

fn read_many(socket: &UdpSocket, task: &Task, ends: &AtomicBool, counter: &mut Counter) -> Result<(), Wrong> {
    let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(MANY, None);
    let mut data = vec![vec![0; task.size + 1]; MANY];
    let fd = socket.as_raw_fd();
    until_silent(ends, || {
        loop {
            // The first one is waited for, the others are taken if they are there.
            let sizes: Result<Vec<usize>, Errno> = {
                let mut slices: Vec<[IoSliceMut<'_>; 1]> =
                    data.iter_mut().map(|data| [IoSliceMut::new(data)]).collect();
                recvmmsg(fd, &mut headers, slices.iter_mut(), MsgFlags::MSG_WAITFORONE, None)
                    .map(|received| received.map(|message| message.bytes).collect())
            };
            let sizes = match sizes {
                Ok(sizes) => sizes,
                Err(Errno::EAGAIN) => break,
                Err(error) => return Err(error.into()),
            };
            for (bytes, data) in sizes.iter().zip(&data) {
                counter.add(number_of(data), data.get(..*bytes).unwrap_or_default());
            }
        }
        counter.idle();
        Ok(counter.count())
    })
}

fn read_trains(socket: &UdpSocket, ends: &AtomicBool, counter: &mut Counter) -> Result<(), Wrong> {
    let mut data = vec![0; 1 << 16];
    let mut control = nix::cmsg_space!(i32);
    let fd = socket.as_raw_fd();
    until_silent(ends, || {
        loop {
            let mut slices = [IoSliceMut::new(&mut data)];
            let (bytes, segment) = match recvmsg::<()>(fd, &mut slices, Some(&mut control), MsgFlags::empty())
            {
                Ok(received) => {
                    let segment = received.cmsgs()?.find_map(|message| match message {
                        ControlMessageOwned::UdpGroSegments(bytes) => usize::try_from(bytes).ok(),
                        _ => None,
                    });
                    (received.bytes, segment.unwrap_or(received.bytes))
                }
                Err(Errno::EAGAIN) => break,
                Err(error) => return Err(error.into()),
            };
            for sample in data.get(..bytes).unwrap_or_default().chunks(segment.max(1)) {
                counter.add(number_of(sample), sample);
            }
        }
        counter.idle();
        Ok(counter.count())
    })
}

/// No peer has to be waited for: the system refuses datagrams to a port that is not open yet.
fn early() -> Result<(), Wrong> {
    let socket = socket(PING, PONG)?;
    let ends = end_of_input();
    ready();
    while !ends.load(Ordering::Acquire) {
        match socket.send(&[FILLING; 64]) {
            Err(error) if error.kind() != ErrorKind::ConnectionRefused => return Err(error.into()),
            _ => std::thread::sleep(EARLY),
        }
    }
    Ok(())
}
