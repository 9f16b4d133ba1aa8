//! The parameter list that travels with a change.
use alloc::vec::Vec;
use core::ops::BitOr;

use super::value::{guid, put_sequence_number, sequence_number};
use super::{Parameter, ParameterError, ParameterList, ParameterReason, ParameterWriter, pid, skip_unknown};
use crate::guid::Guid;
use crate::sequence_number::SequenceNumber;

/// What a change does to its instance (RTPS 2.5, 9.6.3.9): four bytes, the same in both byte orders, flags in the last.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct StatusInfo(pub u32);

impl StatusInfo {
    /// Nothing: the change has data.
    pub const ALIVE: Self = Self(0);
    /// The instance is disposed.
    pub const DISPOSED: Self = Self(1);
    /// The writer unregisters the instance.
    pub const UNREGISTERED: Self = Self(2);
    /// The sample did not pass the content filter of the reader it is for.
    pub const FILTERED: Self = Self(4);

    /// True if all flags of `other` are set.
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for StatusInfo {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The inline QoS that means something to a reader of ours (RTPS 2.5, 8.7 and 9.6.3). QoS policies in it are skipped: a reader
/// takes them from the announcement of the writer. Of a parameter that is there twice, the last counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InlineQos {
    /// Hash of the key of the instance.
    pub key_hash: Option<[u8; 16]>,
    /// What the change does to its instance.
    pub status_info: StatusInfo,
    /// The sample that this one answers: its writer and its number (DDS-RPC 1.0, 7.8.2).
    pub related_sample_identity: Option<(Guid, SequenceNumber)>,
    /// The original writer of the sample, when a service forwards it.
    pub original_writer: Option<(Guid, SequenceNumber)>,
    /// First change of the coherent set that this change belongs to; a number that is none ends the set.
    pub coherent_set: Option<SequenceNumber>,
    /// The same in the numbers of the writer's group.
    pub group_coherent_set: Option<SequenceNumber>,
    /// Number of the change in the writer's group.
    pub group_sequence_number: Option<SequenceNumber>,
}

impl InlineQos {
    /// The most bytes that `encode` appends.
    pub const MAX_ENCODED_LEN: usize = 20 + 8 + 28 + 28 + 12 + 12 + 12 + 4;

    /// Reads the parameters of a list.
    ///
    /// # Errors
    /// One of them is too short, or unknown and must be understood.
    pub fn read(list: &ParameterList<'_>) -> Result<Self, ParameterError> {
        let mut qos = Self::default();
        for parameter in list {
            let fields = &mut parameter.cursor();
            match parameter.pid {
                pid::KEY_HASH => qos.key_hash = Some(known(&parameter, fields.array())?),
                pid::STATUS_INFO => {
                    qos.status_info = StatusInfo(u32::from_be_bytes(known(&parameter, fields.array())?));
                }
                pid::RELATED_SAMPLE_IDENTITY => {
                    qos.related_sample_identity = Some(known(&parameter, identity(&parameter))?);
                }
                pid::ORIGINAL_WRITER_INFO => {
                    qos.original_writer = Some(known(&parameter, identity(&parameter))?);
                }
                pid::COHERENT_SET => qos.coherent_set = Some(known(&parameter, sequence_number(fields))?),
                pid::GROUP_COHERENT_SET => {
                    qos.group_coherent_set = Some(known(&parameter, sequence_number(fields))?);
                }
                pid::GROUP_SEQ_NUM => {
                    qos.group_sequence_number = Some(known(&parameter, sequence_number(fields))?);
                }
                pid => skip_unknown(pid)?,
            }
        }
        Ok(qos)
    }

    /// True unless the list names readers (DIRECTED_WRITE) and `reader` is not one of them.
    pub fn is_for(list: &ParameterList<'_>, reader: Guid) -> bool {
        let mut named = list.iter().filter(|parameter| parameter.pid == pid::DIRECTED_WRITE).peekable();
        named.peek().is_none() || named.any(|parameter| guid(&mut parameter.cursor()) == Some(reader))
    }

    /// True if there is nothing to send, so that DATA needs no inline QoS.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Appends the list, little endian, with its sentinel.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut list = ParameterWriter::new(out);
        if let Some(hash) = self.key_hash {
            list.octets(pid::KEY_HASH, &hash);
        }
        if self.status_info != StatusInfo::ALIVE {
            list.octets(pid::STATUS_INFO, &self.status_info.0.to_be_bytes());
        }
        let identities = [
            (pid::RELATED_SAMPLE_IDENTITY, self.related_sample_identity),
            (pid::ORIGINAL_WRITER_INFO, self.original_writer),
        ];
        for (pid, identity) in identities {
            if let Some((guid, number)) = identity {
                list.with(pid, |out| {
                    out.extend_from_slice(&guid.to_bytes());
                    put_sequence_number(out, number);
                });
            }
        }
        let numbers = [
            (pid::COHERENT_SET, self.coherent_set),
            (pid::GROUP_COHERENT_SET, self.group_coherent_set),
            (pid::GROUP_SEQ_NUM, self.group_sequence_number),
        ];
        for (pid, number) in numbers {
            if let Some(number) = number {
                list.with(pid, |out| put_sequence_number(out, number));
            }
        }
        list.finish();
    }
}

fn known<T>(parameter: &Parameter<'_>, value: Option<T>) -> Result<T, ParameterError> {
    value.ok_or(ParameterError { pid: parameter.pid, reason: ParameterReason::Value })
}

fn identity(parameter: &Parameter<'_>) -> Option<(Guid, SequenceNumber)> {
    let mut fields = parameter.cursor();
    Some((guid(&mut fields)?, sequence_number(&mut fields)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::Endianness;
    use crate::guid::{EntityId, GuidPrefix};

    fn read(bytes: &[u8]) -> Result<InlineQos, ParameterError> {
        InlineQos::read(&ParameterList::parse(bytes, Endianness::Little).unwrap().0)
    }

    #[test]
    fn everything_is_read_back() {
        let guid = Guid::new(GuidPrefix([7; 12]), EntityId([0, 0, 1, 2]));
        let full = InlineQos {
            key_hash: Some([3; 16]),
            status_info: StatusInfo::DISPOSED | StatusInfo::UNREGISTERED,
            related_sample_identity: Some((guid, SequenceNumber(1 << 40))),
            original_writer: Some((guid, SequenceNumber(5))),
            coherent_set: Some(SequenceNumber::UNKNOWN),
            group_coherent_set: Some(SequenceNumber(6)),
            group_sequence_number: Some(SequenceNumber(7)),
        };
        for qos in [full, InlineQos::default()] {
            let mut out = Vec::new();
            qos.encode(&mut out);
            assert_eq!(read(&out), Ok(qos));
            assert_eq!(out.len() == InlineQos::MAX_ENCODED_LEN, qos == full);
            assert_eq!(qos.is_empty(), qos != full);
        }
    }

    #[test]
    fn the_status_does_not_turn_with_the_byte_order() {
        let big = [0, 0x71, 0, 4, 0, 0, 0, 3, 0, 1, 0, 0];
        let list = ParameterList::parse(&big, Endianness::Big).unwrap().0;
        let status = InlineQos::read(&list).unwrap().status_info;
        assert!(status.contains(StatusInfo::DISPOSED) && status.contains(StatusInfo::UNREGISTERED));
        assert!(!status.contains(StatusInfo::FILTERED));
        let little = read(&[0x71, 0, 4, 0, 0, 0, 0, 1, 1, 0, 0, 0]).unwrap();
        assert_eq!(little.status_info, StatusInfo::DISPOSED);
    }

    #[test]
    fn only_a_parameter_of_the_standard_can_demand_to_be_understood() {
        assert!(
            read(&[0x99, 0x80, 0, 0, 0x99, 0xc0, 0, 0, 0x99, 0x00, 0, 0, 1, 0, 0, 0]).unwrap().is_empty()
        );
        let error = read(&[0x99, 0x40, 0, 0, 1, 0, 0, 0]).unwrap_err();
        assert_eq!(error, ParameterError { pid: 0x4099, reason: ParameterReason::MustUnderstand });
        let error = read(&[0x70, 0, 4, 0, 1, 2, 3, 4, 1, 0, 0, 0]).unwrap_err();
        assert_eq!(error, ParameterError { pid: pid::KEY_HASH, reason: ParameterReason::Value });
    }

    #[test]
    fn a_directed_write_is_for_the_readers_it_names() {
        let reader = |key| Guid::new(GuidPrefix([7; 12]), EntityId([0, 0, key, 7]));
        let mut out = Vec::new();
        let mut list = ParameterWriter::new(&mut out);
        list.octets(pid::DIRECTED_WRITE, &reader(1).to_bytes());
        list.octets(pid::DIRECTED_WRITE, &reader(2).to_bytes());
        list.finish();
        let list = ParameterList::parse(&out, Endianness::Little).unwrap().0;
        assert!(InlineQos::is_for(&list, reader(1)) && InlineQos::is_for(&list, reader(2)));
        assert!(!InlineQos::is_for(&list, reader(3)));
        let none = ParameterList::parse(&[1, 0, 0, 0], Endianness::Little).unwrap().0;
        assert!(InlineQos::is_for(&none, reader(3)));
    }
}
