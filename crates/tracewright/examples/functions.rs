//! Prints the calls and the instructions of each function: `cargo run --example functions --
//! CAPTURE`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for row in tracewright::open(path("etrace-draft"))?.functions()?.rows {
        println!("{:>10} {:>12} {}", row.totals.calls, row.totals.instructions, row.name);
    }
    Ok(())
}

/// The capture on the command line, or one of the small captures of this repository.
fn path(small: &str) -> String {
    let default = || format!("{}/../../tests/captures/{small}/capture", env!("CARGO_MANIFEST_DIR"));
    std::env::args().nth(1).unwrap_or_else(default)
}
