//! Launch files of ROS 2 in XML: nodes become foreign programs with the arguments that a launch would give them.
mod nodes;
mod scope;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use diagnostics::{Problem, Source};

use super::MOST_LEFT_OUT;
use super::dora::ImportedPrograms;
use super::names::Names;
use super::xml::{self, Element, at, elements, name};
use crate::plan::Host;
use scope::Scope;

/// The host of everything, which launch files name only for their machines.
const HOST: &str = "here";
/// How deep files include each other, and how many files there are.
const DEEPEST_INCLUDE: usize = 8;
const MOST_FILES: usize = 64;
/// Programs of a launch, and bytes of all of their arguments and variables.
const MOST_PROGRAMS: usize = 1_024;
const MOST_BYTES: usize = 1 << 20;

/// The name for people and the text of a file that is included, or why it cannot be read.
pub type Included = Result<(String, String), String>;

/// A launch file, and what it is launched with.
#[derive(Clone, Copy)]
pub struct LaunchFile<'l> {
    /// The file.
    pub source: Source<'l>,
    /// Arguments with their values.
    pub arguments: &'l [(String, String)],
    /// The folder that packages are installed in, as `/opt/ros/jazzy`; if it is not known, a relative one.
    pub prefix: Option<&'l str>,
    /// Another file by its path from the folder of this one, without `..`: its name for people, and its text. Or why it cannot be read.
    pub include: &'l dyn Fn(&str) -> Included,
}

/// A plan of a launch file of ROS 2, in XML.
///
/// # Errors
/// The text, or a file that it includes, is no XML or no launch file, has a document type, or is too large or deep.
pub fn import_launch(launch: &LaunchFile<'_>) -> Result<ImportedPrograms, Vec<Problem>> {
    let mut import = Import {
        launch: *launch,
        source: launch.source,
        folder: String::new(),
        made: ImportedPrograms::default(),
        names: Names::default(),
        containers: Vec::new(),
        files: 1,
        bytes: 0,
    };
    import.made.plan.hosts.insert(HOST.to_string(), Host::default());
    let mut scope = Scope::default();
    for (name, value) in launch.arguments {
        scope.set(name, value.clone());
    }
    let read = import.file(&mut scope, 0);
    read.map_err(|problem| Vec::from([problem]))?;
    import.made.left_out.sort_by(|a, b| (&a.file, a.place).cmp(&(&b.file, b.place)));
    Ok(import.made)
}

struct Import<'l> {
    launch: LaunchFile<'l>,
    /// The file that is read, and its folder from that of the launch file; empty, or with a slash at its end.
    source: Source<'l>,
    folder: String,
    made: ImportedPrograms,
    names: Names,
    /// Containers by their full names in ROS, with their processes.
    containers: Vec<(String, String)>,
    files: usize,
    /// Bytes of arguments and variables so far.
    bytes: usize,
}

impl<'l> Import<'l> {
    fn leave(&mut self, element: Element<'_>, what: impl Into<String>, remedy: &str) {
        if self.made.left_out.len() < MOST_LEFT_OUT {
            self.made.left_out.push(self.source.problem(at(element), what, remedy));
        }
    }

    /// The text of an attribute with what stands for something else replaced, as far as that is known.
    fn value(&mut self, scope: &Scope, element: Element<'_>, attribute: &str) -> Option<String> {
        let text = element.attribute(attribute)?;
        let (text, unknown) = scope.replaced(text, &self.folder);
        if let Some((what, remedy)) = unknown {
            self.leave(element, what, remedy);
        }
        Some(text)
    }

    /// Tells of attributes that have no place.
    fn only(&mut self, element: Element<'_>, known: &[&str]) {
        let others = element.attributes().map(|attribute| attribute.name().to_string());
        for other in others
            .filter(|other| !known.contains(&other.as_str()) && !["if", "unless"].contains(&other.as_str()))
        {
            let what = format!("\"{other}\" of <{}> has no place in a plan", name(element));
            self.leave(element, what, "it is left out");
        }
    }

    /// Whether an element counts, as far as that is known.
    fn counts(&mut self, scope: &Scope, element: Element<'_>) -> bool {
        for (attribute, wanted) in [("if", true), ("unless", false)] {
            let Some(text) = self.value(scope, element, attribute) else { continue };
            match text.trim().to_ascii_lowercase().as_str() {
                "true" | "1" if wanted => {}
                "false" | "0" if !wanted => {}
                "true" | "1" | "false" | "0" => return false,
                _ => {
                    let what =
                        format!("whether <{}> counts is known only when it is launched", name(element));
                    self.leave(element, what, "it is taken as if it did");
                }
            }
        }
        true
    }

    /// The elements of the file that is read.
    fn file(&mut self, scope: &mut Scope, depth: usize) -> Result<(), Problem> {
        let source = self.source;
        let document = xml::parse(source)?;
        let root = xml::root(source, &document, &["launch"])?;
        self.only(root, &["version"]);
        self.elements(scope, root, depth)
    }

    fn elements(&mut self, scope: &mut Scope, of: Element<'_>, depth: usize) -> Result<(), Problem> {
        for element in elements(of) {
            if self.counts(scope, element) {
                self.element(scope, element, depth)?;
            }
        }
        Ok(())
    }

    fn element(&mut self, scope: &mut Scope, element: Element<'_>, depth: usize) -> Result<(), Problem> {
        match name(element) {
            "arg" => {
                self.only(element, &["name", "default", "value", "description"]);
                let Some(name) = self.value(scope, element, "name") else {
                    self.leave(element, "an argument without a name", "it is left out");
                    return Ok(());
                };
                if !scope.has(&name) {
                    match self
                        .value(scope, element, "default")
                        .or_else(|| element.attribute("value").map(ToString::to_string))
                    {
                        Some(value) => scope.set(&name, value),
                        None => {
                            let what = format!("the argument \"{name}\" has no value");
                            self.leave(element, what, "give it one: --arg NAME=VALUE");
                        }
                    }
                }
            }
            "let" => {
                self.only(element, &["name", "value"]);
                let (name, value) = (self.value(scope, element, "name"), self.value(scope, element, "value"));
                match name.zip(value) {
                    Some((name, value)) => scope.set(&name, value),
                    None => self.leave(element, "<let> without a name or value", "it is left out"),
                }
            }
            "group" => {
                self.only(element, &["scoped"]);
                let mark = scope.mark();
                let is_scoped =
                    self.value(scope, element, "scoped").is_none_or(|text| text.trim() != "false");
                self.elements(scope, element, depth)?;
                if is_scoped {
                    scope.back_to(mark);
                }
            }
            "push_ros_namespace" | "push-ros-namespace" => {
                self.only(element, &["namespace"]);
                match self.value(scope, element, "namespace") {
                    Some(namespace) => scope.push_namespace(&namespace),
                    None => self.leave(element, "no namespace is said", "it is left out"),
                }
            }
            "set_remap" | "remap" => {
                let remap = self.remap(scope, element);
                if !remap.is_some_and(|remap| Scope::add(&mut scope.remaps, remap)) {
                    let what = "a remap without from or to, or one of too many";
                    self.leave(element, what, "it is left out");
                }
            }
            "set_env" | "env" => {
                self.only(element, &["name", "value"]);
                let (name, value) = (self.value(scope, element, "name"), self.value(scope, element, "value"));
                let variable = name.zip(value);
                if !variable.is_some_and(|variable| Scope::add(&mut scope.variables, variable)) {
                    let what = "a variable without a name or value, or one of too many";
                    self.leave(element, what, "it is left out");
                }
            }
            "node" | "node_container" => self.node(scope, element)?,
            "executable" => self.executable(scope, element)?,
            "load_composable_node" => self.load(scope, element)?,
            "include" => self.include(scope, element, depth)?,
            other => {
                let what = format!("<{other}> has no place in a plan");
                self.leave(element, what, "it is left out, with all that is in it");
            }
        }
        Ok(())
    }

    /// Another file, if it is in the folder of the launch file or below.
    fn include(&mut self, scope: &mut Scope, element: Element<'_>, depth: usize) -> Result<(), Problem> {
        self.only(element, &["file"]);
        for argument in elements(element) {
            let (name, value) = (self.value(scope, argument, "name"), self.value(scope, argument, "value"));
            match name.zip(value).filter(|_| ["arg", "let"].contains(&xml::name(argument))) {
                Some((name, value)) => scope.set(&name, value),
                None => self.leave(argument, "this is no argument of an included file", "it is left out"),
            }
        }
        let Some(file) = self.value(scope, element, "file") else {
            self.leave(element, "no file is said", "it is left out");
            return Ok(());
        };
        if file.ends_with(".py") {
            let remedy =
                "it is left out: write what it does in XML, or put the programs that it starts into the plan";
            self.leave(element, format!("\"{file}\" is a program in Python, which is not run"), remedy);
            return Ok(());
        }
        let Some(path) = within(&self.folder, &file) else {
            let remedy =
                "it is left out: copy it into the folder of the launch file, and include it from there";
            self.leave(element, format!("\"{file}\" is outside of the folder of the launch file"), remedy);
            return Ok(());
        };
        if depth >= DEEPEST_INCLUDE || self.files >= MOST_FILES {
            let what = format!("more than {DEEPEST_INCLUDE} files in each other, or {MOST_FILES} files");
            return Err(self.source.problem(at(element), what, "files that include themselves have no end"));
        }
        self.files += 1;
        let (file, text) = match (self.launch.include)(&path) {
            Ok(read) => read,
            Err(why) => {
                self.leave(element, format!("\"{path}\" cannot be read: {why}"), "it is left out");
                return Ok(());
            }
        };
        let folder = path.rfind('/').map_or("", |slash| path.get(..=slash).unwrap_or_default());
        let mut inner = Import {
            launch: self.launch,
            source: Source { file: &file, text: &text },
            folder: folder.to_string(),
            made: core::mem::take(&mut self.made),
            names: core::mem::take(&mut self.names),
            containers: core::mem::take(&mut self.containers),
            files: self.files,
            bytes: self.bytes,
        };
        let read = inner.file(scope, depth + 1);
        (self.files, self.bytes) = (inner.files, inner.bytes);
        self.containers = core::mem::take(&mut inner.containers);
        self.names = core::mem::take(&mut inner.names);
        self.made = inner.made;
        read
    }
}

/// A path from the folder of the launch file, of one that a file in a folder names; `None` if it leaves that folder.
fn within(folder: &str, file: &str) -> Option<String> {
    // What stands for the folder of the file is replaced by the folder, so that a path may have it already.
    let path = match file.strip_prefix("./") {
        Some(path) => path.to_string(),
        None if file.starts_with('/') || file.contains("$(") => return None,
        None => format!("{folder}{file}"),
    };
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_stay_in_the_folder_of_the_launch_file() {
        for (folder, file, path) in [
            ("", "a.xml", Some("a.xml")),
            ("in/", "a.xml", Some("in/a.xml")),
            ("in/", "../a.xml", Some("a.xml")),
            ("in/", "./in/a.xml", Some("in/a.xml")),
            ("in/", "../../a.xml", None),
            ("", "/etc/a.xml", None),
            ("", "$(find-pkg-share x)/a.xml", None),
            ("", "..", None),
            ("", "", None),
        ] {
            assert_eq!(within(folder, file).as_deref(), path, "{folder} {file}");
        }
    }
}
