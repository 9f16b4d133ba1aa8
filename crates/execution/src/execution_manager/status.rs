//! Inquiries about deployments: asks the hosts that are there, and answers when all have told, or when the time for that is over.
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use deployment::PlanStatus;

use super::{ExecutionManager, ManagerAction, not_there};
use crate::commands::{Answer, DeploymentStatus, HostStatus};
use crate::messages::ManagerWord;

/// How long hosts have to answer: somewhat longer than a supervisor waits for its processes.
const PATIENCE: u64 = 6_000_000_000_000;

#[derive(Debug)]
pub(super) struct Inquiry {
    request: u64,
    /// The deployments.
    of: Vec<String>,
    /// Questions by number: host and deployment.
    asked: BTreeMap<u64, (String, String)>,
    told: BTreeMap<(String, String), PlanStatus>,
    pub(super) deadline: u64,
}

impl ExecutionManager {
    pub(super) fn inquire(&mut self, now: u64, request: u64, deployment: Option<String>) {
        let of: Vec<String> = match deployment {
            Some(name) if !self.deployments.contains_key(&name) && !self.changes.contains_key(&name) => {
                return self.refuse(request, not_there(&name));
            }
            Some(name) => [name].into(),
            None => {
                let mut all: Vec<String> =
                    self.deployments.keys().chain(self.changes.keys()).cloned().collect();
                all.sort();
                all.dedup();
                all
            }
        };
        let mut asked = BTreeMap::new();
        for name in &of {
            let hosts = self.deployments.get(name).map(|it| it.content.hosts.clone()).unwrap_or_default();
            for host in hosts {
                let known = self.hosts.get(&host).filter(|it| it.at.is_some());
                if known.and_then(|known| known.state(name)).is_some() {
                    let number = self.number();
                    let word = ManagerWord::Ask { number, deployment: name.clone() };
                    self.actions.push(ManagerAction::Send(host.clone(), word));
                    asked.insert(number, (host, name.clone()));
                }
            }
        }
        let deadline = now.saturating_add(PATIENCE);
        self.inquiries.push(Inquiry { request, of, asked, told: BTreeMap::new(), deadline });
    }

    pub(super) fn told(&mut self, host: &str, number: u64, status: PlanStatus) {
        for inquiry in &mut self.inquiries {
            if inquiry.asked.get(&number).is_some_and(|(asked, _)| asked == host)
                && let Some(of) = inquiry.asked.remove(&number)
            {
                inquiry.told.insert(of, status.clone());
            }
        }
    }

    pub(super) fn answer_inquiries(&mut self, now: u64) {
        let is_over = |inquiry: &Inquiry| inquiry.asked.is_empty() || inquiry.deadline <= now;
        while let Some(index) = self.inquiries.iter().position(is_over) {
            let mut inquiry = self.inquiries.remove(index);
            let of = core::mem::take(&mut inquiry.of);
            let deployments = of.iter().map(|name| self.status(name, &mut inquiry.told)).collect();
            let hosts = self.hosts.iter().map(|(name, host)| (name.clone(), host.at.is_some())).collect();
            self.answer(inquiry.request, Answer::Status { deployments, hosts });
        }
    }

    fn status(&self, name: &str, told: &mut BTreeMap<(String, String), PlanStatus>) -> DeploymentStatus {
        let (kept, change) = (self.deployments.get(name), self.changes.get(name));
        let content = kept.map(|it| &it.content).or(change.map(|it| &it.content));
        let hosts = content.map(|content| content.hosts.iter()).into_iter().flatten();
        let status = |host: &String| {
            let known = self.hosts.get(host);
            let state = known.and_then(|known| known.state(name));
            HostStatus {
                host: host.clone(),
                is_there: known.is_some_and(|known| known.at.is_some()),
                runs: state.and_then(|state| state.runs),
                trouble: state.and_then(|state| state.trouble.clone()),
                status: told.remove(&(host.clone(), name.to_string())),
            }
        };
        DeploymentStatus {
            deployment: name.to_string(),
            epoch: kept.map(|it| it.epoch),
            file: content.map(|it| it.bundle.file.clone()).unwrap_or_default(),
            under_way: change.map(super::change::Change::text),
            hosts: hosts.map(status).collect(),
        }
    }
}
