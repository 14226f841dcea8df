//! Harts, trace unit parameters and logs.

use std::fs;
use std::path::Path;

use super::ok;
use crate::common::{Folder, args, tracewright};

/// Two harts that execute the same program, interleaved irregularly.
#[test]
fn two_harts() {
    const LOG: &str = "\
cpu,address,isa,el,opcode
0,1000,RV32,3,00000013
1,1000,RV32,3,00000013
0,1004,RV32,3,00050463
0,100c,RV32,3,ff5ff06f
1,1004,RV32,3,00050463
1,1008,RV32,3,00008067
0,1000,RV32,3,00000013
1,100c,RV32,3,ff5ff06f
1,1000,RV32,3,00000013
0,1004,RV32,3,00050463
";
    let folder = Folder::new("riscv-harts");
    let (log, image) = (folder.path("log.csv"), folder.path("program.bin"));
    let code = [0x13u32, 0x0005_0463, 0x8067, 0xff5f_f06f, 0x13];
    fs::write(&image, code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    fs::write(&log, LOG).unwrap();
    let image = format!("--image {}@0x1000", image.display());
    let ran = |cpu: char| {
        let of = LOG.lines().filter(|line| line.starts_with(cpu));
        of.map(|line| format!("0x0000{}", line.split(',').nth(1).unwrap())).collect::<Vec<_>>()
    };
    let encode = |words: &str, out: &Path| {
        let words =
            format!("encode --protocol etrace --framing encapsulated --isa rv32 {image} {words}");
        let mut all = args(&words, &[]);
        all.extend(args("--log", &[&log]));
        all.extend(args("-o", &[out]));
        tracewright(&all)
    };
    let capture = folder.path("both");
    let unit = "--config xlen=32 --config source_width=12 --config source=0x123";
    let output = encode(unit, &capture);
    ok(&output);
    let toml = fs::read_to_string(capture.join("capture.toml")).unwrap();
    for part in
        ["format = \"encapsulated\"", "source = 0x123", "source = 0x124", "source_width = 0xc"]
    {
        assert!(toml.contains(part), "{part} is not in {toml}");
    }
    let by_hart = |text: &str, name: &str| -> Vec<String> {
        let lines =
            text.lines().filter_map(|line| line.strip_prefix(name)?.trim().split(' ').next());
        lines.filter(|word| word.starts_with("0x")).map(str::to_owned).collect()
    };
    let output = tracewright(&args("instructions --strict", &[&capture]));
    for (name, cpu) in [("ETRACE_0", '0'), ("ETRACE_1", '1')] {
        assert_eq!(by_hart(ok(&output), name), ran(cpu), "{}", output.out);
    }
    let output = tracewright(&args(&format!("compare --isa rv32 {image}"), &[&capture, &log]));
    assert_eq!(ok(&output), "the same: 10 instructions and events of 2 sources\n");
    let output = tracewright(&args("info --all", &[&capture]));
    assert!(ok(&output).contains("encapsulated"), "{}", output.out);
    let output = tracewright(&args("frames --format none", &[&capture]));
    assert!(ok(&output).contains("(ETRACE_0)"), "{}", output.out);

    // The same bytes, with given and with detected harts.
    let bytes = fs::read_dir(&capture).unwrap().map(|f| f.unwrap().path());
    let bytes = bytes.into_iter().find(|p| p.extension().is_some_and(|e| e == "bin")).unwrap();
    let unit = "--config xlen=32 --config source_width=12";
    for (words, note) in [
        ("--protocol etrace@0x123 --protocol etrace@0x124", false),
        ("--protocol etrace", true),
        ("--protocol etrace --framing encapsulated", true),
    ] {
        let all = format!("instructions --strict {image} {words} {unit}");
        let output = tracewright(&args(&all, &[&bytes]));
        for (name, cpu) in [("etrace@0x123", '0'), ("etrace@0x124", '1')] {
            assert_eq!(by_hart(ok(&output), name), ran(cpu), "{}", output.out);
        }
        assert_eq!(
            output.err.contains("the messages contain the sources 0x123, 0x124"),
            note,
            "{}",
            output.err
        );
    }
    // The source number is the ID in every output.
    for (verb, part) in [
        ("decode --format json", r#""name":"ETRACE_1","protocol":"ETRACE","id":292"#),
        ("info --format json", r#""id":292,"bytes""#),
        ("frames", "ID 0x124"),
        ("frames --format json", r#""id":292"#),
        ("decode --format none", "ETRACE_1 (ETRACE, ID 0x124)"),
        ("info", "ID 0x124, in "),
    ] {
        let output = tracewright(&args(verb, &[&capture]));
        assert!(ok(&output).contains(part), "{verb}: {part} is not in {}", output.out);
    }
    for id in ["0x123", "292"] {
        let cpu = if id == "292" { '1' } else { '0' };
        let output =
            tracewright(&args(&format!("instructions --format pc --id {id}"), &[&capture]));
        assert_eq!(ok(&output).lines().count(), ran(cpu).len(), "{id}");
    }
    // The order of the sources in the capture does not matter; a difference is reported with the
    // ID.
    let toml = fs::read_to_string(capture.join("capture.toml")).unwrap();
    let (head, sources) = toml.split_at(toml.find("[[source]]").unwrap());
    let (first, second) = sources.split_at(sources.rfind("[[source]]").unwrap());
    let (second, rest) = second.split_at(second.find("[[image]]").unwrap_or(second.len()));
    let swapped = folder.path("swapped");
    fs::create_dir(&swapped).unwrap();
    for file in fs::read_dir(&capture).unwrap().map(|file| file.unwrap().path()) {
        fs::copy(&file, swapped.join(file.file_name().unwrap())).unwrap();
    }
    fs::write(swapped.join("capture.toml"), format!("{head}{second}\n{first}\n{rest}")).unwrap();
    let output = tracewright(&args("compare", &[&capture, &swapped]));
    assert_eq!(ok(&output), "the same: 10 instructions and events of 2 sources\n");
    fs::write(&log, LOG.replace("1,100c", "1,1000")).unwrap();
    let output = tracewright(&args("compare", &[&capture, &log]));
    assert!(output.out.starts_with("ETRACE_1 (id 0x124): differs after"), "{}", output.out);
    // With one hart given, the messages of the other have an unknown source number.
    let all = format!("instructions --format pc {image} --protocol etrace@0x124 {unit}");
    let output = tracewright(&args(&all, &[&bytes]));
    assert_eq!(ok(&output).lines().count(), ran('1').len());
    assert!(output.err.contains("no configured source: 0x123 ("), "{}", output.err);
    for (words, part) in [
        ("--protocol etrace --framing encapsulated", "--config source_width=N"),
        (
            "--protocol etrace --framing encapsulated --config source_width=4 --config aligned=false",
            "give each one with --protocol etrace@N",
        ),
        ("--protocol etrace@70000 --config source_width=4", "a number from 0 to 0xffff"),
        ("--protocol ETM4@200 --framing coresight", "`0xc8` is not a trace ID"),
    ] {
        let output = tracewright(&args(&format!("decode {words}"), &[&bytes]));
        assert_eq!(output.code, Some(2), "{words}: {}", output.out);
        assert!(output.err.contains(part), "{words}: {}", output.err);
    }
    let output =
        encode("--config xlen=32 --config source_width=1 --config source=1", &folder.path("none"));
    assert_eq!(output.code, Some(2), "{}", output.out);
    assert!(output.err.contains("does not fit into source_width"), "{}", output.err);
    let output = encode("--config profile=esp32", &folder.path("none"));
    assert!(output.err.contains("no source number"), "{}", output.err);
}

/// A long loop is one packet where its branch is predicted, and all of its iterations are emitted.
#[test]
fn long_loops() {
    const ITERATIONS: usize = 5000;
    let folder = Folder::new("riscv-loops");
    let (image, log, capture) =
        (folder.path("program.bin"), folder.path("log.csv"), folder.path("capture"));
    // addi a0, a0, -1; bnez a0, -4; a loop of two blocks: beqz a0, 8; addi, bnez a1, -8; nop.
    let code = [0xfff5_0513u32, 0xfe05_1ee3, 0x0005_0463, 0x0015_0513, 0xfe05_9ce3, 0x13, 0x8067];
    fs::write(&image, code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    let one = (0..ITERATIONS).flat_map(|_| [0x1000, 0x1004]);
    let two = (0..ITERATIONS).flat_map(|_| [0x1008, 0x1010]);
    let ran: Vec<_> = one.chain(two).chain([0x1014]).map(|at| format!("{at:x}")).collect();
    let rows: String = ran.iter().map(|at| format!("{at},RV32,3\n")).collect();
    fs::write(&log, format!("address,isa,el\n{rows}")).unwrap();
    let words = format!(
        "encode --protocol etrace --framing raw --image {}@0x1000 --config bpred_size=5 --config branch_prediction=1 \
         --config resync_max=100000 --log",
        image.display()
    );
    let mut all = args(&words, &[&log]);
    all.extend(args("-o", &[&capture]));
    ok(&tracewright(&all));
    let output = tracewright(&args("packets", &[&capture]));
    assert!(ok(&output).lines().count() < 12, "{}", output.out);
    let output = tracewright(&args("instructions --strict --format pc", &[&capture]));
    assert!(ok(&output).lines().eq(&ran), "{}", output.err);
    let counts = format!("{} ranges, {} instructions", 3 * ITERATIONS + 1, ran.len());
    for verb in ["decode --strict --format none", "decode --strict --format none --stats"] {
        let output = tracewright(&args(verb, &[&capture]));
        assert!(ok(&output).contains(&counts), "{counts}: {}", output.out);
    }
    let output = tracewright(&args("decode --strict", &[&capture]));
    assert_eq!(ok(&output).matches(" range ").count(), 3 * ITERATIONS + 1);
    // A count above the configured limit.
    let toml = fs::read_to_string(capture.join("capture.toml")).unwrap();
    let toml = toml.replace("[source.parameters]", "[source.parameters]\nlongest_count = 1000");
    fs::write(capture.join("capture.toml"), toml).unwrap();
    let output = tracewright(&args("decode --strict", &[&capture]));
    assert_eq!(output.code, Some(1), "{}", output.out);
    assert!(output.out.contains("than longest_count allows"), "{}", output.out);
}

/// Invalid parameters are reported with their origin.
#[test]
fn invalid_parameters_are_reported() {
    let folder = Folder::new("riscv-parameters");
    let (bytes, params, log) =
        (folder.path("trace.bin"), folder.path("unit.params"), folder.path("log.csv"));
    fs::write(&bytes, [0x41, 0x1f]).unwrap();
    fs::write(&params, "# the unit\nxlen = 99\n").unwrap();
    fs::write(&log, "address,isa,opcode\n1000,RV64,00000013\n").unwrap();
    fs::write(
        folder.path("capture.toml"),
        "[[buffer]]\nname = \"b\"\nfile = \"trace.bin\"\n[[source]]\nname = \"hart\"\nprotocol = \"etrace\"\n\
         params = \"unit.params\"\n",
    )
    .unwrap();
    let at = |words: &str, paths: &[&Path]| {
        let output = tracewright(&args(words, paths));
        assert_eq!(output.code, Some(2), "{words}: {}{}", output.out, output.err);
        output.err
    };
    let out = folder.path("out");
    let file = "unit.params:2: xlen: `xlen` cannot be `99`; it is one of 32 64";
    let encode = format!("encode --protocol etrace --log {} -o {}", log.display(), out.display());
    for (words, paths, want) in [
        ("decode --protocol etrace --params", &[&*params, &*bytes][..], file),
        ("decode", &[folder.path("").as_path()], file),
        (&*format!("{encode} --params"), &[&params], file),
        (
            "decode --protocol etrace --config xlen=99",
            &[&bytes],
            "--config: xlen: `xlen` cannot be `99`",
        ),
        (&*format!("{encode} --config xlen=99"), &[], "--config xlen=99: `xlen` cannot be `99`"),
    ] {
        let err = at(words, paths);
        assert!(err.contains(want), "{words}: {err}");
    }
    // A profile that does not exist in the version: the error has the file or option, and the key.
    fs::write(&params, "xlen = 64\nversion = \"2.0\"\nprofile = \"siemens\"\n").unwrap();
    let why = "version `2.0` has no profile `siemens`, which exists in version `1.0`";
    let file = format!("unit.params:2: version: {why}");
    let both = "--config version=2.0 --config profile=siemens";
    for (words, paths, want) in [
        ("decode --protocol etrace --params", &[&*params, &*bytes][..], file.clone()),
        ("decode", &[folder.path("").as_path()], file.clone()),
        (&*format!("{encode} --params"), &[&params], file),
        (
            &*format!("decode --protocol etrace {both}"),
            &[&bytes],
            format!("--config: version: {why}"),
        ),
        (&*format!("{encode} {both}"), &[], format!("--config version: {why}")),
    ] {
        let err = at(words, paths);
        assert!(err.contains(&want), "{words}: {err}");
    }
    fs::write(
        folder.path("capture.toml"),
        "[[buffer]]\nname = \"b\"\nfile = \"trace.bin\"\n[[source]]\nname = \"hart\"\nprotocol = \"etrace\"\n\
         [source.parameters]\nprofile = \"siemens\"\nversion = \"2.0\"\n",
    )
    .unwrap();
    let err = at("decode", &[folder.path("").as_path()]);
    assert!(err.contains("capture.toml") && err.contains(&format!("version: {why}")), "{err}");
    assert!(!out.exists());
    fs::write(&log, "address,isa,opcodes\n1000,RV64,00000013\n").unwrap();
    let err = at(&encode, &[]);
    assert!(err.contains("unknown CSV column `opcodes`"), "{err}");
}

/// A Spike log begins in a boot ROM that is in no image. The capture contains the opcodes of the
/// log.
#[test]
fn a_log_of_more_than_the_program() {
    const LOG: &str = "\
core   0: 0x0000000000001000 (0x00000297) auipc   t0, 0x0
core   0: 0x0000000000001004 (0x02028593) addi    a1, t0, 32
core   0: 0x0000000000001008 (0xf1402573) csrr    a0, mhartid
core   0: 0x000000000000100c (0x0182b283) ld      t0, 24(t0)
core   0: 0x0000000000001010 (0x00028067) jr      t0
core   0: 0x0000000080000000 (0x00000013) nop
core   0: 0x0000000080000004 (0x00050463) beqz    a0, pc + 8
core   0: 0x000000008000000c (0xff5ff06f) j       pc - 0xc
core   0: 0x0000000080000000 (0x00000013) nop
core   0: 0x0000000080000004 (0x00050463) beqz    a0, pc + 8
core   0: 0x0000000080000008 (0x8082) ret
";
    let folder = Folder::new("riscv-rom");
    let (log, image) = (folder.path("spike.log"), folder.path("program.bin"));
    let code = [0x13u32, 0x0005_0463, 0x8082, 0xff5f_f06f];
    fs::write(&image, code.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>()).unwrap();
    fs::write(&log, LOG).unwrap();
    let ran: Vec<_> = LOG.lines().map(|l| l[11..].split(' ').next().unwrap()).collect();
    let ran: Vec<_> = ran.iter().map(|at| at[2..].trim_start_matches('0').to_owned()).collect();
    for (images, note) in [
        (
            format!("--image {}@0x80000000", image.display()),
            "20 bytes of executed code, the first at 0x1000",
        ),
        (String::new(), "34 bytes of executed code, the first at 0x1000"),
    ] {
        let capture = folder.path("capture");
        let _ = fs::remove_dir_all(&capture);
        let mut all = args(&format!("encode --protocol etrace {images} --log"), &[&log]);
        all.extend(args("-o", &[&capture]));
        let output = tracewright(&all);
        ok(&output);
        assert!(output.err.contains(note), "{}", output.err);
        let output = tracewright(&args("instructions --strict --format pc", &[&capture]));
        assert_eq!(ok(&output).lines().collect::<Vec<_>>(), ran, "{}", output.err);
        assert_eq!(output.err, "");
        let output = tracewright(&args("compare", &[&capture, &log]));
        assert_eq!(ok(&output), "the same: 11 instructions and events of 1 source\n");
    }
}

/// The trace unit receives stall cycles, resets, halts and sideband signals of the log.
#[test]
fn events_of_the_log_reach_the_unit() {
    let folder = Folder::new("riscv-side");
    let image = folder.path("program.bin");
    // Two times jr t1, each of which is traced.
    fs::write(&image, [0x67, 0, 3, 0, 0x67, 0, 3, 0]).unwrap();
    let image = format!("--image {}@0x1000", image.display());
    let (capture, log) = (folder.path("capture"), folder.path("log.csv"));
    let traced = |rows: &str, config: &str, decode: &str| {
        let _ = fs::remove_dir_all(&capture);
        fs::write(&log, format!("step,value,cause,stall,address,isa,el,opcode\n{rows}")).unwrap();
        let words = format!(
            "encode --protocol etrace --framing raw {image} --config xlen=32 {config} --log"
        );
        let mut all = args(&words, &[&log]);
        all.extend(args("-o", &[&capture]));
        let output = tracewright(&all);
        ok(&output);
        let waited = output.err.contains("processors were stalled for");
        let output = tracewright(&args(decode, &[&capture]));
        (ok(&output).to_owned(), waited)
    };
    let jump =
        |n: usize, stall: &str| format!(",,,{stall},{:x},RV32,3,00030067\n", 0x1000 + n % 2 * 4);
    let loops = |stall: &str| (0..1000).map(|n| jump(n, stall)).collect::<String>();
    // The FIFO drains while the processor is stalled for another reason.
    let fifo = "--config fifo=150 --config fifo-drain=9";
    let pcs = "instructions --format pc";
    let (output, waited) = traced(&loops(""), fifo, pcs);
    assert!(output.lines().count() < 900 && !waited, "{}", output.lines().count());
    let (output, waited) = traced(&loops("60"), fifo, pcs);
    assert_eq!((output.lines().count(), waited), (1000, false));
    let (output, waited) = traced(&loops(""), &format!("{fifo} --config stall=1"), pcs);
    assert_eq!((output.lines().count(), waited), (1000, true));
    // The resynchronisation period may be in cycles.
    let period = "--config resync=cycles --config resync_max=2000";
    let starts = |stall: &str| {
        let (output, _) = traced(&loops(stall), period, "packets");
        output.lines().filter(|line| line.contains(" start ")).count()
    };
    let (few, many) = (starts(""), starts("19"));
    assert!(few <= 2 && (9..=11).contains(&many), "{few} and {many}");
    // A reset and a halt end a trace section; each of its instructions is traced.
    for side in ["exception,,reset,,1000,,,", "exception,,halt,,1000,,,", "halted,,,,,,,"] {
        for more in ["", "--config retires=4"] {
            let rows = format!("{}{}{side}\n{}", jump(0, ""), jump(1, ""), jump(0, ""));
            let (output, _) = traced(&rows, more, "decode --strict");
            assert_eq!(output.matches("trace-on").count(), 2, "{side} {output}");
            let (output, _) = traced(&rows, more, pcs);
            assert_eq!(output, "1000\n1004\n1000\n", "{side}");
        }
    }
    // A filter on signals.
    let filter = "--config trTeFilter0Control=0x10001 --config trTeFilter0MatchMaskImpdef=0xf0 \
                  --config trTeFilter0MatchValueImpdef=0x50";
    let rows: Vec<_> = (0..8).map(|n| jump(n, "")).collect();
    let rows = rows.join("signals,57,,,,,,\n").replacen("signals,57", "signals,17", 3);
    let rows = rows.replacen("signals,57", "signals,5a", 2);
    let (output, _) = traced(&rows, filter, pcs);
    assert_eq!(output, "1000\n1004\n1000\n1004\n", "{output}");
}

#[test]
fn a_small_fifo_overflows_or_stalls() {
    let folder = Folder::new("riscv-fifo");
    let (image, log) = (folder.path("program.bin"), folder.path("log.csv"));
    // Two times jr t1, each of which is traced.
    fs::write(&image, [0x67, 0, 3, 0, 0x67, 0, 3, 0]).unwrap();
    let addresses: Vec<u32> = (0..3000).map(|n| 0x1000 + n % 2 * 4).collect();
    let rows = addresses.iter().map(|at| format!("{at:x},RV32,3,00030067\n"));
    fs::write(&log, "address,isa,el,opcode\n".to_owned() + &rows.collect::<String>()).unwrap();
    let image = format!("--image {}@0x1000", image.display());
    let traced = |config: &str| {
        let capture = folder.path("capture");
        let _ = fs::remove_dir_all(&capture);
        let words = format!(
            "encode --protocol etrace --framing raw --isa rv32 {image} --config xlen=32 \
             --config fifo=150 --config fifo-drain=9 {config} --log"
        );
        let mut all = args(&words, &[&log]);
        all.extend(args("-o", &[&capture]));
        ok(&tracewright(&all));
        let output = tracewright(&args("decode --strict", &[&capture]));
        let gaps = output.out.matches("gap        trace unit overflow").count();
        assert_eq!(output.code, Some(i32::from(gaps > 0)), "{}", output.err);
        // The trace may end after the last overflow.
        let resumed = output.out.matches("trace-on   after an overflow").count();
        assert!(resumed == gaps || resumed + 1 == gaps, "{resumed} of {gaps}");
        let output = tracewright(&args("instructions --format pc", &[&capture]));
        (gaps, ok(&output).lines().count())
    };
    let (gaps, output) = traced("");
    assert!(gaps > 3 && output < 2000, "{gaps} gaps, {output} instructions");
    assert_eq!(traced("--config stall=1"), (0, 3000));
    let output = tracewright(&args("packets --explain", &[&folder.path("capture")]));
    for name in ["qual_status", "implicit_return", "branch_predictor", "dloss", "noaddr"] {
        assert!(ok(&output).contains(name), "no {name}");
    }
    // The values of a packet are aligned, irrespective of the length of the names.
    let fields = output.out.lines().filter(|line| line.contains(" +"));
    let value = |line: &str| line.rfind(" 0x").unwrap();
    let names =
        |line: &&str| ["branch_predictor", "implicit_return"].iter().any(|n| line.contains(n));
    let columns: Vec<_> = fields.filter(names).map(value).collect();
    assert!(columns.len() >= 2 && columns.windows(2).all(|two| two[0] == two[1]), "{columns:?}");
    let words = args("packets --explain --format json", &[&folder.path("capture")]);
    let output = tracewright(&words);
    let want = "{\"name\":\"qual_status\",\"at\":";
    assert!(ok(&output).contains(want), "no {want}");
}

/// Files of other types are reported.
#[test]
fn files_of_other_types_are_reported() {
    let folder = Folder::new("riscv-other");
    let (noise, elf, empty) =
        (folder.path("noise.bin"), folder.path("unit.params"), folder.path("empty.csv"));
    let bytes = (0..3000u32).map(|n| (n.wrapping_mul(0x9e37_79b1) >> 13) as u8);
    fs::write(&noise, bytes.collect::<Vec<_>>()).unwrap();
    fs::write(&elf, b"\x7fELF\x02\x01\x1b[31m\n").unwrap();
    fs::write(&empty, "").unwrap();
    let words = "decode --protocol etrace --config profile=reference-flow";
    let output = tracewright(&args(words, &[&noise]));
    ok(&output);
    assert!(output.err.contains(" of 3000 bytes come before a synchronisation"), "{}", output.err);
    let output = tracewright(&args("decode --protocol etrace --params", &[&elf, &noise]));
    assert_eq!(output.code, Some(2), "{}", output.out);
    assert!(output.err.contains("`\\u{7f}ELF") && !output.err.contains('\x1b'), "{}", output.err);
    let mut all = args("encode --protocol etrace --log", &[&empty]);
    all.extend(args("-o", &[&folder.path("out")]));
    let output = tracewright(&all);
    assert_eq!(output.code, Some(2), "{}", output.out);
    assert!(output.err.contains("the log is empty"), "{}", output.err);
}

/// Where a stream does not decode, the profiles with which it does are named; `compare` states
/// where program memory is missing.
#[test]
fn advice_on_streams_that_do_not_decode() {
    let folder = Folder::new("riscv-advice");
    let (log, boot) = (folder.path("log.csv"), folder.path("boot.csv"));
    let head = "address,isa,el,opcode\n";
    let turn = "1000,RV64,3,00000013\n1004,RV64,3,00030067\n1100,RV64,3,00000013\n\
                1104,RV64,3,00030067\n";
    fs::write(&log, format!("{head}{}", turn.repeat(400))).unwrap();
    fs::write(&boot, format!("{head}100,RV64,3,00000013\n{}", turn.repeat(400))).unwrap();
    let capture = folder.path("capture");
    let mut words = args(
        "encode --protocol etrace --framing raw --config profile=pulp-trdb --config xlen=64",
        &[],
    );
    words.extend(args("--log", &[&log]));
    words.extend(args("-o", &[&capture]));
    ok(&tracewright(&words));
    let output = tracewright(&args("info --all", &[&capture]));
    assert!(ok(&output).contains("iaddress_width = 64"), "{}", output.out);
    let files = fs::read_dir(&capture).unwrap().map(|entry| entry.unwrap().path());
    let trace = files.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap();
    let output = tracewright(&args("decode --protocol etrace --format none", &[&trace]));
    assert!(output.err.contains("profile=pulp-trdb"), "{}", output.err);
    let output = tracewright(&args("compare", &[&capture, &boot]));
    assert_eq!(output.code, Some(1), "{}", output.err);
    assert!(output.out.contains("program memory is missing at 0x100,"), "{}", output.out);
    assert!(output.out.contains("differs from the first"), "{}", output.out);
}
