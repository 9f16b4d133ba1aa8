//! Processes of a plan: started in process groups of their own, spoken with by a socket, and ended.
//!
//! The standard input of a component server is a socket. It is a connection if the process is to end with this program, and one that listens if
//! it is to outlive it: then the next program connects to it by its path. A foreign program ends with this one by a signal of the system, or
//! outlives it; in that case it is executed once its process id is recorded.
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use assembly::{Artefact, Lane, Plan, SchedulingClass};
use deployment::{
    Answer, Incarnation, Instruction, LEASE, LONGEST_LINE, Lines, Target, foreign_lane, is_foreign, line,
    read,
};
use execution::ProcessIdentity;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use ring::digest::{Context, Digest, SHA256, digest};

use crate::control_groups::{ControlGroups, ENTER};
use crate::process_identity::{at_end_of, is_alive, start_time};
use crate::signatures::Signers;

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

/// How processes outlive this program.
pub(crate) struct Outlives {
    /// What the paths of their sockets begin with.
    pub(crate) sockets: PathBuf,
    /// How long component servers go on without a supervisor.
    pub(crate) lease: Option<Duration>,
}

/// The processes that there are.
pub(crate) struct Children<T> {
    all: BTreeMap<Incarnation, Running>,
    /// How processes outlive this program, if they do.
    outlives: Option<Outlives>,
    /// Who has to have signed programs, if that matters.
    signers: Option<Signers>,
    groups: ControlGroups,
    tell: Sender<T>,
    wrap: Arc<dyn Fn(Happening) -> T + Send + Sync>,
}

struct Running {
    process: Process,
    group: Pid,
    /// The list of processes of its control group, if this program has started it in one.
    cgroup: Option<PathBuf>,
    /// When it was started.
    started: u64,
    /// The next program would know of it.
    is_recorded: bool,
    /// A program that is executed when a line comes.
    waits: Option<ChildStdin>,
    /// None of a foreign program, which is told to end by a signal.
    instructions: Option<Sender<Instruction>>,
    /// Why it was ended, if it was by us.
    why: Option<String>,
}

/// A process, as this program knows it.
enum Process {
    Child(Child),
    /// One that another program has started.
    Adopted(OwnedFd),
}

impl<T: Send + 'static> Children<T> {
    /// None yet. What they do is sent to `tell`, as `wrap` makes it. They outlive this program if it is said how, and what they execute is signed if `signers` are named.
    pub(crate) fn new(
        outlives: Option<Outlives>,
        signers: Option<Signers>,
        tell: &Sender<T>,
        wrap: impl Fn(Happening) -> T + Send + Sync + 'static,
    ) -> Self {
        let groups = ControlGroups::default();
        Self { all: BTreeMap::new(), outlives, signers, groups, tell: tell.clone(), wrap: Arc::new(wrap) }
    }

    /// Starts a process of a plan; says its process id.
    ///
    /// # Errors
    /// Why it cannot be started.
    pub(crate) fn start(&mut self, of: Incarnation, process: &str, target: &Target) -> Result<u32, String> {
        let said = target.plan.processes.get(process).cloned().unwrap_or_default();
        let name = said.artefact.as_deref().unwrap_or_default();
        let artefact = target.plan.artefacts.get(name).ok_or("the plan does not say what it executes")?;
        let path = executable(Path::new(&target.file), name, artefact, self.signers.as_ref())?;
        let cgroup = said.cgroup.as_ref().map(|group| self.groups.open(group)).transpose()?;
        let started = self.start_in(cgroup.as_deref(), of, process, target, &said, &path);
        if started.is_err() {
            self.left(cgroup.as_deref());
        } else if let Some(running) = self.all.get_mut(&of) {
            running.cgroup = cgroup;
        }
        started
    }

    /// A process that was, or was to be, in the control group of this list of processes is not there any more.
    fn left(&mut self, cgroup: Option<&Path>) {
        if let Some(processes) = cgroup {
            self.groups.leave(processes);
        }
        self.groups.clean();
    }

    /// Starts a process in a control group, whose list of processes is named.
    fn start_in(
        &mut self,
        group: Option<&Path>,
        of: Incarnation,
        process: &str,
        target: &Target,
        said: &assembly::Process,
        path: &Path,
    ) -> Result<u32, String> {
        if is_foreign(&target.plan, process) {
            let command = foreign(&target.plan, process, said, path, group, self.outlives.is_some());
            let child = spawn(command, path).map_err(|error| {
                if error.1 == io::ErrorKind::NotFound { error.0 + "; install util-linux" } else { error.0 }
            })?;
            return self.started(of, child, None);
        }
        let (ours, theirs) = self.connection(of)?;
        let mut command = match group {
            None => Command::new(path),
            Some(group) => {
                let mut command = Command::new("/bin/sh");
                command.args(["-c", ENTER]).arg(group).arg(path);
                command
            }
        };
        command.arg("--serve").args(&said.arguments).envs(&said.environment);
        if let Some(lease) = self.outlives.as_ref().and_then(|outlives| outlives.lease) {
            command.env(LEASE, lease.as_millis().to_string());
        }
        command.stdin(theirs).process_group(0);
        // The end of the process is seen at the socket only if it is not open here, too: the command ends with the call.
        let child = spawn(command, path).map_err(|error| error.0)?;
        self.started(of, child, Some(ours))
    }

    /// A connection to a process that is to be started, and what is its standard input.
    fn connection(&self, of: Incarnation) -> Result<(UnixStream, OwnedFd), String> {
        let Some(path) = self.socket(of) else {
            let (ours, theirs) = UnixStream::pair().map_err(|error| error.to_string())?;
            return Ok((ours, theirs.into()));
        };
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let listener = UnixListener::bind(&path).map_err(failed)?;
        let ours = UnixStream::connect(&path).map_err(failed)?;
        Ok((ours, listener.into()))
    }

    /// Where a process listens, if it outlives this program.
    fn socket(&self, of: Incarnation) -> Option<PathBuf> {
        let mut path = self.outlives.as_ref()?.sockets.clone().into_os_string();
        path.push(format!("-{}.process", of.0));
        Some(path.into())
    }

    /// Looks after a process from its start on.
    fn started(
        &mut self,
        of: Incarnation,
        mut child: Child,
        ours: Option<UnixStream>,
    ) -> Result<u32, String> {
        let pid = child.id();
        let group = Pid::from_raw(i32::try_from(pid).map_err(|error| error.to_string())?);
        let (wrap, tell) = (Arc::clone(&self.wrap), self.tell.clone());
        let attended = start_time(pid).and_then(|started| {
            let instructions = ours.map(|ours| self.attend(of, ours)).transpose()?;
            at_end(group, move || drop(tell.send(wrap(Happening::Ended(of)))))?;
            Ok((started, instructions))
        });
        match attended {
            Ok((started, instructions)) => {
                let (waits, process) = (child.stdin.take(), Process::Child(child));
                let (cgroup, is_recorded, why) = (None, false, None);
                let running =
                    Running { process, group, cgroup, started, is_recorded, waits, instructions, why };
                self.all.insert(of, running);
                Ok(pid)
            }
            Err(error) => Err(given_up(child, group, &error)),
        }
    }

    /// Looks after a process that another program has started. One that cannot be spoken with is ended.
    ///
    /// # Errors
    /// It cannot be looked after.
    pub(crate) fn adopt(
        &mut self,
        of: Incarnation,
        identity: ProcessIdentity,
        process: OwnedFd,
        is_foreign: bool,
    ) -> Result<(), String> {
        let group = Pid::from_raw(i32::try_from(identity.pid).map_err(|error| error.to_string())?);
        let (wrap, tell) = (Arc::clone(&self.wrap), self.tell.clone());
        let watched = process
            .try_clone()
            .and_then(|watched| at_end_of(watched, move || drop(tell.send(wrap(Happening::Ended(of))))));
        watched.map_err(|error| error.to_string())?;
        let path = self.socket(of).filter(|_| !is_foreign);
        let instructions = path.map(|path| {
            let connected = UnixStream::connect(&path).and_then(|ours| self.attend(of, ours));
            connected.map_err(|error| format!("it cannot be adopted: {}: {error}", path.display()))
        });
        let (instructions, why) = match instructions.transpose() {
            Ok(instructions) => (instructions, None),
            Err(why) => (None, Some(why)),
        };
        let (process, started, waits) = (Process::Adopted(process), identity.started, None);
        let (cgroup, is_recorded) = (None, true);
        let running =
            Running { process, group, cgroup, started, is_recorded, waits, instructions, why: None };
        self.all.insert(of, running);
        if let Some(why) = why {
            self.kill(of, &why);
        }
        Ok(())
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// What tells the processes from all others.
    pub(crate) fn identities(&self) -> Vec<ProcessIdentity> {
        let identity = |(of, running): (&Incarnation, &Running)| {
            let pid = u32::try_from(running.group.as_raw()).unwrap_or_default();
            ProcessIdentity { incarnation: of.0, pid, started: running.started }
        };
        self.all.iter().map(identity).collect()
    }

    /// The next program would know of all processes: those that wait for that are executed.
    pub(crate) fn recorded(&mut self) {
        for running in self.all.values_mut().filter(|running| !running.is_recorded) {
            running.is_recorded = true;
            if let Some(mut waits) = running.waits.take() {
                // One that has ended meanwhile is told of as such.
                let _ = waits.write_all(b"go\n");
            }
        }
    }

    /// Ends the processes that the next program would not know of.
    pub(crate) fn kill_unrecorded(&mut self, why: &str) {
        let unrecorded = self.all.iter().filter(|(_, running)| !running.is_recorded);
        for of in unrecorded.map(|(of, _)| *of).collect::<Vec<_>>() {
            self.kill(of, why);
        }
    }

    /// Threads that hear what a process tells, and tell it what to do.
    fn attend(&self, of: Incarnation, ours: UnixStream) -> io::Result<Sender<Instruction>> {
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
        Ok(instructions)
    }

    /// Tells a process what to do. A process that has ended does not hear it.
    pub(crate) fn send(&self, to: Incarnation, instruction: Instruction) {
        match self.all.get(&to) {
            Some(Running { instructions: Some(instructions), .. }) => drop(instructions.send(instruction)),
            Some(running) if instruction == Instruction::Stop => running.signal(Signal::SIGTERM),
            _ => {}
        }
    }

    /// Kills a process, and all of its group.
    pub(crate) fn kill(&mut self, of: Incarnation, why: &str) {
        if let Some(running) = self.all.get_mut(&of) {
            running.why.get_or_insert_with(|| why.to_owned());
            running.signal(Signal::SIGKILL);
        }
    }

    /// A process has ended: whether that was a failure, and how. What it has started and left is killed.
    pub(crate) fn ended(&mut self, of: Incarnation) -> Option<(bool, String)> {
        let running = self.all.remove(&of)?;
        if running.keeps_its_id() {
            let _ = killpg(running.group, Signal::SIGKILL);
        }
        if let Some(path) = self.socket(of) {
            let _ = std::fs::remove_file(path);
        }
        let (is_failure, how) = match running.process {
            Process::Child(mut child) => match child.wait() {
                Ok(status) => (!status.success(), how(status)),
                Err(error) => (true, error.to_string()),
            },
            Process::Adopted(_) => {
                (true, "how is not known: a node manager before this one started it".to_owned())
            }
        };
        self.left(running.cgroup.as_deref());
        Some((is_failure, running.why.map_or(how.clone(), |why| format!("{why} ({how})"))))
    }
}

impl Running {
    /// Whether the id of the process, which has ended, is not that of another one. An id is free only once no process of its group is left.
    fn keeps_its_id(&self) -> bool {
        let id = u32::try_from(self.group.as_raw()).unwrap_or_default();
        start_time(id).ok().is_none_or(|started| started == self.started)
    }

    /// Sends a signal to the process and all of its group. The id of an adopted process that has ended may be another's.
    fn signal(&self, signal: Signal) {
        let is_ours = match &self.process {
            Process::Child(_) => true,
            Process::Adopted(process) => is_alive(process),
        };
        if is_ours {
            let _ = killpg(self.group, signal);
        }
    }
}

impl<T> Drop for Children<T> {
    /// Nothing is left behind, whatever ends the supervisor, unless it is to be adopted.
    fn drop(&mut self) {
        if self.outlives.is_some() {
            return;
        }
        for running in self.all.values_mut() {
            running.signal(Signal::SIGKILL);
            if let Process::Child(child) = &mut running.process {
                let _ = child.wait();
            }
            if let Some(processes) = &running.cgroup {
                self.groups.leave(processes);
            }
        }
        self.groups.clean();
    }
}

/// Starts a program; the command, with all that it holds open, is gone afterwards. An error names the file.
fn spawn(mut command: Command, path: &Path) -> Result<Child, (String, io::ErrorKind)> {
    command.spawn().map_err(|error| {
        let program = Path::new(command.get_program());
        let what = match program == path {
            true => format!("{}: {error}", path.display()),
            false => format!("{}: {}, which starts it: {error}", path.display(), program.display()),
        };
        (what, error.kind())
    })
}

/// Ends a process that nothing can look after.
fn given_up(mut child: Child, group: Pid, error: &io::Error) -> String {
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
    error.to_string()
}

/// Goes on only if the supervisor, whose process id is the first word, is still the parent: it may have ended before its end was watched.
const IF_WATCHED: &str = "[ \"$PPID\" = \"$0\" ] && exec \"$@\"";

/// Goes on only if a line comes: the supervisor has recorded the process, whose name is the first word.
const IF_RECORDED: &str = "read -r go && exec \"$@\" < /dev/null";

/// The command line of a program that is no component server: it ends with the supervisor unless it outlives that, and has the control group, the priority and the
/// cores that the plan says. Each of these programs executes the next one, so that the process stays the same.
fn foreign(
    plan: &Plan,
    name: &str,
    process: &assembly::Process,
    path: &Path,
    group: Option<&Path>,
    outlives: bool,
) -> Command {
    let lane = foreign_lane(plan, name);
    let mut command = Command::new(if outlives { "/bin/sh" } else { "setpriv" });
    if outlives {
        command.args(["-c", IF_RECORDED, name]).stdin(Stdio::piped());
    } else {
        command.args(["--pdeathsig", "KILL", "--", "/bin/sh", "-c", IF_WATCHED]);
        command.arg(std::process::id().to_string()).stdin(Stdio::null());
    }
    if let Some(group) = group {
        command.args(["/bin/sh", "-c", ENTER]).arg(group);
    }
    let of_lane = lane.map(|lane| lane.cores.as_slice()).filter(|cores| !cores.is_empty());
    let cores: Vec<String> = of_lane.unwrap_or(&process.cores).iter().map(u16::to_string).collect();
    if !cores.is_empty() {
        command.args(["taskset", "--cpu-list", &cores.join(",")]);
    }
    // A thread of the class deadline stays on the cores that it has when it comes into the class.
    command.args(lane.map(class).unwrap_or_default());
    command.arg(path).args(&process.arguments).envs(&process.environment);
    command.process_group(0);
    command
}

/// What executes a program in the class of a lane; nothing for the class normal.
fn class(lane: &Lane) -> Vec<String> {
    let priority = lane.priority.unwrap_or(1).to_string();
    let time = |time: Option<u64>| (time.unwrap_or_default() / 1_000).to_string();
    let words = match lane.class {
        SchedulingClass::Normal => Vec::new(),
        SchedulingClass::Fifo => vec!["chrt", "--fifo", &priority],
        SchedulingClass::RoundRobin => vec!["chrt", "--rr", &priority],
        SchedulingClass::Deadline => {
            let [runtime, period] = [lane.runtime, lane.period].map(time);
            return ["chrt", "--deadline", "--sched-runtime", &runtime]
                .into_iter()
                .chain(["--sched-deadline", &period, "--sched-period", &period, "0"])
                .map(str::to_owned)
                .collect();
        }
    };
    words.into_iter().map(str::to_owned).collect()
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

/// The SHA-256 of some bytes, in hexadecimal digits.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    digits(&digest(&SHA256, bytes))
}

/// That of a file. It is read in pieces: a program may be large.
pub(crate) fn sha256_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let (mut context, mut buffer) = (Context::new(&SHA256), vec![0; 64 << 10]);
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(digits(&context.finish())),
            Ok(count) => context.update(buffer.get(..count).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn digits(digest: &Digest) -> String {
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The file that a process executes: the first place of the artefact that is a file, relative to the plan's folder. It has the digest that the plan
/// says, and a signature if `signers` are named.
pub(crate) fn executable(
    plan: &Path,
    name: &str,
    artefact: &Artefact,
    signers: Option<&Signers>,
) -> Result<PathBuf, String> {
    let folder = plan.parent().unwrap_or(Path::new(""));
    let local = artefact.location.iter().filter(|location| !location.contains("://"));
    let paths: Vec<PathBuf> = local.map(|location| folder.join(location)).collect();
    let Some(path) = paths.iter().find(|path| path.is_file()) else {
        let all: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(format!("artefact {name}: there is no file {}", all.join(" or ")));
    };
    let unread = |error: io::Error| format!("{}: {error}", path.display());
    if let Some(signers) = signers {
        let content = std::fs::read(path).map_err(unread)?;
        signers.check(path, &content).map_err(|what| format!("artefact {name}: {what}"))?;
    }
    if let Some(said) = &artefact.digest {
        let found = sha256_of(path).map_err(unread)?;
        if !said.strip_prefix("sha256:").is_some_and(|said| said.eq_ignore_ascii_case(&found)) {
            return Err(format!(
                "artefact {name}: {} is not what the plan says: its digest is sha256:{found}",
                path.display()
            ));
        }
    }
    std::fs::canonicalize(path).map_err(unread)
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
