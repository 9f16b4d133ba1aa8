//! What messages and grouped AVPs have in common: named AVPs that occur once, at most once or often, and others that are kept.
use alloc::vec::Vec;

use crate::avp::{Avp, AvpCode, Avps, OwnedAvp, write_known};
use crate::error::{DecodeError, Problem};
use crate::value::Value;

/// How often an AVP that may be repeated is taken in one message or group.
pub const MOST_REPEATED: usize = 256;

/// A list of AVPs with a grammar.
pub trait Structure: Sized {
    /// Reads all AVPs.
    ///
    /// # Errors
    /// What is wrong with the first AVP that is not as the grammar says.
    fn read_avps(avps: Avps<'_>) -> Result<Self, DecodeError>;
    /// Appends all AVPs, in the order of the grammar.
    fn write_avps(&self, out: &mut Vec<u8>);
}

/// An AVP that the grammar does not name: known ones and those without the M flag are kept.
pub(crate) fn keep(avp: &Avp<'_>, other: &mut Vec<OwnedAvp>) -> Result<(), DecodeError> {
    if avp.mandatory && (avp.vendor != 0 || avp.code.name().is_none()) {
        return Err(avp.error(Problem::Unsupported));
    }
    other.push(OwnedAvp::of(avp));
    Ok(())
}

pub(crate) fn take_one<T: Value>(place: &mut Option<T>, avp: &Avp<'_>) -> Result<(), DecodeError> {
    if place.is_some() {
        return Err(avp.error(Problem::TooMany));
    }
    *place = Some(T::read(avp)?);
    Ok(())
}

pub(crate) fn take_many<T: Value>(place: &mut Vec<T>, avp: &Avp<'_>) -> Result<(), DecodeError> {
    if place.len() >= MOST_REPEATED {
        return Err(avp.error(Problem::TooMany));
    }
    place.push(T::read(avp)?);
    Ok(())
}

pub(crate) fn required<T>(place: Option<T>, code: AvpCode, offset: usize) -> Result<T, DecodeError> {
    place.ok_or(DecodeError { offset, avp: Some(code), problem: Problem::Missing })
}

pub(crate) fn put<T: Value>(value: &T, code: AvpCode, out: &mut Vec<u8>) {
    write_known(code, out, |out| value.write(out));
}

/// The type of a field: `one` occurs once, `maybe` at most once, `many` as often as it is there.
macro_rules! field {
    (type one $type:ty) => { $type };
    (type maybe $type:ty) => { Option<$type> };
    (type many $type:ty) => { alloc::vec::Vec<$type> };
    (place one $type:ty) => { None::<$type> };
    (place maybe $type:ty) => { None::<$type> };
    (place many $type:ty) => { alloc::vec::Vec::<$type>::new() };
    (take many $place:ident $avp:ident) => { $crate::structure::take_many(&mut $place, &$avp)? };
    (take $kind:ident $place:ident $avp:ident) => { $crate::structure::take_one(&mut $place, &$avp)? };
    (end one $place:ident $code:ident $start:ident) => {
        $crate::structure::required($place, $crate::avp::AvpCode::$code, $start)?
    };
    (end $kind:ident $place:ident $code:ident $start:ident) => { $place };
    (put one $value:expr, $code:ident $out:ident) => {
        $crate::structure::put(&$value, $crate::avp::AvpCode::$code, $out)
    };
    (put $kind:ident $value:expr, $code:ident $out:ident) => {
        $value.iter().for_each(|value| $crate::structure::put(value, $crate::avp::AvpCode::$code, $out))
    };
}
pub(crate) use field;

/// Structures with their grammar, read and written. Each is also the value of a grouped AVP.
macro_rules! structures {
    ($($(#[$about:meta])* $name:ident {
        $($(#[$doc:meta])* $kind:ident $code:ident $field:ident: $type:ty,)*
    })*) => {
        $(
            $(#[$about])*
            #[derive(Clone, PartialEq, Eq, Hash, Debug)]
            pub struct $name {
                $($(#[$doc])* pub $field: $crate::structure::field!(type $kind $type),)*
                /// AVPs that are kept although the grammar does not name them.
                pub other: alloc::vec::Vec<$crate::avp::OwnedAvp>,
            }
            impl $crate::structure::Structure for $name {
                fn read_avps(avps: $crate::avp::Avps<'_>) -> Result<Self, $crate::error::DecodeError> {
                    let _start = avps.offset();
                    $(let mut $field = $crate::structure::field!(place $kind $type);)*
                    let mut other = alloc::vec::Vec::new();
                    for avp in avps {
                        let avp = avp?;
                        match (avp.vendor, avp.code) {
                            $((0, $crate::avp::AvpCode::$code) => {
                                $crate::structure::field!(take $kind $field avp);
                            })*
                            _ => $crate::structure::keep(&avp, &mut other)?,
                        }
                    }
                    Ok(Self {
                        $($field: $crate::structure::field!(end $kind $field $code _start),)*
                        other,
                    })
                }
                fn write_avps(&self, out: &mut alloc::vec::Vec<u8>) {
                    $($crate::structure::field!(put $kind self.$field, $code out);)*
                    self.other.iter().for_each(|avp| avp.write(out));
                }
            }
            impl $crate::value::Value for $name {
                fn read(avp: &$crate::avp::Avp<'_>) -> Result<Self, $crate::error::DecodeError> {
                    $crate::structure::Structure::read_avps(avp.group()?)
                }
                fn write(&self, out: &mut alloc::vec::Vec<u8>) {
                    $crate::structure::Structure::write_avps(self, out);
                }
            }
        )*
    };
}
pub(crate) use structures;
