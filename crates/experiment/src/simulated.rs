//! The experiment without a network: the same topics through the same switch, frame by frame in the simulator.
use std::time::Duration;

use frames::{
    Attack, BestEffort, Bounds, Contract, Flow, Message, Multiplexing, Network, Node, Outcome, Pattern,
    Spacing, Ties, Timing, run,
};
use network::Network as Planned;

use crate::judge::judge;
use crate::live::Told;
use crate::record::Record;
use crate::report::{Phase, Refusal, Report, Row};
use crate::setting::{FILE, Setting};
use crate::stalls::Stalls;
use crate::text;

/// Simulated time of a phase: the simulator releases at most 65,536 frames of a flow, and a babbler's link carries 8,127 a second.
const SECONDS: u64 = 7;
const SECOND: u64 = 1_000_000_000_000;
const PICOSECONDS: u64 = 1_000;
/// Frames that wait in the one queue of a port without a manager, as in the lab.
const FIFO: u64 = 50 * 1_538;
/// How much later than its contract allows a publisher sends: what its send call takes.
const SEND_CALL: u64 = 40_000_000;
/// Publishers begin this far apart.
const OFFSET: u64 = 1_300_000_000;
const SEED: u64 = 1;

/// A phase that is simulated.
struct Scene {
    title: &'static str,
    about: &'static str,
    managed: bool,
    /// How many topics babble: the first ones.
    babblers: usize,
}

/// Simulates all phases; `told` hears of each once it is over.
///
/// # Errors
/// What cannot be simulated, in words.
pub(crate) fn simulate(
    setting: &Setting,
    why: &str,
    progress: &dyn Fn(&str),
    told: &mut Told<'_>,
) -> Result<Report, String> {
    let (network, _) =
        plan::simulated(&setting.network)?.ok_or("the plan admits no flow of the experiment")?;
    if network.flows().len() != setting.topics.len() {
        return Err("the plan does not admit all flows of the experiment".to_owned());
    }
    let mut report = Report {
        place: format!("SIMULATED, frame by frame, because {why}. Nothing was measured on this machine."),
        machine: vec![
            ("simulated", "hosts, links, the switch with its queues and gates, every frame and its place in each queue".to_owned()),
            ("not simulated", "processors and operating systems; the manager's conversations: its decisions are those of the plan".to_owned()),
        ],
        topics: setting.topics.clone(),
        phases: Vec::new(),
        refusals: Vec::new(),
        broken: Vec::new(),
        remarks: Vec::new(),
    };
    told(&text::head(&report))?;
    for scene in &SCENES {
        progress(&format!("simulating: {}", scene.title));
        let phase = phase(scene, setting, &network)?;
        told(&text::phase(report.phases.len() + 1, &phase, &report.topics))?;
        report.phases.push(phase);
    }
    report.refusals = refusals(setting)?;
    Ok(report)
}

const SCENES: [Scene; 4] = [
    Scene { title: "Best effort", about: crate::phases::BEST_EFFORT, managed: false, babblers: 0 },
    Scene {
        title: "Best effort, video and ECG babble",
        about: crate::phases::BABBLE,
        managed: false,
        babblers: 2,
    },
    Scene { title: "Managed", about: crate::phases::MANAGED, managed: true, babblers: 0 },
    Scene { title: "Managed, video and ECG babble", about: crate::phases::HELD, managed: true, babblers: 2 },
];

fn phase(scene: &Scene, setting: &Setting, planned: &Network) -> Result<Phase, String> {
    let network = network(scene, planned)?;
    let mut rows = Vec::new();
    for (index, topic) in setting.topics.iter().enumerate() {
        let outcome = run(&network, &attack(&network, index), &Bounds::default());
        if index < scene.babblers {
            rows.push(Row::Babbler { topic: index, said: babbled(&outcome, index) });
            continue;
        }
        let (mut sent, mut received) = (Vec::new(), Vec::new());
        for (number, delivery) in (0..).zip(&outcome.deliveries) {
            let record = |at: u64| Record { number, at: (at / PICOSECONDS).cast_signed() };
            sent.push(record(delivery.released));
            if delivery.delivered == delivery.frames {
                received.push(record(delivery.last));
            }
        }
        let limit = if scene.managed { topic.planned.clone()? } else { topic.limit }.cast_signed();
        rows.push(Row::Measured {
            topic: index,
            limit,
            judged: judge(&sent, &received, &Stalls::default(), limit),
        });
    }
    let seconds = Duration::from_secs(SECONDS).as_secs_f64();
    Ok(Phase {
        title: scene.title,
        about: scene.about.to_owned(),
        promised: scene.managed,
        repeated: false,
        seconds,
        rows,
        notes: Vec::new(),
    })
}

/// The network of a scene. Without a manager no flow has a level of its own, and no gate enforces a contract.
fn network(scene: &Scene, planned: &Network) -> Result<Network, String> {
    let mut flows: Vec<Flow> = planned.flows().to_vec();
    let mut ports = planned.ports().to_vec();
    for (index, flow) in flows.iter_mut().enumerate() {
        flow.babbles = index < scene.babblers;
        if let Contract::Gated { separation, .. } = &mut flow.contract {
            *separation += SEND_CALL * (index as u64 + 1);
        }
        if !scene.managed {
            flow.policer = None;
            flow.tree.iter_mut().for_each(|hop| hop.level = 0);
        }
    }
    if !scene.managed {
        for port in &mut ports {
            port.best_effort = 0;
            if matches!(planned.nodes().get(port.from), Some(Node::Switch { .. })) {
                port.buffer = FIFO;
            }
        }
    }
    Network::new(planned.nodes().to_vec(), ports, flows).map_err(|error| error.to_string())
}

fn attack(network: &Network, target: usize) -> Attack {
    let timing = |index: usize| Timing {
        pivot: OFFSET * (index as u64 + 1),
        before: 0,
        pattern: Pattern::Steady,
        message: Message::Heaviest,
        spacing: Spacing::LATEST,
    };
    Attack {
        timings: (0..network.flows().len()).map(timing).collect(),
        end: SECONDS * SECOND,
        target: Some(target),
        ties: Ties::Random,
        best_effort: BestEffort::Random,
        multiplexing: Multiplexing::Random,
        changes: Vec::new(),
        seed: SEED,
    }
}

fn babbled(outcome: &Outcome, flow: usize) -> String {
    let count = |counts: &[u64]| counts.get(flow).copied().unwrap_or(0);
    let (sent, policed, lost) = (count(&outcome.released), count(&outcome.policed), count(&outcome.lost));
    let held =
        if policed > 0 { format!("the gate stopped {policed}") } else { "nothing stopped it".to_owned() };
    format!("its host sent {sent} frames; {held}, and {lost} found no room in a queue")
}

/// What the plan says to subscribers that ask for too much.
fn refusals(setting: &Setting) -> Result<Vec<Refusal>, String> {
    let mut refusals = Vec::new();
    for asked in &crate::phases::asked(setting.scale) {
        let text = asked.changed(&setting.text);
        let none = |_: &std::path::Path| Err("no other file".to_owned());
        let report = plan::plan(&Planned::parse(FILE, &text, none).map_err(|problem| problem.to_string())?);
        let verdict = report.flows.iter().find(|flow| flow.name == asked.topic).and_then(|flow| {
            let reason = flow.reason.as_deref()?;
            let offer = flow.offered_latency_ps.map(|offer| {
                format!("; {} ms would be admitted", text::milliseconds((offer / PICOSECONDS).cast_signed()))
            });
            Some(format!("refused: {reason}{}", offer.unwrap_or_default()))
        });
        refusals.push(Refusal { asked: asked.said.clone(), verdict });
    }
    Ok(refusals)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::conclusion::Conclusion;
    use crate::judge::Judged;
    use crate::scale::Scale;

    fn judged(phase: &Phase, topic: usize) -> &Judged {
        let found = phase.rows.iter().find_map(|row| match row {
            Row::Measured { topic: of, judged, .. } if *of == topic => Some(judged),
            _ => None,
        });
        found.unwrap_or_else(|| panic!("topic {topic} babbles"))
    }

    #[test]
    fn the_simulated_experiment_shows_what_the_paper_shows() {
        let setting = Setting::new(Scale::ALL[0], network::SwitchKind::default()).unwrap();
        let mut texts = 0;
        let mut told = |_: &str| {
            texts += 1;
            Ok(())
        };
        let report = simulate(&setting, "of a test", &|_| (), &mut told).unwrap();
        assert_eq!((texts, report.conclusion()), (5, Conclusion::Held(Vec::new())));
        let [best, babble, managed, held] = &report.phases[..] else { panic!("four phases") };
        // One queue for all: what asks for least time waits for the others.
        assert!(judged(best, 0).misses.late > 100, "{:?}", judged(best, 0).misses);
        assert!(judged(babble, 2).arrived_permille() < 50, "{:?}", judged(babble, 2).misses);
        for (phase, topic) in [(managed, 0), (managed, 1), (managed, 2), (held, 2)] {
            let judged = judged(phase, topic);
            assert!(judged.points.len() > 200 && judged.misses.late + judged.misses.lost == 0);
        }
        assert!(report.refusals.iter().all(|refusal| refusal.verdict.is_some()), "{:?}", report.refusals);
    }
}
