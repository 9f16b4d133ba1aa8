//! The policies of an entity.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use dcps::qos::MAX_DATA_OCTETS;
use wire::qos::DataRepresentation;

use crate::entity::Entity;
use crate::fields::{FIELDS, Field, Form, Value, policy_name, remark};
use crate::literal::{self, Wrong};
use crate::markup::{Element, Markup};
use crate::profile::Said;
use crate::words::{meaning, words};

/// Elements of a list.
const MOST_ITEMS: usize = 256;

/// What bytes are called in base64.
const IN_BASE64: &str = "valueB64";

impl Markup<'_> {
    /// All values that an element says.
    pub(crate) fn policies(&mut self, element: Element<'_>, entity: Entity) -> Vec<Said> {
        let mut said = Vec::new();
        let mut seen = BTreeMap::new();
        for policy in self.elements(element) {
            if self.is_full() {
                break;
            }
            let name = policy.tag_name().name();
            if !FIELDS.iter().any(|field| field.policy == name && field.is_of(entity)) {
                self.no_policy(policy, entity);
                continue;
            }
            if self.is_first(&mut seen, policy) {
                self.attributes(policy, &[]);
                self.policy(policy, entity, &mut said);
            }
        }
        said
    }

    fn policy(&mut self, policy: Element<'_>, entity: Entity, said: &mut Vec<Said>) {
        let mut seen = BTreeMap::new();
        for element in self.elements(policy) {
            if self.is_full() {
                break;
            }
            let name = element.tag_name().name();
            let is_named = |field: &Field| {
                field.name == name || (matches!(field.form, Form::Bytes) && name == IN_BASE64)
            };
            let found = FIELDS.iter().enumerate().find(|(_, field)| {
                field.policy == policy.tag_name().name() && field.is_of(entity) && is_named(field)
            });
            let Some((number, field)) = found else {
                self.no_field(policy, element);
                continue;
            };
            if !self.is_first(&mut seen, element) {
                continue;
            }
            let at = element.range().start;
            if let Some(value) = self.value(element, field) {
                if let Some(remark) = remark(field) {
                    let what = format!("{} {}: {remark}", policy_name(field.policy), field.name);
                    self.note(at, what, "docs/qos.md says what each policy does here");
                }
                match said.iter().find(|said| said.field == number) {
                    None => said.push(Said { field: number, value, at }),
                    Some(_) => self.problem(at, "bytes are said twice", "write <value> or <valueB64>"),
                }
            }
        }
    }

    /// False, and a problem, if there was one of its name.
    fn is_first<'e>(&mut self, seen: &mut BTreeMap<&'e str, ()>, element: Element<'e>) -> bool {
        let name = element.tag_name().name();
        let is_first = seen.insert(name, ()).is_none();
        if !is_first {
            self.problem(element.range().start, format!("<{name}> is there twice"), "write it once");
        }
        is_first
    }

    fn no_policy(&mut self, element: Element<'_>, entity: Entity) {
        let name = element.tag_name().name();
        let of: u8 = FIELDS.iter().filter(|field| field.policy == name).fold(0, |of, field| of | field.of);
        if of != 0 {
            let those = Entity::ALL.iter().filter(|entity| of & entity.bit() != 0);
            let those: Vec<String> = those.map(|entity| format!("<{}>", entity.element())).collect();
            let what = format!("a {entity} has no policy {}", policy_name(name));
            return self.problem(
                element.range().start,
                what,
                format!("it belongs into {}", those.join(", ")),
            );
        }
        let mut known: Vec<&str> =
            FIELDS.iter().filter(|field| field.is_of(entity)).map(|field| field.policy).collect();
        known.dedup();
        self.unknown(element, &known, &format!("the standard has no policy <{name}>"));
    }

    fn no_field(&mut self, policy: Element<'_>, element: Element<'_>) {
        let (outer, name) = (policy.tag_name().name(), element.tag_name().name());
        let known: Vec<&str> =
            FIELDS.iter().filter(|field| field.policy == outer).map(|field| field.name).collect();
        self.unknown(element, &known, &format!("{} has no <{name}>", policy_name(outer)));
    }

    /// The value of an element; `None` if it is wrong.
    fn value(&mut self, element: Element<'_>, field: &Field) -> Option<Value> {
        let at = element.range().start;
        match field.form {
            Form::Duration => self.duration(element),
            Form::Names => self
                .items(element)
                .map(|items| Value::Names(items.into_iter().map(|(_, text)| text).collect())),
            Form::Representations => self.representations(element),
            Form::Bytes => {
                let text = self.text(element)?;
                let read =
                    if element.tag_name().name() == IN_BASE64 { literal::base64 } else { literal::bytes };
                self.or_wrong(at, read(&text, MAX_DATA_OCTETS).map(Value::Bytes))
            }
            Form::Word(words) => {
                let word = self.word(element)?;
                self.or_wrong(at, literal::one_of(&word, &words()).map(Value::Word))
            }
            Form::Limit => {
                let word = self.word(element)?;
                self.or_wrong(at, literal::limit(&word).map(Value::Limit))
            }
            Form::Depth => {
                let word = self.word(element)?;
                self.or_wrong(at, literal::depth(&word).map(Value::Depth))
            }
            Form::Integer => {
                let word = self.word(element)?;
                self.or_wrong(at, literal::integer(&word).map(Value::Integer))
            }
            Form::Flag => {
                let word = self.word(element)?;
                self.or_wrong(at, literal::flag(&word).map(Value::Flag))
            }
        }
    }

    fn or_wrong<T>(&mut self, at: usize, read: Result<T, Wrong>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(wrong) => {
                self.wrong(at, wrong);
                None
            }
        }
    }

    fn duration(&mut self, element: Element<'_>) -> Option<Value> {
        self.attributes(element, &[]);
        let mut seen = BTreeMap::new();
        let (mut seconds, mut nanoseconds) = (None, None);
        let mut is_right = true;
        for part in self.elements(element) {
            let at = part.range().start;
            let (place, read) = match part.tag_name().name() {
                "sec" => (&mut seconds, literal::seconds as fn(&str) -> _),
                "nanosec" => (&mut nanoseconds, literal::nanoseconds as fn(&str) -> _),
                name => {
                    self.unknown(part, &["sec", "nanosec"], &format!("a duration has no <{name}>"));
                    is_right = false;
                    continue;
                }
            };
            let first = self.is_first(&mut seen, part);
            let word = self.word(part);
            *place = word.and_then(|word| self.or_wrong(at, read(&word)));
            is_right &= first && place.is_some();
        }
        if !is_right {
            return None;
        }
        self.or_wrong(element.range().start, literal::duration(seconds, nanoseconds).map(Value::Duration))
    }

    /// The texts of `<element>`, with their places.
    fn items(&mut self, element: Element<'_>) -> Option<Vec<(usize, String)>> {
        self.attributes(element, &[]);
        let mut items = Vec::new();
        let mut is_right = true;
        for item in self.elements(element) {
            let at = item.range().start;
            if item.tag_name().name() != "element" {
                let outer = element.tag_name().name();
                self.unknown(item, &["element"], &format!("<{outer}> is a list of <element>"));
                is_right = false;
            } else if items.len() >= MOST_ITEMS {
                self.problem(at, format!("more than {MOST_ITEMS} elements of a list"), "write fewer");
                return None;
            } else {
                match self.text(item) {
                    Some(text) => items.push((at, text)),
                    None => is_right = false,
                }
            }
        }
        is_right.then_some(items)
    }

    fn representations(&mut self, element: Element<'_>) -> Option<Value> {
        let all = words::<DataRepresentation>();
        let mut found = Vec::new();
        for (at, text) in self.items(element)? {
            let word = self.or_wrong(at, literal::one_of(text.trim(), &all))?;
            found.extend(meaning::<DataRepresentation>(word));
        }
        Some(Value::Representations(found))
    }
}
