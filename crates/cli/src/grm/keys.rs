//! `punctual grm keys`: keys and certificates for those who speak with a manager.
use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;
use keys::{Authority, Role};

use crate::exit::{Failure, Outcome};

/// Command line of `punctual grm keys`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  \
    punctual grm keys keys --network ward.toml      for the manager, all switches of the file and their gates\n  \
    punctual grm keys keys switch-3 gates-3         for one more switch, with datapath id 3\n  \
    punctual grm keys keys store                    for the members of etcd, if they keep grants\n  \
    punctual grm keys keys user-alice               for participants of alice, which ask for flows\n  \
    punctual grm keys keys operator-ann             for commands of ann, and her browser\n  \
    punctual grm keys keys manager node-east        for punctual deploy manager, and the node manager of the host east\n  \
    punctual grm keys keys domain-65001             for punctual rm, the manager of the domain AS 65001\n\n\
    What is there already is kept. authority.key can sign any certificate: keep it where the network cannot reach it. To take a certificate\n\
    back, make another authority and issue all anew. See docs/grm.md.")]
pub(crate) struct Arguments {
    /// The folder; it is made if it is not there.
    folder: PathBuf,
    /// The owners of the keys: manager, store, switch-N or gates-N, where N is the datapath id of the switch, user-NAME, operator-NAME or node-NAME, or domain-N, where N is the number of the AS.
    #[arg(value_name = "ROLE", required_unless_present = "network")]
    roles: Vec<Role>,
    /// For all of a network file: its manager, its switches, and their gates.
    #[arg(long, value_name = "FILE")]
    network: Option<PathBuf>,
    /// For how many days certificates that are made now hold.
    #[arg(long, value_name = "NUMBER", default_value_t = 3_650, value_parser = clap::value_parser!(i64).range(1..=36_500))]
    days: i64,
}

/// Makes them, and says which.
pub(crate) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut roles: BTreeSet<Role> = arguments.roles.iter().copied().collect();
    if let Some(file) = &arguments.network {
        let network = network::Network::open(file).map_err(|problem| Failure::Usage(problem.to_string()))?;
        roles.insert(Role::Manager);
        let datapaths = network.switches().iter().map(|switch| switch.datapath);
        roles.extend(datapaths.flat_map(|datapath| [Role::Switch(datapath), Role::Gates(datapath)]));
    }
    let failed = |error: &dyn std::fmt::Display| Failure::System(error.to_string());
    let authority = Authority::open(&arguments.folder).map_err(|error| failed(&error))?;
    for role in roles {
        let said = if authority.issue_for(role, arguments.days).map_err(|error| failed(&error))? {
            "made"
        } else {
            "kept"
        };
        println!("{said} {}", arguments.folder.join(format!("{role}.pem")).display());
    }
    Ok(Outcome::Done)
}
