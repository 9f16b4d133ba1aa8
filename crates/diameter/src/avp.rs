//! Attribute-value pairs: their codes, and reading and writing them without copying. RFC 6733, 4.
use alloc::vec::Vec;
use core::fmt;

use crate::error::{DecodeError, Problem};

/// Bytes of an AVP header without a vendor.
pub const HEADER_LEN: usize = 8;
/// How deep AVPs may be nested.
pub const DEEPEST: u8 = 8;

const VENDOR: u8 = 0x80;
const MANDATORY: u8 = 0x40;
const PROTECTED: u8 = 0x20;

/// The code of an AVP without vendor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct AvpCode(pub u32);

macro_rules! avps {
    ($($constant:ident = $code:literal, $name:literal;)*) => {
        impl AvpCode {
            $(#[doc = $name] pub const $constant: Self = Self($code);)*
            /// The codes that have names here.
            pub const KNOWN: &[Self] = &[$(Self($code),)*];
            /// The name in the RFCs, if this crate knows the AVP.
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($code => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

avps! {
    USER_NAME = 1, "User-Name";
    USER_PASSWORD = 2, "User-Password";
    CLASS = 25, "Class";
    SESSION_TIMEOUT = 27, "Session-Timeout";
    PROXY_STATE = 33, "Proxy-State";
    ACCT_SESSION_ID = 44, "Acct-Session-Id";
    ACCT_SESSION_TIME = 46, "Acct-Session-Time";
    ACCT_MULTI_SESSION_ID = 50, "Acct-Multi-Session-Id";
    EVENT_TIMESTAMP = 55, "Event-Timestamp";
    ACCT_INTERIM_INTERVAL = 85, "Acct-Interim-Interval";
    HOST_IP_ADDRESS = 257, "Host-IP-Address";
    AUTH_APPLICATION_ID = 258, "Auth-Application-Id";
    ACCT_APPLICATION_ID = 259, "Acct-Application-Id";
    VENDOR_SPECIFIC_APPLICATION_ID = 260, "Vendor-Specific-Application-Id";
    REDIRECT_HOST_USAGE = 261, "Redirect-Host-Usage";
    REDIRECT_MAX_CACHE_TIME = 262, "Redirect-Max-Cache-Time";
    SESSION_ID = 263, "Session-Id";
    ORIGIN_HOST = 264, "Origin-Host";
    SUPPORTED_VENDOR_ID = 265, "Supported-Vendor-Id";
    VENDOR_ID = 266, "Vendor-Id";
    FIRMWARE_REVISION = 267, "Firmware-Revision";
    RESULT_CODE = 268, "Result-Code";
    PRODUCT_NAME = 269, "Product-Name";
    SESSION_BINDING = 270, "Session-Binding";
    SESSION_SERVER_FAILOVER = 271, "Session-Server-Failover";
    MULTI_ROUND_TIME_OUT = 272, "Multi-Round-Time-Out";
    DISCONNECT_CAUSE = 273, "Disconnect-Cause";
    AUTH_REQUEST_TYPE = 274, "Auth-Request-Type";
    AUTH_GRACE_PERIOD = 276, "Auth-Grace-Period";
    AUTH_SESSION_STATE = 277, "Auth-Session-State";
    ORIGIN_STATE_ID = 278, "Origin-State-Id";
    FAILED_AVP = 279, "Failed-AVP";
    PROXY_HOST = 280, "Proxy-Host";
    ERROR_MESSAGE = 281, "Error-Message";
    ROUTE_RECORD = 282, "Route-Record";
    DESTINATION_REALM = 283, "Destination-Realm";
    PROXY_INFO = 284, "Proxy-Info";
    RE_AUTH_REQUEST_TYPE = 285, "Re-Auth-Request-Type";
    ACCOUNTING_SUB_SESSION_ID = 287, "Accounting-Sub-Session-Id";
    AUTHORIZATION_LIFETIME = 291, "Authorization-Lifetime";
    REDIRECT_HOST = 292, "Redirect-Host";
    DESTINATION_HOST = 293, "Destination-Host";
    ERROR_REPORTING_HOST = 294, "Error-Reporting-Host";
    TERMINATION_CAUSE = 295, "Termination-Cause";
    ORIGIN_REALM = 296, "Origin-Realm";
    EXPERIMENTAL_RESULT = 297, "Experimental-Result";
    EXPERIMENTAL_RESULT_CODE = 298, "Experimental-Result-Code";
    INBAND_SECURITY_ID = 299, "Inband-Security-Id";
    ACCOUNTING_INPUT_OCTETS = 363, "Accounting-Input-Octets";
    ACCOUNTING_OUTPUT_OCTETS = 364, "Accounting-Output-Octets";
    ACCOUNTING_INPUT_PACKETS = 365, "Accounting-Input-Packets";
    ACCOUNTING_OUTPUT_PACKETS = 366, "Accounting-Output-Packets";
    NAS_FILTER_RULE = 400, "NAS-Filter-Rule";
    ACCOUNTING_RECORD_TYPE = 480, "Accounting-Record-Type";
    ACCOUNTING_REALTIME_REQUIRED = 483, "Accounting-Realtime-Required";
    ACCOUNTING_RECORD_NUMBER = 485, "Accounting-Record-Number";
    TMOD_1 = 495, "TMOD-1";
    TOKEN_RATE = 496, "Token-Rate";
    BUCKET_DEPTH = 497, "Bucket-Depth";
    PEAK_TRAFFIC_RATE = 498, "Peak-Traffic-Rate";
    MINIMUM_POLICED_UNIT = 499, "Minimum-Policed-Unit";
    MAXIMUM_PACKET_SIZE = 500, "Maximum-Packet-Size";
    PHB_CLASS = 503, "PHB-Class";
    QOS_RESOURCES = 508, "QoS-Resources";
    FILTER_RULE = 509, "Filter-Rule";
    FILTER_RULE_PRECEDENCE = 510, "Filter-Rule-Precedence";
    CLASSIFIER = 511, "Classifier";
    CLASSIFIER_ID = 512, "Classifier-ID";
    PROTOCOL = 513, "Protocol";
    DIRECTION = 514, "Direction";
    FROM_SPEC = 515, "From-Spec";
    TO_SPEC = 516, "To-Spec";
    NEGATED = 517, "Negated";
    IP_ADDRESS = 518, "IP-Address";
    IP_ADDRESS_MASK = 522, "IP-Address-Mask";
    IP_MASK_BIT_MASK_WIDTH = 523, "IP-Mask-Bit-Mask-Width";
    PORT = 530, "Port";
    PORT_RANGE = 531, "Port-Range";
    PORT_START = 532, "Port-Start";
    PORT_END = 533, "Port-End";
    DIFFSERV_CODE_POINT = 535, "Diffserv-Code-Point";
    TREATMENT_ACTION = 572, "Treatment-Action";
    QOS_PROFILE_ID = 573, "QoS-Profile-Id";
    QOS_PROFILE_TEMPLATE = 574, "QoS-Profile-Template";
    QOS_SEMANTICS = 575, "QoS-Semantics";
    QOS_PARAMETERS = 576, "QoS-Parameters";
    EXCESS_TREATMENT = 577, "Excess-Treatment";
}

impl AvpCode {
    /// True if senders set the M flag: all known AVPs but those that are for people and logs (RFC 6733, 4.5).
    pub const fn is_sent_mandatory(self) -> bool {
        !matches!(
            self,
            Self::ERROR_MESSAGE | Self::PRODUCT_NAME | Self::FIRMWARE_REVISION | Self::ERROR_REPORTING_HOST
        )
    }
}

impl fmt::Display for AvpCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => write!(f, "{name} ({})", self.0),
            None => write!(f, "AVP {}", self.0),
        }
    }
}

/// An AVP in received bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Avp<'a> {
    /// Its code, which `vendor` qualifies.
    pub code: AvpCode,
    /// The vendor; 0 without one.
    pub vendor: u32,
    /// The M flag: who does not know the AVP must refuse the message.
    pub mandatory: bool,
    /// The obsolete P flag, which forwarders keep.
    pub protected: bool,
    /// The value, without padding.
    pub value: &'a [u8],
    /// Bytes from the start of the message to the AVP.
    pub offset: usize,
    /// How deep it is nested.
    pub(crate) depth: u8,
}

impl<'a> Avp<'a> {
    /// An error about this AVP.
    pub const fn error(&self, problem: Problem) -> DecodeError {
        DecodeError { offset: self.offset, avp: Some(self.code), problem }
    }

    /// True for the AVP of the RFCs with this code.
    pub fn is(&self, code: AvpCode) -> bool {
        self.vendor == 0 && self.code == code
    }

    /// The AVPs inside a grouped one.
    ///
    /// # Errors
    /// It is nested deeper than [`DEEPEST`].
    pub fn group(&self) -> Result<Avps<'a>, DecodeError> {
        if self.depth >= DEEPEST {
            return Err(self.error(Problem::Nesting));
        }
        let header = if self.vendor_flag() { HEADER_LEN + 4 } else { HEADER_LEN };
        let base = self.offset.saturating_add(header);
        Ok(Avps { bytes: self.value, offset: base, depth: self.depth.saturating_add(1), failed: false })
    }

    const fn vendor_flag(&self) -> bool {
        self.vendor != 0
    }
}

/// The AVPs in a message or a group, one after the other. After an error nothing more comes.
#[derive(Clone, Debug)]
pub struct Avps<'a> {
    bytes: &'a [u8],
    offset: usize,
    depth: u8,
    failed: bool,
}

impl<'a> Avps<'a> {
    /// The AVPs of a message, `bytes` being what follows its header, which ends `offset` bytes after its start.
    pub const fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, offset, depth: 0, failed: false }
    }

    /// Bytes from the start of the message to the next AVP.
    pub const fn offset(&self) -> usize {
        self.offset
    }

    fn read(&mut self) -> Result<Avp<'a>, DecodeError> {
        let error = |avp, problem| DecodeError { offset: self.offset, avp, problem };
        let Some((header, rest)) = self.bytes.split_first_chunk::<HEADER_LEN>() else {
            return Err(error(None, Problem::AvpLength));
        };
        let [a, b, c, d, flags, high, middle, low] = *header;
        let code = AvpCode(u32::from_be_bytes([a, b, c, d]));
        let len = u32::from_be_bytes([0, high, middle, low]) as usize;
        let (vendor, rest, header_len) = if flags & VENDOR != 0 {
            let Some((vendor, rest)) = rest.split_first_chunk() else {
                return Err(error(Some(code), Problem::AvpLength));
            };
            (u32::from_be_bytes(*vendor), rest, HEADER_LEN + 4)
        } else {
            (0, rest, HEADER_LEN)
        };
        // A vendor of zero says that there is none, and would be written without one.
        if flags & VENDOR != 0 && vendor == 0 || flags & !(VENDOR | MANDATORY | PROTECTED) != 0 {
            return Err(error(Some(code), Problem::AvpBits(flags)));
        }
        let value = len.checked_sub(header_len).and_then(|len| rest.split_at_checked(len));
        let Some((value, rest)) = value else { return Err(error(Some(code), Problem::AvpLength)) };
        let padding = len.wrapping_neg() & 3;
        // The padding of the last AVP of a group may be left out; that of a message is part of its length.
        let (padding_bytes, rest) = match rest.split_at_checked(padding) {
            Some(split) => split,
            None if rest.is_empty() && self.depth > 0 => (rest, rest),
            None => return Err(error(Some(code), Problem::AvpLength)),
        };
        let avp = Avp {
            code,
            vendor,
            mandatory: flags & MANDATORY != 0,
            protected: flags & PROTECTED != 0,
            value,
            offset: self.offset,
            depth: self.depth,
        };
        self.offset = self.offset.saturating_add(len).saturating_add(padding_bytes.len());
        self.bytes = rest;
        Ok(avp)
    }
}

impl<'a> Iterator for Avps<'a> {
    type Item = Result<Avp<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.failed || self.bytes.is_empty() {
            return None;
        }
        let read = self.read();
        self.failed = read.is_err();
        Some(read)
    }
}

/// An AVP that is kept although its place does not name it: not known and without the M flag, or known and not expected.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct OwnedAvp {
    /// Its code, which `vendor` qualifies.
    pub code: AvpCode,
    /// The vendor; 0 without one.
    pub vendor: u32,
    /// The M flag.
    pub mandatory: bool,
    /// The P flag.
    pub protected: bool,
    /// The value, without padding.
    pub value: Vec<u8>,
}

impl OwnedAvp {
    /// A copy of a received one.
    pub fn of(avp: &Avp<'_>) -> Self {
        Self {
            code: avp.code,
            vendor: avp.vendor,
            mandatory: avp.mandatory,
            protected: avp.protected,
            value: avp.value.to_vec(),
        }
    }

    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let flags = if self.mandatory { MANDATORY } else { 0 } | if self.protected { PROTECTED } else { 0 };
        write_avp(self.code, self.vendor, flags, out, |out| out.extend_from_slice(&self.value));
    }
}

/// Appends an AVP of the RFCs whose value `write` appends.
pub(crate) fn write_known(code: AvpCode, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let flags = if code.is_sent_mandatory() { MANDATORY } else { 0 };
    write_avp(code, 0, flags, out, write);
}

/// The length is filled in afterwards; one that does not fit is seen when the message is finished, since no AVP is longer
/// than its message.
fn write_avp(code: AvpCode, vendor: u32, flags: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&code.0.to_be_bytes());
    out.extend_from_slice(&[flags | if vendor != 0 { VENDOR } else { 0 }, 0, 0, 0]);
    if vendor != 0 {
        out.extend_from_slice(&vendor.to_be_bytes());
    }
    write(out);
    let len = out.len().saturating_sub(start);
    let [_, high, middle, low] = (len as u32).to_be_bytes();
    if let Some(place) = out.get_mut(start.saturating_add(5)..start.saturating_add(8)) {
        place.copy_from_slice(&[high, middle, low]);
    }
    out.resize(out.len().saturating_add(len.wrapping_neg() & 3), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn read(bytes: &[u8]) -> Result<Vec<OwnedAvp>, Problem> {
        Avps::new(bytes, 20)
            .map(|avp| avp.map(|avp| OwnedAvp::of(&avp)).map_err(|error| error.problem))
            .collect()
    }

    #[test]
    fn padding_vendor_and_flags_are_read_as_written() {
        let avps = [
            OwnedAvp { code: AvpCode(1), vendor: 0, mandatory: true, protected: false, value: vec![1, 2, 3] },
            OwnedAvp { code: AvpCode(2), vendor: 10415, mandatory: false, protected: true, value: vec![] },
            OwnedAvp { code: AvpCode(3), vendor: 0, mandatory: false, protected: false, value: vec![9; 4] },
        ];
        let mut bytes = Vec::new();
        avps.iter().for_each(|avp| avp.write(&mut bytes));
        let expected = [
            0, 0, 0, 1, 0x40, 0, 0, 11, 1, 2, 3, 0, // padded
            0, 0, 0, 2, 0xa0, 0, 0, 12, 0, 0, 0x28, 0xaf, //
            0, 0, 0, 3, 0, 0, 0, 12, 9, 9, 9, 9,
        ];
        assert_eq!(bytes, expected);
        assert_eq!(read(&bytes), Ok(avps.to_vec()));
    }

    #[test]
    fn lengths_and_flags_that_cannot_be_are_refused() {
        for len in 0..8 {
            assert_eq!(read(&[0, 0, 0, 1, 0, 0, 0, len]), Err(Problem::AvpLength), "{len}");
        }
        assert_eq!(read(&[0, 0, 0, 1, 0, 0, 0, 9]), Err(Problem::AvpLength));
        assert_eq!(
            read(&[0, 0, 0, 1, 0, 0, 0, 9, 7]),
            Err(Problem::AvpLength),
            "padding is part of a message"
        );
        assert_eq!(read(&[0, 0, 0, 1, 0x80, 0, 0, 8]), Err(Problem::AvpLength));
        assert_eq!(read(&[0, 0, 0, 1, 0x80, 0, 0, 8, 0, 0, 0, 1]), Err(Problem::AvpLength));
        assert_eq!(read(&[0, 0, 0, 1, 0x10, 0, 0, 8]), Err(Problem::AvpBits(0x10)));
        assert_eq!(read(&[0, 0, 0, 1, 0x80, 0, 0, 12, 0, 0, 0, 0]), Err(Problem::AvpBits(0x80)));
        assert_eq!(read(&[0; 7]), Err(Problem::AvpLength));
    }

    #[test]
    fn groups_end_at_the_deepest_level() {
        let mut bytes = Vec::new();
        for _ in 0..=DEEPEST {
            let inner = bytes;
            bytes = Vec::new();
            write_known(AvpCode::FAILED_AVP, &mut bytes, |out| out.extend_from_slice(&inner));
        }
        let mut avps = Avps::new(&bytes, 20);
        let mut depth = 0;
        let error = loop {
            match avps.next().unwrap().unwrap().group() {
                Ok(inner) => avps = inner,
                Err(error) => break error,
            }
            depth += 1;
        };
        assert_eq!((depth, error.problem), (DEEPEST, Problem::Nesting));
        assert_eq!(error.offset, 20 + 8 * usize::from(DEEPEST));
    }
}
