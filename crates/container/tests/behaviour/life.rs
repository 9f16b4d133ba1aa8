//! Life cycles: the order of hooks, hooks that fail or take too long, components that stay as they are.
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

use container::{
    ByChannel, Component, Context, Direct, Dispatch, Fault, Hook, Lifecycle, Locality, Outcome, Policy,
    Server, ServerError, State, Value,
};

use crate::parts::{Log, Number, Relay, Tap};
use crate::ports::{push, scene};

/// Writes each hook; one of them may fail, panic or hang until it is told.
#[derive(Component)]
struct Living {
    #[setting(default = "")]
    fails: String,
    #[setting(default = "")]
    panics: String,
    #[setting(default = "")]
    hangs: String,
    log: Log,
    /// The threads of its hooks.
    threads: Arc<Mutex<Vec<ThreadId>>>,
    waits: Arc<Mutex<Option<Receiver<()>>>>,
    state: Vec<u8>,
}

impl Living {
    fn hook(&mut self, name: &str, at: &Context) -> Outcome {
        self.log.write(name.to_owned());
        self.threads.lock().unwrap().push(thread::current().id());
        if self.hangs == name {
            let told = self.waits.lock().unwrap().take();
            let _ = told.map(|told| told.recv());
        }
        assert!(self.panics != name, "no {name}");
        if self.fails == name { Err(at.broken("not today")) } else { Ok(()) }
    }
}

impl Lifecycle for Living {
    fn construct(&mut self, at: &Context) -> Outcome {
        self.hook("construct", at)
    }
    fn configure(&mut self, at: &Context) -> Outcome {
        self.hook("configure", at)
    }
    fn configured(&mut self, at: &Context) -> Outcome {
        self.hook("configured", at)
    }
    fn activate(&mut self, at: &Context) -> Outcome {
        self.hook("activate", at)
    }
    fn suspend(&mut self, at: &Context) -> Outcome {
        self.hook("suspend", at)
    }
    fn resume(&mut self, at: &Context) -> Outcome {
        self.hook("resume", at)
    }
    fn passivate(&mut self, at: &Context) -> Outcome {
        self.hook("passivate", at)
    }
    fn remove(&mut self, at: &Context) -> Outcome {
        self.hook("remove", at)
    }
    fn error(&mut self, fault: &Fault) {
        self.log.write(format!("error {fault}"));
    }
    fn freeze(&mut self, state: &mut Vec<u8>) -> Outcome {
        state.extend(&self.state);
        Ok(())
    }
    fn thaw(&mut self, state: &[u8]) -> Outcome {
        self.state = state.to_vec();
        Ok(())
    }
    fn limit(&self, hook: Hook) -> Duration {
        // Long enough for a busy machine, except where it is the point.
        let hangs = hook == Hook::Suspend && self.hangs == "suspend";
        if hangs { Duration::from_millis(20) } else { Duration::from_secs(60) }
    }
}

fn live() -> Server {
    let mut server = Server::new(&Locality::default());
    server.container("box", Policy::default()).unwrap();
    server
}

fn log_of(server: &Server, name: &str) -> Log {
    server.entry::<Living>(name).unwrap().with(|living, _| living.log.clone()).unwrap()
}

#[test]
fn hooks_come_in_their_order() {
    for mut server in [live(), Server::simulated()] {
        let _ = server.container("box", Policy::default());
        server.install::<Living>("box", "it", &[]).unwrap();
        let log = log_of(&server, "it");
        assert_eq!(server.state("it"), Some(State::Inactive));
        server.launch().unwrap();
        assert_eq!(server.state("it"), Some(State::Active));
        server.suspend("it").unwrap();
        assert_eq!(server.state("it"), Some(State::Suspended));
        server.resume("it").unwrap();
        let error = ServerError::State { name: "it".to_owned(), state: State::Active };
        assert_eq!(server.resume("it"), Err(error.clone()));
        assert_eq!(server.remove("it"), Err(error.clone()));
        assert_eq!(server.thaw("it", &[]), Err(error));
        server.stop().unwrap();
        assert_eq!(server.state("it"), None);
        let hooks =
            ["construct", "configure", "configured", "activate", "suspend", "resume", "passivate", "remove"];
        assert_eq!(log.take(), hooks);
    }
}

#[test]
fn a_state_goes_from_one_component_to_another() {
    let mut server = live();
    server.install::<Living>("box", "old", &[]).unwrap();
    server.install::<Living>("box", "new", &[]).unwrap();
    server.entry::<Living>("old").unwrap().with(|living, _| living.state = vec![1, 2, 3]).unwrap();
    server.launch().unwrap();
    assert!(server.freeze("old").is_err());
    server.suspend("old").unwrap();
    server.suspend("new").unwrap();
    let state = server.freeze("old").unwrap();
    server.thaw("new", &state).unwrap();
    assert_eq!(
        server.entry::<Living>("new").unwrap().with(|living, _| living.state.clone()),
        Ok(vec![1, 2, 3])
    );
}

#[test]
fn a_hook_that_fails_or_panics_is_the_error_state() {
    for (key, text) in [("fails", "activate: not today"), ("panics", "panicked: no activate")] {
        let mut server = live();
        server.install::<Living>("box", "it", &[(key, Value::Text("activate".to_owned()))]).unwrap();
        server.install::<Living>("box", "other", &[]).unwrap();
        let log = log_of(&server, "it");
        let error = server.launch().unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!((server.state("it"), server.state("other")), (Some(State::Error), Some(State::Active)));
        assert!(log.take().last().unwrap().contains(text));
        let report = server.next_report(Duration::ZERO).unwrap();
        assert!(report.to_string().contains(text), "{report}");
        assert!(server.resume("it").is_err());
        server.remove("it").unwrap();
        assert_eq!(log.take(), [""; 0]);
    }
    let mut server = live();
    let refused = server.install::<Living>("box", "it", &[("fails", Value::Text("configure".to_owned()))]);
    assert!(refused.unwrap_err().to_string().contains("configure: not today"));
    assert_eq!(server.state("it"), None);
}

#[test]
fn a_hook_that_hangs_is_told_of_and_holds_up_no_other_component() {
    let mut server = live();
    let (go, waits): (Sender<()>, _) = channel();
    server.install::<Living>("box", "it", &[("hangs", Value::Text("suspend".to_owned()))]).unwrap();
    server.install::<Living>("box", "other", &[]).unwrap();
    let entry = server.entry::<Living>("it").unwrap();
    entry.with(|living, _| living.waits = Arc::new(Mutex::new(Some(waits)))).unwrap();
    server.launch().unwrap();
    let error = server.suspend("it").unwrap_err();
    let limit = Duration::from_millis(20);
    let fault = Fault::Overdue { hook: Hook::Suspend, limit };
    assert_eq!(error, ServerError::Hook { instance: "it".to_owned(), fault: fault.clone() });
    assert_eq!(server.state("it"), Some(State::Error));
    assert_eq!(server.next_report(Duration::ZERO).unwrap().fault, fault);
    // Its lock is held, and yet no thread waits for it.
    assert!(entry.with(|_, _| ()).is_err());
    server.suspend("other").unwrap();
    server.resume("other").unwrap();
    server.remove("it").unwrap();
    server.stop().unwrap();
    drop(go);
}

/// A thread for each hook would be most of what a launch costs. One that hangs keeps its thread, and the next hook has another.
#[test]
fn hooks_share_a_thread_until_one_of_them_hangs() {
    let mut server = live();
    let (go, waits): (Sender<()>, _) = channel();
    server.install::<Living>("box", "it", &[("hangs", Value::Text("suspend".to_owned()))]).unwrap();
    server.install::<Living>("box", "other", &[]).unwrap();
    let threads =
        |name: &str| server.entry::<Living>(name).unwrap().with(|it, _| it.threads.clone()).unwrap();
    let (of_it, of_other) = (threads("it"), threads("other"));
    let entry = server.entry::<Living>("it").unwrap();
    entry.with(|living, _| living.waits = Arc::new(Mutex::new(Some(waits)))).unwrap();
    server.launch().unwrap();
    server.suspend("it").unwrap_err();
    server.suspend("other").unwrap();
    server.resume("other").unwrap();
    let first = of_it.lock().unwrap()[0];
    assert_eq!(*of_it.lock().unwrap(), [first; 5]);
    let next = of_other.lock().unwrap()[4];
    assert_eq!(*of_other.lock().unwrap(), [first, first, first, first, next, next]);
    assert!(next != first && next != thread::current().id());
    server.stop().unwrap();
    drop(go);
}

#[test]
fn a_panic_is_the_error_state_of_one_component_and_its_neighbours_miss_nothing() {
    for service in [None, Some(Dispatch::Publisher), Some(Dispatch::Pool), Some(Dispatch::Lane(1))] {
        let (mut server, log) = scene();
        let by_channel = service.map(ByChannel::new);
        let direct = Direct::default();
        let by: &dyn container::Service = match &by_channel {
            Some(service) => service,
            None => &direct,
        };
        server
            .install::<Relay>(
                "box",
                "bad",
                &[("panics_at", Value::Integer(2)), ("name", Value::Text("bad".to_owned()))],
            )
            .unwrap();
        server.entry::<Relay>("bad").unwrap().with(|relay, _| relay.log = log.clone()).unwrap();
        server.connect("x", &["s.out"], &["a.input", "bad.input", "b.input"], by).unwrap();
        server.launch().unwrap();
        for number in 1..=3 {
            push(&server, number).unwrap();
            server.advance(Duration::ZERO);
        }
        let lines = log.take();
        for (name, wanted) in [("a", vec![1, 2, 3]), ("b", vec![1, 2, 3]), ("bad", vec![1])] {
            let own: Vec<_> =
                lines.iter().filter_map(|line| line.strip_prefix(&format!("{name} "))).collect();
            let wanted: Vec<_> = wanted.iter().map(u64::to_string).collect();
            assert_eq!(own, wanted, "{name} by {service:?}");
        }
        assert!(lines.contains(&"bad: panicked: cannot have 2; it is in the error state".to_owned()));
        assert_eq!(server.state("bad"), Some(State::Error));
        assert_eq!(server.next_report(Duration::ZERO).unwrap().of, "bad");
        let refused = server.remove("bad").unwrap_err();
        assert!(matches!(refused, ServerError::Connected { .. }), "{refused}");
    }
}

#[test]
fn reports_that_are_not_asked_for_are_counted() {
    let mut server = Server::simulated();
    server.container("box", Policy::default()).unwrap();
    server.install::<Tap>("box", "s", &[]).unwrap();
    server.install::<Relay>("box", "a", &[]).unwrap();
    server.connect("x", &["s.out"], &["a.input"], &Direct::default()).unwrap();
    server.launch().unwrap();
    let relay = server.entry::<Relay>("a").unwrap();
    // While this thread is in `a`, it cannot be reached: each is reported.
    let tap = server.entry::<Tap>("s").unwrap();
    relay
        .with(|_, _| {
            (0..1_030).for_each(|n| tap.with(|tap, at| tap.out.push(at, &Number(n))).unwrap().unwrap())
        })
        .unwrap();
    let first = server.next_report(Duration::ZERO).unwrap();
    assert_eq!(first.fault, Fault::Lost(6));
    assert_eq!(server.next_report(Duration::ZERO).unwrap().fault, Fault::Lock(threads::Refused::Mine));
    assert_eq!(server.counts("a").unwrap().missed, 1_030);
}
