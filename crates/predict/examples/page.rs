//! page.
use predict::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let t = std::fs::read_to_string(&a[1]).unwrap();
    let p = read_path("ward.toml", &t).unwrap();
    let c =
        a.get(2).map(|f| calibrate(&read_records(f, &std::fs::read_to_string(f).unwrap()).unwrap()).unwrap());
    let s = known_stages(&p, c.as_ref()).unwrap();
    let v: Vec<_> = p.topics.iter().enumerate().map(|(i, t)| (t, predict(&p, &s, i, FINE))).collect();
    print!("{}", text(&v, c.as_ref()));
    if let Some(c) = &c {
        eprintln!("{c:?}");
        for (t, p) in &v {
            eprintln!("{:?}", supported(t, p.as_ref().unwrap(), &c.intervals));
        }
    }
}
