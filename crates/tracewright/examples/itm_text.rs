//! Prints the text that a program writes to ITM stimulus port 0: `cargo run --example itm_text --
//! CAPTURE`.

use std::io::Write;

use tracewright::Element;
use tracewright::base::Channel;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let trace = tracewright::open(path("itm"))?;
    let mut out = std::io::stdout().lock();
    for item in trace.elements()? {
        let Element::SoftwareWrite(write) = item?.element else { continue };
        if let Channel::Port { page: None | Some(0), port: 0 } = write.channel {
            let len = usize::from(write.bits / 8);
            out.write_all(write.value().to_le_bytes().get(..len).unwrap_or_default())?;
        }
    }
    Ok(())
}

/// The capture on the command line, or one of the small captures of this repository.
fn path(small: &str) -> String {
    let default = || format!("{}/../../tests/captures/{small}/capture", env!("CARGO_MANIFEST_DIR"));
    std::env::args().nth(1).unwrap_or_else(default)
}
