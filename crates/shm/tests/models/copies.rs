//! Chunks: what is copied out under its number is the message of that number, whole, or is refused.
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use models::thread;

use crate::chunks::{Chunk, ChunkWindow, Chunks, Place};

const NONCE: u64 = 7;

/// Memory of one page.
fn memory() -> (Arc<Chunks>, OwnedFd) {
    Chunks::new(NONCE, 4_096).unwrap()
}

/// How another process sees it.
fn window(file: &OwnedFd) -> ChunkWindow {
    ChunkWindow::open(file.as_fd(), NONCE).unwrap()
}

/// Writes a message; the model makes its bytes the number of the message.
fn write(chunks: &Arc<Chunks>) -> Option<Chunk> {
    let mut chunk = chunks.lend(16)?;
    assert_eq!(chunk.len(), 16);
    let _octets: &mut [u8] = &mut chunk;
    Some(chunk.freeze())
}

fn copy(window: &ChunkWindow, place: Place) -> Option<[u64; 2]> {
    let mut bytes = [0; 16];
    let copied = window.copy_out(place, 0, &mut bytes);
    let words = bytes.as_chunks::<8>().0;
    copied.then(|| [words[0], words[1]].map(u64::from_ne_bytes))
}

#[test]
fn a_message_that_is_copied_out_while_others_are_written_over_it_is_whole_or_refused() {
    models::check(3, || {
        let (chunks, file) = memory();
        let window = window(&file);
        let first = write(&chunks).unwrap();
        let place = first.place();
        let writer = thread::spawn(move || {
            drop(first);
            write(&chunks).unwrap()
        });
        // Nobody has told that there is a second one: its number alone says so.
        for number in [1, 2] {
            let copied = copy(&window, Place { number, ..place });
            assert!(copied.is_none_or(|words| words == [number; 2]), "{number}: {copied:?}");
        }
        let second = writer.join().unwrap();
        assert_eq!(copy(&window, second.place()), Some([2; 2]));
        drop(second);
        assert_eq!(copy(&window, Place { number: 2, ..place }), None);
    });
}

#[test]
fn pages_are_lent_again_only_when_nobody_holds_what_lies_there() {
    models::check(3, || {
        let (chunks, file) = memory();
        let (other_window, window) = (window(&file), window(&file));
        let first = write(&chunks).unwrap();
        let place = first.place();
        let other = first.clone();
        let holder = thread::spawn(move || {
            // As long as it is held it is what it was, for those who copy it and for those who look at it.
            assert_eq!(copy(&other_window, place), Some([place.number; 2]));
            assert_eq!(other.len(), 16);
            drop(other);
        });
        drop(first);
        let second = write(&chunks);
        holder.join().unwrap();
        let second = second.or_else(|| write(&chunks)).unwrap();
        assert_eq!(copy(&window, second.place()), Some([second.place().number; 2]));
    });
}
