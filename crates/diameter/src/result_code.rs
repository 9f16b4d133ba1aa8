//! Result-Code values and what class they are of. RFC 6733, 7.1.
use core::fmt;

/// How a request ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ResultCode(pub u32);

/// The class of a Result-Code: its thousands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// 1xxx: another round is needed.
    Informational,
    /// 2xxx.
    Success,
    /// 3xxx: between neighbours; the answer has the error bit.
    ProtocolError,
    /// 4xxx: it may work later.
    TransientFailure,
    /// 5xxx, and what has no class: it does not work.
    PermanentFailure,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $constant:ident = $code:literal;)*) => {
        impl ResultCode {
            $($(#[$doc])* pub const $constant: Self = Self($code);)*
        }
        impl fmt::Display for ResultCode {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    $($code => write!(f, concat!("DIAMETER_", stringify!($constant), " ({})"), $code),)*
                    other => write!(f, "result {other}"),
                }
            }
        }
    };
}

codes! {
    /// Done.
    SUCCESS = 2001;
    /// Done, and more is to be done by others.
    LIMITED_SUCCESS = 2002;
    /// The command is not known.
    COMMAND_UNSUPPORTED = 3001;
    /// No way to the destination.
    UNABLE_TO_DELIVER = 3002;
    /// The realm is not served.
    REALM_NOT_SERVED = 3003;
    /// Not now: ask another peer.
    TOO_BUSY = 3004;
    /// The request came back to an agent that had forwarded it.
    LOOP_DETECTED = 3005;
    /// Ask another host, which is named.
    REDIRECT_INDICATION = 3006;
    /// The application is not supported.
    APPLICATION_UNSUPPORTED = 3007;
    /// Flags of the header that may not be together.
    INVALID_HDR_BITS = 3008;
    /// Flags of an AVP that may not be.
    INVALID_AVP_BITS = 3009;
    /// The peer is not known.
    UNKNOWN_PEER = 3010;
    /// The user could not be authenticated.
    AUTHENTICATION_REJECTED = 4001;
    /// No space to keep the record.
    OUT_OF_SPACE = 4002;
    /// The other connection to the same peer has won.
    ELECTION_LOST = 4003;
    /// An AVP with the M flag that is not known.
    AVP_UNSUPPORTED = 5001;
    /// No such session.
    UNKNOWN_SESSION_ID = 5002;
    /// The user may not.
    AUTHORIZATION_REJECTED = 5003;
    /// An AVP with a value that it may not have.
    INVALID_AVP_VALUE = 5004;
    /// An AVP that must be there and is not.
    MISSING_AVP = 5005;
    /// The user asks for more than there is.
    RESOURCES_EXCEEDED = 5006;
    /// AVPs that contradict each other.
    CONTRADICTING_AVPS = 5007;
    /// An AVP that may not be there.
    AVP_NOT_ALLOWED = 5008;
    /// An AVP that occurs more often than it may.
    AVP_OCCURS_TOO_MANY_TIMES = 5009;
    /// No application that both peers know.
    NO_COMMON_APPLICATION = 5010;
    /// A version other than 1.
    UNSUPPORTED_VERSION = 5011;
    /// Another reason.
    UNABLE_TO_COMPLY = 5012;
    /// Reserved flags of the header that are set.
    INVALID_BIT_IN_HEADER = 5013;
    /// An AVP whose length cannot be.
    INVALID_AVP_LENGTH = 5014;
    /// A message whose length cannot be.
    INVALID_MESSAGE_LENGTH = 5015;
    /// No security mechanism that both peers want.
    NO_COMMON_SECURITY = 5017;
}

impl ResultCode {
    /// The class; numbers without one count as permanent failures (RFC 6733, 7.1).
    pub const fn class(self) -> Class {
        match self.0 / 1000 {
            1 => Class::Informational,
            2 => Class::Success,
            3 => Class::ProtocolError,
            4 => Class::TransientFailure,
            _ => Class::PermanentFailure,
        }
    }

    /// True for 2xxx.
    pub const fn is_success(self) -> bool {
        matches!(self.class(), Class::Success)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn classes_are_thousands_and_what_is_unknown_fails() {
        let classes =
            [1001, 2002, 3004, 4002, 5012, 0, 999, 6000, u32::MAX].map(|code| ResultCode(code).class());
        use Class::*;
        let expected = [Informational, Success, ProtocolError, TransientFailure, PermanentFailure];
        assert_eq!(classes[..5], expected);
        assert_eq!(classes[5..], [PermanentFailure; 4]);
        assert_eq!(ResultCode::TOO_BUSY.to_string(), "DIAMETER_TOO_BUSY (3004)");
    }
}
