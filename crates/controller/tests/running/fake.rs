//! A switch at the other end of a manager's connection: it takes what it is told, and tells what it has.
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use control::action::SwitchReport;
use keys::rustls::{ClientConnection, StreamOwned};
use keys::{Identity, Role};
use openflow::channel::{Channel, Config, Event};
use openflow::multipart::GroupFeatures;
use openflow::port::{Port, PortConfig, PortFeatures, PortState};
use openflow::switch::{Capabilities, Features};
use openflow::words::PortNo;

use crate::site::LISTEN;
use testkit::openflow_switch::Switch;

fn report() -> SwitchReport {
    let port = |number: u32| Port {
        number: PortNo(number),
        address: [0; 6],
        raw_name: [0; 16],
        config: PortConfig::NONE,
        state: PortState::NONE,
        current: PortFeatures::NONE,
        advertised: PortFeatures::NONE,
        supported: PortFeatures::NONE,
        peer: PortFeatures::NONE,
        current_speed: 10_000_000,
        max_speed: 0,
    };
    SwitchReport {
        features: Features {
            datapath_id: 1,
            buffers: 0,
            tables: 254,
            auxiliary_id: 0,
            capabilities: Capabilities(0),
        },
        ports: (1..=4).map(port).collect(),
        meters: Some(openflow::multipart::MeterFeatures {
            max_meters: 0,
            band_types: 0,
            capabilities: 0,
            max_bands: 0,
            max_color: 0,
        }),
        groups: Some(GroupFeatures {
            types: 15,
            capabilities: 7,
            max_groups: [u32::MAX; 4],
            actions: [u32::MAX; 4],
        }),
        queues: Vec::new(),
    }
}

/// Is the switch of the network, connected or trying to be, until `stop`; with keys by TLS.
pub(crate) fn run(switch: &mut Switch, keys: Option<&Identity>, stop: &AtomicBool) {
    let start = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        match TcpStream::connect(LISTEN) {
            Ok(stream) => {
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
                // It ends when the manager does.
                let _ = match keys {
                    None => talk(stream, switch, stop, start),
                    Some(keys) => {
                        let (config, name) = keys.client_to(Role::Manager).unwrap();
                        let connection = ClientConnection::new(config, name).unwrap();
                        talk(StreamOwned::new(connection, stream), switch, stop, start)
                    }
                };
                // Who is turned away comes again, but not at once.
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

fn talk(
    mut stream: impl Read + Write,
    switch: &mut Switch,
    stop: &AtomicBool,
    start: Instant,
) -> std::io::Result<()> {
    let report = report();
    let mut channel = Channel::new(Config::switch(), start.elapsed());
    let mut piece = vec![0; 16 * 1024];
    while !stop.load(Ordering::Relaxed) {
        let output = channel.output().to_vec();
        stream.write_all(&output)?;
        stream.flush()?;
        channel.sent(output.len());
        match stream.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(length) => channel.handle_input(start.elapsed(), &piece[..length]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                channel.handle_timeout(start.elapsed());
            }
            Err(error) => return Err(error),
        }
        while let Some(event) = channel.poll_event() {
            match event {
                Event::Message { xid, message } => {
                    for answer in switch.hear(&message, &report) {
                        channel.reply(xid, &answer).unwrap();
                    }
                }
                Event::Down(_) => return Ok(()),
                _ => {}
            }
        }
    }
    Ok(())
}
