//! Compares `crates/capi/include/tracewright.h` with what cbindgen makes of `crates/capi`.
//! `cargo run --manifest-path tests/header/Cargo.toml -- --write` writes the header.
#![forbid(unsafe_code)]

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let capi = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/capi");
    let path = capi.join("include/tracewright.h");
    let made = match header(&capi) {
        Ok(made) => made,
        Err(error) => return failed(&format!("cbindgen cannot read crates/capi: {error}")),
    };
    if std::env::args().any(|arg| arg == "--write") {
        return match std::fs::write(&path, made) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => failed(&format!("cannot write {}: {error}", path.display())),
        };
    }
    let header = match std::fs::read_to_string(&path) {
        Ok(header) => header,
        Err(error) => return failed(&format!("cannot read {}: {error}", path.display())),
    };
    if made == header {
        return ExitCode::SUCCESS;
    }
    let mut lines = made.lines().zip(header.lines()).enumerate();
    let (line, what) = match lines.find(|(_, (made, header))| made != header) {
        Some((n, (made, header))) => (n + 1, format!("`{header}`, cbindgen makes `{made}`")),
        None => (made.lines().count().min(header.lines().count()), "its end differs".to_owned()),
    };
    failed(&format!(
        "{}:{line}: {what}; write the header with \
         `cargo run --manifest-path tests/header/Cargo.toml -- --write`",
        path.display()
    ))
}

/// The header that cbindgen makes.
fn header(capi: &Path) -> Result<String, cbindgen::Error> {
    let mut made = Vec::new();
    cbindgen::generate(capi)?.write(&mut made);
    Ok(String::from_utf8_lossy(&made).into_owned())
}

fn failed(message: &str) -> ExitCode {
    eprintln!("{message}");
    ExitCode::FAILURE
}
