//! The kernel's words about a futex that inherits priority (futex(2), FUTEX_LOCK_PI), with threads of one priority.
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use models::atomic::AtomicU32;
use models::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use models::{Condvar, Mutex, MutexGuard};

use crate::lock::Refused;

const WAITERS: u32 = 0x8000_0000;
const NUMBER: u32 = 0x3fff_ffff;

/// What the kernel knows of the word at an address.
#[derive(Default)]
struct Known {
    owner: u32,
    /// The waiting threads, the next one first.
    waiting: Vec<u32>,
}

#[derive(Default)]
struct Kernel {
    words: Mutex<HashMap<usize, Known>>,
    given: Condvar,
}

thread_local! {
    /// All threads of a model run on one thread of the system.
    static KERNEL: RefCell<Rc<Kernel>> = RefCell::default();
}

/// A model begins.
pub(crate) fn begin() {
    KERNEL.set(Rc::default());
}

pub(crate) fn this_thread() -> u32 {
    u32::try_from(models::thread_number()).unwrap()
}

pub(crate) fn lock(word: &AtomicU32, limit: Option<Duration>) -> Result<(), Refused> {
    let kernel = KERNEL.with_borrow(Rc::clone);
    let (me, place) = (this_thread(), std::ptr::from_ref(word).addr());
    let mut words = kernel.words.lock().unwrap();
    loop {
        match word.compare_exchange(0, me, Acquire, Relaxed) {
            Ok(_) => return Ok(()),
            Err(held) if held & WAITERS == 0 => {
                // From here on the owner comes to the kernel to free it.
                if word.compare_exchange(held, held | WAITERS, AcqRel, Relaxed).is_ok() {
                    words.entry(place).or_default().owner = held & NUMBER;
                    break;
                }
            }
            Err(_) => break,
        }
    }
    if is_circle(&words, place, me) {
        return Err(Refused::Circle);
    }
    words.entry(place).or_default().waiting.push(me);
    let waits = |words: &mut HashMap<usize, Known>| words.get(&place).is_some_and(|known| known.owner != me);
    let Some(limit) = limit else {
        while waits(&mut words) {
            words = kernel.given.wait(words).unwrap();
        }
        return Ok(());
    };
    let (mut words, _) = kernel.given.wait_timeout_while(words, limit, waits).unwrap();
    if !waits(&mut words) {
        return Ok(());
    }
    if let Some(known) = words.get_mut(&place) {
        known.waiting.retain(|other| *other != me);
    }
    Err(Refused::Late)
}

pub(crate) fn unlock(word: &AtomicU32) {
    let kernel = KERNEL.with_borrow(Rc::clone);
    let mut words = kernel.words.lock().unwrap();
    let known = words.entry(std::ptr::from_ref(word).addr()).or_default();
    if known.waiting.is_empty() {
        known.owner = 0;
        word.store(0, Release);
    } else {
        known.owner = known.waiting.remove(0);
        let more = if known.waiting.is_empty() { 0 } else { WAITERS };
        word.store(known.owner | more, Release);
    }
    drop(words);
    kernel.given.notify_all();
}

pub(crate) fn wait(word: &AtomicU32, value: u32, _: Option<Duration>) {
    models::futex::wait(word, value, Duration::MAX);
}

pub(crate) fn wake(word: &AtomicU32) {
    models::futex::wake(word);
}

/// Whether the owner of the word waits for a word of the calling thread, or for a word whose owner does.
fn is_circle(words: &MutexGuard<'_, HashMap<usize, Known>>, place: usize, me: u32) -> bool {
    let mut place = place;
    for _ in 0..words.len() {
        let Some(owner) = words.get(&place).map(|known| known.owner) else { return false };
        if owner == me {
            return true;
        }
        let next = words.iter().find(|(_, known)| known.waiting.contains(&owner));
        let Some((next, _)) = next else { return false };
        place = *next;
    }
    words.get(&place).is_some_and(|known| known.owner == me)
}
