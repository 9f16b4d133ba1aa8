//! Blocking UDP sockets through libc: exactly one system call per function.
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

pub struct Sock(OwnedFd);

#[derive(Clone, Copy)]
pub struct Addr(libc::sockaddr_in);

const ADDR_LEN: u32 = size_of::<libc::sockaddr_in>() as u32;

fn check(n: isize) -> io::Result<usize> {
    if n < 0 { Err(io::Error::last_os_error()) } else { Ok(n as usize) }
}

impl Addr {
    pub fn local(port: u16) -> Addr {
        Addr(libc::sockaddr_in {
            sin_family: libc::AF_INET as u16,
            sin_port: port.to_be(),
            sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes([127, 0, 0, 1]) },
            sin_zero: [0; 8],
        })
    }
}

impl Sock {
    pub fn bind(port: u16, gro: bool) -> io::Result<Sock> {
        let addr = Addr::local(port);
        unsafe {
            let fd = check(libc::socket(libc::AF_INET, libc::SOCK_DGRAM, 0) as isize)? as i32;
            let sock = Sock(OwnedFd::from_raw_fd(fd));
            sock.option(libc::SOL_SOCKET, libc::SO_RCVBUF, 4 << 20)?;
            sock.option(libc::SOL_SOCKET, libc::SO_SNDBUF, 4 << 20)?;
            if gro {
                sock.option(libc::SOL_UDP, libc::UDP_GRO, 1)?;
            }
            check(libc::bind(fd, (&raw const addr.0).cast(), ADDR_LEN) as isize)?;
            Ok(sock)
        }
    }

    fn option(&self, level: i32, name: i32, value: i32) -> io::Result<usize> {
        let fd = self.0.as_raw_fd();
        check(unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast(), 4) } as isize)
    }

    /// Unconnected `sendto`; `wait` decides whether a full socket blocks.
    pub fn send(&self, bytes: &[u8], to: &Addr, wait: bool) -> io::Result<usize> {
        let flags = if wait { 0 } else { libc::MSG_DONTWAIT };
        check(unsafe {
            libc::sendto(
                self.0.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                flags,
                (&raw const to.0).cast(),
                ADDR_LEN,
            )
        })
    }

    /// `sendmsg` of up to four parts, without waiting; `segment` > 0 makes it a train (UDP_SEGMENT).
    pub fn send_parts(&self, parts: &[&[u8]], to: &Addr, segment: u16) -> io::Result<usize> {
        let mut iov = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; 4];
        for (v, p) in iov.iter_mut().zip(parts) {
            *v = libc::iovec { iov_base: p.as_ptr() as *mut _, iov_len: p.len() };
        }
        let mut control = [0u64; 4];
        unsafe {
            let mut msg: libc::msghdr = std::mem::zeroed();
            msg.msg_name = (&raw const to.0) as *mut _;
            msg.msg_namelen = ADDR_LEN;
            msg.msg_iov = iov.as_mut_ptr();
            msg.msg_iovlen = parts.len().min(iov.len()) as _;
            if segment > 0 {
                msg.msg_control = control.as_mut_ptr().cast();
                msg.msg_controllen = libc::CMSG_SPACE(2) as _;
                let c = libc::CMSG_FIRSTHDR(&msg);
                (*c).cmsg_level = libc::SOL_UDP;
                (*c).cmsg_type = libc::UDP_SEGMENT;
                (*c).cmsg_len = libc::CMSG_LEN(2) as _;
                libc::CMSG_DATA(c).cast::<u16>().write_unaligned(segment);
            }
            check(libc::sendmsg(self.0.as_raw_fd(), &msg, libc::MSG_DONTWAIT))
        }
    }

    /// Waits until a full socket takes data again.
    pub fn wait_writable(&self) {
        let mut p = libc::pollfd { fd: self.0.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
        unsafe { libc::poll(&mut p, 1, 10) };
    }

    /// Blocking `recvfrom`, with the source address.
    pub fn recv(&self, buf: &mut [u8]) -> io::Result<(usize, Addr)> {
        let mut from = Addr::local(0);
        let mut len = ADDR_LEN;
        let n = check(unsafe {
            libc::recvfrom(
                self.0.as_raw_fd(),
                buf.as_mut_ptr().cast(),
                buf.len(),
                0,
                (&raw mut from.0).cast(),
                &mut len,
            )
        })?;
        Ok((n, from))
    }

    /// Blocking `recvmsg`; returns the size and the segment size of a train (0: a single datagram).
    pub fn recv_gro(&self, buf: &mut [u8]) -> io::Result<(usize, usize)> {
        let mut control = [0u64; 8];
        let mut from = Addr::local(0);
        let mut iov = libc::iovec { iov_base: buf.as_mut_ptr().cast(), iov_len: buf.len() };
        unsafe {
            let mut msg: libc::msghdr = std::mem::zeroed();
            msg.msg_name = (&raw mut from.0).cast();
            msg.msg_namelen = ADDR_LEN;
            msg.msg_iov = &mut iov;
            msg.msg_iovlen = 1;
            msg.msg_control = control.as_mut_ptr().cast();
            msg.msg_controllen = size_of_val(&control) as _;
            let n = check(libc::recvmsg(self.0.as_raw_fd(), &mut msg, 0))?;
            let c = libc::CMSG_FIRSTHDR(&msg);
            if !c.is_null() && (*c).cmsg_level == libc::SOL_UDP && (*c).cmsg_type == libc::UDP_GRO {
                return Ok((n, libc::CMSG_DATA(c).cast::<i32>().read_unaligned() as usize));
            }
            Ok((n, 0))
        }
    }
}

/// Pins the process to one core and raises its priority as far as allowed.
pub fn pin(core: usize) {
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(core, &mut set);
        libc::sched_setaffinity(0, size_of_val(&set), &set);
        libc::setpriority(libc::PRIO_PROCESS, 0, -20);
    }
}

/// User and system CPU seconds of this process so far.
pub fn cpu_seconds() -> f64 {
    unsafe {
        let mut u: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut u);
        let s = |t: libc::timeval| t.tv_sec as f64 + t.tv_usec as f64 / 1e6;
        s(u.ru_utime) + s(u.ru_stime)
    }
}
