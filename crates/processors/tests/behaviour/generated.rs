//! Random systems: the same seed does the same, values that were reached refute a claim of one less, and explanations say why.
use processors::{Claims, Effort, Goal, Outcome, Search, System, explain, generate, refute, run};

const SHORT: Effort = Effort { climbing: 8, random: 2, events: 150 };

fn claims(outcome: &Outcome, less: u64) -> Claims {
    let list = |seen: &[processors::Seen]| {
        seen.iter().map(|seen| (seen.count > 0).then(|| seen.value.saturating_sub(less))).collect()
    };
    Claims {
        reaction: list(&outcome.reaction),
        age: list(&outcome.age),
        response: list(&outcome.response),
        backlog: list(&outcome.backlog),
        latency: list(&outcome.latency),
    }
}

#[test]
fn equal_seeds_do_the_same() {
    for seed in 0..40 {
        let systems = [generate::system(seed), generate::system(seed)];
        assert_eq!(systems[0], systems[1]);
        let found = systems
            .map(|system| Search::new(&system, &Claims::default(), Goal::Reaction(0), SHORT).worst(seed));
        assert_eq!(found[0], found[1], "seed {seed}");
        let system = generate::system(seed);
        let again = run(&system, &found[0].attack);
        assert_eq!(again.seen(Goal::Reaction(0)).value, found[0].value, "seed {seed}");
    }
}

/// What a search has seen is no exceedance; one nanosecond less of any chain is one, and the attack repeats it.
#[test]
fn one_nanosecond_less_is_refuted() {
    let mut refuted = 0;
    for seed in 0..40 {
        let system = generate::system(seed);
        for chain in 0..system.description().chains.len() {
            for goal in [Goal::Reaction(chain), Goal::Age(chain)] {
                let found = Search::new(&system, &Claims::default(), goal, SHORT).worst(seed);
                assert_eq!(found.outcome.exceeds(&claims(&found.outcome, 0)), None, "seed {seed}");
                if found.outcome.seen(goal).count == 0 {
                    continue;
                }
                let mut claims = Claims::default();
                let list = if matches!(goal, Goal::Age(_)) { &mut claims.age } else { &mut claims.reaction };
                list.resize(chain + 1, None);
                list[chain] = Some(found.value - 1);
                let outcome = run(&system, &found.attack);
                let exceedance = outcome.exceeds(&claims).unwrap();
                assert_eq!((exceedance.what, exceedance.seen.value), (goal, found.value));
                refuted += 1;
            }
        }
    }
    assert!(refuted > 60, "{refuted}");
}

/// Most random systems answer most of their chains, and use what the model has.
#[test]
fn random_systems_are_alive() {
    let (mut answered, mut chains) = (0, 0);
    let mut features = [0_u32; 8];
    for seed in 0..200 {
        let system: System = generate::system(seed);
        let parts = system.description();
        let outcome = Search::new(&system, &Claims::default(), Goal::Reaction(0), SHORT).worst(seed).outcome;
        for chain in &outcome.age {
            chains += 1;
            answered += u32::from(chain.count > 0);
        }
        let is_used = [
            parts.hosts.len() > 1,
            parts.ports.iter().any(|port| port.registers > 0),
            parts.ports.iter().any(|port| port.entry == processors::Entry::Direct),
            parts.ports.iter().any(|port| port.interval.is_some()),
            outcome.lost.iter().any(|lost| *lost > 0),
            outcome.given_up.iter().any(|given_up| *given_up > 0),
            parts.hosts.iter().any(|host| host.throttling.is_some()),
            parts.lanes.iter().any(|lane| matches!(lane.scheduling, processors::Scheduling::Deadline { .. })),
        ];
        for (feature, is_used) in features.iter_mut().zip(is_used) {
            *feature += u32::from(is_used);
        }
    }
    println!("{answered} of {chains} chains answered; features {features:?}");
    assert!(answered * 10 > chains * 8, "{answered} of {chains}");
    assert!(features.iter().all(|feature| *feature > 5), "{features:?}");
}

/// An explanation begins with its subject, and names the threads that ran.
#[test]
fn explanations() {
    let system = generate::system(3);
    let found = Search::new(&system, &Claims::default(), Goal::Reaction(0), SHORT).worst(1);
    let text = explain(&system, &found.attack, Goal::Reaction(0));
    let first = format!("the reaction of chain chain0 was {}, from ", found.value);
    assert!(text.starts_with(&first), "{text}");
    assert!(text.contains("chain chain0 completes with event"), "{text}");
    assert!(refute(&system, &Claims::default(), SHORT, 1).is_none());
}

/// A search of a hundred runs on small systems comes near to what all phases of a grid give in hundreds, mostly above it.
#[test]
fn searches_find_what_a_grid_has() {
    let shape = generate::Shape { hosts: 1, components: 3, chains: 1, load: (20, 80) };
    let (mut compared, mut less) = (0, Vec::new());
    for seed in 0..60 {
        let system = generate::system_of(&shape, seed);
        let claims = Claims::default();
        let search = |effort| Search::new(&system, &claims, Goal::Reaction(0), effort);
        let longest = system.description().sources.iter().map(|source| source.kind.period()).max().unwrap();
        let Ok(all) = search(SHORT).exhaustive(longest / 12, 700) else { continue };
        let found = search(Effort { climbing: 80, random: 20, events: 150 }).worst(seed);
        compared += 1;
        if found.value < all.value {
            less.push(found.value as f64 / all.value as f64);
        }
    }
    println!("{} of {compared} below the grid: {less:.3?}", less.len());
    assert!(compared > 20 && less.len() * 5 <= compared, "{less:?}");
    assert!(less.iter().all(|ratio| *ratio > 0.85), "{less:?}");
}
