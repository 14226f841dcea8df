//! Wrong calls: error codes, and no crash.

use tracewright_testing::{is_long, short_or_long};

use crate::client::{capture, compile, folder, output, run, run_checked};

const SOURCE: &str = "tests/integration/misuse.c";

/// Every function with wrong arguments and in a wrong order; two threads with one capture and with
/// one reader. In a long run also under valgrind, which finds memory that must not be read, and
/// memory that is not freed, and with a client that is compiled with AddressSanitizer.
#[test]
fn wrong_calls_return_errors() {
    let Some(program) = compile(SOURCE, &[]) else { return };
    let path = capture("etmv4");
    let file = folder().join(format!("misuse-{}.twx", std::process::id()));
    let times = short_or_long("3", "20");
    let args = [path.to_str().unwrap(), file.to_str().unwrap(), times];
    let done = output(&run(&program, &args));
    assert!(done.ends_with("0 failures\n"), "{done}");
    if let Some(done) = run_checked(&program, &args) {
        assert!(output(&done).ends_with("0 failures\n"));
    }
    let checked = is_long().then(|| compile(SOURCE, &["-fsanitize=address"])).flatten();
    if let Some(program) = checked {
        assert!(output(&run(&program, &args)).ends_with("0 failures\n"));
    }
    let _ = std::fs::remove_file(file);
}
