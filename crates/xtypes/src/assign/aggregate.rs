//! Structures and unions.
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Judge, Keys, MAX_DEPTH, Obstacle, Resolved, Result, bound, element, key};
use crate::identifier::TypeIdentifier;
use crate::object::flag;
use crate::shape::{Case, Change, Label, Member, Shape, Struct, Union};
use wire::sorted::{SortedMap, SortedSet};

const ABSENT: &str = "no member";

impl Judge<'_> {
    pub(super) fn check_struct(&mut self, read: &Struct, written: &Struct, keys: Keys) -> Result {
        if read.change != written.change {
            return Err(self.differ_change(read.change, written.change));
        }
        let change = read.change;
        let (read, written) = (self.members(read, keys)?, self.members(written, keys)?);
        let by_id: SortedMap<u32, usize> =
            written.iter().enumerate().map(|(index, member)| (member.id, index)).collect();
        if !self.rules.consistency.ignore_member_names {
            let members = |of: &[Member]| of.iter().map(|of| (of.id, of.label.clone())).collect::<Vec<_>>();
            self.check_names(&members(&read), &members(&written))?;
        }
        let mut any = false;
        for (index, member) in read.iter().enumerate() {
            let name = member.label.or(format_args!("(id {})", member.id));
            let twin = by_id.get(&member.id).and_then(|twin| written.get(*twin));
            if let Some(twin) = twin {
                any = true;
                self.at(name.as_str(), |judge| judge.check_member(member, twin, keys))?;
            } else if is_needed(member, keys) || change == Change::Final {
                return self.at(name, |judge| Err(judge.differ(ABSENT, judge.what(member))));
            } else if self.rules.consistency.prevent_type_widening && !member.has(flag::OPTIONAL) {
                return self.at(name, |judge| Err(judge.differ(ABSENT, "a member that must be there")));
            }
            if change != Change::Mutable
                && let Some(other) = written.get(index)
            {
                self.at(name, |judge| judge.check_in_place(member, other))?;
            }
        }
        let ids: SortedSet<u32> = read.iter().map(|member| member.id).collect();
        for member in written.iter().filter(|member| !ids.contains(&member.id)) {
            if is_needed(member, keys) || change == Change::Final {
                let name = member.label.or(format_args!("(id {})", member.id));
                return self.at(name, |judge| Err(judge.differ(judge.what(member), ABSENT)));
            }
        }
        if any { Ok(()) } else { Err(self.differ("a structure", "one without any of its members")) }
    }

    /// Members in the same place of types whose members come in their order.
    fn check_in_place(&mut self, read: &Member, written: &Member) -> Result {
        if read.id != written.id {
            let name = |of: &Member| format!("{} in its place", of.label.or(format_args!("id {}", of.id)));
            return Err(self.differ(name(written), name(read)));
        }
        self.check_optional(read, written)?;
        self.check_strongly(&read.ty, &written.ty)
    }

    fn check_optional(&self, read: &Member, written: &Member) -> Result {
        if read.has(flag::OPTIONAL) == written.has(flag::OPTIONAL) {
            return Ok(());
        }
        let name = |of: &Member| if of.has(flag::OPTIONAL) { "@optional" } else { "always there" };
        Err(self.differ(name(written), name(read)))
    }

    /// Members of one id, wherever they are.
    fn check_member(&mut self, read: &Member, written: &Member, keys: Keys) -> Result {
        self.check(&read.ty, &written.ty, Keys::Erased)?;
        if keys == Keys::Erased {
            return Ok(());
        }
        let is_key = |of: &Member| of.has(flag::KEY);
        if is_key(read) != is_key(written) {
            let name = |of: &Member| if is_key(of) { "@key" } else { "no part of the key" };
            return Err(self.differ(name(written), name(read)));
        }
        if keys == Keys::Alone {
            self.check_optional(read, written)?;
        }
        if is_key(read) { self.check_key(&read.ty, &written.ty) } else { Ok(()) }
    }

    /// Every value that is written can be a key of the reader.
    fn check_key(&mut self, read: &TypeIdentifier, written: &TypeIdentifier) -> Result {
        let (one, other) = (self.resolve(read)?, self.resolve(written)?);
        let fits = match (&one, &other) {
            (Resolved::Plain(read), Resolved::Plain(written)) => {
                for part in [element, key] {
                    if let (Some(read), Some(written)) = (part(read), part(written)) {
                        self.at("[]", |judge| judge.check_key(read, written))?;
                    }
                }
                bound(read) >= bound(written)
            }
            (Resolved::Object(_, read), Resolved::Object(_, written)) => match (&**read, &**written) {
                (Shape::Enumeration(read), Shape::Enumeration(written)) => {
                    let values: SortedSet<i32> = read.literals.iter().map(|of| of.value).collect();
                    written.literals.iter().all(|of| values.contains(&of.value))
                }
                (Shape::Struct(_), Shape::Struct(_)) => {
                    return self.check(&one.id(), &other.id(), Keys::Alone);
                }
                (Shape::Union(_), Shape::Union(_)) => return self.check(&one.id(), &other.id(), Keys::Alone),
                _ => true,
            },
            _ => true,
        };
        if fits { Ok(()) } else { Err(self.differ("a key of more values", "one of fewer")) }
    }

    pub(super) fn check_union(&mut self, read: &Union, written: &Union, keys: Keys) -> Result {
        if read.change != written.change {
            return Err(self.differ_change(read.change, written.change));
        }
        self.at("switch", |judge| judge.check_strongly(&read.discriminator, &written.discriminator))?;
        let is_key = |of: &Union| of.discriminator_flags & flag::KEY != 0;
        if keys != Keys::Erased && is_key(read) != is_key(written) {
            let name = |of: &Union| if is_key(of) { "@key" } else { "no part of the key" };
            return self.at("switch", |judge| Err(judge.differ(name(written), name(read))));
        }
        if !self.rules.consistency.ignore_member_names {
            let cases = |of: &[Case]| of.iter().map(|of| (of.id, of.label.clone())).collect::<Vec<_>>();
            self.check_names(&cases(&read.cases), &cases(&written.cases))?;
        }
        let (ours, theirs) = (Cases::of(read), Cases::of(written));
        let same_labels = read.change == Change::Final || self.rules.consistency.prevent_type_widening;
        if same_labels && !ours.same_labels(&theirs) {
            let name = |of: &Cases<'_>| format!("a union with the labels {}", of.told());
            return Err(self.differ(name(&theirs), name(&ours)));
        }
        let mut any = false;
        // Whatever label is written selects the same type on both sides, or nothing on one.
        for label in theirs.labels.keys().chain(ours.labels.keys()) {
            any |= theirs.labels.contains_key(label) && ours.labels.contains_key(label);
            match (ours.selected(*label), theirs.selected(*label)) {
                (Some(one), Some(other)) => {
                    let name = one.label.or(format_args!("(case {label})"));
                    self.at(name, |judge| {
                        judge.check_case_ids(read.change, one, other)?;
                        judge.check_case(&one.ty, &other.ty, keys)
                    })?;
                }
                (None, Some(written)) if keys == Keys::Alone => {
                    let name = written.label.or(format_args!("(case {label})"));
                    return self.at(name, |judge| Err(judge.differ("part of the key", ABSENT)));
                }
                _ => {}
            }
        }
        if let (Some(one), Some(other)) = (ours.default, theirs.default) {
            let name = one.label.or("(default)");
            self.at(name, |judge| {
                judge.check_case_ids(read.change, one, other)?;
                judge.check_case(&one.ty, &other.ty, keys)
            })?;
        }
        if keys == Keys::Alone && theirs.default.is_some() && ours.default.is_none() {
            return Err(self.differ("a key with a default case", "one without"));
        }
        if any || same_labels {
            return Ok(());
        }
        Err(self.differ("a union", "one without any of its labels"))
    }

    /// In samples of mutable unions a case has its id, and is found by that.
    fn check_case_ids(&self, change: Change, read: &Case, written: &Case) -> Result {
        if change != Change::Mutable || read.id == written.id {
            return Ok(());
        }
        let name = |of: &Case| format!("{} with the id {}", of.label.or("a case"), of.id);
        Err(self.differ(name(written), name(read)))
    }

    /// Values of cases that one label selects.
    fn check_case(&mut self, read: &TypeIdentifier, written: &TypeIdentifier, keys: Keys) -> Result {
        self.check(read, written, Keys::Erased)?;
        if keys == Keys::Alone { self.check_key(read, written) } else { Ok(()) }
    }

    /// Members of one name have one id, and members of one id one name.
    fn check_names(&mut self, read: &[(u32, Label)], written: &[(u32, Label)]) -> Result {
        let by_id: SortedMap<u32, &Label> = written.iter().map(|(id, label)| (*id, label)).collect();
        let by_name: SortedMap<[u8; 4], u32> =
            written.iter().map(|(id, label)| (label.hash.octets, *id)).collect();
        for (id, label) in read {
            if let Some(other) = by_id.get(id)
                && other.hash != label.hash
            {
                let name = |of: &Label| format!("{} with the id {id}", of.or("another name"));
                return Err(self.differ(name(other), name(label)));
            }
            if let Some(other) = by_name.get(&label.hash.octets)
                && other != id
            {
                let name = |id: u32| format!("{} with the id {id}", label.or("a member"));
                return Err(self.differ(name(*other), name(*id)));
            }
        }
        Ok(())
    }

    /// Members, those of the base first; of a key alone those that it has, or all if none is marked.
    fn members(&mut self, of: &Struct, keys: Keys) -> Result<Vec<Member>> {
        let mut parts = Vec::new();
        let (mut base, mut part) = (of.base.clone(), of.members.clone());
        while base != TypeIdentifier::NONE {
            if parts.len() > MAX_DEPTH {
                return Err(Obstacle::Obscure);
            }
            let resolved = self.resolve(&base)?;
            let Resolved::Object(_, shape) = &resolved else { return Err(Obstacle::Obscure) };
            let Shape::Struct(of) = &**shape else { return Err(Obstacle::Obscure) };
            parts.push(core::mem::replace(&mut part, of.members.clone()));
            base = of.base.clone();
        }
        parts.push(part);
        let mut members: Vec<Member> = parts.into_iter().rev().flatten().collect();
        if keys == Keys::Alone {
            if members.iter().any(|member| member.has(flag::KEY)) {
                members.retain(|member| member.has(flag::KEY));
            }
            members.iter_mut().for_each(|member| member.flags |= flag::KEY);
        }
        Ok(members)
    }

    #[expect(clippy::unused_self, reason = "called where only the judge is at hand")]
    fn what(&self, member: &Member) -> &'static str {
        if member.has(flag::KEY) {
            "part of the key"
        } else if member.has(flag::MUST_UNDERSTAND) {
            "a member with @must_understand"
        } else {
            "a member of a final type"
        }
    }
}

/// The other side must have it.
fn is_needed(member: &Member, keys: Keys) -> bool {
    member.has(flag::MUST_UNDERSTAND) && !member.has(flag::OPTIONAL)
        || member.has(flag::KEY) && keys != Keys::Erased
}

impl Resolved {
    /// The identifier of the type itself.
    pub(super) fn id(&self) -> TypeIdentifier {
        match self {
            Self::Plain(plain) => plain.clone(),
            Self::Object(id, _) => id.identifier(),
        }
    }
}

/// The cases of a union by their labels.
struct Cases<'a> {
    labels: SortedMap<i32, &'a Case>,
    default: Option<&'a Case>,
}

impl<'a> Cases<'a> {
    fn of(union: &'a Union) -> Self {
        let labels = union.cases.iter().flat_map(|case| case.labels.iter().map(move |label| (*label, case)));
        Self { labels: labels.collect(), default: union.cases.iter().find(|case| case.is_default()) }
    }

    fn selected(&self, label: i32) -> Option<&'a Case> {
        self.labels.get(&label).copied().or(self.default)
    }

    fn same_labels(&self, other: &Self) -> bool {
        self.labels.keys().eq(other.labels.keys()) && self.default.is_some() == other.default.is_some()
    }

    fn told(&self) -> String {
        const SHOWN: usize = 16;
        let mut told: Vec<String> = self.labels.keys().take(SHOWN).map(|label| format!("{label}")).collect();
        if self.labels.len() > SHOWN {
            told.push("…".into());
        }
        if self.default.is_some() {
            told.push("default".into());
        }
        told.join(", ")
    }
}
