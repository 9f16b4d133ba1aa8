//! What the store keeps, and what it says when it cannot.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

use store::{Change, FileStore, Key, MemoryStore, Store};
use tempfile::TempDir;
use testkit::patience::patiently;

/// A file in a folder of its own, which goes with it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("grants.redb")
    }
}

fn put(number: u64, grant: &str) -> Change {
    (Key::Grant(number), Some(grant.as_bytes().to_vec()))
}

#[test]
fn grants_and_epochs_survive_a_restart() {
    let folder = Folder::new();
    let first = {
        let mut store = FileStore::open(&folder.file()).unwrap();
        store.change(&[put(1, "one"), put(2, "two")]).unwrap();
        store
            .change(&[put(1, "one again"), put(3, "three"), (Key::Grant(3), None), (Key::Grant(99), None)])
            .unwrap();
        store.next_epoch().unwrap()
    };
    let mut store = FileStore::open(&folder.file()).unwrap();
    assert_eq!(store.grants().unwrap(), [(1, b"one again".to_vec()), (2, b"two".to_vec())]);
    assert!(store.next_epoch().unwrap() > first);
}

#[test]
fn a_second_manager_is_refused_and_told_what_to_do() {
    let folder = Folder::new();
    let _first = FileStore::open(&folder.file()).unwrap();
    let Err(error) = FileStore::open(&folder.file()) else { panic!("two managers on one store") };
    let text = error.to_string();
    assert!(text.contains("grants.redb") && text.contains("--store"), "{text}");
}

#[test]
fn something_else_is_refused_and_left_as_it_is() {
    let folder = Folder::new();
    // An image of a disk begins with zeros.
    let image = [vec![0; 100_000], b"CD001".to_vec()].concat();
    for content in [b"not a store, but a letter".to_vec(), image, vec![0xff; 10_000]] {
        std::fs::write(folder.file(), &content).unwrap();
        assert!(FileStore::open(&folder.file()).is_err());
        assert_eq!(std::fs::read(folder.file()).unwrap(), content);
    }
}

/// Of the time before trees: each grant is for one place, and its hops are a way.
const BEFORE: &str = r#"{"number":4,"pairs":[{"writer":[1,1,1,1,1,1,1,1,1,1,1,1,0,0,0,2],
    "reader":[2,2,2,2,2,2,2,2,2,2,2,2,0,0,0,7],"serial":9,"topic":"Picture","maximum_latency":5000000,"maximum_separation":0}],
    "source":[[10,0,0,1],5000],"destination":[[10,0,0,2],6000],
    "contract":{"largest_message":4000,"smallest_message":4000,"datagram":1472,"minimum_separation":10000000,
    "maximum_separation":0,"jitter":0,"emission":0,"importance":0},"maximum_latency":5000000,"maximum_separation":0,
    "hops":[{"from":"camera","to":"s1","number":0,"share":1000,"level":1},
    {"from":"s1","to":"display","number":2,"share":2000,"level":2}],"meter":0}"#;

#[test]
fn a_store_of_the_formats_before_is_read_and_one_of_another_format_is_refused() {
    let folder = Folder::new();
    let format = |number: u64| {
        let database = redb::Database::create(folder.file()).unwrap();
        let transaction = database.begin_write().unwrap();
        let meta = redb::TableDefinition::<&str, u64>::new("meta");
        let before = transaction
            .open_table(meta)
            .unwrap()
            .insert("format", number)
            .unwrap()
            .map(|before| before.value());
        let grants = redb::TableDefinition::<u64, &[u8]>::new("grants");
        transaction.open_table(grants).unwrap().insert(4, BEFORE.as_bytes()).unwrap();
        transaction.commit().unwrap();
        before
    };
    format(1);
    let stored = FileStore::open(&folder.file()).unwrap().grants().unwrap();
    assert_eq!(stored.len(), 1);
    // What programs of the time before drains have left.
    assert_eq!(format(2), Some(3));
    let stored_then = FileStore::open(&folder.file()).unwrap().kept().unwrap();
    assert_eq!(stored_then, [(Key::Grant(4), stored[0].1.clone())]);
    let grant: control::grant::Grant = serde_json::from_slice(&stored[0].1).unwrap();
    assert!(grant.ends.is_empty() && grant.hops.iter().all(|hop| hop.parent.is_none() && hop.group == 0));
    assert_eq!(format(4), Some(3), "programs of before do not read it any more");
    let Err(error) = FileStore::open(&folder.file()) else { panic!("an unknown format was read") };
    assert!(error.to_string().contains("its format is 4"), "{error}");
}

fn grants(store: &FileStore) -> Vec<u64> {
    store.grants().unwrap().iter().map(|(number, _)| *number).collect()
}

/// Changes until it works, which takes a moment after an error.
fn changes_again(store: &mut FileStore, change: &Change) {
    patiently("a change", || store.change(std::slice::from_ref(change)).ok());
}

/// Files beside the store that were damaged.
fn aside(folder: &Path) -> usize {
    let files = std::fs::read_dir(folder).unwrap();
    files.filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().contains("damaged")).count()
}

#[test]
fn a_store_of_zeros_is_put_aside_and_a_new_one_is_made() {
    let folder = Folder::new();
    for length in [1, 4_096, 1_000_000] {
        std::fs::write(folder.file(), vec![0; length]).unwrap();
        let mut store = FileStore::open(&folder.file()).unwrap();
        assert_eq!((grants(&store), aside(folder.0.path())), (vec![], 1), "{length}");
        store.change(&[put(1, "one")]).unwrap();
        drop(store);
        std::fs::remove_file(folder.0.path().join("grants.redb.damaged-1")).unwrap();
    }
}

#[test]
fn a_store_that_was_cut_off_is_put_aside_and_never_panics() {
    let folder = Folder::new();
    let whole = {
        let mut store = FileStore::open(&folder.file()).unwrap();
        let many: Vec<Change> = (0..500).map(|number| put(number, &"grant".repeat(100))).collect();
        store.change(&many).unwrap();
        drop(store);
        std::fs::read(folder.file()).unwrap()
    };
    let lengths = [
        0,
        9,
        64,
        320,
        512,
        4_096,
        5_000,
        8_192,
        65_536,
        whole.len() / 2,
        whole.len() - 4_096,
        whole.len() - 1,
    ];
    for (index, length) in lengths.into_iter().enumerate() {
        std::fs::write(folder.file(), &whole[..length]).unwrap();
        match FileStore::open(&folder.file()) {
            // A new one: what was there has another name.
            Ok(mut store) => {
                assert!(store.grants().unwrap().is_empty() || grants(&store).len() == 500, "{length}");
                store.change(&[put(1, "one")]).unwrap();
            }
            // Less than the beginning of a store is something else.
            Err(error) => panic!("{length}: {error}"),
        }
        assert!(aside(folder.0.path()) <= index + 1);
    }
    assert!(aside(folder.0.path()) >= lengths.len() - 2, "{} were put aside", aside(folder.0.path()));
}

#[test]
fn a_store_of_zeros_within_is_put_aside() {
    let folder = Folder::new();
    let mut content = {
        let mut store = FileStore::open(&folder.file()).unwrap();
        store.change(&[put(1, "one")]).unwrap();
        drop(store);
        std::fs::read(folder.file()).unwrap()
    };
    content[9..].fill(0);
    std::fs::write(folder.file(), &content).unwrap();
    let store = FileStore::open(&folder.file()).unwrap();
    assert_eq!((store.grants().unwrap().len(), aside(folder.0.path())), (0, 1));
}

#[test]
fn a_store_that_is_deleted_replaced_or_cut_off_while_it_is_open_is_whole_again() {
    let folder = Folder::new();
    let mut store = FileStore::open(&folder.file()).unwrap();
    let epoch = store.next_epoch().unwrap();
    let drain = (Key::Drain("s1".to_owned()), Some(b"why".to_vec()));
    store.change(&[put(1, "one"), put(2, "two"), drain]).unwrap();
    let spoilt: [fn(&Path); 4] = [
        |file| std::fs::remove_file(file).unwrap(),
        |file| {
            std::fs::remove_file(file).unwrap();
            std::fs::write(file, "").unwrap();
        },
        |file| std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(0).unwrap(),
        |file| std::fs::OpenOptions::new().write(true).open(file).unwrap().set_len(5_000).unwrap(),
    ];
    for (index, spoil) in (3..).zip(spoilt) {
        spoil(&folder.file());
        changes_again(&mut store, &put(index, "more"));
    }
    assert_eq!(grants(&store), [1, 2, 3, 4, 5, 6]);
    drop(store);
    let mut store = FileStore::open(&folder.file()).unwrap();
    assert_eq!(grants(&store), [1, 2, 3, 4, 5, 6]);
    assert_eq!(store.kept().unwrap().last(), Some(&(Key::Drain("s1".to_owned()), b"why".to_vec())));
    assert!(store.next_epoch().unwrap() > epoch);
}

/// In a file system of its own, which is full for a while.
#[test]
fn a_disk_that_was_full_once_does_no_harm() {
    let folder = Folder::new();
    let path = folder.0.path().to_owned();
    let tested = std::thread::spawn(move || {
        use nix::sched::{CloneFlags, unshare};
        if let Err(error) = unshare(CloneFlags::CLONE_NEWNS) {
            assert!(std::env::var_os("CI").is_none(), "a file system needs root: {error}");
            eprintln!("passed over: a file system needs root: {error}");
            return;
        }
        let mount = |arguments: &[&str]| {
            let done = std::process::Command::new("mount").args(arguments).arg(&path).status().unwrap();
            assert!(done.success(), "{arguments:?}");
        };
        assert!(
            std::process::Command::new("mount").args(["--make-rprivate", "/"]).status().unwrap().success()
        );
        mount(&["-t", "tmpfs", "-o", "size=8m", "none"]);
        let (file, filler) = (path.join("grants.redb"), path.join("filler"));
        let mut store = FileStore::open(&file).unwrap();
        store.change(&[put(1, "one")]).unwrap();
        let mut big = std::fs::File::create(&filler).unwrap();
        while std::io::Write::write_all(&mut big, &[1; 4_096]).is_ok() {}
        let large = "x".repeat(3_000);
        let failed = (2..2_000).find_map(|number| store.change(&[put(number, &large)]).err());
        let text = failed.expect("there is no room").to_string();
        assert!(text.contains("grants.redb"), "{text}");
        let kept = grants(&store);
        assert!(store.change(&[put(5_000, &large.repeat(100))]).is_err());
        assert_eq!(grants(&store), kept, "what was not stored is not there");
        drop(big);
        std::fs::remove_file(&filler).unwrap();
        changes_again(&mut store, &put(6_000, "later"));
        drop(store);
        let store = FileStore::open(&file).unwrap();
        assert_eq!(grants(&store), [kept, vec![6_000]].concat());
        assert_eq!(aside(&path), 0);
    });
    tested.join().unwrap();
}

#[test]
fn a_store_in_memory_has_larger_epochs_too() {
    let mut one = MemoryStore::default();
    one.change(&[put(7, "seven")]).unwrap();
    let first = one.next_epoch().unwrap();
    assert_eq!(one.grants().unwrap(), [(7, b"seven".to_vec())]);
    // An epoch is the time in milliseconds.
    patiently("a larger epoch", || (MemoryStore::default().next_epoch().unwrap() > first).then_some(()));
}
