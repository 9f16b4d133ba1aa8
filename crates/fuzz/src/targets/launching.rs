//! Lines that supervisors, component servers and commands send each other, and a component server that gets them.
use assembly::{Catalogue, Manifest};
use deployment::{
    Answer, ChainReport, ChainStatus, ComponentServer, ComponentStatus, ConnectionReport, ConnectionStatus,
    Control, ControlAnswer, Executor, Frozen, GatewayStatus, GivenUp, HandedOver, HopStatus, Instruction,
    Lines, Matched, Order, Part, Performed, Phase, PlanStatus, Position, Work, line, read,
};
use diagnostics::Source;

const PLAN: &str = include_str!("../../../deployment/tests/behaviour/plans/first.toml");
const TYPES: &str = r#"{ "component": { "Node": { "setting": { "a": { "type": "integer", "default": 0 } }, "port": {
    "in": { "kind": "consumer", "type": "E" }, "out": { "kind": "publisher", "type": "E" }, "tick": { "kind": "timer" } } } } }"#;
/// Bytes of the longest line.
const LONGEST: usize = 64 << 10;

/// Lines that are told, alone and after each other.
pub(super) fn lines() -> Vec<Vec<u8>> {
    let (epoch, name) = (1, || "a".to_owned());
    let orders =
        vec![Order::AddContainer("k".to_owned()), Order::Install(name()), Order::Set(name(), name())];
    let last = vec![Order::Connect("ab".to_owned()), Order::Configured(name()), Order::Activate(name())];
    let position = || Position { end: name(), source: "00".to_owned(), sequence: 7 };
    let handed = HandedOver {
        matches: vec![Matched { end: name(), peers: vec![name()] }],
        starts: vec![position()],
        states: vec![Frozen { component: name(), state: vec![0, 255] }],
        positions: vec![position()],
        published: vec![position()],
        given_up: vec![GivenUp { port: name(), events: 2 }],
    };
    let handing = vec![
        Order::Hold,
        Order::TellMatched,
        Order::AwaitMatched(handed.matches.clone()),
        Order::HandOver(vec![name()], handed.starts.clone()),
        Order::TakeOver(handed.states.clone()),
        Order::Release(handed.positions.clone()),
        Order::TellPublished(vec![name()]),
        Order::Resume(name()),
        Order::EndInterval { component: name(), is_last: true, limit: 1 },
        Order::SetAside(vec![name()]),
        Order::Acknowledge { limit: 1 },
        Order::Finish { connections: vec![name()], published: handed.published.clone(), limit: 1 },
    ];
    let told = [
        line(&Instruction::Perform { epoch, number: 2, phase: Phase::HandOver, orders: handing }),
        line(&Answer::Done { epoch, number: 2, handed: Some(handed) }),
        line(&Instruction::PreparePlan { epoch, process: "p".to_owned(), plan: PLAN.to_owned() }),
        line(&Instruction::Perform { epoch, number: 0, phase: Phase::StartLaunch, orders }),
        line(&Instruction::Perform { epoch, number: 1, phase: Phase::FinishLaunch, orders: last }),
        line(&Instruction::Commit { epoch }),
        line(&Instruction::Abort { epoch: 2 }),
        line(&Instruction::Status { number: 3 }),
        line(&Instruction::Stop),
        line(&Answer::Hello { protocol: 1, build: "b".to_owned() }),
        line(&Answer::Present { process: name(), pid: 7, last: Some(1), change: None }),
        line(&Answer::Failed { epoch, what: "x".to_owned() }),
        line(&Answer::Status {
            number: 3,
            components: vec![ComponentStatus::default()],
            chains: vec![ChainStatus { hops: vec![HopStatus::default()], ..ChainStatus::default() }],
            gateway: Some(GatewayStatus::default()),
            refused: vec![name()],
        }),
        line(&ControlAnswer::Status(PlanStatus {
            chains: vec![ChainReport { measured: Some(ChainStatus::default()), ..ChainReport::default() }],
            connections: vec![ConnectionReport {
                measured: Some(ConnectionStatus::default()),
                ..ConnectionReport::default()
            }],
            ..PlanStatus::default()
        })),
        line(&Control::Apply { plan: "/next.toml".to_owned() }),
        line(&ControlAnswer::Done { notes: vec!["n".to_owned()] }),
        line(&Instruction::PreparePlan { epoch, process: "q".to_owned(), plan: federated() }),
    ];
    let told: Vec<String> = told.into_iter().filter_map(Result::ok).collect();
    let whole = told.iter().take(7).cloned().collect::<String>().into_bytes();
    told.into_iter().map(String::into_bytes).chain([whole]).collect()
}

/// The plan, with gateways between its processes.
fn federated() -> String {
    let service = "[service.bus]\nkind = \"federated\"\nat = \"p\"\ntransport = \"tcp\"\ngroups = { \"*\" = \"239.1.2.3\" }\n";
    PLAN.replace("\nto =", "\nservice = \"bus\"\nto =") + service
}

/// An executor that does everything and keeps nothing.
struct Nothing(Catalogue);

impl Executor for Nothing {
    fn types(&self) -> &Catalogue {
        &self.0
    }
    fn check(&mut self, _: &Part) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }
    fn perform(&mut self, _: &Work) -> Result<Performed, String> {
        Ok(Performed::Done)
    }
    fn status(&mut self) -> Vec<ComponentStatus> {
        Vec::new()
    }
    fn chains(&mut self) -> Vec<ChainStatus> {
        Vec::new()
    }
    fn gateway(&mut self) -> Option<GatewayStatus> {
        None
    }
    fn stop(&mut self) -> Vec<String> {
        Vec::new()
    }
}

/// Bytes that come on a connection.
pub fn deployment_line(bytes: &[u8]) {
    let manifest = Manifest::read(Source { file: "types", text: TYPES }).unwrap_or_default();
    let types = Catalogue::of([("types".to_owned(), manifest)]).unwrap_or_default();
    let mut server = ComponentServer::new(Nothing(types));
    let mut lines = Lines::new(LONGEST);
    lines.feed(bytes);
    while let Ok(Some(text)) = lines.next_line() {
        assert!(text.len() <= LONGEST && !text.contains('\n'));
        same::<Answer>(&text);
        same::<Control>(&text);
        same::<ControlAnswer>(&text);
        match read::<Instruction>(&text) {
            Ok(instruction) => {
                same::<Instruction>(&text);
                let answers = server.handle(instruction);
                assert!(!answers.is_empty(), "{text}");
            }
            Err(error) => assert!(error.to_string().len() < 2_000, "{error}"),
        }
    }
}

/// A message that is read is written as a line that is read as the same message.
pub(super) fn same<T>(text: &str)
where
    T: serde::de::DeserializeOwned + serde::Serialize + PartialEq + core::fmt::Debug,
{
    if let Ok(told) = read::<T>(text) {
        let again = line(&told).map(|text| read::<T>(&text));
        assert_eq!(again, Ok(Ok(told)), "{text}");
    }
}
