//! Captures from the command line.

use crate::common;

use common::Folder;
use tracewright_capture::{Capture, Form, Format, Kind, Owner, Raw};

fn raw(folder: &Folder, registers: &[&str], images: &[&str]) -> Result<Capture, String> {
    let raw = Raw {
        device_type: "ETM4.2".into(),
        registers: registers.iter().map(|r| (*r).to_owned()).collect(),
        format: Format::SourceData,
        core: Some("Cortex-M55".into()),
        images: images.iter().map(|image| format!("{}/{image}", folder.0.display())).collect(),
        buffer_registers: None,
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
