//! Counts executed instructions by function: `cargo run --example functions -- CAPTURE`.

use std::collections::BTreeMap;

use tracewright::{Element, Listener, Trace};

/// Counts instructions by the function in which their range begins.
struct Functions<'a> {
    trace: &'a Trace,
    instructions: BTreeMap<String, u64>,
}

impl Listener for Functions<'_> {
    /// Packets are not wanted, so that the decoder takes many at once.
    const PACKETS: bool = false;

    fn element(&mut self, source: usize, _offset: u64, element: Element) {
        if let Element::Range(range) = element {
            let symbol = self.trace.symbol_at(source, range.start);
            let function = symbol.map_or("?".into(), |symbol| symbol.name.into_owned());
            *self.instructions.entry(function).or_default() += u64::from(range.instructions);
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace = tracewright::open(path("etmv4"))?;
    let mut functions = Functions { trace: &trace, instructions: BTreeMap::new() };
    let summary = trace.decode(&mut functions)?;
    let mut rows: Vec<_> = functions.instructions.into_iter().collect();
    rows.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (name, count) in rows {
        println!("{count:>10}  {name}");
    }
    if !summary.is_complete() {
        eprint!("{summary}");
    }
    Ok(())
}

/// The capture on the command line, or one of the small captures of this repository.
fn path(small: &str) -> String {
    let default = || format!("{}/../../tests/captures/{small}/capture", env!("CARGO_MANIFEST_DIR"));
    std::env::args().nth(1).unwrap_or_else(default)
}
