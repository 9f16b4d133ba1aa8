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

type Job = (Arc<dyn Instance>, Vec<Hook>, Vec<u8>);
type Ended = (Result<(), Fault>, Vec<u8>);

/// A thread that waits for hooks, or runs one. It ends with this value, or after the hook that it is in then.
struct HookThread(Arc<Desk>);

/// What the thread and its owner share.
struct Desk {
    stage: Mutex<Stage>,
    /// A hook is to be run, has ended, or the thread is to end. That a hook begins is no reason to wake its owner.
    changed: Condvar,
}

/// The stage of hooks on their way.
enum Stage {
    Waiting,
    Told(Job),
    /// The limit of this hook counts from here, so that a thread that the system starts late does not lead to the error state.
    Begun(Hook, Instant),
    Ended(Ended),
    /// The thread has ended, or is to end.
    Over,
}

impl Hooks {
    pub(crate) fn new(clock: &Clock) -> Self {
        Self { clock: clock.clone(), thread: None }
    }

    /// Runs hooks of a component one after the other, until one fails: then the component is in the error state.
    pub(crate) fn run(
        &mut self,
        instance: &Arc<dyn Instance>,
        hooks: &[Hook],
        state: Vec<u8>,
    ) -> Result<Vec<u8>, Fault> {
        let (ended, state) = self.ended(instance, hooks, state);
        if let Err(fault) = &ended {
            instance.about().fail(fault.clone());
        }
        ended.map(|()| state)
    }

    fn ended(&mut self, instance: &Arc<dyn Instance>, hooks: &[Hook], mut state: Vec<u8>) -> Ended {
        if let Clock::Virtual(_) = self.clock {
            return (hooks.iter().try_for_each(|hook| instance.hook(*hook, &mut state)), state);
        }
        let unable = |what: String| {
            let names: Vec<String> = hooks.iter().map(ToString::to_string).collect();
            Err(Fault::Thread(format!("{}: {what}", names.join(" and "))))
        };
        let mut job = (Arc::clone(instance), hooks.to_vec(), state);
        let thread = loop {
            let thread = match self.thread.take() {
                Some(thread) => thread,
                None => match HookThread::start() {
                    Ok(thread) => thread,
                    Err(error) => return (unable(format!("no thread: {error}")), job.2),
                },
            };
            match thread.tell(job) {
                Ok(()) => break thread,
                // It has had nothing to do for long, and has ended.
                Err(again) => job = again,
            }
        };
        match thread.wait(|hook| instance.limit(hook)) {
            Stage::Ended(ended) => {
                self.thread = Some(thread);
                ended
            }
            // The thread is left to itself, and ends once the hook does.
            Stage::Begun(hook, _) => (Err(Fault::Overdue { hook, limit: instance.limit(hook) }), Vec::new()),
            _ => (unable("its thread has ended".to_owned()), Vec::new()),
        }
    }
}

impl HookThread {
    fn start() -> std::io::Result<Self> {
        let desk = Arc::new(Desk { stage: Mutex::new(Stage::Waiting), changed: Condvar::new() });
        let own = AtEnd(Arc::clone(&desk));
        thread::Builder::new().name("hooks".to_owned()).spawn(move || {
            while let Some((instance, hooks, mut state)) = own.0.next() {
                let mut ended = Ok(());
                for hook in hooks {
                    if !own.0.begin(hook) {
                        return;
                    }
                    ended = instance.hook(hook, &mut state);
                    if ended.is_err() {
                        break;
                    }
                }
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

    /// Waits until the hooks have ended, or their thread, or one has taken longer than its limit.
    fn wait(&self, limit: impl Fn(Hook) -> Duration) -> Stage {
        let mut stage = self.0.stage();
        loop {
            let left = match *stage {
                Stage::Ended(_) => return mem::replace(&mut *stage, Stage::Waiting),
                Stage::Over => return Stage::Over,
                Stage::Begun(hook, at) => match limit(hook).checked_sub(at.elapsed()) {
                    Some(left) if !left.is_zero() => left,
                    _ => return mem::replace(&mut *stage, Stage::Over),
                },
                // That a hook begins does not wake the owner: it is looked at once the limit of the first may be over.
                Stage::Told((_, ref hooks, _)) => hooks.first().map_or(Duration::ZERO, |hook| limit(*hook)),
                Stage::Waiting => return Stage::Over,
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
                    if let Some(first) = job.1.first() {
                        *stage = Stage::Begun(*first, Instant::now());
                    }
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

    /// A hook begins; says whether its owner still waits for it.
    fn begin(&self, hook: Hook) -> bool {
        let mut stage = self.stage();
        let is_awaited = matches!(*stage, Stage::Begun(..));
        if is_awaited {
            *stage = Stage::Begun(hook, Instant::now());
        }
        is_awaited
    }

    /// The hooks have ended. Whether the owner still waits for them is no matter.
    fn end(&self, ended: Ended) {
        let mut stage = self.stage();
        if matches!(*stage, Stage::Begun(..)) {
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
