//! Messages on standard error. Each replaces the characters of names and texts from outside that a
//! terminal interprets or does not show.

use std::io::{self, Write};

use tracewright::capture::plain;
use tracewright::decode::Severity;

use crate::{arguments, options};

/// Whether messages of this severity are printed.
pub fn prints(severity: Severity) -> bool {
    severity <= arguments::level()
}

/// Prints a message of one line, which is no error.
pub fn line(text: &str) {
    if prints(Severity::Warning) {
        error(text);
    }
}

/// Prints an error of one line.
pub fn error(text: &str) {
    // A message that cannot be printed is not an error of the command.
    let _ = writeln!(io::stderr(), "{}", plain::line(&options::spelled(text)));
}

/// Prints that `threads` decode instead of `wanted`.
pub fn threads(wanted: usize, threads: usize) {
    let are = if threads == 1 { "1 thread is" } else { &format!("{threads} threads are") };
    line(&format!(
        "note: {are} used instead of {wanted}, as the system starts no more; the output is the same"
    ));
}

/// Prints that a listing is not in the order of time, which takes `threads` threads.
pub fn unordered(threads: usize) {
    line(&format!(
        "note: the output is one CPU after another instead of in the order of time, which takes \
         {threads} threads: the system starts no more; list fewer buffers with --source, or allow \
         more threads"
    ));
}

/// Prints lines, which are no errors.
pub fn lines(text: &str) {
    if prints(Severity::Warning) {
        errors(text);
    }
}

/// Prints lines of errors.
pub fn errors(text: &str) {
    let _ = write!(io::stderr(), "{}", plain::plain(&options::spelled(text)));
}
