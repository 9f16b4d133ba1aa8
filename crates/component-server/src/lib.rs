//! A program of component types as a component server.
//!
//! A program that deployment plans start links its types and calls [`serve!`]. `PROGRAM --describe` prints its manifest, as plans name it;
//! `PROGRAM --serve` does what the supervisor tells it, which `punctual deploy launch` starts. `PROGRAM --serve=PROCESS@PLAN` carries out a
//! process of a plan without a supervisor: `punctual deploy export` writes that for systemd and Kubernetes. `PROGRAM --replay=FILE` gives a
//! component what was recorded of it, in virtual time.
//!
//! ```
//! use container::{Component, Consumer, Context, Event, Handle, Lifecycle, Outcome, Publisher};
//! use dds::DdsType;
//!
//! #[derive(DdsType, Clone, Debug)]
//! struct Fix {
//!     x: f64,
//! }
//! impl Event for Fix {}
//!
//! #[derive(Component)]
//! struct Smoother {
//!     fix: Consumer<Fix>,
//!     smooth: Publisher<Fix>,
//!     #[setting(default = 0.5, range = 0.0..=1.0)]
//!     gain: f64,
//!     last: f64,
//! }
//! impl Lifecycle for Smoother {}
//! impl Handle<smoother::Fix> for Smoother {
//!     fn handle(&mut self, fix: &Fix, at: &Context) -> Outcome {
//!         self.last += self.gain * (fix.x - self.last);
//!         self.smooth.push(at, &Fix { x: self.last })
//!     }
//! }
//!
//! component_server::serve! { components: [Smoother], topics: [Fix] }
//! ```
//!
//! The program depends on `container` and `dds`, too. Events that go between processes are listed as topics: they need `DdsType`, which others do not.
#![forbid(unsafe_code)]

mod describe;
mod executor;
mod gateway;
mod hand_over;
mod handler_times;
mod host;
mod lanes;
mod program;
mod recorder;
mod replay;
mod scores;
mod session;
mod standalone;
mod topics;

pub use program::Program;
pub use replay::Replayed;

/// The function `main` of a component server: its component types, and the types of events that go between processes.
#[macro_export]
macro_rules! serve {
    (components: [$($component:ty),* $(,)?] $(, topics: [$($event:ty),* $(,)?])? $(,)?) => {
        fn main() -> ::std::process::ExitCode {
            let build = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));
            let program = $crate::Program::new(build);
            $(let program = program.component::<$component>();)*
            $($(let program = program.topic::<$event>(stringify!($event));)*)?
            program.main()
        }
    };
}
