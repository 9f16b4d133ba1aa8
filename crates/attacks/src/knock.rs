//! Another user's process that connects to an abstract local socket as often as it can.
use std::error::Error;

use socket2::{Domain, SockAddr, Socket, Type};

use crate::say;

/// Never ends by itself.
pub(crate) fn run(name: &str) -> Result<(), Box<dyn Error>> {
    let address = SockAddr::unix(format!("\0{name}"))?;
    say("ready");
    loop {
        let socket = Socket::new(Domain::UNIX, Type::SEQPACKET, None)?;
        // A full queue is waited for no longer than a moment; whether it is let in is not its question.
        socket.set_nonblocking(true)?;
        let _ = socket.connect(&address);
    }
}
