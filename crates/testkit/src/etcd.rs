//! A member of etcd, alone, for tests: its program, with its data in a folder of its own. All of it goes with it.
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Keys and values as the JSON interface has them.
pub fn encoded(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}

static COUNT: AtomicU32 = AtomicU32::new(0);

/// How long etcd may take to answer a question of a test. It is waited for as long only where etcd hangs.
const ANSWER: Duration = Duration::from_secs(60);

/// A running etcd, or one that is stopped and may run again.
#[derive(Debug)]
pub struct Etcd {
    child: Option<Child>,
    folder: PathBuf,
    arguments: Vec<String>,
    /// The port for clients, of 127.0.0.1.
    pub port: u16,
}

/// Whether the program is there; if not, it is said, and in continuous integration it must be there.
///
/// # Panics
/// It is not there in continuous integration.
pub fn is_there() -> bool {
    let found = Command::new("etcd").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is = found.is_ok_and(|status| status.success());
    if !is {
        assert!(std::env::var_os("CI").is_none(), "etcd is missing: install the package etcd-server");
        eprintln!("passed over: etcd is missing: install the package etcd-server");
    }
    is
}

impl Etcd {
    /// Starts one with these arguments besides, in the calling thread's network namespace, where 127.0.0.1 has to be up.
    pub fn start(port: u16, arguments: &[&str]) -> Self {
        let mut etcd = Self::prepared(port, arguments);
        etcd.run(Command::new("etcd"));
        etcd
    }

    /// One that does not run yet: [`Self::run`].
    ///
    /// # Panics
    /// No folder can be made for it.
    pub fn prepared(port: u16, arguments: &[&str]) -> Self {
        let name = format!("punctual-etcd-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Self { child: None, folder, arguments, port }
    }

    /// The folder with its data, which exists.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The address as clients take it.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Runs the program by this command, and waits until it serves.
    ///
    /// # Panics
    /// It does not within a minute.
    pub fn run(&mut self, mut command: Command) {
        let log = self.folder.join("log");
        let own = |what: &str| self.arguments.iter().any(|argument| argument.contains(what));
        command.arg("--data-dir").arg(self.folder.join("data"));
        let url = self.url();
        if !own("--listen-client-urls") {
            command.args(["--listen-client-urls", &url, "--advertise-client-urls", &url]);
        }
        command.args(["--listen-peer-urls", &format!("http://127.0.0.1:{}", self.port + 1)]);
        command.args(&self.arguments).stdout(Stdio::null()).stderr(File::create(&log).unwrap());
        self.child = Some(command.spawn().unwrap());
        let began = Instant::now();
        let said = || std::fs::read_to_string(&log).unwrap_or_default();
        while !["ready to serve", "serving client", "serving insecure client"]
            .iter()
            .any(|line| said().contains(line))
        {
            assert!(began.elapsed() < Duration::from_secs(60), "etcd does not serve: {}", said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The answer of its JSON interface to a question from the calling thread's network namespace: head and body; `None` if it is gone.
    pub fn ask(&self, path: &str, body: &str) -> Option<String> {
        let head = "HTTP/1.1\r\nHost: etcd\r\nConnection: close\r\nContent-Length:";
        self.say(&format!("POST {path} {head} {}\r\n\r\n{body}", body.len()))
    }

    /// How many renewals of leases it has taken since its start, asked in the same way.
    pub fn renewals(&self) -> Option<u64> {
        // An answer of HTTP/1.0 is not cut into chunks.
        let answer = self.say("GET /metrics HTTP/1.0\r\n\r\n")?;
        let lines = answer.lines();
        lines
            .filter_map(|line| line.strip_prefix("etcd_debugging_lease_renewed_total ")?.trim().parse().ok())
            .next()
    }

    fn say(&self, question: &str) -> Option<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_read_timeout(Some(ANSWER)).ok()?;
        stream.write_all(question.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer).filter(|answer| !answer.is_empty())
    }

    /// Gives a key a value, in the same way; false if it is not taken.
    pub fn put(&self, key: &str, value: impl AsRef<[u8]>) -> bool {
        let body = format!("{{\"key\":\"{}\",\"value\":\"{}\"}}", encoded(key), encoded(value));
        self.ask("/v3/kv/put", &body).is_some_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }

    /// The value of a key that has one and is text.
    pub fn get(&self, key: &str) -> Option<String> {
        let answer = self.ask("/v3/kv/range", &format!("{{\"key\":\"{}\"}}", encoded(key)))?;
        let (_, value) = answer.split_once("\"value\":\"")?;
        String::from_utf8(STANDARD.decode(value.split('"').next()?).ok()?).ok()
    }

    /// Deletes a key; false if that is not done.
    pub fn delete(&self, key: &str) -> bool {
        let answer = self.ask("/v3/kv/deleterange", &format!("{{\"key\":\"{}\"}}", encoded(key)));
        answer.is_some_and(|answer| answer.starts_with("HTTP/1.1 200"))
    }

    /// Kills it; its data stay.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Its process, while it runs.
    pub fn process(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        self.kill();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
