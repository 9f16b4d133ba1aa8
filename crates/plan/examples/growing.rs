//! Prints how much work files of many shapes are, at a size and at four times that size, as a table.
//!
//! `cargo run --release --package punctual-plan --example growing -- 2500`
#![allow(clippy::unwrap_used, reason = "an example that makes its own files")]

#[path = "../tests/shapes/mod.rs"]
mod shapes;

use std::time::Instant;

fn main() {
    let most: usize = std::env::args().nth(1).map_or(2_500, |text| text.parse().unwrap());
    println!("| shape | bytes | steps | time | bytes | steps | time |");
    println!("|---|---|---|---|---|---|---|");
    for (name, shape, small) in shapes::LINEAR.into_iter().chain(shapes::OTHERS) {
        let size = small * most / 400;
        let cells: Vec<String> = [size, 4 * size].into_iter().map(|size| measured(&shape(size))).collect();
        println!("| {name} | {} | {} |", cells[0], cells[1]);
    }
}

fn measured(text: &str) -> String {
    let path = std::env::temp_dir().join(format!("punctual-growth-{}.toml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    let arguments = plan::Arguments {
        network: path.clone(),
        json: true,
        html: None,
        explain: None,
        what_if: None,
        certify: false,
        effort: 1,
        simulate: None,
    };
    let (mut out, mut told) = (Vec::new(), Vec::new());
    let start = Instant::now();
    let code = plan::run(&arguments, &mut out, &mut told);
    let time = start.elapsed();
    std::fs::remove_file(&path).unwrap();
    let report: serde_json::Value = serde_json::from_slice(&out).unwrap_or_default();
    let steps = report["steps"].as_u64().map_or(format!("too many ({code})"), |steps| steps.to_string());
    if code == plan::WRONG {
        eprint!("{}", String::from_utf8_lossy(&told));
    }
    format!("{} | {steps} | {:.2} s", text.len(), time.as_secs_f64())
}
