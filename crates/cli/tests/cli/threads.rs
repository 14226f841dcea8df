//! More threads than the system starts.

use std::fs;

use crate::common::{Folder, Output, args, command, tracewright};
use tracewright_testing::sample;

#[test]
fn threads_that_cannot_be_started() {
    let folder = Folder::with_demo("threads");
    let trace = folder.demo().join("ETB.bin");
    let bytes = fs::read(&trace).unwrap().repeat(2_000);
    fs::write(&trace, bytes).unwrap();
    let verbs = ["decode", "packets", "instructions", "calls", "functions", "decode --all-buffers"];
    for verb in sample(3, verbs) {
        let want = tracewright(&args(&format!("{verb} --jobs 1"), &[&folder.demo()]));
        assert_eq!((want.code, want.err.contains("used instead")), (Some(0), false));
        // No thread has so much memory.
        let mut run = command(&args(&format!("{verb} --jobs 4"), &[&folder.demo()]));
        let run: Output =
            run.env("RUST_MIN_STACK", (1u64 << 46).to_string()).output().unwrap().into();
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert!(run.out == want.out, "{verb}");
        let note = "note: 1 thread is used instead of 4";
        assert_eq!(run.err.matches(note).count(), 1, "{verb}: {}", run.err);
        let run = tracewright(&args(&format!("{verb} --jobs 100000"), &[&folder.demo()]));
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert!(run.out == want.out, "{verb}");
        assert!(run.err.contains("are used instead of 100000"), "{verb}: {}", run.err);
    }
}

/// Frames that begin and end in the parts of several threads: whatever the number of threads, the
/// output is the same. (The index has one batch; the tests of its crate search several.)
#[test]
fn threads_do_not_change_the_output() {
    let folder = Folder::with_demo("threads-output");
    let trace = folder.demo().join("ETB.bin");
    let bytes = fs::read(&trace).unwrap().repeat(700);
    fs::write(&trace, bytes).unwrap();
    let made = tracewright(&args("index --segment 64", &[&folder.demo()]));
    assert_eq!(made.code, Some(0), "{}", made.err);
    let page = folder.path("page.html");
    let report = format!("report --limit 40 -o {}", page.display());
    let verbs = [
        "timeline --format chrome",
        "timeline --format vcd",
        "timeline --format btf",
        &report,
        "find count exception",
        "find --all write 0 after nth 3 write 0",
    ];
    for verb in verbs {
        let output = |jobs: usize| {
            let (name, words) = verb.split_once(' ').unwrap();
            let mut all = args(name, &[&folder.demo()]);
            all.extend(args(&format!("{words} --jobs {jobs}"), &[]));
            let run = tracewright(&all);
            assert_eq!(run.code, Some(0), "{verb}: {}", run.err);
            let page = verb.starts_with("report").then(|| fs::read(&page).unwrap());
            (run.out, page)
        };
        let one = output(1);
        let len = one.0.len() + one.1.as_ref().map_or(0, Vec::len);
        assert!(len > 3, "{verb}: {}", one.0);
        assert!((2..=3).all(|jobs| output(jobs) == one), "{verb}");
    }
}

/// Without a thread that reads the pipe, the calling thread reads it.
#[test]
fn a_pipe_without_a_thread() {
    let folder = Folder::with_demo("threads-pipe");
    let words = "packets --protocol ITM --framing coresight --id 0x20 --jobs 4";
    let trace = folder.demo().join("ETB.bin");
    let want = tracewright(&args(words, &[&trace])).out;
    let mut run = command(&args(&format!("{words} -"), &[]));
    run.stdin(fs::File::open(&trace).unwrap());
    let run: Output = run.env("RUST_MIN_STACK", (1u64 << 46).to_string()).output().unwrap().into();
    assert_eq!(run.code, Some(0), "{}", run.err);
    let text = |out: &str| out.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(text(&run.out), text(&want));
}
