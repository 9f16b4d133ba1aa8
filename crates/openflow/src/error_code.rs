//! Errors that a switch or a controller reports: all types and codes by name. OpenFlow 1.3.5, 7.4.4.
use alloc::vec::Vec;
use core::fmt;

use crate::read::{Reader, Result};
use crate::write::Put;

macro_rules! error_codes {
    ($($number:literal $type_name:literal { $($code:literal $variant:ident $name:literal $meaning:literal;)* })*) => {
        /// What went wrong.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[non_exhaustive]
        pub enum ErrorCode {
            $($(#[doc = concat!("`", $type_name, "`, `", $name, "`: ", $meaning, ".")] $variant,)*)*
            /// A type or code that OpenFlow 1.3 does not know.
            Other {
                /// The type.
                kind: u16,
                /// The code.
                code: u16,
            },
        }

        impl ErrorCode {
            /// All codes of the specification.
            pub const ALL: &[Self] = &[$($(Self::$variant,)*)*];

            /// The code of a type; those that OpenFlow 1.3 does not know are kept as they are.
            pub const fn from_numbers(kind: u16, code: u16) -> Self {
                match (kind, code) {
                    $($(($number, $code) => Self::$variant,)*)*
                    _ => Self::Other { kind, code },
                }
            }

            /// Type and code on the wire.
            pub const fn numbers(self) -> (u16, u16) {
                match self {
                    $($(Self::$variant => ($number, $code),)*)*
                    Self::Other { kind, code } => (kind, code),
                }
            }

            /// The specification's names of type and code, without their prefixes; empty for [`Self::Other`].
            pub const fn names(self) -> (&'static str, &'static str) {
                match self {
                    $($(Self::$variant => ($type_name, $name),)*)*
                    Self::Other { .. } => ("", ""),
                }
            }

            /// What it means, in words.
            pub const fn meaning(self) -> &'static str {
                match self {
                    $($(Self::$variant => $meaning,)*)*
                    Self::Other { .. } => "not of OpenFlow 1.3",
                }
            }
        }
    };
}

error_codes! {
    0 "HELLO_FAILED" {
        0 HelloIncompatible "INCOMPATIBLE" "no version in common";
        1 HelloPermission "EPERM" "permissions";
    }
    1 "BAD_REQUEST" {
        0 RequestBadVersion "BAD_VERSION" "version not supported";
        1 RequestBadType "BAD_TYPE" "message type not supported";
        2 RequestBadMultipart "BAD_MULTIPART" "multipart type not supported";
        3 RequestBadExperimenter "BAD_EXPERIMENTER" "experimenter not supported";
        4 RequestBadExperimenterType "BAD_EXP_TYPE" "type of the experimenter not supported";
        5 RequestPermission "EPERM" "permissions";
        6 RequestBadLength "BAD_LEN" "wrong length for the type";
        7 RequestBufferEmpty "BUFFER_EMPTY" "the buffer has been used";
        8 RequestBufferUnknown "BUFFER_UNKNOWN" "no such buffer";
        9 RequestBadTable "BAD_TABLE_ID" "no such table";
        10 RequestIsSlave "IS_SLAVE" "the controller has the role of a slave";
        11 RequestBadPort "BAD_PORT" "no such port";
        12 RequestBadPacket "BAD_PACKET" "wrong packet in packet-out";
        13 RequestMultipartOverflow "MULTIPART_BUFFER_OVERFLOW" "multipart request too long for the buffer";
    }
    2 "BAD_ACTION" {
        0 ActionBadType "BAD_TYPE" "unknown action";
        1 ActionBadLength "BAD_LEN" "length of an action";
        2 ActionBadExperimenter "BAD_EXPERIMENTER" "unknown experimenter";
        3 ActionBadExperimenterType "BAD_EXP_TYPE" "unknown action of the experimenter";
        4 ActionBadOutPort "BAD_OUT_PORT" "output to a port that is not there";
        5 ActionBadArgument "BAD_ARGUMENT" "argument of an action";
        6 ActionPermission "EPERM" "permissions";
        7 ActionTooMany "TOO_MANY" "more actions than can be handled";
        8 ActionBadQueue "BAD_QUEUE" "no such queue";
        9 ActionBadOutGroup "BAD_OUT_GROUP" "no such group";
        10 ActionMatchInconsistent "MATCH_INCONSISTENT" "action does not fit the match, or SET_FIELD lacks a prerequisite";
        11 ActionUnsupportedOrder "UNSUPPORTED_ORDER" "order of the actions not supported";
        12 ActionBadTag "BAD_TAG" "tag or encapsulation not supported";
        13 ActionBadSetType "BAD_SET_TYPE" "field of SET_FIELD not supported";
        14 ActionBadSetLength "BAD_SET_LEN" "length in SET_FIELD";
        15 ActionBadSetArgument "BAD_SET_ARGUMENT" "value in SET_FIELD";
    }
    3 "BAD_INSTRUCTION" {
        0 InstructionUnknown "UNKNOWN_INST" "unknown instruction";
        1 InstructionUnsupported "UNSUP_INST" "instruction not supported";
        2 InstructionBadTable "BAD_TABLE_ID" "no such table to go to";
        3 InstructionUnsupportedMetadata "UNSUP_METADATA" "metadata not supported";
        4 InstructionUnsupportedMask "UNSUP_METADATA_MASK" "mask of metadata not supported";
        5 InstructionBadExperimenter "BAD_EXPERIMENTER" "unknown experimenter";
        6 InstructionBadExperimenterType "BAD_EXP_TYPE" "unknown instruction of the experimenter";
        7 InstructionBadLength "BAD_LEN" "length of an instruction";
        8 InstructionPermission "EPERM" "permissions";
    }
    4 "BAD_MATCH" {
        0 MatchBadType "BAD_TYPE" "type of match not supported";
        1 MatchBadLength "BAD_LEN" "length of the match";
        2 MatchBadTag "BAD_TAG" "tag or encapsulation not supported";
        3 MatchBadDlMask "BAD_DL_ADDR_MASK" "mask of an Ethernet address not supported";
        4 MatchBadNwMask "BAD_NW_ADDR_MASK" "mask of an IP address not supported";
        5 MatchBadWildcards "BAD_WILDCARDS" "combination of fields left out not supported";
        6 MatchBadField "BAD_FIELD" "field not supported";
        7 MatchBadValue "BAD_VALUE" "value of a field not supported";
        8 MatchBadMask "BAD_MASK" "mask of another field not supported";
        9 MatchBadPrerequisite "BAD_PREREQ" "a prerequisite is not met";
        10 MatchDuplicate "DUP_FIELD" "a field occurs twice";
        11 MatchPermission "EPERM" "permissions";
    }
    5 "FLOW_MOD_FAILED" {
        0 FlowUnknown "UNKNOWN" "unspecified";
        1 FlowTableFull "TABLE_FULL" "the table is full";
        2 FlowBadTable "BAD_TABLE_ID" "no such table";
        3 FlowOverlap "OVERLAP" "overlaps with another flow, and CHECK_OVERLAP was set";
        4 FlowPermission "EPERM" "permissions";
        5 FlowBadTimeout "BAD_TIMEOUT" "timeouts not supported";
        6 FlowBadCommand "BAD_COMMAND" "unknown command";
        7 FlowBadFlags "BAD_FLAGS" "unknown flags";
    }
    6 "GROUP_MOD_FAILED" {
        0 GroupExists "GROUP_EXISTS" "the group is there already";
        1 GroupInvalid "INVALID_GROUP" "invalid group";
        2 GroupWeightUnsupported "WEIGHT_UNSUPPORTED" "unequal weights not supported";
        3 GroupOutOfGroups "OUT_OF_GROUPS" "no room for groups";
        4 GroupOutOfBuckets "OUT_OF_BUCKETS" "no room for buckets";
        5 GroupChainingUnsupported "CHAINING_UNSUPPORTED" "groups of groups not supported";
        6 GroupWatchUnsupported "WATCH_UNSUPPORTED" "the port or group to watch is not supported";
        7 GroupLoop "LOOP" "would be a loop";
        8 GroupUnknown "UNKNOWN_GROUP" "no such group";
        9 GroupChained "CHAINED_GROUP" "another group forwards to it";
        10 GroupBadType "BAD_TYPE" "type not supported";
        11 GroupBadCommand "BAD_COMMAND" "unknown command";
        12 GroupBadBucket "BAD_BUCKET" "error in a bucket";
        13 GroupBadWatch "BAD_WATCH" "error in the port or group to watch";
        14 GroupPermission "EPERM" "permissions";
    }
    7 "PORT_MOD_FAILED" {
        0 PortBadPort "BAD_PORT" "no such port";
        1 PortBadAddress "BAD_HW_ADDR" "the address is not that of the port";
        2 PortBadConfig "BAD_CONFIG" "configuration not supported";
        3 PortBadAdvertise "BAD_ADVERTISE" "advertised features not supported";
        4 PortPermission "EPERM" "permissions";
    }
    8 "TABLE_MOD_FAILED" {
        0 TableBadTable "BAD_TABLE" "no such table";
        1 TableBadConfig "BAD_CONFIG" "configuration not supported";
        2 TablePermission "EPERM" "permissions";
    }
    9 "QUEUE_OP_FAILED" {
        0 QueueBadPort "BAD_PORT" "no such port";
        1 QueueBadQueue "BAD_QUEUE" "no such queue";
        2 QueuePermission "EPERM" "permissions";
    }
    10 "SWITCH_CONFIG_FAILED" {
        0 ConfigBadFlags "BAD_FLAGS" "unknown flags";
        1 ConfigBadLength "BAD_LEN" "length";
        2 ConfigPermission "EPERM" "permissions";
    }
    11 "ROLE_REQUEST_FAILED" {
        0 RoleStale "STALE" "an older generation";
        1 RoleUnsupported "UNSUP" "change of role not supported";
        2 RoleBadRole "BAD_ROLE" "unknown role";
    }
    12 "METER_MOD_FAILED" {
        0 MeterUnspecified "UNKNOWN" "unspecified";
        1 MeterExists "METER_EXISTS" "the meter is there already";
        2 MeterInvalid "INVALID_METER" "invalid meter";
        3 MeterUnknown "UNKNOWN_METER" "no such meter";
        4 MeterBadCommand "BAD_COMMAND" "unknown command";
        5 MeterBadFlags "BAD_FLAGS" "flags not supported";
        6 MeterBadRate "BAD_RATE" "rate not supported";
        7 MeterBadBurst "BAD_BURST" "burst not supported";
        8 MeterBadBand "BAD_BAND" "band not supported";
        9 MeterBadBandValue "BAD_BAND_VALUE" "value of a band not supported";
        10 MeterOutOfMeters "OUT_OF_METERS" "no more meters";
        11 MeterOutOfBands "OUT_OF_BANDS" "no more bands for this meter";
    }
    13 "TABLE_FEATURES_FAILED" {
        0 FeaturesBadTable "BAD_TABLE" "no such table";
        1 FeaturesBadMetadata "BAD_METADATA" "mask of metadata";
        2 FeaturesBadType "BAD_TYPE" "unknown property";
        3 FeaturesBadLength "BAD_LEN" "length of the properties";
        4 FeaturesBadArgument "BAD_ARGUMENT" "value of a property not supported";
        5 FeaturesPermission "EPERM" "permissions";
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other { kind, code } => write!(f, "error type {kind} code {code}"),
            _ => {
                let (kind, code) = self.names();
                write!(f, "{kind} {code}: {}", self.meaning())
            }
        }
    }
}

/// The type of errors that experimenters define.
const EXPERIMENTER: u16 = 0xffff;

/// An ERROR message.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ErrorMessage {
    /// One with a code.
    Code {
        /// What went wrong.
        code: ErrorCode,
        /// The message that was refused, or its first 64 bytes or more; text for HELLO_FAILED.
        data: Vec<u8>,
    },
    /// One of an experimenter.
    Experimenter {
        /// The experimenter's type.
        kind: u16,
        /// Who says what it means.
        experimenter: u32,
        /// What it is.
        data: Vec<u8>,
    },
}

impl ErrorMessage {
    /// The code; that of experimenters is `Other`.
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::Code { code, .. } => *code,
            Self::Experimenter { kind, .. } => ErrorCode::Other { kind: EXPERIMENTER, code: *kind },
        }
    }

    pub(crate) fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let (kind, code) = (reader.u16()?, reader.u16()?);
        Ok(if kind == EXPERIMENTER {
            let experimenter = reader.u32()?;
            Self::Experimenter { kind: code, experimenter, data: reader.rest_owned() }
        } else {
            Self::Code { code: ErrorCode::from_numbers(kind, code), data: reader.rest_owned() }
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Code { code, data } => {
                let (kind, code) = code.numbers();
                out.u16(kind);
                out.u16(code);
                out.octets(data);
            }
            Self::Experimenter { kind, experimenter, data } => {
                out.u16(EXPERIMENTER);
                out.u16(*kind);
                out.u32(*experimenter);
                out.octets(data);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_belong_to_numbers() {
        for code in ErrorCode::ALL {
            let (kind, number) = code.numbers();
            assert_eq!(ErrorCode::from_numbers(kind, number), *code);
            assert!(!code.names().1.is_empty());
        }
        assert_eq!(ErrorCode::ALL.len(), 111);
        let other = ErrorCode::from_numbers(13, 6);
        assert_eq!((other, other.numbers()), (ErrorCode::Other { kind: 13, code: 6 }, (13, 6)));
    }
}
