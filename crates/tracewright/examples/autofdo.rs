//! Prints the AutoFDO profile of a program: `cargo run --example autofdo -- perf.data PROGRAM`,
//! where PROGRAM is the end of its path.

use tracewright::export::{Dialect, Format};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut profile = tracewright::open(path("etrace-draft"))?.profile()?;
    profile.retain(|module| module.file.path.ends_with(&program()));
    print!("{}", String::from_utf8(Format::Autofdo.write(&profile, Dialect::Full)?)?);
    Ok(())
}

/// The program on the command line, or any.
fn program() -> String {
    std::env::args().nth(2).unwrap_or_default()
}

/// The capture on the command line, or one of the small captures of this repository.
fn path(small: &str) -> String {
    let default = || format!("{}/../../tests/captures/{small}/capture", env!("CARGO_MANIFEST_DIR"));
    std::env::args().nth(1).unwrap_or_else(default)
}
