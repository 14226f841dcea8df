//! The header is what cbindgen makes of the sources.

use std::path::Path;
use std::process::Command;

use tracewright_testing::tool;

use crate::client::{folder, text};

#[test]
fn the_header_is_what_cbindgen_makes() {
    let Some(cbindgen) = tool(&[("cbindgen", "cbindgen")]) else { return };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = folder().join("tracewright.h");
    let done = Command::new(cbindgen)
        .args(["--config", "cbindgen.toml", "--output"])
        .arg(&made)
        .arg(".")
        .current_dir(here)
        .output()
        .unwrap();
    assert!(done.status.success(), "{}", text(&done.stderr));
    let made = std::fs::read_to_string(made).unwrap();
    let header = std::fs::read_to_string(here.join("include/tracewright.h")).unwrap();
    let differs = made.lines().zip(header.lines()).find(|(made, header)| made != header);
    assert_eq!(differs, None, "`cbindgen --config cbindgen.toml --output include/tracewright.h .`");
    assert_eq!(made.len(), header.len());
}

/// Each function of the header is exported, and no other `tw_` function is.
#[test]
fn the_library_exports_the_functions_of_the_header() {
    let Some(nm) = tool(&[("nm", "binutils")]) else { return };
    let library = crate::client::library("libtracewright_capi.so");
    let done = Command::new(nm).args(["-D", "--defined-only"]).arg(library).output().unwrap();
    let names = text(&done.stdout);
    let mut exported: Vec<&str> = names
        .lines()
        .filter_map(|line| line.split_whitespace().last())
        .filter(|name| name.starts_with("tw_"))
        .collect();
    exported.sort_unstable();
    let header = include_str!("../../include/tracewright.h");
    let begins = |line: &&str| line.contains(" tw_") || line.contains("*tw_");
    let mut declared: Vec<&str> = header
        .lines()
        .filter(|line| !line.starts_with([' ', '/', '#', '}']) && !line.starts_with("typedef"))
        .filter(begins)
        .filter_map(|line| line.split('(').next()?.rsplit([' ', '*']).next())
        .collect();
    declared.sort_unstable();
    assert!(declared.len() > 25, "{declared:?}");
    assert_eq!(exported, declared);
}
