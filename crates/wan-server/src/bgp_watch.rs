//! Reads the table of a BGP speaker again and again, by a command that the domain's file names, and tells what has become different.
use std::io::{self, Read};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use wan::{BgpPath, BgpRoute, Config, LeftOut, Prefix, paths_of_routes};

use crate::bgp_table::{question, routes};
use crate::domain_file::BgpSource;

/// Ranges that one run of the command is asked for.
const TOGETHER: usize = 200;
/// Most bytes that one run may say.
const LARGEST: u64 = 64 << 20;
/// Most bytes of its complaints that are kept.
const LONGEST: u64 = 2_000;
/// The command may take so long.
const PATIENCE: Duration = Duration::from_secs(10);
/// From one look whether it has ended to the next.
const PAUSE: Duration = Duration::from_millis(5);

/// What BGP tells, and what of it is no path; or why the table was not read.
pub(crate) type BgpNews = Result<(Vec<BgpPath>, LeftOut), String>;

/// Reads until the manager ends, on a thread of its own. `tell` hears what is different from the last reading, and says whether the manager still is there.
pub(crate) fn run(
    source: BgpSource,
    config: Config,
    tell: impl Fn(BgpNews) -> bool + Send + 'static,
) -> io::Result<()> {
    let own = config.asn;
    let others = config.addresses.iter().filter(|(_, asn)| *asn != own);
    let asked: Vec<Prefix> = others.map(|(prefix, _)| *prefix).collect();
    let work = move || {
        let mut last = None;
        loop {
            let news = read(&source, &asked).map(|routes| paths_of_routes(&config, &routes));
            if last.as_ref() != Some(&news) {
                if !tell(news.clone()) {
                    return;
                }
                last = Some(news);
            }
            thread::sleep(Duration::from_nanos(source.interval));
        }
    };
    thread::Builder::new().name("bgp".to_owned()).spawn(work).map(drop)
}

/// All routes to these ranges.
fn read(source: &BgpSource, asked: &[Prefix]) -> Result<Vec<BgpRoute>, String> {
    let mut found = Vec::new();
    for some in asked.chunks(TOGETHER) {
        let questions: Vec<String> = some.iter().map(|prefix| question(*prefix)).collect();
        let said = ask(&source.command, &questions, PATIENCE)
            .map_err(|what| format!("{}: {what}", source.command.join(" ")))?;
        found.extend(routes(some, &said).map_err(|what| format!("{}: {what}", source.command.join(" ")))?);
    }
    Ok(found)
}

/// A program that was started, which ends with this, and all that it has started in its group.
struct Asked(Child);

impl Drop for Asked {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(Some(_))) {
            return;
        }
        if let Ok(group) = i32::try_from(self.0.id()) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.0.wait();
    }
}

/// What a command says to these questions, if it says so in time.
fn ask(command: &[String], questions: &[String], patience: Duration) -> Result<Vec<u8>, String> {
    let (program, first) = command.split_first().ok_or("it is empty")?;
    let mut run = Command::new(program);
    run.args(first);
    for question in questions {
        run.args(["-c", question]);
    }
    run.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = Asked(run.spawn().map_err(|error| format!("it cannot be started: {error}"))?);
    let ends = Instant::now() + patience;
    let said = reader(child.0.stdout.take(), LARGEST + 1);
    let told = reader(child.0.stderr.take(), LONGEST);
    let late = || format!("it has not ended in {patience:?}");
    let left = || ends.saturating_duration_since(Instant::now());
    let said = said.recv_timeout(left()).map_err(|_| late())?;
    let said = said.map_err(|error| format!("what it says cannot be read: {error}"))?;
    if said.len() as u64 > LARGEST {
        return Err(format!("it says more than {LARGEST} bytes"));
    }
    let status = loop {
        match child.0.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if left().is_zero() => return Err(late()),
            Ok(None) => thread::sleep(PAUSE),
            Err(error) => return Err(format!("it cannot be waited for: {error}")),
        }
    };
    if status.success() {
        return Ok(said);
    }
    // A program that it has left behind may hold the stream open.
    let told = told.recv_timeout(left()).ok().and_then(Result::ok).unwrap_or_default();
    let said = [told, said.into_iter().take(LONGEST as usize).collect()].concat();
    let said = String::from_utf8_lossy(&said);
    let words: Vec<&str> = said.split_whitespace().take(50).collect();
    Err(format!("it has failed ({status}): {}", words.join(" ").escape_debug()))
}

/// Reads a stream to its end or so far, on a thread of its own; what comes after that is read and forgotten.
fn reader(stream: Option<impl Read + Send + 'static>, most: u64) -> Receiver<io::Result<Vec<u8>>> {
    let (tell, told) = channel();
    let work = move || {
        let Some(mut stream) = stream else { return };
        let mut said = Vec::new();
        let read = stream.by_ref().take(most).read_to_end(&mut said);
        // Who does not wait any more has killed the program.
        let _ = tell.send(read.map(|_| said));
        let _ = io::copy(&mut stream, &mut io::sink());
    };
    // Without a thread, no answer comes.
    let _ = thread::Builder::new().name("bgp-said".to_owned()).spawn(work);
    told
}

#[cfg(test)]
mod tests {
    use nix::sys::signal::kill;

    use super::*;

    fn shell(script: &str) -> Result<Vec<u8>, String> {
        ask(
            &["sh", "-c", script, "sh"].map(str::to_owned),
            &["a question".to_owned()],
            Duration::from_secs(60),
        )
    }

    #[test]
    fn a_command_is_asked_with_c_and_heard_only_if_it_succeeds() {
        assert_eq!(shell("printf %s \"$*\""), Ok(b"-c a question".to_vec()));
        let failed = shell("echo half; echo 'no daemon' >&2; exit 3").unwrap_err();
        assert!(failed.contains("status: 3") && failed.contains("no daemon half"), "{failed}");
        let missing = ask(&["/nowhere/vtysh".to_owned()], &[], Duration::from_secs(60)).unwrap_err();
        assert!(missing.contains("cannot be started"), "{missing}");
    }

    #[test]
    fn a_command_that_says_too_much_is_ended() {
        let said = shell("while :; do printf '%65536s' x; done").unwrap_err();
        assert!(said.contains("more than 67108864 bytes"), "{said}");
    }

    /// Whether it has closed its streams or not.
    #[test]
    fn a_command_that_hangs_is_ended() {
        for script in ["sleep 600; true", "exec >&- 2>&-; sleep 600; true"] {
            let command = ["sh", "-c", script].map(str::to_owned);
            let said = ask(&command, &[], Duration::from_millis(300)).unwrap_err();
            assert_eq!(said, "it has not ended in 300ms");
        }
    }

    /// It says all, and something that it has started goes on.
    #[test]
    fn what_a_command_leaves_behind_holds_up_nothing() {
        let said = shell("sleep 600 >/dev/null 2>&1 & echo $!").unwrap();
        let left: i32 = String::from_utf8(said).unwrap().trim().parse().unwrap();
        // It still is there.
        kill(Pid::from_raw(left), Signal::SIGKILL).unwrap();
    }
}
