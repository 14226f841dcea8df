//! Prints the first exceptions of a capture, and decodes no more than it needs: `cargo run
//! --example listener -- CAPTURE`.

use tracewright::{Element, Listener};

/// The exceptions that are still to come.
struct First(usize);

impl Listener for First {
    fn element(&mut self, source: usize, at: u64, element: Element) {
        if let Element::Exception(exception) = element
            && !self.full()
        {
            self.0 -= 1;
            println!("{at:>6}  source {source}: {exception:x?}");
        }
    }

    fn full(&self) -> bool {
        self.0 == 0
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace = tracewright::open(path("etmv4"))?;
    let summary = trace.decode(&mut First(10))?;
    println!("the part that was decoded is complete: {}", summary.is_complete());
    Ok(())
}

/// The capture on the command line, or one of the small captures of this repository.
fn path(small: &str) -> String {
    let default = || format!("{}/../../tests/captures/{small}/capture", env!("CARGO_MANIFEST_DIR"));
    std::env::args().nth(1).unwrap_or_else(default)
}
