//! What holds for any plan, by seeds.
use std::collections::{BTreeMap, BTreeSet};

use assembly::{Catalogue, Descriptors, Manifest, Placement, Plan, Step, Version, import, steps};
use diagnostics::{Problem, Source};
use testkit::random::Random;

use crate::random::{self, types};
use crate::{TRACKER, TYPES, catalogue};

#[test]
fn random_plans_are_written_and_read_as_the_same() {
    for seed in tiers::current().seeds("property.cases") {
        let plan = random::plan(&mut Random::new(seed));
        let text = plan.to_toml();
        let read = Plan::read(Source { file: "p", text: &text });
        let (read, places) = read.unwrap_or_else(|problems| panic!("seed {seed}\n{text}\n{problems:#?}"));
        assert_eq!(read, plan, "seed {seed}\n{text}");
        // What is told of a random plan are cycles of calls, times of events that do not suit chains or each other, and what cannot be suspended.
        let told = [
            "waits for its own call",
            "no limit is known behind",
            "nothing would be delivered",
            "cannot be suspended",
            "count with its events",
            "waits for what comes of its events",
        ];
        for problem in read.check(Source { file: "p", text: &text }, &places, &types()) {
            let is_expected = told.iter().any(|told| problem.what.contains(told));
            assert!(is_expected, "seed {seed}\n{text}\n{problem}");
        }
    }
}

/// Every place is in the file.
fn are_placed(text: &str, problems: &[Problem], seed: u64) {
    for problem in problems {
        let (line, column) = problem.place.unwrap_or_else(|| panic!("seed {seed}: no place: {problem}"));
        let width = text.split('\n').nth(line - 1).map(|line| line.chars().count());
        let width = width.unwrap_or_else(|| panic!("seed {seed}: no such line: {problem}"));
        assert!((1..=width + 1).contains(&column), "seed {seed}: no such column: {problem}");
        assert!(!problem.what.is_empty());
    }
}

/// The text with a few mistakes.
fn damaged(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..random.range(1, 3) {
        let (at, other) = (random.below(lines.len()), random.below(lines.len()));
        match random.below(6) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(other, lines[at].clone()),
            2 => lines.swap(at, other),
            3 => {
                let words = [
                    "gps", "airframe", "n1", "flight", "\"", "[", "=", "channel", "3", "ä", "{", "}", "fix",
                    "true",
                ];
                let (from, to) = (random.pick(&words).unwrap(), random.pick(&words).unwrap());
                lines[at] = lines[at].replace(from, to);
            }
            _ => {
                let mut letters: Vec<char> = lines[at].chars().collect();
                let place = random.below(letters.len() + 1);
                match letters.get_mut(place) {
                    Some(letter) if random.chance(50) => *letter = char::from(random.range(32, 126) as u8),
                    Some(_) => drop(letters.remove(place)),
                    None => letters.push(char::from(random.range(32, 126) as u8)),
                }
                lines[at] = letters.into_iter().collect();
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n")
}

#[test]
fn damaged_descriptors_and_manifests_are_told_with_a_place() {
    fn file(text: &str) -> Source<'_> {
        Source { file: "p", text }
    }
    let [plan, events, domain, manifest] =
        [crate::importing::FILTERS[0], crate::importing::FILTERS[1], crate::importing::DOMAIN, TYPES];
    let (mut refused, mut left_out) = (0, 0);
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::new(seed);
        let text = damaged([plan, events, domain, manifest][random.below(4)], &mut random);
        // As each of the kinds that there are.
        for (plan, events, domain) in
            [(&text[..], events, domain), (plan, &text[..], domain), (plan, events, &text[..])]
        {
            let name = |part: &str| if part == text { "p" } else { "other" };
            let source = |part| Source { file: name(part), text: part };
            let descriptors =
                Descriptors { plan: source(plan), domain: Some(source(domain)), events: &[source(events)] };
            let problems = match import(&descriptors) {
                Err(problems) => {
                    refused += 1;
                    problems
                }
                Ok(imported) => {
                    left_out += imported.left_out.len();
                    let written = imported.plan.to_toml();
                    assert_eq!(
                        Plan::read(file(&written)).unwrap().0,
                        imported.plan,
                        "seed {seed}\n{written}"
                    );
                    imported.left_out
                }
            };
            let own: Vec<Problem> = problems.into_iter().filter(|problem| problem.file == "p").collect();
            are_placed(&text, &own, seed);
        }
        if let Err(problems) = Manifest::read(file(&text)) {
            are_placed(&text, &problems, seed);
        }
    }
    assert!(refused > 0 && left_out > 0);
}

#[test]
fn damaged_plans_are_told_with_a_place_or_still_make_sense() {
    let tracker = catalogue(TYPES);
    let (mut refused, mut senseless) = (0, 0);
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::new(seed);
        let is_tracker = random.chance(70);
        let text = if is_tracker { TRACKER.to_owned() } else { random::plan(&mut random).to_toml() };
        let text = damaged(&text, &mut random);
        let types = if is_tracker { &tracker } else { &types() };
        let source = Source { file: "p", text: &text };
        match Plan::read(source) {
            Err(problems) => {
                refused += 1;
                assert!(!problems.is_empty());
                are_placed(&text, &problems, seed);
            }
            Ok((plan, places)) => {
                let problems = plan.check(source, &places, types);
                senseless += usize::from(!problems.is_empty());
                are_placed(&text, &problems, seed);
                are_placed(&text, &plan.notes(source, &places, types), seed);
                // What does not make sense does no harm.
                let links = plan.explain(types, None).len();
                assert_eq!(
                    links,
                    plan.connections.values().map(|it| it.to.len()).sum::<usize>(),
                    "seed {seed}"
                );
                let installed: usize = plan
                    .split(types)
                    .iter()
                    .flat_map(|part| &part.processes)
                    .flat_map(|part| &part.containers)
                    .map(|part| part.components.len())
                    .sum();
                assert!(installed <= plan.components.len(), "seed {seed}");
                if problems.is_empty() {
                    assert_eq!(installed, plan.components.len(), "seed {seed}");
                }
                let graph = plan.graph(types);
                let exist = graph.edges.iter().all(|edge| edge.from.0.max(edge.to.0) < graph.nodes.len());
                assert!(exist, "seed {seed}");
                assert_eq!(
                    Plan::read(Source { file: "p", text: &plan.to_toml() }).unwrap().0,
                    plan,
                    "seed {seed}"
                );
            }
        }
    }
    assert!(refused > 0 && senseless > 0);
}

#[test]
fn each_component_is_installed_once_and_after_what_it_uses() {
    for seed in tiers::current().seeds("property.cases") {
        let plan = random::plan(&mut Random::new(seed));
        let order = plan.order(&types());
        let known: BTreeSet<&str> = order.iter().copied().collect();
        assert!(known.len() == order.len() && order.len() == plan.components.len(), "seed {seed}");
        let at = |name: &str| order.iter().position(|it| *it == name).unwrap();
        // Without a way back, the order is right.
        for connection in plan.connections.values() {
            let (from, to) = (connection.from.component().unwrap(), connection.to[0].component().unwrap());
            if from != to && !leads(&plan, to, from) {
                assert!(at(to) < at(from), "seed {seed}: {from} {to} {order:?}");
            }
        }
    }
}

/// Processes that depend on others, at random and without circles: which one depends on which is the other way round in half of the plans.
#[test]
fn components_of_a_process_come_after_those_of_the_processes_that_it_depends_on() {
    let mut seen = 0;
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::new(seed);
        let mut plan = random::plan(&mut random);
        let mut names: Vec<String> = plan.processes.keys().cloned().collect();
        if random.chance(50) {
            names.reverse();
        }
        for (index, name) in names.iter().enumerate() {
            let depends_on = names[..index].iter().filter(|_| random.chance(50)).cloned().collect();
            plan.processes.get_mut(name).unwrap().depends_on = depends_on;
        }
        let source = Source { file: "plan", text: &plan.to_toml() };
        assert_eq!(Plan::read(source).unwrap().0, plan, "seed {seed}");
        let order = plan.order(&types());
        assert_eq!(order.len(), plan.components.len(), "seed {seed}");
        // Whether one process depends on another, over any others.
        let depends = |process: &str, on: &str| {
            let mut open = vec![process];
            while let Some(next) = open.pop() {
                if next == on {
                    return true;
                }
                open.extend(plan.processes[next].depends_on.iter().map(String::as_str));
            }
            false
        };
        for (index, name) in order.iter().enumerate() {
            for later in &order[index + 1..] {
                let [of, of_later] = [name, later].map(|name| plan.components[*name].process.as_str());
                assert!(
                    of == of_later || !depends(of, of_later),
                    "seed {seed}: {name} before {later}: {order:?}"
                );
                seen += usize::from(of != of_later && depends(of_later, of));
            }
        }
    }
    assert!(seen > 0);
}

/// Whether connections lead from one component to another, or either is in or behind a cycle that they lead through.
fn leads(plan: &Plan, from: &str, to: &str) -> bool {
    let mut known = BTreeSet::from([from]);
    let mut open = vec![from];
    let mut has_cycle = false;
    while let Some(next) = open.pop() {
        for connection in plan.connections.values().filter(|it| it.from.component() == Some(next)) {
            let end = connection.to[0].component().unwrap();
            if known.insert(end) {
                open.push(end);
            } else if end != next {
                has_cycle = true;
            }
        }
    }
    known.contains(to) || has_cycle
}

/// What runs, as far as steps change it.
#[derive(Default, Debug)]
struct Running {
    processes: BTreeSet<String>,
    containers: BTreeSet<String>,
    services: BTreeSet<String>,
    /// Whether each is active.
    components: BTreeMap<String, bool>,
    connections: BTreeSet<String>,
}

impl Running {
    /// Does a step; or says why it cannot be done.
    fn step(&mut self, step: &Step, old: &Plan, new: &Plan) -> Result<(), &'static str> {
        let is_used = |name: &String, connections: &BTreeSet<String>| {
            let of = |it: &String| old.connections.get(it).filter(|_| connections.contains(it));
            connections
                .iter()
                .filter_map(of)
                .any(|it| std::iter::once(&it.from).chain(&it.to).any(|end| end.component() == Some(name)))
        };
        let expect = |holds: bool, why: &'static str| if holds { Ok(()) } else { Err(why) };
        match step {
            Step::StartProcess(name) => expect(self.processes.insert(name.clone()), "it runs"),
            Step::StopProcess(name) => {
                let process = |it: &String| old.components.get(it).is_some_and(|it| it.process == *name);
                expect(!self.components.keys().any(process), "components are in it")?;
                expect(self.processes.remove(name), "it does not run")
            }
            Step::AddContainer(name) => {
                expect(self.processes.contains(&new.containers[name].process), "its process does not run")?;
                expect(self.containers.insert(name.clone()), "it is there")
            }
            Step::RemoveContainer(name) => expect(self.containers.remove(name), "it is not there"),
            Step::AddService(name) => {
                let (placement, at) = (new.services[name].placement, new.services[name].at.clone().unwrap());
                expect(
                    placement != Placement::Server || self.processes.contains(&at),
                    "its process does not run",
                )?;
                expect(self.services.insert(name.clone()), "it is there")
            }
            Step::RemoveService(name) => expect(self.services.remove(name), "it is not there"),
            Step::Passivate(name) => {
                *self.components.get_mut(name).ok_or("it is not there")? = false;
                Ok(())
            }
            Step::Remove(name) => {
                expect(!is_used(name, &self.connections), "it is connected")?;
                expect(self.components.remove(name) == Some(false), "it is active, or not there")
            }
            Step::Install(name) => {
                let component = &new.components[name];
                expect(self.processes.contains(&component.process), "its process does not run")?;
                expect(
                    component.container.as_ref().is_none_or(|it| self.containers.contains(it)),
                    "its container is not there",
                )?;
                expect(self.components.insert(name.clone(), false).is_none(), "it is there")
            }
            Step::HandOver(name) => {
                expect(self.processes.contains(name), "it does not run")?;
                let of_plan = |plan: &Plan| -> BTreeSet<String> {
                    let here = plan.components.iter().filter(|(_, it)| it.process == *name);
                    here.map(|(name, _)| name.clone()).collect()
                };
                let (was, is) = (of_plan(old), of_plan(new));
                expect(was == is && !was.is_empty(), "it has other components, or none")?;
                expect(is.iter().all(|it| self.components.get(it) == Some(&true)), "a component rests")?;
                for (connection, it) in &new.connections {
                    let mut ends = std::iter::once(&it.from).chain(&it.to).filter_map(|end| end.component());
                    let is_of_it = !it.is_suspended && ends.any(|it| is.contains(it));
                    expect(!is_of_it || self.connections.contains(connection), "it is not connected")?;
                }
                let of_it = |it: &String| {
                    let process = |plan: &Plan| plan.containers.get(it).map(|it| it.process.clone());
                    process(old).as_ref() == Some(name) || process(new).as_ref() == Some(name)
                };
                self.containers.retain(|it| !of_it(it));
                let added = new.containers.keys().filter(|it| of_it(it)).cloned();
                self.containers.extend(added.collect::<Vec<_>>());
                Ok(())
            }
            Step::Set(name, ..) | Step::Configured(name) => {
                expect(self.components.contains_key(name), "it is not there")
            }
            Step::Disconnect(name) => expect(self.connections.remove(name), "it is not there"),
            Step::Connect(name) => {
                let connection = &new.connections[name];
                let mut ends =
                    std::iter::once(&connection.from).chain(&connection.to).filter_map(|end| end.component());
                expect(ends.all(|it| self.components.contains_key(it)), "an end is not there")?;
                expect(self.connections.insert(name.clone()), "it is there")
            }
            Step::Activate(name) => {
                *self.components.get_mut(name).ok_or("it is not there")? = true;
                Ok(())
            }
        }
    }

    fn is(&self, plan: &Plan) -> bool {
        let connected = plan.connections.iter().filter(|(_, connection)| !connection.is_suspended);
        self.processes == plan.layout().processes().keys().map(|name| (*name).to_owned()).collect()
            && self.containers == plan.containers.keys().cloned().collect()
            && self.services == plan.services.keys().cloned().collect()
            && self.connections == connected.map(|(name, _)| name.clone()).collect()
            && self.components.keys().eq(plan.components.keys())
            && self.components.iter().all(|(name, active)| {
                let mode = plan.start_mode.as_ref().and_then(|mode| plan.modes.get(mode));
                *active == mode.is_none_or(|mode| mode.components.contains(name))
            })
    }
}

#[test]
fn steps_lead_from_any_plan_to_any_other_and_nothing_is_used_that_is_not_there() {
    let types = types();
    let mut newer = types.clone();
    newer.components.values_mut().for_each(|it| it.build = Some("2".to_owned()));
    let nothing = Plan::default();
    let mut handed_over = 0;
    for seed in tiers::current().seeds("property.cases") {
        let mut random = Random::new(seed);
        let mut plan = random::plan(&mut random);
        // A change of modes has steps of its own, which this is not about.
        (plan.modes, plan.start_mode) = Default::default();
        let mut other = random::changed(&plan, &mut random);
        (other.modes, other.start_mode) = Default::default();
        let is_newer = random.chance(30);
        if is_newer && random.chance(50) {
            // Only the build is another one.
            other = plan.clone();
        }
        let mut running = Running::default();
        let none = Catalogue::default();
        let versions = [
            (&nothing, &none),
            (&plan, &types),
            (&other, if is_newer { &newer } else { &types }),
            (&nothing, &none),
        ];
        for pair in versions.windows(2) {
            let (old, new) = (pair[0], pair[1]);
            let all = steps(Version::new(old.0, old.1), Version::new(new.0, new.1));
            for step in &all {
                handed_over += usize::from(matches!(step, Step::HandOver(_)));
                if let Err(why) = running.step(step, old.0, new.0) {
                    let shown: Vec<String> = all.iter().map(ToString::to_string).collect();
                    panic!(
                        "seed {seed}: {step}: {why}\n{shown:#?}\n{}\n=====\n{}",
                        old.0.to_toml(),
                        new.0.to_toml()
                    );
                }
            }
            assert!(running.is(new.0), "seed {seed}: {running:#?}\n{all:#?}\n{}", new.0.to_toml());
            assert!(steps(Version::new(new.0, new.1), Version::new(new.0, new.1)).is_empty());
        }
    }
    assert!(handed_over > 0 || std::env::var_os("PUNCTUAL_SEED").is_some());
}
