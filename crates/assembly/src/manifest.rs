//! Manifests: what component types a program has, with their ports and settings.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use diagnostics::{Problem, Source};
use filter::{Field, Kind, Path, Schema};

use crate::check::fits;
use crate::choices::choice as choices;
use crate::format::MANIFEST;
use crate::get::{choice, flag, named, number, text, texts};
use crate::plan::Named;
use crate::shape::{self, Shape};
use crate::timing::{self, Execution};
use crate::tree::{self, Node, Problems};
use crate::value::Value;

/// The component types of a program.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Manifest {
    /// Its build.
    pub build: Option<String>,
    /// Its component types.
    pub components: Named<ComponentType>,
    /// Types of events.
    pub events: Named<EventType>,
    /// Types of events that can leave a process of it, by topics and gateways; `None` if that is not known.
    pub topics: Option<Vec<String>>,
}

/// A component type.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ComponentType {
    /// Its ports.
    pub ports: Named<PortType>,
    /// Its settings.
    pub settings: Named<Setting>,
    /// Lanes that it can be in; any if there are none.
    pub lanes: Vec<String>,
    /// Whether its state can go into a new build.
    pub is_swappable: bool,
    /// Whether several of its handlers may run at once.
    pub is_parallel: bool,
    /// The build that it is of.
    pub build: Option<String>,
    /// Types of events that can leave a process of its program; `None` if that is not known.
    pub topics: Option<Vec<String>>,
}

choices! {
    /// The kind of a port.
    PortKind {
        /// Offers calls.
        Facet = "facet",
        /// Makes calls to one facet.
        Receptacle = "receptacle",
        /// Makes calls to several facets.
        Multiplex = "multiplex-receptacle",
        /// Publishes events to any number of consumers.
        Publisher = "publisher",
        /// Publishes events to one consumer.
        Emitter = "emitter",
        /// Gets events.
        Consumer = "consumer",
        /// Is called as time passes; it is not connected.
        Timer = "timer",
    }
}

choices! {
    /// The kind of the values of a setting.
    SettingKind {
        /// True or false.
        Boolean = "boolean",
        /// Whole numbers.
        Integer = "integer",
        /// Numbers.
        Float = "float",
        /// Text.
        Text = "text",
        /// A time such as `2 ms`.
        Time = "time",
        /// Anything.
        Any = "any",
    }
}

choices! {
    /// The kind of a field of an event, for filters.
    FieldKind {
        /// True or false.
        Boolean = "boolean",
        /// Whole numbers.
        Integer = "integer",
        /// Numbers.
        Float = "float",
        /// One character.
        Char = "char",
        /// Text.
        String = "string",
        /// Labels.
        Enumeration = "enumeration",
    }
}

/// A port of a component type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PortType {
    /// The kind of port.
    pub kind: PortKind,
    /// The type of its events, or of the trait that is called.
    pub port_type: Option<String>,
    /// Whether it has to be connected; what the manifest says or, without that, what its kind says.
    pub is_required: bool,
    /// How many facets a multiplex receptacle takes at most.
    pub most: Option<u32>,
    /// Ports that its handler may push to or call; any if unknown.
    pub triggers: Option<Vec<String>>,
    /// How long its handler takes.
    pub execution: Option<Execution>,
}

/// A setting of a component type.
#[derive(Clone, PartialEq, Debug)]
pub struct Setting {
    /// The kind of its values.
    pub kind: SettingKind,
    /// The value if the plan says none; without one the plan has to.
    pub default: Option<Value>,
    /// The least and the greatest value of a number.
    pub range: Option<(f64, f64)>,
    /// The texts that are possible; any if there are none.
    pub values: Vec<String>,
}

/// A type of events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EventType {
    /// Whether the fields are known.
    pub is_known: bool,
    /// All fields that filters compare, by path, if they are known.
    pub fields: Named<FieldKind>,
    /// For fields that are enumerations: numbers by label.
    pub labels: Named<Named<i64>>,
}

/// All types that a plan may use.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Catalogue {
    /// Component types.
    pub components: Named<ComponentType>,
    /// Types of events.
    pub events: Named<EventType>,
}

impl PortKind {
    /// Whether a connection begins at it.
    pub const fn is_source(self) -> bool {
        matches!(self, Self::Receptacle | Self::Multiplex | Self::Publisher | Self::Emitter)
    }

    /// Whether it is about calls, not about events.
    pub const fn is_call(self) -> bool {
        matches!(self, Self::Facet | Self::Receptacle | Self::Multiplex)
    }

    /// The kind of port at the other end of its connections.
    pub const fn fits(self) -> Option<Self> {
        match self {
            Self::Receptacle | Self::Multiplex => Some(Self::Facet),
            Self::Facet => Some(Self::Receptacle),
            Self::Publisher | Self::Emitter => Some(Self::Consumer),
            Self::Consumer => Some(Self::Publisher),
            Self::Timer => None,
        }
    }
}

impl Manifest {
    /// The manifest that a text says, as JSON or TOML.
    ///
    /// # Errors
    /// All that is wrong with it, up to 32 problems.
    pub fn read(source: Source<'_>) -> Result<Self, Vec<Problem>> {
        let mut problems = Problems::new(source);
        let Some(root) = tree::read(&mut problems) else { return Err(problems.into_list()) };
        shape::check(&root, Shape::Table(MANIFEST), "", &mut problems);
        if problems.are_none() {
            sense(&root, &mut problems);
        }
        if !problems.are_none() {
            return Err(problems.into_list());
        }
        let build = text(&root, "build");
        let topics = root.get("topics").map(|_| texts(&root, "topics"));
        let of_type = |node: &Node| component(node, build.as_deref(), topics.as_ref());
        let (components, events) = (named(&root, "component", of_type), named(&root, "event", event));
        Ok(Self { build, components, events, topics })
    }

    /// The format of manifests as a JSON schema (draft 2020-12).
    pub fn schema() -> String {
        let mut schema = shape::schema(Shape::Table(MANIFEST));
        schema.insert("$schema".into(), Value::Text("https://json-schema.org/draft/2020-12/schema".into()));
        schema.insert("title".into(), Value::Text("Manifest of component types".into()));
        Value::Table(schema).json()
    }
}

impl Catalogue {
    /// All types of several manifests, each with the file that it is from.
    ///
    /// # Errors
    /// Names of types that are in two manifests and not the same in both.
    pub fn of(manifests: impl IntoIterator<Item = (String, Manifest)>) -> Result<Self, Vec<Problem>> {
        let mut catalogue = Self::default();
        let mut problems = Vec::new();
        for (file, manifest) in manifests {
            let mut twice = |kind: &str, name: &str| {
                problems.push(Problem {
                    file: file.clone(),
                    place: None,
                    what: format!("the {kind} \"{name}\" is in another manifest, too, and differs"),
                    remedy: "leave one of the manifests out, or build both programs from one source".into(),
                });
            };
            for (name, of_type) in manifest.components {
                let known = catalogue.components.get(&name);
                if known.is_some_and(|known| *known != of_type) {
                    twice("component type", &name);
                }
                catalogue.components.insert(name, of_type);
            }
            for (name, of_type) in manifest.events {
                if catalogue.events.get(&name).is_some_and(|known| *known != of_type) {
                    twice("event type", &name);
                }
                catalogue.events.insert(name, of_type);
            }
        }
        if problems.is_empty() { Ok(catalogue) } else { Err(problems) }
    }
}

fn component(node: &Node, build: Option<&str>, topics: Option<&Vec<String>>) -> ComponentType {
    ComponentType {
        ports: named(node, "port", port),
        settings: named(node, "setting", setting),
        lanes: texts(node, "lanes"),
        is_swappable: flag(node, "swappable").unwrap_or_default(),
        is_parallel: flag(node, "parallel").unwrap_or_default(),
        build: build.map(Into::into),
        topics: topics.cloned(),
    }
}

fn port(node: &Node) -> PortType {
    let kind = choice(node, "kind", PortKind::named).unwrap_or(PortKind::Consumer);
    let is_needed = matches!(kind, PortKind::Receptacle | PortKind::Emitter);
    PortType {
        kind,
        port_type: text(node, "type"),
        is_required: flag(node, "required").unwrap_or(is_needed),
        most: number(node, "most"),
        triggers: node.get("triggers").map(|_| texts(node, "triggers")),
        execution: node.get("execution").map(timing::execution),
    }
}

fn setting(node: &Node) -> Setting {
    let range = node.get("range").map(Node::items).unwrap_or_default();
    let bounds: Vec<f64> = range.iter().filter_map(|bound| bound.value().number()).collect();
    Setting {
        kind: choice(node, "type", SettingKind::named).unwrap_or(SettingKind::Any),
        default: node.get("default").map(Node::value),
        range: bounds.first().copied().zip(bounds.get(1).copied()),
        values: texts(node, "values"),
    }
}

fn event(node: &Node) -> EventType {
    let entries = node.get("fields").map(Node::entries).unwrap_or_default();
    let fields = entries
        .iter()
        .filter_map(|entry| Some((entry.key.clone(), entry.node.text().and_then(FieldKind::named)?)));
    let labels = |node: &Node| {
        node.entries()
            .iter()
            .filter_map(|entry| Some((entry.key.clone(), entry.node.integer()?)))
            .collect::<BTreeMap<_, _>>()
    };
    let is_known = node.get("fields").is_some();
    EventType { is_known, fields: fields.collect(), labels: named(node, "labels", labels) }
}

/// Checks of a manifest that shapes do not express.
fn sense(root: &Node, problems: &mut Problems<'_>) {
    for component in root.get("component").map(Node::entries).unwrap_or_default() {
        let ports = component.node.get("port").map(Node::entries).unwrap_or_default();
        let of_type = self::component(&component.node, None, None);
        for entry in ports {
            let port = port(&entry.node);
            if let (Some(node), Some(execution)) = (entry.node.get("execution"), &port.execution)
                && let Err((what, remedy)) = fits(execution, Some(&of_type))
            {
                problems.add(node.at, what, remedy);
            }
            let has_type = port.port_type.is_some();
            if has_type == (port.kind == PortKind::Timer) {
                let what = format!("a {} with{} a type", port.kind, if has_type { "" } else { "out" });
                problems.add(entry.key_at, what, "every port has a type, except timers");
            }
            for item in entry.node.get("triggers").map(Node::items).unwrap_or_default() {
                let name = item.text().unwrap_or_default();
                if !ports.iter().any(|entry| entry.key == name) {
                    let known = ports.iter().map(|entry| entry.key.as_str());
                    let remedy = shape::meant(name, known, "name a port of the same component type".into());
                    problems.add(item.at, format!("there is no port \"{name}\""), remedy);
                }
            }
        }
        for entry in component.node.get("setting").map(Node::entries).unwrap_or_default() {
            let setting = setting(&entry.node);
            if let Some(range) = entry.node.get("range") {
                let is_number = matches!(setting.kind, SettingKind::Integer | SettingKind::Float);
                let is_range =
                    range.items().len() == 2 && setting.range.is_some_and(|(low, high)| low <= high);
                if !(is_number && is_range) {
                    problems.add(
                        range.at,
                        "this is no range",
                        "a number has a range of two, the lower first",
                    );
                }
            }
            if let (Some(node), Some(value)) = (entry.node.get("default"), &setting.default)
                && let Err(wrong) = setting.takes(value)
            {
                problems.add(node.at, wrong, "the default has to be a value that the plan could say, too");
            }
        }
    }
}

impl Setting {
    /// Whether a plan may give it this value.
    ///
    /// # Errors
    /// The reason why the value does not fit, in words.
    pub fn takes(&self, value: &Value) -> Result<(), String> {
        let is_of_kind = match (self.kind, value) {
            (SettingKind::Any, _)
            | (SettingKind::Boolean, Value::Boolean(_))
            | (SettingKind::Integer, Value::Integer(_))
            | (SettingKind::Float, Value::Integer(_) | Value::Float(_))
            | (SettingKind::Text, Value::Text(_)) => true,
            (SettingKind::Time, Value::Text(text)) => diagnostics::picoseconds(text).is_some(),
            _ => false,
        };
        if !is_of_kind {
            return Err(format!("{} is no value of the type {}", value.toml(), self.kind));
        }
        if let (Some((low, high)), Some(number)) = (self.range, value.number())
            && !(low..=high).contains(&number)
        {
            return Err(format!("{} is not from {low:?} to {high:?}", value.toml()));
        }
        match value {
            Value::Text(text) if !self.values.is_empty() && !self.values.contains(text) => {
                Err(format!("\"{text}\" is none of {}", self.values.join(", ")))
            }
            _ => Ok(()),
        }
    }
}

impl Schema for EventType {
    fn field(&self, path: Path<'_>) -> Option<Field> {
        let slot = self.fields.keys().position(|field| field == path.text())?;
        let slot = u32::try_from(slot).ok()?;
        let kind = match self.fields.get(path.text())? {
            FieldKind::Boolean => Kind::Boolean,
            FieldKind::Integer => Kind::Integer,
            FieldKind::Float => Kind::Float,
            FieldKind::Char => Kind::Char,
            FieldKind::String => Kind::String,
            FieldKind::Enumeration => Kind::Enumeration(slot),
        };
        Some(Field { slot, kind })
    }

    fn label(&self, enumeration: u32, name: &str) -> Option<i64> {
        let field = self.fields.keys().nth(usize::try_from(enumeration).ok()?)?;
        self.labels.get(field)?.get(name).copied()
    }
}
