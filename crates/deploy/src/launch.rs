//! `punctual deploy launch`: starts the processes of a plan that are of this host, and looks after them until it is told to stop.
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use deployment::{Action, Control, ControlAnswer, Input, Outcome, Request, Supervisor, deployment_name};

use crate::children::{Children, Happening};
use crate::command::{BAD_NEWS, DONE, FAILED, Failure};
use crate::control::{self, Asked, Listening};
use crate::others;
use crate::target::{chosen, opened, target};

/// How long processes may take for a part of a change: hooks of components have a second each, unless they say otherwise.
const PATIENCE: u64 = 30_000_000_000_000;
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
    supervisor: Supervisor,
    children: Children<Event>,
    host: Option<String>,
    /// Whether plans need no proof that their chains keep their limits.
    unproved: bool,
    start: Instant,
    asked: BTreeMap<u64, Sender<ControlAnswer>>,
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
    let (tell, events) = channel();
    let ask = tell.clone();
    let listening = control::listen(&path, move |asked| ask.send(Event::Asked(asked)).is_ok())?;
    interruptions(&tell)?;
    let mut launched = Launched {
        supervisor: Supervisor::new(deployment, host.clone(), PATIENCE),
        children: Children::new(&tell, Event::Child),
        host,
        unproved,
        start: Instant::now(),
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
    drop(launched);
    listening.close();
}

fn interruptions(tell: &Sender<Event>) -> Result<(), Failure> {
    static ARE_TAKEN: AtomicBool = AtomicBool::new(false);
    if ARE_TAKEN.swap(true, SeqCst) {
        return Err((
            FAILED,
            "this process has launched a plan already: launch another one by a process of its own".to_owned(),
        ));
    }
    let tell = tell.clone();
    ctrlc::set_handler(move || drop(tell.send(Event::Interrupted)))
        .map_err(|error| (FAILED, format!("Ctrl-C cannot be handled: {error}")))
}

impl Launched<'_> {
    /// Picoseconds since the start.
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos().saturating_mul(1_000)).unwrap_or(u64::MAX)
    }

    fn input(&mut self, input: Input) {
        let now = self.now();
        self.supervisor.handle(now, input);
        self.act();
    }

    fn look_after(&mut self, events: &Receiver<Event>) -> Result<u8, Failure> {
        loop {
            if self.supervisor.is_over() {
                return match self.launched.take() {
                    Some(Err(why)) => Err((BAD_NEWS, why)),
                    _ => Ok(DONE),
                };
            }
            let wait = self.supervisor.next_tick().map(|at| at.saturating_sub(self.now()).div_ceil(1_000));
            let event = match wait {
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => events.recv_timeout(Duration::from_nanos(wait)),
            };
            match event {
                Ok(event) => self.happens(event),
                Err(RecvTimeoutError::Timeout) => {
                    let now = self.now();
                    self.supervisor.tick(now);
                    self.act();
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(DONE),
            }
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Child(Happening::Told(of, answer)) => self.input(Input::Answered(of, answer)),
            // A process without its connection cannot be led any more.
            Event::Child(Happening::Silent(of, why)) => self.children.kill(of, &why),
            Event::Child(Happening::Ended(of)) => {
                if let Some((is_failure, how)) = self.children.ended(of) {
                    self.input(Input::Ended(of, is_failure, how));
                }
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
            Control::Apply { plan } => {
                let path = Path::new(&plan);
                let opened = opened(path, self.unproved, "launch");
                let target = opened.and_then(|loaded| target(&loaded, path, self.host.as_deref(), self.told));
                let target = target.and_then(|target| others::demand(&target.plan).map(|()| target));
                match target {
                    Ok(target) => Request::Apply(target.into()),
                    Err((_, what)) => return drop(answer.send(ControlAnswer::Refused { what })),
                }
            }
        };
        let number = self.number();
        self.asked.insert(number, answer);
        self.input(Input::Request(number, request));
    }

    /// Does what the supervisor wants.
    fn act(&mut self) {
        while let Some(action) = self.supervisor.poll() {
            match action {
                Action::Start { incarnation, process, target } => {
                    let now = self.now();
                    match self.children.start(incarnation, &process, &target) {
                        Ok(pid) => self.supervisor.handle(now, Input::Started(incarnation, pid)),
                        Err(why) => self.supervisor.handle(now, Input::Ended(incarnation, true, why)),
                    }
                }
                Action::Send(to, instruction) => self.children.send(to, instruction),
                Action::Kill(of, why) => self.children.kill(of, &why),
                Action::Finished(number, outcome) => self.finished(number, outcome),
                Action::Tell(text) => self.tell(&text),
            }
        }
    }

    fn tell(&mut self, text: &str) {
        // Processes write to the same log: a line is written at once, so that theirs do not come into it. The reader of the log may be gone; the
        // processes are looked after all the same.
        let _ = self.told.write_all(format!("punctual: {text}\n").as_bytes());
    }

    fn finished(&mut self, number: u64, outcome: Outcome) {
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
                let count = self.supervisor.processes().count();
                let _ = writeln!(self.out, "launched: {count} processes; control socket {}", self.socket);
                let _ = self.out.flush();
                self.launched = Some(Ok(()));
            }
            Outcome::Refused(why) => {
                self.launched = Some(Err(format!("not launched: {why}")));
                let number = self.number();
                let now = self.now();
                self.supervisor.handle(now, Input::Request(number, Request::Stop));
            }
            Outcome::Status(_) => {}
        }
    }
}
