//! The thread of hooks: one that hangs is told of, and holds nothing else up.
use std::mem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::component::Hook;
use crate::context::Clock;
use crate::instance::Instance;
use crate::reports::Fault;

/// How long the thread waits for its next hook until it ends: longer than a process that goes on in the place of another one waits for
/// discovery, since starting a thread would be a part of the gap between both.
const IDLE: Duration = Duration::from_secs(10);

/// Runs hooks on a thread aside. It goes from one hook to the next, and is left to itself by a hook that takes too long.
pub(crate) struct Hooks {
    clock: Clock,
    thread: Option<HookThread>,
}

type Job = (Arc<dyn Instance>, Hook, Vec<u8>);
type Ended = (Result<(), Fault>, Vec<u8>);

/// A thread that waits for hooks, or runs one. It ends with this value, or after the hook that it is in then.
struct HookThread(Arc<Desk>);

/// What the thread and its owner share.
struct Desk {
    stage: Mutex<Stage>,
    /// A hook is to be run, has ended, or the thread is to end. That a hook begins is no reason to wake its owner.
    changed: Condvar,
}

/// The stage of a hook on its way.
enum Stage {
    Waiting,
    Told(Job),
    /// Its limit counts from here, so that a thread that the system starts late does not lead to the error state.
    Begun(Instant),
    Ended(Ended),
    /// The thread has ended, or is to end.
    Over,
}

impl Hooks {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self { clock: clock.clone(), thread: None }
    }

    /// Runs a hook. If it fails, the component is in the error state.
    pub(crate) fn run(
        &mut self,
        instance: &Arc<dyn Instance>,
        hook: Hook,
        state: Vec<u8>,
    ) -> Result<Vec<u8>, Fault> {
        let (ended, state) = self.ended(instance, hook, state);
        if let Err(fault) = &ended {
            instance.about().fail(fault.clone());
        }
        ended.map(|()| state)
    }

    fn ended(&mut self, instance: &Arc<dyn Instance>, hook: Hook, mut state: Vec<u8>) -> Ended {
        if let Clock::Virtual(_) = self.clock {
            return (instance.hook(hook, &mut state), state);
        }
        let mut job = (Arc::clone(instance), hook, state);
        let thread = loop {
            let thread = match self.thread.take() {
                Some(thread) => thread,
                None => match HookThread::start() {
                    Ok(thread) => thread,
                    Err(error) => return (Err(Fault::Thread(format!("{hook}: no thread: {error}"))), job.2),
                },
            };
            match thread.tell(job) {
                Ok(()) => break thread,
                // It has had nothing to do for long, and has ended.
                Err(again) => job = again,
            }
        };
        let limit = instance.limit(hook);
        match thread.wait(limit) {
            Some(Stage::Ended(ended)) => {
                self.thread = Some(thread);
                ended
            }
            Some(_) => (Err(Fault::Thread(format!("{hook}: its thread has ended"))), Vec::new()),
            // The thread is left to itself, and ends once the hook does.
            None => (Err(Fault::Overdue { hook, limit }), Vec::new()),
        }
    }
}

impl HookThread {
    fn start() -> std::io::Result<Self> {
        let desk = Arc::new(Desk { stage: Mutex::new(Stage::Waiting), changed: Condvar::new() });
        let own = AtEnd(Arc::clone(&desk));
        thread::Builder::new().name("hooks".to_owned()).spawn(move || {
            while let Some((instance, hook, mut state)) = own.0.next() {
                let ended = instance.hook(hook, &mut state);
                // The last reference may be this one: what a component does at its end is a part of the hook.
                drop(instance);
                own.0.end((ended, state));
            }
        })?;
        Ok(Self(desk))
    }

    /// Gives the thread a hook, unless it has ended.
    fn tell(&self, job: Job) -> Result<(), Job> {
        let mut stage = self.0.stage();
        if !matches!(*stage, Stage::Waiting) {
            return Err(job);
        }
        *stage = Stage::Told(job);
        drop(stage);
        self.0.changed.notify_all();
        Ok(())
    }

    /// Waits until the hook has ended, or its thread; `None` if it takes longer than the limit.
    fn wait(&self, limit: Duration) -> Option<Stage> {
        let mut stage = self.0.stage();
        loop {
            let left = match *stage {
                Stage::Ended(_) => return Some(mem::replace(&mut *stage, Stage::Waiting)),
                Stage::Over => return Some(Stage::Over),
                Stage::Begun(at) => limit.checked_sub(at.elapsed()).filter(|left| !left.is_zero())?,
                Stage::Waiting | Stage::Told(_) => limit,
            };
            stage = self.0.sleep(stage, left);
        }
    }
}

impl Drop for HookThread {
    fn drop(&mut self) {
        *self.0.stage() = Stage::Over;
        self.0.changed.notify_all();
    }
}

impl Desk {
    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep<'a>(&self, stage: MutexGuard<'a, Stage>, limit: Duration) -> MutexGuard<'a, Stage> {
        self.changed.wait_timeout(stage, limit).unwrap_or_else(PoisonError::into_inner).0
    }

    /// The next hook; `None` if the thread is to end, or has waited for long enough.
    fn next(&self) -> Option<Job> {
        let since = Instant::now();
        let mut stage = self.stage();
        loop {
            match mem::replace(&mut *stage, Stage::Waiting) {
                Stage::Told(job) => {
                    *stage = Stage::Begun(Instant::now());
                    return Some(job);
                }
                Stage::Over => {
                    *stage = Stage::Over;
                    return None;
                }
                before => *stage = before,
            }
            let left = IDLE.checked_sub(since.elapsed()).filter(|left| !left.is_zero());
            let Some(left) = left else {
                *stage = Stage::Over;
                return None;
            };
            stage = self.sleep(stage, left);
        }
    }

    /// The hook has ended. Whether anybody still waits for it is no matter.
    fn end(&self, ended: Ended) {
        let mut stage = self.stage();
        if matches!(*stage, Stage::Begun(_)) {
            *stage = Stage::Ended(ended);
        }
        drop(stage);
        self.changed.notify_all();
    }
}

/// Whatever ends the thread, its owner does not wait for it.
struct AtEnd(Arc<Desk>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        *self.0.stage() = Stage::Over;
        self.0.changed.notify_all();
    }
}
