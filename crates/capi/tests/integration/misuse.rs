//! Wrong calls: error codes, and no crash.

use tracewright_testing::short_or_long;

use crate::client::{capture, compile, folder, output, run, run_checked};

/// Every function with wrong arguments and in a wrong order; two threads with one capture and with
/// one reader. In a long run also under valgrind, which finds memory that must not be read, and
/// memory that is not freed.
#[test]
fn wrong_calls_return_errors() {
    let Some(program) = compile("tests/integration/misuse.c", &[]) else { return };
    let path = capture("etmv4");
    let file = folder().join(format!("misuse-{}.twx", std::process::id()));
    let times = short_or_long("3", "20");
    let args = [path.to_str().unwrap(), file.to_str().unwrap(), times];
    let done = output(&run(&program, &args));
    assert!(done.ends_with("0 failures\n"), "{done}");
    if let Some(done) = run_checked(&program, &args) {
        assert!(output(&done).ends_with("0 failures\n"));
    }
    let _ = std::fs::remove_file(file);
}
