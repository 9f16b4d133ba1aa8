//! What the checks look at: the files of the repository and its crates, as plain values.
//!
//! The checks are functions over a [`Tree`], so that their own tests can hand them a wrong one.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What a dependency is needed for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Need {
    /// By the crate itself or its build script.
    Build,
    /// By its tests only.
    Tests,
}

/// A dependency that a crate of the workspace names.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) need: Need,
    pub(crate) in_workspace: bool,
    /// Whether it asks for a version: without one, cargo leaves a dependency of tests out of what it publishes.
    pub(crate) versioned: bool,
}

/// A crate of the workspace.
#[derive(Clone, Debug)]
pub(crate) struct Crate {
    /// The package name without the prefix `punctual-`.
    pub(crate) name: String,
    /// Its folder, relative to the root, without a slash at the end.
    pub(crate) folder: String,
    pub(crate) dependencies: Vec<Dependency>,
    /// Whether it may be published.
    pub(crate) published: bool,
    /// What its manifest says nothing of, among what registries show.
    pub(crate) untold: Vec<&'static str>,
}

/// What registries show of a package, by the keys of its manifest.
const TOLD: [&str; 6] = ["description", "license", "readme", "documentation", "keywords", "categories"];

/// A package from elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct ThirdParty {
    pub(crate) name: String,
    pub(crate) licence: String,
}

/// The repository.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    /// Contents by path, relative to the root: what is tracked or would be.
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) crates: Vec<Crate>,
    pub(crate) third_party: Vec<ThirdParty>,
}

impl Tree {
    /// Reads the repository at `root` with `git ls-files` and `cargo metadata`.
    pub(crate) fn load(root: &Path) -> Result<Self, String> {
        let mut git = Command::new("git");
        git.current_dir(root).args([
            "-c",
            "safe.directory=*",
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let mut files = BTreeMap::new();
        for path in output(&mut git)?.split(|octet| *octet == 0).filter(|path| !path.is_empty()) {
            let path = String::from_utf8_lossy(path).into_owned();
            // A file removed but not yet committed is still listed.
            if let Ok(contents) = std::fs::read(root.join(&path)) {
                files.insert(path, contents);
            }
        }
        let (crates, third_party) = packages(&metadata(root)?, root)?;
        Ok(Self { files, crates, third_party })
    }

    /// The text of a file; `None` if it is not there or not UTF-8.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).and_then(|contents| std::str::from_utf8(contents).ok())
    }

    /// Paths and texts of all Rust files.
    pub(crate) fn rust_files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .keys()
            .filter(|path| path.ends_with(".rs"))
            .filter_map(|path| Some((path.as_str(), self.text(path)?)))
    }

    /// The crate whose folder holds the file.
    pub(crate) fn crate_of(&self, path: &str) -> Option<&Crate> {
        self.crates
            .iter()
            .find(|member| path.strip_prefix(&member.folder).is_some_and(|rest| rest.starts_with('/')))
    }
}

/// The root of the workspace this program was built from.
pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}

/// What `cargo metadata` says of the workspace, its dependencies included.
pub(crate) fn metadata(root: &Path) -> Result<Value, String> {
    let mut cargo = Command::new(crate::cargo::program());
    cargo.current_dir(root).args(["metadata", "--format-version", "1", "--locked"]);
    serde_json::from_slice(&output(&mut cargo)?)
        .map_err(|error| format!("cargo metadata wrote something else than JSON: {error}"))
}

fn output(command: &mut Command) -> Result<Vec<u8>, String> {
    let done = command.output().map_err(|error| format!("cannot run {command:?}: {error}"))?;
    if done.status.success() {
        Ok(done.stdout)
    } else {
        Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&done.stderr).trim()))
    }
}

fn packages(metadata: &Value, root: &Path) -> Result<(Vec<Crate>, Vec<ThirdParty>), String> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let short = |name: &str| name.strip_prefix("punctual-").unwrap_or(name).to_owned();
    let mut crates = Vec::new();
    let mut third_party = Vec::new();
    for package in metadata["packages"].as_array().ok_or("cargo metadata names no packages")? {
        if !package["source"].is_null() {
            third_party.push(ThirdParty { name: text(package, "name"), licence: text(package, "license") });
            continue;
        }
        let manifest = PathBuf::from(text(package, "manifest_path"));
        let folder = manifest
            .parent()
            .and_then(|folder| folder.strip_prefix(root).ok())
            .ok_or_else(|| format!("{} is outside the repository", manifest.display()))?;
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let dependencies = dependencies.map(|dependency| Dependency {
            name: short(&text(dependency, "name")),
            need: if dependency["kind"] == "dev" { Need::Tests } else { Need::Build },
            in_workspace: dependency["source"].is_null(),
            versioned: dependency["req"] != "*",
        });
        let untold = |key: &&str| match &package[key] {
            Value::Null => true,
            Value::Array(words) => words.is_empty(),
            _ => false,
        };
        crates.push(Crate {
            name: short(&text(package, "name")),
            folder: folder.display().to_string(),
            dependencies: dependencies.collect(),
            published: package["publish"].is_null(),
            untold: TOLD.into_iter().filter(|key| untold(key)).collect(),
        });
    }
    Ok((crates, third_party))
}
