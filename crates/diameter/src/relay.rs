//! Requests for others: what a relay does with a message that it forwards (RFC 6733, 6.1.9 and 6.2).
//!
//! A relay sends the forwarded request by the peer that it chooses, with the place of the request as token, and the answer
//! back to that place. Bytes stay as they came but for the Route-Record and the hop-by-hop number.
use alloc::vec::Vec;

use crate::avp::{Avp, AvpCode, write_known};
use crate::error::DecodeError;
use crate::header::{Flags, LONGEST};
use crate::message::RawMessage;
use crate::result_code::ResultCode;
use crate::value::{Identity, Value};

/// Where a request wants to go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Destination {
    /// The realm; without it the request is for the peer itself.
    pub realm: Option<Identity>,
    /// The host, if one is named.
    pub host: Option<Identity>,
}

/// Reads where a request wants to go.
///
/// # Errors
/// What is wrong with the first AVP that cannot be read.
pub fn destination(request: &[u8]) -> Result<Destination, DecodeError> {
    let mut found = Destination { realm: None, host: None };
    for avp in RawMessage::read(request)?.avps() {
        let avp: Avp<'_> = avp?;
        if avp.is(AvpCode::DESTINATION_REALM) {
            found.realm = Some(Identity::read(&avp)?);
        } else if avp.is(AvpCode::DESTINATION_HOST) {
            found.host = Some(Identity::read(&avp)?);
        }
    }
    Ok(found)
}

/// The request as the relay `local` forwards it, which got it from the peer `from`: with one Route-Record more.
///
/// # Errors
/// The Result-Code to refuse it with: it was here before, agents may not forward it, it cannot be read, or it has become
/// too long.
pub fn forward(request: &[u8], from: &Identity, local: &Identity) -> Result<Vec<u8>, ResultCode> {
    let raw = RawMessage::read(request).map_err(|error| error.result_code())?;
    if !raw.header.flags.contains(Flags::REQUEST.with(Flags::PROXIABLE)) {
        return Err(ResultCode::UNABLE_TO_DELIVER);
    }
    for avp in raw.avps() {
        let avp = avp.map_err(|error| error.result_code())?;
        if avp.is(AvpCode::ROUTE_RECORD)
            && Identity::read(&avp).map_err(|error| error.result_code())? == *local
        {
            return Err(ResultCode::LOOP_DETECTED);
        }
    }
    let mut out = request.to_vec();
    write_known(AvpCode::ROUTE_RECORD, &mut out, |out| from.write(out));
    if out.len() > LONGEST {
        return Err(ResultCode::INVALID_MESSAGE_LENGTH);
    }
    let [_, high, middle, low] = (out.len() as u32).to_be_bytes();
    if let Some(place) = out.get_mut(1..4) {
        place.copy_from_slice(&[high, middle, low]);
    }
    Ok(out)
}
