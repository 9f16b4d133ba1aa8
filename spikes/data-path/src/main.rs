//! Spike of the data path. `rtt` and `tput` start both processes for every variant in turn, pass after pass, and
//! print medians; `micro` prints what single steps cost. Further arguments: `key=value` defaults for all variants,
//! then variants, each one argument: `name key=value ...`.
mod app;
mod reader;
mod sock;
mod wire;
mod writer;

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashMap;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

pub static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

struct Counting;

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        unsafe { System.dealloc(ptr, layout) }
    }
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Relaxed);
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Clone)]
pub struct Options(HashMap<String, String>);

impl Options {
    fn new<'a>(words: impl Iterator<Item = &'a str>) -> Options {
        let pair = |w: &'a str| w.split_once('=').map(|(k, v)| (k.to_string(), v.to_string()));
        Options(words.filter_map(pair).collect())
    }
    pub fn text(&self, key: &str, default: &str) -> String {
        self.0.get(key).cloned().unwrap_or(default.to_string())
    }
    pub fn num(&self, key: &str, default: usize) -> usize {
        self.0.get(key).map_or(default, |v| v.parse().expect("a number"))
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some((role, rest)) = args.split_first() else {
        eprintln!("usage: data-path rtt|tput|micro [key=value ...] ['name key=value ...' ...]");
        return;
    };
    let o = Options::new(rest.iter().flat_map(|a| a.split_whitespace()));
    if !["rtt", "tput"].contains(&role.as_str()) {
        sock::pin(o.num("core", 0));
    }
    let raw = o.text("mode", "") == "raw";
    match role.as_str() {
        "rtt" => compare(rest, ["ping", "pong"], [0, 0]),
        "tput" => compare(rest, ["pub", "sub"], [0, 1]),
        "micro" => micro(),
        "ping" if raw => app::raw_ping(&o),
        "pong" if raw => app::raw_pong(&o),
        "pub" if raw => app::raw_publish(&o),
        "sub" if raw => app::raw_subscribe(),
        "ping" => app::ping(&o),
        "pong" => app::pong(&o),
        "pub" => app::publish(&o),
        "sub" => app::subscribe(&o),
        _ => eprintln!("unknown role {role}"),
    }
}

fn start(role: &str, core: usize, words: &[&str]) -> Child {
    let me = std::env::current_exe().unwrap();
    let mut c = Command::new(me);
    c.arg(role).args(words).arg(format!("core={core}")).stdout(Stdio::piped()).spawn().unwrap()
}

fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace().filter_map(|w| w.parse().ok()).collect()
}

fn median(mut v: Vec<f64>) -> (f64, f64, f64) {
    v.sort_by(f64::total_cmp);
    v.first().map_or((f64::NAN, f64::NAN, f64::NAN), |&f| (v[v.len() / 2], f, v[v.len() - 1]))
}

/// Runs all variants in every pass; each prints a line of numbers per side.
fn compare(args: &[String], roles: [&str; 2], cores: [usize; 2]) {
    let is_default = |a: &&String| !a.contains(' ') && a.contains('=');
    let defaults: Vec<&str> = args.iter().filter(is_default).map(|a| a.as_str()).collect();
    let variants: Vec<&str> = args.iter().filter(|a| !is_default(a)).map(|a| a.as_str()).collect();
    let passes = Options::new(defaults.iter().copied()).num("passes", 5);
    let mut results = vec![Vec::new(); variants.len()];
    for _ in 0..passes {
        for (v, result) in variants.iter().zip(&mut results) {
            let words: Vec<&str> = defaults.iter().copied().chain(v.split_whitespace()).collect();
            let mut far = start(roles[1], cores[1], &words);
            let mut far_out = BufReader::new(far.stdout.take().unwrap());
            let mut line = String::new();
            far_out.read_line(&mut line).unwrap();
            let near = start(roles[0], cores[0], &words).wait_with_output().unwrap();
            let mut row = numbers(&String::from_utf8_lossy(&near.stdout));
            line.clear();
            if roles[1] == "sub" {
                far_out.read_to_string(&mut line).unwrap();
            } else {
                far.kill().unwrap();
            }
            far.wait().unwrap();
            row.extend(numbers(&line));
            result.push(row);
        }
    }
    let column = |i: usize, k: usize| median(results[i].iter().filter_map(|r| r.get(k).copied()).collect());
    if roles[1] == "sub" {
        println!(
            "| variant | samples/s | range | writer CPU-s/M | reader CPU-s/M | allocations w, r | acked passes |"
        );
        for (i, v) in variants.iter().enumerate() {
            let (rate, low, high) = column(i, 4);
            let acked = results[i].iter().filter(|r| r.len() == 8 && r[3] == 1.0).count();
            print!(
                "| {v} | {rate:.0} | {low:.0}..{high:.0} | {:.3} | {:.3} ",
                column(i, 1).0,
                column(i, 5).0
            );
            println!("| {}, {} | {acked}/{passes} |", column(i, 2).2, column(i, 6).2);
        }
        return;
    }
    println!("| variant | median us | range | ratio | p99 us | mean us | CPU us | allocations |");
    for (i, v) in variants.iter().enumerate() {
        let (p50, low, high) = column(i, 0);
        // The ratio is taken within each pass against the first variant.
        let ratio = median(
            results[i].iter().zip(&results[0]).filter_map(|(a, b)| Some(a.first()? / b.first()?)).collect(),
        );
        print!("| {v} | {:.2} | {:.2}..{:.2} | {:.3} ", p50 / 1e3, low / 1e3, high / 1e3, ratio.0);
        let (p99, mean, cpu, allocations) = (column(i, 1).0, column(i, 2).0, column(i, 3).0, column(i, 4).2);
        println!("| {:.2} | {:.2} | {cpu:.2} | {allocations} |", p99 / 1e3, mean / 1e3);
    }
}

fn time(name: &str, n: usize, mut f: impl FnMut()) {
    let mut best = f64::MAX;
    for _ in 0..7 {
        let t = Instant::now();
        for _ in 0..n {
            f();
        }
        best = best.min(t.elapsed().as_nanos() as f64 / n as f64);
    }
    println!("{name:<44} {best:8.1} ns");
}

/// What single steps cost: no socket is used.
fn micro() {
    let n = 1_000_000;
    std::thread::spawn(|| std::thread::sleep(std::time::Duration::from_secs(60)));
    let m = Mutex::new(0u64);
    time("Mutex lock and unlock", n, || *black_box(&m).lock().unwrap() += 1);
    time("Instant::now", n, || {
        black_box(Instant::now());
    });
    time("SystemTime and INFO_TS", n, {
        let mut out = Vec::with_capacity(64);
        move || {
            out.clear();
            wire::put_time(black_box(&mut out), true);
        }
    });
    let mut a = Arc::new(vec![0u8; 64]);
    time("Arc clone and drop", n, || drop(black_box(&a).clone()));
    time("Arc::get_mut", n, || black_box(Arc::get_mut(black_box(&mut a)).unwrap()).truncate(64));
    for size in [16, 64, 1024, 16384] {
        let payload = app::pattern(size);
        let mut out = Vec::with_capacity(65536);
        time(&format!("format one DATA of {size} B"), 100_000, || {
            if out.len() + size + 28 > 65504 {
                out.clear();
            }
            wire::put_data(black_box(&mut out), 1, 5, &payload);
        });
        out.clear();
        wire::put_prefix(&mut out, &[1; 12], true);
        wire::put_data(&mut out, 1, 5, &payload);
        wire::put_heartbeat(&mut out, 1, 1, 5, 1, false);
        time(&format!("parse a datagram with one DATA of {size} B"), 100_000, || {
            let mut c = wire::Cursor(black_box(&out));
            black_box(c.header());
            while let Some(s) = c.next() {
                black_box(s);
            }
        });
    }
}
