//! Wrong descriptions: the first sentence of the diagnosis names the cause, the exit code is 1, and
//! the command that is printed runs.

use std::ffi::OsString;
use std::fs;
use std::process::Command;

use tracewright_testing::{is_long, sample, shared};

use super::inputs::{boot, stream};
use crate::common::{Folder, tracewright};

/// The descriptions whose cause must be named.
const LEAST: usize = 18;

const TI: &str = "captures/ti-am243x-r5f/freertos/files/freertos.data";
const TI_ELF: &str = "captures/ti-am243x-r5f/freertos/freertos.out";
const SWO: &str = "captures/sigrok-stm32f105/swo_uart.bin";
const SWO_ELF: &str = "captures/sigrok-stm32f105/trace_example.elf";
const SNOWBALL: &str = "conformance/arm/snapshots/Snowball/cstrace.bin";
const STM: &str = "conformance/arm/snapshots/stm_only/cstraceitm.bin";
const JUNO: &str = "conformance/arm/snapshots/juno-uname-001/uname_trace.bin";
const RICSEC: &str = "captures/ricsec-decoder/branches/trace3/cstrace.bin";
const QSORT: &str = "captures/riscv/etrace-ref/itype4_basic/qsort.te_inst_raw";
const QSORT_ELF: &str = "captures/riscv/etrace-ref/elf/qsort.riscv";
const MEDIAN_ELF: &str = "captures/riscv/etrace-ref/elf/median.riscv";

/// A file, the ID of the stream that is given without frames, the options, the image, and a word of
/// the cause.
type Case = (&'static str, Option<u16>, &'static str, Option<&'static str>, &'static str);

const CASES: &[Case] = &[
    // The protocol.
    (
        TI,
        None,
        "--framing coresight --protocol PTM@0x10 --config ETMCR=0 --config ETMCCER=0",
        Some(TI_ELF),
        "the protocol is not PTM but ETM3",
    ),
    (
        TI,
        None,
        "--framing coresight --protocol ITM@0x10",
        Some(TI_ELF),
        "the protocol is not ITM but ETM3",
    ),
    (TI, Some(0x10), "--protocol STM", None, "the protocol is not STM but ETM3"),
    (
        SNOWBALL,
        Some(0x10),
        "--protocol ETM3 --config ETMCR=0 --config ETMIDR=0x4114f250",
        None,
        "the protocol is not ETM3 but PTM",
    ),
    (
        RICSEC,
        None,
        "--framing coresight --protocol ETM3@0x10 --config ETMCR=0 --config ETMIDR=0x410cf250",
        None,
        "the protocol is not ETM3 but ETM4",
    ),
    (
        JUNO,
        None,
        "--framing coresight --protocol PTM@0x10 --config ETMCR=0 --config ETMCCER=0",
        None,
        "the protocol is not PTM but ETM4",
    ),
    (STM, None, "--framing coresight --protocol ITM@0x20", None, "the protocol is not ITM but STM"),
    (
        STM,
        Some(0x20),
        "--protocol ETM3 --config ETMCR=0 --config ETMIDR=0x410cf250",
        None,
        "the protocol is not ETM3 but STM",
    ),
    // The image.
    (
        TI,
        None,
        "--framing coresight --protocol ETM3@0x10 --config ETMCR=0xc40 --config ETMIDR=0x4104f230",
        Some(SWO_ELF),
        "the image is not",
    ),
    (
        SWO,
        Some(2),
        "--protocol ETM3 --core Cortex-M3 --config ETMCR=0 --config ETMIDR=0x4114f250",
        Some(TI_ELF),
        "the image is not",
    ),
    (
        TI,
        None,
        "--framing coresight --protocol ETM3@0x10 --config ETMCR=0xc40 --config ETMIDR=0x4104f230",
        Some("captures/ti-am243x-r5f/freertos/freertos.out@0x100"),
        "the image is not",
    ),
    (
        TI,
        Some(0x10),
        "--protocol ETM3 --config ETMCR=0xc40 --config ETMIDR=0x4104f230",
        Some(QSORT_ELF),
        "the image is not",
    ),
    (
        QSORT,
        None,
        "--protocol etrace --config profile=reference-flow",
        Some(MEDIAN_ELF),
        "the image is not",
    ),
    // Registers and parameters.
    (
        TI,
        None,
        "--framing coresight --protocol ETM3@0x10 --config ETMCR=0xc40 --config ETMIDR=0x4114f250",
        Some(TI_ELF),
        "register ETMIDR",
    ),
    (
        TI,
        None,
        "--framing coresight --protocol ETM3@0x10 --config ETMCR=0x1c40 --config ETMIDR=0x4104f230",
        Some(TI_ELF),
        "register ETMCR",
    ),
    (
        TI,
        Some(0x10),
        "--protocol ETM3 --config ETMCR=0xcc40 --config ETMIDR=0x4104f230",
        None,
        "register ETMCR",
    ),
    (
        SNOWBALL,
        Some(0x10),
        "--protocol PTM --config ETMCR=0 --config ETMCCER=0",
        None,
        "register ETMCR",
    ),
    (
        SNOWBALL,
        Some(0x11),
        "--protocol PTM --config ETMCR=0xd000 --config ETMCCER=0x8ea",
        None,
        "register ETMCR",
    ),
    (
        QSORT,
        None,
        "--protocol etrace --config profile=reference-flow --config iaddress_lsb=0",
        Some(QSORT_ELF),
        "the parameters are not",
    ),
    (
        QSORT,
        None,
        "--protocol etrace --config profile=pulp-trdb",
        Some(QSORT_ELF),
        "profile reference-flow",
    ),
];

#[test]
fn the_first_sentence_names_the_cause() {
    let folder = Folder::new("detect-wrong");
    let (mut right, mut count) = (0, 0);
    let mut table = String::new();
    for &(file, id, options, image, want) in sample(5, CASES) {
        let Some(path) = shared(file) else { return };
        let bytes = fs::read(path).unwrap();
        let bytes = id.map_or(bytes.clone(), |id| stream(&bytes, id));
        let input = folder.path("input");
        fs::write(&input, bytes).unwrap();
        let mut args: Vec<OsString> = vec!["decode".into(), "--format".into(), "none".into()];
        args.extend(options.split_whitespace().map(Into::into));
        if let Some(image) = image {
            let (file, at) = image.split_once('@').unwrap_or((image, ""));
            let Some(mut image) = shared(file).map(|path| path.into_os_string()) else { return };
            if !at.is_empty() {
                image.push(format!("@{at}"));
            }
            args.extend(["--image".into(), image]);
        }
        if file == QSORT {
            let path = folder.path("boot");
            fs::write(&path, boot(false)).unwrap();
            let mut image = path.into_os_string();
            image.push("@0x1000");
            args.extend(["--image".into(), image]);
        }
        args.push(input.into_os_string());
        let output = tracewright(&args);
        let first = output.err.lines().find(|line| {
            !line.contains("is assumed")
                && !line.contains("are assumed")
                && !line.starts_with("note: assumed")
        });
        let first = first.unwrap_or_default().to_owned();
        let named = first.contains(want);
        right += usize::from(named);
        count += 1;
        table += &format!("{named} | {file} {options} | {first}\n");
        let strict = tracewright(&[args.clone(), vec!["--strict".into()]].concat());
        assert_eq!(strict.code, Some(1), "{file} {options}: {}", strict.err);
        if named {
            assert_eq!(output.code, Some(1), "{file} {options}: {}", output.err);
            runs(&output.err);
        }
    }
    println!("{table}{right} of {count}");
    let least = if is_long() { LEAST } else { count };
    assert!(right >= least, "{right} of {count}\n{table}");
}

/// Parts of a buffer of a Juno, as a smaller buffer has them, with the registers of the unit. The
/// program memory is not quite that of the kernel which ran: other registers have about as many
/// contradictions, and the bytes before the first synchronisation prove nothing.
#[test]
fn registers_of_the_unit_are_not_the_cause() {
    let Some(folder) = shared("conformance/arm/snapshots/juno_r1_1") else { return };
    let bytes = fs::read(folder.join("cstrace.bin")).unwrap();
    let output = Folder::new("detect-parts");
    let input = output.path("input");
    for (start, end) in [(37296, 39344), (39024, 47216), (39872, 48064), (46288, 50384)] {
        fs::write(&input, &bytes[start..end]).unwrap();
        let options = "decode --format none --framing coresight --protocol ETM4@0x10 \
                       --config TRCCONFIGR=0xc1 --config TRCIDR0=0x28000ea1 \
                       --config TRCIDR1=0x4100f403 --config TRCIDR2=0x488 --image";
        let mut args: Vec<OsString> = options.split_whitespace().map(Into::into).collect();
        let mut image = folder.join("kernel_dump.bin").into_os_string();
        image.push("@0xffffffc000081000");
        args.extend([image, input.clone().into_os_string()]);
        let output = tracewright(&args);
        assert!(!output.err.contains("of the traced unit"), "{start}: {}", output.err);
    }
}

/// Damage does not make the parameters of a trace unit wrong: another version that decodes less
/// also contradicts the program less often.
#[test]
fn damage_does_not_blame_the_parameters() {
    let (Some(trace), Some(elf)) = (shared(QSORT), shared(QSORT_ELF)) else { return };
    let bytes = fs::read(trace).unwrap();
    let folder = Folder::new("detect-damage");
    let input = folder.path("input");
    for (step, mask) in [(40, 0x40), (100, 0x10), (200, 0x10)] {
        let mut damaged = bytes.clone();
        for at in (step / 2..damaged.len()).step_by(step) {
            damaged[at] ^= mask;
        }
        fs::write(&input, damaged).unwrap();
        let words =
            "decode --format none --protocol etrace --config profile=reference-flow --image";
        let mut args: Vec<OsString> = words.split_whitespace().map(Into::into).collect();
        args.extend([elf.clone().into_os_string(), input.clone().into_os_string()]);
        let output = tracewright(&args);
        let blamed = output.err.contains(" is not ETRACE") || output.err.contains("parameters are");
        assert!(!blamed, "{step}: {}", output.err);
    }
}

/// The frames of a trace unit with `id`, whose bytes are `bytes`.
fn frames(id: u8, bytes: &[u8]) -> Vec<u8> {
    let frame = |part: &[u8]| {
        let mut frame = [0; 16];
        frame[0] = id << 1 | 1;
        let mut low = 0;
        for (n, byte) in part.iter().enumerate().map(|(n, byte)| (n + 1, *byte)) {
            frame[n] = if n % 2 == 0 { byte & !1 } else { byte };
            low |= if n % 2 == 0 { (byte & 1) << (n / 2) } else { 0 };
        }
        frame[15] = low;
        frame
    };
    bytes.chunks_exact(14).flat_map(frame).collect()
}

/// Trace IDs that no source has are one line: damage from a byte on, or another source, with the
/// command that decodes it.
#[test]
fn stray_ids_have_a_cause() {
    let Some(path) = shared(SNOWBALL) else { return };
    let bytes = fs::read(path).unwrap();
    let folder = Folder::new("detect-stray");
    let input = folder.path("input");
    let options = "decode --format none --framing coresight --protocol PTM@0x10 --core Cortex-A9 \
                   --config ETMCR=0x10001000";
    let run = || {
        let mut args: Vec<OsString> = options.split_whitespace().map(Into::into).collect();
        args.push(input.clone().into_os_string());
        tracewright(&args)
    };
    let notes = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.starts_with("note:"));
        lines.filter(|line| !line.contains("is assumed")).map(ToOwned::to_owned).collect()
    };
    // The second core of the Snowball.
    fs::write(&input, &bytes).unwrap();
    let output = run();
    assert_eq!(output.code, Some(0), "{}", output.err);
    let first = notes(&output.err).into_iter().next().unwrap();
    assert!(first.contains("the frames have data of other sources: ID 0x11 (PTM, "), "{first}");
    assert!(output.err.contains("--protocol PTM@0x11"), "{}", output.err);
    runs(&output.err);
    // One source, and noise from the middle on.
    let mut random = 1u32;
    let mut noise = || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (random >> 24) as u8
    };
    let good = frames(0x10, &stream(&bytes, 0x10));
    let from = good.len() / 1024 * 1024;
    assert!(from >= 4096, "{from}");
    let damaged: Vec<u8> = good[..from].iter().copied().chain((0..4096).map(|_| noise())).collect();
    fs::write(&input, damaged).unwrap();
    let output = run();
    assert_eq!(output.code, Some(1), "{}", output.err);
    let want = format!("the buffer is damaged from byte {from} on");
    let first = notes(&output.err).into_iter().next().unwrap();
    assert!(first.contains(&want), "{}", output.err);
    assert!(!output.err.contains("no configured source"), "{}", output.err);
}

/// A source without data has another trace ID, where its protocol is that of an ID without source.
#[test]
fn other_trace_ids_are_named() {
    let Some(path) = shared(SNOWBALL) else { return };
    let folder = Folder::new("detect-id");
    let input = folder.path("input");
    fs::copy(path, &input).unwrap();
    let run = |protocols: &str| {
        let options = format!(
            "decode --format none --framing coresight {protocols} --core Cortex-A9 --config \
             ETMCR=0x10001000"
        );
        let mut args: Vec<OsString> = options.split_whitespace().map(Into::into).collect();
        args.push(input.clone().into_os_string());
        tracewright(&args)
    };
    let silent = "; and none of PTM@0x30 (ID 0x30)";
    let output = run("--protocol PTM@0x11 --protocol PTM@0x30");
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.err.contains(silent), "{}", output.err);
    assert!(!output.err.contains("--protocol PTM@0x30"), "{}", output.err);
    runs(&output.err);
    // Units of other protocols may have sent nothing.
    let output = run("--protocol PTM@0x11 --protocol ITM@0x30");
    assert!(output.err.contains("data of other sources: ID 0x10 (PTM, "), "{}", output.err);
    assert!(!output.err.contains("none of"), "{}", output.err);
    assert!(output.err.contains("--protocol ITM@0x30"), "{}", output.err);
}

/// The command that is printed, if any, runs, and finds nothing wrong.
fn runs(messages: &str) {
    let Some(line) = messages.lines().find(|line| line.starts_with("help: run: tracewright "))
    else {
        return;
    };
    let words = line.trim_start_matches("help: run: tracewright ");
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("\"$0\" {words}")).arg(env!("CARGO_BIN_EXE_tracewright"));
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words}: {text}");
}

/// Linux on hardware with SRC of two bits: without a program, the messages show each wrong width.
#[test]
fn widths_of_source_numbers_without_a_program() {
    let Some(root) = shared("captures/riscv/ntrace/sifive-hw/linux-dynamic") else { return };
    let folder = Folder::new("wrong-ntrace-linux");
    let path = folder.path("linux.bin");
    fs::write(&path, tracewright_testing::unpacked(&root.join("stream.bin.xz"))).unwrap();
    for width in 0..=6 {
        let mut command = vec![OsString::from("info"), path.clone().into()];
        let given = format!("source_width={width}");
        let words = ["--protocol", "ntrace", "--config", "profile=sifive", "--config", &given];
        command.extend(words.map(OsString::from));
        let output = tracewright(&command);
        let named = output.out.contains("which is NTRACE (profile sifive, 2-bit SRC)");
        assert_eq!(named, width != 2, "{width}: {}", output.out);
    }
}

/// A wrong width of SRC, or profile, of N-Trace reads nearly all bytes: the parameters that explain
/// the messages are named. XLEN is that of the program.
#[test]
fn widths_of_source_numbers() {
    let Some(root) = shared("captures/riscv/ntrace") else { return };
    let folder = Folder::new("wrong-ntrace");
    for (stream, program, given, want) in [
        (
            "own-encoder/own_calls_rv64/btm_full.nex.bin",
            "program",
            "source_width=0",
            "source_width=3",
        ),
        (
            "own-encoder/own_calls_rv64/btm_full.nex.bin",
            "program",
            "source_width=4",
            "source_width=3",
        ),
        (
            "own-encoder/own_calls_rv64/htm_all.nex.bin",
            "program",
            "source_width=5",
            "source_width=4",
        ),
        ("nexrv-ref/dhrystone.mode3.nex.bin", "dhrystone", "source_width=1", "no SRC"),
        ("sifive-hw/Ralph-indirect-call/stream.bin", "program", "profile=sifive", "source_width=1"),
        ("sifive-hw/e31_hello_debug.htm/stream.bin", "program", "profile=spec", "profile=sifive"),
    ] {
        let path = root.join(stream);
        let elf = folder.path("program.elf");
        let packed = path.parent().unwrap().join(format!("{program}.elf.xz"));
        fs::write(&elf, tracewright_testing::unpacked(&packed)).unwrap();
        for image in [true, false] {
            let mut command = vec![OsString::from("info"), path.clone().into()];
            command.extend(["--protocol", "ntrace", "--config", given].map(OsString::from));
            if image {
                command.extend([OsString::from("--image"), elf.clone().into()]);
            }
            let output = tracewright(&command);
            let first = output.out.split("problems:").nth(1).unwrap_or_default();
            let first = first.split("\n  2.").next().unwrap_or_default();
            let is_named = first.contains("the parameters are not those of the traced unit");
            // Without the program, nothing may show it; then nothing else is named.
            let is_right = is_named && first.contains(want) || !image && !is_named;
            assert!(is_right, "{stream} {given} {image}: {}", output.out);
        }
    }
    let path = root.join("sifive-hw/e31_hello_debug.htm/stream.bin");
    let elf = folder.path("program.elf");
    let mut command = vec![OsString::from("decode"), path.into()];
    let words = ["--protocol", "ntrace", "--config", "profile=sifive", "--format", "none"];
    command.extend(words.map(OsString::from));
    command.extend([OsString::from("--image"), elf.into()]);
    let output = tracewright(&command);
    assert_eq!(output.code, Some(0), "{}{}", output.out, output.err);
}
