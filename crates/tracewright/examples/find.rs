//! Finds the exceptions of a capture with an index: `cargo run --example find -- CAPTURE`.

use tracewright::index::Index;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace = tracewright::open(path("etmv4"))?;
    let index = Index::read(trace.index()?.into())?;
    for found in trace.find("all exception", Some(&index))?.elements {
        println!("{:>6}  {}", found.at, found.element);
    }
    Ok(())
}

/// The capture on the command line, or one of the small captures of this repository.
fn path(small: &str) -> String {
    let default = || format!("{}/../../tests/captures/{small}/capture", env!("CARGO_MANIFEST_DIR"));
    std::env::args().nth(1).unwrap_or_else(default)
}
