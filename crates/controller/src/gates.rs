//! The connection to the agent of a switch's gates: requests go out in order, answers come back in order. An agent of another version
//! is not used.
use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use connections::{From, To};
use gate::protocol::{Answer, Request, check_version};
use keys::{Identity, Role};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::mpsc::{Sender, UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::timeout;

/// The longest wait for a connection, and for an answer.
const PATIENCE: Duration = Duration::from_secs(3);
/// The wait before the next try to connect; twice as long each time that a connection ends soon, up to the longest.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// A connection that has held for so long was good.
const GOOD: Duration = Duration::from_secs(10);
/// The most bytes of an answer: a list of all contracts.
const LONGEST_ANSWER: u64 = 4 << 20;

/// What an agent tells the daemon; the switch is named by its datapath id.
#[derive(Debug)]
pub(crate) enum GateHeard {
    /// The agent can be reached.
    Up { switch: u64 },
    /// It cannot be reached any more; what was asked and not answered has failed.
    Down { switch: u64, why: String },
    /// What has become of a request.
    Done { token: u64, answer: Result<Answer, String> },
}

/// What the task of an agent is told.
#[derive(Debug)]
enum Order {
    /// To be asked, and by which token the answer is known.
    Ask(u64, Request),
    /// The connection is to be given up for another one.
    ConnectAgain,
}

/// Where requests for one agent go.
#[derive(Debug)]
pub(crate) struct Agent {
    orders: UnboundedSender<Order>,
}

impl Agent {
    /// Connects as the manager of an epoch, and connects again when that ends, as long as this lives. With keys, both ends show who they are.
    pub(crate) fn new(
        switch: u64,
        address: SocketAddr,
        epoch: u64,
        keys: Option<Identity>,
        told: Sender<GateHeard>,
    ) -> Self {
        let (orders, wanted) = unbounded_channel();
        tokio::spawn(serve(switch, (address, epoch), keys, wanted, told));
        Self { orders }
    }

    /// Sends a request; [`GateHeard::Done`] with the token says what came of it, always.
    pub(crate) fn ask(&self, token: u64, request: Request) {
        // The task ends when this is dropped, not before.
        let _ = self.orders.send(Order::Ask(token, request));
    }

    /// Gives the connection up, if there is one, and makes another: it is told like one that has ended by itself.
    pub(crate) fn connect_again(&self) {
        let _ = self.orders.send(Order::ConnectAgain);
    }
}

async fn serve(
    switch: u64,
    (address, epoch): (SocketAddr, u64),
    keys: Option<Identity>,
    mut wanted: UnboundedReceiver<Order>,
    told: Sender<GateHeard>,
) {
    let mut told_before = None;
    let mut pause = PAUSE;
    loop {
        let connected = timeout(PATIENCE, connect(address, keys.as_ref(), switch)).await;
        let why = match connected {
            Ok(Ok((from, to))) => match greet(from, to, epoch).await {
                Ok((from, to)) => {
                    if told.send(GateHeard::Up { switch }).await.is_err() {
                        return;
                    }
                    let began = Instant::now();
                    let Some(why) = talk(from, to, &mut wanted, &told).await else { return };
                    pause = if began.elapsed() >= GOOD { PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
                    told_before = None;
                    why
                }
                Err(why) => why,
            },
            Ok(Err(error)) => format!("{address}: {error}"),
            Err(_) => format!("{address}: no connection in {} s", PATIENCE.as_secs()),
        };
        // Once, not twice a second.
        if told_before.as_ref() != Some(&why)
            && told.send(GateHeard::Down { switch, why: why.clone() }).await.is_err()
        {
            return;
        }
        told_before = Some(why.clone());
        // What is wanted meanwhile fails at once: the manager must not wait for an agent that is not there.
        let again = tokio::time::sleep(pause);
        tokio::pin!(again);
        loop {
            tokio::select! {
                () = &mut again => break,
                order = wanted.recv() => {
                    let token = match order {
                        Some(Order::Ask(token, _)) => token,
                        Some(Order::ConnectAgain) => continue,
                        None => return,
                    };
                    let answer = Err(format!("the agent of the gates cannot be reached: {why}"));
                    if told.send(GateHeard::Done { token, answer }).await.is_err() {
                        return;
                    }
                }
            }
        }
    }
}

/// Connects to the agent of a switch's gates; with keys, the agent has to show that it is that.
async fn connect(address: SocketAddr, keys: Option<&Identity>, switch: u64) -> io::Result<(From, To)> {
    let role = Role::Gates(switch);
    let secure = keys.map(|keys| keys.client_to(role)).transpose().map_err(io::Error::other)?;
    let connected = connections::connect(address, secure).await;
    let connected = connected.map_err(|error| connections::why(&error, role).map_or(error, io::Error::other));
    Ok(tokio::io::split(connected?))
}

/// Asks a new agent for its version, and tells it the epoch; why it is not to be used.
async fn greet(from: From, mut to: To, epoch: u64) -> Result<(BufReader<From>, To), String> {
    let mut from = BufReader::new(from);
    let late = |_| format!("no answer in {} s", PATIENCE.as_secs());
    let said = timeout(PATIENCE, exchange(&mut from, &mut to, &Request::Version)).await;
    check_version(&said.map_err(late)??)?;
    let said = timeout(PATIENCE, exchange(&mut from, &mut to, &Request::Lead { epoch })).await;
    match said.map_err(late)?? {
        Answer::Leads { epoch: said } if said == epoch => Ok((from, to)),
        Answer::Refused { what, .. } => {
            Err(format!("the agent of the gates does not obey this manager: {what}"))
        }
        other => Err(format!("the agent of the gates does not say whom it obeys, but {other:?}")),
    }
}

/// Speaks with an agent until the connection ends; why it did, or nothing if the manager has ended.
async fn talk(
    mut from: BufReader<From>,
    mut to: To,
    wanted: &mut UnboundedReceiver<Order>,
    told: &Sender<GateHeard>,
) -> Option<String> {
    let mut asked: VecDeque<u64> = VecDeque::new();
    let why = loop {
        // One request at a time is under way, so that an answer cannot be taken for another's, and a lost one is noticed in time.
        let (token, request) = tokio::select! {
            order = wanted.recv() => match order? {
                Order::Ask(token, request) => (token, request),
                Order::ConnectAgain => break "what the gates have is not known".to_owned(),
            },
            ended = from.fill_buf() => {
                break match ended {
                    Ok([]) => "the agent closed the connection".to_owned(),
                    Ok(_) => "the agent said something that was not asked for".to_owned(),
                    Err(error) => error.to_string(),
                };
            }
        };
        asked.push_back(token);
        match timeout(PATIENCE, exchange(&mut from, &mut to, &request)).await {
            Ok(Ok(answer)) => {
                asked.pop_front();
                told.send(GateHeard::Done { token, answer: Ok(answer) }).await.ok()?;
            }
            Ok(Err(why)) => break why,
            Err(_) => break format!("no answer in {} s", PATIENCE.as_secs()),
        }
    };
    for token in asked {
        let answer = Err(format!("what the gate has is not known: {why}"));
        told.send(GateHeard::Done { token, answer }).await.ok()?;
    }
    Some(why)
}

async fn exchange(from: &mut BufReader<From>, to: &mut To, request: &Request) -> Result<Answer, String> {
    let mut line = serde_json::to_vec(request).map_err(|error| error.to_string())?;
    line.push(b'\n');
    to.write_all(&line).await.map_err(|error| error.to_string())?;
    line.clear();
    let read = from.take(LONGEST_ANSWER).read_until(b'\n', &mut line).await;
    match read {
        Ok(_) if line.ends_with(b"\n") => serde_json::from_slice(&line)
            .map_err(|error| format!("the agent's answer cannot be read: {error}")),
        Ok(_) => Err("the agent's answer did not come whole".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader as LineReader, Write as _};
    use std::net::TcpListener;
    use tokio::sync::mpsc::{Receiver, channel};

    /// An agent of this version that answers each line with what `script` has next; the end of a script closes the connection.
    fn agent(scripts: Vec<Vec<&'static str>>) -> SocketAddr {
        agent_that_says(VERSION, scripts)
    }

    const VERSION: &str = "{\"answer\":\"version\",\"version\":4}\n";
    const LEADS: &str = "{\"answer\":\"leads\",\"epoch\":7}\n";

    fn agent_that_says(version: &'static str, scripts: Vec<Vec<&'static str>>) -> SocketAddr {
        let scripts: Vec<Vec<&str>> =
            scripts.into_iter().map(|script| [vec![version, LEADS], script].concat()).collect();
        scripted(scripts)
    }

    fn scripted(scripts: Vec<Vec<&'static str>>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            for script in scripts {
                let (mut stream, _) = listener.accept().unwrap();
                let mut lines = LineReader::new(stream.try_clone().unwrap());
                for answer in script {
                    let mut line = String::new();
                    lines.read_line(&mut line).unwrap();
                    stream.write_all(answer.as_bytes()).unwrap();
                }
            }
        });
        address
    }

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
    }

    async fn next(heard: &mut Receiver<GateHeard>) -> GateHeard {
        timeout(Duration::from_secs(20), heard.recv()).await.unwrap().unwrap()
    }

    const CLEARED: &str = "{\"answer\":\"cleared\",\"contracts\":3}\n";

    #[test]
    fn answers_find_their_requests_and_a_connection_that_ends_is_made_again() {
        run(async {
            let address = agent(vec![vec![CLEARED], vec![CLEARED]]);
            let (told, mut heard) = channel(8);
            let agent = Agent::new(5, address, 7, None, told);
            for token in [11, 12] {
                assert!(matches!(next(&mut heard).await, GateHeard::Up { switch: 5 }));
                agent.ask(token, Request::Clear);
                let GateHeard::Done { token: named, answer } = next(&mut heard).await else { panic!() };
                assert_eq!((named, answer), (token, Ok(Answer::Cleared { contracts: 3 })));
                assert!(matches!(next(&mut heard).await, GateHeard::Down { switch: 5, .. }));
            }
        });
    }

    #[test]
    fn a_connection_that_is_given_up_is_made_again() {
        run(async {
            let address = agent(vec![vec![CLEARED, CLEARED], vec![CLEARED]]);
            let (told, mut heard) = channel(8);
            let agent = Agent::new(5, address, 7, None, told);
            assert!(matches!(next(&mut heard).await, GateHeard::Up { switch: 5 }));
            agent.ask(1, Request::Clear);
            assert!(matches!(next(&mut heard).await, GateHeard::Done { token: 1, answer: Ok(_) }));
            agent.connect_again();
            agent.ask(2, Request::Clear);
            assert!(matches!(next(&mut heard).await, GateHeard::Down { switch: 5, .. }));
            // What was asked behind it fails: it was meant for the connection before.
            assert!(matches!(next(&mut heard).await, GateHeard::Done { token: 2, answer: Err(_) }));
            assert!(matches!(next(&mut heard).await, GateHeard::Up { switch: 5 }));
            agent.ask(3, Request::Clear);
            assert!(matches!(next(&mut heard).await, GateHeard::Done { token: 3, answer: Ok(_) }));
        });
    }

    #[test]
    fn an_agent_of_another_version_is_told_once_and_not_used() {
        run(async {
            let old = "{\"answer\":\"refused\",\"reason\":\"malformed\",\"what\":\"unknown variant\"}\n";
            let address = agent_that_says(old, vec![Vec::new(), Vec::new(), Vec::new()]);
            let (told, mut heard) = channel(8);
            let agent = Agent::new(3, address, 7, None, told);
            let GateHeard::Down { switch: 3, why } = next(&mut heard).await else { panic!() };
            assert!(why.contains("speaks version 1"), "{why}");
            agent.ask(9, Request::List);
            let GateHeard::Done { token: 9, answer: Err(why) } = next(&mut heard).await else { panic!() };
            assert!(why.contains("speaks version 1"), "{why}");
        });
    }

    #[test]
    fn an_agent_that_obeys_a_later_manager_is_not_used() {
        run(async {
            let stale = "{\"answer\":\"refused\",\"reason\":\"stale\",\"what\":\"a manager of epoch 8 has connected\"}\n";
            let address = scripted(vec![vec![VERSION, stale]; 3]);
            let (told, mut heard) = channel(8);
            let agent = Agent::new(3, address, 7, None, told);
            let GateHeard::Down { switch: 3, why } = next(&mut heard).await else { panic!() };
            assert!(why.contains("does not obey this manager") && why.contains("epoch 8"), "{why}");
            agent.ask(9, Request::Clear);
            assert!(matches!(next(&mut heard).await, GateHeard::Done { token: 9, answer: Err(_) }));
        });
    }

    #[test]
    fn what_cannot_be_read_fails_and_ends_the_connection() {
        for bad in ["hello\n", "{\"answer\":\"cleared\"}\n", "{\"answer\":\"cleared\",\"contracts\":3}"] {
            run(async {
                let address = agent(vec![vec![bad]]);
                let (told, mut heard) = channel(8);
                let agent = Agent::new(1, address, 7, None, told);
                assert!(matches!(next(&mut heard).await, GateHeard::Up { .. }));
                agent.ask(1, Request::Clear);
                let GateHeard::Done { token: 1, answer: Err(_) } = next(&mut heard).await else {
                    panic!("{bad}")
                };
                assert!(matches!(next(&mut heard).await, GateHeard::Down { .. }), "{bad}");
            });
        }
    }

    #[test]
    fn without_an_agent_requests_fail_at_once() {
        run(async {
            let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
            let (told, mut heard) = channel(8);
            let agent = Agent::new(1, address, 7, None, told);
            assert!(matches!(next(&mut heard).await, GateHeard::Down { switch: 1, .. }), "it is told, once");
            agent.ask(3, Request::List);
            let GateHeard::Done { token: 3, answer: Err(why) } = next(&mut heard).await else { panic!() };
            assert!(why.contains("cannot be reached"), "{why}");
        });
    }
}
