//! Prints the executed ranges of a capture: `cargo run --example ranges -- CAPTURE`.

use tracewright::Element;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace = tracewright::open(path("etmv4"))?;
    let mut elements = trace.elements()?;
    for item in &mut elements {
        let item = item?;
        if let Element::Range(range) = item.element {
            let source = &trace.sources()[item.source].name;
            let symbol = trace.symbol(item.source, range.start).unwrap_or_default();
            println!("{:>6}  {source}  {range} {symbol}", item.offset);
        }
    }
    eprint!("{}", elements.summary());
    Ok(())
}

/// The capture on the command line, or one of the small captures of this repository.
fn path(small: &str) -> String {
    let default = || format!("{}/../../tests/captures/{small}/capture", env!("CARGO_MANIFEST_DIR"));
    std::env::args().nth(1).unwrap_or_else(default)
}
