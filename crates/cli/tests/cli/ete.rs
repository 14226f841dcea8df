//! `tracewright unit` with an ETE: from a request to a decoded trace, forms, sequences.

use std::fs;

use crate::common::{Folder, args, tracewright};

/// A loop of three calls of a function at 0x80020, in A64 at Non-secure EL0.
fn log() -> String {
    let mut lines = vec!["address,isa,opcode,el,security".to_owned()];
    let mut add = |address: u32, opcode: u32| {
        lines.push(format!("{address:x},A64,{opcode:08x},0,non-secure"));
    };
    add(0x80000, 0xd280_0060);
    for _ in 0..3 {
        add(0x80004, 0x9400_0007);
        add(0x80020, 0xd503_201f);
        add(0x80024, 0xd65f_03c0);
        add(0x80008, 0xf100_0400);
        add(0x8000c, 0x54ff_ffc1);
    }
    add(0x80010, 0xd503_201f);
    lines.join("\n") + "\n"
}

/// The program of the log: memory from 0x80000 on.
fn memory() -> Vec<u8> {
    let mut words = [0xd503_201fu32; 10];
    for line in log().lines().skip(1) {
        let mut cells = line.split(',');
        let address = usize::from_str_radix(cells.next().unwrap(), 16).unwrap();
        words[(address - 0x80000) / 4] = u32::from_str_radix(cells.nth(1).unwrap(), 16).unwrap();
    }
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A program as `--for snapshot` prints it, as `--config` options.
fn options(program: &str) -> String {
    let registers = program.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        Some(format!("--config {}={value}", name.split('(').next()?))
    });
    registers.collect::<Vec<_>>().join(" ")
}

/// The request, the program, the trace, and the instructions that it decodes to.
#[test]
fn from_a_request_to_a_decoded_trace() {
    let folder = Folder::new("ete-request");
    let (text, steps) = (folder.path("program.txt"), folder.path("log.csv"));
    fs::write(&steps, log()).unwrap();
    let request = "unit program ETE --trace 0x80020..+8 --level 0 --trigger exec:0x80020*2 \
                   --for snapshot";
    let program = tracewright(&args(request, &[]));
    assert_eq!((program.code, program.err.as_str()), (Some(0), ""));
    fs::write(&text, &program.out).unwrap();

    let lint = tracewright(&args("unit lint ETE", &[&text]));
    assert_eq!((lint.code, lint.out.as_str()), (Some(0), "ETE 1.0\n  no finding\n"));
    let explained = tracewright(&args("unit explain ETE", &[&text]));
    assert!(explained.out.contains("Traces the instructions at 0x80020 to 0x80027, at"));
    assert!(explained.out.contains("Event 0 occurs when the instruction at 0x80020 executes and"));
    assert!(!explained.out.contains("bits without a meaning"), "{}", explained.out);
    let filter = tracewright(&args("unit filter ETE --summary --log", &[&steps, &text]));
    assert!(filter.out.starts_with("instructions: 6 must be traced, 11 must not, 0 may\n"));
    // The counter stays at zero: the second execution triggers, and so does the third.
    assert!(filter.out.ends_with("triggers: 2\n"), "{}", filter.out);

    let (out, image) = (folder.path("out"), folder.path("program.bin"));
    fs::write(&image, memory()).unwrap();
    let image = format!("{}@0x80000", image.display());
    let words = format!("encode --protocol ETE {} --image {image} --log", options(&program.out));
    let encoded = tracewright(&args(&words, &[&steps, "-o".as_ref(), &out]));
    assert_eq!(encoded.code, Some(0), "{}", encoded.err);
    let decoded = tracewright(&args("instructions --format pc", &[&out]));
    assert_eq!(decoded.out, "80020\n80024\n".repeat(3), "{}", decoded.err);
}

/// Each form of a program with a sink has the sink first.
#[test]
fn forms_of_a_program() {
    let request = "unit program ETE --trace 0x1000..+0x10 --sink trbe --buffer 0x80000000..+0x4000";
    for (form, first, last) in [
        ("text", "write TRBLIMITR_EL1 = 0x00000000", "poll TRCSTATR"),
        ("c", "WRITE(\"TRBLIMITR_EL1\", 0x0u)", "while ((value & 0x1u) != 0x0u);"),
        ("openocd --base 0x1000", "# TRBLIMITR_EL1 is a System register", "mrw 0x0000100c"),
    ] {
        let output = tracewright(&args(&format!("{request} --for {form}"), &[]));
        assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{form}");
        let (first, last) = (output.out.find(first), output.out.find(last));
        assert!(first.is_some() && first < last, "{form}: {}", output.out);
    }
    let sysfs = tracewright(&args("unit program ETE --trace 4096..8192 --for linux-sysfs", &[]));
    assert!(sysfs.out.contains("echo 0x1000 0x1fff 0 > addr_range\n"), "{}", sysfs.out);
    for wrong in [
        "unit program ETE --sink trbe --buffer 0x80000000..+0x10",
        "unit program ETE --sink etr --buffer 0x80000000..+0x1000 --mode fill",
        "unit program ETE --sink trbe --buffer 0x80000000..+0x1000 --watermark 0x2000",
        "unit program ETE --sink trbe",
        "unit program Cortex-M4 --sink trbe --buffer 0x80000000..+0x1000",
    ] {
        let output = tracewright(&args(wrong, &[]));
        assert_eq!((output.code, output.out.as_str()), (Some(2), ""), "{wrong}");
    }
    let refused = tracewright(&args("unit program ETE --data all", &[]));
    assert_eq!((refused.code, refused.out.as_str()), (Some(1), ""));
}

/// A recording that breaks a rule ends with 1, one that breaks none with 0.
#[test]
fn sequences() {
    let folder = Folder::new("ete-sequence");
    let path = folder.path("recording.txt");
    for (text, code, line) in [
        ("isb\nwrite TRCPRGCTLR 1\nisb\nread TRCSTATR 0\n", 0, "  no finding"),
        (
            "isb\nwrite TRCPRGCTLR 1\nread TRCSTATR 0\n",
            1,
            "  error status-unsynchronised: line 3, read of TRCSTATR: ",
        ),
    ] {
        fs::write(&path, text).unwrap();
        let output = tracewright(&args("unit sequence ETE", &[&path]));
        assert_eq!(output.code, Some(code), "{}", output.out);
        assert!(output.out.lines().any(|shown| shown.starts_with(line)), "{}", output.out);
    }
}

/// Each routine, as text and as C: the text is a recording in which nothing is wrong, and so is
/// what software does with several of them.
#[test]
fn routines() {
    let folder = Folder::new("ete-routines");
    let path = folder.path("recording.txt");
    let made = |routine: &str, form: &str| {
        let words = format!(
            "unit program ETE --sink trbe --buffer 0x80000000..+0x10000 --routine {routine} --for \
             {form}"
        );
        let output = tracewright(&args(&words, &[]));
        assert_eq!((output.code, output.err.as_str()), (Some(0), ""), "{routine}");
        output.out
    };
    let enter = "exception EL1\n".to_owned();
    let mut all = enter.clone();
    for (routine, text, in_c) in [
        ("enable", "poll TRCSTATR", "void trace_unit_enable(void)"),
        ("disable", "write TRFCR_EL1 = 0x00000000", "WRITE(\"TRFCR_EL1\", (saved[0] & ~0x3ull));"),
        ("enable", "write TRCPRGCTLR (0x004) = 0x00000001", "hint #18\" ::: \"memory\"); /*"),
        ("save", "read TRCPRGCTLR", "void trace_unit_save(uint64_t *saved)"),
        ("restore", "write OSLAR_EL1 = 0x00000000", "WRITE(\"S2_1_C0_C4_0\", saved["),
        ("switch-out --ttbr0 0x1000", "read TRBMAR_EL1", "COPY_TRACE_BUFFER();"),
        (
            "switch-in --ttbr0 0x2000",
            "write TTBR0_EL1 = 0x00002000",
            "WRITE(\"TTBR0_EL1\", ttbr0);",
        ),
        ("switch-out-tracing", "read TRCPRGCTLR", "*saved, uint64_t ttbr0)"),
        ("switch-in", "write TRBMAR_EL1", "WRITE(\"TRBMAR_EL1\", saved["),
    ] {
        let (lines, c) = (made(routine, "text"), made(routine, "c"));
        assert!(lines.contains(text), "{routine}: {lines}");
        // TSB CSYNC is in the routines that end tracing only.
        assert!(c.contains(in_c) || in_c.starts_with("hint"), "{routine}: {c}");
        fs::write(&path, &lines).unwrap();
        let checked = tracewright(&args("unit sequence ETE", &[&path]));
        assert!(checked.out.ends_with("  no finding\n"), "{routine}: {}", checked.out);
        all += &lines;
    }
    fs::write(&path, &all).unwrap();
    let checked = tracewright(&args("unit sequence ETE", &[&path]));
    assert!(checked.out.ends_with("  no finding\n"), "{}", checked.out);
    // Without a trace buffer, and with another sink.
    for sink in ["", " --sink etr --buffer 0x80000000..+0x10000"] {
        let routines = ["enable", "disable", "save", "restore", "switch-out", "switch-out-tracing"];
        for routine in routines.into_iter().chain(["switch-in"]) {
            let words = format!("unit program ETE{sink} --routine {routine}");
            fs::write(&path, tracewright(&args(&words, &[])).out).unwrap();
            let checked = tracewright(&args("unit sequence ETE", &[&path]));
            assert!(checked.out.ends_with("  no finding\n"), "{routine}{sink}: {}", checked.out);
        }
    }
    // Registers of higher levels.
    for (options, has, lacks) in [
        ("", "TRBMAR_EL1", "MDCR_EL2"),
        (" --at-level 2", "MDCR_EL2", "MDCR_EL3"),
        (" --at-level 3", "MDCR_EL3", "TRBSR_EL3"),
        (" --at-level 3 --trbe-exceptions", "TRBSR_EL3", "VBAR"),
    ] {
        let text = made(&format!("switch-out{options}"), "text");
        assert!(text.contains(has) && !text.contains(lacks), "{options}: {text}");
    }
    for (unit, code) in [("ETMv4", 1), ("Cortex-A8", 1)] {
        let words = format!("unit program {unit} --routine switch-in");
        assert_eq!(tracewright(&args(&words, &[])).code, Some(code), "{unit}");
    }
    assert_eq!(tracewright(&args("unit program ETMv4 --routine save", &[])).code, Some(0));
}
