//! Strings of UTF-8 and of UTF-16 (XTypes 1.3, 7.4.1.1.2).
use alloc::string::String;
use alloc::vec::Vec;

use super::{
    CdrType, DecodeError, DecodeFault, Decoder, Description, EncodeError, EncodeFault, Encoder, LengthCode,
    Sink, SizeBound,
};

/// A string of UTF-16 code units (IDL `wstring`). On the wire it is its length in bytes and the code units, without
/// NUL, in both versions of CDR.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct WString(pub Vec<u16>);

impl WString {
    /// The text, with U+FFFD for what is no valid UTF-16.
    pub fn to_string_lossy(&self) -> String {
        String::from_utf16_lossy(&self.0)
    }
}

impl From<&str> for WString {
    fn from(text: &str) -> Self {
        Self(text.encode_utf16().collect())
    }
}

impl CdrType for String {
    const DESCRIPTION: Description = Description::Text(None);
    const LENGTH_CODE: LengthCode = LengthCode::OwnOctets;
    const SIZE_XCDR1: SizeBound = SizeBound::UNBOUNDED.with_min(5);
    const SIZE_XCDR2: SizeBound = SizeBound::UNBOUNDED.with_min(5);

    fn initial() -> Self {
        Self::new()
    }

    fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        if self.as_bytes().contains(&0) {
            return Err(encoder.error(EncodeFault::EmbeddedNul));
        }
        encoder.length(self.len().saturating_add(1))?;
        encoder.octets(self.as_bytes())?;
        encoder.octets(&[0])
    }

    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let bound = decoder.take_bound();
        let len = decoder.u32()? as usize;
        decoder.check_bound(bound, len.saturating_sub(1))?;
        let at = decoder.position();
        let error = |fault| DecodeError { fault, at, member: None };
        let Some((&0, bytes)) = decoder.octets(len)?.split_last() else {
            return Err(error(DecodeFault::MissingNul));
        };
        if bytes.contains(&0) {
            return Err(error(DecodeFault::EmbeddedNul));
        }
        let text = core::str::from_utf8(bytes).map_err(|_| error(DecodeFault::NotUtf8))?;
        self.clear();
        self.push_str(text);
        Ok(())
    }
}

impl CdrType for WString {
    const DESCRIPTION: Description = Description::WideText(None);
    const LENGTH_CODE: LengthCode = LengthCode::OwnOctets;
    const SIZE_XCDR1: SizeBound = SizeBound::UNBOUNDED.with_min(4);
    const SIZE_XCDR2: SizeBound = SizeBound::UNBOUNDED.with_min(4);

    fn initial() -> Self {
        Self::default()
    }

    fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
        if self.0.contains(&0) {
            return Err(encoder.error(EncodeFault::EmbeddedNul));
        }
        encoder.length(self.0.len().saturating_mul(2))?;
        u16::encode_slice(&self.0, encoder)
    }

    fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
        let bound = decoder.take_bound();
        let len = decoder.u32()? as usize;
        if !len.is_multiple_of(2) {
            return Err(decoder.error(DecodeFault::OddWideString));
        }
        decoder.check_bound(bound, len / 2)?;
        let at = decoder.position();
        u16::decode_vec(&mut self.0, len / 2, decoder)?;
        if self.0.contains(&0) {
            return Err(DecodeError { fault: DecodeFault::EmbeddedNul, at, member: None });
        }
        Ok(())
    }
}
