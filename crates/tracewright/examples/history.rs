//! Prints what was executed last, up to the end of the trace: `cargo run --example history --
//! CAPTURE`.

use tracewright::views::history::Event;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for item in tracewright::open(path("etmv4"))?.history(&Event::End, 20)? {
        println!("{:>6}  {:x?}", item.offset, item.executed);
    }
    Ok(())
}

/// The capture on the command line, or one of the small captures of this repository.
fn path(small: &str) -> String {
    let default = || format!("{}/../../tests/captures/{small}/capture", env!("CARGO_MANIFEST_DIR"));
    std::env::args().nth(1).unwrap_or_else(default)
}
