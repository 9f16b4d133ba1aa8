//! A folder for a test, with its own place for control sockets, and the commands in it.
use std::io::{BufRead, BufReader, PipeReader, PipeWriter};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill as send};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

/// How long an event is waited for: on a busy machine it comes much sooner.
const LIMIT: Duration = Duration::from_secs(120);
/// Lines that a supervisor and its processes print at most: a line that is not among so many does not come.
const MOST_LINES: usize = 50_000;

pub(crate) struct Place {
    folder: PathBuf,
}

/// A supervisor that runs.
pub(crate) struct Supervisor {
    child: Child,
    /// What the supervisor and its processes print, on both outputs. The channel ends once all of them have.
    lines: Receiver<String>,
    seen: Vec<String>,
    /// Told when the supervisor has ended.
    end: Receiver<()>,
}

impl Place {
    pub(crate) fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("punctual-launch-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let place = Self { folder };
        place.has("tracker.json", include_str!("../../examples/tracker.json"));
        place
    }

    /// An example of this package, which cargo has built with its tests.
    pub(crate) fn example(name: &str) -> String {
        let test = std::env::current_exe().unwrap();
        let path = test.parent().and_then(Path::parent).unwrap().join("examples").join(name);
        assert!(
            path.is_file(),
            "{} is not there: cargo build --package punctual-deploy --examples",
            path.display()
        );
        path.to_str().unwrap().to_owned()
    }

    /// The plan of the example, with its program; the display prints positions.
    pub(crate) fn plan() -> String {
        let plan = include_str!("../../examples/tracker.toml");
        plan.replace("../../../target/debug/examples/tracker", &Self::example("tracker"))
            .replace("file = \"\"", "file = \"/dev/stdout\"")
    }

    pub(crate) fn has(&self, name: &str, text: &str) {
        std::fs::write(self.folder.join(name), text).unwrap();
    }

    /// A file of this place.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Starts a command whose processes are of this place.
    pub(crate) fn start(&self, mut command: Command) -> Supervisor {
        command.env("XDG_RUNTIME_DIR", &self.folder).stdin(Stdio::null());
        Supervisor::start(command)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(Self::example("deploy"));
        for word in line.split(' ') {
            match word.strip_prefix('{') {
                Some(name) => command.arg(self.folder.join(name.trim_end_matches('}'))),
                None => command.arg(word),
            };
        }
        command.env("XDG_RUNTIME_DIR", &self.folder).stdin(Stdio::null());
        command
    }

    /// Starts a command, and goes on while it runs.
    pub(crate) fn begin(&self, line: &str) -> Supervisor {
        Supervisor::start(self.command(line))
    }

    /// Starts a command here and one in another place, whose lines come in one order.
    pub(crate) fn begin_with(&self, line: &str, other: &Self, its: &str) -> (Supervisor, Supervisor) {
        Supervisor::two(self.command(line), other.command(its))
    }

    /// The exit code, what was printed, and what was told.
    pub(crate) fn deploy(&self, line: &str) -> (i32, String, String) {
        let mut command = self.command(line);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (tell, ended) = channel();
        thread::spawn(move || tell.send(child.wait_with_output()));
        // Its processes are killed with the folder.
        let output = ended.recv_timeout(LIMIT).unwrap_or_else(|_| panic!("{line} does not end")).unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }

    pub(crate) fn ok(&self, line: &str) -> String {
        let (code, out, told) = self.deploy(line);
        assert_eq!(code, 0, "{line}: {out}{told}");
        out
    }

    /// Launches a plan, and returns once it is.
    pub(crate) fn launch(&self, plan: &str) -> Supervisor {
        self.launched(&format!("launch {{{plan}}}"))
    }

    /// Starts a command that goes on.
    pub(crate) fn started(&self, line: &str) -> Supervisor {
        Supervisor::start(self.command(line))
    }

    pub(crate) fn launched(&self, line: &str) -> Supervisor {
        self.launched_with(line, 2)
    }

    /// Launches a plan of so many processes.
    pub(crate) fn launched_with(&self, line: &str, processes: usize) -> Supervisor {
        let mut supervisor = self.started(line);
        supervisor.prints(&format!("launched: {processes} processes; control socket "));
        supervisor
    }

    /// Process ids, as the status tells.
    pub(crate) fn pids(&self) -> Vec<u32> {
        let status = self.deploy("status tracker").1;
        let pids = status.lines().filter_map(|line| line.split(", pid ").nth(1));
        pids.map(|pid| pid.split(',').next().unwrap().parse().unwrap()).collect()
    }

    pub(crate) fn pid_of(&self, process: &str) -> u32 {
        let status = self.deploy("status tracker").1;
        let line = status.lines().find(|line| line.contains(&format!("process {process}: "))).unwrap();
        line.split(", pid ").nth(1).unwrap().split(',').next().unwrap().parse().unwrap()
    }

    /// How many events a component has taken.
    pub(crate) fn taken(&self, component: &str) -> usize {
        let status = self.ok("status tracker");
        let line = status.lines().find(|line| line.contains(&format!(" {component} ("))).unwrap();
        line.split("; ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap()
    }

    /// All processes that this test has started and that are still there.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let mine = format!("XDG_RUNTIME_DIR={}", self.folder.display());
        let all = std::fs::read_dir("/proc").unwrap();
        let pids = all.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(|pid| {
            let variables = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            variables.split(|byte| *byte == 0).any(|variable| variable == mine.as_bytes())
        })
        .collect()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.join("punctual-deploy").join("tracker.sock")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for pid in self.processes() {
            kill(pid);
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Supervisor {
    fn start(command: Command) -> Self {
        // One pipe for both outputs, so that lines of the supervisor and of its processes stay in order.
        let (reader, writer) = std::io::pipe().unwrap();
        Self::printing(command, writer, Some(reader))
    }

    /// Two that print to one pipe, so that lines of both stay in order: the first one has all of them.
    fn two(first: Command, second: Command) -> (Self, Self) {
        let (reader, writer) = std::io::pipe().unwrap();
        let second = Self::printing(second, writer.try_clone().unwrap(), None);
        (Self::printing(first, writer, Some(reader)), second)
    }

    fn printing(mut command: Command, writer: PipeWriter, reader: Option<PipeReader>) -> Self {
        let child = command.stdout(writer.try_clone().unwrap()).stderr(writer).spawn().unwrap();
        // The processes alone keep the pipe open.
        drop(command);
        let (tell, lines) = channel();
        thread::spawn(move || {
            let lines = reader.into_iter().flat_map(|reader| BufReader::new(reader).lines());
            lines.map_while(Result::ok).try_for_each(|line| tell.send(line))
        });
        let pid = Pid::from_raw(child.id() as i32);
        let (tell, end) = channel();
        thread::spawn(move || {
            // It stays to be asked how it ended, so its id is not another's meanwhile.
            let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
            while let Err(Errno::EINTR) = waitid(Id::Pid(pid), flags) {}
            tell.send(())
        });
        Self { child, lines, seen: Vec::new(), end }
    }

    /// As Ctrl-C.
    pub(crate) fn interrupt(&self) {
        send(Pid::from_raw(self.child.id() as i32), Signal::SIGINT).unwrap();
    }

    /// As other managers stop a process.
    pub(crate) fn terminate(&self) {
        send(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM).unwrap();
    }

    /// What was printed last, for reports of tests that fail.
    pub(crate) fn last_lines(&self) -> &[String] {
        &self.seen[self.seen.len().saturating_sub(30)..]
    }

    /// The next line; `None` once the supervisor and all of its processes have ended.
    fn next_line(&mut self, wanted: &str) -> Option<String> {
        assert!(
            self.seen.len() < MOST_LINES,
            "{wanted}: not among so many lines, the last {:#?}",
            self.last_lines()
        );
        match self.lines.recv_timeout(LIMIT) {
            Ok(line) => {
                self.seen.push(line.clone());
                Some(line)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("{wanted}: nothing more comes after {:#?}", self.last_lines())
            }
        }
    }

    /// Waits until the supervisor, or a process of it, prints a line that begins so. Lines before it are passed over.
    pub(crate) fn prints(&mut self, beginning: &str) {
        self.prints_line(beginning, |line| line.starts_with(beginning));
    }

    /// Waits until a line is printed that has this part.
    pub(crate) fn prints_with(&mut self, part: &str) {
        self.prints_line(part, |line| line.contains(part));
    }

    /// Waits until a line is printed that is as wanted.
    pub(crate) fn prints_line(&mut self, wanted: &str, is_wanted: impl Fn(&str) -> bool) -> String {
        loop {
            match self.next_line(wanted) {
                Some(line) if is_wanted(&line) => return line,
                Some(_) => {}
                None => panic!("all have ended, and no line has {wanted:?}: {:#?}", self.last_lines()),
            }
        }
    }

    /// The next position that the display prints: which one it is, and where.
    pub(crate) fn position(&mut self) -> (usize, String) {
        loop {
            let line = self.next_line("a position").expect("the display runs");
            if let Some((count, position)) = line.split_once(' ')
                && let Ok(count) = count.parse()
            {
                return (count, position.to_owned());
            }
        }
    }

    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn ended(&mut self) -> ExitStatus {
        self.end.recv_timeout(LIMIT).expect("the supervisor ends");
        self.child.wait().unwrap()
    }

    /// Waits until the supervisor and all of its processes have ended.
    pub(crate) fn all_gone(&mut self) {
        while self.next_line("the end of all processes").is_some() {}
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Kills a process of a test.
pub(crate) fn kill(pid: u32) {
    let _ = send(Pid::from_raw(pid as i32), Signal::SIGKILL);
}
