//! Manifests as Kubernetes reads them: YAML by a reader of its own, and the fields that the API has for each object.
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value};

/// The manifests of a file.
pub(crate) fn read(text: &str) -> Vec<Value> {
    Yaml::load_from_str(text).unwrap().iter().map(value).collect()
}

fn value(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(value)) => (*value).into(),
        Yaml::Value(Scalar::Integer(value)) => (*value).into(),
        Yaml::Value(Scalar::String(value)) => value.as_ref().into(),
        Yaml::Sequence(all) => all.iter().map(value).collect(),
        Yaml::Mapping(all) => {
            let entry =
                |(name, node): (&Yaml<'_>, &Yaml<'_>)| (name.as_str().unwrap().to_owned(), value(node));
            Value::Object(all.iter().map(entry).collect::<Map<_, _>>())
        }
        other => panic!("no manifest has {other:?}"),
    }
}

/// A field of the API: its name, and what it holds.
type Field = (&'static str, Holds);

/// What a field holds.
#[derive(Clone, Copy)]
enum Holds {
    Text,
    Number,
    Truth,
    Texts,
    /// Texts by name, as labels are.
    Named,
    One(&'static [Field]),
    List(&'static [Field]),
}

use Holds::{List, Named, Number, One, Text, Texts, Truth};

const METADATA: &[Field] = &[("name", Text), ("labels", Named)];
const SECURITY: &[Field] = &[
    ("allowPrivilegeEscalation", Truth),
    ("capabilities", One(&[("add", Texts), ("drop", Texts)])),
    ("runAsUser", Number),
    ("seccompProfile", One(&[("type", Text)])),
];
const CONTAINER: &[Field] = &[
    ("name", Text),
    ("image", Text),
    ("command", Texts),
    ("args", Texts),
    ("env", List(&[("name", Text), ("value", Text)])),
    ("resources", One(&[("requests", Named)])),
    ("securityContext", One(SECURITY)),
    ("volumeMounts", List(&[("name", Text), ("mountPath", Text), ("readOnly", Truth)])),
];
const POD: &[Field] = &[
    ("automountServiceAccountToken", Truth),
    ("containers", List(CONTAINER)),
    ("dnsPolicy", Text),
    ("enableServiceLinks", Truth),
    ("hostNetwork", Truth),
    ("nodeSelector", Named),
    ("restartPolicy", Text),
    ("terminationGracePeriodSeconds", Number),
    ("volumes", List(&[("name", Text), ("configMap", One(&[("name", Text)]))])),
];
const TEMPLATE: &[Field] = &[("metadata", One(&[("labels", Named)])), ("spec", One(POD))];
const STATEFUL_SET: &[Field] = &[
    ("replicas", Number),
    ("serviceName", Text),
    ("selector", One(&[("matchLabels", Named)])),
    ("template", One(TEMPLATE)),
];

/// Whether the API has a place for all of a manifest: fields and types after the reference of Kubernetes 1.33.
pub(crate) fn check(manifest: &Value) {
    let kind = manifest["kind"].as_str().unwrap();
    let (version, more): (&str, &[Field]) = match kind {
        "ConfigMap" => ("v1", &[("immutable", Truth), ("data", Named)]),
        "Service" => ("v1", &[("spec", One(&[("clusterIP", Text), ("selector", Named)]))]),
        "StatefulSet" => ("apps/v1", &[("spec", One(STATEFUL_SET))]),
        "Job" => ("batch/v1", &[("spec", One(&[("backoffLimit", Number), ("template", One(TEMPLATE))]))]),
        kind => panic!("there is no {kind} in an export"),
    };
    assert_eq!(manifest["apiVersion"], version, "{kind}");
    let every: &[Field] = &[("apiVersion", Text), ("kind", Text), ("metadata", One(METADATA))];
    object(manifest, &[every, more].concat(), kind);
    if kind == "StatefulSet" {
        let spec = &manifest["spec"];
        assert_eq!(spec["selector"]["matchLabels"], spec["template"]["metadata"]["labels"]);
    }
}

fn object(value: &Value, fields: &[Field], place: &str) {
    for (name, value) in value.as_object().unwrap_or_else(|| panic!("{place}: {value}")) {
        let field = fields.iter().find(|(field, _)| field == name);
        let (_, holds) = field.unwrap_or_else(|| panic!("{place} has no field {name}"));
        let place = format!("{place}.{name}");
        match *holds {
            Text => assert!(value.is_string(), "{place}: {value}"),
            Number => assert!(value.is_u64(), "{place}: {value}"),
            Truth => assert!(value.is_boolean(), "{place}: {value}"),
            Texts => assert!(value.as_array().unwrap().iter().all(Value::is_string), "{place}: {value}"),
            Named => assert!(value.as_object().unwrap().values().all(Value::is_string), "{place}: {value}"),
            One(fields) => object(value, fields, &place),
            List(fields) => value.as_array().unwrap().iter().for_each(|value| object(value, fields, &place)),
        }
    }
}
