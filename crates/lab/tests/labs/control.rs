//! The control channels of switches end at the manager's host, and nowhere else.
use std::io::Read as _;
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use gate::protocol::{Answer, Request};
use gate_agent::GateClient;
use lab::layout::{GATE_PORT, OPENFLOW_PORT};

use crate::three::{three, up};
use crate::traffic::{Counter, address, send, socket};
use lab_turn::turn;

#[test]
fn switches_call_the_manager_and_forward_nothing_without_it() {
    let Some(_turn) = turn() else { return };
    let text = three("gated").replace("name = \"c\"\n", "name = \"c\"\nmanager = true\n");
    let lab = up(&text);
    let [manager, own] = lab.switch("s1").unwrap().control();
    let listener = lab.on("c", || TcpListener::bind((manager, OPENFLOW_PORT))).unwrap().unwrap();
    let (mut stream, from) = listener.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut hello = [0; 8];
    stream.read_exact(&mut hello).unwrap();
    // OpenFlow: a version, type 0 is HELLO.
    assert_eq!((hello[1], from.ip()), (0, own.into()));

    let asked = lab.on("c", || {
        let mut client = GateClient::connect((own, GATE_PORT).into(), None)?;
        client.ask(&Request::List)
    });
    assert!(matches!(asked, Ok(Ok(Answer::List { ports, .. })) if ports.len() == 3));

    // Other hosts reach neither the agent nor each other, even if they know which address is where.
    let interface = lab.switch("s1").unwrap().namespace.clone();
    let mac = std::process::Command::new("ip").args(["-n", &interface, "-br", "link", "show", "p1"]).output();
    let mac = String::from_utf8(mac.unwrap().stdout).unwrap();
    let mac = mac.split_whitespace().nth(2).unwrap().to_owned();
    let add = ["neigh", "replace", &own.to_string(), "lladdr", &mac, "dev", "eth0"].map(str::to_owned);
    assert!(lab.command("a", "ip").unwrap().args(add).status().unwrap().success());
    let reached = lab.on("a", || {
        TcpStream::connect_timeout(&(own, GATE_PORT).into(), Duration::from_millis(1_500)).is_ok()
    });
    assert_eq!(reached, Ok(false));
    let counter = Counter::on(socket(&lab, "b", 5_000, 0));
    send(&socket(&lab, "a", 0, 0), address(&lab, "b", 5_000), 64, 20, Duration::from_millis(1));
    assert_eq!(counter.numbers().len(), 0, "a switch forwards only what its manager says");
}
