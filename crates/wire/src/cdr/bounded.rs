//! Strings and collections that cannot exceed a bound, which makes their greatest size a constant of the type.
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Deref;

use super::description::describe;
use super::{
    CdrType, DecodeError, Decoder, Description, EncodeError, Encoder, LengthCode, Sink, SizeBound, WString,
};

/// A value exceeds the bound of its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OverBound {
    /// Most elements of the type.
    pub bound: usize,
    /// Elements of the value.
    pub actual: usize,
}

impl fmt::Display for OverBound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} elements exceed the bound {}", self.actual, self.bound)
    }
}

impl core::error::Error for OverBound {}

/// A type that a bound can be set on, by a bounded type or by `#[dds(bound = N)]` on a member.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot have a bound",
    note = "bounds are for `String`, `WString`, `Vec` and `BTreeMap`"
)]
pub trait Boundable: CdrType {
    /// The type with a bound of `N` elements; its sizes are those of a bounded member.
    type Bounded<const N: usize>: CdrType;

    /// Elements, as the bound counts them: bytes of a string without its NUL, UTF-16 code units of a wide string,
    /// elements of a sequence, entries of a map.
    fn count(&self) -> usize;
}

/// A bounded type: its name and parameters, the limits of those, the type inside, what it is seen as, how its elements
/// are counted, and its sizes.
macro_rules! bounded {
    (
        $(#[$doc:meta])*
        $name:ident [$($param:ident)*] [$($limits:tt)*] $inner:ty as $seen:ty;
        $description:expr, $count:expr, $xcdr1:expr, $xcdr2:expr, $key_xcdr1:expr, $key_xcdr2:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name<$($param,)* const N: usize>($inner);

        impl<$($limits)* const N: usize> $name<$($param,)* N> {
            /// Nothing inside.
            pub fn new() -> Self {
                Self(<$inner as CdrType>::initial())
            }

            /// The value without its bound.
            pub fn into_inner(self) -> $inner {
                self.0
            }

            /// Changes the value. If it exceeds the bound afterwards it is refused, and nothing is left inside.
            pub fn modify<R>(&mut self, change: impl FnOnce(&mut $inner) -> R) -> Result<R, OverBound> {
                let mut inner = core::mem::replace(&mut self.0, <$inner as CdrType>::initial());
                let result = change(&mut inner);
                *self = Self::try_from(inner)?;
                Ok(result)
            }
        }

        impl<$($limits)* const N: usize> TryFrom<$inner> for $name<$($param,)* N> {
            type Error = OverBound;

            fn try_from(inner: $inner) -> Result<Self, OverBound> {
                let actual = Boundable::count(&inner);
                if actual > N { Err(OverBound { bound: N, actual }) } else { Ok(Self(inner)) }
            }
        }

        impl<$($param,)* const N: usize> Deref for $name<$($param,)* N> {
            type Target = $seen;

            fn deref(&self) -> &$seen {
                &self.0
            }
        }

        impl<$($limits)* const N: usize> CdrType for $name<$($param,)* N> {
            const DESCRIPTION: Description = $description;
            const LENGTH_CODE: LengthCode = <$inner as CdrType>::LENGTH_CODE;
            const SIZE_XCDR1: SizeBound = $xcdr1;
            const SIZE_XCDR2: SizeBound = $xcdr2;
            const KEY_SIZE_XCDR1: SizeBound = $key_xcdr1;
            const KEY_SIZE_XCDR2: SizeBound = $key_xcdr2;

            fn initial() -> Self {
                Self::new()
            }

            fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
                self.0.encode(encoder)
            }

            fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
                decoder.expect_bound(N);
                self.0.decode_into(decoder)
            }
        }

        impl<$($limits)*> Boundable for $inner {
            type Bounded<const N: usize> = $name<$($param,)* N>;

            fn count(&self) -> usize {
                $count(self)
            }
        }
    };
}

bounded! {
    /// A string of at most `N` bytes, the NUL at its end not counted.
    BoundedString [] [] String as str;
    Description::Text(Some(N as u32)), String::len, text(N), text(N), text(N), text(N)
}

bounded! {
    /// A wide string of at most `N` UTF-16 code units.
    BoundedWString [] [] WString as WString;
    Description::WideText(Some(N as u32)), |text: &WString| text.0.len(), wide(N), wide(N), wide(N), wide(N)
}

bounded! {
    /// A sequence of at most `N` elements.
    BoundedVec [T] [T: CdrType,] Vec<T> as [T];
    Description::Sequence(describe::<T>, Some(N as u32)),
    Vec::len,
    SizeBound::sequence(T::SIZE_XCDR1, Some(N), false),
    SizeBound::sequence(T::SIZE_XCDR2, Some(N), !T::PRIMITIVE),
    SizeBound::sequence(T::KEY_SIZE_XCDR1, Some(N), false),
    SizeBound::sequence(T::KEY_SIZE_XCDR2, Some(N), !T::PRIMITIVE)
}

bounded! {
    /// A map of at most `N` entries.
    BoundedMap [K V] [K: CdrType + Ord, V: CdrType,] BTreeMap<K, V> as BTreeMap<K, V>;
    Description::Map(describe::<K>, describe::<V>, Some(N as u32)),
    BTreeMap::len,
    SizeBound::sequence(K::SIZE_XCDR1.then(V::SIZE_XCDR1), Some(N), false),
    SizeBound::sequence(K::SIZE_XCDR2.then(V::SIZE_XCDR2), Some(N), !(K::PRIMITIVE && V::PRIMITIVE)),
    SizeBound::sequence(K::KEY_SIZE_XCDR1.then(V::KEY_SIZE_XCDR1), Some(N), false),
    SizeBound::sequence(K::KEY_SIZE_XCDR2.then(V::KEY_SIZE_XCDR2), Some(N), !(K::PRIMITIVE && V::PRIMITIVE))
}

const fn text(bound: usize) -> SizeBound {
    SizeBound::primitive(4, 4).then(SizeBound::primitive(1, 1).repeat(bound.saturating_add(1))).with_min(5)
}

const fn wide(bound: usize) -> SizeBound {
    SizeBound::sequence(SizeBound::primitive(2, 2), Some(bound), false)
}
