//! `tracewright encode`: the sizes of several configurations, and values without an effect.

use std::fs;
use std::path::Path;

use crate::common::{Folder, Output, args, tracewright};

/// A loop that calls a function.
fn log(calls: usize) -> String {
    let once = "core   0: 0x00002004 (0x00c000ef) jal 2010\n\
                core   0: 0x00002010 (0x00000013) nop\n\
                core   0: 0x00002014 (0x00008067) ret\n\
                core   0: 0x00002008 (0xfe051ee3) bnez a0, 2004\n";
    format!("core   0: 0x00002000 (0x00000013) nop\n{}", once.repeat(calls))
}

/// The words of the rows of a table, without its heading.
fn rows(run: &Output) -> Vec<Vec<&str>> {
    run.out.lines().skip(1).map(|line| line.split_whitespace().collect()).collect()
}

#[test]
fn sizes_are_those_of_captures() {
    let folder = Folder::new("sweep-sizes");
    let path = folder.path("log");
    fs::write(&path, log(100)).unwrap();
    let words = "encode --isa rv32 --protocol etrace --log";
    let encode = |more: &str| {
        let mut all = args(words, &[&path]);
        all.extend(args(more, &[]));
        tracewright(&all)
    };
    let both = "implicit_return=1,return_stack_size=4";
    let sweep =
        encode(&format!("--sweep implicit_return=1 --sweep {both} --sweep jump_target_cache=0"));
    assert_eq!(sweep.code, Some(0), "{}", sweep.err);
    let alone = "implicit_return has no effect on returns, as return_stack_size";
    assert_eq!(sweep.err.matches(alone).count(), 1, "{}", sweep.err);
    let rows = rows(&sweep);
    assert_eq!(rows.len(), 4, "{}", sweep.out);
    assert_eq!(rows[0][2..], ["-", "as", "given"]);
    // The support packet has the option.
    assert_eq!(rows[1][3..], ["%", "implicit_return=1"]);
    assert_eq!(rows[2][3..], ["%", both]);
    assert!(rows[2][2].starts_with('-'), "{}", sweep.out);
    assert_eq!(rows[3][2..], ["no", "effect", "jump_target_cache=0"]);

    let values = [
        "",
        "--config implicit_return=1",
        "--config implicit_return=1 --config return_stack_size=4",
    ];
    for (n, (row, values)) in rows.iter().zip(values).enumerate() {
        let capture = folder.path(&n.to_string());
        let run = encode(&format!("{values} -o {}", capture.display()));
        let size = format!(" to {} bytes of trace, {} bits an instruction", row[0], row[1]);
        assert!(run.err.contains(&size), "{size}: {}", run.err);
        assert_eq!(run.err.contains(alone), n == 1, "{}", run.err);
        assert!(!run.err.contains("no effect on the bytes"), "{}", run.err);
    }
    let run =
        encode(&format!("--config return_stack_size=4 -o {}", folder.path("stack").display()));
    let note = "no effect on the bytes of the trace: --config return_stack_size=4\n";
    assert!(run.err.contains(note), "{}", run.err);
}

/// A long trace is measured in parts.
#[test]
fn traces_of_any_length_are_measured() {
    let folder = Folder::new("sweep-long");
    let path = folder.path("log");
    fs::write(&path, log(20_000)).unwrap();
    let words = "encode --isa rv32 --protocol etrace --config full_address=1 --log";
    let mut all = args(words, &[&path]);
    all.extend(args("-o", &[&folder.path("capture")]));
    let run = tracewright(&all);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let mut all = args(words, &[&path]);
    all.extend(args("--sweep full_address=0", &[]));
    let sweep = tracewright(&all);
    let rows = rows(&sweep);
    assert!(run.err.contains(&format!(" to {} bytes of trace", rows[0][0])), "{}", run.err);
    assert!(rows[1][2].starts_with('-'), "{}", sweep.out);

    let all =
        args("encode --isa rv32 --protocol etrace --config return_stack_size=4 --log", &[&path]);
    let all = [all, args("-o", &[&folder.path("other")])].concat();
    let run = tracewright(&all);
    let note = "of the trace of the first 65536 entries of the log: --config return_stack_size=4";
    assert!(run.err.contains(note), "{}", run.err);
}

#[test]
fn what_is_refused() {
    let folder = Folder::new("sweep-refused");
    let path = folder.path("log");
    fs::write(&path, log(1)).unwrap();
    let words = "encode --isa rv32 --protocol etrace --log";
    for (more, message) in [
        ("--sweep implicit_returns=1", "--sweep implicit_returns=1: "),
        ("--sweep implicit_return", "expected NAME=VALUE"),
        ("--sweep implicit_return=1 -o capture", "cannot be used with"),
        ("", "--output"),
    ] {
        let mut all = args(words, &[&path]);
        all.extend(args(more, &[]));
        let run = tracewright(&all);
        assert_eq!(run.code, Some(2), "{more}: {}", run.out);
        assert!(run.err.contains(message), "{more}: {}", run.err);
        assert_eq!(run.out, "");
    }
}

/// Timestamps are in the trace, or a note states that they have no effect.
#[test]
fn timestamps_have_an_effect() {
    let folder = Folder::new("sweep-timestamps");
    let path = folder.path("log");
    fs::write(&path, log(100)).unwrap();
    for (n, (words, timestamps)) in [
        ("ntrace", true),
        ("ntrace --config trTsEnable=1", true),
        ("ntrace --config trTsEnable=0", false),
        ("ntrace --config trTsControl=0", false),
        ("etrace", false),
    ]
    .into_iter()
    .enumerate()
    {
        let capture = folder.path(&n.to_string());
        let words = format!("encode --isa rv32 --timestamps 100 --protocol {words} --log");
        let mut all = args(&words, &[&path]);
        all.extend(args("-o", &[&capture]));
        let run = tracewright(&all);
        let note = "no effect on the bytes of the trace: --timestamps 100\n";
        assert_eq!(run.err.contains(note), !timestamps, "{words}: {}", run.err);
        let decoded = tracewright(&args("decode", &[&capture]));
        assert_eq!(decoded.out.contains("timestamp  400"), timestamps, "{words}: {}", decoded.out);
    }
}

/// A core does not execute instructions for registers of another width.
#[test]
fn the_width_of_registers_is_that_of_the_log() {
    let folder = Folder::new("sweep-width");
    let (path, params) = (folder.path("log"), folder.path("params"));
    fs::write(&path, log(1)).unwrap();
    fs::write(&params, "xlen = 32\n").unwrap();
    for protocol in ["ntrace", "etrace"] {
        for (isa, more, origin) in [
            ("rv64", "--config xlen=32", Some("--config xlen=32")),
            ("rv32", "--config XLEN=64", Some("--config XLEN=64")),
            ("rv64", "--params", Some("params")),
            ("rv32", "--params", None),
            ("rv64", "--config xlen=64", None),
        ] {
            let words = format!("encode --isa {isa} --protocol {protocol} --sweep retires=2 --log");
            let mut all = args(&words, &[&path]);
            let files: &[&Path] = if more == "--params" { &[&params] } else { &[] };
            all.extend(args(more, files));
            let run = tracewright(&all);
            assert_eq!(run.code, Some(if origin.is_some() { 2 } else { 0 }), "{words} {more}");
            if let Some(origin) = origin {
                assert!(run.err.contains(origin), "{words}: {}", run.err);
                let why = format!("the instructions of the log are {}", isa.to_uppercase());
                assert!(run.err.contains(&why), "{words}: {}", run.err);
            }
        }
    }
}
