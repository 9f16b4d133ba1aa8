//! How a channel behaves.
use core::time::Duration;

/// Which side of the channel this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// Asks for the features of the switch before it is up.
    Controller,
    /// Is up after the HELLO of the controller.
    Switch,
}

/// How a channel behaves. Limits keep a switch that lies from taking memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// Which side this is.
    pub side: Side,
    /// The longest wait for HELLO, and again for the features.
    pub handshake_timeout: Duration,
    /// After so long without a whole message an ECHO_REQUEST is sent.
    pub echo_interval: Duration,
    /// The longest wait for any whole message after that.
    pub echo_timeout: Duration,
    /// The longest wait for the whole answer to a request.
    pub reply_timeout: Duration,
    /// The most requests that wait for their answers.
    pub max_outstanding: usize,
    /// The most changes that wait for a barrier.
    pub max_unconfirmed: usize,
    /// The most bytes of all answers that come in parts and are not yet whole; so also the longest answer.
    pub max_reply: usize,
    /// The longest message in bytes; OpenFlow itself ends at 65,535.
    pub max_message: u16,
    /// The most bytes that wait to be sent.
    pub max_output: usize,
}

impl Config {
    /// For a controller: 5 s for the handshake and for silence, 10 s for answers, 8 MiB of answer and of output.
    pub const fn controller() -> Self {
        Self {
            side: Side::Controller,
            handshake_timeout: Duration::from_secs(5),
            echo_interval: Duration::from_secs(5),
            echo_timeout: Duration::from_secs(5),
            reply_timeout: Duration::from_secs(10),
            max_outstanding: 1024,
            max_unconfirmed: 65_536,
            max_reply: 8 << 20,
            max_message: u16::MAX,
            max_output: 8 << 20,
        }
    }

    /// The same for a switch.
    pub const fn switch() -> Self {
        let mut config = Self::controller();
        config.side = Side::Switch;
        config
    }
}
