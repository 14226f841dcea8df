//! The arguments of the command, which messages and checks of output files repeat, the messages
//! that it prints, and the protocols that it knows.

use std::ffi::OsString;
use std::sync::OnceLock;

use tracewright::decode::Severity;
use tracewright::protocols::Registry;

/// The arguments of the process belong to it, as those of the standard library do. In a process of
/// Python these have the interpreter before them.
static ALL: OnceLock<Vec<OsString>> = OnceLock::new();

/// The protocols that the process was made with.
static PROTOCOLS: OnceLock<Registry> = OnceLock::new();

/// The least severe messages that are printed.
static LEVEL: OnceLock<Severity> = OnceLock::new();

/// Sets the least severe messages that are printed.
pub fn set_level(level: Severity) {
    let _ = LEVEL.set(level);
}

/// The least severe messages that are printed.
pub fn level() -> Severity {
    LEVEL.get().copied().unwrap_or(Severity::Warning)
}

/// Sets the protocols.
pub fn set_protocols(protocols: Registry) {
    let _ = PROTOCOLS.set(protocols);
}

/// The protocols.
pub fn protocols() -> &'static Registry {
    PROTOCOLS.get_or_init(Registry::default)
}

/// Sets the arguments, the first of which is the name that the command was called by.
pub fn of_process(all: Vec<OsString>) -> &'static [OsString] {
    ALL.get_or_init(|| all)
}

/// The arguments with the name that the command was called by.
pub fn all() -> &'static [OsString] {
    ALL.get().map(Vec::as_slice).unwrap_or_default()
}

/// The arguments without the name.
pub fn texts() -> Vec<String> {
    all().iter().skip(1).map(|own| own.to_string_lossy().into_owned()).collect()
}
