//! Tuples: final structures, whose members are `e0`, `e1` and so on where others are told of the type.
use super::description::{self, Description};
use super::{
    CdrType, DecodeError, Decoder, EncodeError, Encoder, Extensibility, LengthCode, Member, Sink, SizeBound,
};

macro_rules! tuple {
    ($($id:tt $name:literal $T:ident),+) => {
        impl<$($T: CdrType),+> CdrType for ($($T,)+) {
            const DESCRIPTION: Description = Description::Tuple(&[$(description::describe::<$T>),+]);
            const LENGTH_CODE: LengthCode = LengthCode::NextInt;
            const SIZE_XCDR1: SizeBound = SizeBound::EMPTY$(.then($T::SIZE_XCDR1))+;
            const SIZE_XCDR2: SizeBound = SizeBound::EMPTY$(.then($T::SIZE_XCDR2))+;
            const KEY_SIZE_XCDR1: SizeBound = SizeBound::EMPTY$(.then($T::KEY_SIZE_XCDR1))+;
            const KEY_SIZE_XCDR2: SizeBound = SizeBound::EMPTY$(.then($T::KEY_SIZE_XCDR2))+;

            fn initial() -> Self {
                ($($T::initial(),)+)
            }

            fn encode<S: Sink>(&self, encoder: &mut Encoder<S>) -> Result<(), EncodeError> {
                let aggregate = encoder.begin(Extensibility::Final)?;
                $(encoder.member(&aggregate, &element($name, $id), &self.$id)?;)+
                encoder.end(aggregate)
            }

            fn decode_into(&mut self, decoder: &mut Decoder<'_>) -> Result<(), DecodeError> {
                let part = decoder.begin(Extensibility::Final)?;
                $(decoder.member(&part, &element($name, $id), &mut self.$id)?;)+
                decoder.end(part);
                Ok(())
            }
        }
    };
}

const fn element(name: &'static str, id: u32) -> Member {
    Member { name, id, must_understand: false, bound: None }
}

tuple!(0 "e0" A);
tuple!(0 "e0" A, 1 "e1" B);
tuple!(0 "e0" A, 1 "e1" B, 2 "e2" C);
tuple!(0 "e0" A, 1 "e1" B, 2 "e2" C, 3 "e3" D);
tuple!(0 "e0" A, 1 "e1" B, 2 "e2" C, 3 "e3" D, 4 "e4" E);
tuple!(0 "e0" A, 1 "e1" B, 2 "e2" C, 3 "e3" D, 4 "e4" E, 5 "e5" F);
tuple!(0 "e0" A, 1 "e1" B, 2 "e2" C, 3 "e3" D, 4 "e4" E, 5 "e5" F, 6 "e6" G);
tuple!(0 "e0" A, 1 "e1" B, 2 "e2" C, 3 "e3" D, 4 "e4" E, 5 "e5" F, 6 "e6" G, 7 "e7" H);
