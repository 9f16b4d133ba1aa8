//! Who has a channel and its threads in common: the consumers of a component, of a container, or of all containers.
use std::sync::{Arc, Mutex};

use container::{
    ByChannel, Component, Consumer, Context, Dispatch, Handle, Lifecycle, Locality, Outcome, Placement,
    Policy, Server, Threads,
};
use testkit::patience::{patiently, patiently_or};

use crate::parts::{Number, Tap};

#[derive(Component)]
struct Keeper {
    input: Consumer<Number>,
    kept: Arc<Mutex<Vec<u64>>>,
}
impl Lifecycle for Keeper {}
impl Handle<keeper::Input> for Keeper {
    fn handle(&mut self, number: &Number, _: &Context) -> Outcome {
        self.kept.lock().unwrap().push(number.0);
        Ok(())
    }
}

/// How many threads of this process have a name that begins so.
fn named(start: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm")).ok();
    tasks.filter_map(name).filter(|name| name.starts_with(start)).count()
}

/// Two containers of two consumers each; the lane of the second one has so many threads. So many of each name are there in the end.
fn placed(placement: Placement, second: u16, threads: [usize; 3]) {
    let mut server = Server::new(&Locality::default());
    let lane = |count| vec![(1, Threads { count, ..Threads::default() })];
    for (container, count) in [("pl-a", 1), ("pl-b", second)] {
        server.container(container, Policy { lanes: lane(count), ..Policy::default() }).unwrap();
    }
    server.install::<Tap>("pl-a", "s", &[]).unwrap();
    let consumers = [("pl-a", "a1"), ("pl-a", "a2"), ("pl-b", "b1"), ("pl-b", "b2")];
    consumers.iter().for_each(|(container, name)| server.install::<Keeper>(container, name, &[]).unwrap());
    let ports: Vec<String> = consumers.iter().map(|(_, name)| format!("{name}.input")).collect();
    let ports: Vec<&str> = ports.iter().map(String::as_str).collect();
    let mut by = ByChannel { placement, ..ByChannel::new(Dispatch::Lane(1)) };
    by.queue.depth = 1_000;
    server.connect("x", &["s.out"], &ports, &by).unwrap();
    server.launch().unwrap();
    for number in 0..100 {
        let tap = server.entry::<Tap>("s").unwrap();
        tap.with(|tap, at| tap.out.push(at, &Number(number))).unwrap().unwrap();
    }
    for (_, name) in consumers {
        let kept = server.entry::<Keeper>(name).unwrap().with(|keeper, _| Arc::clone(&keeper.kept)).unwrap();
        patiently("the last event", || (kept.lock().unwrap().len() == 100).then_some(()));
        assert_eq!(*kept.lock().unwrap(), (0..100).collect::<Vec<_>>(), "{placement:?}: {name}");
    }
    // A thread that has just begun has no name yet.
    let are = || ["pl-a-", "pl-b-", "server-"].map(named);
    patiently_or(
        || format!("{placement:?}: {threads:?}, not {:?}", are()),
        || (are() == threads).then_some(()),
    );
    // With the last connection all of them end.
    server.disconnect("x").unwrap();
    patiently("no threads", || (are() == [0; 3]).then_some(()));
}

#[test]
fn channels_and_their_threads_are_of_a_component_a_container_or_the_server() {
    placed(Placement::Component, 1, [2, 2, 0]);
    placed(Placement::Container, 1, [1, 1, 0]);
    // Lanes that say the same are one; another one is beside it.
    placed(Placement::Server, 1, [0, 0, 1]);
    placed(Placement::Server, 2, [0, 0, 3]);
}
