//! Where the parts of an input begin and end, so that mutations can move whole parts and lie about their lengths.

/// What an input is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Structure {
    /// An RTPS message: 20 bytes of header, then submessages with flags and a length.
    Message,
    /// Four bytes of encapsulation header, then parameters with id and length.
    ParameterList,
    /// Messages of OpenFlow, one after the other: version and type, then the length of all of it, big endian.
    OpenFlow,
    /// Nothing but bytes.
    Plain,
}

/// A part: a submessage, a parameter or a message of OpenFlow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// Where its header begins.
    pub start: usize,
    /// Where the next part begins.
    pub end: usize,
    /// True if its numbers are little endian.
    pub little: bool,
}

impl Part {
    /// Where the two bytes of its length stand.
    pub fn length_at(&self) -> usize {
        self.start + 2
    }
}

impl Structure {
    /// Bytes before the first part.
    pub fn header_len(self) -> usize {
        match self {
            Self::Message => 20,
            Self::ParameterList => 4,
            Self::OpenFlow | Self::Plain => 0,
        }
    }

    /// Finds the parts as far as the lengths make sense.
    pub fn parts(self, bytes: &[u8], parts: &mut Vec<Part>) {
        parts.clear();
        if self == Self::Plain {
            return;
        }
        let list_is_little = bytes.get(1).is_some_and(|octet| octet & 1 == 1);
        let mut start = self.header_len();
        while let Some([_, flags, low, high]) = bytes.get(start..).and_then(|rest| rest.first_chunk()) {
            let little = match self {
                Self::Message => flags & 1 == 1,
                Self::OpenFlow => false,
                _ => list_is_little,
            };
            let len = if little { [*low, *high] } else { [*high, *low] };
            let len = usize::from(u16::from_le_bytes(len));
            // Length 0 of a submessage means: to the end.
            let end = match self {
                Self::Message if len == 0 => bytes.len(),
                // The length counts the header too, which has eight bytes.
                Self::OpenFlow => start + len.max(8),
                _ => start + 4 + len,
            };
            if end > bytes.len() {
                parts.push(Part { start, end: bytes.len(), little });
                return;
            }
            parts.push(Part { start, end, little });
            start = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(structure: Structure, bytes: &[u8]) -> Vec<(usize, usize)> {
        let mut parts = Vec::new();
        structure.parts(bytes, &mut parts);
        parts.iter().map(|part| (part.start, part.end)).collect()
    }

    #[test]
    fn submessages_in_both_byte_orders_and_one_to_the_end() {
        let mut bytes = vec![0; 20];
        bytes.extend([7, 1, 4, 0, 9, 9, 9, 9]);
        bytes.extend([7, 0, 0, 4, 9, 9, 9, 9]);
        bytes.extend([7, 1, 0, 0, 9]);
        assert_eq!(parts(Structure::Message, &bytes), [(20, 28), (28, 36), (36, 41)]);
    }

    #[test]
    fn parameters_and_a_length_that_lies() {
        let bytes = [0, 3, 0, 0, 5, 0, 4, 0, 1, 2, 3, 4, 6, 0, 200, 0, 1];
        assert_eq!(parts(Structure::ParameterList, &bytes), [(4, 12), (12, 17)]);
        assert_eq!(parts(Structure::Plain, &bytes), []);
        let openflow = [4, 2, 0, 8, 0, 0, 0, 1, 4, 2, 0, 9, 0, 0, 0, 1, 7, 4, 2, 0, 2];
        assert_eq!(parts(Structure::OpenFlow, &openflow), [(0, 8), (8, 17), (17, 21)]);
        assert_eq!(parts(Structure::Message, &[1, 2]), []);
    }
}
