//! Prints the text that a program writes to ITM stimulus port 0, as it arrives, from a file or
//! device, or from standard input for `-`: `cargo run --example itm_text -- /dev/ttyACM0`.

use std::io::Read;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut text = tracewright::itm::PortReader::new(trace()?, 0);
    std::io::copy(&mut text, &mut std::io::stdout())?;
    Ok(())
}

/// The file or device on the command line, or one of the small captures of this repository.
fn trace() -> std::io::Result<Box<dyn Read>> {
    const SMALL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/itm.bin");
    match std::env::args().nth(1).as_deref() {
        Some("-") => Ok(Box::new(std::io::stdin())),
        path => Ok(Box::new(std::fs::File::open(path.unwrap_or(SMALL))?)),
    }
}
