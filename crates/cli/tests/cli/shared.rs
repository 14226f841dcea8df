//! Real captures, where they are: nothing stops the command, and its answers agree with those of others.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::common::{Folder, args, command, tracewright};
use serde_json::Value;

/// The shared captures, or nothing and a word about it.
fn shared(folder: &str) -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().map(|up| up.join("shared"));
    let offsets = env::var_os("TRACEWRIGHT_SHARED").map(PathBuf::from).into_iter().chain(beside);
    let found = offsets.map(|place| place.join(folder)).find(|path| path.exists());
    if found.is_none() {
        println!("skipped: {folder} is not there");
    }
    found
}

#[test]
fn every_verb_takes_every_snapshot() {
    let Some(folder) = shared("conformance/arm/snapshots") else { return };
    let snapshots = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    for snapshot in snapshots.filter(|path| !path.ends_with("bugfix-exact-match")) {
        for verb in ["info", "packets", "decode", "instructions", "frames"] {
            let words = format!(
                "{verb} --format json{}",
                if verb == "info" { "" } else { " --all-buffers" }
            );
            let said = tracewright(&args(&words, &[&snapshot]));
            assert_eq!(said.code, Some(0), "{verb} {}: {}", snapshot.display(), said.err);
            // The first lines and the last: all of them take a debug build minutes.
            let lines: Vec<_> = said.out.lines().collect();
            for line in lines.iter().take(2_000).chain(lines.last()) {
                assert!(serde_json::from_str::<Value>(line).is_ok(), "{verb}: {line}");
            }
        }
    }
}

/// The instructions that sigrok's decoder, which knows nothing of this one, finds in a Cortex-M3's trace.
#[test]
fn instructions_of_a_serial_wire_capture() {
    let Some(folder) = shared("captures/sigrok-stm32f105") else { return };
    let words = "instructions --format pc --id 2 --protocol ITM@1 --protocol ETM3@2 --core Cortex-M3 \
                 --config ETMCR=0xd80 --config ETMIDR=0x4114f250 --image";
    let paths = [folder.join("trace_example.elf"), folder.join("swo_uart.bin")];
    let said = tracewright(&args(words, &[&paths[0], &paths[1]]));
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""));
    let theirs = fs::read_to_string(folder.join("sigrok_etmv3.txt")).unwrap();
    let theirs = theirs.lines().filter_map(|line| line.split_once(": PC 0x"));
    let theirs: Vec<_> = theirs.map(|(_, pc)| pc.trim_start_matches('0')).collect();
    assert_eq!(theirs.len(), 1200);
    assert_eq!(said.out.lines().collect::<Vec<_>>(), theirs);
}

/// What the same program wrote: it sorts five numbers, again and again.
#[test]
fn text_of_a_serial_wire_capture() {
    let Some(folder) = shared("captures/sigrok-stm32f105") else { return };
    let words = "decode --format json --assume-synced --id 1 --protocol ITM@1 --framing coresight";
    let said = tracewright(&args(words, &[&folder.join("swo_uart.bin")]));
    let written = |port: u64| -> Vec<u8> {
        let lines = said.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
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
    // A word, and then five sorted numbers.
    let numbers = [2u32, 2, 11, 35, 235].into_iter().flat_map(u32::to_le_bytes);
    let round: Vec<_> = b"Sort".iter().copied().chain(numbers).collect();
    assert_eq!(written(1), round.repeat(8));
}

/// A trace whose id nobody gave.
#[test]
fn bare_frames_with_one_id() {
    let Some(folder) = shared("captures/ricsec-decoder/branches") else { return };
    let words = "decode --format none --protocol ETM4 --framing coresight --config TRCCONFIGR=1 \
                 --config TRCIDR0=0x28000ea1 --config TRCIDR2=0x488";
    let said = tracewright(&args(words, &[&folder.join("trace1/cstrace.bin")]));
    assert_eq!(said.code, Some(0));
    assert!(said.err.contains("0x10 is the only one in the frames and is taken"), "{}", said.err);
    assert!(said.out.contains("12993 bytes, 5715 packets"), "{}", said.out);
}

/// A real trace through a pipe, from a file, on one thread and on several: one answer, in every format.
#[test]
fn pipes_files_and_jobs_say_the_same() {
    let Some(folder) = shared("captures/ricsec-decoder/branches") else { return };
    let bytes = fs::read(folder.join("trace1/cstrace.bin")).unwrap().repeat(24);
    let place = Folder::new("pipes-and-files");
    let file = place.path("cstrace.bin");
    fs::write(&file, &bytes).unwrap();
    for format in ["text", "json", "opencsd", "none", "json --packets"] {
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
        // What a pipe is called, how long it will be, and in `text` how many columns places take is its own.
        let lines = |said: &str| -> Vec<String> {
            let all = said.lines().filter(|line| !line.contains("\"buffer\""));
            all.map(str::to_owned).collect()
        };
        if format != "text" && format != "none" {
            assert!(lines(&piped) == lines(&want), "{format}, from a pipe");
        }
        for jobs in [2, 3, 8] {
            assert!(from_file(jobs) == want, "{format}, {jobs} jobs");
            assert!(from_pipe(jobs) == piped, "{format}, {jobs} jobs, from a pipe");
        }
        println!("{format}: {} bytes from a file, {} from a pipe", want.len(), piped.len());
    }
}
