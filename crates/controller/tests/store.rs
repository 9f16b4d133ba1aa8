//! What the store keeps, and what it says when it cannot.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;

use controller::store::{Change, FileStore, MemoryStore, Store};

/// A file in a folder of its own, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("punctual-store-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("grants.redb")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn put(number: u64, grant: &str) -> Change {
    (number, Some(grant.as_bytes().to_vec()))
}

#[test]
fn grants_and_epochs_survive_a_restart() {
    let folder = Folder::new("restart");
    let first = {
        let mut store = FileStore::open(&folder.file()).unwrap();
        store.change(&[put(1, "one"), put(2, "two")]).unwrap();
        store.change(&[put(1, "one again"), put(3, "three"), (3, None), (99, None)]).unwrap();
        store.next_epoch().unwrap()
    };
    let mut store = FileStore::open(&folder.file()).unwrap();
    assert_eq!(store.grants().unwrap(), [(1, b"one again".to_vec()), (2, b"two".to_vec())]);
    assert!(store.next_epoch().unwrap() > first);
}

#[test]
fn a_second_manager_is_refused_and_told_what_to_do() {
    let folder = Folder::new("second");
    let _first = FileStore::open(&folder.file()).unwrap();
    let Err(error) = FileStore::open(&folder.file()) else { panic!("two managers on one store") };
    let text = error.to_string();
    assert!(text.contains("grants.redb") && text.contains("--store"), "{text}");
}

#[test]
fn something_else_is_refused_and_left_as_it_is() {
    let folder = Folder::new("else");
    for content in [b"not a store, but somebody's letter".to_vec(), vec![0; 4096], vec![0xff; 10_000]] {
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
fn a_store_of_the_format_before_is_read_and_one_of_another_format_is_refused() {
    let folder = Folder::new("format");
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
    let grant: control::grant::Grant = serde_json::from_slice(&stored[0].1).unwrap();
    assert!(grant.ends.is_empty() && grant.hops.iter().all(|hop| hop.parent.is_none() && hop.group == 0));
    assert_eq!(format(3), Some(2), "programs of before do not read it any more");
    let Err(error) = FileStore::open(&folder.file()) else { panic!("a format that nobody knows") };
    assert!(error.to_string().contains("its format is 3"), "{error}");
}

#[test]
fn a_store_in_memory_has_larger_epochs_too() {
    let mut one = MemoryStore::default();
    one.change(&[put(7, "seven")]).unwrap();
    let first = one.next_epoch().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2));
    assert_eq!(one.grants().unwrap(), [(7, b"seven".to_vec())]);
    assert!(MemoryStore::default().next_epoch().unwrap() > first);
}
