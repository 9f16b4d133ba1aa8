//! With keys a switch is who shows that it is: others get nothing, and do no harm.
use std::net::TcpStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use keys::{Authority, Identity, Role};
use store::MemoryStore;
use tempfile::TempDir;
use testkit::openflow_switch::Switch;
use wire::admission::State;

use crate::fake;
use crate::site::{Asker, LISTEN, alone, managed_with, patiently, report};

struct Keys(TempDir);

impl Keys {
    fn new(roles: &[Role]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::open(folder.path()).unwrap();
        roles.iter().for_each(|role| assert!(authority.issue(*role).unwrap()));
        Self(folder)
    }

    fn load(&self, role: Role) -> Identity {
        Identity::load(self.0.path(), role).unwrap()
    }
}

fn copy(file: &str, from: &Path, to: &Path) {
    std::fs::copy(from.join(file), to.join(file)).unwrap();
}

#[test]
fn who_does_not_show_that_it_is_the_switch_gets_nothing() {
    alone(|| {
        let ours = Keys::new(&[Role::Manager, Role::Switch(1), Role::Switch(2)]);
        let theirs = Keys::new(&[Role::Switch(1)]);
        // It trusts the manager, which does not trust it.
        copy("authority.pem", ours.0.path(), theirs.0.path());
        let (first, second, stranger) =
            (ours.load(Role::Switch(1)), ours.load(Role::Switch(2)), theirs.load(Role::Switch(1)));
        let stop = &AtomicBool::new(false);
        // The switch itself comes when it is called.
        let come = &AtomicBool::new(false);
        // Another switch of the network, a switch of another authority, and one without TLS: all of them say that they are switch 1.
        let impostors = [Some(&second), Some(&stranger), None];
        let mut fakes: [Switch; 3] = Default::default();
        let mut switch = Switch::default();
        let config = control::config::Config::default();
        let manager = Some(ours.load(Role::Manager));
        managed_with(Box::new(MemoryStore::default()), config, manager, || {
            std::thread::scope(|scope| {
                for (fake, keys) in fakes.iter_mut().zip(impostors) {
                    scope.spawn(move || fake::run(fake, keys, stop));
                }
                scope.spawn(|| {
                    while !come.load(Ordering::Relaxed) && !stop.load(Ordering::Relaxed) {
                        std::thread::sleep(Duration::from_millis(10));
                    }
                    fake::run(&mut switch, Some(&first), stop);
                });
                // Those that connect and say nothing do not keep others out.
                let silent: Vec<_> = (0..20).map(|_| TcpStream::connect(LISTEN)).collect();
                let acted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    let began = Instant::now();
                    while began.elapsed() < Duration::from_secs(2) {
                        assert_eq!(report().0["switches"][0]["state"], "away");
                    }
                    come.store(true, Ordering::Relaxed);
                    let mut asker = Asker::new();
                    asker.ask(1, 0);
                    patiently("an admission", || {
                        asker.hear();
                        asker
                            .heard
                            .get(&1)
                            .is_some_and(|verdict| verdict.state == State::Admitted)
                            .then_some(())
                    });
                    // Impostors that come again do not put the switch out.
                    std::thread::sleep(Duration::from_secs(1));
                    assert_eq!(report().0["switches"][0]["state"], "ready");
                }));
                drop(silent);
                stop.store(true, Ordering::Relaxed);
                acted.unwrap();
            });
        })
        .unwrap();
        assert!(!switch.flows.is_empty());
        assert!(fakes.iter().all(|fake| fake.flows.is_empty() && fake.groups.is_empty()));
    });
}
