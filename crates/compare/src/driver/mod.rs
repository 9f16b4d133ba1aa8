//! The drivers of this program: what a process does that is measured. Drivers of other middleware are in the folder `bench/peers`.
mod loaned;
mod measure;
mod ours;
mod ports;
mod raw;

use clap::ValueEnum;

use ports::{Carrier, Transfer, Way};

/// Command line of a driver.
#[derive(clap::Args, Clone, Debug)]
pub struct DriverArguments {
    /// What is measured.
    #[arg(value_enum)]
    what: What,
    /// A role and its terms.
    words: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    Punctual,
    RawUdp,
    RawSendmmsg,
    RawGso,
    Floor,
    Channel,
    Ports,
    PortsChannel,
    Dds,
    PortsDds,
    DdsApart,
    PortsDdsApart,
    Gateway,
    PortsGateway,
    GatewayTcp,
    PortsGatewayTcp,
    GatewayGroup,
    PortsGatewayGroup,
}

impl What {
    /// What is measured in figures; `None` if it is for other cells.
    fn way(self) -> Option<Way> {
        let between = |carrier, has_ports| Way::Between { carrier, has_ports };
        let gateway = |transfer, has_ports| between(Carrier::Gateway(transfer), has_ports);
        Some(match self {
            Self::Punctual | Self::RawUdp | Self::RawSendmmsg | Self::RawGso => return None,
            Self::Floor => Way::Floor,
            Self::Channel => Way::Channel,
            Self::Ports => Way::Direct,
            Self::PortsChannel => Way::Channelled,
            Self::Dds => between(Carrier::Dds, false),
            Self::PortsDds => between(Carrier::Dds, true),
            Self::DdsApart => between(Carrier::Apart, false),
            Self::PortsDdsApart => between(Carrier::Apart, true),
            Self::Gateway => gateway(Transfer::Udp, false),
            Self::PortsGateway => gateway(Transfer::Udp, true),
            Self::GatewayTcp => gateway(Transfer::Tcp, false),
            Self::PortsGatewayTcp => gateway(Transfer::Tcp, true),
            Self::GatewayGroup => gateway(Transfer::Group, false),
            Self::PortsGatewayGroup => gateway(Transfer::Group, true),
        })
    }
}

/// Does what a driver is asked.
///
/// # Errors
/// In words: what could not be done.
pub fn drive(arguments: &DriverArguments) -> Result<(), String> {
    let said = |wrong: measure::Wrong| wrong.to_string();
    if let Some(way) = arguments.what.way() {
        let order = ports::Order::parse(&arguments.words).map_err(said)?;
        return ports::run(way, &order).map_err(said);
    }
    let task = measure::Task::parse(&arguments.words).map_err(said)?;
    let done = match arguments.what {
        What::RawUdp => raw::run(raw::Way::One, &task),
        What::RawSendmmsg => raw::run(raw::Way::Many, &task),
        What::RawGso => raw::run(raw::Way::Train, &task),
        _ => ours::run(&task),
    };
    done.map_err(said)
}
