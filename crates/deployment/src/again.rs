//! Components that have failed and are made anew, in their process, as the plan says.
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use assembly::RestartPolicy;

use crate::part::{ComponentPart, Part};
use crate::protocol::{Answer, ComponentStatus};
use crate::restart::Restarts;
use crate::work::{Executor, Work};

/// The failures of a process' components.
#[derive(Debug, Default)]
pub(crate) struct Again(BTreeMap<String, Failures>);

/// The failures of a component.
#[derive(Debug, Default)]
struct Failures {
    starts: Restarts,
    /// How often it was made anew.
    restarts: u32,
    /// When it is made anew.
    next: Option<u64>,
    /// It stays as it is.
    is_given_up: bool,
}

impl Again {
    /// Makes components anew whose time has come, and notes those that have failed.
    pub(crate) fn tick(&mut self, now: u64, part: &Part, executor: &mut impl Executor) -> Vec<Answer> {
        let mut told = Vec::new();
        let failed = executor.failed();
        for (name, failures) in &mut self.0 {
            if !failed.contains(name) {
                (failures.next, failures.is_given_up) = (None, false);
            }
        }
        for name in failed {
            let Some(component) = part.components.get(&name) else { continue };
            let Some(policy) = component.restart.as_ref().filter(|it| it.policy != RestartPolicy::Never)
            else {
                continue;
            };
            let failures = self.0.entry(name.clone()).or_default();
            if failures.next.is_none() && !failures.is_given_up {
                failures.next = failures.starts.next(Some(policy), true, now);
                failures.is_given_up = failures.next.is_none();
                if failures.is_given_up {
                    let what = format!(
                        "{name} is not made anew any more: it has failed too often for its restart; apply a plan with another one"
                    );
                    told.push(Answer::Report { what });
                }
            }
            if failures.next.is_none_or(|next| next > now) {
                continue;
            }
            failures.next = None;
            failures.restarts = failures.restarts.saturating_add(1);
            let count = failures.restarts;
            let what = match renew(executor, &name, component) {
                Ok(()) => format!("{name} works again, made anew {count} times"),
                Err(what) => format!("{name} was not made anew: {what}"),
            };
            told.push(Answer::Report { what });
        }
        told
    }

    /// When a component is made anew next.
    pub(crate) fn next_tick(&self) -> Option<u64> {
        self.0.values().filter_map(|failures| failures.next).min()
    }

    /// Another part of a plan holds, for which these components were installed.
    pub(crate) fn keep(&mut self, part: &Part, installed: &BTreeSet<String>) {
        self.0.retain(|name, _| part.components.contains_key(name) && !installed.contains(name));
        // Another policy may allow more.
        self.0.values_mut().for_each(|failures| failures.is_given_up = false);
    }

    /// Puts what there was into the state of components.
    pub(crate) fn tell(&self, components: &mut [ComponentStatus]) {
        for component in components {
            let failures = self.0.get(&component.name);
            component.restarts = failures.map_or(0, |failures| failures.restarts);
        }
    }
}

/// Makes a component anew; one of another mode does not work.
fn renew(executor: &mut impl Executor, name: &str, component: &ComponentPart) -> Result<(), String> {
    executor.perform(&Work::Renew(name.into(), component.clone()))?;
    executor.perform(&Work::Configured(name.into()))?;
    if component.is_active {
        executor.perform(&Work::ActivateAnew(name.into()))?;
    }
    Ok(())
}
