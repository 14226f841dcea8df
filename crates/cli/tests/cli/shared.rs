//! Captures of `../shared`, where they exist: every verb accepts them, and results agree with other
//! decoders.

use std::fs;

use crate::common::{Folder, args, command, tracewright};
use serde_json::Value;
use tracewright_testing::{sample, shared};

#[test]
fn every_verb_accepts_every_snapshot() {
    let Some(folder) = shared("conformance/arm/snapshots") else { return };
    let snapshots = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut snapshots: Vec<_> = snapshots.collect();
    snapshots.sort();
    snapshots.retain(|path| !path.ends_with("bugfix-exact-match"));
    let verbs = ["info", "packets", "decode", "instructions", "frames", "functions"];
    let all = snapshots.iter().flat_map(|snapshot| verbs.map(|verb| (snapshot, verb)));
    // A short run has a verb for nearly each snapshot, and each verb several times.
    for (snapshot, verb) in sample(7, all) {
        let words =
            format!("{verb} --format json{}", if verb == "info" { "" } else { " --all-buffers" });
        let output = tracewright(&args(&words, &[snapshot]));
        // The units of one snapshot are recorded as ETE, and their trace is of an ETMv4: the
        // diagnosis states that the trace contradicts the description.
        let contradicted = snapshot.ends_with("infrastructure") && output.code == Some(1);
        // Of some there is no program.
        let empty = output.code == Some(1) && output.err.contains(": the result is empty: ");
        assert!(
            output.code == Some(0) || contradicted || empty,
            "{verb} {}: {}",
            snapshot.display(),
            output.err
        );
        // Checking all lines takes minutes in a debug build.
        let lines: Vec<_> = output.out.lines().collect();
        for line in lines.iter().take(2_000).chain(lines.last()) {
            assert!(serde_json::from_str::<Value>(line).is_ok(), "{verb}: {line}");
        }
    }
}

/// The instructions that sigrok's independent decoder finds in the trace of a Cortex-M3.
#[test]
fn instructions_of_a_serial_wire_capture() {
    let Some(folder) = shared("captures/sigrok-stm32f105") else { return };
    let words = "instructions --format pc --id 2 --protocol ITM@1 --protocol ETM3@2 --core Cortex-M3 \
                 --config ETMCR=0xd80 --config ETMIDR=0x4114f250 --image";
    let paths = [folder.join("trace_example.elf"), folder.join("swo_uart.bin")];
    let output = tracewright(&args(words, &[&paths[0], &paths[1]]));
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    let expected = fs::read_to_string(folder.join("sigrok_etmv3.txt")).unwrap();
    let expected = expected.lines().filter_map(|line| line.split_once(": PC 0x"));
    let expected: Vec<_> = expected.map(|(_, pc)| pc.trim_start_matches('0')).collect();
    assert_eq!(expected.len(), 1200);
    assert_eq!(output.out.lines().collect::<Vec<_>>(), expected);
}

/// The software writes of the same program, which sorts five numbers repeatedly.
#[test]
fn text_of_a_serial_wire_capture() {
    let Some(folder) = shared("captures/sigrok-stm32f105") else { return };
    let words = "decode --format json --assume-synced --id 1 --protocol ITM@1 --framing coresight";
    let output = tracewright(&args(words, &[&folder.join("swo_uart.bin")]));
    let written = |port: u64| -> Vec<u8> {
        let lines = output.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let writes = lines.filter(|line| line["kind"] == "software-write" && line["port"] == port);
        let bytes = writes.flat_map(|line| {
            let value = u64::from_str_radix(&line["value"].as_str().unwrap()[2..], 16).unwrap();
            let size = line["bits"].as_u64().unwrap() as usize / 8;
            value.to_le_bytes()[..size].to_vec()
        });
        bytes.collect()
    };
    let blinks = String::from_utf8(written(0)).unwrap();
    assert!(blinks.starts_with("OnOffOnOff"), "{blinks}");
    // The word `Sort`, and five sorted numbers.
    let numbers = [2u32, 2, 11, 35, 235].into_iter().flat_map(u32::to_le_bytes);
    let round: Vec<_> = b"Sort".iter().copied().chain(numbers).collect();
    assert_eq!(written(1), round.repeat(8));
}

/// The trace ID is inferred if the frames contain a single one.
#[test]
fn the_only_id_of_frames_is_inferred() {
    let Some(folder) = shared("captures/ricsec-decoder/branches") else { return };
    let words = "decode --format none --protocol ETM4 --framing coresight --config TRCCONFIGR=1 \
                 --config TRCIDR0=0x28000ea1 --config TRCIDR2=0x488";
    let output = tracewright(&args(words, &[&folder.join("trace1/cstrace.bin")]));
    assert_eq!(output.code, Some(0));
    assert!(output.err.contains("0x10, the only one in the frames, is used"), "{}", output.err);
    assert!(output.out.contains("12993 bytes, 5715 packets"), "{}", output.out);
}

/// The output does not depend on pipe, file or number of threads, in every format.
#[test]
fn pipes_files_and_threads_decode_alike() {
    let Some(folder) = shared("captures/ricsec-decoder/branches") else { return };
    let bytes = fs::read(folder.join("trace1/cstrace.bin")).unwrap().repeat(24);
    let folder = Folder::new("pipes-and-files");
    let file = folder.path("cstrace.bin");
    fs::write(&file, &bytes).unwrap();
    for format in sample(2, ["text", "json", "none", "opencsd", "json --packets"]) {
        let words = |jobs: usize| {
            args(
                &format!(
                    "decode --format {format} --jobs {jobs} --protocol ETM4@0x10 --framing coresight \
                     --config TRCCONFIGR=1 --config TRCIDR0=0x28000ea1 --config TRCIDR2=0x488"
                ),
                &[],
            )
        };
        let from_file = |jobs| {
            let mut words = words(jobs);
            words.push(file.clone().into_os_string());
            tracewright(&words).out
        };
        let from_pipe = |jobs| {
            let mut words = words(jobs);
            words.push("-".into());
            let pipe = std::process::Stdio::piped;
            let mut command = command(&words);
            let command = command.stdin(pipe()).stdout(pipe()).stderr(std::process::Stdio::null());
            let mut child = command.spawn().unwrap();
            let (mut stdin, bytes) = (child.stdin.take().unwrap(), bytes.clone());
            let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &bytes));
            let out = child.wait_with_output().unwrap().stdout;
            writer.join().unwrap().unwrap();
            String::from_utf8(out).unwrap()
        };
        let want = from_file(1);
        assert!(!want.is_empty());
        let piped = from_pipe(1);
        // The name and size of a pipe differ, and in `text` the width of the offsets.
        let lines = |output: &str| -> Vec<String> {
            let all = output.lines().filter(|line| !line.contains("\"buffer\""));
            all.map(str::to_owned).collect()
        };
        if format != "text" && format != "none" {
            assert!(lines(&piped) == lines(&want), "{format}, from a pipe");
        }
        for jobs in sample(3, [3, 2, 8]) {
            assert!(from_file(jobs) == want, "{format}, {jobs} jobs");
            assert!(from_pipe(jobs) == piped, "{format}, {jobs} jobs, from a pipe");
        }
        println!("{format}: {} bytes from a file, {} from a pipe", want.len(), piped.len());
    }
}

/// The last line of `functions`, and the sum of the instructions of all functions.
fn functions(options: &str, paths: &[&std::path::Path]) -> (Value, u64, String) {
    let output = tracewright(&args(&format!("functions --format json {options}"), paths));
    assert_eq!(output.code, Some(0), "{}", output.err);
    let lines: Vec<Value> =
        output.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let functions = lines.iter().filter(|line| line["type"] == "function");
    let sum = functions.filter_map(|line| line["instructions"].as_u64()).sum();
    (lines.last().expect("a line").clone(), sum, output.out)
}

/// The calls and returns are those that a count of branches by their kind has found. Eight returns
/// are those of functions that were called before the trace began, and three functions have not
/// returned at its end.
#[test]
fn calls_and_returns_of_a_long_trace() {
    let Some(folder) = shared("conformance/arm/snapshots/bugfix-exact-match") else { return };
    let (stacks, sum, one) = functions("--jobs 1", &[&folder]);
    assert_eq!((sum, &stacks["instructions"]), (7_581_461, &7_581_461.into()));
    assert_eq!((&stacks["calls"], &stacks["returns"]), (&107_738.into(), &107_735.into()));
    assert_eq!(stacks["returns_of_unseen_calls"], 8);
    for other in ["unwinding", "other_returns", "losses"] {
        assert_eq!(stacks[other], 0, "{other}");
    }
    assert_eq!(stacks["begun"], stacks["ended"]);
    // The same on several threads.
    assert!(functions("--jobs 4", &[&folder]).2 == one);
}

/// The functions of FreeRTOS on a Cortex-R5F: each allocation is one call of each function.
#[test]
fn functions_of_freertos() {
    let Some(folder) = shared("captures/ti-am243x-r5f/freertos") else { return };
    let elf = folder.join("freertos.out");
    let mut words = args("functions --format json --image", &[&elf]);
    words.extend(args("", &[&folder]));
    let output = tracewright(&words);
    assert_eq!(output.code, Some(0), "{}", output.err);
    let lines = output.out.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let calls: Vec<(String, u64)> = lines
        .filter_map(|line| Some((line["name"].as_str()?.to_owned(), line["calls"].as_u64()?)))
        .collect();
    for (name, count) in [
        ("pvPortMalloc", 520),
        ("malloc", 520),
        ("memalign", 520),
        ("vPortFree", 519),
        ("free", 519),
    ] {
        assert!(calls.contains(&(name.to_owned(), count)), "{name} {count}: {calls:?}");
    }
}
