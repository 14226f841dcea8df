//! Captures from the command line.

use crate::common;

use common::Folder;
use tracewright_capture::{Capture, Form, Format, ImageSource, Kind, Owner, Raw};

fn raw(folder: &Folder, registers: &[&str], images: &[&str]) -> Result<Capture, String> {
    let image = |name: &&str| ImageSource::parse(&format!("{}/{name}", folder.0.display()));
    let raw = Raw {
        device_type: "ETM4.2".into(),
        registers: registers.iter().map(|r| (*r).to_owned()).collect(),
        format: Format::SourceData,
        core: Some("Cortex-M55".into()),
        images: images.iter().map(|name| image(name).unwrap()).collect(),
        ..Raw::default()
    };
    Capture::raw(&[folder.0.join("a.bin"), folder.0.join("b.bin")], &raw)
        .map_err(|error| folder.short(error))
}

fn folder() -> Folder {
    let folder = Folder::new();
    folder.put("a.bin", [1, 2]);
    folder.put("b.bin", [3]);
    folder.put("prog.elf", b"\x7fELF\x02");
    folder.put("code.bin", b"code");
    folder.put("at@0x10", b"\x7fELF\x01");
    folder
}

#[test]
fn bytes_registers_and_images() {
    let folder = folder();
    let images = ["prog.elf", "prog.elf@0x4000", "code.bin@4096", "at@0x10"];
    let capture = raw(&folder, &["TRCIDR0=0x28000EA1", "trcconfigr = 1"], &images).unwrap();
    assert_eq!(capture.kind, Kind::Raw);
    assert_eq!(*capture.buffers[0].bytes(), [1, 2, 3]);
    let source = &capture.sources[0];
    assert_eq!(source.protocol(), "ETM4");
    assert_eq!(source.register("TRCCONFIGR"), Some(1));
    assert_eq!(source.register("TRCIDR0"), Some(0x2800_0ea1));
    assert_eq!(capture.core_type(source).unwrap().version, 8);
    assert_eq!(capture.sources_of(0), [source]);
    let memory: Vec<_> =
        capture.memory.iter().map(|d| (d.name.as_str(), d.form, d.address, d.owner)).collect();
    assert_eq!(
        memory,
        [
            ("prog.elf", Form::Elf, 0, Owner::Any),
            ("prog.elf", Form::Elf, 0x4000, Owner::Any),
            ("code.bin", Form::Raw, 4096, Owner::Any),
            ("at@0x10", Form::Elf, 0, Owner::Any),
        ]
    );
}

/// 4 bytes at 0x8000, and 2 at 0x9000.
const HEX: &str = ":048000000102030472\n:02900000050663\n:00000001FF\n";

/// Files with addresses are read at them; the characters of others are not memory.
#[test]
fn images_in_records() {
    let folder = folder();
    folder.put("prog.hex", HEX);
    folder.put("notes.txt", "the program\nof the test\n");
    folder.put("prog.gz", [0x1f, 0x8b, 8, 0, 0]);
    let capture = raw(&folder, &[], &["prog.hex", "code.bin@4096"]).unwrap();
    let memory: Vec<_> = capture.memory.iter().map(|d| (d.name.as_str(), d.address)).collect();
    assert_eq!(memory, [("prog.hex", 0x8000), ("prog.hex", 0x9000), ("code.bin", 4096)]);
    assert_eq!(capture.memory[0].bytes.as_deref(), Some(&[1, 2, 3, 4][..]));
    assert!(capture.memory.iter().all(|dump| dump.given && dump.form == Form::Raw));
    for (image, want) in [
        (
            "prog.hex@0x100",
            "Intel HEX records, which has its own addresses; give it without @0x100",
        ),
        ("notes.txt@0", "it is text, which begins with `the program`"),
        ("notes.txt", "it is text"),
        ("prog.gz@0", "it is a file compressed by gzip; unpack it with `gzip -dk`"),
    ] {
        let why = raw(&folder, &[], &[image]).unwrap_err();
        assert!(why.contains(want), "{image}: {why}");
    }
    folder.put("prog.hex", HEX.replace("0102", "0103"));
    let why = raw(&folder, &[], &["prog.hex"]).unwrap_err();
    assert!(
        why.ends_with("Intel HEX records, and damaged: line 1: the checksum is wrong"),
        "{why}"
    );
}

#[test]
fn invalid_descriptions_are_reported() {
    let folder = folder();
    for (registers, images, want) in [
        (
            &["TRCIDR0"][..],
            &[][..],
            "a.bin: `TRCIDR0` is not NAME=VALUE; expected, for example, TRCCONFIGR=0xC1, a number of at most 64 bits",
        ),
        (
            &["TRCIDR0=x"],
            &[],
            "a.bin: `TRCIDR0=x` is not NAME=VALUE; expected, for example, TRCCONFIGR=0xC1, a number of at most 64 bits",
        ),
        (
            &["=1"],
            &[],
            "a.bin: `=1` is not NAME=VALUE; expected, for example, TRCCONFIGR=0xC1, a number of at most 64 bits",
        ),
        (
            &[],
            &["code.bin"],
            "code.bin: not an ELF file, so its address is needed; write code.bin@ADDRESS",
        ),
        (&[], &["gone.elf"], "gone.elf: cannot be read: no such file; check the path"),
        (&[], &["gone.elf@0"], "gone.elf: cannot be read: no such file; check the path"),
        (&[], &["code.bin@here"], "code.bin@here: cannot be read: no such file; check the path"),
    ] {
        assert_eq!(raw(&folder, registers, images).unwrap_err(), want);
    }
    std::fs::remove_file(folder.0.join("b.bin")).unwrap();
    assert_eq!(
        raw(&folder, &[], &[]).unwrap_err(),
        "b.bin: cannot be read: no such file; check the path"
    );
}
