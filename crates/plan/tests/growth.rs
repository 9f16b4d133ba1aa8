//! The work of a plan grows with its files and no faster. Work is counted, so that the machine does not matter: steps of the
//! search for bounds and ways, and bytes from the heap for all the rest.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod command;
mod shapes;

use command::{Folder, arguments, run};
use plan::{Arguments, WRONG};

#[global_allocator]
static METER: alloc_meter::Meter = alloc_meter::Meter;

/// How much more there may be with a file of four times the size.
const MOST_GROWTH: f64 = 4.5;

/// Steps, bytes from the heap in all, and the most at a time.
fn work(arguments: &Arguments) -> [u64; 3] {
    let arguments = Arguments { json: true, ..arguments.clone() };
    let ((code, out, told), usage) = alloc_meter::measure(|| run(&arguments));
    assert_ne!(code, WRONG, "{told}");
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    let steps = report["steps"].as_u64().unwrap();
    assert!(steps > 0 && steps <= 3 * report["most_steps"].as_u64().unwrap());
    [steps, usage.total as u64, usage.peak as u64]
}

fn assert_growth(name: &str, small: [u64; 3], large: [u64; 3]) {
    println!("{name}: {small:?} {large:?}");
    for (what, (small, large)) in ["steps", "heap in all", "heap"].iter().zip(small.iter().zip(&large)) {
        let growth = *large as f64 / *small as f64;
        assert!(growth <= MOST_GROWTH, "{name}: {growth:.2} times the {what}");
    }
}

#[test]
fn work_grows_with_the_file() {
    let folder = Folder::new();
    for (name, shape, size) in shapes::LINEAR {
        let [small, large] =
            [size, 4 * size].map(|size| work(&arguments(&folder.file("net.toml", &shape(size)))));
        assert_growth(name, small, large);
    }
}

#[test]
fn the_work_of_a_page_grows_with_the_file() {
    let folder = Folder::new();
    let [small, large] = [100, 400].map(|size| {
        let network = arguments(&folder.file("net.toml", &shapes::one_port(size)));
        let page = Some(folder.path("page.html"));
        work(&Arguments { html: page, ..network })
    });
    assert_growth("page", small, large);
}

#[test]
fn the_work_of_a_change_grows_with_the_files() {
    let folder = Folder::new();
    let [small, large] = [200, 800].map(|size| {
        let network = arguments(&folder.file("net.toml", &shapes::one_port(size)));
        work(&Arguments { what_if: Some(folder.file("if.toml", &shapes::exchange(size))), ..network })
    });
    assert_growth("change", small, large);
}
