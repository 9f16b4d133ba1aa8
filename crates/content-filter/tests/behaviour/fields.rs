//! Random samples: each field that a path names has the value that was written, whatever lies before and behind it.
use std::sync::Arc;

use content_filter::{ContentFilter, Limits, Outcome, SampleType};
use testkit::random::Random;
use testkit::types::{ENCODINGS, Flags, Gear};
use wire::cdr::{Char8, Char16, DdsType, WString};

pub(crate) fn sample_type<T: DdsType>() -> SampleType {
    let (schema, index) = wire::schema::of(T::DESCRIPTION).unwrap();
    SampleType::new(Arc::new(schema), index)
}

/// The literal of a value that a path names; `None` if the sample has none.
type Expected = Vec<(String, Option<String>)>;

macro_rules! types {
    ($module:ident) => {
        mod $module {
            use testkit::types::$module::{Choice, Rich, Small};

            use super::*;

            fn small(random: &mut Random) -> Small {
                Small { x: random.bits().cast_signed(), y: (!random.one_in(2)).then(|| random.bits() as u8) }
            }

            fn choice(random: &mut Random) -> Choice {
                match random.below(3) {
                    0 => Choice::One(random.bits() as u16),
                    1 => Choice::Small(small(random)),
                    _ => {
                        let values = list(random, |random| f64::from(random.bits() as i32) / 8.0);
                        Choice::Other(values.try_into().unwrap())
                    }
                }
            }

            pub(super) fn sample(random: &mut Random) -> Rich {
                Rich {
                    name: text(random),
                    bytes: list(random, |random| random.bits() as u8),
                    words: list(random, |random| random.bits() as u32),
                    longs: list(random, Random::bits),
                    names: list(random, text),
                    smalls: list(random, small),
                    choices: list(random, choice),
                    map: list(random, |random| (random.bits() as u16, text(random))).into_iter().collect(),
                    wide: WString::from(text(random).as_str()),
                    wider: WString::from(text(random).as_str()),
                    deep: list(random, |random| list(random, |random| random.bits() as i16)),
                    double: f64::from(random.bits() as i32) / 16.0,
                    numbers: [0; 3].map(|_| random.bits() as u16),
                    matrix: [[0; 2]; 3].map(|row| row.map(|_: i32| random.bits() as i32)),
                    smaller: [small(random), small(random)],
                    gear: gear(random),
                    gears: list(random, gear),
                    flags: Flags(random.bits() as u16 & 0xfff),
                    letter: Char8(b'a' + random.below(26) as u8),
                    sign: Char16(0x3b1 + random.below(20) as u16),
                    yes: random.one_in(2),
                    single: random.bits() as i16 as f32 / 4.0,
                    perhaps: (!random.one_in(2)).then(|| random.bits() as i16 as f32 / 4.0),
                    large: random.bits(),
                    tiny: random.bits() as i8,
                    doubles: list(random, |random| f64::from(random.bits() as i32) / 2.0),
                    far: random.bits() as u32,
                    maybe: (!random.one_in(2)).then(|| small(random)),
                    choice: choice(random),
                    never: (!random.one_in(2)).then(|| text(random)),
                }
            }

            fn add_small(out: &mut Expected, path: &str, small: Option<&Small>) {
                out.push((format!("{path}.x"), small.map(|small| small.x.to_string())));
                out.push((format!("{path}.y"), small.and_then(|small| small.y).map(|y| y.to_string())));
            }

            fn add_choice(out: &mut Expected, path: &str, choice: Option<&Choice>) {
                let (mut one, mut inner, mut other) = (None, None, None);
                match choice {
                    Some(Choice::One(value)) => one = Some(value.to_string()),
                    Some(Choice::Small(small)) => inner = Some(small),
                    Some(Choice::Other(values)) => other = values.get(1).map(|value| format!("{value:?}")),
                    None => {}
                }
                out.push((format!("{path}.One"), one));
                add_small(out, &format!("{path}.Small"), inner);
                out.push((format!("{path}.Other[1]"), other));
                if !matches!(choice, Some(Choice::Other(_))) {
                    let label = choice.map(|choice| if let Choice::One(_) = choice { 1 } else { 2 });
                    out.push((format!("{path}._d"), label.map(|label| label.to_string())));
                }
            }

            pub(super) fn expected(of: &Rich) -> Expected {
                let mut out = vec![
                    ("name".to_owned(), Some(quoted(&of.name))),
                    ("bytes[2]".to_owned(), of.bytes.get(2).map(ToString::to_string)),
                    ("words[1]".to_owned(), of.words.get(1).map(ToString::to_string)),
                    ("longs[0]".to_owned(), of.longs.first().map(ToString::to_string)),
                    ("longs[2]".to_owned(), of.longs.get(2).map(ToString::to_string)),
                    ("names[1]".to_owned(), of.names.get(1).map(|name| quoted(name))),
                    ("wide".to_owned(), Some(quoted(&of.wide.to_string_lossy()))),
                    ("wider".to_owned(), Some(quoted(&of.wider.to_string_lossy()))),
                    (
                        "deep[1][1]".to_owned(),
                        of.deep.get(1).and_then(|row| row.get(1)).map(ToString::to_string),
                    ),
                    ("double".to_owned(), Some(format!("{:?}", of.double))),
                    ("numbers[1]".to_owned(), Some(of.numbers[1].to_string())),
                    ("matrix[2][0]".to_owned(), Some(of.matrix[2][0].to_string())),
                    ("matrix[0][1]".to_owned(), Some(of.matrix[0][1].to_string())),
                    ("gear".to_owned(), Some(format!("'{:?}'", of.gear))),
                    ("gears[1]".to_owned(), of.gears.get(1).map(|gear| format!("'{gear:?}'"))),
                    ("flags".to_owned(), Some(of.flags.0.to_string())),
                    ("letter".to_owned(), Some(format!("'{}'", char::from(of.letter.0)))),
                    ("sign".to_owned(), Some(format!("'{}'", char::from_u32(of.sign.0.into()).unwrap()))),
                    ("yes".to_owned(), Some(of.yes.to_string().to_uppercase())),
                    ("single".to_owned(), Some(format!("{:?}", of.single))),
                    ("perhaps".to_owned(), of.perhaps.map(|single| format!("{single:?}"))),
                    ("large".to_owned(), Some(of.large.to_string())),
                    ("tiny".to_owned(), Some(of.tiny.to_string())),
                    ("doubles[2]".to_owned(), of.doubles.get(2).map(|double| format!("{double:?}"))),
                    ("far".to_owned(), Some(of.far.to_string())),
                    ("never".to_owned(), of.never.as_deref().map(quoted)),
                ];
                add_small(&mut out, "smalls[1]", of.smalls.get(1));
                add_small(&mut out, "smaller[1]", Some(&of.smaller[1]));
                add_small(&mut out, "maybe", of.maybe.as_ref());
                add_choice(&mut out, "choices[1]", of.choices.get(1));
                add_choice(&mut out, "choice", Some(&of.choice));
                out
            }

            #[test]
            fn every_field_is_found_as_it_was_written() {
                let ty = sample_type::<Rich>();
                for case in tiers::current().seeds("content.samples") {
                    let mut random = Random::new(case);
                    let of = sample(&mut random);
                    let wanted = expected(&of);
                    for encoding in ENCODINGS {
                        let mut payload = Vec::new();
                        of.encode_payload(encoding, &mut payload).unwrap();
                        check(&ty, &payload, &wanted, &mut random, &format!("case {case}, {encoding:?}"));
                    }
                }
            }
        }
    };
}

types!(finals);
types!(appendables);
types!(mutables);

fn quoted(text: &str) -> String {
    format!("'{text}'")
}

fn text(random: &mut Random) -> String {
    (0..random.below(5)).map(|_| *random.pick(&['a', 'b', 'é', '漢', '🦀', ' ']).unwrap()).collect()
}

fn list<T>(random: &mut Random, mut item: impl FnMut(&mut Random) -> T) -> Vec<T> {
    (0..random.below(4)).map(|_| item(random)).collect()
}

fn gear(random: &mut Random) -> Gear {
    *random.pick(&[Gear::Reverse, Gear::Neutral, Gear::First]).unwrap()
}

/// Each field by itself, and several at once: an expression that all of them make true, and one that the last of them makes false.
fn check(ty: &SampleType, payload: &[u8], wanted: &Expected, random: &mut Random, what: &str) {
    let judge = |text: &str| {
        let none: [&str; 0] = [];
        let filter = ContentFilter::new(ty.clone(), text, &none, &Limits::OWN);
        filter.unwrap_or_else(|error| panic!("{text}: {error}")).judge(payload)
    };
    for (path, value) in wanted {
        // A field that is missing makes both untrue.
        let literal = value.as_deref();
        let other = if path.ends_with("name")
            || path.starts_with("names")
            || path.starts_with("wide")
            || path == "never"
        {
            "'z'"
        } else if path.starts_with("gear") {
            "'Neutral'"
        } else if path == "yes" {
            "TRUE"
        } else if path == "letter" || path == "sign" {
            "'a'"
        } else {
            "0"
        };
        let (equal, different) = match literal {
            Some(literal) => (format!("{path} = {literal}"), format!("{path} <> {literal}")),
            None => (format!("{path} = {other}"), format!("{path} <> {other}")),
        };
        let outcome = if literal.is_some() { Outcome::Passes } else { Outcome::Filtered };
        assert_eq!(judge(&equal), outcome, "{equal}: {what}");
        assert_eq!(judge(&different), Outcome::Filtered, "{different}: {what}");
    }
    let there: Vec<_> = wanted.iter().filter_map(|(path, value)| Some((path, value.as_ref()?))).collect();
    let chosen: Vec<_> = (0..4).map(|_| *random.pick(&there).unwrap()).collect();
    let all: Vec<_> = chosen.iter().map(|(path, value)| format!("{path} = {value}")).collect();
    let (last, but) = all.split_last().unwrap();
    assert_eq!(judge(&all.join(" AND ")), Outcome::Passes, "{all:?}: {what}");
    assert_eq!(judge(&format!("{} AND NOT {last}", but.join(" AND "))), Outcome::Filtered, "{all:?}: {what}");
}
