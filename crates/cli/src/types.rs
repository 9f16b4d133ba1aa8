//! Which type a topic has: described by the user, or known here.
pub(crate) mod source;

use std::sync::Arc;

use clap::Args;
use dcps::{KeyError, KeylessTypeSupport, TypeSupport};
use dds::cdr::{EncodeError, EncodeFault, KeyHash, Representation};
use dds::{DomainParticipant, Duration, Error, FoundType, QosKind, Topic};
use dynamic::{Definition, DynamicTypeSupport, Schema, Type, TypeIndex, idl};
use wire::discovery::EndpointData;
use xtypes::{Described, describe, recover};

use self::source::Source;
use crate::exit::Failure;

/// The type of the samples.
#[derive(Args, Clone, PartialEq, Eq, Debug, Default)]
#[command(next_help_heading = "Type")]
pub struct TypeOptions {
    /// IDL of the type, as 'struct Reading { @key uint32 sensor; double celsius; };', or the name of a type that --idl describes or
    /// that is known here.
    #[arg(short = 't', long = "type", value_name = "IDL|NAME")]
    pub described: Option<String>,
    /// File with IDL; --type says which of its types, by default the last one.
    #[arg(long, value_name = "FILE")]
    pub idl: Option<std::path::PathBuf>,
    /// Name of the type in the domain, if it is another one than in the IDL, as std_msgs::msg::dds_::String_.
    #[arg(long, value_name = "NAME")]
    pub type_name: Option<String>,
    /// Samples are bytes in hexadecimal, with the four of the encapsulation header before the data.
    #[arg(long, conflicts_with_all = ["described", "idl"])]
    pub hex: bool,
}

/// Types that are known without description.
pub(crate) const KNOWN: &str = "
    struct ShapeType { @key string<128> color; long x; long y; long shapesize; };
    struct Reading { @key uint32 sensor; double celsius; };
    module std_msgs { module msg { module dds_ { @final struct String_ { string data; }; }; }; };
";

/// A type, as samples are read and written.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// By its description.
    Described(Arc<Schema>, TypeIndex),
    /// As bytes.
    Octets {
        /// They belong to a topic with a key. Which instance a sample is of is not known: all count as one.
        keyed: bool,
    },
}

/// Samples whose key cannot be read, so that all are of one instance.
#[derive(Clone, Copy, Debug)]
struct OpaqueKey;

impl TypeSupport for OpaqueKey {
    fn has_key(&self) -> bool {
        true
    }

    fn key(&mut self, _: &[u8], _: bool, _: &mut Vec<u8>) -> Result<(), KeyError> {
        Ok(())
    }

    fn key_hash(&mut self, _: &[u8], _: Representation) -> Result<KeyHash, KeyError> {
        Ok(KeyHash::default())
    }

    fn key_payload(&mut self, _: &[u8], _: Representation, _: &mut Vec<u8>) -> Result<(), KeyError> {
        Err(KeyError::Encode(EncodeError { fault: EncodeFault::NoKey, at: 0, member: None }))
    }
}

/// How long a participant is asked for a type.
const ASK: Duration = Duration::from_secs(5);

/// The type that the first of these endpoints announces whose participant tells it.
pub(crate) fn told(
    participant: &DomainParticipant,
    endpoints: &[EndpointData],
) -> Result<Option<Form>, Failure> {
    for endpoint in endpoints.iter().filter(|data| data.type_information.is_some()).take(4) {
        if let Some(form) = participant.find_type(endpoint, ASK)?.as_ref().and_then(Form::found) {
            return Ok(Some(form));
        }
    }
    Ok(None)
}

impl TypeOptions {
    /// The type that was asked for; `None` if nothing was.
    ///
    /// # Errors
    /// [`Failure::Usage`] with the place of a mistake in the IDL, or the names that there are.
    pub(crate) fn form(&self) -> Result<Option<Form>, Failure> {
        if self.hex {
            return Ok(Some(Form::Octets { keyed: false }));
        }
        let (mut source, name) = match (&self.idl, &self.described) {
            (Some(path), name) => (Source::file(path)?, name.as_deref()),
            (None, Some(text)) if text.contains('{') => (Source::text("--type", text), None),
            (None, Some(name)) => (Source::text("known types", KNOWN), Some(name.as_str())),
            (None, None) => return Ok(None),
        };
        let schema = source.schema()?;
        let place = &source.place;
        let topics = || schema.iter().filter(|(_, definition)| definition.extensibility().is_some());
        let found = match name {
            Some(name) => schema.find(name).filter(|index| topics().any(|(topic, _)| topic == *index)),
            None => topics().next_back().map(|(index, _)| index),
        };
        let Some(index) = found else {
            let names: Vec<&str> = topics().map(|(_, definition)| definition.name()).collect();
            let wanted = name.map_or_else(String::new, |name| format!(" with the name {name}"));
            return Err(Failure::Usage(format!(
                "{place}: no struct or union{wanted}; there are: {}. Another type is described by --type 'struct Name {{ … }};' or --idl FILE",
                names.join(", ")
            )));
        };
        Ok(Some(Form::Described(Arc::new(schema), index)))
    }

    /// The name in the domain of the type that was asked for.
    pub(crate) fn announced_name(&self, form: &Form) -> Option<String> {
        self.type_name.clone().or_else(|| form.name().map(str::to_owned))
    }
}

impl Form {
    /// Its type objects; `None` where there are none, as of octets and of a type that contains itself.
    pub(crate) fn described(&self) -> Option<Described> {
        let Self::Described(schema, index) = self else { return None };
        describe(schema, *index).ok()
    }

    /// A type that a participant has told, if it is understood.
    pub(crate) fn found(found: &FoundType) -> Option<Self> {
        let (schema, mut index) = recover(&found.objects, found.id)?;
        while let Some(Definition::Alias(alias)) = schema.get(index) {
            let Type::Named(of) = alias.plain else { return None };
            index = of;
        }
        schema.get(index)?.extensibility()?;
        Some(Self::Described(Arc::new(schema), index))
    }

    /// The topic of this name with samples of the type.
    ///
    /// # Errors
    /// What the participant says.
    pub(crate) fn topic(
        &self,
        participant: &DomainParticipant,
        name: &str,
        type_name: &str,
    ) -> Result<Topic, Error> {
        match self.described() {
            Some(described) => {
                participant.create_described_topic(name, type_name, Arc::new(described), QosKind::Default)
            }
            None => participant.create_raw_topic(name, type_name, QosKind::Default),
        }
    }

    /// The type that is known under a name in the domain.
    pub(crate) fn known(name: &str) -> Option<Self> {
        let schema = idl::parse(KNOWN).ok()?;
        let (index, _) = schema.iter().find(|(_, definition)| definition.name() == name)?;
        Some(Self::Described(Arc::new(schema), index))
    }

    /// The name in the description.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Described(schema, index) => schema.get(*index).map(Definition::name),
            Self::Octets { .. } => None,
        }
    }

    /// Its keys.
    pub(crate) fn support(&self) -> Box<dyn TypeSupport + Send> {
        match self {
            Self::Described(schema, index) => Box::new(DynamicTypeSupport::new(Arc::clone(schema), *index)),
            Self::Octets { keyed: true } => Box::new(OpaqueKey),
            Self::Octets { keyed: false } => Box::new(KeylessTypeSupport),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(described: &str) -> TypeOptions {
        TypeOptions { described: Some(described.to_owned()), ..TypeOptions::default() }
    }

    #[test]
    fn a_type_is_described_or_known() {
        let form = options("struct A { long x; }; struct B { A a; };").form().unwrap().unwrap();
        assert_eq!(form.name(), Some("B"));
        assert_eq!(options("ShapeType").form().unwrap().unwrap().name(), Some("ShapeType"));
        assert_eq!(
            Form::known("std_msgs::msg::dds_::String_").unwrap().name(),
            Some("std_msgs::msg::dds_::String_")
        );
        assert!(Form::known("Unheard").is_none());
        assert!(TypeOptions::default().form().unwrap().is_none());
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let said = |text: &str| options(text).form().unwrap_err().to_string();
        assert_eq!(
            said("struct A { lung x; };"),
            "--type: line 1, column 12: the type lung is not known; describe it before it is used\n  struct A { lung x; };\n             ^"
        );
        assert!(said("Unheard").starts_with(
            "known types: no struct or union with the name Unheard; there are: ShapeType, Reading,"
        ));
    }
}
