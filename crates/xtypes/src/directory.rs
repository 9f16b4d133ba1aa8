//! The types of a participant, those of others as far as they are known, and questions about them.
//!
//! Without input and output: questions and answers are bytes, time is an argument. What others say costs a limited amount of memory, and is
//! believed because it has the hash that was announced.
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use wire::cdr::{BoundedString, BoundedVec, DdsType, Encoding};
use wire::discovery::EndpointData;
use wire::qos::DataRepresentation;
use wire::sorted::{SortedMap, SortedSet};
use wire::{Duration, EntityId, Guid, GuidPrefix, Instant};

use crate::assign::{Obstacle, Rules, assignable};
use crate::describe::Described;
use crate::identifier::TypeIdentifier;
use crate::information::{Dependencies, IdentifierWithSize, TypeInformation};
use crate::library::{Library, ObjectId};
use crate::lookup::{
    Call, DependenciesOut, DependenciesResult, Reply, Request, Return, SampleIdentity, SerializedObject,
    TypeAndObject, TypesIn, TypesOut, TypesResult,
};
use crate::needs::needs;

/// Most bytes of type objects of others; beyond it all that are not of our own types are forgotten.
const MOST_BYTES: usize = 4 << 20;
/// Most bytes of one type object of others.
const MOST_OBJECT: usize = 64 << 10;
/// Most types that are looked up at once, and most that are known to be in vain.
const MOST_LOOKUPS: usize = 1_024;
/// Most types in one question, asked or answered.
const MOST_ASKED: usize = 64;
/// Most bytes of type objects in an answer.
const MOST_ANSWERED: usize = 128 << 10;
/// How often is asked in vain.
const ATTEMPTS: u32 = 6;
/// How long the first answer is waited for; each further one twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// How long nothing is asked about a type that was asked for in vain.
const REST: Duration = Duration::from_secs(30);
/// How many questions of one participant are answered in a second, and at once.
const ANSWERS: u32 = 32;
/// The guid of a participant, in the names of those who are asked.
const INSTANCE: &str = "dds.builtin.TOS.";

/// What is said of a writer and a reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// One of them announces no type, or none that is understood: their names count. With what is missing, for people.
    ByName(ByName),
    /// What is written can be read.
    Assignable,
    /// It cannot, because of this.
    Different(String),
    /// That is being looked up.
    Pending,
}

/// Why types are compared by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ByName {
    /// An endpoint announces no type.
    Unannounced,
    /// Type objects of a participant could not be had.
    Unanswered,
    /// A type is not understood.
    Obscure,
}

#[derive(Clone, Debug)]
struct Lookup {
    /// Who is asked.
    from: GuidPrefix,
    attempts: u32,
    next: Instant,
    /// The question that is not answered; 0 if there is none.
    question: u32,
    /// What was announced to be needed besides.
    besides: Vec<ObjectId>,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Directory {
    objects: Library,
    own: SortedSet<ObjectId>,
    lookups: SortedMap<ObjectId, Lookup>,
    /// Types that no participant could describe, and until when none is asked again.
    failed: SortedMap<ObjectId, Instant>,
    /// Questions of others that may still be answered, as of when.
    allowances: SortedMap<GuidPrefix, (Instant, u32)>,
    /// The number of the last question.
    last: u32,
    news: bool,
}

impl Directory {
    /// Adds a type of an endpoint of ours, whose type objects others may ask for.
    pub fn add(&mut self, described: &Described) {
        let objects = described.minimal.iter().chain(&described.complete);
        let objects = objects.filter_map(|(ty, object)| Some((ObjectId::of(ty)?, object.as_slice())));
        self.own.extend(self.objects.add_all(objects));
    }

    /// All type objects that are known.
    pub const fn objects(&self) -> &Library {
        &self.objects
    }

    /// True once after something was found, or given up: pairs whose types were being looked up have to be compared again.
    pub const fn take_news(&mut self) -> bool {
        core::mem::replace(&mut self.news, false)
    }

    /// Compares the types of a writer and a reader, and asks the participant `remote` for what is missing, if it answers.
    pub fn compare(
        &mut self,
        now: Instant,
        writer: &EndpointData,
        reader: &EndpointData,
        remote: Option<GuidPrefix>,
    ) -> Verdict {
        let verdict = compare(&self.objects, writer, reader);
        if verdict != Verdict::Pending {
            return verdict;
        }
        for data in [writer, reader] {
            let Some(id) = self.announced(data).filter(|id| !self.is_known(*id)) else { continue };
            let asks = remote.is_some_and(|remote| self.ask(now, data, remote).is_some());
            if !asks || self.failed.contains_key(&id) {
                return by_name(reader, ByName::Unanswered);
            }
        }
        Verdict::Pending
    }

    /// The type that an endpoint announces, which its participant `remote` is asked for if it is not known; `None` if it announces none, or
    /// cannot be asked.
    pub fn ask(&mut self, now: Instant, data: &EndpointData, remote: GuidPrefix) -> Option<ObjectId> {
        let information = announced(data)?;
        let id = best(&information)?;
        if self.is_known(id) || self.failed.contains_key(&id) || self.lookups.contains_key(&id) {
            return Some(id);
        }
        if self.lookups.len() >= MOST_LOOKUPS {
            return None;
        }
        let besides = besides(id, &information);
        self.lookups.insert(id, Lookup { from: remote, attempts: 0, next: now, question: 0, besides });
        Some(id)
    }

    /// The type that an endpoint announces.
    pub fn announced(&self, data: &EndpointData) -> Option<ObjectId> {
        best(&announced(data)?)
    }

    /// True if the type is known, with all that it needs.
    pub fn is_known(&self, id: ObjectId) -> bool {
        needs(&self.objects, id).is_empty()
    }

    /// True while a participant is being asked for a type.
    pub fn is_asked(&self, id: ObjectId) -> bool {
        self.lookups.contains_key(&id)
    }

    /// A type about which a question is due.
    fn due(&self, now: Instant) -> Option<ObjectId> {
        self.lookups.iter().find(|(_, lookup)| lookup.next <= now).map(|(id, _)| *id)
    }

    /// The next question and who is asked, as a serialized payload. `prefix` is that of our participant.
    pub fn poll(&mut self, now: Instant, prefix: GuidPrefix) -> Option<(GuidPrefix, Vec<u8>)> {
        self.failed.retain(|_, until| *until > now);
        while let Some(id) = self.due(now) {
            let missing = needs(&self.objects, id);
            let lookup = self.lookups.get_mut(&id)?;
            if missing.is_empty() || lookup.attempts >= ATTEMPTS {
                if !missing.is_empty() {
                    self.give_up(now, id);
                }
                self.lookups.remove(&id);
                self.news = true;
                continue;
            }
            let wait = FIRST_WAIT.as_nanos().saturating_mul(1 << lookup.attempts.min(ATTEMPTS));
            lookup.attempts += 1;
            lookup.next = now.after(Duration::from_nanos(wait));
            let from = lookup.from;
            self.last = self.last.wrapping_add(1).max(1);
            lookup.question = self.last;
            let besides = lookup.besides.iter().filter(|id| self.objects.get(id).is_none());
            let asked: SortedSet<ObjectId> =
                missing.iter().chain(besides).take(MOST_ASKED).copied().collect();
            let asked = asked.into_iter().map(ObjectId::identifier);
            let request = Request {
                id: SampleIdentity {
                    writer: Guid::new(prefix, EntityId::TYPE_LOOKUP_REQUEST_WRITER).to_bytes(),
                    high: 0,
                    low: self.last,
                },
                instance_name: instance_name(from),
                call: Call::Types(TypesIn { type_ids: asked.collect() }),
            };
            let mut payload = Vec::new();
            if request.encode_payload(Encoding::XCDR2, &mut payload).is_ok() {
                return Some((from, payload));
            }
        }
        None
    }

    /// When `poll` has something to do at the latest.
    pub fn poll_timeout(&self) -> Instant {
        self.lookups.values().map(|lookup| lookup.next).min().unwrap_or(Instant::NEVER)
    }

    /// The answer of a participant came; what was not asked for does not count.
    pub fn on_reply(&mut self, now: Instant, from: GuidPrefix, payload: &[u8]) {
        let Ok(Reply { result: Return::Types(TypesResult::Found(found)), related, .. }) =
            Reply::decode_payload(payload)
        else {
            return;
        };
        // Each question is answered once.
        let (mut asked, mut wanted) = (Vec::new(), SortedSet::new());
        for (id, lookup) in self.lookups.iter_mut() {
            if lookup.from == from && lookup.question == related.low && related.low != 0 {
                lookup.question = 0;
                asked.push(*id);
                wanted.extend(
                    needs(&self.objects, *id).into_iter().chain(core::mem::take(&mut lookup.besides)),
                );
            }
        }
        let mut answers = Vec::new();
        for TypeAndObject { ty, object: SerializedObject(object) } in &found.types {
            let id = ObjectId::of(ty).filter(|id| wanted.contains(id) && object.len() <= MOST_OBJECT);
            answers.extend(id.map(|id| (id, object.as_slice())));
        }
        let bytes = answers.iter().map(|(_, object)| object.len()).sum::<usize>();
        if self.objects.bytes().saturating_add(bytes) > MOST_BYTES {
            self.objects.retain(|id| self.own.contains(id));
        }
        if bytes <= MOST_BYTES {
            for id in self.objects.add_all(answers) {
                wanted.remove(&id);
            }
        }
        for id in asked {
            let missing = needs(&self.objects, id);
            if missing.is_empty() {
                self.lookups.remove(&id);
                self.news = true;
            } else if missing.iter().any(|id| !wanted.contains(id))
                && let Some(lookup) = self.lookups.get_mut(&id)
            {
                // What it needs besides has come to light.
                lookup.next = now;
            }
        }
    }

    /// The answer to the question of a participant, as a serialized payload; `None` if there is none. `prefix` is that of our participant.
    pub fn on_request(
        &mut self,
        now: Instant,
        prefix: GuidPrefix,
        from: GuidPrefix,
        payload: &[u8],
    ) -> Option<Vec<u8>> {
        let Ok(request) = Request::decode_payload(payload) else { return None };
        if !is_for(prefix, &request.instance_name) || !self.may_answer(now, from) {
            return None;
        }
        let result = match request.call {
            Call::Types(asked) => Return::Types(TypesResult::Found(self.types(&asked.type_ids))),
            Call::Dependencies(asked) => Return::Dependencies(DependenciesResult::Found(
                self.dependencies(&asked.type_ids, &asked.continuation_point),
            )),
        };
        let reply = Reply { related: request.id, exception: 0, result };
        let mut payload = Vec::new();
        reply.encode_payload(Encoding::XCDR2, &mut payload).ok()?;
        Some(payload)
    }

    /// A participant is gone.
    pub fn forget(&mut self, participant: GuidPrefix) {
        let before = self.lookups.len();
        self.lookups.retain(|_, lookup| lookup.from != participant);
        // Others may have the same type, and are asked next.
        self.news |= self.lookups.len() != before;
        self.allowances.remove(&participant);
    }

    fn give_up(&mut self, now: Instant, id: ObjectId) {
        if self.failed.len() >= MOST_LOOKUPS {
            self.failed.clear();
        }
        self.failed.insert(id, now.after(REST));
    }

    fn types(&self, asked: &[TypeIdentifier]) -> TypesOut {
        let mut room = MOST_ANSWERED;
        let asked = asked.iter().take(MOST_ASKED).filter_map(ObjectId::of);
        // Types that contain each other are told together.
        let asked: SortedSet<ObjectId> = asked.flat_map(ObjectId::together).collect();
        let own = asked.into_iter().filter(|id| self.own.contains(id));
        let types = own.filter_map(|id| {
            let object = self.objects.get(&id)?;
            room = room.checked_sub(object.len())?;
            Some(TypeAndObject { ty: id.identifier(), object: SerializedObject(object.to_vec()) })
        });
        TypesOut { types: types.collect(), complete_to_minimal: Vec::new() }
    }

    fn dependencies(&self, asked: &[TypeIdentifier], continuation: &[u8]) -> DependenciesOut {
        let mut found = SortedSet::new();
        let mut next: Vec<ObjectId> = asked.iter().take(MOST_ASKED).filter_map(ObjectId::of).collect();
        while let Some(id) = next.pop() {
            if self.own.contains(&id) {
                next.extend(
                    crate::needs::parts(&self.objects, id).into_iter().filter(|id| found.insert(*id)),
                );
            }
        }
        let from = continuation.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes) as usize);
        let rest = found.iter().skip(from).count();
        let sized = |id: &ObjectId| IdentifierWithSize {
            ty: id.identifier(),
            size: self.objects.get(id).map_or(0, |object| u32::try_from(object.len()).unwrap_or(u32::MAX)),
        };
        let end = (rest > MOST_ASKED).then(|| u32::try_from(from + MOST_ASKED).unwrap_or(u32::MAX));
        DependenciesOut {
            dependent_typeids: found.iter().skip(from).take(MOST_ASKED).map(sized).collect(),
            continuation_point: BoundedVec::try_from(
                end.map(|end| end.to_le_bytes().to_vec()).unwrap_or_default(),
            )
            .unwrap_or_default(),
        }
    }

    /// True if a question of this participant may be answered now.
    fn may_answer(&mut self, now: Instant, from: GuidPrefix) -> bool {
        let (since, left) = self.allowances.get_or_insert_with(from, || (now, ANSWERS));
        if now >= since.after(Duration::from_secs(1)) {
            (*since, *left) = (now, ANSWERS);
        }
        let allowed = *left > 0;
        *left = left.saturating_sub(1);
        allowed
    }
}

/// Compares the types of a writer and a reader, of which `objects` are known: [`Verdict::Pending`] if something is missing.
pub fn compare(objects: &Library, writer: &EndpointData, reader: &EndpointData) -> Verdict {
    let (Some(written), Some(read)) = (announced(writer), announced(reader)) else {
        return by_name(reader, ByName::Unannounced);
    };
    let is_same = |part: fn(&TypeInformation) -> &Dependencies| {
        let (one, other) = (&part(&written).ty.ty, &part(&read).ty.ty);
        *one != TypeIdentifier::NONE && one == other
    };
    if is_same(|of| &of.minimal) || is_same(|of| &of.complete) {
        return Verdict::Assignable;
    }
    let (Some(written), Some(read)) = (best(&written), best(&read)) else {
        return by_name(reader, ByName::Obscure);
    };
    if !needs(objects, written).is_empty() || !needs(objects, read).is_empty() {
        return Verdict::Pending;
    }
    let delimited = writer.qos.representation.first() == Some(&DataRepresentation::XCDR2);
    let rules = Rules { consistency: reader.qos.type_consistency, delimited };
    match assignable(objects, &read.identifier(), &written.identifier(), &rules) {
        Ok(()) => Verdict::Assignable,
        Err(Obstacle::Difference(difference)) => Verdict::Different(difference.to_string()),
        Err(Obstacle::Missing(_) | Obstacle::Obscure) => by_name(reader, ByName::Obscure),
    }
}

/// Types are compared by name, if the reader is content with that.
fn by_name(reader: &EndpointData, why: ByName) -> Verdict {
    if !reader.qos.type_consistency.force_type_validation {
        return Verdict::ByName(why);
    }
    let why = match why {
        ByName::Unannounced => "one of both announces no type",
        ByName::Unanswered => "no participant tells what the announced type is",
        ByName::Obscure => "the announced type is not understood",
    };
    Verdict::Different(format!("the reader forces type validation, and {why}"))
}

/// What an endpoint says of its type, if that is understood.
fn announced(data: &EndpointData) -> Option<TypeInformation> {
    TypeInformation::read(data.type_information.as_deref()?).ok()
}

/// The type object that says most.
fn best(of: &TypeInformation) -> Option<ObjectId> {
    ObjectId::of(&of.complete.ty.ty)
        .filter(|id| id.complete)
        .or_else(|| ObjectId::of(&of.minimal.ty.ty).filter(|id| !id.complete))
}

/// The type objects that a type needs besides its own, as far as they were announced.
fn besides(of: ObjectId, information: &TypeInformation) -> Vec<ObjectId> {
    let announced = if of.complete { &information.complete } else { &information.minimal };
    let ids = announced.others.iter().filter_map(|other| ObjectId::of(&other.ty));
    ids.filter(|id| id.complete == of.complete).take(MOST_ASKED).collect()
}

fn instance_name(of: GuidPrefix) -> BoundedString<255> {
    let name = format!("{INSTANCE}{of}{}", EntityId::PARTICIPANT);
    BoundedString::try_from(name).unwrap_or_default()
}

/// True if a question names our participant, or none in particular.
fn is_for(prefix: GuidPrefix, instance_name: &str) -> bool {
    let Some(name) = instance_name.strip_prefix(INSTANCE) else { return true };
    // Cyclone DDS has a space after every eight digits.
    let name: String = name.chars().filter(|letter| *letter != ' ').collect();
    let Some(name) = name.get(..24) else { return true };
    name.eq_ignore_ascii_case(&format!("{prefix}")) || name.chars().all(|digit| digit == '0')
}
