//! The page in a real browser: `viewer/tests/run.mjs`, over a synthetic trace.

use std::path::Path;
use std::process::Command;

use tracewright_testing::{skip, tool};

/// Runs the tests of `viewer/tests` in Chromium; each of them prints a line.
#[test]
fn the_page_in_a_browser() {
    let viewer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../viewer");
    if tool(&[("node", "nodejs")]).is_none() || tool(&[("chromium", "chromium")]).is_none() {
        return;
    }
    if !viewer.join("node_modules/playwright-core").is_dir() {
        return skip("viewer has no packages: npm ci --ignore-scripts in viewer");
    }
    let output = Command::new("node").arg("tests/run.mjs").current_dir(&viewer).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    println!("{text}");
    assert!(output.status.success(), "{text}");
    // Each group ran: none of them can be left out of `run.mjs`.
    for group in ["model", "journey", "hostile", "damage", "accessibility", "speed", "perfetto"] {
        assert!(text.contains(&format!("ok      {group}: ")), "no test of {group}: {text}");
    }
}
