//! A folder for a test, with its own place for control sockets, and the commands in it.
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill as send};
use nix::unistd::Pid;

/// Long enough for a busy machine: what is waited for comes much sooner.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Place {
    folder: PathBuf,
}

/// A supervisor that runs.
pub(crate) struct Supervisor(Child, BufReader<ChildStdout>);

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

    /// The plan of the example, with its program, and with a file for what is shown.
    pub(crate) fn plan(&self) -> String {
        let plan = include_str!("../../examples/tracker.toml");
        let shown = self.folder.join("shown");
        plan.replace("../../../target/debug/examples/tracker", &Self::example("tracker"))
            .replace("file = \"\"", &format!("file = {shown:?}"))
    }

    pub(crate) fn has(&self, name: &str, text: &str) {
        std::fs::write(self.folder.join(name), text).unwrap();
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

    /// The exit code, what was printed, and what was told.
    pub(crate) fn deploy(&self, line: &str) -> (i32, String, String) {
        let output = self.command(line).output().unwrap();
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

    pub(crate) fn launched(&self, line: &str) -> Supervisor {
        let mut child = self.command(line).stdout(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        let mut supervisor = Supervisor(child, out);
        supervisor.prints("launched: 2 processes; control socket ");
        supervisor
    }

    /// What the display has written.
    pub(crate) fn shown(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.join("shown")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(crate) fn shown_more_than(&self, count: usize) {
        self.until("more positions", || self.shown().len() > count);
    }

    pub(crate) fn until(&self, what: &str, is_so: impl Fn() -> bool) {
        let end = Instant::now() + PATIENCE;
        while !is_so() {
            assert!(Instant::now() < end, "{what}: {} {:?}", self.deploy("status").1, self.shown().last());
            sleep(Duration::from_millis(20));
        }
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

    pub(crate) fn all_gone(&self, pids: &[u32]) {
        self.until("processes that end", || pids.iter().all(|pid| !self.processes().contains(pid)));
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
    fn pid(&self) -> Pid {
        Pid::from_raw(self.0.id() as i32)
    }

    /// As Ctrl-C.
    pub(crate) fn interrupt(&self) {
        send(self.pid(), Signal::SIGINT).unwrap();
    }

    /// Waits until it, or a process of it, prints a line that begins so.
    pub(crate) fn prints(&mut self, beginning: &str) {
        let mut line = String::new();
        while !line.starts_with(beginning) {
            line.clear();
            assert!(self.1.read_line(&mut line).unwrap() > 0, "no line begins with {beginning:?}");
        }
    }

    pub(crate) fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    pub(crate) fn ended(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.0.try_wait().unwrap() {
                return status;
            }
            assert!(Instant::now() < end, "the supervisor does not end");
            sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Kills a process of a test.
pub(crate) fn kill(pid: u32) {
    let _ = send(Pid::from_raw(pid as i32), Signal::SIGKILL);
}
