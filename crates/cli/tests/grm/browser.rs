//! Chromium without a window, on a host of a lab: a page is opened, looked at, and used. It speaks the protocol of its own developer tools over pipes.
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use lab_turn::Folder;
use serde_json::{Value, json};

use crate::ward::Ward;

/// The longest that an answer may take.
const ANSWER: Duration = Duration::from_secs(60);

/// A browser with one page.
pub(crate) struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    next: u64,
    session: Option<String>,
    events: Vec<Value>,
    _folder: Folder,
}

impl Browser {
    /// On the host `manager`; none if there is no Chromium, which is said.
    pub(crate) fn new(ward: &Ward) -> Option<Self> {
        Self::told(ward, "")
    }

    /// The same, which takes any certificate of the page: it knows no authority of a ward.
    pub(crate) fn trusting(ward: &Ward) -> Option<Self> {
        Self::told(ward, " --ignore-certificate-errors")
    }

    fn told(ward: &Ward, more: &str) -> Option<Self> {
        let is_there = |name: &&str| {
            let said = Command::new(name).arg("--version").output();
            said.is_ok_and(|said| said.status.success())
        };
        let Some(name) = ["chromium", "chromium-headless-shell", "google-chrome"].into_iter().find(is_there)
        else {
            eprintln!("passed over: there is no Chromium");
            return None;
        };
        let folder = Folder::new();
        let pipes = ["to", "from"].map(|name| folder.0.join(name));
        assert!(Command::new("mkfifo").args(&pipes).status().unwrap().success());
        let mut command = ward.lab.command("manager", "timeout").unwrap();
        command.args(["--kill-after=5", "240", "sh", "-c"]);
        let options = "--headless --no-sandbox --disable-gpu --hide-scrollbars --remote-debugging-pipe";
        command.arg(format!(
            "exec {name} {options}{more} --user-data-dir=\"$1/profile\" 3<\"$1/to\" 4>\"$1/from\""
        ));
        command.arg("sh").arg(&folder.0).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        // Both ends, so that neither waits for the other one to open it.
        let open = |path| File::options().read(true).write(true).open(path).unwrap();
        let (to, mut answers) = (open(&pipes[0]), open(&pipes[1]));
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let (mut text, mut part) = (Vec::new(), vec![0; 1 << 16]);
            while let Ok(read @ 1..) = answers.read(&mut part) {
                text.extend_from_slice(&part[..read]);
                while let Some(end) = text.iter().position(|byte| *byte == 0) {
                    let message: Vec<u8> = text.drain(..=end).collect();
                    let Ok(message) = serde_json::from_slice(&message[..end]) else { return };
                    if sender.send(message).is_err() {
                        return;
                    }
                }
            }
        });
        Some(Self { child, to, from, next: 0, session: None, events: Vec::new(), _folder: folder })
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let mut message = json!({"id": self.next, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let answer = self.from.recv_timeout(ANSWER).unwrap_or_else(|_| panic!("no answer to {message}"));
            if answer["id"] == self.next {
                assert!(answer["error"].is_null(), "{message}: {answer}");
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    /// Opens a page.
    pub(crate) fn open(&mut self, url: &str) {
        let target = self.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let attached = self.call("Target.attachToTarget", target);
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Runtime.enable", "Log.enable", "Page.enable"] {
            self.call(domain, json!({}));
        }
        self.call("Page.navigate", json!({"url": url}));
    }

    /// What an expression is in the page.
    pub(crate) fn eval(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until a person reads this on the page.
    pub(crate) fn await_text(&mut self, text: &str) {
        let began = Instant::now();
        loop {
            let page = self.eval("document.body ? document.body.innerText : ''");
            let page = page.as_str().unwrap_or_default();
            if page.contains(text) {
                return;
            }
            assert!(began.elapsed() < ANSWER, "{text:?} is not on the page:\n{page}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Looks at the page with another width, in pixels, in light or dark colours.
    pub(crate) fn look(&mut self, width: u32, dark: bool) {
        let screen = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 700});
        self.call("Emulation.setDeviceMetricsOverride", screen);
        let scheme = json!({"name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" }});
        self.call("Emulation.setEmulatedMedia", json!({"features": [scheme]}));
    }

    /// A picture of the whole page (PNG, base64).
    pub(crate) fn picture(&mut self) -> String {
        let picture = self.call("Page.captureScreenshot", json!({"captureBeyondViewport": true}));
        picture["data"].as_str().unwrap().to_owned()
    }

    /// What the browser has complained about: exceptions, what the page's policy forbids, what does not load.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        let is_complaint = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown" | "Runtime.consoleAPICalled") => true,
            Some("Log.entryAdded") => event["params"]["entry"]["level"] != "verbose",
            _ => false,
        };
        self.events.iter().filter(is_complaint).map(Value::to_string).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its other processes end with it.
        let _ = self.to.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(10) {
            if matches!(self.child.try_wait(), Ok(Some(_))) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        // It ends all of them, by force if it has to.
        let timeout = nix::unistd::Pid::from_raw(i32::try_from(self.child.id()).unwrap());
        let _ = nix::sys::signal::kill(timeout, nix::sys::signal::Signal::SIGTERM);
        let _ = self.child.wait();
    }
}
