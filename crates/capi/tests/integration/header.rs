//! The library has what the header declares.

use std::process::Command;

use tracewright_testing::tool;

use crate::client::text;

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
