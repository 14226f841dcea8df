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
