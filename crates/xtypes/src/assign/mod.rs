//! Whether what is written as one type can be read as another (XTypes 1.3, 7.2.4: is-assignable-from).
//!
//! The rules are those of the standard; where it leaves a choice, those of Cyclone DDS, so that both sides of a pair decide the same. They
//! are stricter where samples would be read as something else: types in each other that are appendable are delimited in XCDR version 2
//! alone, integers that hold enumerators have to be of one size, and keys have to be readable in all their parts.
mod aggregate;
mod names;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use wire::qos::TypeConsistency;
use wire::sorted::{SortedMap, SortedSet, sort_by};

use crate::component;
use crate::identifier::{TypeIdentifier, kind};
use crate::library::{Library, ObjectId};
use crate::object::{TypeObject, hash};
use crate::shape::{Change, Enumeration, Field, Shape, holder};
use crate::strip;

/// Most comparisons of two types with each other, after which nothing is said.
const MAX_STEPS: u32 = 100_000;
/// How deep types may be in each other.
const MAX_DEPTH: usize = 64;

/// How types are compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rules {
    /// TYPE_CONSISTENCY_ENFORCEMENT of the reader.
    pub consistency: TypeConsistency,
    /// Samples are written in XCDR version 2, which says where an appendable type ends.
    pub delimited: bool,
}

/// Why it cannot be said that a type can be read as another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// It cannot: the types differ.
    Difference(Difference),
    /// A type object is missing.
    Missing(ObjectId),
    /// A type is not understood, or too large: it has parts of unknown kinds, or takes too many comparisons.
    Obscure,
}

/// The member that stands in the way, and how it is there on both sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Difference {
    /// Where it is: names of members with points between them, `[]` for elements; empty for the type itself.
    pub path: String,
    /// What is written.
    pub written: String,
    /// What is read.
    pub read: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        write!(f, "written as {}, read as {}", self.written, self.read)
    }
}

/// Whether what is written as the type `written` can be read as `read`. Type objects of both, and of all that they need, are in `library`.
///
/// # Errors
/// The first obstacle that is met.
pub fn assignable(
    library: &Library,
    read: &TypeIdentifier,
    written: &TypeIdentifier,
    rules: &Rules,
) -> Result<(), Obstacle> {
    let mut judge = Judge::new(library, *rules);
    if rules.consistency.allow_type_coercion {
        return judge.check(read, written, Keys::Counted);
    }
    if judge.same(read, written)? {
        return Ok(());
    }
    // What differs is told as it would stand in the way otherwise, if it does.
    judge.check(read, written, Keys::Counted)?;
    Err(judge.differ("another type", "the very same, as DISALLOW_TYPE_COERCION asks for"))
}

/// What keys mean while two types are compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Keys {
    /// Members of the key are members of the key on the other side too.
    Counted,
    /// They are like others: the type is that of a member that is not part of the key (KeyErased).
    Erased,
    /// Others do not count: the type is that of a member of the key (KeyHolder).
    Alone,
}

type Result<T = (), E = Obstacle> = core::result::Result<T, E>;

/// A type, other names of it resolved.
#[derive(Clone, Debug)]
enum Resolved {
    /// Described by its identifier.
    Plain(TypeIdentifier),
    /// Described by a type object.
    Object(ObjectId, Arc<Shape>),
}

struct Judge<'a> {
    library: &'a Library,
    rules: Rules,
    shapes: SortedMap<ObjectId, Arc<Shape>>,
    /// Identifiers by minimal type objects of those by complete ones.
    minimal: SortedMap<ObjectId, TypeIdentifier>,
    /// Pairs that were compared, or that are being compared: of types that contain each other what is true of both is true.
    seen: SortedSet<(Keys, ObjectId, ObjectId)>,
    steps: u32,
    /// Where the comparison is.
    path: Vec<String>,
}

impl<'a> Judge<'a> {
    const fn new(library: &'a Library, rules: Rules) -> Self {
        Self {
            library,
            rules,
            shapes: SortedMap::new(),
            minimal: SortedMap::new(),
            seen: SortedSet::new(),
            steps: 0,
            path: Vec::new(),
        }
    }

    /// Compares two types that stand in the same place.
    fn check(&mut self, read: &TypeIdentifier, written: &TypeIdentifier, keys: Keys) -> Result {
        self.steps = self.steps.saturating_add(1);
        if self.steps > MAX_STEPS || self.path.len() > MAX_DEPTH {
            return Err(Obstacle::Obscure);
        }
        if self.same(read, written)? {
            return Ok(());
        }
        let (read, written) = (self.resolve(read)?, self.resolve(written)?);
        if self.same(&read.id(), &written.id())? {
            return Ok(());
        }
        let (first, second) = match (&read, &written) {
            (Resolved::Plain(read), Resolved::Plain(written)) => return self.check_plain(read, written),
            (Resolved::Object(first, one), Resolved::Object(second, other)) => {
                if !self.seen.insert((keys, *first, *second)) {
                    return Ok(());
                }
                (Some(&**one), Some(&**other))
            }
            (Resolved::Object(_, one), Resolved::Plain(_)) => (Some(&**one), None),
            (Resolved::Plain(_), Resolved::Object(_, other)) => (None, Some(&**other)),
        };
        match (first, second) {
            (Some(Shape::Struct(read)), Some(Shape::Struct(written))) => {
                self.check_struct(read, written, keys)
            }
            (Some(Shape::Union(read)), Some(Shape::Union(written))) => self.check_union(read, written, keys),
            (Some(Shape::Enumeration(read)), Some(Shape::Enumeration(written))) => {
                self.check_enumeration(read, written)
            }
            (Some(Shape::Bitset(read)), Some(Shape::Bitset(written))) => self.check_bitset(read, written),
            _ if bits(&read).is_some() && bits(&read) == bits(&written) => Ok(()),
            _ => Err(self.differ_types(&read, &written)),
        }
    }

    /// As [`Judge::check`], where nothing around the value says where it ends.
    fn check_strongly(&mut self, read: &TypeIdentifier, written: &TypeIdentifier) -> Result {
        self.check(read, written, Keys::Counted)?;
        if self.is_delimited(written, 0)? {
            return Ok(());
        }
        // Values without an end of their own have to be the same.
        let (read, written) = (self.resolve(read)?, self.resolve(written)?);
        if self.same(&read.id(), &written.id())? {
            return Ok(());
        }
        let written = alloc::format!("{}, where nothing says where it ends", self.name(&written));
        let read = alloc::format!("another {}", self.name(&read));
        Err(self.differ(written, read))
    }

    /// Compares in the place of a member, element, key or discriminator.
    fn at(&mut self, place: impl Into<String>, check: impl FnOnce(&mut Self) -> Result) -> Result {
        self.path.push(place.into());
        check(self)?;
        self.path.pop();
        Ok(())
    }

    fn check_plain(&mut self, read: &TypeIdentifier, written: &TypeIdentifier) -> Result {
        use TypeIdentifier as Id;
        let consistency = self.rules.consistency;
        let (strings, sequences) = (consistency.ignore_string_bounds, consistency.ignore_sequence_bounds);
        let fits = match (read, written) {
            (Id::String(_) | Id::LargeString(_), Id::String(_) | Id::LargeString(_))
            | (Id::WideString(_) | Id::LargeWideString(_), Id::WideString(_) | Id::LargeWideString(_)) => {
                strings || bound(read) >= bound(written)
            }
            (Id::Sequence(_) | Id::LargeSequence(_), Id::Sequence(_) | Id::LargeSequence(_))
            | (Id::Map(_) | Id::LargeMap(_), Id::Map(_) | Id::LargeMap(_)) => {
                sequences || bound(read) >= bound(written)
            }
            (Id::Array(_) | Id::LargeArray(_), Id::Array(_) | Id::LargeArray(_)) => {
                dimensions(read) == dimensions(written)
            }
            _ => false,
        };
        if !fits {
            let (read, written) = (Resolved::Plain(read.clone()), Resolved::Plain(written.clone()));
            return Err(self.differ_types(&read, &written));
        }
        if let (Some(read), Some(written)) = (key(read), key(written)) {
            self.at("[key]", |judge| judge.check_strongly(read, written))?;
        }
        if let (Some(read), Some(written)) = (element(read), element(written)) {
            self.at("[]", |judge| judge.check_strongly(read, written))?;
        }
        Ok(())
    }

    fn check_enumeration(&mut self, read: &Enumeration, written: &Enumeration) -> Result {
        if read.change != written.change {
            return Err(self.differ_change(read.change, written.change));
        }
        if holder(read.bit_bound) != holder(written.bit_bound) {
            let bits = |of: &Enumeration| alloc::format!("an enumeration of {} bits", of.bit_bound);
            return Err(self.differ(bits(written), bits(read)));
        }
        let named = |value: i32, of: &crate::shape::Label| match &of.name {
            Some(name) => alloc::format!("{name} = {value}"),
            None => alloc::format!("a literal of the value {value}"),
        };
        let values: SortedMap<i32, _> = read.literals.iter().map(|of| (of.value, &of.label)).collect();
        let labels: SortedMap<[u8; 4], i32> =
            read.literals.iter().map(|of| (of.label.hash.octets, of.value)).collect();
        for literal in &written.literals {
            match (values.get(&literal.value), labels.get(&literal.label.hash.octets)) {
                (Some(label), _) if label.hash != literal.label.hash => {
                    let (written, read) = (named(literal.value, &literal.label), named(literal.value, label));
                    return Err(self.differ(written, read));
                }
                (None, Some(value)) => {
                    let (written, read) =
                        (named(literal.value, &literal.label), named(*value, &literal.label));
                    return Err(self.differ(written, read));
                }
                (None, None) if read.change == Change::Final => {
                    return Err(self.differ(named(literal.value, &literal.label), "no literal"));
                }
                _ => {}
            }
        }
        if read.change == Change::Final {
            let values: SortedSet<i32> = written.literals.iter().map(|of| of.value).collect();
            if let Some(missing) = read.literals.iter().find(|of| !values.contains(&of.value)) {
                return Err(self.differ("no literal", named(missing.value, &missing.label)));
            }
        }
        Ok(())
    }

    /// The standard says nothing of bitsets that differ: their fields have to be the same.
    fn check_bitset(&mut self, read: &[Field], written: &[Field]) -> Result {
        let told = |of: &Field| {
            alloc::format!(
                "bits {} to {}",
                of.position,
                of.position.saturating_add(u16::from(of.width)).saturating_sub(1)
            )
        };
        let sorted = |of: &[Field]| {
            let mut fields: Vec<Field> = of.to_vec();
            fields.retain(|field| field.width > 0);
            sort_by(&mut fields, |one, other| one.position.cmp(&other.position));
            fields
        };
        let (read, written) = (sorted(read), sorted(written));
        let counts = !self.rules.consistency.ignore_member_names;
        for (ours, theirs) in read.iter().zip(&written) {
            let name = ours.label.or(told(ours));
            let is_same =
                (ours.position, ours.width, ours.holder) == (theirs.position, theirs.width, theirs.holder);
            if !is_same || counts && ours.label.hash != theirs.label.hash {
                let told = |of: &Field| alloc::format!("{} ({})", of.label.or("a field"), told(of));
                return self.at(name, |judge| Err(judge.differ(told(theirs), told(ours))));
            }
        }
        if read.len() == written.len() {
            return Ok(());
        }
        let told = |of: &[Field]| alloc::format!("a bitset of {} fields", of.len());
        Err(self.differ(told(&written), told(&read)))
    }

    /// True if both are one type: names of members count, names of types do not.
    fn same(&mut self, read: &TypeIdentifier, written: &TypeIdentifier) -> Result<bool> {
        if read == written {
            return Ok(true);
        }
        Ok(self.minimal_of(read, 0)? == self.minimal_of(written, 0)?)
    }

    /// The identifier by minimal type objects. Flags of elements are left out: they change nothing that is compared.
    fn minimal_of(&mut self, identifier: &TypeIdentifier, depth: usize) -> Result<TypeIdentifier> {
        if depth > MAX_DEPTH {
            return Err(Obstacle::Obscure);
        }
        let id = match ObjectId::of(identifier).filter(|id| id.complete) {
            Some(id) => id,
            None => return strip::identifier(identifier, &mut |part| self.minimal_of(part, depth + 1)),
        };
        if let Some(known) = self.minimal.get(&id) {
            return Ok(known.clone());
        }
        // While types that contain each other are looked at, placeholders stand for them.
        for id in id.together() {
            if let Some(place) = id.place {
                self.minimal.insert(id, component::placeholder(false, place));
            }
        }
        let mut objects = Vec::new();
        for id in id.together() {
            let object = self.library.get(&id).ok_or(Obstacle::Missing(id))?;
            let Ok(TypeObject::Complete(object)) = TypeObject::read(object) else {
                return Err(Obstacle::Obscure);
            };
            let object = strip::object(&object, &mut |part| self.minimal_of(part, depth + 1))?;
            objects.push(TypeObject::Minimal(object));
        }
        let common = match (id.place, objects.as_slice()) {
            (None, [object]) => object.serialize().map(|object| hash(&object)),
            _ => component::hash(&objects),
        };
        let hash = common.map_err(|_| Obstacle::Obscure)?;
        for id in id.together() {
            self.minimal.insert(id, ObjectId { complete: false, hash, place: id.place }.identifier());
        }
        self.minimal.get(&id).cloned().ok_or(Obstacle::Obscure)
    }

    /// The type without other names of it.
    fn resolve(&mut self, identifier: &TypeIdentifier) -> Result<Resolved> {
        let mut identifier = identifier.clone();
        for _ in 0..MAX_DEPTH {
            let Some(id) = ObjectId::of(&identifier) else {
                return match identifier {
                    // Of more types that contain each other than are believed.
                    TypeIdentifier::Component(_) => Err(Obstacle::Obscure),
                    plain => Ok(Resolved::Plain(plain)),
                };
            };
            match &*self.shape(id)? {
                Shape::Alias(of) => identifier = of.clone(),
                _ => return Ok(Resolved::Object(id, self.shape(id)?)),
            }
        }
        Err(Obstacle::Obscure)
    }

    fn shape(&mut self, id: ObjectId) -> Result<Arc<Shape>> {
        if let Some(shape) = self.shapes.get(&id) {
            return Ok(Arc::clone(shape));
        }
        let object = self.library.get(&id).ok_or(Obstacle::Missing(id))?;
        let object = TypeObject::read(object).map_err(|_| Obstacle::Obscure)?;
        if matches!(object, TypeObject::Complete(_)) != id.complete {
            return Err(Obstacle::Obscure);
        }
        let shape = Arc::new(Shape::from(object));
        self.shapes.insert(id, Arc::clone(&shape));
        Ok(shape)
    }

    /// True for types whose values end where all receivers see it.
    fn is_delimited(&mut self, identifier: &TypeIdentifier, depth: usize) -> Result<bool> {
        if depth > MAX_DEPTH {
            return Err(Obstacle::Obscure);
        }
        let resolved = self.resolve(identifier)?;
        let by = |change: Change, delimited: bool| match change {
            Change::Final => false,
            Change::Appendable => delimited,
            Change::Mutable => true,
        };
        Ok(match &resolved {
            Resolved::Object(_, shape) => match &**shape {
                Shape::Struct(of) => by(of.change, self.rules.delimited),
                Shape::Union(of) => by(of.change, self.rules.delimited),
                _ => true,
            },
            Resolved::Plain(plain) => {
                for part in [key(plain), element(plain)].into_iter().flatten() {
                    if !self.is_delimited(part, depth + 1)? {
                        return Ok(false);
                    }
                }
                true
            }
        })
    }
}

/// The greatest number of elements; `u32::MAX` without bound.
fn bound(identifier: &TypeIdentifier) -> u32 {
    let bound = match identifier {
        TypeIdentifier::String(of) | TypeIdentifier::WideString(of) => u32::from(of.bound),
        TypeIdentifier::LargeString(of) | TypeIdentifier::LargeWideString(of) => of.bound,
        TypeIdentifier::Sequence(of) => u32::from(of.bound),
        TypeIdentifier::LargeSequence(of) => of.bound,
        TypeIdentifier::Map(of) => u32::from(of.bound),
        TypeIdentifier::LargeMap(of) => of.bound,
        _ => 0,
    };
    if bound == 0 { u32::MAX } else { bound }
}

fn dimensions(identifier: &TypeIdentifier) -> Vec<u32> {
    match identifier {
        TypeIdentifier::Array(of) => of.dimensions.iter().copied().map(u32::from).collect(),
        TypeIdentifier::LargeArray(of) => of.dimensions.clone(),
        _ => Vec::new(),
    }
}

/// The type of the elements of a collection.
fn element(identifier: &TypeIdentifier) -> Option<&TypeIdentifier> {
    match identifier {
        TypeIdentifier::Sequence(of) => Some(&of.element),
        TypeIdentifier::LargeSequence(of) => Some(&of.element),
        TypeIdentifier::Array(of) => Some(&of.element),
        TypeIdentifier::LargeArray(of) => Some(&of.element),
        TypeIdentifier::Map(of) => Some(&of.element),
        TypeIdentifier::LargeMap(of) => Some(&of.element),
        _ => None,
    }
}

/// The type of the keys of a map.
fn key(identifier: &TypeIdentifier) -> Option<&TypeIdentifier> {
    match identifier {
        TypeIdentifier::Map(of) => Some(&of.key),
        TypeIdentifier::LargeMap(of) => Some(&of.key),
        _ => None,
    }
}

/// Bits of a bitmask, or of the unsigned integer that goes with one: a bitmask goes with the integer that holds it, and with bitmasks of as
/// many bits.
fn bits(of: &Resolved) -> Option<Bits> {
    Some(match of {
        Resolved::Object(_, shape) => match &**shape {
            Shape::Bitmask { bit_bound } => Bits { holder: holder(*bit_bound), bound: Some(*bit_bound) },
            _ => return None,
        },
        Resolved::Plain(TypeIdentifier::Plain(kind, _)) => {
            let holder = match *kind {
                kind::UINT8 => 8,
                kind::UINT16 => 16,
                kind::UINT32 => 32,
                kind::UINT64 => 64,
                _ => return None,
            };
            Bits { holder, bound: None }
        }
        Resolved::Plain(_) => return None,
    })
}

#[derive(Clone, Copy)]
struct Bits {
    holder: u16,
    bound: Option<u16>,
}

impl PartialEq for Bits {
    fn eq(&self, other: &Self) -> bool {
        match (self.bound, other.bound) {
            (Some(one), Some(other)) => one == other,
            // Two integers that are not the same are none.
            (None, None) => false,
            _ => self.holder == other.holder,
        }
    }
}
