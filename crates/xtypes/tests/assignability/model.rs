//! Types as trees: made at random, changed at random as developers change them, and turned into schemas.
use wire::cdr::Extensibility;
use wire::schema::{
    Bitfield, Bitmask, Bitset, Case, Definition, Enumeration, Member, Primitive, Remarks, Schema, Struct,
    TryConstruct, Type, TypeIndex, Union,
};

/// SplitMix64.
pub(crate) struct Random(testkit::random::Random);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(testkit::random::Random::new(seed))
    }

    pub(crate) fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0.below_u64(limit as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Model {
    Primitive(Primitive),
    Text(Option<u32>),
    Sequence(Box<Model>, Option<u32>),
    Array(Box<Model>, Vec<u32>),
    Map(Box<Model>, Box<Model>, Option<u32>),
    Enumeration(Extensibility, u8, Vec<(String, i64)>),
    Bitmask(u8),
    Struct(Extensibility, Vec<Part>),
    Union(Extensibility, Box<Model>, bool, Vec<Choice>),
    /// Fields: name, least bit, bits, type.
    Bitset(Vec<Field>),
    /// The structure around this one, so many structures further out.
    Again(usize),
    /// A structure of a table: see [`table`].
    Known(usize),
    /// Where [`unrolled`] ends: no value has it.
    Nothing,
}

pub(crate) type Field = (String, u8, u8, Primitive);

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) id: u32,
    pub(crate) ty: Model,
    pub(crate) key: bool,
    pub(crate) optional: bool,
    pub(crate) must_understand: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Choice {
    pub(crate) name: String,
    pub(crate) id: u32,
    pub(crate) ty: Model,
    pub(crate) labels: Vec<i64>,
    pub(crate) default: bool,
}

const EXTENSIBILITIES: [Extensibility; 3] =
    [Extensibility::Final, Extensibility::Appendable, Extensibility::Mutable];
const PRIMITIVES: [Primitive; 14] = [
    Primitive::Boolean,
    Primitive::U8,
    Primitive::Octet,
    Primitive::I8,
    Primitive::U16,
    Primitive::I16,
    Primitive::U32,
    Primitive::I32,
    Primitive::U64,
    Primitive::I64,
    Primitive::F32,
    Primitive::F64,
    Primitive::Char,
    Primitive::I32,
];
const NAMES: [&str; 8] = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"];

fn bound(random: &mut Random) -> Option<u32> {
    if random.one_in(2) { None } else { Some(1 + random.below(4) as u32 * 100) }
}

fn extensibility(random: &mut Random) -> Extensibility {
    *random.pick(&EXTENSIBILITIES)
}

fn enumeration(random: &mut Random) -> Model {
    let extensibility = if random.one_in(2) { Extensibility::Final } else { Extensibility::Appendable };
    let count = 1 + random.below(4);
    let literals = (0..count).map(|at| (NAMES[at].to_uppercase(), at as i64 * 2)).collect();
    Model::Enumeration(extensibility, *random.pick(&[7, 8, 12, 32]), literals)
}

fn bitset(random: &mut Random) -> Model {
    let mut next = 0;
    let fields = (0..1 + random.below(3)).map(|at| {
        let kind =
            *random.pick(&[Primitive::U8, Primitive::I8, Primitive::U16, Primitive::I32, Primitive::Boolean]);
        let width = if kind == Primitive::Boolean { 1 } else { 1 + random.below(8) as u8 };
        let position = next + random.below(4) as u8;
        next = position + width;
        (NAMES[at].to_owned(), position, width, kind)
    });
    Model::Bitset(fields.collect())
}

fn leaf(random: &mut Random) -> Model {
    if random.one_in(12) {
        return bitset(random);
    }
    match random.below(8) {
        0..=3 => Model::Primitive(*random.pick(&PRIMITIVES)),
        4 | 5 => Model::Text(bound(random)),
        6 => enumeration(random),
        _ => Model::Bitmask(*random.pick(&[3, 8, 12, 16, 20, 40])),
    }
}

fn any(random: &mut Random, depth: usize) -> Model {
    if depth == 0 {
        return leaf(random);
    }
    match random.below(10) {
        0..=4 => leaf(random),
        5 => Model::Sequence(any(random, depth - 1).into(), bound(random)),
        6 => {
            // An array of arrays is one array.
            let element = match any(random, depth - 1) {
                Model::Array(element, _) => element,
                other => other.into(),
            };
            let dimensions = (0..=random.below(2)).map(|_| 1 + random.below(3) as u32).collect();
            Model::Array(element, dimensions)
        }
        7 => {
            let key = if random.one_in(2) { Model::Primitive(Primitive::I32) } else { Model::Text(None) };
            Model::Map(key.into(), any(random, depth - 1).into(), bound(random))
        }
        8 => union(random, depth - 1),
        _ => structure(random, depth - 1),
    }
}

fn part(random: &mut Random, depth: usize, id: u32, name: &str) -> Part {
    let key = random.one_in(5);
    Part {
        name: name.to_owned(),
        id,
        ty: any(random, depth),
        key,
        optional: !key && random.one_in(4),
        must_understand: random.one_in(8),
    }
}

/// A structure, which may contain itself.
pub(crate) fn whole(random: &mut Random, depth: usize) -> Model {
    let mut whole = structure(random, depth);
    if random.one_in(3) {
        tie(random, &mut whole, 0);
    }
    whole
}

/// Puts structures into themselves, where their values have an end.
fn tie(random: &mut Random, of: &mut Model, around: usize) {
    match of {
        Model::Sequence(element, _) | Model::Map(_, element, _) if around > 0 && random.one_in(2) => {
            **element = Model::Again(random.below(around));
        }
        Model::Sequence(element, _) | Model::Map(_, element, _) | Model::Array(element, _) => {
            tie(random, element, around);
        }
        Model::Struct(_, members) => {
            for member in members {
                if member.optional && random.one_in(2) {
                    member.ty = Model::Again(random.below(around + 1));
                } else {
                    tie(random, &mut member.ty, around + 1);
                }
            }
        }
        Model::Union(_, _, _, cases) => cases.iter_mut().for_each(|case| tie(random, &mut case.ty, around)),
        _ => {}
    }
}

/// The structures of a type, of which the last is the type itself; each names the others by their place.
pub(crate) fn table(of: &Model) -> Vec<Model> {
    let mut table = Vec::new();
    close(of, &mut Vec::new(), &mut table);
    // The type itself was met first.
    table.rotate_left(1);
    let count = table.len();
    let moved = |at: usize| if at == 0 { count - 1 } else { at - 1 };
    table.iter_mut().for_each(|of| {
        each(of, &mut |part| {
            if let Model::Known(at) = part {
                *at = moved(*at);
            }
        })
    });
    table
}

/// Calls for each part of a type, itself too.
fn each(of: &mut Model, call: &mut impl FnMut(&mut Model)) {
    call(of);
    match of {
        Model::Sequence(element, _) | Model::Array(element, _) => each(element, call),
        Model::Map(key, value, _) => {
            each(key, call);
            each(value, call);
        }
        Model::Struct(_, members) => members.iter_mut().for_each(|member| each(&mut member.ty, call)),
        Model::Union(_, discriminator, _, cases) => {
            each(discriminator, call);
            cases.iter_mut().for_each(|case| each(&mut case.ty, call));
        }
        _ => {}
    }
}

fn close(of: &Model, around: &mut Vec<usize>, table: &mut Vec<Model>) -> Model {
    match of {
        Model::Struct(extensibility, members) => {
            let at = table.len();
            table.push(Model::Nothing);
            around.push(at);
            let member = |of: &Part, table: &mut Vec<Model>, around: &mut Vec<usize>| Part {
                ty: close(&of.ty, around, table),
                ..of.clone()
            };
            let members = members.iter().map(|of| member(of, table, around)).collect();
            around.pop();
            table[at] = Model::Struct(*extensibility, members);
            Model::Known(at)
        }
        Model::Again(out) => Model::Known(around[around.len() - 1 - out]),
        Model::Sequence(element, bound) => Model::Sequence(close(element, around, table).into(), *bound),
        Model::Array(element, sizes) => Model::Array(close(element, around, table).into(), sizes.clone()),
        Model::Map(key, value, bound) => {
            Model::Map(close(key, around, table).into(), close(value, around, table).into(), *bound)
        }
        Model::Union(extensibility, discriminator, key, cases) => {
            let cases = cases.iter().map(|of| Choice { ty: close(&of.ty, around, table), ..of.clone() });
            Model::Union(*extensibility, discriminator.clone(), *key, cases.collect())
        }
        other => other.clone(),
    }
}

/// The type as far as values of it go that have so many structures in themselves.
pub(crate) fn unrolled(of: &Model, levels: usize) -> Model {
    unroll(of, &mut Vec::new(), levels)
}

fn unroll<'a>(of: &'a Model, around: &mut Vec<&'a Model>, levels: usize) -> Model {
    match of {
        Model::Struct(extensibility, members) => {
            around.push(of);
            let members = members
                .iter()
                .map(|member| Part { ty: unroll(&member.ty, around, levels), ..member.clone() })
                .collect();
            around.pop();
            Model::Struct(*extensibility, members)
        }
        Model::Again(_) if levels == 0 => Model::Nothing,
        Model::Again(out) => {
            let at = around.len() - 1 - out;
            let mut outside = around[..at].to_vec();
            unroll(around[at], &mut outside, levels - 1)
        }
        Model::Sequence(element, bound) => Model::Sequence(unroll(element, around, levels).into(), *bound),
        Model::Array(element, sizes) => Model::Array(unroll(element, around, levels).into(), sizes.clone()),
        Model::Map(key, value, bound) => {
            Model::Map(key.clone(), unroll(value, around, levels).into(), *bound)
        }
        Model::Union(extensibility, discriminator, key, cases) => {
            let cases =
                cases.iter().map(|case| Choice { ty: unroll(&case.ty, around, levels), ..case.clone() });
            Model::Union(*extensibility, discriminator.clone(), *key, cases.collect())
        }
        other => other.clone(),
    }
}

/// True if it contains itself somewhere.
pub(crate) fn is_recursive(of: &Model) -> bool {
    matches!(of, Model::Again(_)) || children(of).into_iter().any(is_recursive)
}

/// A structure.
pub(crate) fn structure(random: &mut Random, depth: usize) -> Model {
    let extensibility = extensibility(random);
    let count = 1 + random.below(4);
    let members = (0..count).map(|at| part(random, depth, at as u32, NAMES[at])).collect();
    Model::Struct(extensibility, members)
}

fn union(random: &mut Random, depth: usize) -> Model {
    let discriminator = match random.below(4) {
        0 => Model::Primitive(Primitive::I32),
        1 => Model::Primitive(Primitive::U8),
        2 => Model::Primitive(Primitive::I16),
        _ => enumeration(random),
    };
    let count = 1 + random.below(3);
    let (has_default, key, extensibility) = (random.one_in(2), random.one_in(6), extensibility(random));
    let cases = (0..count).map(|at| {
        let default = has_default && at + 1 == count;
        let labels = if default && at > 0 { Vec::new() } else { vec![at as i64 * 2] };
        Choice { name: NAMES[at].to_owned(), id: at as u32 + 1, ty: any(random, depth), labels, default }
    });
    Model::Union(extensibility, discriminator.into(), key, cases.collect())
}

/// A type as a later version of a program may have it.
pub(crate) fn evolve(random: &mut Random, of: &Model) -> Model {
    let mut changed = of.clone();
    for _ in 0..*random.pick(&[0, 1, 1, 1, 2, 3]) {
        let nodes = count(&changed);
        let mut at = random.below(nodes);
        change(random, &mut changed, &mut at);
    }
    changed
}

fn children(of: &Model) -> Vec<&Model> {
    match of {
        Model::Sequence(element, _) | Model::Array(element, _) => vec![&**element],
        Model::Map(key, value, _) => vec![&**key, &**value],
        Model::Struct(_, members) => members.iter().map(|member| &member.ty).collect(),
        Model::Union(_, discriminator, _, cases) => {
            std::iter::once(&**discriminator).chain(cases.iter().map(|case| &case.ty)).collect()
        }
        _ => Vec::new(),
    }
}

pub(crate) fn count(of: &Model) -> usize {
    1 + children(of).into_iter().map(count).sum::<usize>()
}

fn change(random: &mut Random, of: &mut Model, at: &mut usize) {
    if *at == 0 {
        *at = usize::MAX;
        mutate(random, of);
        return;
    }
    *at -= 1;
    let inner: Vec<&mut Model> = match of {
        Model::Sequence(element, _) | Model::Array(element, _) => vec![&mut **element],
        // Keys of maps stay what they are: not every type can be one.
        Model::Map(_, value, _) => {
            *at = at.saturating_sub(1);
            vec![&mut **value]
        }
        Model::Struct(_, members) => members.iter_mut().map(|member| &mut member.ty).collect(),
        Model::Union(_, discriminator, _, cases) => {
            let cases = cases.iter_mut().map(|case| &mut case.ty);
            std::iter::once(&mut **discriminator).chain(cases).collect()
        }
        _ => Vec::new(),
    };
    for child in inner {
        if *at == usize::MAX {
            return;
        }
        change(random, child, at);
    }
}

fn mutate(random: &mut Random, of: &mut Model) {
    match of {
        Model::Primitive(kind) => *kind = *random.pick(&PRIMITIVES),
        Model::Text(limit) => *limit = bound(random),
        Model::Sequence(_, limit) | Model::Map(_, _, limit) => *limit = bound(random),
        Model::Array(_, dimensions) => dimensions[0] = 1 + random.below(3) as u32,
        Model::Enumeration(extensibility, bits, literals) => match random.below(6) {
            0 => *extensibility = Extensibility::Final,
            1 => *bits = *random.pick(&[7, 8, 12, 32]),
            2 if literals.len() > 1 => {
                let at = random.below(literals.len());
                literals.remove(at);
            }
            3 => literals[0].0 = "RENAMED".to_owned(),
            4 => {
                let at = random.below(literals.len());
                literals[at].1 = 50;
            }
            _ => {
                let free = 1 + 2 * random.below(20) as i64;
                literals.push(("ADDED".to_owned(), free));
                literals.sort_by_key(|(_, value)| *value);
                literals.dedup_by_key(|(_, value)| *value);
                let mut seen = Vec::new();
                literals.retain(|(name, _)| {
                    let known = seen.contains(name);
                    seen.push(name.clone());
                    !known
                });
            }
        },
        Model::Bitmask(bits) => *bits = *random.pick(&[3, 8, 12, 16, 20, 40]),
        Model::Bitset(fields) => {
            let last = fields.len() - 1;
            match random.below(5) {
                0 => fields[0].0 = "renamed".to_owned(),
                1 => fields[last].3 = Primitive::U64,
                2 => fields[last].1 += 1,
                3 if last > 0 => drop(fields.remove(0)),
                _ => {
                    let next = fields[last].1 + fields[last].2;
                    fields.push(("added".to_owned(), next, 2, Primitive::U8));
                }
            }
        }
        Model::Again(out) => *out = random.below(*out + 1),
        Model::Known(_) | Model::Nothing => {}
        Model::Struct(extensibility, members) => mutate_struct(random, extensibility, members),
        Model::Union(extensibility, _, key, cases) => {
            let at = random.below(cases.len());
            match random.below(6) {
                0 => *extensibility = self::extensibility(random),
                1 => *key = !*key,
                2 => cases[at].ty = any(random, 1),
                3 if cases.len() > 1 => {
                    cases.remove(at);
                    if cases.iter().all(|case| case.labels.is_empty()) {
                        cases[0].labels.push(0);
                    }
                }
                4 => cases[at].name = "renamed".to_owned(),
                _ if cases.iter().all(|case| case.id != 9) => cases.push(Choice {
                    name: "added".to_owned(),
                    id: 9,
                    ty: any(random, 1),
                    labels: vec![2 * random.below(3) as i64 + 1, 20],
                    default: false,
                }),
                _ => {}
            }
        }
    }
}

fn mutate_struct(random: &mut Random, extensibility: &mut Extensibility, members: &mut Vec<Part>) {
    let at = random.below(members.len());
    let fresh = (20..).find(|id| members.iter().all(|member| member.id != *id)).unwrap();
    match random.below(12) {
        0 | 1 => {
            let name = format!("added{fresh}");
            members.push(part(random, 1, fresh, &name));
        }
        2 => {
            let name = format!("added{fresh}");
            members.insert(at, part(random, 1, fresh, &name));
        }
        3 | 4 if members.len() > 1 => drop(members.remove(at)),
        5 => {
            let other = random.below(members.len());
            members.swap(at, other);
        }
        6 => members[at].ty = any(random, 1),
        7 => members[at].name = format!("renamed{fresh}"),
        8 => members[at].id = fresh,
        9 => *extensibility = self::extensibility(random),
        10 => {
            members[at].key = !members[at].key;
            members[at].optional &= !members[at].key;
        }
        _ if random.one_in(2) => {
            members[at].optional = !members[at].optional && !members[at].key;
        }
        _ => members[at].must_understand = !members[at].must_understand,
    }
    // Values need an end.
    for member in members.iter_mut().filter(|member| matches!(member.ty, Model::Again(_))) {
        (member.optional, member.key) = (true, false);
    }
}

/// The schema of a type. Names of types say where they are, so that types of one component have the same order in other versions.
pub(crate) fn schema(of: &Model) -> (Schema, TypeIndex) {
    let mut schema = Schema::default();
    let Type::Named(index) = add(&mut schema, of, "T", &mut Vec::new()) else { panic!("no type of topics") };
    (schema, index)
}

fn add(schema: &mut Schema, of: &Model, path: &str, around: &mut Vec<TypeIndex>) -> Type {
    let name = path.to_owned();
    let below = |step: &str| format!("{path}_{step}");
    match of {
        Model::Primitive(kind) => Type::Primitive(*kind),
        Model::Text(bound) => Type::Text(*bound),
        Model::Sequence(element, bound) => {
            Type::Sequence(add(schema, element, &below("e"), around).into(), *bound)
        }
        Model::Array(element, dimensions) => {
            Type::Array(add(schema, element, &below("e"), around).into(), dimensions.clone())
        }
        Model::Map(key, value, bound) => {
            let key = add(schema, key, &below("k"), around);
            Type::Map(key.into(), add(schema, value, &below("e"), around).into(), *bound)
        }
        Model::Enumeration(extensibility, bit_bound, literals) => {
            let definition = Definition::Enumeration(Enumeration {
                name,
                bits: holder(*bit_bound),
                bit_bound: *bit_bound,
                extensibility: *extensibility,
                literals: literals.clone(),
                said_default: None,
                default: literals[0].1,
            });
            Type::Named(schema.add(definition))
        }
        Model::Bitmask(bit_bound) => {
            let definition = Definition::Bitmask(Bitmask {
                name,
                bits: holder(*bit_bound),
                bit_bound: *bit_bound,
                extensibility: Extensibility::Final,
                flags: (0..*bit_bound).map(|at| (format!("FLAG{at}"), at)).collect(),
            });
            Type::Named(schema.add(definition))
        }
        Model::Bitset(fields) => {
            let end = fields.last().map_or(0, |(_, position, width, _)| position + width);
            let fields = fields.iter().cloned().map(|(name, position, width, ty)| Bitfield {
                name,
                position,
                width,
                ty,
            });
            let bits = holder(end);
            Type::Named(schema.add(Definition::Bitset(Bitset { name, bits, fields: fields.collect() })))
        }
        Model::Again(out) => Type::Named(around[around.len() - 1 - out]),
        Model::Known(_) | Model::Nothing => panic!("of no schema"),
        Model::Struct(extensibility, members) => {
            let index = schema.add(Definition::Struct(Struct::open(name.clone())));
            around.push(index);
            let members = members.iter().map(|member| {
                let declared = add(schema, &member.ty, &below(&member.name), around);
                Member {
                    name: member.name.clone(),
                    ty: schema.plain(&declared),
                    declared,
                    id: member.id,
                    external: false,
                    try_construct: TryConstruct::Discard,
                    key: member.key,
                    optional: member.optional,
                    must_understand: member.must_understand || member.key,
                }
            });
            let members = members.collect();
            around.pop();
            let definition = Struct::new(schema, name, *extensibility, None, members);
            schema.replace(index, Definition::Struct(definition));
            Type::Named(index)
        }
        Model::Union(extensibility, discriminator, key, cases) => {
            let discriminator = add(schema, discriminator, &below("d"), around);
            let cases = cases.iter().map(|case| {
                let declared = add(schema, &case.ty, &below(&case.name), around);
                Case {
                    labels: case.labels.clone(),
                    default: case.default,
                    name: case.name.clone(),
                    ty: schema.plain(&declared),
                    declared,
                    id: case.id,
                    external: false,
                    try_construct: TryConstruct::Discard,
                }
            });
            let cases = cases.collect();
            let mut definition = Union::new(schema, name, *extensibility, discriminator, *key, cases);
            definition.remarks = Remarks::default();
            Type::Named(schema.add(Definition::Union(definition)))
        }
    }
}

const fn holder(bits: u8) -> u8 {
    match bits {
        0..=8 => 8,
        9..=16 => 16,
        17..=32 => 32,
        _ => 64,
    }
}
