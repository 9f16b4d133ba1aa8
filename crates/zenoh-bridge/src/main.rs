//! The program `punctual-bridge`.
fn main() -> std::process::ExitCode {
    zenoh_bridge::main()
}
