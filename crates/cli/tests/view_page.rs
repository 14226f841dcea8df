//! The page over `tracewright view`, in a real browser: what it shows is what other verbs print.
#![cfg(feature = "view")]

use std::path::Path;
use std::process::Command;

use tracewright_testing::{skip, tool};

/// Runs tests of `viewer/tests` over the built-in example: `server.mjs` (calls, stacks, functions,
/// journeys), `exported.mjs` (files without a server), and `live.mjs` (a trace that grows).
#[test]
fn the_page_shows_what_other_verbs_print() {
    let viewer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../viewer");
    if tool(&[("node", "nodejs")]).is_none() || tool(&[("chromium", "chromium")]).is_none() {
        return;
    }
    if !viewer.join("node_modules/playwright-core").is_dir() {
        return skip("viewer has no packages: npm ci --ignore-scripts in viewer");
    }
    let command = env!("CARGO_BIN_EXE_tracewright");
    let folder = std::env::temp_dir().join(format!("tracewright-view-page-{}", std::process::id()));
    let capture = folder.join("demo");
    std::fs::create_dir_all(&folder).unwrap();
    let made = Command::new(command).args(["demo", "--write"]).arg(&capture).output().unwrap();
    assert!(made.status.success());
    let mut tests = Command::new("node");
    tests.args(["tests/run.mjs", "server:", "exported:", "live:"]).current_dir(&viewer);
    tests.env("TRACEWRIGHT_BIN", command).env("TRACEWRIGHT_CAPTURE", &capture);
    let output = tests.output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    println!("{text}");
    assert!(output.status.success(), "{text}");
    for (group, least) in [("server", 9), ("exported", 15), ("live", 1)] {
        assert!(text.matches(&format!("ok      {group}: ")).count() >= least, "{group}: {text}");
    }
}
