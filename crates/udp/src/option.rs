//! Socket options that the crates below have no function for.
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use libc::{c_int, c_void, socklen_t};

/// SO_MEMINFO of asm-generic/socket.h.
const SO_MEMINFO: c_int = 55;
/// SO_NETNS_COOKIE of asm-generic/socket.h.
const SO_NETNS_COOKIE: c_int = 71;
/// SK_MEMINFO_VARS of linux/sock_diag.h: how many numbers SO_MEMINFO gives.
const MEMINFO_NUMBERS: usize = 9;

/// Sets an option whose value is an `int`.
pub(crate) fn set(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    // SAFETY: the pointer is to a `c_int` that lives during the call, and the length is its size.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast::<c_void>(),
            size_of::<c_int>() as socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Reads an option whose value is an `int`.
pub(crate) fn get(socket: BorrowedFd<'_>, level: c_int, name: c_int) -> io::Result<c_int> {
    let mut value: c_int = 0;
    let mut length = size_of::<c_int>() as socklen_t;
    // SAFETY: the pointer is to a `c_int` that lives during the call, and the length is its size.
    let result = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, name, (&raw mut value).cast::<c_void>(), &raw mut length)
    };
    if result == 0 { Ok(value) } else { Err(io::Error::last_os_error()) }
}

/// A number of the network namespace that the socket is in, which no other namespace has (Linux 5.14).
pub(crate) fn namespace(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let mut number = 0_u64;
    let mut length = size_of_val(&number) as socklen_t;
    // SAFETY: the pointer is to a number that lives during the call, and the length is its size.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_NETNS_COOKIE,
            (&raw mut number).cast::<c_void>(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(number) } else { Err(io::Error::last_os_error()) }
}

/// Datagrams that the kernel threw away because they did not fit the receive buffer, or whose checksum was wrong,
/// since the socket was made; it counts to 2^32 - 1 and then from 0.
pub(crate) fn dropped(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut numbers = [0_u32; MEMINFO_NUMBERS];
    let mut length = size_of_val(&numbers) as socklen_t;
    // SAFETY: the pointer is to an array that lives during the call, and the length is its size in bytes.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            SO_MEMINFO,
            numbers.as_mut_ptr().cast::<c_void>(),
            &raw mut length,
        )
    };
    match numbers.get(libc::SK_MEMINFO_DROPS as usize) {
        Some(dropped) if result == 0 => Ok(*dropped),
        _ => Err(io::Error::last_os_error()),
    }
}
