//! What components and processes require of their hosts, and connections of the services that carry them, is there.
use alloc::format;
use alloc::string::String;

use super::Checker;
use crate::plan::{Connection, Named};
use crate::shape::meant;
use crate::value::Value;

impl Checker<'_> {
    pub(super) fn required_of_host(&mut self, path: &str, requires: &Named<Value>, host: Option<&str>) {
        let plan = self.plan;
        if let Some((name, host)) = host.and_then(|name| Some((name, plan.hosts.get(name)?))) {
            self.required(path, requires, "host", name, &host.resources);
        }
    }

    pub(super) fn required_of_service(&mut self, path: &str, connection: &Connection) {
        if connection.requires.is_empty() {
            return;
        }
        let plan = self.plan;
        let path = format!("{path}.requires");
        let named = connection.service.as_deref().and_then(|name| plan.services.get_key_value(name));
        match named {
            Some((name, service)) => {
                self.required(&path, &connection.requires, "service", name, &service.resources);
            }
            None => {
                let what = "a connection requires something of a service, and names no service of the plan";
                let remedy = "add [service.NAME] with its kind and resources, and service = \"NAME\"; or take requires out";
                self.wrong(&path, what, remedy);
            }
        }
    }

    /// Requirements that are no amounts are met. Amounts are added up by [`super::together`].
    fn required(
        &mut self,
        path: &str,
        requires: &Named<Value>,
        kind: &str,
        name: &str,
        resources: &Named<Value>,
    ) {
        for (resource, value) in requires {
            let path = format!("{path}.{resource}");
            match resources.get(resource) {
                None => {
                    let known = resources.keys().map(String::as_str);
                    let remedy =
                        meant(resource, known, format!("add {resource} to the resources of [{kind}.{name}]"));
                    self.wrong(
                        &path,
                        format!("the {kind} \"{name}\" has no resource \"{resource}\""),
                        remedy,
                    );
                }
                Some(Value::Integer(_)) if matches!(value, Value::Integer(0..)) => {}
                Some(has) if has == value && !matches!(value, Value::Integer(_)) => {}
                Some(has) => {
                    let what = format!("{resource} of the {kind} \"{name}\" is {}", has.toml());
                    self.wrong(&path, what, format!("require what it has, or choose another {kind}"));
                }
            }
        }
    }
}
