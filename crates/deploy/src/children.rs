//! Processes of a plan: started in process groups of their own, spoken with by a socket that is their standard input, and ended.
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use assembly::{Artefact, Plan, Process};
use deployment::{
    Answer, Incarnation, Instruction, LONGEST_LINE, Lines, Target, foreign_lane, is_foreign, line, read,
};
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use ring::digest::{SHA256, digest};

/// How long a process may go on that has closed its connection: longer than it takes to end one that hangs.
const GRACE: Duration = Duration::from_secs(6);
const CLOSED: &str = "it closed its connection";

/// An event of a process.
pub(crate) enum Happening {
    /// It told something.
    Told(Incarnation, Answer),
    /// Nothing comes from it any more, or nonsense: why.
    Silent(Incarnation, String),
    /// It has ended, and waits to be asked how.
    Ended(Incarnation),
}

/// The processes that there are.
pub(crate) struct Children<T> {
    all: BTreeMap<Incarnation, Running>,
    tell: Sender<T>,
    wrap: Arc<dyn Fn(Happening) -> T + Send + Sync>,
}

struct Running {
    child: Child,
    group: Pid,
    /// None of a foreign program, which is told to end by a signal.
    instructions: Option<Sender<Instruction>>,
    /// Why it was ended, if it was by us.
    why: Option<String>,
}

impl<T: Send + 'static> Children<T> {
    /// None yet. What they do is sent to `tell`, as `wrap` makes it.
    pub(crate) fn new(tell: &Sender<T>, wrap: impl Fn(Happening) -> T + Send + Sync + 'static) -> Self {
        Self { all: BTreeMap::new(), tell: tell.clone(), wrap: Arc::new(wrap) }
    }

    /// Starts a process of a plan; says its process id.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(crate) fn start(&mut self, of: Incarnation, process: &str, target: &Target) -> Result<u32, String> {
        let said = target.plan.processes.get(process).cloned().unwrap_or_default();
        let name = said.artefact.as_deref().unwrap_or_default();
        let artefact = target.plan.artefacts.get(name).ok_or("the plan does not say what it executes")?;
        let path = executable(Path::new(&target.file), name, artefact)?;
        if is_foreign(&target.plan, process) {
            return self.start_foreign(of, foreign(&target.plan, process, &said, &path), &path);
        }
        let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
        let mut command = Command::new(&path);
        command.arg("--serve").args(&said.arguments).envs(&said.environment);
        command.stdin(OwnedFd::from(theirs)).process_group(0);
        let child = command.spawn().map_err(|error| format!("{}: {error}", path.display()))?;
        // The end of the process is seen at the socket only if it is not open here, too.
        drop(command);
        let pid = child.id();
        let group = Pid::from_raw(i32::try_from(pid).map_err(|error| error.to_string())?);
        match self.attend(of, ours, group) {
            Ok(instructions) => {
                self.all.insert(of, Running { child, group, instructions: Some(instructions), why: None });
                Ok(pid)
            }
            Err(error) => Err(given_up(child, group, &error)),
        }
    }

    /// Starts a program that is no component server.
    fn start_foreign(&mut self, of: Incarnation, mut command: Command, path: &Path) -> Result<u32, String> {
        let child = command.spawn().map_err(|error| {
            let program = command.get_program().display();
            format!("{}: {program}, which starts it: {error}; install util-linux", path.display())
        })?;
        let pid = child.id();
        let group = Pid::from_raw(i32::try_from(pid).map_err(|error| error.to_string())?);
        let (wrap, tell) = (Arc::clone(&self.wrap), self.tell.clone());
        match at_end(group, move || drop(tell.send(wrap(Happening::Ended(of))))) {
            Ok(()) => {
                self.all.insert(of, Running { child, group, instructions: None, why: None });
                Ok(pid)
            }
            Err(error) => Err(given_up(child, group, &error)),
        }
    }

    /// Threads that hear what a process tells, tell it what to do, and wait for its end.
    fn attend(&self, of: Incarnation, ours: UnixStream, pid: Pid) -> io::Result<Sender<Instruction>> {
        let (wrap, hears) = (Arc::clone(&self.wrap), ours.try_clone()?);
        let (instructions, to_tell) = channel();
        let tell = self.tell.clone();
        thread::Builder::new().name("hears".to_owned()).spawn(move || {
            let why = hear(hears, |answer| tell.send(wrap(Happening::Told(of, answer))).is_ok());
            if why == CLOSED {
                // It is about to end by itself, as a rule.
                thread::sleep(GRACE);
            }
            let _ = tell.send(wrap(Happening::Silent(of, why)));
        })?;
        thread::Builder::new().name("tells".to_owned()).spawn(move || instruct(ours, &to_tell))?;
        let (wrap, tell) = (Arc::clone(&self.wrap), self.tell.clone());
        at_end(pid, move || drop(tell.send(wrap(Happening::Ended(of)))))?;
        Ok(instructions)
    }

    /// Tells a process what to do. A process that has ended does not hear it.
    pub(crate) fn send(&self, to: Incarnation, instruction: Instruction) {
        match self.all.get(&to) {
            Some(Running { instructions: Some(instructions), .. }) => drop(instructions.send(instruction)),
            Some(Running { group, .. }) if instruction == Instruction::Stop => {
                let _ = killpg(*group, Signal::SIGTERM);
            }
            _ => {}
        }
    }

    /// Kills a process, and all of its group.
    pub(crate) fn kill(&mut self, of: Incarnation, why: &str) {
        if let Some(running) = self.all.get_mut(&of) {
            running.why.get_or_insert_with(|| why.to_owned());
            let _ = killpg(running.group, Signal::SIGKILL);
        }
    }

    /// A process has ended: whether that was a failure, and how. What it has started and left is killed.
    pub(crate) fn ended(&mut self, of: Incarnation) -> Option<(bool, String)> {
        let mut running = self.all.remove(&of)?;
        let _ = killpg(running.group, Signal::SIGKILL);
        let (is_failure, how) = match running.child.wait() {
            Ok(status) => (!status.success(), how(status)),
            Err(error) => (true, error.to_string()),
        };
        Some((is_failure, running.why.map_or(how.clone(), |why| format!("{why} ({how})"))))
    }
}

impl<T> Drop for Children<T> {
    /// Nothing is left behind, whatever ends the supervisor.
    fn drop(&mut self) {
        for running in self.all.values_mut() {
            let _ = killpg(running.group, Signal::SIGKILL);
            let _ = running.child.wait();
        }
    }
}

/// Ends a process that nothing can look after.
fn given_up(mut child: Child, group: Pid, error: &io::Error) -> String {
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
    error.to_string()
}

/// Goes on only if the supervisor, whose process id is the first word, is still the parent: it may have ended before its end was watched.
const IF_WATCHED: &str = "[ \"$PPID\" = \"$0\" ] && exec \"$@\"";

/// The command line of a program that is no component server: it ends with the supervisor, and has the priority and the cores that the plan
/// says. Each of these programs executes the next one, so that the process stays the same.
fn foreign(plan: &Plan, name: &str, process: &Process, path: &Path) -> Command {
    let lane = foreign_lane(plan, name);
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", "/bin/sh", "-c", IF_WATCHED, &std::process::id().to_string()]);
    if let Some(priority) = lane.and_then(|lane| lane.priority) {
        command.args(["chrt", "--fifo", &priority.to_string()]);
    }
    let of_lane = lane.map(|lane| lane.cores.as_slice()).filter(|cores| !cores.is_empty());
    let cores: Vec<String> = of_lane.unwrap_or(&process.cores).iter().map(u16::to_string).collect();
    if !cores.is_empty() {
        command.args(["taskset", "--cpu-list", &cores.join(",")]);
    }
    command.arg(path).args(&process.arguments).envs(&process.environment);
    command.stdin(Stdio::null()).process_group(0);
    command
}

/// Does something when a process has ended, on a thread of its own. The process stays to be asked how it ended, so its id is not another's
/// meanwhile.
pub(crate) fn at_end(pid: Pid, act: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let waits = thread::Builder::new().name("waits".to_owned());
    let spawned = waits.spawn(move || {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        while let Err(nix::errno::Errno::EINTR) = waitid(Id::Pid(pid), flags) {}
        act();
    });
    spawned.map(drop)
}

fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// Hands on what a process tells until it is silent; says why it is.
fn hear(mut socket: UnixStream, mut hand_on: impl FnMut(Answer) -> bool) -> String {
    let mut lines = Lines::new(LONGEST_LINE);
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = match socket.read(&mut buffer) {
            Ok(0) => return CLOSED.to_owned(),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            // A process that ends before it has read all that it was told: the kernel says so in this way.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return CLOSED.to_owned(),
            Err(error) => return error.to_string(),
        };
        lines.feed(buffer.get(..count).unwrap_or_default());
        loop {
            let text = match lines.next_line() {
                Ok(None) => break,
                Ok(Some(text)) => text,
                Err(error) => return error.to_string(),
            };
            match read::<Answer>(&text) {
                Ok(answer) => {
                    if !hand_on(answer) {
                        return "the supervisor has ended".to_owned();
                    }
                }
                Err(error) => return error.to_string(),
            }
        }
    }
}

fn instruct(mut socket: UnixStream, instructions: &Receiver<Instruction>) {
    for instruction in instructions {
        let Ok(text) = line(&instruction) else { return };
        if socket.write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}

/// The file that a process executes: the first place of the artefact that is a file, relative to the plan's folder.
pub(crate) fn executable(plan: &Path, name: &str, artefact: &Artefact) -> Result<PathBuf, String> {
    let folder = plan.parent().unwrap_or(Path::new(""));
    let local = artefact.location.iter().filter(|location| !location.contains("://"));
    let paths: Vec<PathBuf> = local.map(|location| folder.join(location)).collect();
    let Some(path) = paths.iter().find(|path| path.is_file()) else {
        let all: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(format!("artefact {name}: there is no file {}", all.join(" or ")));
    };
    if let Some(said) = &artefact.digest {
        let content = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let found: String =
            digest(&SHA256, &content).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        if !said.strip_prefix("sha256:").is_some_and(|said| said.eq_ignore_ascii_case(&found)) {
            return Err(format!(
                "artefact {name}: {} is not what the plan says: its digest is sha256:{found}",
                path.display()
            ));
        }
    }
    std::fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a process has read all that it was told is no matter: its end is told by how it ended.
    #[test]
    fn a_process_that_leaves_lines_unread_has_closed_its_connection() {
        for unread in ["", "\"stop\"\n"] {
            let (mut ours, theirs) = UnixStream::pair().unwrap();
            ours.write_all(unread.as_bytes()).unwrap();
            drop(theirs);
            assert_eq!(hear(ours, |_| true), CLOSED, "{unread:?}");
        }
    }

    #[test]
    fn lines_before_the_end_are_handed_on_and_what_means_nothing_ends_the_connection() {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(b"\"stopped\"\n\"stoped\"\n").unwrap();
        let mut told = Vec::new();
        let why = hear(ours, |answer| {
            told.push(answer);
            true
        });
        assert_eq!(told, [Answer::Stopped]);
        assert!(why.contains("unknown variant"), "{why}");
    }
}
