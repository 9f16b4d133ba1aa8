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

#[test]
fn a_store_in_memory_has_larger_epochs_too() {
    let mut one = MemoryStore::default();
    one.change(&[put(7, "seven")]).unwrap();
    let first = one.next_epoch().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(2));
    assert_eq!(one.grants().unwrap(), [(7, b"seven".to_vec())]);
    assert!(MemoryStore::default().next_epoch().unwrap() > first);
}
