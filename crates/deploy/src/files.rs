//! A plan and the manifests that it names, read from files.
use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use assembly::{Catalogue, Manifest, Places, Plan};
use diagnostics::{Problem, Source};
use network::{Network, Texts, load, read_policy};
use policy::Policy;
use schedulability::{Deployed, Transfers};

use crate::command::{BAD_NEWS, FAILED, Failure};

/// A plan with its file, and the types that its manifests tell of.
pub(crate) struct Loaded {
    file: String,
    text: String,
    pub(crate) plan: Plan,
    pub(crate) places: Places,
    /// Empty if the plan names no manifests.
    pub(crate) types: Catalogue,
    /// The manifests as texts, by their names in the plan.
    manifests: Vec<(String, String)>,
    /// The policy files that it is under, by their names in the plan.
    policies: Vec<PolicyFile>,
    /// Where the file is; nowhere if it was sent.
    path: Option<PathBuf>,
    /// The network file that was sent with it.
    network: Option<Texts>,
    /// The transfers that were computed for it, once that was done.
    transfers: OnceCell<Transfers>,
}

/// A policy file of the manager of a network.
#[derive(Clone)]
pub(crate) struct PolicyFile {
    /// As the plan names it.
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) policy: Policy,
}

impl Loaded {
    /// Reads a plan, its manifests and its policy files, whose paths are relative to the plan's folder. What is wrong with what they say is the
    /// inner error, as text with lines and carets.
    ///
    /// # Errors
    /// A file cannot be read.
    pub(crate) fn open(path: &Path) -> Result<Result<Self, String>, Failure> {
        let text = read(path)?;
        let file = path.display().to_string();
        let named = |name: &str| {
            let path = beside(path, name);
            Ok((path.display().to_string(), read(&path)?))
        };
        let loaded = Self::of_texts(file, text, named)?;
        Ok(loaded.map(|loaded| Self { path: Some(path.to_owned()), ..loaded }))
    }

    /// The same of texts: `named` gives the file and the text of a manifest or policy file by its name in the plan.
    ///
    /// # Errors
    /// Those of `named`.
    pub(crate) fn of_texts(
        file: String,
        text: String,
        named: impl Fn(&str) -> Result<(String, String), Failure>,
    ) -> Result<Result<Self, String>, Failure> {
        let source = Source { file: &file, text: &text };
        let (plan, places) = match Plan::read(source) {
            Ok(read) => read,
            Err(problems) => return Ok(Err(show(source, &problems))),
        };
        let (mut manifests, mut texts) = (Vec::new(), Vec::new());
        for name in &plan.manifests {
            let (file, text) = named(name)?;
            let source = Source { file: &file, text: &text };
            match Manifest::read(source) {
                Ok(manifest) => manifests.push((file.clone(), manifest)),
                Err(problems) => return Ok(Err(show(source, &problems))),
            }
            texts.push((name.clone(), text));
        }
        let mut policies = Vec::new();
        for name in &plan.policies {
            let (file, text) = named(name)?;
            match read_policy(&file, &text) {
                Ok(policy) => policies.push(PolicyFile { name: name.clone(), text, policy }),
                Err(problem) => return Ok(Err(show(Source { file: &file, text: &text }, &[problem]))),
            }
        }
        let types = match Catalogue::of(manifests) {
            Ok(types) => types,
            Err(problems) => return Ok(Err(show(source, &problems))),
        };
        Ok(Ok(Self {
            file,
            text,
            plan,
            places,
            types,
            manifests: texts,
            policies,
            path: None,
            network: None,
            transfers: OnceCell::new(),
        }))
    }

    /// A plan that makes sense.
    ///
    /// # Errors
    /// A file cannot be read, or what is wrong with it.
    pub(crate) fn sound(path: &Path) -> Result<Self, Failure> {
        Self::open(path)?.map_err(|problems| (BAD_NEWS, problems))?.checked()
    }

    /// This plan, if it makes sense.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn checked(self) -> Result<Self, Failure> {
        let problems = self.plan.check(self.source(), &self.places, &self.types);
        if problems.is_empty() { Ok(self) } else { Err((BAD_NEWS, self.show(&problems))) }
    }

    /// The manifests as texts, by their names in the plan.
    pub(crate) fn manifests(&self) -> &[(String, String)] {
        &self.manifests
    }

    /// The policy files that it is under.
    pub(crate) fn policies(&self) -> &[PolicyFile] {
        &self.policies
    }

    /// Plans that make sense.
    ///
    /// # Errors
    /// Those of [`Loaded::sound`], of the first that does not.
    pub(crate) fn all(paths: &[PathBuf]) -> Result<Vec<Self>, Failure> {
        paths.iter().map(|path| Self::sound(path)).collect()
    }

    /// For an analysis.
    pub(crate) fn deployed(&self) -> Deployed<'_> {
        Deployed { plan: &self.plan, types: &self.types, transfers: self.transfers.get() }
    }

    /// The same plan with the network file that was sent with it, as JSON.
    ///
    /// # Errors
    /// It is no network file.
    pub(crate) fn with_network(self, sent: Option<&str>) -> Result<Self, Failure> {
        let wrong = |error: String| (BAD_NEWS, format!("the network file that was sent: {error}"));
        let read = |sent: &str| serde_json::from_str(sent).map_err(|error| wrong(error.to_string()));
        let network: Option<Texts> = sent.map(read).transpose()?;
        if let Some(texts) = &network {
            texts.network().map_err(|problem| wrong(problem.to_string()))?;
        }
        Ok(Self { network, ..self })
    }

    /// The network file that the plan names, with the network that it makes; `None` if the plan names none, or if it was sent without it.
    ///
    /// # Errors
    /// The file cannot be read or is wrong.
    pub(crate) fn network(&self) -> Result<Option<(Texts, Network)>, Failure> {
        if let Some(texts) = &self.network {
            let network = texts.network().map_err(|problem| (BAD_NEWS, problem.to_string()))?;
            return Ok(Some((texts.clone(), network)));
        }
        let (Some(path), Some(named)) = (&self.path, &self.plan.network) else { return Ok(None) };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let file = folder.unwrap_or(Path::new(".")).join(named);
        match Texts::open(&file) {
            Ok(network) => Ok(Some(network)),
            Err(Problem { place: None, what, .. }) => {
                let what = format!("the network file {} cannot be read: {what}", file.display());
                let remedy = "name a network file, relative to the plan; docs/plan.md shows one";
                Err(self.wrong("network", what, remedy))
            }
            Err(problem) => Err((BAD_NEWS, problem.to_string())),
        }
    }

    /// What is wrong with what stands at a path of the plan.
    pub(crate) fn wrong(&self, path: &str, what: String, remedy: &str) -> Failure {
        let problem = self.source().problem(self.places.at(path), what, remedy);
        (BAD_NEWS, self.show(&[problem]))
    }

    /// Keeps the transfers that were computed for it; those that are there stay.
    pub(crate) fn carry(&self, transfers: Transfers) {
        let _ = self.transfers.set(transfers);
    }

    /// The plan, with the transfers that were computed for all ends of a connection.
    pub(crate) fn with_transfers(&self) -> Plan {
        let mut plan = self.plan.clone();
        let computed = self.transfers.get();
        for ((name, _), transfer) in computed.into_iter().flatten() {
            let (Some(connection), Ok(transfer)) = (plan.connections.get_mut(name), transfer) else {
                continue;
            };
            let is_less = connection.transfer.is_none_or(|known| known.most < transfer.most);
            if is_less {
                connection.transfer = Some(*transfer);
            }
        }
        plan
    }

    /// How many transfers were computed for it.
    pub(crate) fn computed(&self) -> usize {
        self.transfers
            .get()
            .map_or(0, |transfers| transfers.values().filter(|transfer| transfer.is_ok()).count())
    }

    /// The same file with another plan, for which nothing was computed.
    pub(crate) fn with_plan(&self, plan: Plan) -> Self {
        Self {
            file: self.file.clone(),
            text: self.text.clone(),
            plan,
            places: self.places.clone(),
            types: self.types.clone(),
            manifests: self.manifests.clone(),
            policies: self.policies.clone(),
            path: self.path.clone(),
            network: self.network.clone(),
            transfers: OnceCell::new(),
        }
    }

    /// The file of the plan.
    pub(crate) fn source(&self) -> Source<'_> {
        Source { file: &self.file, text: &self.text }
    }

    /// Problems of this file as text.
    pub(crate) fn show(&self, problems: &[Problem]) -> String {
        show(self.source(), problems)
    }
}

/// A file of text, of at most 32 MiB; what a plan or manifest may have is less, and told by its reader.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    load(path).map_err(|error| (FAILED, error))
}

/// Problems as text, one after the other, with the lines of this file.
pub(crate) fn show(source: Source<'_>, problems: &[Problem]) -> String {
    problems.iter().map(|problem| source.show(problem) + "\n").collect()
}

fn beside(plan: &Path, name: &str) -> PathBuf {
    plan.parent().unwrap_or(Path::new("")).join(name)
}
