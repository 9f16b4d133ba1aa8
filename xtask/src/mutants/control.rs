//! The mistakes of `control`: what the manager of a network may do too early, too late, too little, or not at all.
use super::list::Mutant;

const fn mutant(name: &'static str, file: &'static str, right: &'static str, wrong: &'static str) -> Mutant {
    Mutant { name, of: "control", file, right, wrong }
}

pub(crate) const MUTANTS: &[Mutant] = &[
    mutant(
        "a step follows a move at once",
        "install.rs",
        "let hold = || alloc::vec![Task::Hold(pause)];",
        "let hold = || alloc::vec![Task::Hold(pause * 0)];",
    ),
    mutant(
        "gates become wider at once",
        "install.rs",
        "let hold = Task::Hold(time_of(phase.settles));",
        "let hold = Task::Hold(time_of(phase.settles) * 0);",
    ),
    mutant(
        "entries come before the contract of the gate",
        "install.rs",
        "            steps.extend(gate);\n            let mut all = Step::default();\n            for step in installs {\n                all.tasks.extend(step.tasks);\n                all.undo.extend(step.undo);\n            }\n            steps.push(all);\n",
        "            let mut all = Step::default();\n            for step in installs {\n                all.tasks.extend(step.tasks);\n                all.undo.extend(step.undo);\n            }\n            steps.push(all);\n            steps.extend(gate);\n",
    ),
    mutant(
        "the gate has the new contract before the switches have the new way",
        "install.rs",
        "            steps.extend(installs);\n            steps.extend(gate);\n",
        "            steps.extend(gate);\n            steps.extend(installs);\n",
    ),
    mutant(
        "a grant need not be stored before it is told",
        "install.rs",
        "tasks: alloc::vec![Task::Store { change: put, sure: false }],\n            undo",
        "tasks: alloc::vec![Task::Store { change: put, sure: true }],\n            undo",
    ),
    mutant(
        "frames of a flow are gone when its entries are",
        "release.rs",
        "Task::Hold(longest.saturating_add(busy))",
        "Task::Hold((longest + busy) * 0)",
    ),
    mutant(
        "a place is free when its release begins",
        "release.rs",
        "self.start(now, Kind::Release { number }, steps);",
        "self.reservations.free(number);\n        self.start(now, Kind::Release { number }, steps);",
    ),
    mutant(
        "a place that has missed a release has forgotten the flow",
        "release.rs",
        "                if missed.is_empty() {\n                    self.gone(now, number);",
        "                if missed.len() < usize::MAX {\n                    self.gone(now, number);",
    ),
    mutant(
        "a step need not be confirmed before the next",
        "operations/under_way.rs",
        "        if !self.waiting.is_empty() {\n            return Some(Next::Wait);",
        "        if self.steps.is_empty() && !self.waiting.is_empty() {\n            return Some(Next::Wait);",
    ),
    mutant(
        "steps are undone in the order in which they were done",
        "operations/under_way.rs",
        "core::mem::take(&mut self.undo).into_iter().rev();",
        "core::mem::take(&mut self.undo).into_iter();",
    ),
    mutant(
        "a change that is not answered in time has not happened",
        "proceed.rs",
        "                // It may still happen.\n                if let Some(site) = site {",
        "                // It may still happen.\n                if let Some(site) = site.filter(|_| false) {",
    ),
    mutant(
        "what was told counts as what is there",
        "fabric/mod.rs",
        "Task::Install { switch, messages, sure: true } => self",
        "Task::Install { switch, messages, .. } => self",
    ),
    mutant(
        "entries that were read are as they should be",
        "fabric/inspection.rs",
        "if less.is_empty() && more.is_empty() {\n            return None;",
        "if less.len() + more.len() < usize::MAX {\n            return None;",
    ),
    mutant(
        "a contract that is there is the right one",
        "fabric/inspection.rs",
        "Some(found) if found.contract == *contract => continue,",
        "Some(_) if true => continue,",
    ),
    mutant(
        "contracts that the manager has not set do no harm",
        "fabric/inspection.rs",
        "changes.push(GateChange::Remove(key));",
        "let _ = key;",
    ),
    mutant(
        "an older request takes the place of a later one",
        "requests/mod.rs",
        "if request.serial < asked.request.serial {",
        "if request.serial > asked.request.serial + 1_000_000 {",
    ),
    mutant(
        "an answer is for the latest request",
        "requests/verdicts.rs",
        "if asked.serial == asked.request.serial {",
        "if asked.serial <= asked.request.serial {",
    ),
    mutant(
        "those that are as important yield",
        "reservations/victims.rs",
        "held.filter(|grant| grant.contract.importance < importance)",
        "held.filter(|grant| grant.contract.importance <= importance)",
    ),
    mutant(
        "the most important of the less important yields",
        "reservations/victims.rs",
        "less.min_by_key(",
        "less.max_by_key(",
    ),
    mutant(
        "one place that is freed is enough",
        "reservations/victims.rs",
        "full.iter().filter(|scarce| !is_left(scarce))",
        "full.iter().take(1).filter(|scarce| !is_left(scarce))",
    ),
    mutant(
        "what others go for is for any request",
        "requests/displaces.rs",
        "asked.displaces.at.clone_from(full);",
        "let _ = full;",
    ),
    mutant(
        "what was in vain is tried again at once",
        "requests/displaces.rs",
        "self.asked.get(&pair).is_none_or(|asked| asked.displaces.until <= now)",
        "true",
    ),
    mutant(
        "room goes to who comes first",
        "reservations/questions.rs",
        "fits(&mut without) && !fits(&mut with)",
        "fits(&mut without) && !fits(&mut with) && false",
    ),
    mutant(
        "a flow that is restored has the lowest level",
        "reservations/changes.rs",
        "        let (shares, levels) = shares_and_levels(hops);\n        self.ledger.put_back(",
        "        let (shares, mut levels) = shares_and_levels(hops);\n        levels.fill(0);\n        self.ledger.put_back(",
    ),
    mutant(
        "of two stored grants the earlier one is in force",
        "restore.rs",
        "grants.sort_by_key(|grant| Reverse(grant.number));",
        "grants.sort_by_key(|grant| grant.number);",
    ),
    mutant(
        "links of the new tree are opened first",
        "fabric/tree.rs",
        "for (from, to) in [(&now_there, &closed), (&closed, &opened)] {",
        "for (from, to) in [(&now_there, &opened), (&opened, &opened)] {\n            let _ = &closed;",
    ),
    mutant(
        "flows stay on links that are down",
        "links.rs",
        "self.revoke(now, number, &reason);",
        "let _ = (number, now, &reason);",
    ),
];
