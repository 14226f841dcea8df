//! What `tracewright itm` does with bytes in another order, and states where there is nothing to
//! print.

use std::fs;

use tracewright_testing::shared;

use crate::common::{Folder, args, tracewright};

/// Samples of the program counter with timestamps, after a synchronisation.
fn samples() -> Vec<u8> {
    let mut bytes = vec![0, 0, 0, 0, 0, 0x80];
    for n in 0..200u32 {
        bytes.push(0x17);
        bytes.extend((0x0800_0200 + n * 38 % 512).to_le_bytes());
        // A timestamp of one byte, or of three.
        match n % 3 {
            0 => bytes.push(0x30),
            _ => bytes.extend([0xc0, 0x80 | (n % 50) as u8, 1]),
        }
    }
    bytes
}

/// The options of `info` reproduce what it detects.
#[test]
fn swapped_words_are_put_in_order() {
    let folder = Folder::new("itm-swapped");
    let path = folder.path("swo.bin");
    let mut bytes = samples();
    bytes.resize(bytes.len().next_multiple_of(8), 0x70);
    fs::write(&path, &bytes).unwrap();
    let want = tracewright(&args("itm", &[&path]));
    assert_eq!((want.code, want.out.matches("sample").count()), (Some(0), 200), "{}", want.err);
    for size in [2, 4, 8] {
        let mut swapped = bytes.clone();
        swapped.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        fs::write(&path, &swapped).unwrap();
        let got = tracewright(&args("itm", &[&path]));
        assert_eq!((got.code, &got.out), (Some(0), &want.out), "{size}: {}", got.err);
        assert!(got.err.contains(&format!("(--swap {size})")), "{size}: {}", got.err);
        let info = tracewright(&args("info", &[&path]));
        let options = info.out.lines().find_map(|line| line.strip_prefix("options"));
        let options = options.unwrap_or_default().trim();
        assert_eq!(options, format!("--swap {size} --protocol ITM"), "{}", info.out);
        let decode = |options: &str| tracewright(&args(&format!("decode {options}"), &[&path])).out;
        assert_eq!(decode(options), decode(""), "{size}");
        assert!(!decode(options).is_empty(), "{size}");
        let json = tracewright(&args("info --format json", &[&path]));
        assert!(json.out.contains(&format!(r#""options":"--swap {size} "#)), "{}", json.out);
    }
}

/// An output without anything that was asked for is explained.
#[test]
fn empty_outputs_are_explained() {
    let folder = Folder::new("itm-empty");
    let path = folder.path("swo.bin");
    fs::write(&path, samples()).unwrap();
    for (options, want) in [
        (
            "--format plain",
            "--format plain: there are no lines of text to print; events of the trace: sample",
        ),
        ("--format plotjuggler", "--format plotjuggler: there are no values to print"),
        ("--format wide", "--format wide: there are no values to print"),
        ("--only text --format vcd", "--only text: a Value Change Dump has no text"),
        ("--exceptions", "--exceptions: the trace has none"),
        ("--exceptions --format json", "--exceptions: the trace has none"),
        ("--profile", ""),
        ("", ""),
    ] {
        let output = tracewright(&args(&format!("itm {options}"), &[&path]));
        let is_stated = if want.is_empty() {
            !output.err.contains("note: --")
        } else {
            output.err.contains(want)
        };
        assert!(is_stated, "{options}: {}", output.err);
    }
    let text: Vec<u8> = b"hello, world\n".iter().flat_map(|c| [1, *c]).collect();
    fs::write(&path, text).unwrap();
    for (options, want) in [
        ("--profile", "--profile: the trace has no samples of the program counter"),
        ("--profile --format json", "--profile: the trace has no samples of the program counter"),
        ("--format plain", ""),
    ] {
        let output = tracewright(&args(&format!("itm {options}"), &[&path]));
        let is_stated = if want.is_empty() {
            !output.err.contains("note: --")
        } else {
            output.err.contains(want)
        };
        assert!(is_stated, "{options}: {}", output.err);
    }
}

/// A type of a port that is not written to has no effect.
#[test]
fn types_without_values_are_stated() {
    let folder = Folder::with_demo("itm-types-unused");
    let (demo, page) = (folder.demo(), folder.path("page"));
    for verb in ["report", "timeline --format perfetto"] {
        for (signal, want) in [
            ("30=u8", "note: --type 30: no ITM or STM of the trace has values of it"),
            ("dwt3=u8", "note: --type or --watch dwt3: no ITM"),
            ("0=text", ""),
        ] {
            let words = format!("{verb} --type {signal} -o {}", page.display());
            let output = tracewright(&args(&words, &[&demo]));
            assert_eq!(output.code, Some(0), "{words}: {}", output.err);
            assert_eq!(output.err.contains("has values of it"), !want.is_empty(), "{}", output.err);
            assert!(output.err.contains(want), "{words}: {}", output.err);
        }
    }
}

/// The snapshot describes an ITM that has no data.
#[test]
fn a_silent_itm_is_stated() {
    let Some(path) = shared("conformance/arm/snapshots/TC2") else { return };
    let output = tracewright(&args("itm", &[&path]));
    assert_eq!((output.code, output.out.as_str()), (Some(1), ""), "{}", output.err);
    assert!(output.err.contains("its ITMs and STMs sent nothing"), "{}", output.err);
}
