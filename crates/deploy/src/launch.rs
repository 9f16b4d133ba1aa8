//! `punctual deploy launch`: starts the processes of a plan that are of this host, and looks after them until it is told to stop.
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

use connections::local::Listening;
use deployment::{Control, ControlAnswer, Input, Outcome, Request, Target, deployment_name};

use crate::children::Happening;
use crate::command::{BAD_NEWS, DONE, FAILED, Failure};
use crate::control::{self, Asked};
use crate::files::Loaded;
use crate::in_force::{self, Change};
use crate::others;
use crate::supervision::{Supervision, Told};
use crate::target::{chosen, opened, target};

/// The request that launches.
const LAUNCH: u64 = 0;
/// The first request of commands.
const FIRST: u64 = 1;

enum Event {
    Child(Happening),
    Asked(Asked),
    /// Ctrl-C.
    Interrupted,
}

/// A supervisor at work.
struct Launched<'o> {
    supervision: Supervision<Event>,
    host: Option<String>,
    /// Whether plans need no proof that their chains keep their limits.
    unproved: bool,
    asked: BTreeMap<u64, Sender<ControlAnswer>>,
    /// The request that changes what holds on this host, while it does so, and the plan that is to hold.
    change: Option<(u64, Change, Loaded)>,
    deployment: String,
    next: u64,
    interruptions: u32,
    socket: String,
    launched: Option<Result<(), String>>,
    out: &'o mut dyn Write,
    told: &'o mut dyn Write,
}

pub(crate) fn run(
    plan: &Path,
    host: Option<&str>,
    unproved: bool,
    out: &mut dyn Write,
    told: &mut dyn Write,
) -> Result<u8, Failure> {
    let loaded = opened(plan, unproved, "launch")?;
    let host = chosen(&loaded, host)?;
    let target = target(&loaded, plan, host.as_deref(), told)?;
    others::demand(&target.plan)?;
    let deployment = deployment_name(&target.plan);
    let path = control::socket(&deployment)?;
    let change = Change::begin()?;
    if !unproved {
        in_force::demand(&loaded, host.as_deref(), &deployment, "launch")?;
    }
    let (tell, events) = channel();
    let ask = tell.clone();
    let listening = control::listen(&path, move |asked| ask.send(Event::Asked(asked)).is_ok())?;
    interruptions(&tell, || Event::Interrupted)?;
    in_force::keep(&deployment, &loaded, host.as_deref(), unproved)?;
    let mut launched = Launched {
        supervision: Supervision::new(deployment.clone(), host.clone(), None, &tell, Event::Child),
        change: Some((LAUNCH, change, loaded)),
        deployment,
        host,
        unproved,
        asked: BTreeMap::new(),
        next: FIRST,
        interruptions: 0,
        socket: path.display().to_string(),
        launched: None,
        out,
        told,
    };
    launched.input(Input::Request(LAUNCH, Request::Apply(target.into())));
    let ended = launched.look_after(&events);
    close(launched, listening);
    ended
}

/// Ends the processes first, and gives the socket's place free then.
fn close(launched: Launched<'_>, listening: Listening) {
    let deployment = launched.deployment.clone();
    drop(launched);
    in_force::forget(&deployment);
    listening.close();
}

/// Ctrl-C, and what other managers stop processes with, is sent to `tell`.
pub(crate) fn interruptions<T: Send + 'static>(
    tell: &Sender<T>,
    event: impl Fn() -> T + Send + 'static,
) -> Result<(), Failure> {
    static ARE_TAKEN: AtomicBool = AtomicBool::new(false);
    if ARE_TAKEN.swap(true, SeqCst) {
        return Err((
            FAILED,
            "this process has launched a plan already: launch another one by a process of its own".to_owned(),
        ));
    }
    let tell = tell.clone();
    ctrlc::set_handler(move || drop(tell.send(event())))
        .map_err(|error| (FAILED, format!("Ctrl-C cannot be handled: {error}")))
}

impl Launched<'_> {
    fn input(&mut self, input: Input) {
        let told = self.supervision.input(input);
        self.told(told);
    }

    /// Hands on what the supervisor has to say.
    fn told(&mut self, told: Vec<Told>) {
        for told in told {
            match told {
                Told::Finished(number, outcome) => self.finished(number, *outcome),
                Told::Line(text) => self.tell(&text),
                // No request of this program waits for other hosts.
                Told::Reached(_) | Told::Quiesced(..) => {}
            }
        }
    }

    fn look_after(&mut self, events: &Receiver<Event>) -> Result<u8, Failure> {
        loop {
            if self.supervision.supervisor().is_over() {
                return match self.launched.take() {
                    Some(Err(why)) => Err((BAD_NEWS, why)),
                    _ => Ok(DONE),
                };
            }
            let event = match self.supervision.wait() {
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => events.recv_timeout(wait),
            };
            match event {
                Ok(event) => self.happens(event),
                Err(RecvTimeoutError::Timeout) => {
                    let told = self.supervision.tick();
                    self.told(told);
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(DONE),
            }
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Child(happening) => {
                let told = self.supervision.happens(happening);
                self.told(told);
            }
            Event::Asked(asked) => self.asked(asked),
            Event::Interrupted => {
                self.interruptions += 1;
                let request = if self.interruptions == 1 { Request::Stop } else { Request::Kill };
                let number = self.number();
                self.input(Input::Request(number, request));
            }
        }
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    fn asked(&mut self, Asked { control, answer }: Asked) {
        let request = match control {
            Control::Status => Request::Status,
            Control::Stop => Request::Stop,
            // Each mode, and each way from one to another, was proved with the plan.
            Control::Mode { name } => Request::Mode(name),
            // The proof counts with its events, and one that chains wait for is not suspended.
            Control::Suspend { connection } => Request::Suspend(connection, true),
            Control::Resume { connection } => Request::Suspend(connection, false),
            Control::Apply { plan } => match self.prepared(Path::new(&plan)) {
                Ok((target, change, loaded)) => {
                    self.change = Some((self.next + 1, change, loaded));
                    Request::Apply(target.into())
                }
                Err((_, what)) => return drop(answer.send(ControlAnswer::Refused { what })),
            },
        };
        let number = self.number();
        self.asked.insert(number, answer);
        self.input(Input::Request(number, request));
    }

    /// A plan that may be applied. Nothing else changes on this host until it is, or is not.
    fn prepared(&mut self, path: &Path) -> Result<(Target, Change, Loaded), Failure> {
        let loaded = opened(path, self.unproved, "launch")?;
        let target = target(&loaded, path, self.host.as_deref(), self.told)?;
        others::demand(&target.plan)?;
        let change = Change::try_begin()?;
        if !self.unproved {
            in_force::demand(&loaded, self.host.as_deref(), &self.deployment, "launch")?;
        }
        Ok((target, change, loaded))
    }

    /// A request that changes what holds on this host has ended: what holds now is kept.
    fn changed(&mut self, number: u64, is_done: bool) {
        let Some((_, _change, loaded)) = self.change.take_if(|(of, ..)| *of == number) else { return };
        // What is launched has been kept before it began.
        if is_done && number != LAUNCH {
            let kept = in_force::keep(&self.deployment, &loaded, self.host.as_deref(), self.unproved);
            if let Err((_, what)) = kept {
                self.tell(&format!("{what}: other launches will not take account of this plan"));
            }
        }
    }

    fn tell(&mut self, text: &str) {
        // Processes write to the same log: a line is written at once, so that theirs do not come into it. The reader of the log may be gone; the
        // processes are looked after all the same.
        let _ = self.told.write_all(format!("punctual: {text}\n").as_bytes());
    }

    fn finished(&mut self, number: u64, outcome: Outcome) {
        self.changed(number, matches!(outcome, Outcome::Done(_)));
        if number == LAUNCH {
            return self.launch_ended(outcome);
        }
        let answer = match outcome {
            Outcome::Done(notes) => ControlAnswer::Done { notes },
            Outcome::Refused(what) => ControlAnswer::Refused { what },
            Outcome::Status(status) => ControlAnswer::Status(status),
        };
        if let Some(asked) = self.asked.remove(&number) {
            let _ = asked.send(answer);
        }
    }

    fn launch_ended(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Done(notes) => {
                for note in notes {
                    self.tell(&note);
                }
                let count = self.supervision.supervisor().processes().count();
                let _ = writeln!(self.out, "launched: {count} processes; control socket {}", self.socket);
                let _ = self.out.flush();
                self.launched = Some(Ok(()));
            }
            Outcome::Refused(why) => {
                self.launched = Some(Err(format!("not launched: {why}")));
                let number = self.number();
                self.input(Input::Request(number, Request::Stop));
            }
            Outcome::Status(_) => {}
        }
    }
}
