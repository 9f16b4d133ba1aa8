//! The resource manager of one domain as a program, `punctual rm`, and the commands that ask it.
//!
//! [`wan::ResourceManager`] decides. Here are the file of a domain ([`DomainFile`]), connections between managers of domains, the store, the inside of
//! a domain ([`Backend`]: [`LinuxRouters`] sets routers up, [`Lan`] asks the manager of a LAN, [`Declared`] sets up nothing), callees, and the local socket ([`Client`]). `docs/decisions/0038-manager-of-a-domain.md`
//! says why.
#![forbid(unsafe_code)]

mod accounts;
mod authorization;
mod backend;
mod bgp_announcing;
mod bgp_table;
mod bgp_watch;
mod callees;
mod command;
pub mod conformance;
mod control;
mod convert;
mod declared;
mod domain_file;
mod durable;
mod event;
mod flow_text;
mod framing;
mod held_back;
mod incoming;
mod keeper;
mod lan;
mod link_watch;
mod linux_routers;
mod looks;
mod open_vswitch;
mod outgoing;
mod page;
mod permitted;
pub mod protocol;
mod running_manager;
mod serve;
mod status;
mod told_paths;
mod wording;

pub use backend::Backend;
pub use bgp_table::routes as bgp_routes;
pub use command::{Arguments, run};
pub use control::{Client, NoManager};
pub use declared::{Declared, InnerLink, Inside, Node};
pub use domain_file::{BgpSource, CalleeAnswer, CalleeRule, DomainFile, Within, prefix};
pub use flow_text::parse as parse_flow;
pub use lan::{BorderStation, Clock as LanClock, EdgeStation, Lan, LanManager, LanPlan, Service};
pub use linux_routers::{LinuxRouters, Routers};
pub use open_vswitch::Switches;
