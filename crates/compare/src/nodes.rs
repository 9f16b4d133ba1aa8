//! Nodes of the stage: a network namespace for each, which a link joins to a bridge.
use std::cell::RefCell;
use std::fs::File;
use std::io::Write as _;
use std::marker::PhantomData;
use std::process::{Command, Stdio};
use std::thread;

use nix::sched::{CloneFlags, unshare};
use nix::unistd::gettid;

use crate::process::Why;
use crate::protocol::shown;
use crate::stage::Stage;

/// What each link carries, in both directions, and the bytes that wait for it at most.
const RATE: &str = "rate 10mbit burst 16kb limit 1000000";

/// One packet of IP in a hundred that comes to a node is lost, at random.
const LOSSY: &str = "table netdev loss {
    chain arriving {
        type filter hook ingress device \"eth0\" priority 0; policy accept;
        meta protocol ip numgen random mod 100 == 0 drop
    }
}";

/// The bridge. Nodes, their links and the bridge go with this.
#[derive(Debug)]
pub(crate) struct Nodes<'s> {
    made: RefCell<Vec<usize>>,
    /// Keeps the nodes there when the programs on them have ended.
    namespaces: RefCell<Vec<File>>,
    is_lossy: bool,
    _stage: PhantomData<&'s Stage>,
}

impl<'s> Nodes<'s> {
    /// Makes the bridge. Nodes lose one datagram in a hundred of what comes to them if that is wanted.
    ///
    /// # Errors
    /// In words: what the system refused.
    pub(crate) fn new(_: &'s Stage, is_lossy: bool) -> Result<Self, String> {
        ip("link add br0 type bridge mcast_snooping 0\nlink set br0 up")?;
        Ok(Self { made: RefCell::default(), namespaces: RefCell::default(), is_lossy, _stage: PhantomData })
    }

    /// Makes a node, whose address is 10.77.0.1 for the first one, and starts something on it.
    ///
    /// # Errors
    /// The node cannot be made, or what is started says so.
    pub(crate) fn on<T: Send>(
        &self,
        node: usize,
        start: impl FnOnce() -> Result<T, Why> + Send,
    ) -> Result<T, Why> {
        let stage = gettid();
        let is_lossy = self.is_lossy;
        self.made.borrow_mut().push(node);
        let (made, namespace) = thread::scope(|scope| {
            let on_node = || {
                unshare(CloneFlags::CLONE_NEWNET).map_err(|error| Why::Failed(format!("a node: {error}")))?;
                let namespace = File::open("/proc/thread-self/ns/net")
                    .map_err(|error| Why::Failed(format!("a node: {error}")))?;
                let link = format!(
                    "link add eth0 type veth peer name n{node} netns {stage}\nlink set lo up\nlink set eth0 up\n\
                     address add 10.77.0.{}/24 dev eth0\nroute add 224.0.0.0/4 dev eth0",
                    node + 1
                );
                ip(&link).and_then(|()| shape("eth0")).map_err(Why::Failed)?;
                if is_lossy {
                    run("nft", "nftables", &["-f", "-"], LOSSY).map_err(Why::Failed)?;
                }
                Ok((start()?, namespace))
            };
            scope.spawn(on_node).join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })?;
        self.namespaces.borrow_mut().push(namespace);
        ip(&format!("link set n{node} master br0\nlink set n{node} up"))
            .and_then(|()| shape(&format!("n{node}")))
            .map_err(Why::Failed)?;
        Ok(made)
    }

    /// Bytes that the first node has sent.
    ///
    /// # Errors
    /// In words: what the system refused.
    pub(crate) fn sent_by_first(&self) -> Result<u64, String> {
        let output = Command::new("ip")
            .args(["-s", "-j", "link", "show", "dev", "n0"])
            .output()
            .map_err(|error| format!("ip: {error}"))?;
        let links: serde_json::Value =
            serde_json::from_slice(&output.stdout).map_err(|error| format!("ip: {error}"))?;
        let bytes = links.pointer("/0/stats64/rx/bytes").and_then(serde_json::Value::as_u64);
        bytes.ok_or_else(|| "ip does not say how much a link carried".to_owned())
    }
}

impl Drop for Nodes<'_> {
    fn drop(&mut self) {
        // The system takes its time with a namespace that is left, and the next node may have its name.
        for node in self.made.borrow().iter() {
            let _ = ip(&format!("link del n{node}"));
        }
        let _ = ip("link del br0");
    }
}

/// Gives a link its rate.
fn shape(link: &str) -> Result<(), String> {
    let words = format!("qdisc add dev {link} root tbf {RATE}");
    run("tc", "iproute2", &words.split(' ').collect::<Vec<_>>(), "")
}

/// Commands of `ip`, one a line.
fn ip(lines: &str) -> Result<(), String> {
    run("ip", "iproute2", &["-batch", "-"], lines)
}

fn run(program: &str, package: &str, words: &[&str], input: &str) -> Result<(), String> {
    let said = |error: std::io::Error| format!("{program}: {error}; install {package}");
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(said)?;
    if let Some(mut pipe) = child.stdin.take() {
        let _ = pipe.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(said)?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program} {}: {}", words.join(" "), shown(&String::from_utf8_lossy(&output.stderr))))
}
