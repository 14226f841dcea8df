//! What the library exports.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use tracewright_testing::tool;

use crate::client::{installed, library, text_of};

/// The functions of OpenCSD that `file` exports.
fn exported(nm: &str, file: &Path) -> BTreeSet<String> {
    let done = Command::new(nm).args(["-D", "--defined-only"]).arg(file).output().unwrap();
    let names = text_of(&done.stdout);
    let names = names.lines().filter_map(|line| line.split_whitespace().last());
    names.filter(|name| name.starts_with("ocsd_")).map(str::to_owned).collect()
}

#[test]
fn every_function_of_opencsd_is_exported() {
    let Some(nm) = tool(&[("nm", "binutils")]) else { return };
    let own = exported(nm, &library().join("libopencsd_c_api.so.1"));
    // The function that 1.8.0 has and 1.3.3 does not.
    assert!(own.contains("ocsd_dt_set_mem_acc_cacheing"));
    let Some(theirs) = installed() else { return };
    let theirs = exported(nm, &theirs);
    assert!(theirs.len() >= 33, "{theirs:?}");
    assert_eq!(theirs.difference(&own).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn the_library_has_the_name_that_programs_load() {
    let Some(readelf) = tool(&[("readelf", "binutils")]) else { return };
    let file = library().join("libopencsd_c_api.so.1");
    let done = Command::new(readelf).arg("-d").arg(file).output().unwrap();
    assert!(text_of(&done.stdout).contains("soname: [libopencsd_c_api.so.1]"));
}
