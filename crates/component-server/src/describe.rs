//! The manifest of component types, as plans read it.
use assembly::{
    ComponentType, EventType, FieldKind, Manifest, Named, PortKind, PortType, Setting, SettingKind, Value,
};
use container::filter::Kind;

/// The manifest of a program.
pub(crate) fn manifest<'t>(
    build: &str,
    types: &[container::ComponentType],
    topics: impl Iterator<Item = &'t str>,
) -> Manifest {
    let topics: Vec<String> = topics.map(str::to_owned).collect();
    let components = types.iter().map(|of_type| {
        let manifest = of_type.manifest();
        (manifest.component.to_owned(), component(&manifest, build, &topics))
    });
    let (build, components) = (Some(build.to_owned()), components.collect());
    Manifest { build, components, topics: Some(topics.clone()), events: events(types) }
}

/// The fields of the events of these components. Two types that are written alike and differ are not known.
fn events(types: &[container::ComponentType]) -> Named<EventType> {
    let mut all: Named<Option<EventType>> = Named::new();
    for port in types.iter().flat_map(|of_type| of_type.manifest().ports) {
        let Some(fields) = port.fields.and_then(container::EventFields::list) else { continue };
        let event = event(fields);
        let known = all.entry(port.of.to_owned()).or_insert_with(|| Some(event.clone()));
        if known.as_ref() != Some(&event) {
            *known = None;
        }
    }
    all.into_iter().filter_map(|(name, event)| Some((name, event?))).collect()
}

fn event(fields: Vec<container::ComparedField>) -> EventType {
    let mut event = EventType { is_known: true, ..EventType::default() };
    for field in fields {
        let kind = match field.kind {
            Kind::Boolean => FieldKind::Boolean,
            Kind::Integer => FieldKind::Integer,
            Kind::Float => FieldKind::Float,
            Kind::Char => FieldKind::Char,
            Kind::String => FieldKind::String,
            Kind::Enumeration(_) => FieldKind::Enumeration,
        };
        if !field.labels.is_empty() {
            let labels = field.labels.into_iter().map(|(label, number)| (label.to_owned(), number));
            event.labels.insert(field.path.to_owned(), labels.collect());
        }
        event.fields.insert(field.path.to_owned(), kind);
    }
    event
}

fn component(manifest: &container::Manifest, build: &str, topics: &[String]) -> ComponentType {
    let ports = manifest.ports.iter().map(|port| (port.name.to_owned(), self::port(port)));
    let settings = manifest.settings.iter().map(|of| (of.name.to_owned(), setting(of)));
    ComponentType {
        ports: ports.collect(),
        settings: settings.collect(),
        lanes: Vec::new(),
        is_swappable: manifest.is_swappable,
        is_parallel: manifest.is_parallel,
        build: Some(build.to_owned()),
        topics: Some(topics.to_vec()),
    }
}

fn port(port: &container::Port) -> PortType {
    let kind = match port.kind {
        container::PortKind::Publisher => PortKind::Publisher,
        container::PortKind::Emitter => PortKind::Emitter,
        container::PortKind::Consumer => PortKind::Consumer,
        container::PortKind::Timer => PortKind::Timer,
        container::PortKind::Facet => PortKind::Facet,
        container::PortKind::Receptacle => PortKind::Receptacle,
    };
    PortType {
        kind,
        port_type: (kind != PortKind::Timer).then(|| port.of.to_owned()),
        is_required: matches!(kind, PortKind::Emitter | PortKind::Receptacle),
        most: None,
        triggers: None,
        execution: None,
    }
}

fn setting(of: &container::SettingInfo) -> Setting {
    let kind = match &of.default {
        container::Value::Boolean(_) => SettingKind::Boolean,
        container::Value::Integer(_) => SettingKind::Integer,
        container::Value::Float(_) => SettingKind::Float,
        container::Value::Text(_) => SettingKind::Text,
    };
    let is_number = matches!(kind, SettingKind::Integer | SettingKind::Float);
    let range = of.range.filter(|_| is_number).and_then(|text| range(text, kind));
    // A default that is out of its range is found when the component is made.
    Setting { kind, default: Some(value(&of.default)), range, values: Vec::new() }
}

/// The least and the greatest value of a range with both ends as numbers. Others are checked when the component is made.
fn range(text: &str, kind: SettingKind) -> Option<(f64, f64)> {
    let number = |text: &str| text.replace('_', "").parse::<f64>().ok().filter(|number| number.is_finite());
    if let Some((low, high)) = text.split_once("..=") {
        return Some((number(low)?, number(high)?)).filter(|(low, high)| low <= high);
    }
    let (low, high) = text.split_once("..")?;
    // Without its end, a range of whole numbers ends one before.
    let (low, high) = (number(low)?, number(high)? - 1.0);
    (kind == SettingKind::Integer && low <= high).then_some((low, high))
}

/// A value of a component as one of a plan. A plan has no infinite numbers.
pub(crate) fn value(value: &container::Value) -> Value {
    match value {
        container::Value::Boolean(value) => Value::Boolean(*value),
        container::Value::Integer(value) => Value::Integer(*value),
        container::Value::Float(value) if value.is_finite() => Value::Float(*value),
        container::Value::Float(_) => Value::Float(0.0),
        container::Value::Text(text) => Value::Text(text.clone()),
    }
}

/// A value of a plan as one of a component; `None` if components have none of this kind.
pub(crate) fn setting_value(value: &Value) -> Option<container::Value> {
    match value {
        Value::Boolean(value) => Some(container::Value::Boolean(*value)),
        Value::Integer(value) => Some(container::Value::Integer(*value)),
        Value::Float(value) => Some(container::Value::Float(*value)),
        Value::Text(text) => Some(container::Value::Text(text.clone())),
        Value::List(_) | Value::Table(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use container::{Component, Consumer, Context, Event, Facet, Handle, Lifecycle, Outcome, Tick, Timer};
    use diagnostics::Source;

    use super::*;

    #[derive(Clone)]
    struct Fix;
    impl Event for Fix {}

    trait Tuning {}

    #[derive(Component)]
    struct Airframe {
        fix: Consumer<Fix>,
        tick: Timer,
        tuning: Facet<dyn Tuning>,
        #[setting(default = 0.5, range = 0.0..=1.0)]
        gain: f64,
        #[setting(default = 3, range = 1..10)]
        count: u32,
        #[setting(default = "a\"b")]
        name: String,
        #[setting(default = true)]
        is_on: bool,
    }
    impl Lifecycle for Airframe {}
    impl Tuning for Airframe {}
    impl Handle<airframe::Fix> for Airframe {
        fn handle(&mut self, _: &Fix, _: &Context) -> Outcome {
            Ok(())
        }
    }
    impl Handle<airframe::Tick> for Airframe {
        fn handle(&mut self, _: &Tick, _: &Context) -> Outcome {
            Ok(())
        }
    }

    #[test]
    fn what_components_print_plans_read() {
        let manifest = manifest("this 1", &container::components![Airframe], ["Fix"].into_iter());
        let text = manifest.json();
        let read = Manifest::read(Source { file: "printed", text: &text });
        assert_eq!(read.as_ref(), Ok(&manifest), "{text}");
        let airframe = &manifest.components["Airframe"];
        let kinds: Vec<_> = airframe.ports.iter().map(|(name, port)| (name.as_str(), port.kind)).collect();
        let expected = [("fix", PortKind::Consumer), ("tick", PortKind::Timer), ("tuning", PortKind::Facet)];
        assert_eq!(kinds, expected);
        assert_eq!(airframe.ports["tuning"].port_type.as_deref(), Some("dyn Tuning"));
        assert_eq!(airframe.settings["gain"].range, Some((0.0, 1.0)));
        assert_eq!(airframe.settings["count"].range, Some((1.0, 9.0)));
        assert_eq!(airframe.settings["name"].default, Some(Value::Text("a\"b".to_owned())));
        assert_eq!(airframe.settings["is_on"].kind, SettingKind::Boolean);
        assert_eq!(airframe.build.as_deref(), Some("this 1"));
        assert_eq!(airframe.topics.as_deref(), Some(&["Fix".to_owned()][..]));
        // Filters cannot look into it.
        assert_eq!(manifest.events["Fix"], EventType { is_known: true, ..EventType::default() });
    }

    #[test]
    fn ranges_are_read_where_they_are_numbers() {
        let of = |text| range(text, SettingKind::Integer);
        assert_eq!(of("-3..=1_000"), Some((-3.0, 1000.0)));
        for text in ["LOW..=HIGH", "3..", "..=4", "5..=4", "1..1"] {
            assert_eq!(of(text), None, "{text}");
        }
        assert_eq!(range("0.0..1.0", SettingKind::Float), None);
    }
}
