//! Plans with modes: a bound in each, and on each way from one to another.
use assembly::MOST_MODES;
use response::Limits;
use schedulability::{Admission, Deployed, Situation, State, admit};

use crate::by_hand::{PLAN, TYPES, changed};
use crate::read;

/// The two components of the plan, a third one below them both, and a fourth one that takes as long as the first.
fn plan(modes: &str, chains: &str) -> String {
    let component = |name: &str, lane: &str, period: &str| {
        format!(
            "[component.{name}]\ntype = \"Control\"\nhost = \"n1\"\nprocess = \"p\"\ncontainer = \"all\"\nlane = \"{lane}\"\nport.tick.period = \"{period}\"\n"
        )
    };
    let plan = PLAN.split("[chain.control]").next().unwrap().to_owned();
    let more = "lanes.b = { class = \"fifo\", priority = 10, cores = [0] }\nlanes.c = { class = \"fifo\", priority = 30, cores = [0] }";
    let plan = changed(&plan, &[("lanes.b = { class = \"fifo\", priority = 10, cores = [0] }", more)]);
    let plan = plan
        .replace("[connection.noted]", &format!("{}[connection.noted]", component("extra", "c", "10 ms")));
    format!("{modes}{plan}{chains}")
}

const LOG: &str = "[chain.log]\npath = [\"log.tick\"]\nreaction = \"REACTION\"\n";

fn admitted(text: &str) -> Admission {
    let (plan, types) = read(text, TYPES);
    admit(&[Deployed { plan: &plan, types: &types, transfers: None }], Limits::default())
}

fn modes(of: &[(&str, &str)]) -> (String, String) {
    let start = format!("start-mode = \"{}\"\n", of[0].0);
    let tables = of.iter().map(|(name, components)| format!("[mode.{name}]\ncomponents = [{components}]\n"));
    (start, tables.collect())
}

fn text(of: &[(&str, &str)], reaction: &str) -> String {
    let (start, tables) = modes(of);
    plan(&start, &(LOG.replace("REACTION", reaction) + &tables))
}

const WITH_CONTROL: (&str, &str) = ("one", "\"control\", \"log\"");
const WITH_EXTRA: (&str, &str) = ("two", "\"extra\", \"log\"");

/// The log takes 6 ms. In each mode another component takes 2 ms before it; on the way both may: 6 + 2 + 2 = 10 ms, at the end of which
/// both come again, so 14 ms.
#[test]
fn each_mode_and_each_way_has_its_bound() {
    let admission = admitted(&text(&[WITH_CONTROL, WITH_EXTRA], "20 ms"));
    assert_eq!(admission.obstacles, []);
    assert!(admission.is_whole(), "{:?}", admission.chains);
    let log = &admission.chains[0];
    let bounds: Vec<(String, Option<u64>)> =
        log.bounds.iter().map(|(situation, _, reaction, _)| (situation.to_string(), *reaction)).collect();
    let [(one, of_one), (two, of_two), (way, of_way)] = bounds.as_slice() else { panic!("{bounds:?}") };
    assert_eq!([one.as_str(), two, way], ["in mode one", "in mode two", "between modes one and two"]);
    assert_eq!((*of_one, *of_two), (Some(8_000_000), Some(8_000_000)));
    assert!(*of_way > Some(9_000_000), "{bounds:?}");
    // What is told of the chain as a whole is the worst.
    assert_eq!(log.reaction.1, *of_way);
}

/// What is in no mode always rests, and its timers wake no thread.
#[test]
fn a_component_that_is_in_no_mode_costs_nothing() {
    let admission = admitted(&text(&[WITH_CONTROL], "8 ms"));
    let log = &admission.chains[0];
    assert_eq!((log.reaction.1, log.bounds.len()), (Some(8_000_000), 1), "{log:?}");
    let three = [WITH_CONTROL, WITH_EXTRA, ("three", "\"log\"")];
    let admission = admitted(&text(&three, "20 ms"));
    let log = &admission.chains[0];
    assert_eq!(log.bounds.last().map(|(situation, ..)| situation.clone()), Some(Situation::Any));
}

#[test]
fn what_fits_in_each_mode_may_not_fit_between_them() {
    let admission = admitted(&text(&[WITH_CONTROL, WITH_EXTRA], "8 ms"));
    let log = &admission.chains[0];
    assert_eq!(log.situation, Some(Situation::Way("one".to_owned(), "two".to_owned())));
    assert!(matches!(log.state, State::Refused { missing } if missing >= 2_000_000), "{:?}", log.state);
    let states: Vec<bool> = log.bounds.iter().map(|(_, state, ..)| *state == State::Admitted).collect();
    assert_eq!(states, [true, true, false]);
    // Without modes all is active at once.
    let whole = admitted(&plan("", &LOG.replace("REACTION", "8 ms")));
    assert_eq!(whole.chains[0].reaction.1, log.reaction.1);
    assert!(whole.chains[0].bounds.is_empty());
}

/// A mode that is refused is named; one that has what another one has, too, costs no analysis more.
#[test]
fn the_mode_that_is_refused_is_named() {
    let all = ("all", "\"control\", \"extra\", \"log\"");
    let admission = admitted(&text(&[WITH_CONTROL, all], "8 ms"));
    let log = &admission.chains[0];
    assert_eq!(log.situation.as_ref().map(ToString::to_string).as_deref(), Some("in mode all"), "{log:?}");
    let alone = admitted(&text(&[all], "8 ms"));
    assert_eq!(alone.chains[0].reaction.1, log.reaction.1);
    let twice = admitted(&text(&[WITH_CONTROL, all, ("same", all.1)], "8 ms"));
    assert_eq!(twice.work, admission.work);
}

#[test]
fn a_chain_that_is_in_no_mode_is_told() {
    let admission = admitted(&text(&[("one", "\"control\""), WITH_EXTRA], "20 ms"));
    assert!(admission.is_whole());
    let admission = admitted(&text(&[("one", "\"control\""), ("two", "\"extra\"")], "20 ms"));
    assert!(
        matches!(&admission.chains[0].state, State::NoBound { what, .. } if what.contains("no mode has all"))
    );
}

/// The queue of what is not active fills: the publisher of a mode would wait.
#[test]
fn a_queue_that_would_hinder_another_mode_has_no_bound() {
    let chains = "[chain.control]\npath = [\"control.tick\", \"control.out\"]\nreaction = \"10 ms\"\n";
    let (start, tables) = modes(&[("one", "\"control\""), ("two", "\"control\", \"log\"")]);
    let drops = plan(&start, &(chains.to_owned() + &tables));
    assert!(admitted(&drops).is_whole(), "{:?}", admitted(&drops).chains);
    let rejects = changed(&drops, &[("full = \"drop-oldest\"", "full = \"reject\"")]);
    let admission = admitted(&rejects);
    let control = &admission.chains[0];
    assert!(
        matches!(&control.state, State::NoBound { what, .. } if what.contains("hinders \"control.out\"")),
        "{:?}",
        control.state
    );
    assert_eq!(control.situation.as_ref().map(ToString::to_string).as_deref(), Some("in mode one"));
}

/// More modes than are analysed have no bounds, and take no time.
#[test]
fn so_many_modes_are_refused_at_once() {
    let names: Vec<String> = (0..=MOST_MODES).map(|mode| format!("m{mode}")).collect();
    let of: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), WITH_CONTROL.1)).collect();
    let (start, tables) = modes(&of);
    let text = plan(&start, &(LOG.replace("REACTION", "20 ms") + &tables));
    let source = diagnostics::Source { file: "plan.toml", text: &text };
    let (plan, places) = assembly::Plan::read(source).unwrap();
    let (_, types) = read(PLAN, TYPES);
    let problems = plan.check(source, &places, &types);
    assert!(problems.iter().any(|it| it.to_string().contains("modes")), "{problems:?}");
    let admission = admit(&[Deployed { plan: &plan, types: &types, transfers: None }], Limits::default());
    assert_eq!(admission.work, 0);
    assert!(!admission.is_whole());
}

/// A plan with modes beside one without: the one without is judged beside all that the other may have active.
#[test]
fn another_plan_counts_with_all_of_its_modes() {
    let (start, tables) = modes(&[WITH_CONTROL, WITH_EXTRA]);
    let (one, types) = read(&plan(&start, &tables), TYPES);
    let other = changed(PLAN, &[("[component.control]", "[component.unused]")]);
    let other =
        other.split("[connection.noted]").next().unwrap().to_owned() + &LOG.replace("REACTION", "40 ms");
    let other = other.replace("port.tick.period = \"10 ms\"", "port.tick.period = \"1 s\"");
    let (other, of_other) = read(&other, TYPES);
    let all = [
        Deployed { plan: &one, types: &types, transfers: None },
        Deployed { plan: &other, types: &of_other, transfers: None },
    ];
    let together = admit(&all, Limits::default());
    let log = together.chains.iter().find(|chain| chain.plan == 1).unwrap();
    let (all_active, _) = read(&plan("", ""), TYPES);
    let all = [Deployed { plan: &all_active, types: &types, transfers: None }, all[1]];
    let expected = admit(&all, Limits::default());
    assert_eq!(log.reaction, expected.chains.iter().find(|chain| chain.plan == 1).unwrap().reaction);
    assert!(log.bounds.is_empty());
}
