//! How two processes meet: a socket of an abstract name, which no file stands for and which is gone with its process.
//!
//! Abstract names belong to a network namespace: a container with a network of its own is not met. What is said is a datagram with up
//! to three descriptors (SOCK_SEQPACKET); the kernel says whose process the other is, and when it is gone.
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;
use std::time::Duration;

use libc::{c_int, c_void, socklen_t};

/// Most descriptors that go with what is said.
const FILES: usize = 3;
/// How many may wait to be met.
const BACKLOG: c_int = 64;
/// How long a connection waits where many others do.
const QUEUE: Duration = Duration::from_millis(50);
/// Most sockets that [`ready`] looks at.
const MOST: usize = 256;

/// Where others find this process.
#[derive(Debug)]
pub struct Meeting {
    socket: OwnedFd,
}

/// A connection with another process of this host. It does not block.
#[derive(Debug)]
pub struct Talk {
    socket: OwnedFd,
}

/// Who is at the other end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Peer {
    /// Its process, as seen from here; 0 if it is of another process namespace that cannot be seen.
    pub process: i32,
    /// Its effective user when it connected or began to listen.
    pub user: u32,
}

/// What was said.
#[derive(Debug)]
pub enum Said {
    /// So many bytes of the buffer, and these descriptors.
    Words(usize, Vec<OwnedFd>),
    /// Nothing yet.
    Nothing,
    /// The other side is gone.
    Gone,
}

/// Which sockets have something to say: by their places.
pub type Readiness = Vec<bool>;

impl Meeting {
    /// Listens at this name, at most 100 bytes.
    ///
    /// # Errors
    ///
    /// `AddrInUse` if a socket in the network namespace has this name; or the system's error.
    pub fn new(name: &[u8]) -> io::Result<Self> {
        let socket = socket()?;
        let (address, len) = address(name)?;
        // SAFETY: the address is valid for the length given during the call.
        check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) })?;
        // SAFETY: it touches no memory of ours.
        check(unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) })?;
        Ok(Self { socket })
    }

    /// The next process that connects; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The system's error, as for too many open files.
    pub fn accept(&self) -> io::Result<Option<Talk>> {
        let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
        // SAFETY: without room for an address none is written.
        let socket =
            unsafe { libc::accept4(self.socket.as_raw_fd(), ptr::null_mut(), ptr::null_mut(), flags) };
        match check(socket) {
            // SAFETY: the call gave a new descriptor, which has no other owner.
            Ok(socket) => Ok(Some(Talk { socket: unsafe { OwnedFd::from_raw_fd(socket) } })),
            Err(error) => match error.raw_os_error() {
                Some(libc::EAGAIN | libc::ECONNABORTED | libc::EINTR) => Ok(None),
                _ => Err(error),
            },
        }
    }
}

impl Talk {
    /// Connects with the process that listens at this name.
    ///
    /// # Errors
    ///
    /// `ConnectionRefused` if no socket of the network namespace does; `WouldBlock` if too many wait there, also after 50 ms; or the
    /// system's error.
    pub fn new(name: &[u8]) -> io::Result<Self> {
        let socket = socket()?;
        let (address, len) = address(name)?;
        // SAFETY: the address is valid for the length given during the call.
        let connect =
            || check(unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), len) });
        if let Err(error) = connect() {
            if error.kind() != io::ErrorKind::WouldBlock {
                return Err(error);
            }
            // The system serves those that wait in their order: a flood of connections does not overtake this one.
            set_patience(&socket, QUEUE)?;
            set_nonblocking(&socket, false)?;
            connect()?;
            set_nonblocking(&socket, true)?;
        }
        Ok(Self { socket })
    }

    /// Who is at the other end.
    ///
    /// # Errors
    ///
    /// The system's error.
    pub fn peer(&self) -> io::Result<Peer> {
        // SAFETY: all zeros is a `ucred`.
        let mut found: libc::ucred = unsafe { mem::zeroed() };
        let mut len = size_of::<libc::ucred>() as socklen_t;
        // SAFETY: the structure is valid for the length given during the call.
        check(unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_PEERCRED,
                (&raw mut found).cast::<c_void>(),
                &raw mut len,
            )
        })?;
        Ok(Peer { process: found.pid, user: found.uid })
    }

    /// Says something, with at most three descriptors.
    ///
    /// # Errors
    ///
    /// `InvalidInput` for more descriptors; `WouldBlock` if the other side does not listen; or the system's error, `BrokenPipe` if the other
    /// side is gone.
    pub fn say(&self, words: &[u8], files: &[BorrowedFd<'_>]) -> io::Result<()> {
        if files.len() > FILES {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut part = libc::iovec { iov_base: words.as_ptr().cast_mut().cast(), iov_len: words.len() };
        let mut control = Control([0; CONTROL]);
        // SAFETY: all zeros is a `msghdr` without anything.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        if !files.is_empty() {
            let bytes = size_of_val(files) as u32;
            message.msg_control = control.0.as_mut_ptr().cast();
            // SAFETY: it computes.
            message.msg_controllen = unsafe { libc::CMSG_SPACE(bytes) } as _;
            // SAFETY: the control buffer is aligned as `cmsghdr` is and has room for one header and twelve descriptors.
            unsafe {
                let header = libc::CMSG_FIRSTHDR(&raw const message);
                (*header).cmsg_level = libc::SOL_SOCKET;
                (*header).cmsg_type = libc::SCM_RIGHTS;
                (*header).cmsg_len = libc::CMSG_LEN(bytes) as _;
                let data = libc::CMSG_DATA(header).cast::<RawFd>();
                for (index, file) in files.iter().enumerate() {
                    ptr::write_unaligned(data.add(index), file.as_raw_fd());
                }
            }
        }
        // SAFETY: the message points to words and control buffer, which live during the call, with their lengths.
        let sent = unsafe { libc::sendmsg(self.socket.as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// What the other side has said next. Words longer than the buffer, or with more than three descriptors, end the talk.
    ///
    /// # Errors
    ///
    /// The system's error, as for too many open files.
    pub fn hear(&self, buffer: &mut [u8]) -> io::Result<Said> {
        let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
        let mut control = Control([0; CONTROL]);
        // SAFETY: all zeros is a `msghdr` without anything.
        let mut message: libc::msghdr = unsafe { mem::zeroed() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.0.as_mut_ptr().cast();
        message.msg_controllen = CONTROL as _;
        // SAFETY: the message points to buffer and control buffer, which live during the call, with their lengths.
        let heard =
            unsafe { libc::recvmsg(self.socket.as_raw_fd(), &raw mut message, libc::MSG_CMSG_CLOEXEC) };
        if heard < 0 {
            let error = io::Error::last_os_error();
            return match error.raw_os_error() {
                Some(libc::EAGAIN | libc::EINTR) => Ok(Said::Nothing),
                Some(libc::ECONNRESET) => Ok(Said::Gone),
                _ => Err(error),
            };
        }
        // Before anything else: what came is ours to close.
        let files = files(&message);
        let cut = message.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0 || files.len() > FILES;
        let bytes = usize::try_from(heard).unwrap_or(0);
        Ok(if bytes == 0 || cut { Said::Gone } else { Said::Words(bytes, files) })
    }
}

impl AsFd for Meeting {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsFd for Talk {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The effective user of this process.
pub fn own_user() -> u32 {
    // SAFETY: it cannot fail and touches no memory.
    unsafe { libc::geteuid() }
}

/// True if this descriptor is in the upper quarter of those that the process may have (RLIMIT_NOFILE): a new one has the lowest free number, so
/// that few are left for whatever else the process does.
pub fn leaves_few(file: BorrowedFd<'_>) -> bool {
    let mut limit = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: the structure is valid during the call, which cannot fail for a known resource: then there is no limit.
    unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    file.as_raw_fd() as u64 >= limit.rlim_cur / 4 * 3
}

/// Waits until one of the first 256 sockets has something to say, or the time is over; `None` is never.
///
/// # Errors
///
/// The system's error, as for lack of memory.
pub fn ready(sockets: &[BorrowedFd<'_>], limit: Option<Duration>) -> io::Result<Readiness> {
    let mut waited: Vec<libc::pollfd> = sockets
        .iter()
        .take(MOST)
        .map(|socket| libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 })
        .collect();
    let limit = limit.map_or(-1, |limit| c_int::try_from(limit.as_millis().max(1)).unwrap_or(c_int::MAX));
    // SAFETY: the array is valid for its length during the call.
    let found = unsafe { libc::poll(waited.as_mut_ptr(), waited.len() as libc::nfds_t, limit) };
    if found < 0 {
        let error = io::Error::last_os_error();
        if error.raw_os_error() != Some(libc::EINTR) {
            return Err(error);
        }
    }
    Ok(waited.iter().map(|waited| waited.revents != 0).collect())
}

/// Bytes of control messages: room for more descriptors than are taken, so that too many are seen and closed.
const CONTROL: usize = 64;

/// Aligned as the kernel's headers are.
#[repr(align(8))]
struct Control([u8; CONTROL]);

/// All descriptors that came with a message.
fn files(message: &libc::msghdr) -> Vec<OwnedFd> {
    let mut found = Vec::new();
    // SAFETY: the kernel has filled the control buffer of this message and said how far; it is still there. Each descriptor is new and ours.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let data = libc::CMSG_DATA(header).cast::<RawFd>();
                let around = libc::CMSG_LEN(0) as usize;
                let count = ((*header).cmsg_len as usize).saturating_sub(around) / size_of::<RawFd>();
                for index in 0..count {
                    found.push(OwnedFd::from_raw_fd(ptr::read_unaligned(data.add(index))));
                }
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    found
}

fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: it touches no memory of ours.
    let socket = check(unsafe { libc::socket(libc::AF_UNIX, kind, 0) })?;
    // SAFETY: the call gave a new descriptor, which has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}

/// How long a blocking call of this socket that sends or connects may take.
fn set_patience(socket: &OwnedFd, time: Duration) -> io::Result<()> {
    let time = libc::timeval {
        tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_usec: time.subsec_micros().into(),
    };
    let len = size_of::<libc::timeval>() as socklen_t;
    let (level, option) = (libc::SOL_SOCKET, libc::SO_SNDTIMEO);
    // SAFETY: the structure is valid for the length given during the call.
    check(unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const time).cast(), len) })?;
    Ok(())
}

fn set_nonblocking(socket: &OwnedFd, on: bool) -> io::Result<()> {
    let flags = if on { libc::O_RDWR | libc::O_NONBLOCK } else { libc::O_RDWR };
    // SAFETY: it touches no memory of ours.
    check(unsafe { libc::fcntl(socket.as_raw_fd(), libc::F_SETFL, flags) })?;
    Ok(())
}

/// The abstract address of a name: a NUL, then the name.
fn address(name: &[u8]) -> io::Result<(libc::sockaddr_un, socklen_t)> {
    // SAFETY: all zeros is a `sockaddr_un`.
    let mut address: libc::sockaddr_un = unsafe { mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    let Some(place) = address.sun_path.get_mut(1..=name.len()).filter(|_| name.len() <= 100) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    for (to, from) in place.iter_mut().zip(name) {
        *to = *from as libc::c_char;
    }
    let len = mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    Ok((address, len as socklen_t))
}

fn check(result: c_int) -> io::Result<c_int> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
