//! A program that runs while a test goes on.
use std::process::{Child, Command, Output};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A process; it is killed with this value.
#[derive(Debug)]
pub struct Background(Option<Child>);

impl Background {
    /// Starts it.
    ///
    /// # Panics
    /// If it cannot be started.
    pub fn start(command: &mut Command) -> Self {
        Self(Some(command.spawn().expect("the program starts")))
    }

    /// Waits for the end; what went to pipes comes along.
    ///
    /// # Panics
    /// If it cannot be waited for.
    pub fn end(mut self) -> Output {
        let child = self.0.take().expect("it ends once");
        child.wait_with_output().expect("it can be waited for")
    }

    /// Its number.
    ///
    /// # Panics
    /// Never: it has one as long as this value lives.
    pub fn process(&self) -> u32 {
        self.0.as_ref().map(Child::id).expect("a process")
    }

    /// Ctrl-C.
    ///
    /// # Panics
    /// If the process cannot be told.
    pub fn signal(&self) {
        let id = i32::try_from(self.process()).expect("a number");
        kill(Pid::from_raw(id), Signal::SIGINT).expect("a process of this test");
    }

    /// Ctrl-C, and the end.
    pub fn interrupt(self) -> Output {
        self.signal();
        self.end()
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
