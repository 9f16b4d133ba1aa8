//! The gate as a pure function, its judge, and the reader of the gate's log.
//!   check model                                   exhaustive and random proof by search, with mutants
//!   check log FILE ID:M:T_NS:J_NS:W_NS ...        replay the kernel's log through the model; test the arrival curve
//!   check need FILE ID:T_NS ...                   tolerance and window that would have passed everything
use std::{cell::Cell, env, fs, process::exit};

#[derive(Clone, Copy, Debug)]
struct Contract { sep: i64, tol: i64, win: i64, bytes: i64 }
#[derive(Clone, Copy, Default)]
struct State { left: i64, next: i64, open_until: i64, reject_until: i64, last: i64, started: bool }
#[derive(Clone, Copy, PartialEq, Debug)]
enum Verdict { Open, More, Early, Rest, Cut }
use Verdict::*;
/// Deliberate faults of the gate: the search must find each of them.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault { None, NextFromNow, NoWindow, FixedWindow }

fn step(c: &Contract, s: &mut State, now: i64, b: i64, fault: Fault) -> Verdict {
    let now = if s.started { now.max(s.last) } else { now };
    if !s.started { *s = State { next: now, open_until: now - 1, reject_until: now, started: true, ..*s } }
    s.last = now;
    if fault == Fault::FixedWindow { // counts bytes in windows laid end to end
        let w = now.div_euclid(c.sep);
        if w != s.open_until { (s.open_until, s.left) = (w, c.bytes) }
        return if b <= s.left { s.left -= b; More } else { Cut };
    }
    if now < s.reject_until { return Rest }
    if now <= s.open_until && b <= s.left { s.left -= b; return More }
    if b <= c.bytes && now + c.tol >= s.next {
        s.left = c.bytes - b;
        s.next = if fault == Fault::NextFromNow { now + c.sep } else { now.max(s.next) + c.sep };
        s.open_until = if fault == Fault::NoWindow { s.next - c.tol - 1 } else { now + c.win };
        return Open;
    }
    let v = if now <= s.open_until { Cut } else { Early };
    (s.left, s.open_until, s.reject_until) = (0, now - 1, now + c.win);
    v
}
fn passes(v: Verdict) -> bool { matches!(v, Open | More) }

/// True if in every closed interval of length d at most m * (floor((d + c) / sep) + 1) bytes passed. O(n log n).
fn curve_holds(f: &[(i64, i64)], m: i64, sep: i64, c: i64) -> bool {
    let Some(&(t0, _)) = f.first() else { return true };
    let mut rs: Vec<i64> = f.iter().map(|x| (x.0 - t0) % sep).collect();
    rs.sort_unstable();
    rs.dedup();
    let n = rs.len();
    let (mut low, mut high) = (vec![i64::MAX; n + 1], vec![i64::MAX; n + 2]);
    let mut sum = 0;
    for &(t, b) in f {
        let (q, r) = ((t - t0) / sep, (t - t0) % sep);
        let (value, rank) = (sum - m * q, rs.partition_point(|x| *x < r) + 1);
        let mut i = rank;
        while i <= n { low[i] = low[i].min(value); i += i & i.wrapping_neg() }
        i = n + 1 - rank;
        while i <= n { high[i] = high[i].min(value - m); i += i & i.wrapping_neg() }
        sum += b;
        let (q2, r2) = ((t - t0 + c) / sep, (t - t0 + c) % sep);
        let upto = rs.partition_point(|x| *x <= r2);
        let mut best = i64::MAX;
        i = upto;
        while i > 0 { best = best.min(low[i]); i &= i - 1 }
        i = n - upto;
        while i > 0 { best = best.min(high[i]); i &= i - 1 }
        if sum - m * q2 - m > best { return false }
    }
    true
}
fn curve_brute(f: &[(i64, i64)], m: i64, sep: i64, c: i64) -> bool {
    (0..f.len()).all(|i| (i..f.len()).all(|j| f[i..=j].iter().map(|x| x.1).sum::<i64>() <= m * ((f[j].0 - f[i].0 + c) / sep + 1)))
}
/// The smallest c for which the curve holds, or None if no c below 1000 separations does.
fn least_c(f: &[(i64, i64)], m: i64, sep: i64) -> Option<i64> {
    let (mut lo, mut hi) = (-1, sep * 1000);
    if !curve_holds(f, m, sep, hi) { return None }
    while hi - lo > 1 { let mid = (lo + hi) / 2; if curve_holds(f, m, sep, mid) { hi = mid } else { lo = mid } }
    Some(hi)
}

struct Rng(u64);
impl Rng {
    fn below(&mut self, n: i64) -> i64 {
        self.0 ^= self.0 << 13; self.0 ^= self.0 >> 7; self.0 ^= self.0 << 17;
        ((self.0 >> 11) % n as u64) as i64
    }
}

/// Every arrival sequence of `depth` more frames; stops at the first one whose output breaks the curve with jitter term c.
fn search(c: &Contract, s: State, t: i64, out: &mut Vec<(i64, i64)>, depth: usize, cj: i64, fault: Fault, seen: &Cell<u64>) -> bool {
    if depth == 0 { seen.set(seen.get() + 1); return true }
    for gap in 0..=c.sep + 1 {
        for b in 1..=c.bytes + 1 {
            let mut s2 = s;
            let passed = passes(step(c, &mut s2, t + gap, b, fault));
            if passed { out.push((t + gap, b)) }
            let (mut sum, now) = (0, t + gap);
            let ok = !passed || out.iter().rev().all(|x| { sum += x.1; sum <= c.bytes * ((now - x.0 + cj) / c.sep + 1) });
            let ok = ok && search(c, s2, now, out, depth - 1, cj, fault, seen);
            if passed { out.pop(); }
            if !ok { return false }
        }
    }
    true
}

/// A random conforming sender; returns the arrivals at the gate.
fn conforming(r: &mut Rng, sep: i64, jit: i64, win: i64, m: i64, n: usize) -> Vec<(i64, i64)> {
    let (mut f, mut a, mut last) = (vec![], 0, 0);
    for _ in 0..n {
        let first = (a + if r.below(3) == 0 { jit } else { r.below(jit + 1) }).max(last);
        if first > a + jit { a = first - jit } // released later still conforms
        let (mut left, mut off) = (m, 0);
        loop {
            let b = if r.below(2) == 0 { left } else { 1 + r.below(left) };
            f.push((first + off, b));
            left -= b;
            if left == 0 || r.below(4) == 0 { break }
            off += r.below(win - off + 1);
        }
        last = f.last().unwrap().0;
        a += sep + if r.below(2) == 0 { 0 } else { r.below(2 * sep) };
    }
    f
}
/// All conforming inputs of `n` messages of one or two frames on a small grid; false at the first refused frame.
fn all_conforming(c: &Contract, jit: i64, s: State, a: i64, last: i64, n: usize, seen: &Cell<u64>) -> bool {
    if n == 0 { seen.set(seen.get() + 1); return true }
    for nominal in a..=a + 2 {
        for first in nominal.max(last)..=nominal + jit {
            for b1 in 1..=c.bytes {
                let mut s1 = s;
                if !passes(step(c, &mut s1, first, b1, Fault::None)) { return false }
                if !all_conforming(c, jit, s1, nominal + c.sep, first, n - 1, seen) { return false }
                for off in 0..=c.win {
                    for b2 in 1..=c.bytes - b1 {
                        let mut s2 = s1;
                        if !passes(step(c, &mut s2, first + off, b2, Fault::None)) { return false }
                        if !all_conforming(c, jit, s2, nominal + c.sep, first + off, n - 1, seen) { return false }
                    }
                }
            }
        }
    }
    true
}

fn model() -> Result<(), String> {
    let (seen, mut tight, mut could, mut sets, mut rng) = (Cell::new(0), 0, 0, 0, Rng(0x9e3779b97f4a7c15));
    for _ in 0..20_000 { // the fast judge against the slow one
        let (sep, m, c, mut t) = (1 + rng.below(6), 1 + rng.below(4), rng.below(9), 0);
        let f: Vec<_> = (0..rng.below(12)).map(|_| { t += rng.below(5); (t, 1 + rng.below(m)) }).collect();
        if curve_holds(&f, m, sep, c) != curve_brute(&f, m, sep, c) { return Err(format!("judges differ {f:?} {m} {sep} {c}")) }
    }
    let st = State::default();
    for sep in 1..=4 { for tol in 0..=3 { for win in 0..=3 { for bytes in 1..=2 {
        let c = Contract { sep, tol, win, bytes };
        let depth = if bytes == 1 { 7 } else { 6 };
        if !search(&c, st, 0, &mut vec![], depth, tol + win, Fault::None, &seen) { return Err(format!("curve broken {c:?}")) }
        sets += 1;
        let reach = tol + win > 0 && win < sep && (bytes > 1 || win == 0); // a one-byte message cannot use its window
        could += reach as i32;
        if reach && !search(&c, st, 0, &mut vec![], depth, tol + win - 1, Fault::None, &Cell::new(0)) { tight += 1 }
    }}}}
    println!("babbling: {} sequences, {sets} contracts, curve never exceeded; with J+W-1 it is exceeded in {tight} of {could}", seen.get());
    let c = Contract { sep: 4, tol: 2, win: 1, bytes: 2 };
    for (fault, c) in [(Fault::NextFromNow, c), (Fault::NoWindow, Contract { win: 0, ..c }), (Fault::FixedWindow, Contract { tol: 0, ..c })] {
        if search(&c, st, 0, &mut vec![], 6, c.tol + c.win, fault, &Cell::new(0)) { return Err(format!("fault {fault:?} not found")) }
        println!("fault {fault:?}: found");
    }
    let mut worst = 0;
    for n in 0..200_000 { // long random babble, mixed scales
        let c = Contract { sep: 1 + rng.below(20), tol: rng.below(30), win: rng.below(12), bytes: 1 + rng.below(9) };
        let (mut s, mut t, mut out) = (st, 0, vec![]);
        let style = 1 + rng.below(c.sep + c.tol + 2);
        for _ in 0..60 {
            t += if n % 3 == 0 { rng.below(3) } else { rng.below(style) };
            let b = 1 + rng.below(c.bytes + 1);
            if passes(step(&c, &mut s, t, b, Fault::None)) { out.push((t, b)) }
        }
        if !curve_holds(&out, c.bytes, c.sep, c.tol + c.win) { return Err(format!("curve broken {c:?} {out:?}")) }
        worst = worst.max(out.len());
    }
    println!("babbling: 200000 random runs of 60 frames, curve never exceeded");
    let (seen, mut plain, mut wide, mut needed) = (Cell::new(0), 0, 0, 0);
    for sep in 1..=5 { for jit in 0..=4 { for win in 0..=3 { for bytes in 1..=2 {
        let n = if jit + win > 4 { 3 } else { 4 };
        if jit + win < sep {
            let c = Contract { sep, tol: jit, win, bytes };
            if !all_conforming(&c, jit, st, 0, 0, n, &seen) { return Err(format!("conforming refused {c:?}")) }
            plain += 1;
            if jit > 0 && !all_conforming(&Contract { tol: jit - 1, ..c }, jit, st, 0, 0, n, &Cell::new(0)) { needed += 1 }
        } else {
            let c = Contract { sep, tol: jit + win, win, bytes };
            if !all_conforming(&c, jit, st, 0, 0, n, &seen) { return Err(format!("conforming refused, wide {c:?}")) }
            if !all_conforming(&Contract { tol: jit, ..c }, jit, st, 0, 0, n, &Cell::new(0)) { wide += 1 }
        }
    }}}}
    println!("conforming: {} inputs, none refused; {plain} contracts with J+W<T use tolerance J ({needed} of those with J>0 refuse with J-1); with J+W>=T tolerance J+W ({wide} refuse with J)", seen.get());
    for _ in 0..200_000 {
        let (sep, jit, win, bytes) = (1 + rng.below(30), rng.below(60), rng.below(20), 1 + rng.below(12));
        let c = Contract { sep, tol: if jit + win < sep { jit } else { jit + win }, win, bytes };
        let (f, mut s) = (conforming(&mut rng, sep, jit, win, bytes, 30), st);
        for &(t, b) in &f { if !passes(step(&c, &mut s, t, b, Fault::None)) { return Err(format!("conforming refused {c:?} jit {jit} at {t} {f:?}")) } }
    }
    println!("conforming: 200000 random runs of 30 messages, none refused");
    Ok(())
}

struct Rec { t: i64, seq: u64, b: i64, id: u16, v: u8, msg: u64, k: u64, first: bool, call: i64 }
fn read(path: &str) -> Vec<Rec> {
    let d = fs::read(path).expect("log file");
    let u = |x: &[u8]| u64::from_le_bytes(x.try_into().unwrap());
    d.chunks_exact(40).map(|x| Rec { t: u(&x[..8]) as i64, seq: u(&x[8..16]), b: u32::from_le_bytes(x[16..20].try_into().unwrap()) as i64,
        id: u16::from_le_bytes([x[20], x[21]]), v: x[22], msg: u(&x[24..32]) >> 16, k: u(&x[24..32]) & 255, first: x[25] == 0, call: u(&x[32..40]) as i64 }).collect()
}
fn spec(a: &str) -> Vec<i64> { a.split(':').map(|x| x.parse::<f64>().expect("number") as i64).collect() }

fn log(path: &str, specs: &[String]) -> Result<(), String> {
    let all = read(path);
    for a in specs {
        let p = spec(a);
        let c = Contract { bytes: p[1], sep: p[2], tol: p[3], win: p[4] };
        let mut f: Vec<&Rec> = all.iter().filter(|r| r.id as i64 == p[0]).collect();
        f.sort_by_key(|r| r.seq);
        if f.is_empty() { println!("flow {}: no frames", p[0]); continue }
        if f[0].seq != 0 || f.windows(2).any(|w| w[1].seq != w[0].seq + 1) { return Err(format!("flow {}: the log has a hole", p[0])) }
        let (mut s, mut out, mut n) = (State::default(), vec![], [0u64; 5]);
        for r in &f {
            let v = step(&c, &mut s, r.t, r.b, Fault::None);
            if v as u8 != r.v { return Err(format!("flow {} frame {}: kernel {} model {v:?}", p[0], r.seq, r.v)) }
            n[v as usize] += 1;
            if passes(v) { out.push((r.t, r.b)) }
        }
        if !curve_holds(&out, c.bytes, c.sep, c.tol + c.win) { return Err(format!("flow {}: CURVE EXCEEDED", p[0])) }
        let (mut sent, mut whole, mut i) = (0, 0, 0);
        while i < f.len() { // messages as the sender meant them
            let j = (i..f.len()).take_while(|&j| f[j].msg == f[i].msg).last().unwrap();
            sent += 1;
            if (j - i + 1) as u64 == f[i].k && f[i..=j].iter().all(|r| r.v < 2) { whole += 1 }
            i = j + 1;
        }
        println!("flow {}: {} frames; opened {} more {} early {} rest {} cut {}; messages sent {sent} whole {whole}; replay equal; curve holds, least c {:.1} us of J+W {:.1} us",
            p[0], f.len(), n[0], n[1], n[2], n[3], n[4], least_c(&out, c.bytes, c.sep).unwrap() as f64 / 1e3, (c.tol + c.win) as f64 / 1e3);
    }
    Ok(())
}

fn need(path: &str, specs: &[String]) -> Result<(), String> {
    let all = read(path);
    for a in specs {
        let p = spec(a);
        let mut f: Vec<&Rec> = all.iter().filter(|r| r.id as i64 == p[0]).collect();
        f.sort_by_key(|r| r.seq);
        let (mut first, mut stretch): (Vec<(i64, i64)>, Vec<i64>) = (vec![], vec![]);
        for r in &f {
            match first.last() {
                Some(l) if l.1 == r.msg as i64 => *stretch.last_mut().unwrap() = r.t - l.0,
                _ => { first.push((r.t, r.msg as i64)); stretch.push(0) }
            }
        }
        if first.is_empty() { println!("flow {}: no frames", p[0]); continue }
        let (mut next, mut own) = (first[0].0, vec![]);
        for (t, _) in &first { own.push((next - t).max(0)); next = next.max(*t) + p[1] }
        let mut way: Vec<i64> = f.iter().filter(|r| r.first).map(|r| r.t - r.call).collect();
        way.sort_unstable(); own.sort_unstable(); stretch.sort_unstable();
        let q = |v: &[i64], x: f64| v[((v.len() - 1) as f64 * x) as usize] as f64 / 1e3;
        println!("flow {}: messages {}; tolerance needed us p50 {:.1} p99 {:.1} p99.9 {:.1} max {:.1}; emission us p50 {:.1} p99 {:.1} p99.9 {:.1} max {:.1}; send call to gate us min {:.1} p50 {:.1} p99 {:.1} p99.9 {:.1} max {:.1}",
            p[0], first.len(), q(&own, 0.5), q(&own, 0.99), q(&own, 0.999), q(&own, 1.0), q(&stretch, 0.5), q(&stretch, 0.99), q(&stretch, 0.999), q(&stretch, 1.0),
            q(&way, 0.0), q(&way, 0.5), q(&way, 0.99), q(&way, 0.999), q(&way, 1.0));
    }
    Ok(())
}

fn main() {
    let a: Vec<String> = env::args().collect();
    let r = match a.get(1).map(String::as_str) {
        Some("model") => model(),
        Some("log") if a.len() > 3 => log(&a[2], &a[3..]),
        Some("need") if a.len() > 3 => need(&a[2], &a[3..]),
        _ => Err("usage: see the head of check.rs".into()),
    };
    if let Err(e) = r { eprintln!("check: {e}"); exit(1) }
}
