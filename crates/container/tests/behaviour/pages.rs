//! What docs/components.md shows in parts: its blocks are from here.
use std::time::Duration;

use container::{
    ByChannel, Chain, Component, Consumer, Context, Direct, Dispatch, Emitter, Event, Every, Handle, Hop,
    Join, Keep, Lifecycle, Outcome, Policy, Publisher, Server, ServerError, Threads, Tick, Timer,
};

use crate::parts::{Log, Number, Tap};

#[derive(Clone)]
struct Fix(u32);
impl Event for Fix {}

#[derive(Clone)]
struct Position(u32);
impl Event for Position {}

#[derive(Component)]
struct Gps {
    tick: Timer,
    fix: Emitter<Fix>,
    count: u32,
}
impl Lifecycle for Gps {}
impl Handle<gps::Tick> for Gps {
    fn handle(&mut self, _: &Tick, at: &Context) -> Outcome {
        self.count += 1;
        self.fix.push(at, &Fix(self.count))
    }
}

#[derive(Component)]
struct Airframe {
    fix: Consumer<Fix>,
    position: Publisher<Position>,
}
impl Lifecycle for Airframe {}
impl Handle<airframe::Fix> for Airframe {
    fn handle(&mut self, fix: &Fix, at: &Context) -> Outcome {
        at.pass(Duration::from_millis(2));
        self.position.push(at, &Position(fix.0))
    }
}

#[derive(Component)]
struct Display {
    position: Consumer<Position>,
    last: u32,
}
impl Lifecycle for Display {}
impl Handle<display::Position> for Display {
    fn handle(&mut self, position: &Position, _: &Context) -> Outcome {
        self.last = position.0;
        Ok(())
    }
}

#[test]
fn a_chain_is_followed() -> Result<(), ServerError> {
    let mut server = Server::simulated();
    server.container("sense", Policy { lanes: vec![(1, Threads::default())], ..Policy::default() })?;
    server.install::<Display>("sense", "display", &[])?;
    server.install::<Airframe>("sense", "airframe", &[])?;
    server.install::<Gps>("sense", "gps", &[])?;
    let hop = |port: &str, connection: &str| Hop {
        port: port.to_owned(),
        connections: vec![connection.to_owned()],
        samples: false,
    };
    server.follow(Chain {
        name: "fix-to-display".to_owned(),
        reaction: Some(Duration::from_millis(5)),
        period: Some(Duration::from_millis(10)),
        hops: vec![hop("gps.tick", "tick"), hop("airframe.fix", "fix"), hop("display.position", "position")],
        ..Chain::default()
    })?;
    server.connect("fix", &["gps.fix"], &["airframe.fix"], &Direct::default())?;
    let by_lane = ByChannel::new(Dispatch::Lane(1));
    server.connect("position", &["airframe.position"], &["display.position"], &by_lane)?;
    let every = Every { period: Duration::from_millis(10), dispatch: Dispatch::Lane(1), patience: None };
    server.every("tick", "gps.tick", every)?;
    server.launch()?;
    server.advance(Duration::from_millis(35));
    let score = &server.chains()[0];
    assert_eq!((score.completions, score.reaction.count), (3, 3));
    assert_eq!(score.reaction.worst, Duration::from_millis(2));
    assert_eq!(server.entry::<Display>("display").unwrap().with(|display, _| display.last).unwrap(), 3);
    Ok(())
}

/// Says what each delivery has.
#[derive(Component)]
struct Fusion {
    frame: Consumer<Number>,
    log: Log,
}
impl Lifecycle for Fusion {}
impl Handle<fusion::Frame> for Fusion {
    fn handle(&mut self, number: &Number, at: &Context) -> Outcome {
        self.log.write(format!("{} of part {}", number.0, at.part()));
        Ok(())
    }
}

#[test]
fn connections_are_joined() -> Result<(), ServerError> {
    let mut server = Server::simulated();
    server.container("sense", Policy { lanes: vec![(1, Threads::default())], ..Policy::default() })?;
    server.install::<Tap>("sense", "camera", &[])?;
    server.install::<Tap>("sense", "lidar", &[])?;
    server.install::<Fusion>("sense", "fusion", &[])?;
    let log = Log::default();
    server.entry::<Fusion>("fusion").unwrap().with(|fusion, _| fusion.log = log.clone()).unwrap();
    let join = Some(Join { keep: Keep::Last, within: None });
    let by = ByChannel { join, ..ByChannel::new(Dispatch::Lane(1)) };
    server.join("frame", "fusion.frame", 2, &by)?;
    server.connect("camera", &["camera.out"], &["fusion.frame#0"], &Direct::default())?;
    server.connect("lidar", &["lidar.out"], &["fusion.frame#1"], &Direct::default())?;
    server.launch()?;
    for (tap, number) in [("lidar", 1), ("lidar", 2), ("camera", 3)] {
        crate::joins::push(&server, tap, number).unwrap();
        server.advance(Duration::from_millis(1));
    }
    assert_eq!(log.take(), ["3 of part 0", "2 of part 1"]);
    Ok(())
}
