//! How the samples of a matched pair travel.
use rtps::Path;

/// How the samples of a matched pair travel. Whatever does not fit shared memory, and everything that is not user data, goes by UDP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Transport {
    /// Writer and reader are of one participant.
    InProcess,
    /// Memory that two processes of a host share.
    SharedMemory,
    /// Sockets.
    Udp,
}

impl Transport {
    pub(crate) fn of(path: &Path) -> Self {
        if *path == Path::IN_PROCESS {
            Self::InProcess
        } else if path.link.is_some() {
            Self::SharedMemory
        } else {
            Self::Udp
        }
    }

    /// For people: `in process`, `shared memory` or `UDP`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InProcess => "in process",
            Self::SharedMemory => "shared memory",
            Self::Udp => "UDP",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn a_path_says_how_samples_travel() {
        let udp = Path::routed("192.0.2.7:7411".parse().unwrap(), Path::MAX_DATAGRAM);
        let shared = Path { link: NonZeroU32::new(1), ..udp };
        let all = [Path::IN_PROCESS, shared, udp].map(|path| Transport::of(&path).name());
        assert_eq!(all, ["in process", "shared memory", "UDP"]);
    }
}
