//! Nodes, containers and executables of launch files.
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use diagnostics::Problem;

use super::scope::Scope;
use super::{HOST, Import, MOST_BYTES, MOST_PROGRAMS};
use crate::import::xml::{Element, at, elements, name};
use crate::plan::{Artefact, ArtefactKind, Component, Container, Lane, Process, Restart, RestartPolicy};
use crate::tree::LONGEST_KEY;

/// A program that is to be in the plan.
struct Program {
    /// Its name in ROS, or what it is called by.
    called: String,
    /// The path of its file, and the name of the artefact.
    location: String,
    artefact: String,
    arguments: Vec<String>,
    environment: BTreeMap<String, String>,
}

impl Import<'_> {
    /// Another name for a topic.
    pub(super) fn remap(&mut self, scope: &Scope, element: Element<'_>) -> Option<(String, String)> {
        self.only(element, &["from", "to"]);
        self.value(scope, element, "from").zip(self.value(scope, element, "to"))
    }

    pub(super) fn node(&mut self, scope: &Scope, element: Element<'_>) -> Result<(), Problem> {
        self.only(
            element,
            &["pkg", "exec", "name", "namespace", "args", "ros_args", "respawn", "respawn_delay"],
        );
        let (package, program) = (self.value(scope, element, "pkg"), self.value(scope, element, "exec"));
        let Some((package, program)) = package.zip(program) else {
            self.leave(element, format!("<{}> without pkg or exec", name(element)), "it is left out");
            return Ok(());
        };
        let prefix = self.launch.prefix.map(|prefix| format!("{}/", prefix.trim_end_matches('/')));
        let location = format!("{}lib/{package}/{program}", prefix.as_deref().unwrap_or_default());
        let artefact = format!("{package}-{program}");
        if prefix.is_none() {
            let what = format!("where the package \"{package}\" is installed is not said");
            self.leave(element, what, "name the folder: --prefix /opt/ros/NAME");
        }
        let called = self.value(scope, element, "name");
        let namespace = self.value(scope, element, "namespace").unwrap_or_default();
        let namespace = scope.namespace(&namespace);
        let mut ros = Vec::new();
        let mut add = |option: &str, text: String| ros.extend([option.to_string(), text]);
        if let Some(called) = &called {
            add("-r", format!("__node:={called}"));
        }
        if !namespace.is_empty() {
            add("-r", format!("__ns:={namespace}"));
        }
        for (from, to) in &scope.remaps {
            add("-r", format!("{from}:={to}"));
        }
        let mut environment: BTreeMap<String, String> = scope.variables.iter().cloned().collect();
        let mut loaded = Vec::new();
        for inner in elements(element) {
            if !self.counts(scope, inner) {
                continue;
            }
            match name(inner) {
                "remap" => match self.remap(scope, inner) {
                    Some((from, to)) => ros.extend(["-r".to_string(), format!("{from}:={to}")]),
                    None => self.leave(inner, "a remap without from or to", "it is left out"),
                },
                "param" => self.parameter(scope, inner, "", &mut ros),
                "env" => {
                    let (name, value) = (self.value(scope, inner, "name"), self.value(scope, inner, "value"));
                    match name.zip(value) {
                        Some((name, value)) => drop(environment.insert(name, value)),
                        None => self.leave(inner, "a variable without a name or value", "it is left out"),
                    }
                }
                "composable_node" if name(element) == "node_container" => loaded.push(inner),
                other => {
                    let what = format!("<{other}> of a node has no place in a plan");
                    self.leave(inner, what, "it is left out");
                }
            }
        }
        let mut arguments = self.words(scope, element, "args");
        let more = self.words(scope, element, "ros_args");
        if !ros.is_empty() || !more.is_empty() {
            arguments.push("--ros-args".to_string());
            arguments.extend(ros);
            arguments.extend(more);
        }
        let called = called.unwrap_or(program);
        let full = format!("{namespace}/{called}");
        let of_type = artefact.clone();
        let program = Program { called: full.clone(), location, artefact, arguments, environment };
        let process = self.program(scope, element, program)?;
        if name(element) == "node" {
            self.component(element, &process, &full, &of_type);
        } else {
            self.containers.push((full, process.clone()));
        }
        for inner in loaded {
            self.composable(scope, inner, &process)?;
        }
        Ok(())
    }

    /// A component that ROS loads into a container while it runs.
    fn composable(&mut self, scope: &Scope, element: Element<'_>, process: &str) -> Result<(), Problem> {
        self.only(element, &["pkg", "plugin", "name", "namespace"]);
        let (package, plugin) = (self.value(scope, element, "pkg"), self.value(scope, element, "plugin"));
        let Some((package, plugin)) = package.zip(plugin) else {
            self.leave(element, "<composable_node> without pkg or plugin", "it is left out");
            return Ok(());
        };
        if self.made.plan.components.len() >= MOST_PROGRAMS {
            return Err(self.too_many(element));
        }
        let called = self.value(scope, element, "name").unwrap_or_else(|| plugin.clone());
        let namespace = self.value(scope, element, "namespace").unwrap_or_default();
        let full = format!("{}/{called}", scope.namespace(&namespace));
        for inner in elements(element) {
            let what = format!("<{}> of a node that is loaded has no place in a plan", name(inner));
            self.leave(inner, what, "it is left out");
        }
        let what = format!("nothing loads \"{plugin}\" into its container");
        self.leave(
            element,
            what,
            "the plan describes it; ros2 component load does it when the container runs",
        );
        self.component(element, process, &full, &format!("{package}-{plugin}"));
        Ok(())
    }

    pub(super) fn load(&mut self, scope: &Scope, element: Element<'_>) -> Result<(), Problem> {
        self.only(element, &["target"]);
        let target = self.value(scope, element, "target").unwrap_or_default();
        let target = scope.namespace(&target);
        let Some((_, process)) = self.containers.iter().find(|(full, _)| *full == target).cloned() else {
            let what = format!("there is no container \"{target}\" before this");
            self.leave(element, what, "it is left out, with all that is in it");
            return Ok(());
        };
        for inner in elements(element) {
            if name(inner) == "composable_node" {
                if self.counts(scope, inner) {
                    self.composable(scope, inner, &process)?;
                }
            } else {
                let what = format!("<{}> has no place in a plan", name(inner));
                self.leave(inner, what, "it is left out");
            }
        }
        Ok(())
    }

    pub(super) fn executable(&mut self, scope: &Scope, element: Element<'_>) -> Result<(), Problem> {
        self.only(element, &["cmd", "name", "args", "respawn", "respawn_delay"]);
        let mut arguments = self.words(scope, element, "cmd");
        if arguments.is_empty() {
            self.leave(element, "<executable> without cmd", "it is left out");
            return Ok(());
        }
        let location = arguments.remove(0);
        arguments.extend(self.words(scope, element, "args"));
        if !location.contains('/') {
            let what = format!("\"{location}\" is looked for among programs by ROS");
            self.leave(element, what, "give the artefact the path of the file");
        }
        let mut environment: BTreeMap<String, String> = scope.variables.iter().cloned().collect();
        for inner in elements(element) {
            let (variable, value) = (self.value(scope, inner, "name"), self.value(scope, inner, "value"));
            match variable.zip(value).filter(|_| name(inner) == "env") {
                Some((variable, value)) => drop(environment.insert(variable, value)),
                None => {
                    let what = format!("<{}> of an executable has no place in a plan", name(inner));
                    self.leave(inner, what, "it is left out");
                }
            }
        }
        let file = location.rsplit('/').next().unwrap_or_default().to_string();
        let called = self.value(scope, element, "name").unwrap_or_else(|| file.clone());
        let program = Program { called, location, artefact: file, arguments, environment };
        self.program(scope, element, program).map(drop)
    }

    /// Parameters as options: those with a value, those of a file, and those with a name before others.
    fn parameter(&mut self, scope: &Scope, element: Element<'_>, before: &str, ros: &mut Vec<String>) {
        self.only(element, &["name", "value", "from"]);
        if let Some(file) = self.value(scope, element, "from") {
            ros.extend(["--params-file".to_string(), file]);
            return;
        }
        let Some(name) = self.value(scope, element, "name") else {
            return self.leave(element, "a parameter without a name", "it is left out");
        };
        let whole = format!("{before}{name}");
        if whole.len() > 1_024 {
            return self.leave(element, "a parameter with a name of more than 1024 bytes", "it is left out");
        }
        match self.value(scope, element, "value") {
            Some(value) => ros.extend(["-p".to_string(), format!("{whole}:={value}")]),
            None => {
                for inner in elements(element) {
                    self.parameter(scope, inner, &format!("{whole}."), ros);
                }
            }
        }
    }

    /// The words of an attribute.
    fn words(&mut self, scope: &Scope, element: Element<'_>, attribute: &str) -> Vec<String> {
        let text = self.value(scope, element, attribute).unwrap_or_default();
        if text.contains(['"', '\'', '\\']) {
            self.leave(element, "arguments with quotes", "they were parted at blanks: look at arguments");
        }
        text.split_whitespace().map(ToString::to_string).collect()
    }

    fn too_many(&self, element: Element<'_>) -> Problem {
        let what = format!("more than {MOST_PROGRAMS} programs, or {MOST_BYTES} bytes of arguments");
        self.source.problem(at(element), what, "divide the launch file")
    }

    /// A process of a program; says its name.
    fn program(
        &mut self,
        scope: &Scope,
        element: Element<'_>,
        mut program: Program,
    ) -> Result<String, Problem> {
        let count = program.environment.len();
        program.environment.retain(|name, _| name.len() <= LONGEST_KEY);
        if program.environment.len() < count {
            let what = format!("a variable whose name has more than {LONGEST_KEY} bytes");
            self.leave(element, what, "it is left out");
        }
        let variables = program.environment.iter().flat_map(|(name, value)| [name, value]);
        self.bytes = program
            .arguments
            .iter()
            .chain(variables)
            .map(String::len)
            .fold(self.bytes, usize::saturating_add);
        if self.made.plan.processes.len() >= MOST_PROGRAMS || self.bytes > MOST_BYTES {
            return Err(self.too_many(element));
        }
        let known = self.made.plan.artefacts.iter().find(|(_, it)| it.location == [program.location.clone()]);
        let artefact = match known {
            Some((name, _)) => name.clone(),
            None => {
                let name = self.names.fresh("artefact", &program.artefact);
                let location = [program.location].into();
                let artefact = Artefact { location, digest: None, kind: ArtefactKind::Foreign };
                self.made.plan.artefacts.insert(name.clone(), artefact);
                name
            }
        };
        let restart = self.restart(scope, element);
        let name = self.names.fresh("process", program.called.trim_start_matches('/'));
        let process = Process {
            host: Some(HOST.to_string()),
            artefact: Some(artefact),
            arguments: program.arguments,
            environment: program.environment,
            restart: Some(restart),
            ..Process::default()
        };
        self.made.plan.processes.insert(name.clone(), process);
        let lanes = [("main".to_string(), Lane::default())].into();
        let container = Container { process: name.clone(), lanes, lane: Some("main".to_string()) };
        self.made.plan.containers.insert(name.clone(), container);
        Ok(name)
    }

    /// ROS starts nothing again unless the file says so.
    fn restart(&mut self, scope: &Scope, element: Element<'_>) -> Restart {
        let respawn = self.value(scope, element, "respawn").unwrap_or_default();
        let policy = match respawn.trim().to_ascii_lowercase().as_str() {
            "true" | "1" => RestartPolicy::Always,
            _ => RestartPolicy::Never,
        };
        let delay = self.value(scope, element, "respawn_delay").filter(|_| policy == RestartPolicy::Always);
        let seconds = delay.as_ref().and_then(|delay| delay.trim().parse::<f64>().ok());
        let seconds = seconds.filter(|seconds| (0.0..1.0e6).contains(seconds));
        if delay.is_some() && seconds.is_none() {
            self.leave(element, "respawn_delay is no time", "it is left out: write seconds");
        }
        // Below 2^63: a million seconds are 10^15 nanoseconds.
        let delay = seconds.map(|seconds| ((seconds * 1e9) as u64).saturating_mul(1_000));
        Restart { policy, limit: None, within: None, delay }
    }

    /// A node as a component of its process. What its ports are is nowhere in a launch file.
    fn component(&mut self, element: Element<'_>, process: &str, full: &str, of_type: &str) {
        let name = self.names.fresh("component", full.trim_start_matches('/'));
        let what =
            format!("which topics \"{name}\" publishes and consumes, and how long it works, is not said");
        let remedy = "describe its type in a manifest, and add connections, transfers, and the class of its lane: bounds rest on them";
        self.leave(element, what, remedy);
        let component = Component {
            component_type: of_type.to_string(),
            process: process.to_string(),
            container: Some(process.to_string()),
            ..Component::default()
        };
        self.made.plan.components.insert(name, component);
    }
}
