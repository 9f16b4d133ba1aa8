//! `punctual deploy admit`: whether the chains and connections of plans keep their limits, and what to change.
use std::io::Write;
use std::path::PathBuf;

use assembly::Plan;
use clap::Args;
use deployment::{ChainReport, Proof, measure_of};
use response::Limits;
use schedulability::{
    Admission, ChainVerdict, ConnectionVerdict, Deployed, Effort, Obstacle, Offered, Order, ShareOfTime,
    Situation, State, admit, assign, changes,
};

use crate::command::{BAD_NEWS, DONE, FAILED, Failure, WRONG, print};
use crate::files::Loaded;
use crate::transfers;

/// Plans whose chains and connections are to keep their limits.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual deploy admit tracker.toml                    a verdict for each chain, and each connection with a latency\n  \
    punctual deploy admit tracker.toml plant.toml         both run on their hosts at the same time\n  \
    punctual deploy admit tracker.toml --write new.toml   lanes, cores, priorities and depths are filled in that keep the limits\n\n\
    Exit code: 0 all are admitted; 1 one is not, or the plan makes no sense; 2 wrong command line; 3 a file cannot be read or written.\n\
    See docs/components-bounds.md.")]
pub(crate) struct AdmitArguments {
    /// Plans (TOML or JSON); several are to run at the same time
    #[arg(required = true, value_name = "PLAN")]
    plans: Vec<PathBuf>,
    /// Fills in lanes, cores, priorities and depths of queues that keep the limits, and writes the plan with them
    #[arg(long, value_name = "FILE")]
    write: Option<PathBuf>,
    /// Writes the flows that connections need of the network of the plans as a flow file, for punctual grm --flows
    #[arg(long, value_name = "FILE")]
    export_flows: Option<PathBuf>,
    /// Says what all parts of each bound are, and the bounds of connections without a limit
    #[arg(long)]
    all: bool,
    /// How many steps the analysis of one plan may take
    #[arg(long, value_name = "NUMBER", default_value_t = STEPS)]
    steps: u64,
}

/// Steps that an analysis may take, unless the command line says otherwise.
pub(crate) const STEPS: u64 = 50_000_000;
/// Steps of each analysis while changes are tried, at least; more where the plan as it is takes more.
const STEPS_OF_TRIAL: u64 = 100_000;
/// Steps of all analyses that look for one change to be offered, which are to take less than two seconds; to write a plan they may be more.
const STEPS_OF_OFFER: u64 = 20_000_000;
const STEPS_OF_WRITING: u64 = 100_000_000;

pub(crate) fn run(
    arguments: &AdmitArguments,
    out: &mut dyn Write,
    told: &mut dyn Write,
) -> Result<u8, Failure> {
    if arguments.write.is_some() && arguments.plans.len() > 1 {
        return Err((WRONG, "--write is for one plan\n  name one plan, or leave --write out".to_owned()));
    }
    let mut loaded = Loaded::all(&arguments.plans)?;
    let mut shares = transfers::compute(&loaded)?;
    let deployed: Vec<Deployed<'_>> = loaded.iter().map(Loaded::deployed).collect();
    let limits = Limits { steps: arguments.steps, ..Limits::default() };
    let mut admission = admit(&deployed, limits);
    let enough = admission.work.saturating_mul(2).max(STEPS_OF_TRIAL);
    let trial = Limits { steps: arguments.steps.min(enough), ..limits };
    if let Some(file) = &arguments.write {
        let assigned = assign(&deployed, Effort { each: trial, total: STEPS_OF_WRITING });
        let plan = assigned.plans.first().ok_or((FAILED, "there is no plan".to_owned()))?;
        for change in &assigned.changes {
            print(out, format_args!("changed: {change}\n"))?;
        }
        for (host, known) in &assigned.orders {
            print(out, format_args!("{host}: {}\n", order(known)))?;
        }
        // Other lanes make events later or earlier, so that the network has other flows.
        let changed: Vec<Loaded> = loaded.iter().map(|loaded| loaded.with_plan(plan.clone())).collect();
        shares = transfers::compute(&changed)?;
        admission = admit(&changed.iter().map(Loaded::deployed).collect::<Vec<_>>(), limits);
        loaded = changed;
        for loaded in &loaded {
            let text = loaded.with_transfers().to_toml();
            std::fs::write(file, text).map_err(|error| (FAILED, format!("{}: {error}", file.display())))?;
        }
        print(out, format_args!("written: {}\n", file.display()))?;
    }
    if let Some(file) = &arguments.export_flows {
        let count = transfers::export(&shares, file)?;
        print(out, format_args!("flows written: {count}, to {}\n", file.display()))?;
    }
    for chain in &admission.chains {
        let name = if loaded.len() > 1 { loaded.get(chain.plan).map(|it| it.source().file) } else { None };
        verdict(name, chain, arguments.all, out)?;
    }
    for connection in admission.connections.iter().filter(|it| arguments.all || it.is_limited()) {
        let name =
            if loaded.len() > 1 { loaded.get(connection.plan).map(|it| it.source().file) } else { None };
        of_connection(name, connection, arguments.all, out)?;
    }
    transfers::tell(&loaded, &shares, out)?;
    obstacles(&loaded, &admission, told)?;
    if admission.chains.is_empty() && admission.limited().next().is_none() {
        print(out, format_args!("there are no chains: add [chain.NAME] with a path and reaction or age\n"))?;
    }
    if !admission.is_whole() && arguments.write.is_none() {
        let deployed: Vec<Deployed<'_>> = loaded.iter().map(Loaded::deployed).collect();
        offer(&changes(&deployed, Effort { each: trial, total: STEPS_OF_OFFER }), out)?;
    }
    // What policies forbid is told by its place, whether a chain needs it or not.
    let is_allowed = (0..loaded.len())
        .all(|plan| loaded.get(plan).is_none_or(|of| transfers::demand(of, plan, &shares).is_ok()));
    Ok(if admission.is_whole() && is_allowed { DONE } else { BAD_NEWS })
}

/// What is known of an order of priorities, in words.
fn order(known: &Order) -> String {
    match known {
        Order::Found => {
            "priorities by Audsley's algorithm, which finds an order that keeps all limits if there is one"
                .to_owned()
        }
        Order::None => {
            "with these lanes and cores no order of priorities keeps all limits, by Audsley's algorithm"
                .to_owned()
        }
        Order::Search(why) => {
            format!("priorities by a search in Audsley's way; another order may do more, since {why}")
        }
    }
}

/// A plan that runs at the same time.
pub(crate) struct Other<'a> {
    /// What people know it by.
    pub(crate) name: &'a str,
    /// Its chains were proved, and have to stay so. What takes time counts in any case.
    pub(crate) is_proved: bool,
    pub(crate) deployed: Deployed<'a>,
}

/// Nothing if all chains and connections of a plan keep their limits, and those of others that run at the same time do with it. `plan` is what was loaded, with the
/// names of hosts that the others have. `verb` is the command that demands it.
///
/// # Errors
/// The verdicts of those that do not, or of which it is not proved.
pub(crate) fn demand(loaded: &Loaded, plan: &Plan, others: &[Other<'_>], verb: &str) -> Result<(), Failure> {
    let mut all = vec![Deployed { plan, ..loaded.deployed() }];
    all.extend(others.iter().map(|other| other.deployed));
    let admission = admit(&all, Limits::default());
    let mut text = Vec::new();
    for chain in admission.chains.iter().filter(|chain| chain.state != State::Admitted) {
        let other = chain.plan.checked_sub(1).and_then(|index| others.get(index));
        if other.is_none_or(|other| other.is_proved) {
            verdict(other.map(|other| other.name), chain, false, &mut text)?;
        }
    }
    for connection in admission.limited().filter(|connection| connection.state != State::Admitted) {
        let other = connection.plan.checked_sub(1).and_then(|index| others.get(index));
        if other.is_none_or(|other| other.is_proved) {
            of_connection(other.map(|other| other.name), connection, false, &mut text)?;
        }
    }
    if text.is_empty() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    let file = loaded.source().file;
    let more = format!("punctual deploy admit {file} says more; {verb} --unproved goes on without a proof");
    Err((
        BAD_NEWS,
        format!(
            "not every chain and connection of the plan{} is proved to keep its limits, and nothing was changed\n{text}  {more}",
            if others.is_empty() { "" } else { ", and of others that run with it," }
        ),
    ))
}

/// Changes and parts of a bound that are shown.
pub(crate) const SHOWN: usize = 3;

fn offer(offered: &Offered, out: &mut dyn Write) -> Result<(), Failure> {
    let Offered { changes, tried, untried } = offered;
    if !changes.is_empty() {
        print(out, format_args!("what would admit more:\n"))?;
        return changes.iter().take(SHOWN).try_for_each(|change| print(out, format_args!("  {change}\n")));
    }
    if *untried == 0 {
        return print(out, format_args!("no single change of a priority, a core or a depth admits more\n"));
    }
    print(
        out,
        format_args!(
            "none of {tried} single changes that were tried admits more; {untried} were not tried, since the plan is large\n"
        ),
    )
}

/// Whether a chain keeps its limits, in words.
pub(crate) fn state(chain: &ChainVerdict) -> String {
    in_words(&chain.state, chain.is_conditional, chain.situation.as_ref())
}

/// Whether limits are kept, in words.
pub(crate) fn in_words(state: &State, is_conditional: bool, situation: Option<&Situation>) -> String {
    let condition = if is_conditional { ", as far as the measured times hold" } else { "" };
    let situation = situation.map(|situation| format!(" {situation}")).unwrap_or_default();
    match state {
        State::Admitted => format!("admitted{condition}"),
        State::Refused { missing } => format!("refused{situation}: {} are missing", time(*missing)),
        State::NoBound { what, .. } => format!("no bound{situation}: {what}"),
    }
}

/// Proved bounds of reaction and age beside their limits, and limits without a bound.
pub(crate) fn limits(chain: &ChainVerdict) -> Vec<String> {
    let line = |(what, (limit, bound)): (&str, Times)| match limit {
        Some(limit) if bound.is_none() => Some(format!("{what}: no bound, limit {}", time(limit))),
        _ => proved(what, (limit, bound)),
    };
    [("reaction", chain.reaction), ("age", chain.age)].into_iter().filter_map(line).collect()
}

/// What is proved of the chains of a plan, and of its connections with a latency, for the status of its deployment.
pub(crate) fn proofs(loaded: &Loaded) -> Vec<ChainReport> {
    proofs_of(&[loaded.deployed()]).swap_remove(0)
}

/// The same for plans that run at the same time, in their order.
pub(crate) fn proofs_of(plans: &[Deployed<'_>]) -> Vec<Vec<ChainReport>> {
    let admission = admit(plans, Limits { steps: STEPS, ..Limits::default() });
    let proof = |state: &State, is_conditional: bool| match (state, is_conditional) {
        (State::Admitted, false) => Proof::Proved,
        (State::Admitted, true) => Proof::Conditional,
        _ => Proof::None,
    };
    let of_chain = |chain: &ChainVerdict| ChainReport {
        name: chain.name.clone(),
        proof: proof(&chain.state, chain.is_conditional),
        reaction_bound: chain.reaction.1,
        age_bound: chain.age.1,
        ..ChainReport::default()
    };
    let of_connection = |it: &ConnectionVerdict| ChainReport {
        name: measure_of(&it.name, &it.to),
        proof: proof(&it.state, it.is_conditional),
        reaction_bound: it.latency.1,
        ..ChainReport::default()
    };
    let of = |plan: usize| {
        let chains = admission.chains.iter().filter(move |chain| chain.plan == plan).map(of_chain);
        let limited = admission.connections.iter().filter(move |it| it.plan == plan && it.is_limited());
        chains.chain(limited.map(of_connection))
    };
    (0..plans.len()).map(|plan| of(plan).collect()).collect()
}

/// A limit and a bound, as far as there are such, in nanoseconds.
type Times = (Option<u64>, Option<u64>);

/// A bound beside its limit.
fn proved(what: &str, (limit, bound): Times) -> Option<String> {
    let limit = limit.map_or_else(|| "no limit".to_owned(), |limit| format!("limit {}", time(limit)));
    bound.map(|bound| format!("{what}: at most {}, {limit}", time(bound)))
}

fn verdict(file: Option<&str>, chain: &ChainVerdict, all: bool, out: &mut dyn Write) -> Result<(), Failure> {
    let file = file.map(|file| format!("{file}: ")).unwrap_or_default();
    print(out, format_args!("{file}{}: {}\n", chain.name, state(chain)))?;
    for (what, times) in [("reaction", chain.reaction), ("age", chain.age)] {
        if let Some(text) = proved(what, times).filter(|_| all || times.0.is_some()) {
            print(out, format_args!("  {text}\n"))?;
        }
    }
    for (situation, state, reaction, age) in &chain.bounds {
        let limited = [("reaction", chain.reaction.0, *reaction), ("age", chain.age.0, *age)].into_iter();
        let shown = limited.filter(|(_, limit, _)| all || limit.is_some());
        let bounds: Vec<String> =
            shown.filter_map(|(what, limit, bound)| proved(what, (limit, bound))).collect();
        let said = match state {
            State::Admitted => bounds.join("; "),
            state => in_words(state, false, None),
        };
        print(out, format_args!("  {situation}: {said}\n"))?;
    }
    more(&chain.state, &chain.only, &chain.shares, all, out)
}

/// The verdict of a connection.
fn of_connection(
    file: Option<&str>,
    connection: &ConnectionVerdict,
    all: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let file = file.map(|file| format!("{file}: ")).unwrap_or_default();
    let state = match (&connection.state, connection.is_limited()) {
        (State::Admitted, false) => "no limit".to_owned(),
        (state, _) => in_words(state, connection.is_conditional, connection.situation.as_ref()),
    };
    print(out, format_args!("{file}connection {} to {}: {state}\n", connection.name, connection.to))?;
    if let Some(text) = proved("latency", connection.latency) {
        print(out, format_args!("  {text}\n"))?;
    }
    more(&connection.state, &connection.only, &connection.shares, all, out)
}

/// What follows a verdict: the advice, conditions, and parts of the bound.
fn more(
    state: &State,
    only: &[String],
    shares: &[ShareOfTime],
    all: bool,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if let State::NoBound { remedy, .. } = state {
        print(out, format_args!("  {remedy}\n"))?;
    }
    for only in only {
        print(out, format_args!("  {only}\n"))?;
    }
    let is_refused = matches!(state, State::Refused { .. });
    let shown = if all { shares.len() } else { SHOWN * usize::from(is_refused) };
    for share in shares.iter().take(shown) {
        print(out, format_args!("    {}\n", self::share(share)))?;
    }
    Ok(())
}

/// A part of a bound.
pub(crate) fn share(share: &ShareOfTime) -> String {
    format!("{} {}: {}", time(share.time), share.port, share.cause)
}

/// Writes the obstacles of bounds, and what chains need besides, with lines and carets: by plan, in the order of the file.
fn obstacles(loaded: &[Loaded], admission: &Admission, told: &mut dyn Write) -> Result<(), Failure> {
    let missing = admission.obstacles.iter().chain(&admission.lacking);
    let placed = missing.filter_map(|obstacle| {
        let of_plan = loaded.get(obstacle.plan)?;
        Some((obstacle.plan, of_plan.places.at(&obstacle.path), of_plan, obstacle))
    });
    let mut placed: Vec<_> = placed.collect();
    // What is at one place stays in the order of its words.
    placed.sort_by_key(|(plan, at, ..)| (*plan, *at));
    for (_, at, loaded, Obstacle { what, remedy, .. }) in placed {
        let problem = loaded.source().problem(at, what.clone(), remedy.clone());
        print(told, format_args!("{}\n", loaded.source().show(&problem)))?;
    }
    Ok(())
}

/// A time for people, rounded up to a thousandth of its unit.
pub(crate) fn time(nanoseconds: u64) -> String {
    let (unit, name) = match nanoseconds {
        0..1_000 => return format!("{nanoseconds} ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let thousandths = nanoseconds.div_ceil(unit / 1_000);
    let text = format!("{}.{:03}", thousandths / 1_000, thousandths % 1_000);
    format!("{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
}
