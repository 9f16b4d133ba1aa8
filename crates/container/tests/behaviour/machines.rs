//! Two processes with different monotonic clocks, as those of two machines: one is in a time namespace of its own (needs root).
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use container::{
    ByDds, Chain, Component, Consumer, Context, Dispatch, Event, Every, Handle, Hop, Lifecycle, Locality,
    Outcome, Policy, Publisher, Server, Tick, Timer,
};
use dds::{DdsType, DomainParticipant, DomainParticipantFactory, NO_STATUS, QosKind};
use testkit::namespace::alone;
use testkit::patience::patiently;

/// Says that this is the process in the time namespace.
const OTHER: &str = "PUNCTUAL_TEST_OTHER_MACHINE";
/// The rates of both are the same; a bound of the drift makes no difference for what has to hold.
const DRIFT: u32 = 400_000;

/// When it was made, by a clock that time namespaces do not change.
#[derive(DdsType, Clone, Copy, Debug)]
struct Made {
    at: u64,
}
impl Event for Made {}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64
}

#[derive(Component)]
struct Maker {
    tick: Timer,
    out: Publisher<Made>,
}
impl Lifecycle for Maker {}
impl Handle<maker::Tick> for Maker {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        self.out.push(at, &Made { at: now() })
    }
}

/// Notes how long each event took.
#[derive(Component)]
struct Judge {
    input: Consumer<Made>,
    took: Arc<Mutex<Vec<u64>>>,
}
impl Lifecycle for Judge {}
impl Handle<judge::Input> for Judge {
    fn handle(&mut self, made: &Made, _: &Context) -> Outcome {
        self.took.lock().unwrap().push(now().saturating_sub(made.at));
        Ok(())
    }
}

fn server() -> (DomainParticipant, Server) {
    let participant = DomainParticipantFactory::get_instance()
        .create_participant(0, QosKind::Default, None, NO_STATUS)
        .unwrap();
    let mut server = Server::new(&Locality::default());
    server.container("box", Policy::default()).unwrap();
    let connections = ["made out", "made 0"].map(str::to_owned).to_vec();
    let hops = vec![Hop { port: "judge.input".to_owned(), connections, samples: false }];
    let (name, connection) = ("connection made to judge.input".to_owned(), Some("made".to_owned()));
    let reaction = Some(Duration::from_secs(600));
    server.follow(Chain { name, reaction, hops, connection, ..Chain::default() }).unwrap();
    server.compare_clocks(&participant, "clocks", DRIFT).unwrap();
    (participant, server)
}

/// Makes events until it is killed.
fn make() {
    let (participant, mut server) = server();
    server.install::<Maker>("box", "maker", &[]).unwrap();
    server.connect("made out", &["maker.out"], &[], &ByDds::<Made>::new(&participant, "made")).unwrap();
    let every = Every { period: Duration::from_millis(2), dispatch: Dispatch::Pool, patience: None };
    server.every("tick", "maker.tick", every).unwrap();
    server.launch().unwrap();
    loop {
        std::thread::park();
    }
}

/// Ends with the test, also if that fails.
struct Killed(Child);
impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn latencies_between_machines_are_measured_with_an_error_that_holds() {
    if std::env::var_os(OTHER).is_some() {
        return make();
    }
    alone(|| {
        let (participant, mut server) = server();
        server.install::<Judge>("box", "judge", &[]).unwrap();
        let took = Arc::<Mutex<Vec<u64>>>::default();
        let noted = Arc::clone(&took);
        server.entry::<Judge>("judge").unwrap().with(|judge, _| judge.took = noted).unwrap();
        server.connect("made 0", &[], &["judge.input"], &ByDds::<Made>::new(&participant, "made")).unwrap();
        server.launch().unwrap();
        // A thousand seconds ahead.
        let mut other = Command::new("unshare");
        other.args(["--time", "--monotonic", "1000", "--fork", "--kill-child"]);
        other.arg(std::env::current_exe().unwrap());
        other.args(["--exact", "machines::latencies_between_machines_are_measured_with_an_error_that_holds"]);
        let other = other.env(OTHER, "1").stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let other = Killed(other.unwrap());
        let score = || server.chains().remove(0);
        patiently("a hundred events that are measured", || (score().completions >= 100).then_some(()));
        drop(other);
        // It handles nothing more, whatever still comes: what is noted and what is scored belongs together.
        server.passivate("judge").unwrap();
        let took = took.lock().unwrap();
        let score = patiently("that all is scored", || {
            let score = server.chains().remove(0);
            (score.completions + score.foreign == took.len() as u64).then_some(score)
        });
        // Until the first round trip nothing is known of the other clock; from then on all is.
        let measured = &took[score.foreign as usize..];
        let (worst, error) = (score.reaction.worst.as_nanos() as u64, score.reaction.error.as_nanos() as u64);
        assert!(error > 0, "{score:?}");
        let truth = *measured.iter().max().unwrap();
        assert!(worst + error >= truth, "{worst} ± {error}, and it was {truth}");
        // The error is half of a round trip and some drift: far from the thousand seconds.
        assert!(worst.saturating_sub(error) < 500_000_000_000, "{score:?}");
        assert_eq!((score.reaction.exceeded, score.reaction.possibly), (0, 0), "{score:?}");
        drop(participant);
    });
}
