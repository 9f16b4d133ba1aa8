//! An Open vSwitch of its own for each switch: database, process and sockets in the folder of the lab, ports in a namespace.
use std::fs;
use std::path::{Path, PathBuf};

use crate::first_frame::FirstFrame;
use crate::layout::{OPENFLOW_PORT, Switch};
use crate::memory;
use crate::tools::Tools;
use keys::Role;
use system::Error;
use system::finish;
use system::make_folder;

/// The priority of switch processes, one for all of their threads. The thread that carries frames reads tables without locks: it spins while another one
/// is within a change. With a higher priority on the same core it would spin for ever, because the other one would not be run.
const PRIORITY: u8 = 55;
/// The socket at which a bridge listens for `ovs-ofctl`, and the one for programs that read along.
const MANAGEMENT: &str = "br0.mgmt";
const SNOOP: &str = "br0.snoop";
const SCHEMA: &str = "/usr/share/openvswitch/vswitch.ovsschema";

/// The files of a switch.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    folder: PathBuf,
}

impl Files {
    pub(crate) fn of(lab: &Path, switch: &Switch) -> Self {
        Self::at(lab.join(format!("switch-{}", switch.name)))
    }

    /// In this folder.
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }

    fn database(&self) -> String {
        format!("unix:{}", self.path("db.sock"))
    }

    /// Where `ovs-ofctl` finds the bridge, which listens there from the first time that it is asked for.
    pub(crate) fn management(&self, tools: &Tools) -> Result<String, Error> {
        let path = self.folder.join(MANAGEMENT);
        if path.is_dir() {
            fs::remove_dir(&path).map_err(Error::system(path.display()))?;
            // What is changed does not matter: it tries again whatever it could not do.
            let line = format!(
                "ovs-vsctl --db={} --timeout=5 set bridge br0 other_config:listens=true",
                self.database()
            );
            if let Err(error) = tools.run(&line) {
                // The bridge does not listen there: the next caller finds the folder as before.
                fs::create_dir(&path).map_err(Error::system(path.display()))?;
                return Err(error);
            }
        }
        Ok(format!("unix:{}", path.display()))
    }

    /// Starts the database and the switch in a namespace, without any bridge.
    pub(crate) fn processes(&self, tools: &Tools, namespace: &str) -> Result<(), Error> {
        make_folder(&self.folder)?;
        let own = |command: &mut std::process::Command| {
            for variable in ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "OVS_SYSCONFDIR"] {
                command.env(variable, &self.folder);
            }
        };
        let (database, at) = (self.path("conf.db"), self.database());
        tools.run(&format!("ovsdb-tool create {database} {SCHEMA}"))?;
        let mut server = tools.command_in(namespace, "ovsdb-server");
        own(&mut server);
        server.arg(&database).arg(format!("--remote=p{at}"));
        server.arg(format!("--unixctl={}", self.path("ovsdb.ctl")));
        server.arg(format!("--pidfile={}", self.path("ovsdb.pid")));
        server.arg(format!("--log-file={}", self.path("ovsdb.log")));
        finish(server.args(["--no-chdir", "--detach", "-vconsole:off"]), None)?;
        // The thread that carries frames would write down what its ports have counted each five seconds; once a day will do.
        tools.run(&format!(
            "ovs-vsctl --db={at} --timeout=5 --no-wait init -- set Open_vSwitch . other_config:stats-update-interval=86400000"
        ))?;
        let mut process = tools.command_in(namespace, "ovs-vswitchd");
        own(&mut process);
        // That thread also asks each socket that it listens at, for each frame, whether a client has connected. The kernel makes a
        // socket for the answer that none has, and lets go of it later: thousands at a time, which kept frames waiting for up to 300 us.
        // So it listens nowhere, for folders are in the way; see `Files::management`.
        for name in [MANAGEMENT, SNOOP] {
            make_folder(&self.folder.join(name))?;
        }
        process.args([&at, "--unixctl=none"]);
        process.arg(format!("--pidfile={}", self.path("vswitchd.pid")));
        process.arg(format!("--log-file={}", self.path("vswitchd.log")));
        finish(process.args(["--no-chdir", "--detach", "--disable-system", "-vconsole:off"]), None).map(drop)
    }

    /// Gives `ovs-vsctl` a command line.
    pub(crate) fn configure(&self, tools: &Tools, line: &str) -> Result<(), Error> {
        tools.run(&format!("ovs-vsctl --db={} --timeout=10 {line}", self.database())).map(drop)
    }

    /// Makes the folder.
    pub(crate) fn make(&self) -> Result<(), Error> {
        make_folder(&self.folder)
    }

    /// Gives the packet sockets of the switch process room: see [`memory::give_room`].
    pub(crate) fn give_room(&self, ports: usize, bytes: u64) -> Result<(), Error> {
        memory::give_room(self.process("vswitchd.pid")?, ports, bytes)
    }

    /// The log of a process.
    pub(crate) fn log(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// The number of the process, as it wrote it down.
    fn process(&self, name: &str) -> Result<u32, Error> {
        let path = self.folder.join(name);
        let text = fs::read_to_string(&path).map_err(Error::system(path.display()))?;
        text.trim().parse().map_err(|_| Error::new(format!("{} is no number", path.display()), ""))
    }
}

/// Starts the switch and gives it its ports, and has it send a frame. With a manager it forwards nothing until it is told to, otherwise it learns who
/// is where by itself.
pub(crate) fn start(
    tools: &Tools,
    files: &Files,
    switch: &Switch,
    managed: bool,
    keys: Option<&Path>,
) -> Result<(), Error> {
    files.processes(tools, &switch.namespace)?;
    let at = files.database();
    let fail = if managed { "secure" } else { "standalone" };
    let mut line = format!(
        "ovs-vsctl --db={at} --timeout=10 add-br br0 -- set bridge br0 datapath_type=netdev protocols=OpenFlow13 \
         fail_mode={fail} other_config:datapath-id={:016x} other_config:hwaddr=02:02:00:00:00:{:02x} \
         other_config:disable-in-band=true",
        switch.datapath, switch.datapath
    );
    for port in &switch.ports {
        line += &format!(" -- add-port br0 p{port} -- set interface p{port} ofport_request={port}");
    }
    let first = FirstFrame::new(&files.folder)?;
    line += &format!(" -- set-controller br0 {}", first.target());
    tools.run(&line)?;
    for port in &switch.ports {
        let line = format!("ovs-vsctl --db={at} --timeout=5 get interface p{port} ofport");
        let given = tools.run(&line)?;
        if given.trim() != port.to_string() {
            let what =
                format!("the port p{port} of the switch \"{}\" has the number {}", switch.name, given.trim());
            return Err(Error::new(what, format!("{} says why", files.log("vswitchd").display())));
        }
    }
    if let Some(port) = switch.ports.first() {
        first.send(*port)?;
        files.give_room(switch.ports.len(), switch.memory)?;
    }
    let controller = if managed {
        let [manager, _] = switch.control();
        let secure = keys.map(|keys| secure(keys, switch));
        let protocol = if secure.is_some() { "ssl" } else { "tcp" };
        format!(
            "{}set-controller br0 {protocol}:{manager}:{OPENFLOW_PORT} -- set controller br0 max_backoff=1000 inactivity_probe=5000",
            secure.unwrap_or_default()
        )
    } else {
        "del-controller br0".to_owned()
    };
    tools.run(&format!("ovs-vsctl --db={at} --timeout=5 {controller}")).map(drop)
}

/// What tells the switch its key, its certificate, and the authority that it trusts.
fn secure(keys: &Path, switch: &Switch) -> String {
    let role = Role::Switch(switch.datapath);
    let folder = keys.display();
    format!("set-ssl {folder}/{role}.key {folder}/{role}.pem {folder}/{} -- ", keys::AUTHORITY)
}

/// Gives the switch process its priority; false if that is not granted.
pub(crate) fn hurry(tools: &Tools, files: &Files) -> Result<bool, Error> {
    let process = files.process("vswitchd.pid")?;
    Ok(tools.run(&format!("chrt -a -f -p {PRIORITY} {process}")).is_ok())
}

/// Lets the switch process run on these cores only.
pub(crate) fn confine(tools: &Tools, files: &Files, cores: &[usize]) -> Result<(), Error> {
    let process = files.process("vswitchd.pid")?;
    let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
    tools.run(&format!("taskset -a -c -p {} {process}", cores.join(","))).map(drop)
}
