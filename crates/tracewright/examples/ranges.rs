//! Prints the executed ranges of a capture: `cargo run --example ranges -- CAPTURE`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for range in tracewright::open(path("etmv4"))?.ranges()? {
        let range = range?;
        println!("{:>6}  {} {}", range.offset, range.range, range.symbol);
    }
    Ok(())
}

/// The capture on the command line, or one of the small captures of this repository.
fn path(small: &str) -> String {
    let default = || format!("{}/../../tests/captures/{small}/capture", env!("CARGO_MANIFEST_DIR"));
    std::env::args().nth(1).unwrap_or_else(default)
}
