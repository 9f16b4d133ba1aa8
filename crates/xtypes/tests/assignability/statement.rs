//! The rules of XTypes 1.3, 7.2.4, stated once more over the trees of this test: shares no code with what it judges.
use std::cell::RefCell;

use wire::cdr::Extensibility;
use wire::qos::TypeConsistency;
use wire::schema::Primitive;

use crate::model::{self, Choice, Field, Model, Part};

/// How the statement is to be read.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) policy: TypeConsistency,
    pub xcdr2: bool,
}

/// The same, of two types whose structures are in tables.
struct Sides<'a> {
    policy: TypeConsistency,
    xcdr2: bool,
    read: &'a [Model],
    written: &'a [Model],
    /// What is being asked: of structures in themselves everything is true that nothing speaks against.
    asked: RefCell<Vec<(usize, usize, Whose)>>,
}

/// What stands for a structure.
fn open<'a>(of: &'a Model, table: &'a [Model]) -> &'a Model {
    match of {
        Model::Known(at) => &table[*at],
        other => other,
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Whose {
    Sample,
    Erased,
    Holder,
}

/// What is written as `written` may be read as `read`.
pub(crate) fn fits(read: &Model, written: &Model, reading: Reading) -> bool {
    let (read, written) = (model::table(read), model::table(written));
    let Reading { policy, xcdr2 } = reading;
    let sides = Sides { policy, xcdr2, read: &read, written: &written, asked: RefCell::default() };
    let whole = |table: &[Model]| Model::Known(table.len() - 1);
    let (one, other) = (whole(&read), whole(&written));
    if !policy.allow_type_coercion {
        return equal(&one, &other, &sides);
    }
    assignable(&one, &other, &sides, Whose::Sample)
}

/// Types whose minimal type objects are the same. A member of the key is one that must be understood.
fn equal(read: &Model, written: &Model, sides: &Sides<'_>) -> bool {
    normal(read, sides.read, &mut Vec::new()) == normal(written, sides.written, &mut Vec::new())
}

/// The type as a tree, in which a structure that is around stands for how far out it is.
fn normal(of: &Model, table: &[Model], around: &mut Vec<usize>) -> Model {
    if let Model::Known(at) = of {
        if let Some(out) = around.iter().rev().position(|known| known == at) {
            return Model::Again(out);
        }
        around.push(*at);
        let of = normal(&table[*at], table, around);
        around.pop();
        return of;
    }
    let mut inner = |of: &Model| Box::new(normal(of, table, around));
    match of {
        Model::Sequence(element, bound) => Model::Sequence(inner(element), *bound),
        Model::Array(element, dimensions) => Model::Array(inner(element), dimensions.clone()),
        Model::Map(key, value, bound) => Model::Map(inner(key), inner(value), *bound),
        Model::Struct(extensibility, members) => {
            let mut member = |of: &Part| Part {
                ty: *inner(&of.ty),
                must_understand: of.must_understand || of.key,
                ..of.clone()
            };
            Model::Struct(*extensibility, members.iter().map(&mut member).collect())
        }
        Model::Union(extensibility, discriminator, key, cases) => {
            let discriminator = inner(discriminator);
            let mut case = |of: &Choice| {
                let mut labels = of.labels.clone();
                labels.sort_unstable();
                Choice { ty: *inner(&of.ty), labels, ..of.clone() }
            };
            Model::Union(*extensibility, discriminator, *key, cases.iter().map(&mut case).collect())
        }
        Model::Enumeration(extensibility, bits, literals) => {
            let mut literals = literals.clone();
            literals.sort_by_key(|(_, value)| *value);
            Model::Enumeration(*extensibility, *bits, literals)
        }
        other => other.clone(),
    }
}

fn wide(bound: Option<u32>) -> u32 {
    bound.unwrap_or(u32::MAX)
}

const fn holder(bits: u8) -> u8 {
    match bits {
        0..=8 => 1,
        9..=16 => 2,
        17..=32 => 4,
        _ => 8,
    }
}

/// Values of what is written.
fn ends_itself(of: &Model, sides: &Sides<'_>) -> bool {
    match open(of, sides.written) {
        Model::Sequence(element, _) | Model::Array(element, _) => ends_itself(element, sides),
        Model::Map(key, value, _) => ends_itself(key, sides) && ends_itself(value, sides),
        Model::Struct(extensibility, _) | Model::Union(extensibility, ..) => match extensibility {
            Extensibility::Final => false,
            Extensibility::Appendable => sides.xcdr2,
            Extensibility::Mutable => true,
        },
        _ => true,
    }
}

fn strongly(read: &Model, written: &Model, reading: &Sides<'_>) -> bool {
    equal(read, written, reading)
        || ends_itself(written, reading) && assignable(read, written, reading, Whose::Sample)
}

fn assignable(read: &Model, written: &Model, reading: &Sides<'_>, whose: Whose) -> bool {
    if equal(read, written, reading) {
        return true;
    }
    if let (Model::Known(one), Model::Known(other)) = (read, written) {
        let question = (*one, *other, whose);
        if reading.asked.borrow().contains(&question) {
            return true;
        }
        reading.asked.borrow_mut().push(question);
        let answer = assignable_now(&reading.read[*one], &reading.written[*other], reading, whose);
        reading.asked.borrow_mut().pop();
        return answer;
    }
    assignable_now(open(read, reading.read), open(written, reading.written), reading, whose)
}

fn assignable_now(read: &Model, written: &Model, reading: &Sides<'_>, whose: Whose) -> bool {
    match (read, written) {
        (Model::Bitset(ours), Model::Bitset(theirs)) => {
            let names = !reading.policy.ignore_member_names;
            let same = |a: &Field, b: &Field| (a.1, a.2, a.3) == (b.1, b.2, b.3) && (!names || a.0 == b.0);
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(a, b)| same(a, b))
        }
        (Model::Bitmask(one), Model::Bitmask(other)) => one == other,
        (Model::Bitmask(bits), Model::Primitive(kind)) | (Model::Primitive(kind), Model::Bitmask(bits)) => {
            matches!(
                (holder(*bits), kind),
                (1, Primitive::U8) | (2, Primitive::U16) | (4, Primitive::U32) | (8, Primitive::U64)
            )
        }
        (Model::Text(one), Model::Text(other)) => {
            reading.policy.ignore_string_bounds || wide(*one) >= wide(*other)
        }
        (Model::Sequence(one, most), Model::Sequence(other, most_written)) => {
            (reading.policy.ignore_sequence_bounds || wide(*most) >= wide(*most_written))
                && strongly(one, other, reading)
        }
        (Model::Map(key, one, most), Model::Map(written_key, other, most_written)) => {
            (reading.policy.ignore_sequence_bounds || wide(*most) >= wide(*most_written))
                && strongly(key, written_key, reading)
                && strongly(one, other, reading)
        }
        (Model::Array(one, size), Model::Array(other, size_written)) => {
            size == size_written && strongly(one, other, reading)
        }
        (Model::Enumeration(how, bits, ours), Model::Enumeration(how_written, bits_written, theirs)) => {
            let conflict = |a: &(String, i64), b: &(String, i64)| (a.0 == b.0) != (a.1 == b.1);
            how == how_written
                && holder(*bits) == holder(*bits_written)
                && !ours.iter().any(|a| theirs.iter().any(|b| conflict(a, b)))
                && (*how != Extensibility::Final
                    || ours.len() == theirs.len() && ours.iter().all(|literal| theirs.contains(literal)))
        }
        (Model::Struct(how, ours), Model::Struct(how_written, theirs)) => {
            how == how_written && structures(*how, ours, theirs, reading, whose)
        }
        (Model::Union(how, one, key, ours), Model::Union(how_written, other, key_written, theirs)) => {
            how == how_written
                && (whose == Whose::Erased || key == key_written)
                && strongly(one, other, reading)
                && unions(*how, ours, theirs, reading, whose)
        }
        _ => false,
    }
}

fn structures(how: Extensibility, ours: &[Part], theirs: &[Part], reading: &Sides<'_>, whose: Whose) -> bool {
    let narrowed = |of: &[Part]| -> Vec<Part> {
        if whose != Whose::Holder {
            return of.to_vec();
        }
        // Without marks every member is part of the key.
        let keyed = of.iter().any(|member| member.key);
        let parts = of.iter().filter(|member| !keyed || member.key);
        parts.map(|member| Part { key: true, ..member.clone() }).collect()
    };
    let (ours, theirs) = (narrowed(ours), narrowed(theirs));
    let pairs = || ours.iter().flat_map(|a| theirs.iter().map(move |b| (a, b)));
    if !reading.policy.ignore_member_names && pairs().any(|(a, b)| (a.id == b.id) != (a.name == b.name)) {
        return false;
    }
    let twins: Vec<(&Part, &Part)> = pairs().filter(|(a, b)| a.id == b.id).collect();
    if twins.is_empty() {
        return false;
    }
    let counts = |a: &Part, b: &Part| {
        if whose == Whose::Erased {
            return true;
        }
        a.key == b.key
            && (whose != Whose::Holder || a.optional == b.optional)
            && (!a.key || every_value_is_a_key(&a.ty, &b.ty, reading))
    };
    if !twins.iter().all(|(a, b)| assignable(&a.ty, &b.ty, reading, Whose::Erased) && counts(a, b)) {
        return false;
    }
    let lonely = |some: &[Part], others: &[Part]| -> Vec<Part> {
        some.iter().filter(|a| others.iter().all(|b| b.id != a.id)).cloned().collect()
    };
    let (only_ours, only_theirs) = (lonely(&ours, &theirs), lonely(&theirs, &ours));
    let needed =
        |of: &Part| ((of.must_understand || of.key) && !of.optional) || (of.key && whose != Whose::Erased);
    if only_ours.iter().chain(&only_theirs).any(needed) {
        return false;
    }
    if reading.policy.prevent_type_widening && only_ours.iter().any(|of| !of.optional) {
        return false;
    }
    if how == Extensibility::Mutable {
        return true;
    }
    if how == Extensibility::Final && !(only_ours.is_empty() && only_theirs.is_empty()) {
        return false;
    }
    ours.iter()
        .zip(&theirs)
        .all(|(a, b)| a.id == b.id && a.optional == b.optional && strongly(&a.ty, &b.ty, reading))
}

fn every_value_is_a_key(read: &Model, written: &Model, reading: &Sides<'_>) -> bool {
    match (open(read, reading.read), open(written, reading.written)) {
        (Model::Text(one), Model::Text(other)) => wide(*one) >= wide(*other),
        (Model::Sequence(one, most), Model::Sequence(other, most_written)) => {
            wide(*most) >= wide(*most_written) && every_value_is_a_key(one, other, reading)
        }
        (Model::Array(one, _), Model::Array(other, _)) => every_value_is_a_key(one, other, reading),
        (Model::Map(key, one, most), Model::Map(other_key, other, most_written)) => {
            wide(*most) >= wide(*most_written)
                && every_value_is_a_key(key, other_key, reading)
                && every_value_is_a_key(one, other, reading)
        }
        (Model::Enumeration(_, _, ours), Model::Enumeration(_, _, theirs)) => {
            theirs.iter().all(|(_, value)| ours.iter().any(|(_, known)| known == value))
        }
        (Model::Struct(..), Model::Struct(..)) | (Model::Union(..), Model::Union(..)) => {
            assignable(read, written, reading, Whose::Holder)
        }
        _ => true,
    }
}

fn unions(how: Extensibility, ours: &[Choice], theirs: &[Choice], reading: &Sides<'_>, whose: Whose) -> bool {
    let names = !reading.policy.ignore_member_names;
    let pairs = || ours.iter().flat_map(|a| theirs.iter().map(move |b| (a, b)));
    if names && pairs().any(|(a, b)| (a.id == b.id) != (a.name == b.name)) {
        return false;
    }
    let labels = |of: &[Choice]| {
        let mut labels: Vec<i64> = of.iter().flat_map(|case| case.labels.clone()).collect();
        labels.sort_unstable();
        labels
    };
    let default = |of: &[Choice]| of.iter().find(|case| case.default).cloned();
    let (mine, their) = (labels(ours), labels(theirs));
    let (our_default, their_default) = (default(ours), default(theirs));
    let fixed = how == Extensibility::Final || reading.policy.prevent_type_widening;
    if fixed && (mine != their || our_default.is_some() != their_default.is_some()) {
        return false;
    }
    if !fixed && !mine.iter().any(|label| their.contains(label)) {
        return false;
    }
    let selected = |of: &[Choice], label: i64| {
        of.iter().find(|case| case.labels.contains(&label)).cloned().or_else(|| default(of))
    };
    let keyed = whose == Whose::Holder;
    let both = |a: Option<Choice>, b: Option<Choice>| match (a, b) {
        // What is read of a mutable union is looked for by its id.
        (Some(a), Some(b)) => {
            (how != Extensibility::Mutable || a.id == b.id)
                && assignable(&a.ty, &b.ty, reading, Whose::Erased)
                && (!keyed || every_value_is_a_key(&a.ty, &b.ty, reading))
        }
        (None, Some(_)) => !keyed,
        _ => true,
    };
    mine.iter().chain(&their).all(|label| both(selected(ours, *label), selected(theirs, *label)))
        && both(our_default, their_default)
}
