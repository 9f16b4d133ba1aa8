//! What every store does: in memory, in a file, and in a real etcd, in a network namespace of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use store::{Address, Change, EtcdStore, FileStore, Key, MemoryStore, Standing, Store};
use testkit::etcd::Etcd;
use testkit::namespace::alone;
use testkit::patience::patiently;
use testkit::random::Random;

fn put(number: u64, grant: &[u8]) -> Change {
    (Key::Grant(number), Some(grant.to_vec()))
}

fn drain(switch: &str, why: Option<&[u8]>) -> Change {
    (Key::Drain(switch.to_owned()), why.map(<[u8]>::to_vec))
}

/// Names of switches that a store may not take for something else.
const NAMES: [&str; 6] = ["s1", "a/b", "Schalter \u{fc}ber dem Tisch", "0", "", "\u{10ffff}\n"];

/// Takes the next epoch. A manager of etcd whose machine stood still for longer than its lease has to lead again before.
fn begin(store: &mut dyn Store) -> u64 {
    patiently("an epoch", || {
        if let Standing::StandsBy(_) = store.standing() {
            store.stand_by();
        }
        store.next_epoch().ok()
    })
}

/// Changes something. On a machine that stands still etcd may take longer than a change may, and then the same change is made once more.
fn change(store: &mut dyn Store, changes: &[Change]) {
    patiently("a change", || {
        let changed = store.change(changes).ok();
        if changed.is_none() {
            begin(store);
        }
        changed
    });
}

/// A store of the same place each time, which may change something now.
type Open<'o> = &'o dyn Fn() -> Box<dyn Store>;

fn conforms(open: Open<'_>, survives: bool) {
    let mut store = open();
    let first = begin(&mut *store);
    assert!(first > 1_600_000_000_000, "not below the time: {first}");
    assert_eq!(store.grants().unwrap(), []);
    // In this order.
    let first_ones =
        [put(1, b"one"), put(2, b"two"), (Key::Grant(2), None), put(1, b"one again"), (Key::Grant(99), None)];
    change(&mut *store, &first_ones);
    change(&mut *store, &[put(u64::MAX, &[0, 255, 10, 13]), put(0, b"")]);
    change(&mut *store, &[]);
    let all = [(0, b"".to_vec()), (1, b"one again".to_vec()), (u64::MAX, vec![0, 255, 10, 13])];
    assert_eq!(store.grants().unwrap(), all);
    // Beside grants, and in one transaction with them.
    let gone = [
        drain("gone", Some(b"soon")),
        (Key::Grant(5), Some(vec![5])),
        drain("gone", None),
        (Key::Grant(5), None),
    ];
    change(&mut *store, &gone);
    change(&mut *store, &NAMES.map(|name| drain(name, Some(name.as_bytes()))));
    change(&mut *store, &[drain("s1", Some(b"again")), drain("nothing", None)]);
    let mut drains: Vec<(Key, Vec<u8>)> =
        NAMES.iter().map(|name| (Key::Drain((*name).to_owned()), name.as_bytes().to_vec())).collect();
    drains[0].1 = b"again".to_vec();
    drains.sort_unstable();
    let kept = |store: &dyn Store| {
        let kept = store.kept().unwrap();
        assert!(kept.is_sorted(), "{kept:?}");
        kept.into_iter().filter(|(key, _)| matches!(key, Key::Drain(_))).collect::<Vec<_>>()
    };
    assert_eq!(kept(&*store), drains);
    assert_eq!(store.grants().unwrap(), all);
    // Deployments, beside all else.
    let deployment = |name: &str, value: &[u8]| (Key::Deployment(name.to_owned()), value.to_vec());
    let all_deployments = [deployment("a", b"plan"), deployment("b/c", &[0, 255])];
    for (key, value) in &all_deployments {
        change(&mut *store, &[(key.clone(), Some(value.clone()))]);
    }
    change(&mut *store, &[(Key::Deployment("gone".to_owned()), Some(vec![1]))]);
    change(&mut *store, &[(Key::Deployment("gone".to_owned()), None)]);
    let deployments = |store: &dyn Store| {
        let kept = store.kept().unwrap();
        kept.into_iter().filter(|(key, _)| matches!(key, Key::Deployment(_))).collect::<Vec<_>>()
    };
    assert_eq!(deployments(&*store), all_deployments);
    // What the manager of a domain holds, beside all else.
    let held = |name: &str, value: &[u8]| (Key::Interdomain(name.to_owned()), value.to_vec());
    let all_held = [held("a-1", b"one"), held("own-1-2", &[0, 255])];
    for (key, value) in &all_held {
        change(&mut *store, &[(key.clone(), Some(value.clone()))]);
    }
    change(&mut *store, &[(Key::Interdomain("gone".to_owned()), Some(vec![1]))]);
    change(&mut *store, &[(Key::Interdomain("gone".to_owned()), None)]);
    let interdomain = |store: &dyn Store| {
        let kept = store.kept().unwrap();
        kept.into_iter().filter(|(key, _)| matches!(key, Key::Interdomain(_))).collect::<Vec<_>>()
    };
    assert_eq!(interdomain(&*store), all_held);
    assert_eq!(store.grants().unwrap(), all);
    // One network file, which may be as large as the store says, beside grants.
    let network = |store: &dyn Store| {
        let found = store.kept().unwrap().into_iter().find(|(key, _)| *key == Key::Network);
        found.map(|(_, file)| file)
    };
    assert_eq!(network(&*store), None);
    let file = vec![b'#'; store.most_bytes_of_network().min(2 << 20)];
    change(&mut *store, &[(Key::Network, Some(b"former".to_vec()))]);
    change(&mut *store, &[(Key::Network, None)]);
    assert_eq!(network(&*store), None);
    change(&mut *store, &[(Key::Network, Some(file.clone())), put(77, &[7; 9_000]), (Key::Grant(77), None)]);
    assert!(network(&*store).as_ref() == Some(&file));
    drop(store);
    let mut store = open();
    let second = begin(&mut *store);
    if !survives {
        return;
    }
    assert!(second > first, "{second} {first}");
    assert_eq!(store.grants().unwrap(), all);
    assert_eq!(kept(&*store), drains);
    assert_eq!(deployments(&*store), all_deployments);
    assert_eq!(interdomain(&*store), all_held);
    assert!(network(&*store).as_ref() == Some(&file));
    let third = begin(&mut *store);
    assert!(third > second);
    // Many, large ones among them, changed at random, are there as a map of them says, again and again.
    let mut wanted: std::collections::BTreeMap<u64, Vec<u8>> = all.into_iter().collect();
    let mut random = Random::of_case(7, 0);
    for round in 0..40 {
        let changes: Vec<Change> = (0..random.range(1, 64))
            .map(|_| {
                let number = random.below_u64(300);
                let length = if random.one_in(50) { 9_000 } else { random.below(300) };
                let grant = vec![u8::try_from(round).unwrap(); length];
                (Key::Grant(number), (!random.one_in(4)).then_some(grant))
            })
            .collect();
        change(&mut *store, &changes);
        for (key, grant) in changes {
            let Key::Grant(number) = key else { continue };
            match grant {
                Some(grant) => wanted.insert(number, grant),
                None => wanted.remove(&number),
            };
        }
        if round % 10 == 9 {
            drop(store);
            store = open();
            begin(&mut *store);
        }
        let there: std::collections::BTreeMap<u64, Vec<u8>> = store.grants().unwrap().into_iter().collect();
        assert!(there == wanted, "round {round}");
        assert_eq!(kept(&*store), drains);
    }
}

#[test]
fn memory_conforms() {
    conforms(&|| Box::new(MemoryStore::default()), false);
}

#[test]
fn a_file_conforms() {
    let folder = tempfile::tempdir().unwrap();
    conforms(&|| Box::new(FileStore::open(&folder.path().join("grants")).unwrap()), true);
}

/// Leases of six seconds, of which tests use four and a half: a machine that stands still for a second costs no manager its lead.
const LONG_LEASE: [&str; 2] = ["--election-timeout", "4000"];

/// Runs a test with an etcd in a namespace.
fn with_etcd(arguments: &[&str], test: impl FnOnce(Etcd) + Send) {
    if !testkit::etcd::is_there() {
        return;
    }
    alone(|| test(Etcd::start(2379, arguments)));
}

fn address(etcd: &Etcd) -> Address {
    etcd.url().parse().unwrap()
}

/// Waits until this manager leads.
fn leads(store: &EtcdStore) {
    patiently("the lead", || (store.standing() == Standing::Leads).then_some(()));
}

/// A store in etcd that leads.
fn leader(address: &Address) -> EtcdStore {
    let store = EtcdStore::open(address, None).unwrap();
    leads(&store);
    store
}

/// What `etcdctl` would do, by the interface that every client has.
fn by_hand(etcd: &Etcd, key: &str, value: &str) {
    assert!(etcd.put(key, value), "{key}");
}

#[test]
fn etcd_conforms() {
    with_etcd(&LONG_LEASE, |etcd| conforms(&|| Box::new(leader(&address(&etcd))), true));
}

#[test]
fn one_of_two_leads_and_the_other_one_follows_with_all_that_is_there() {
    with_etcd(&LONG_LEASE, |etcd| {
        let address = address(&etcd);
        let mut one = leader(&address);
        let first = begin(&mut one);
        change(&mut one, &[put(1, b"one")]);
        let mut other = EtcdStore::open(&address, None).unwrap();
        let own = format!("process {}", std::process::id());
        patiently("the name of the leader", || {
            matches!(other.standing(), Standing::StandsBy(Some(holder)) if holder.contains(&own))
                .then_some(())
        });
        assert!(other.next_epoch().unwrap_err().to_string().contains("does not lead"));
        assert!(other.change(&[put(2, b"two")]).is_err());
        drop(one);
        leads(&other);
        assert!(begin(&mut other) > first);
        assert_eq!(other.grants().unwrap(), [(1, b"one".to_vec())]);
    });
}

#[test]
fn who_has_lost_the_lead_changes_nothing_and_does_not_lead_before_it_stands_by() {
    with_etcd(&LONG_LEASE, |etcd| {
        let address = address(&etcd);
        let mut one = leader(&address);
        begin(&mut one);
        change(&mut one, &[put(1, b"one")]);
        // Its key is deleted, and the next one is faster than it notices.
        let mut other = EtcdStore::open(&address, None).unwrap();
        assert!(etcd.delete("/punctual/grm/leader"));
        leads(&other);
        begin(&mut other);
        change(&mut other, &[put(1, b"other")]);
        patiently("the refusal", || {
            let error = one.change(&[put(1, b"stale"), put(2, b"stale")]).unwrap_err().to_string();
            (error.contains("another manager leads") || error.contains("does not lead")).then_some(())
        });
        assert_ne!(one.standing(), Standing::Leads);
        drop(other);
        // As long as it has not said that it acts no longer it does not lead, though it sees that no manager does: a third one can.
        patiently("a time without a leader", || (one.standing() == Standing::StandsBy(None)).then_some(()));
        let third = leader(&address);
        assert_ne!(one.standing(), Standing::Leads);
        drop(third);
        one.stand_by();
        leads(&one);
        begin(&mut one);
        assert_eq!(one.grants().unwrap(), [(1, b"other".to_vec())]);
    });
}

#[test]
fn a_leader_is_unsure_without_etcd_and_sure_again_with_it() {
    with_etcd(&[], |mut etcd| {
        let address = address(&etcd);
        let mut store = leader(&address);
        begin(&mut store);
        change(&mut store, &[put(1, b"one")]);
        etcd.kill();
        let error = store.change(&[put(2, b"two")]).unwrap_err().to_string();
        assert!(error.contains("cannot be reached") && error.contains("127.0.0.1:2379"), "{error}");
        patiently("doubt", || (store.standing() == Standing::Unsure).then_some(()));
        assert!(store.trouble().unwrap().contains("cannot be reached"));
        // One that starts now waits.
        let other = EtcdStore::open(&address, None).unwrap();
        assert_eq!(other.standing(), Standing::StandsBy(None));
        drop(other);
        etcd.run(std::process::Command::new("etcd"));
        begin(&mut store);
        assert_eq!(store.grants().unwrap(), [(1, b"one".to_vec())]);
        change(&mut store, &[put(2, b"two")]);
        drop(store);
        let mut store = leader(&address);
        begin(&mut store);
        assert_eq!(store.grants().unwrap(), [(1, b"one".to_vec()), (2, b"two".to_vec())]);
    });
}

/// Programs of the formats before overlook drains, or the network file: they must not lead any more.
#[test]
fn an_etcd_of_a_format_before_is_read_and_is_of_this_one_then() {
    for format in ["punctual grants 2", "punctual grants 3"] {
        with_etcd(&[], |etcd| {
            by_hand(&etcd, "/punctual/grm/format", format);
            by_hand(&etcd, "/punctual/grm/grants/0000000000000007", "seven");
            let mut store = leader(&address(&etcd));
            begin(&mut store);
            assert_eq!(store.kept().unwrap(), [(Key::Grant(7), b"seven".to_vec())]);
            assert_eq!(etcd.get("/punctual/grm/format").as_deref(), Some("punctual grants 4"));
        });
    }
}

#[test]
fn managers_of_one_store_know_it_by_its_identity_and_it_stays() {
    with_etcd(&LONG_LEASE, |etcd| {
        let identity = |store: &EtcdStore| patiently("the identity", || store.identity());
        let mut one = leader(&address(&etcd));
        begin(&mut one);
        let first = identity(&one);
        let other = EtcdStore::open(&address(&etcd), None).unwrap();
        assert_eq!(identity(&other), first);
        drop(one);
        let mut other = other;
        leads(&other);
        begin(&mut other);
        assert_eq!(etcd.get("/punctual/grm/identity").as_deref(), Some(&*first));
        // Another name is another store.
        let mut elsewhere = leader(&format!("{}/ward", etcd.url()).parse().unwrap());
        begin(&mut elsewhere);
        assert_ne!(identity(&elsewhere), first);
        assert_eq!(MemoryStore::default().identity(), None);
    });
}

/// What is in doubt and what is new are more than etcd takes at once: they are written one after the other.
#[test]
fn a_network_file_in_doubt_is_taken_back_however_much_is_written_beside_it() {
    with_etcd(&LONG_LEASE, |mut etcd| {
        let mut store = leader(&address(&etcd));
        begin(&mut store);
        let most = store.most_bytes_of_network();
        let file = |byte: u8| (Key::Network, Some(vec![byte; most]));
        change(&mut store, &[file(b'1')]);
        etcd.kill();
        assert!(store.change(&[file(b'2')]).is_err());
        etcd.run(std::process::Command::new("etcd"));
        let large: Vec<Change> = (0..60).map(|number| put(number, &[7; 9_000])).collect();
        patiently("the grants", || {
            let changed = store.change(&large).ok();
            if changed.is_none() && store.standing() != Standing::Leads {
                begin(&mut store);
            }
            changed
        });
        drop(store);
        let mut store = leader(&address(&etcd));
        begin(&mut store);
        let kept = store.kept().unwrap();
        assert!(kept.len() == 61 && kept[60].1 == vec![b'1'; most], "{}", kept.len());
        let said = store.unreadable(&Key::Network, "is odd").to_string();
        assert!(said.contains("/punctual/grm/network is odd") && said.contains("etcdctl del"), "{said}");
    });
}

#[test]
fn without_space_nothing_changes_and_it_is_said_what_to_do() {
    let quota = [&LONG_LEASE[..], &["--quota-backend-bytes", "200000"]].concat();
    with_etcd(&quota, |etcd| {
        let mut store = leader(&address(&etcd));
        begin(&mut store);
        let (big, mut kept) = (vec![7; 30_000], 0);
        let error = patiently("an etcd without space", || {
            loop {
                match store.change(&[put(kept, &big)]) {
                    Ok(()) => kept += 1,
                    Err(error) => break Some(error.to_string()).filter(|error| error.contains("NOSPACE")),
                }
            }
        });
        assert!(error.contains("alarm disarm"), "{error}");
        // Its lease goes on to be renewed, and it leads, with what there is.
        let before = etcd.renewals().unwrap();
        patiently("renewals", || etcd.renewals().filter(|renewals| *renewals >= before + 2));
        leads(&store);
        assert_eq!(store.grants().unwrap().len() as u64, kept);
    });
}

#[test]
fn what_something_else_has_written_is_named_and_ends_nothing() {
    for (key, value, wanted) in [
        ("format", "punctual grants 9", "is what this program reads"),
        ("epoch", "soon", "is no epoch"),
        ("epoch", "18446744073709551615", "is no epoch"),
        ("epoch", "-1", "is no epoch"),
        ("grants/1", "short", "is none of the grants"),
        ("grants/00000000000000FF", "not as it is written", "is none of the grants"),
        ("grants/zzzzzzzzzzzzzzzz", "no number", "is none of the grants"),
    ] {
        with_etcd(&[], |etcd| {
            by_hand(&etcd, &format!("/punctual/grm/{key}"), value);
            let error = patiently("what is wrong", || {
                let opened = EtcdStore::open(&address(&etcd), None).and_then(|mut store| {
                    leads(&store);
                    store.next_epoch()
                });
                // That etcd answered too late says nothing of what is written there.
                Some(opened.unwrap_err().to_string()).filter(|error| !error.contains("cannot be reached"))
            });
            let has_all = [wanted, "/punctual/grm/", "etcdctl del", "127.0.0.1:2379"]
                .iter()
                .all(|word| error.contains(word));
            assert!(has_all, "{key}={value}: {error}");
        });
    }
    with_etcd(&[], |etcd| {
        // Another program holds the lead for ever, under a name that wants to be more than a name.
        by_hand(&etcd, "/punctual/grm/leader", &format!("\u{1b}[31m\n{}", "x".repeat(100_000)));
        let store = EtcdStore::open(&address(&etcd), None).unwrap();
        patiently("its name", || {
            let Standing::StandsBy(Some(name)) = store.standing() else { return None };
            assert!(name.len() < 300 && !name.contains(char::is_control), "{name}");
            Some(())
        });
    });
    with_etcd(&[], |etcd| {
        let mut store = leader(&address(&etcd));
        begin(&mut store);
        by_hand(&etcd, "/punctual/grm/sequence", "1:1");
        patiently("what is wrong", || {
            let error = store.change(&[put(1, b"one")]).unwrap_err().to_string();
            (error.contains("sequence") && error.contains("1:1")).then_some(())
        });
    });
}

#[test]
fn what_is_no_etcd_is_named() {
    for answer in [
        "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone".to_owned(),
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]".to_owned(),
        "HTTP/1.1 200 OK\r\n\r\n{\"header\":".to_owned(),
        format!("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n{}", " ".repeat(20 << 20)),
        format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "y".repeat(1 << 20)),
        "\u{16}\u{3}\u{1}".to_owned(),
    ] {
        alone(|| {
            use std::io::{Read as _, Write as _};
            let listener = std::net::TcpListener::bind("127.0.0.1:2379").unwrap();
            std::thread::spawn(move || {
                for mut stream in listener.incoming().flatten() {
                    let answer = answer.clone();
                    std::thread::spawn(move || {
                        let _ = stream.read(&mut [0; 4_096]);
                        let _ = stream.write_all(answer.as_bytes());
                    });
                }
            });
            match EtcdStore::open(&"http://127.0.0.1".parse().unwrap(), None) {
                Err(error) => assert!(error.to_string().contains("no etcd 3.4"), "{error}"),
                Ok(store) => assert_ne!(store.standing(), Standing::Leads),
            }
        });
    }
}

#[test]
fn with_keys_etcd_shows_that_it_is_the_store_and_serves_managers_of_its_authority() {
    use keys::{Authority, Identity, Role};
    if !testkit::etcd::is_there() {
        return;
    }
    alone(|| {
        let made = tempfile::tempdir().unwrap();
        let folder = made.path();
        let theirs = folder.join("theirs");
        let authority = Authority::open(folder).unwrap();
        for role in [Role::Manager, Role::Store, Role::Gates(1)] {
            authority.issue(role).unwrap();
        }
        Authority::open(&theirs).unwrap().issue(Role::Manager).unwrap();
        let file = |name: &str| folder.join(name).to_str().unwrap().to_owned();
        let serving = |role: &str| {
            let (cert, key, trusted) =
                (file(&format!("{role}.pem")), file(&format!("{role}.key")), file("authority.pem"));
            let url = "https://127.0.0.1:2379";
            let names = [
                ["--listen-client-urls", url],
                ["--advertise-client-urls", url],
                ["--cert-file", &cert],
                ["--key-file", &key],
                ["--trusted-ca-file", &trusted],
            ];
            Etcd::start(2379, &[names.as_flattened(), &["--client-cert-auth"]].concat())
        };
        let manager = Identity::load(folder, Role::Manager).unwrap();
        let address: Address = "https://127.0.0.1:2379".parse().unwrap();
        let etcd = serving("store");
        let mut store = EtcdStore::open(&address, Some(&manager)).unwrap();
        begin(&mut store);
        change(&mut store, &[put(1, b"one")]);
        drop(store);
        let error = EtcdStore::open(&address, None).unwrap_err().to_string();
        assert!(error.contains("--keys"), "{error}");
        let stranger = Identity::load(&theirs, Role::Manager).unwrap();
        let store = EtcdStore::open(&address, Some(&stranger)).unwrap();
        assert_ne!(store.standing(), Standing::Leads);
        patiently("why not", || store.trouble());
        drop((store, etcd));
        // One that is something else of the same authority.
        let etcd = serving("gates-1");
        let store = EtcdStore::open(&address, Some(&manager)).unwrap();
        patiently("why not", || store.trouble().filter(|trouble| trouble.contains("certificate")));
        assert_ne!(store.standing(), Standing::Leads);
        drop((store, etcd));
    });
}
