//! A lab: built, used, and removed.
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use keys::{Identity, Role};
use network::{Network, SwitchKind};

use crate::bridge_switch;
use crate::emulator::{Description, PortCount};
use crate::inside::inside;
use crate::layout::{Carrying, GATE_PORT, Layout, Switch};
use crate::link;
use crate::place::{self, Place, Record};
use crate::remove::{PINS, down_held, processes};
use crate::switch::{self, Files};
use crate::tools::{MARK, Tools, check_programs_of, check_rights};
use gate_agent::GateClient;
use system::Error;

/// What the emulator is to be, and where it tells what it has counted, in the folder of the lab.
const LINKS: &str = "links.json";
const LINKS_SOCKET: &str = "links.sock";
const LINKS_LOG: &str = "links.log";
/// How long an agent or the emulator may take until it is ready, or to answer.
const READY: Duration = Duration::from_secs(10);
/// Names of programs that know the verbs `lab` and `gate`.
const PROGRAMS: [&str; 2] = ["punctual-lab", "punctual"];

/// How a lab is built.
#[derive(Clone, Default, Debug)]
pub struct Options {
    /// The program that runs gates and links; if not given, this one or one beside it, as far as it is called `punctual` or
    /// `punctual-lab`.
    pub program: Option<PathBuf>,
    /// Ends the building, and removes what was built, once it is true.
    pub interrupted: Arc<AtomicBool>,
    /// Who carries frames.
    pub carrying: Carrying,
    /// A folder of keys for a manager, all switches and all gates: then they speak TLS with the manager.
    pub keys: Option<PathBuf>,
}

/// A lab that works. It is removed when this is dropped, unless it is [kept](Lab::keep).
#[derive(Debug)]
pub struct Lab {
    record: Record,
    warnings: Vec<String>,
    /// Processes that this one started and has to wait for.
    children: Vec<Child>,
    kept: bool,
}

impl Lab {
    /// Builds a network, called `name` among the labs of this machine.
    ///
    /// # Errors
    /// What is missing or went wrong; nothing is left of the lab then.
    pub fn up(network: &Network, name: &str) -> Result<Self, Error> {
        Self::up_with(network, name, &Options::default())
    }

    /// The same, with options.
    ///
    /// # Errors
    /// As for [`Lab::up`]; also that it was interrupted.
    pub fn up_with(network: &Network, name: &str, options: &Options) -> Result<Self, Error> {
        let layout = Layout::new(network, name, options.carrying)?;
        check_rights()?;
        let gated = layout.switches.iter().any(|switch| switch.gated);
        let kinds: Vec<SwitchKind> = network.switches().iter().map(|switch| switch.made).collect();
        check_programs_of(gated, &kinds)?;
        let mut record = Record::new(&layout, network.name());
        let keys = options.keys.as_deref().map(|folder| whole_keys(folder, &layout)).transpose()?;
        record.keys.clone_from(&keys);
        let place = Place::reserve(&record)?;
        let mut building = Building {
            tools: Tools::new(name),
            layout: &layout,
            place: &place,
            options,
            keys,
            children: Vec::new(),
        };
        let built = building.build(&mut record);
        let mut children = std::mem::take(&mut building.children);
        match built.and_then(|()| place.write(&record)) {
            Ok(()) => Ok(Self { record, warnings: layout.warnings, children, kept: false }),
            Err(error) => {
                let removed = down_held(name, place);
                children.iter_mut().for_each(reap);
                Err(match removed {
                    Ok(()) => error,
                    Err(left) => Error::new(
                        format!("{error}\nand not everything could be removed: {left}"),
                        format!("punctual lab down {name}"),
                    ),
                })
            }
        }
    }

    /// A lab that was built before, by whomever; it stays when this is dropped.
    ///
    /// # Errors
    /// There is none with that name, or it is not complete.
    pub fn find(name: &str) -> Result<Self, Error> {
        let what = || format!("there is no lab \"{}\"", name.escape_default());
        crate::layout::check_name(name)?;
        let record = place::record(name)?
            .ok_or_else(|| Error::new(what(), "punctual lab list names those there are"))?;
        if !record.complete {
            let what = format!("the lab \"{name}\" was not built to the end");
            return Err(Error::new(what, format!("punctual lab down {name} removes what there is of it")));
        }
        Ok(Self { record, warnings: Vec::new(), children: Vec::new(), kept: true })
    }

    /// What is written down about it.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// What works less well than the network file says.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Lets the lab stay when this is dropped, and when the process ends.
    pub fn keep(mut self) -> Record {
        self.kept = true;
        self.record.clone()
    }

    /// A program on a host: it sees the network as that host does, and ends with the lab.
    ///
    /// # Errors
    /// There is no such host.
    pub fn command(&self, host: &str, program: impl AsRef<OsStr>) -> Result<Command, Error> {
        let namespace = &self.host(host)?.namespace;
        let mut command = Command::new("ip");
        command.args(["netns", "exec", namespace]).arg(program).env(MARK, &self.record.name);
        Ok(command)
    }

    /// Does something on a thread that is on a host: what it opens or starts stays there.
    ///
    /// # Errors
    /// There is no such host.
    pub fn on<T: Send>(&self, host: &str, act: impl FnOnce() -> T + Send) -> Result<T, Error> {
        inside(&self.host(host)?.namespace, || Ok(act()))
    }

    /// A connection to the agent of the gates of a switch.
    ///
    /// # Errors
    /// There is no such switch, or it has no gates.
    pub fn gate(&self, switch: &str) -> Result<GateClient, Error> {
        let switch = self.switch(switch)?;
        if !switch.gated {
            let what = format!("the switch \"{}\" has no gates", switch.name);
            return Err(Error::new(what, "take a model with gates, and a switch with a host"));
        }
        let managed = self.record.hosts.iter().any(|host| host.manager);
        let address = (gate_address(switch, managed), GATE_PORT);
        let keys =
            self.record.keys.as_deref().map(|folder| Identity::load(folder, Role::Manager)).transpose()?;
        let keys = keys.as_ref().map(|keys| (keys, Role::Gates(switch.datapath)));
        inside(&switch.namespace, || GateClient::connect(address.into(), keys))
    }

    /// The addresses of a host: one of each version of IP at most.
    ///
    /// # Errors
    /// There is no such host.
    pub fn host_addresses(&self, host: &str) -> Result<&[IpAddr], Error> {
        Ok(&self.host(host)?.addresses)
    }

    /// The IPv4 address of a host.
    ///
    /// # Errors
    /// There is no such host, or it has IPv6 alone.
    pub fn host_address(&self, host: &str) -> Result<Ipv4Addr, Error> {
        let of_four = |address: &IpAddr| match address {
            IpAddr::V4(four) => Some(*four),
            IpAddr::V6(_) => None,
        };
        let found = self.host_addresses(host)?.iter().find_map(of_four);
        found
            .ok_or_else(|| Error::new(format!("\"{host}\" has no IPv4 address"), "ask for all its addresses"))
    }

    /// The switch with this name.
    ///
    /// # Errors
    /// There is none.
    pub fn switch(&self, name: &str) -> Result<&Switch, Error> {
        let found = self.record.switches.iter().find(|switch| switch.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.record.switches.iter().map(|switch| switch.name.as_str()).collect();
            let what = format!("the lab has no switch \"{}\"", name.escape_default());
            Error::new(what, format!("its switches are {}", names.join(", ")))
        })
    }

    /// Where `ovs-ofctl -O OpenFlow13` finds the bridge of a switch. A switch that listens there carries frames less evenly.
    ///
    /// # Errors
    /// There is no such switch, or it does not listen.
    pub fn management(&self, switch: &str) -> Result<String, Error> {
        let folder = Path::new(place::PLACE).join(&self.record.name);
        if self.switch(switch)?.bridge {
            let what = format!("the switch \"{switch}\" is a bridge, which ovs-ofctl does not know");
            return Err(Error::new(what, "nft list ruleset shows what it has, in its namespace"));
        }
        Files::of(&folder, self.switch(switch)?).management(&Tools::new(&self.record.name))
    }

    /// Logs of what runs for the lab.
    pub(crate) fn logs(&self) -> Vec<PathBuf> {
        let folder = Path::new(place::PLACE).join(&self.record.name);
        let of_switch = |switch: &Switch| {
            let files = Files::of(&folder, switch);
            [files.log("vswitchd"), files.log("agent"), files.log("gate")]
        };
        self.record.switches.iter().flat_map(of_switch).chain([folder.join(LINKS_LOG)]).collect()
    }

    /// What the kernel counts for each class of a port, as `tc -s class show` prints it.
    ///
    /// # Errors
    /// There is no such switch or port.
    pub fn classes(&self, switch: &str, port: u32) -> Result<String, Error> {
        let namespace = &self.switch(switch)?.namespace;
        Tools::new(&self.record.name).run(&format!("tc -n {namespace} -s class show dev p{port}"))
    }

    /// What is known of a port in a lab whose links are emulated; nothing in another.
    ///
    /// # Errors
    /// There is no such switch, or the emulator does not answer.
    pub fn port(&self, switch: &str, port: u32) -> Result<Option<PortCount>, Error> {
        let name = [self.switch(switch)?.namespace.clone(), format!("p{port}")];
        let path = Path::new(place::PLACE).join(&self.record.name).join(LINKS_SOCKET);
        if !path.exists() {
            return Ok(None);
        }
        let failed = |error: std::io::Error| Error::new(format!("the links of the lab: {error}"), "");
        let stream = UnixStream::connect(&path).map_err(failed)?;
        stream.set_read_timeout(Some(READY)).map_err(failed)?;
        let counts: Vec<PortCount> = serde_json::from_reader(stream).map_err(|error| failed(error.into()))?;
        Ok(counts.into_iter().find(|count| count.port == name))
    }

    /// Removes it now.
    ///
    /// # Errors
    /// Something cannot be removed.
    pub fn down(mut self) -> Result<(), Error> {
        self.kept = true;
        self.remove()
    }

    fn remove(&mut self) -> Result<(), Error> {
        let removed = crate::remove::down(&self.record.name);
        self.children.iter_mut().for_each(reap);
        removed.map(drop)
    }

    fn host(&self, name: &str) -> Result<&crate::layout::Host, Error> {
        let found = self.record.hosts.iter().find(|host| host.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self.record.hosts.iter().map(|host| host.name.as_str()).collect();
            let what = format!("the lab \"{}\" has no host \"{}\"", self.record.name, name.escape_default());
            Error::new(what, format!("its hosts are {}", names.join(", ")))
        })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = self.remove()
        {
            eprintln!("{error}");
        }
    }
}

/// The folder of keys, by its whole name, if it has those of the manager and of all switches and gates.
fn whole_keys(folder: &Path, layout: &Layout) -> Result<PathBuf, Error> {
    let whole = folder.canonicalize().map_err(Error::system(folder.display()))?;
    let text = whole.to_str().filter(|text| !text.contains(char::is_whitespace));
    if text.is_none() {
        let what = format!("{}: a name with spaces, which the switch's tools do not take", whole.display());
        return Err(Error::new(what, "move the keys to another folder"));
    }
    let of = |switch: &Switch| {
        [Some(Role::Switch(switch.datapath)), switch.gated.then_some(Role::Gates(switch.datapath))]
    };
    for role in layout.switches.iter().flat_map(of).flatten().chain([Role::Manager]) {
        Identity::load(&whole, role)?;
    }
    Ok(whole)
}

/// Takes notice of the end of a process that was killed.
pub(crate) fn reap(child: &mut Child) {
    let _ = child.wait();
}

/// A lab in the making.
struct Building<'b> {
    tools: Tools,
    layout: &'b Layout,
    place: &'b Place,
    options: &'b Options,
    keys: Option<PathBuf>,
    children: Vec<Child>,
}

impl Building<'_> {
    fn build(&mut self, record: &mut Record) -> Result<(), Error> {
        let program = program(self.options)?;
        self.go_on()?;
        link::namespaces(&self.tools, self.layout)?;
        self.go_on()?;
        link::links(&self.tools, self.layout)?;
        record.real_time = self.switches(&program)?;
        self.go_on()?;
        link::queues(&self.tools, self.layout)?;
        self.go_on()?;
        self.gates(&program)?;
        self.go_on()?;
        self.emulator(&program)?;
        record.complete = true;
        record.processes = processes(&record.name, &record.namespaces);
        Ok(())
    }

    fn go_on(&self) -> Result<(), Error> {
        if self.options.interrupted.load(Ordering::Relaxed) {
            return Err(Error::new("interrupted; nothing is left of the lab", ""));
        }
        Ok(())
    }

    /// Starts all switches; whether all have real-time priority.
    fn switches(&mut self, program: &Path) -> Result<bool, Error> {
        let mut real_time = true;
        let layout = self.layout;
        for switch in &layout.switches {
            self.go_on()?;
            let files = Files::of(self.place.path(), switch);
            let managed = self.layout.manager().is_some();
            if switch.bridge {
                self.bridge(program, switch, &files, managed)?;
                continue;
            }
            switch::start(&self.tools, &files, switch, managed, self.keys.as_deref())?;
            real_time &= switch::hurry(&self.tools, &files)?;
            if let (_, Some(cores)) = self.cores() {
                switch::confine(&self.tools, &files, &cores)?;
            }
        }
        Ok(real_time)
    }

    /// Makes a bridge and starts its agent, if there is a manager. It goes up last: until a manager has spoken nothing is forwarded then.
    fn bridge(&mut self, program: &Path, switch: &Switch, files: &Files, managed: bool) -> Result<(), Error> {
        files.make()?;
        bridge_switch::make(&self.tools, switch)?;
        if managed {
            let log = files.log("agent");
            let command = bridge_switch::agent(&self.tools, program, switch, self.keys.as_deref());
            self.serve(command, &log)?;
        }
        bridge_switch::up(&self.tools, switch)
    }

    /// The core of emulated links, and those of switches, which would wait for each other on the same one; any if there is one core
    /// or the kernel carries frames.
    fn cores(&self) -> (Option<usize>, Option<Vec<usize>>) {
        let cores = udp::thread::cores().unwrap_or_default();
        match cores.split_first() {
            Some((first, others)) if !others.is_empty() && self.options.carrying == Carrying::Emulated => {
                (Some(*first), Some(others.to_vec()))
            }
            _ => (None, None),
        }
    }

    fn gates(&mut self, program: &Path) -> Result<(), Error> {
        if !self.layout.switches.iter().any(|switch| switch.gated) {
            return Ok(());
        }
        let object = self.place.path().join("gate.o");
        gate_agent::compile(&object)?;
        let pins = self.place.path().join(PINS);
        gate_agent::mount_pins(&pins)?;
        for switch in self.layout.switches.iter().filter(|switch| switch.gated) {
            self.go_on()?;
            let address = gate_address(switch, self.layout.manager().is_some());
            let mut command = self.tools.command_in(&switch.namespace, program);
            command.args(["gate", "serve", "--listen", &format!("{address}:{GATE_PORT}")]);
            command.arg("--object").arg(&object).arg("--pins").arg(pins.join(&switch.name));
            for port in &switch.host_ports {
                command.arg("--port").arg(format!("{port}=p{port}"));
            }
            if self.options.carrying == Carrying::Emulated {
                command.arg("--stamped");
            }
            if let Some(keys) = &self.keys {
                command.arg("--keys").arg(keys).arg("--datapath").arg(switch.datapath.to_string());
            }
            let log = Files::of(self.place.path(), switch).log("gate");
            self.serve(command, &log)?;
        }
        Ok(())
    }

    fn emulator(&mut self, program: &Path) -> Result<(), Error> {
        let Some(description) = self.layout.emulated(self.cores().0) else { return Ok(()) };
        emulate(
            &self.tools,
            self.place.path(),
            program,
            &self.layout.wires(),
            &description,
            &mut self.children,
        )
    }

    fn serve(&mut self, command: Command, log: &Path) -> Result<(), Error> {
        serve(command, log, &mut self.children)
    }
}

/// Starts the emulator of the links of a lab, in the namespace that their wires end in.
pub(crate) fn emulate(
    tools: &Tools,
    folder: &Path,
    program: &Path,
    wires: &str,
    description: &Description,
    children: &mut Vec<Child>,
) -> Result<(), Error> {
    let (file, socket) = (folder.join(LINKS), folder.join(LINKS_SOCKET));
    let text = serde_json::to_vec(description)
        .map_err(|error| Error::new(format!("{}: {error}", file.display()), ""))?;
    std::fs::write(&file, text).map_err(Error::system(file.display()))?;
    let mut command = tools.command_in(wires, program);
    command.args(["lab", "links"]).arg(&file).arg("--socket").arg(&socket);
    serve(command, &folder.join(LINKS_LOG), children)
}

/// Starts something that stays, and waits until it says that it is ready.
fn serve(mut command: Command, log: &Path, children: &mut Vec<Child>) -> Result<(), Error> {
    let mut options = OpenOptions::new();
    let file = options.create(true).append(true).open(log).map_err(Error::system(log.display()))?;
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(file)
        .spawn()
        .map_err(Error::system(command.get_program().to_string_lossy()))?;
    let (told, heard) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut line = String::new();
            let read = BufReader::new(stdout.take(4_096)).read_line(&mut line);
            // The receiver is gone if it took too long.
            let _ = told.send(read.is_ok() && line == gate_agent::READY_LINE);
        });
    }
    children.push(child);
    if heard.recv_timeout(READY) == Ok(true) {
        return Ok(());
    }
    let said = std::fs::read_to_string(log).unwrap_or_default();
    let what = format!("a process of the lab does not start: {}", said.trim());
    Err(Error::new(what, ""))
}

/// Where the agent of a switch's gates listens: on the control channel, or, without one, for the lab itself only.
pub(crate) fn gate_address(switch: &Switch, managed: bool) -> Ipv4Addr {
    let [_, own] = switch.control();
    if managed { own } else { Ipv4Addr::LOCALHOST }
}

/// The program that runs gates and links.
fn program(options: &Options) -> Result<PathBuf, Error> {
    options.program.clone().map_or_else(own_program, Ok)
}

/// This program or one beside it, as far as it is called `punctual` or `punctual-lab`.
pub(crate) fn own_program() -> Result<PathBuf, Error> {
    let this = std::env::current_exe().map_err(Error::system("the path of this program"))?;
    let known =
        |path: &Path| path.file_name().is_some_and(|name| PROGRAMS.iter().any(|known| name == *known));
    if known(&this) {
        return Ok(this);
    }
    // Tests and examples lie a folder below the programs that are built with them.
    let folders = this.ancestors().skip(1).take(2);
    let mut found = folders.flat_map(|folder| PROGRAMS.map(|name| folder.join(name)));
    found.find(|path| path.is_file()).ok_or_else(|| {
        let what = format!("neither punctual-lab nor punctual is beside {}", this.display());
        Error::new(what, "build one of them, or say where it is in the options of the lab")
    })
}
