//! Folded stacks: `file;function instructions`, the input of flame graphs. A frame is the file or
//! the function; the stacks of calls are not known here.

use std::borrow::Cow;
use std::fmt::Write;

use tracewright_analysis::Profile;

use crate::functions::{functions, total};
use crate::text::field;

/// A frame without the separators.
pub(crate) fn frame(name: &str) -> Cow<'_, str> {
    field(name, &[';', ' '])
}

/// A line for each function.
pub(crate) fn write(profile: &Profile) -> String {
    let mut out = String::new();
    for module in profile.modules.values() {
        let file = frame(module.file.path.rsplit('/').next().unwrap_or_default());
        for (name, addresses) in functions(module) {
            let name = frame(if name.is_empty() { "[unknown]" } else { &name });
            let _ = writeln!(out, "{file};{name} {}", total(&addresses));
        }
    }
    out
}
