//! The connection to the agent of a switch's gates: requests go out in order, answers come back in order.
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use gate::protocol::{Answer, Request};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

/// The longest wait for a connection, and for an answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// The wait before the next try to connect.
const PAUSE: Duration = Duration::from_millis(500);
/// The most octets of an answer: a list of all contracts.
const LONGEST_ANSWER: u64 = 4 << 20;

/// What an agent tells the daemon; the switch is named by its datapath id.
#[derive(Debug)]
pub(crate) enum GateHeard {
    /// The agent can be reached.
    Up { switch: u64 },
    /// It cannot be reached any more; what was asked and not answered has failed.
    Down { switch: u64, why: String },
    /// What has become of a request.
    Done { switch: u64, token: u64, answer: Result<Answer, String> },
}

/// Where requests for one agent go.
#[derive(Debug)]
pub(crate) struct Agent {
    requests: UnboundedSender<(u64, Request)>,
}

impl Agent {
    /// Connects, and connects again when that ends, as long as this lives.
    pub(crate) fn new(switch: u64, address: SocketAddr, told: Sender<GateHeard>) -> Self {
        let (requests, wanted) = unbounded_channel();
        tokio::spawn(serve(switch, address, wanted, told));
        Self { requests }
    }

    /// Sends a request; [`GateHeard::Done`] with the token says what came of it, always.
    pub(crate) fn ask(&self, token: u64, request: Request) {
        // The task ends when this is dropped, not before.
        let _ = self.requests.send((token, request));
    }
}

async fn serve(
    switch: u64,
    address: SocketAddr,
    mut wanted: UnboundedReceiver<(u64, Request)>,
    told: Sender<GateHeard>,
) {
    loop {
        let connected = timeout(PATIENCE, TcpStream::connect(address)).await;
        let why = match connected {
            Ok(Ok(stream)) => {
                if told.send(GateHeard::Up { switch }).await.is_err() {
                    return;
                }
                let Some(why) = talk(switch, stream, &mut wanted, &told).await else { return };
                if told.send(GateHeard::Down { switch, why: why.clone() }).await.is_err() {
                    return;
                }
                why
            }
            Ok(Err(error)) => format!("{address}: {error}"),
            Err(_) => format!("{address}: no connection in {} s", PATIENCE.as_secs()),
        };
        // What is wanted meanwhile fails at once: whoever asks must not wait for an agent that is not there.
        let again = tokio::time::sleep(PAUSE);
        tokio::pin!(again);
        loop {
            tokio::select! {
                () = &mut again => break,
                request = wanted.recv() => {
                    let Some((token, _)) = request else { return };
                    let answer = Err(format!("the agent of the gates cannot be reached: {why}"));
                    if told.send(GateHeard::Done { switch, token, answer }).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

/// Speaks with an agent until the connection ends; why it did, or nothing if nobody listens to us any more.
async fn talk(
    switch: u64,
    stream: TcpStream,
    wanted: &mut UnboundedReceiver<(u64, Request)>,
    told: &Sender<GateHeard>,
) -> Option<String> {
    let (from, mut to) = stream.into_split();
    let mut from = BufReader::new(from);
    let mut asked: VecDeque<u64> = VecDeque::new();
    let why = loop {
        // One request at a time is under way, so that an answer cannot be taken for another's, and a lost one is noticed in time.
        let (token, request) = tokio::select! {
            request = wanted.recv() => request?,
            ended = from.fill_buf() => {
                break match ended {
                    Ok([]) => "the agent closed the connection".to_owned(),
                    Ok(_) => "the agent said something that nobody asked for".to_owned(),
                    Err(error) => error.to_string(),
                };
            }
        };
        asked.push_back(token);
        match timeout(PATIENCE, exchange(&mut from, &mut to, &request)).await {
            Ok(Ok(answer)) => {
                asked.pop_front();
                told.send(GateHeard::Done { switch, token, answer: Ok(answer) }).await.ok()?;
            }
            Ok(Err(why)) => break why,
            Err(_) => break format!("no answer in {} s", PATIENCE.as_secs()),
        }
    };
    for token in asked {
        let answer = Err(format!("nobody knows what the gate has: {why}"));
        told.send(GateHeard::Done { switch, token, answer }).await.ok()?;
    }
    Some(why)
}

async fn exchange(
    from: &mut BufReader<OwnedReadHalf>,
    to: &mut OwnedWriteHalf,
    request: &Request,
) -> Result<Answer, String> {
    let mut line = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    line.push(b'\n');
    to.write_all(&line).await.map_err(|error| error.to_string())?;
    line.clear();
    let read = from.take(LONGEST_ANSWER).read_until(b'\n', &mut line).await;
    match read {
        Ok(_) if line.ends_with(b"\n") => {
            serde_json::from_slice(&line).map_err(|error| format!("the agent's answer cannot be read: {error}"))
        }
        Ok(_) => Err("the agent's answer did not come whole".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
