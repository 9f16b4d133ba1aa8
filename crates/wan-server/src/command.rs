//! The command line: the manager, and commands that ask it.
use std::io::{self, BufRead as _, Write};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::control::{Client, NoManager, line};
use crate::flow_text;
use crate::protocol::{Answer, Ask, Flow, Measured, Question, Reply, SessionAsked};
use crate::{authorization, bgp_announcing, serve, wording};

/// It was done, and nothing is wrong.
pub(crate) const DONE: u8 = 0;
/// The answer is bad news: a session is refused, or another manager of the domain runs.
pub(crate) const BAD_NEWS: u8 = 1;
/// The command line or a file is wrong.
pub(crate) const WRONG: u8 = 2;
/// It could not be done.
pub(crate) const FAILED: u8 = 3;

/// Why there is no answer: the exit code, and what is told.
pub(crate) type Failure = (u8, String);

/// Manages sessions of one domain over several domains, and asks its manager for them.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Examples:\n  \
    punctual rm serve domain.toml --keys keys --store domain.redb     the manager of a domain\n  \
    punctual rm establish --user ann --service alarms --caller 10.1.0.5 --callee 10.3.0.7 --flow 'class=ef, rate=1 Mbit/s, limit=25 ms'\n  \
    punctual rm status                                                sessions, links, other managers\n\n\
    Exit code: 0 done; 1 a session or its extension is refused, or serve or clear finds a manager of its domain that runs;\n\
    2 wrong command line or file; 3 it could not be done. See docs/wan.md.")]
pub struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

/// Which manager of this host is asked.
#[derive(Args, Clone, Debug)]
struct At {
    /// The domain, where managers of several run on this host
    #[arg(long, value_name = "NUMBER")]
    asn: Option<u32>,
    /// Prints each answer as one line of JSON
    #[arg(long)]
    json: bool,
}

/// The page of the domain, for its operators.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Page for operators")]
pub(crate) struct WebOptions {
    /// Serves a page and the same as JSON here: sessions, agreements, neighbours, refusals. An address that others can reach needs the three below
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) web: Option<SocketAddr>,
    /// A file with the token that clients have to give: 32 characters or more, readable by its owner alone
    #[arg(long, value_name = "FILE", requires = "web")]
    pub(crate) web_token: Option<PathBuf>,
    /// The certificate for TLS, with those that it rests on, in PEM
    #[arg(long, value_name = "FILE", requires = "web", requires = "web_key")]
    pub(crate) web_cert: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "web_cert")]
    pub(crate) web_key: Option<PathBuf>,
}

#[derive(Subcommand, Clone, Debug)]
enum Verb {
    /// Runs the manager of a domain, until Ctrl-C
    #[command(after_help = "Examples:\n  \
        punctual rm serve domain.toml --keys keys --store domain.redb     keys and store of this folder\n  \
        punctual rm serve domain.toml --check                             says whether the file makes sense, and ends\n  \
        punctual rm serve domain.toml --keys keys --store domain.redb --web 127.0.0.1:8081     with a page for operators\n\n\
        What is reserved stays in the store. A manager that begins again within the lifetime (7 s) goes on as if nothing had been.")]
    Serve {
        /// The file of the domain; docs/wan.md tells how to write one
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The folder with authority.pem, domain-N.pem and domain-N.key
        #[arg(long, value_name = "FOLDER", required_unless_present = "check")]
        keys: Option<PathBuf>,
        /// The file that keeps what is reserved
        #[arg(long, value_name = "FILE", required_unless_present = "check")]
        store: Option<PathBuf>,
        /// Says what is wrong with the file, or that nothing is, and ends
        #[arg(long)]
        check: bool,
        #[command(flatten)]
        web: WebOptions,
    },
    /// Takes away what a manager has set up at the Linux routers of its domain; what is reserved stays in the store
    #[command(after_help = "Examples:\n  punctual rm clear domain.toml     after the manager has ended")]
    Clear {
        /// The file of the domain
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Sets a session up: the bound of each flow, or which domain refuses and what could be had
    #[command(after_help = "Examples:\n  \
        punctual rm establish --user ann --service alarms --caller 10.1.0.5 --callee 10.3.0.7 --flow 'class=ef, rate=1 Mbit/s, limit=25 ms'\n  \
        punctual rm establish --user ann --service alarms --caller 10.1.0.5 --callee 10.3.0.7 --lasts '1 min' --flow 'class=ef, rate=1 Mbit/s, limit=25 ms' --flow 'kind=acknack, direction=reverse, class=ef, rate=50 kbit/s, packet=100 B, limit=25 ms'\n\n\
        A flow is a list of name=value: class (ef, af4 or af1), rate and limit are needed. Others and what they are by themselves:\n\
        kind=data (or acknack, discovery), direction=forward (or reverse), packet=1000 B (the largest), burst (one packet), least (the rate that\n\
        is enough; all of it), protocol=17, from-port=0 (any), to-port=7400. Sizes and rates are those of IP packets.")]
    Establish {
        /// Who wants it
        #[arg(long, value_name = "NAME")]
        user: String,
        /// The session service
        #[arg(long, value_name = "NAME")]
        service: String,
        /// The address that data comes from
        #[arg(long, value_name = "ADDRESS")]
        caller: IpAddr,
        /// An address that data goes to; may be repeated
        #[arg(long, value_name = "ADDRESS", required = true)]
        callee: Vec<IpAddr>,
        /// A flow of the session; may be repeated
        #[arg(long, value_name = "FLOW", required = true, value_parser = flow_text::parse)]
        flow: Vec<Flow>,
        /// How long it lasts, as in '10 min'
        #[arg(long, value_name = "TIME", default_value = "10 min", value_parser = flow_text::parse_time)]
        lasts: u64,
        #[command(flatten)]
        at: At,
    },
    /// Ends a session
    #[command(
        after_help = "Examples:\n  punctual rm stop 65001-7537283473409     as establish and status call it"
    )]
    Stop {
        /// The session
        #[arg(value_name = "SESSION")]
        session: String,
        #[command(flatten)]
        at: At,
    },
    /// Lets a session last longer
    #[command(
        after_help = "Examples:\n  punctual rm extend 65001-7537283473409 '10 min'     after the end that it has"
    )]
    Extend {
        /// The session
        #[arg(value_name = "SESSION")]
        session: String,
        /// How much longer, as in '10 min'
        #[arg(value_name = "TIME", value_parser = flow_text::parse_time)]
        by: u64,
        #[command(flatten)]
        at: At,
    },
    /// Lets a session follow an endpoint to another address: the new one is reserved, then the old one ends
    #[command(
        after_help = "Examples:\n  punctual rm move 65001-7537283473409 10.3.0.7 10.3.9.7     what is refused leaves the session as it is"
    )]
    Move {
        /// The session
        #[arg(value_name = "SESSION")]
        session: String,
        /// The address of its caller, or of a callee
        #[arg(value_name = "FROM")]
        from: IpAddr,
        /// The address that it has from now on
        #[arg(value_name = "TO")]
        to: IpAddr,
        #[command(flatten)]
        at: At,
    },
    /// Says what is free on the fastest path to a domain
    #[command(after_help = "Examples:\n  punctual rm query 65003 ef     nothing is reserved by it")]
    Query {
        /// The domain
        #[arg(value_name = "NUMBER")]
        to: u32,
        /// ef, af4 or af1
        #[arg(value_name = "CLASS")]
        class: String,
        #[command(flatten)]
        at: At,
    },
    /// Tells the manager how long samples of a flow took, so that it shows them beside the bound
    #[command(
        after_help = "Examples:\n  punctual rm measured 65001-7537283473409 --to 65003 --samples 1000 --median '3.1 ms' --worst '4.5 ms'     of flow 0"
    )]
    Measured {
        /// The session
        #[arg(value_name = "SESSION")]
        session: String,
        /// Which of its flows, from 0
        #[arg(long, value_name = "NUMBER", default_value_t = 0)]
        flow: u8,
        /// The domain that the flow goes to
        #[arg(long, value_name = "NUMBER")]
        to: u32,
        /// How many samples were measured since the session began
        #[arg(long, value_name = "NUMBER")]
        samples: u64,
        /// Their median
        #[arg(long, value_name = "TIME", value_parser = flow_text::parse_time)]
        median: u64,
        /// The longest of them
        #[arg(long, value_name = "TIME", value_parser = flow_text::parse_time)]
        worst: u64,
        #[command(flatten)]
        at: At,
    },
    /// Says which sessions begin, are refused and end, and why, until Ctrl-C
    #[command(
        after_help = "Examples:\n  punctual rm monitor            sessions of callers of this domain\n  punctual rm monitor --json     one event a line"
    )]
    Monitor {
        #[command(flatten)]
        at: At,
    },
    /// Shows sessions, reservations on border links, and other managers
    #[command(after_help = "Examples:\n  punctual rm status --asn 65001\n  punctual rm status --json")]
    Status {
        #[command(flatten)]
        at: At,
    },
    /// Shows the paths to other domains, of the file and as BGP tells, and what their domains need together
    #[command(after_help = "Examples:\n  punctual rm paths --asn 65001\n  punctual rm paths --json")]
    Paths {
        #[command(flatten)]
        at: At,
    },
    /// Prints lines for FRR by which the domain appends what it needs to all that it announces by BGP
    #[command(after_help = "Examples:\n  \
        punctual rm bgp domain.toml                 lines for FRR; then name the route-map at each neighbour, as the lines say\n\n\
        The delays are those of [bgp] in the file.")]
    Bgp {
        /// The file of the domain
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Prints questions to callees, and takes answers from standard input, each a line of JSON
    #[command(after_help = "Examples:\n  \
        punctual rm callee 10.3.2.0/24 < answers > questions     joined with a program that decides\n\n\
        A question has a number, the session, the caller, the callees and the flows. {\"number\":1,\"rates\":[1000000]} takes part with these bits per\n\
        second for its flows; {\"number\":1} refuses. No answer within 2 s (callee-patience of the file) is a refusal.")]
    Callee {
        /// The addresses of these callees
        #[arg(value_name = "ADDRESSES")]
        prefix: String,
        /// The domain, where managers of several run on this host
        #[arg(long, value_name = "NUMBER")]
        asn: Option<u32>,
    },
}

/// Does what the command line says: the exit code.
pub fn run(arguments: &Arguments, out: &mut dyn Write, told: &mut dyn Write) -> u8 {
    match act(&arguments.verb, out) {
        Ok(code) => code,
        Err((code, what)) => {
            // Who does not read it has the exit code.
            let _ = told.write_all(format!("punctual: {}\n", what.trim_end()).as_bytes());
            code
        }
    }
}

/// Prints; a reader that has gone is none of our business.
pub(crate) fn print(out: &mut dyn Write, text: std::fmt::Arguments<'_>) -> Result<(), Failure> {
    match out.write_fmt(text) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err((FAILED, error.to_string())),
        _ => Ok(()),
    }
}

fn act(verb: &Verb, out: &mut dyn Write) -> Result<u8, Failure> {
    match verb {
        Verb::Serve { file, check: true, .. } => {
            let read = serve::read(file)?;
            authorization::node(file, &read).map_err(|what| (WRONG, what))?;
            let (agreements, users) = (read.config.agreements.len(), read.users.len());
            print(out, format_args!("AS {}: {agreements} agreements, {users} users\n", read.config.asn.0))?;
            Ok(DONE)
        }
        Verb::Serve { file, keys: Some(keys), store: Some(store), web, .. } => {
            serve::run(file, keys, store, web, out)
        }
        Verb::Clear { file } => serve::clear(file, out),
        Verb::Serve { .. } => Err((WRONG, "give --keys and --store".to_owned())),
        Verb::Establish { user, service, caller, callee, flow, lasts, at } => {
            let asked = SessionAsked {
                user: user.clone(),
                service: service.clone(),
                caller: *caller,
                callees: callee.clone(),
                flows: flow.clone(),
                lasts: *lasts,
            };
            one(at, &Ask::Establish(asked), out)
        }
        Verb::Stop { session, at } => one(at, &Ask::Stop { session: session.clone() }, out),
        Verb::Extend { session, by, at } => one(at, &Ask::Extend { session: session.clone(), by: *by }, out),
        Verb::Move { session, from, to, at } => {
            let (session, from, to) = (session.clone(), *from, *to);
            one(at, &Ask::Move { session, from, to }, out)
        }
        Verb::Query { to, class, at } => one(at, &Ask::Query { asn: *to, class: class.clone() }, out),
        Verb::Measured { session, flow, to, samples, median, worst, at } => {
            let (session, flow, to) = (session.clone(), *flow, *to);
            let (samples, median, worst) = (*samples, *median, *worst);
            one(at, &Ask::Measured(Measured { session, flow, to, samples, median, worst }), out)
        }
        Verb::Paths { at } => one(at, &Ask::Paths, out),
        Verb::Bgp { file } => {
            let read = serve::read(file)?;
            let told = read.bgp.map(|bgp| bgp.told).unwrap_or_default();
            if told.is_empty() {
                let file = file.display();
                return Err((WRONG, format!("{file}: add [bgp] with what the domain needs: ef = \"4 ms\"")));
            }
            print(out, format_args!("{}", bgp_announcing::lines(read.config.asn, &told)))?;
            Ok(DONE)
        }
        Verb::Status { at } => one(at, &Ask::Status, out),
        Verb::Monitor { at } => {
            let mut client = asked(at.asn, &Ask::Monitor)?;
            while let Some(answer) = client.answer::<Answer>().map_err(lost)? {
                said(&answer, at.json, out)?;
                out.flush().map_err(lost)?;
            }
            Err((FAILED, "the manager has ended".to_owned()))
        }
        Verb::Callee { prefix, asn } => callee(prefix, *asn, out),
    }
}

fn lost(error: io::Error) -> Failure {
    (FAILED, format!("the manager cannot be asked: {error}"))
}

fn asked(asn: Option<u32>, ask: &Ask) -> Result<Client, Failure> {
    let mut client = Client::connect(asn).map_err(|why| match why {
        NoManager::Unknown(what) => (WRONG, what),
        NoManager::Failed(what) => (FAILED, what),
    })?;
    client.ask(ask).map_err(lost)?;
    Ok(client)
}

/// Asks for one answer.
fn one(at: &At, ask: &Ask, out: &mut dyn Write) -> Result<u8, Failure> {
    let answer = asked(at.asn, ask)?.answer::<Answer>().map_err(lost)?;
    let over = || {
        (FAILED, "the manager has ended before it answered: punctual rm status says what holds".to_owned())
    };
    said(&answer.ok_or_else(over)?, at.json, out)
}

/// Prints an answer: the exit code.
fn said(answer: &Answer, json: bool, out: &mut dyn Write) -> Result<u8, Failure> {
    match answer {
        Answer::Wrong { what } | Answer::Unknown { what, .. } => return Err((WRONG, what.clone())),
        Answer::Unavailable { what } => return Err((FAILED, what.clone())),
        _ => {}
    }
    let text = if json { line(answer) } else { wording::shown(answer) };
    print(out, format_args!("{text}"))?;
    Ok(if matches!(answer, Answer::Refused(_)) { BAD_NEWS } else { DONE })
}

/// Questions go out, and answers come in, until either end has no more.
fn callee(prefix: &str, asn: Option<u32>, out: &mut dyn Write) -> Result<u8, Failure> {
    let mut client = asked(asn, &Ask::Callee { prefix: prefix.to_owned() })?;
    let mut to = client.writer().map_err(lost)?;
    let answers = move || {
        for text in io::stdin().lock().lines().map_while(Result::ok) {
            // What is no answer is told where it was written, and not sent.
            match serde_json::from_str::<Reply>(&text) {
                Ok(reply) if to.write_all(line(&reply).as_bytes()).is_ok() => {}
                Ok(_) => break,
                Err(error) => eprintln!("punctual: this is no answer and left out: {error}: {text}"),
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
    };
    std::thread::Builder::new().name("answers".to_owned()).spawn(answers).map_err(lost)?;
    loop {
        match client.answer::<serde_json::Value>().map_err(lost)? {
            None => return Ok(DONE),
            Some(said) => match serde_json::from_value::<Question>(said.clone()) {
                Ok(question) => {
                    print(out, format_args!("{}", line(&question)))?;
                    out.flush().map_err(lost)?;
                }
                Err(_) => match serde_json::from_value::<Answer>(said) {
                    Ok(answer) => return self::said(&answer, false, out),
                    Err(error) => return Err((FAILED, format!("the manager says something else: {error}"))),
                },
            },
        }
    }
}
