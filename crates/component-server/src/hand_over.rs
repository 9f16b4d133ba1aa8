//! What a process hands over, as messages between processes have it: endpoints in hexadecimal digits.
use container::Server;
use deployment::{Matched, Position};

type Endpoint = [u8; 16];

fn written(endpoint: &Endpoint) -> String {
    format!("{:032x}", u128::from_be_bytes(*endpoint))
}

fn read(text: &str) -> Result<Endpoint, String> {
    let is_plain = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = u128::from_str_radix(text, 16).ok().filter(|_| is_plain);
    number.map(u128::to_be_bytes).ok_or_else(|| format!("{} is no GUID", text.escape_debug()))
}

/// The endpoints that the ends of connections are matched with.
pub(crate) fn matched(server: &Server) -> Vec<Matched> {
    let of_end = |of: container::Matched| Matched {
        end: of.connection,
        peers: of.peers.iter().map(written).collect(),
    };
    server.matched().into_iter().map(of_end).collect()
}

/// The same, read.
pub(crate) fn read_matched(all: &[Matched]) -> Result<Vec<container::Matched>, String> {
    let of_end = |of: &Matched| {
        let peers = of.peers.iter().map(|peer| read(peer)).collect::<Result<_, _>>()?;
        Ok(container::Matched { connection: of.end.clone(), peers })
    };
    all.iter().map(of_end).collect()
}

/// Where the ends of connections are in the events of publishers.
pub(crate) fn written_positions(all: Vec<container::Position>) -> Vec<Position> {
    let of_end = |of: container::Position| Position {
        end: of.connection,
        source: written(&of.source),
        sequence: of.number,
    };
    all.into_iter().map(of_end).collect()
}

/// The same, read.
pub(crate) fn read_positions(all: &[Position]) -> Result<Vec<container::Position>, String> {
    let of_end = |of: &Position| {
        let (connection, source) = (of.end.clone(), read(&of.source)?);
        Ok(container::Position { connection, source, number: of.sequence })
    };
    all.iter().map(of_end).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_read_as_it_was_written() {
        let endpoint: Endpoint = std::array::from_fn(|index| index as u8);
        assert_eq!(written(&endpoint), "000102030405060708090a0b0c0d0e0f");
        assert_eq!(read(&written(&endpoint)), Ok(endpoint));
        for wrong in ["", "00", "+00102030405060708090a0b0c0d0e0f", "g00102030405060708090a0b0c0d0e0f"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
