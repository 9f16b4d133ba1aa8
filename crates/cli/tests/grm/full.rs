//! No room for etcd: on its disk, which is a small one of its own and makes it end, or by its quota, at which it takes no more. Admitted flows go on, nothing new is
//! admitted, and all works again once there is room.
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use testkit::etcd::{Etcd, encoded};

use crate::lead::{LEADS, etcd_of, is_admitted, stays, two, ward_for_etcd, with_flow};
use crate::ward::{NETWORK, Ward, patiently, with_gates};
use crate::{MILLISECOND, contracts};

/// The bytes of the disk: etcd takes twice 64 MB of it for its log at once.
const SIZE: &str = "size=150m";

/// A disk of its own at a folder, in a mount namespace that a process holds.
struct Disk {
    holder: Child,
    at: PathBuf,
}

impl Disk {
    fn new(at: PathBuf) -> Self {
        let mount = "mount --make-rprivate / && mount -t tmpfs -o \"$1\" none \"$2\" && echo mounted && exec sleep infinity";
        std::fs::create_dir_all(&at).unwrap();
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", mount, "sh", SIZE]).arg(&at).stdout(Stdio::piped());
        let mut holder = command.spawn().unwrap();
        let mut said = [0; 8];
        holder.stdout.take().unwrap().read_exact(&mut said).unwrap();
        assert_eq!(&said, b"mounted\n");
        Self { holder, at }
    }

    /// Runs a program on a host that sees the disk.
    fn command(&self, ward: &Ward, program: &str) -> Command {
        let mut command = ward.lab.command("manager", "nsenter").unwrap();
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.holder.id())).arg(program);
        command
    }

    fn filler(&self) -> PathBuf {
        let at = self.at.strip_prefix("/").unwrap();
        PathBuf::from(format!("/proc/{}/root", self.holder.id())).join(at).join("filler")
    }

    /// Takes all room that there is.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.filler()).unwrap();
        while file.write_all(&[1; 4_096]).is_ok() {}
    }

    fn make_room(&self) {
        std::fs::remove_file(self.filler()).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// Another client writes pieces of so many bytes, beside the keys of the managers, until etcd takes no more: whether that came.
fn use_up(ward: &Ward, etcd: &Etcd, bytes: usize) -> bool {
    let put = |number: usize| etcd.put(&format!("other/{number:04}"), vec![7; bytes]);
    ward.lab.on("manager", || !(0..2_000).all(put)).unwrap()
}

/// The first number that stands after a name in an answer.
fn number(answer: &str, name: &str) -> String {
    let (_, rest) = answer.split_once(&format!("\"{name}\":\"")).unwrap();
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn a_full_disk_of_etcd_costs_no_sample_and_admits_none_until_there_is_room() {
    let Some((_turn, ward)) = ward_for_etcd(&with_gates(NETWORK)) else { return };
    let mut etcd = Etcd::prepared(2379, &[]);
    let disk = Disk::new(etcd.folder().join("data"));
    etcd.run(disk.command(&ward, "etcd"));
    let managers = two(&ward, &etcd.url());
    with_flow(&ward, |check| {
        disk.fill();
        assert!(use_up(&ward, &etcd, 3_000), "there is room");
        patiently("doubt", || managers[0].log().contains("gives switches and gates up").then_some(()));
        let led = || managers.iter().map(|manager| manager.says(LEADS)).sum::<usize>();
        let before = led();
        let log = std::fs::read_to_string(etcd.folder().join("log")).unwrap();
        assert!(log.contains("no space left on device"), "{log}");
        let reader = ward.reader("display", "Late", 5 * MILLISECOND);
        let writer = ward.writer("camera", "Late", 1_000, 20 * MILLISECOND);
        stays(check);
        assert!(!is_admitted(&reader), "{:?}", reader.pairs());
        assert_eq!(led(), before, "no manager leads without etcd");
        disk.make_room();
        etcd.kill();
        etcd.run(disk.command(&ward, "etcd"));
        patiently("the late one", || is_admitted(&reader).then_some(()));
        drop((reader, writer));
        patiently("its end", || (ward.flow_entries() == 1).then_some(()));
        stays(check);
    });
}

#[test]
fn an_etcd_whose_quota_is_used_up_costs_no_sample_and_refusals_say_it() {
    let Some((_turn, ward)) = ward_for_etcd(&with_gates(NETWORK)) else { return };
    // With leases of six seconds: a lead that is lost while the machine stands still cannot be had again without space.
    let etcd = etcd_of(&ward, &["--quota-backend-bytes", "2000000", "--election-timeout", "4000"]);
    let managers = two(&ward, &etcd.url());
    with_flow(&ward, |check| {
        assert!(use_up(&ward, &etcd, 100_000), "there is room");
        let writer = ward.writer("camera", "Late", 1_000, 20 * MILLISECOND);
        let reader = ward.reader("display", "Late", 5 * MILLISECOND);
        let is_refused = || {
            let says = |reason: &str| reason.contains("NOSPACE") && reason.contains("alarm disarm");
            reader.pairs().iter().any(|pair| says(&pair.reason))
        };
        patiently("the refusal", || is_refused().then_some(()));
        assert!(!is_admitted(&reader), "{:?}", reader.pairs());
        // It has been taken back since it could not be stored, and is stored first when it is tried again.
        let admitted = || (ward.flow_entries(), contracts(&ward));
        patiently("nothing of it", || (admitted() == (1, 1)).then_some(()));
        stays(check);
        assert_eq!(admitted(), (1, 1), "it is asked for all the time");
        drop(reader);
        assert_eq!(managers[0].says(LEADS), 1, "it leads all the time: {}", managers[0].log());
        // What the log says is to be done.
        let ask = |path: &str, body: &str| ward.lab.on("manager", || etcd.ask(path, body)).unwrap().unwrap();
        let (from, to) = (encoded("other/"), encoded("other0"));
        let range = format!("{{\"key\":\"{from}\",\"range_end\":\"{to}\"}}");
        let deleted = ask("/v3/kv/deleterange", &range);
        let compact = format!("{{\"revision\":\"{}\",\"physical\":true}}", number(&deleted, "revision"));
        let member = number(&deleted, "member_id");
        let disarm = format!("{{\"action\":\"DEACTIVATE\",\"memberID\":\"{member}\",\"alarm\":\"NOSPACE\"}}");
        for (path, body) in [
            ("/v3/kv/compaction", &*compact),
            ("/v3/maintenance/defragment", "{}"),
            ("/v3/maintenance/alarm", &disarm),
        ] {
            let answer = ask(path, body);
            assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
        }
        patiently("the store", || managers[0].log().contains("the store works again").then_some(()));
        let reader = ward.reader("display", "Late", 5 * MILLISECOND);
        patiently("the late one", || is_admitted(&reader).then_some(()));
        drop((reader, writer));
        patiently("its end", || (ward.flow_entries() == 1).then_some(()));
        stays(check);
    });
}
