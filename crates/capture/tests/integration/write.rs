//! Snapshots that are written read back equal.

use crate::common;

use common::{Folder, base};
use tracewright_capture::{
    Buffer, BufferRef, Bytes, Capture, Cluster, Core, Dump, File, Form, Format, ImageSource, Other,
    Owner, Register, Registers, Source, open, write, write_over,
};
use tracewright_testing::{Random, shared};

#[track_caller]
fn check(capture: &Capture, what: &str) {
    let folder = Folder::new();
    write(capture, &folder.0).unwrap_or_else(|error| panic!("{what}: {error}"));
    let back = open(&folder.0).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(back, *capture, "{what}: {:#?}", back.notes);
}

#[test]
fn every_snapshot_reads_back_equal() {
    for inside in ["conformance/arm/snapshots", "captures/ti-am243x-r5f"] {
        let Some(folder) = shared(inside) else { continue };
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                check(&open(&path).unwrap(), &path.display().to_string());
            }
        }
    }
}

#[test]
fn made_in_memory() {
    let mut capture = Capture {
        description: Some("an example".into()),
        buffers: vec![Buffer::new("out", Format::SourceData, vec![1, 2, 3])],
        sources: vec![Source {
            name: "itm".into(),
            device_type: "ITM".into(),
            registers: Registers::from_iter([("ITMTCR", 0x10009)]),
            buffers: vec![BufferRef { buffer: 0, stream: None }],
            ..Source::default()
        }],
        memory: vec![Dump::new("code", 0x8000, &b"\x00\xbf"[..])],
        ..Capture::default()
    };
    check(&capture, "no core");
    capture.cores.push(Core {
        name: "m4".into(),
        device_type: "Cortex-M4".into(),
        ..Core::default()
    });
    check(&capture, "a core without a source");
    capture.sources[0].core = Some(0);
    check(&capture, "a core with a source");
    check(&Capture::default(), "nothing at all");
}

/// Names in memory may be invalid as file names.
#[test]
fn file_names_are_safe() {
    let core =
        |name: &str| Core { name: name.into(), device_type: "ARMv7-A".into(), ..Core::default() };
    let names =
        ["../x", "a/b", "a\\b", "A/B", "con", "nul", "snapshot", "trace", "...", "-o", "é", "a b"];
    let capture = Capture {
        cores: names.iter().map(|name| core(name)).collect(),
        memory: vec![Dump { file: "../../up.bin".into(), ..Dump::new("x", 0, vec![1]) }],
        ..Capture::default()
    };
    check(&capture, "odd names");
    let folder = Folder::new();
    write(&capture, &folder.0.join("in")).unwrap();
    let mut files: Vec<_> = std::fs::read_dir(folder.0.join("in"))
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(
        files,
        [
            "A_B_3.ini",
            "_.ini",
            "___.ini",
            "___x.ini",
            "a_b.ini",
            "a_b_2.ini",
            "a_b_4.ini",
            "snapshot.ini",
            "snapshot_2.ini",
            "trace_2.ini",
            "up.bin",
            "x-o.ini",
            "xcon.ini",
            "xnul.ini",
        ]
    );
}

#[test]
fn names_that_ini_files_reserve() {
    let with_name = |name: &str| Capture {
        cores: vec![Core { name: name.into(), ..Core::default() }],
        ..Capture::default()
    };
    for name in ["", " a", "a ", "a;b", "a#b", "a\nb", "\"a\"", "'"] {
        let folder = Folder::new();
        let error = write(&with_name(name), &folder.0).unwrap_err();
        let want = format!(
            ": `{}` cannot be written to a snapshot: it is empty or contains characters that ini \
             files reserve; rename it",
            name.replace('\n', "\u{fffd}"),
        );
        assert!(error.to_string().ends_with(&want), "{error}");
        assert_eq!(
            std::fs::read_dir(&folder.0).unwrap().count(),
            0,
            "{name:?}: nothing is written"
        );
    }
}

#[test]
fn files_are_not_overwritten() {
    let folder = base(&[]);
    let capture = open(&folder.0).unwrap();
    let error = write(&capture, &folder.0).unwrap_err();
    assert!(
        error.to_string().ends_with(": the folder is not empty; choose another, or empty it"),
        "{error}"
    );
    // Over itself: the read capture is written again.
    write_over(&capture, &folder.0).unwrap();
    assert_eq!(open(&folder.0).unwrap(), capture);
    // The path of the folder is a file.
    let error = write(&capture, &folder.0.join("trace.bin")).unwrap_err();
    assert!(error.to_string().contains("trace.bin: cannot be written: "), "{error}");
}

#[test]
fn the_same_bytes_are_written_once() {
    let dump = |core| Dump { owner: Owner::Core(core), ..Dump::new("d", 0, vec![7; 64]) };
    let core = |n| Core { name: format!("cpu{n}"), ..Core::default() };
    let capture = Capture {
        cores: (0..4).map(core).collect(),
        memory: (0..4).map(dump).collect(),
        ..Capture::default()
    };
    check(&capture, "four of a kind");
    let folder = Folder::new();
    write(&capture, &folder.0).unwrap();
    let bins = std::fs::read_dir(&folder.0)
        .unwrap()
        .filter(|e| e.as_ref().unwrap().path().extension().is_some_and(|e| e == "bin"));
    assert_eq!(bins.count(), 1);
}

/// An ELF file is written as it is, and its memory as dumps for other readers.
#[test]
fn an_elf_file_is_written_as_memory_too() {
    // One LOAD segment of 4 bytes, at 0x8000. (ELF-64: header 64 bytes, program header 56)
    let mut elf = vec![0; 64 + 56];
    for (at, bytes) in [
        (0, &b"\x7fELF\x02\x01\x01"[..]),
        (16, &[2, 0, 183, 0, 1]), // ET_EXEC, EM_AARCH64, version
        (32, &[64]),              // e_phoff
        (52, &[64, 0, 56, 0, 1]), // e_ehsize, e_phentsize, e_phnum
        (64, &[1, 0, 0, 0, 5]),   // PT_LOAD, readable and executable
        (64 + 8, &[120]),         // p_offset
        (64 + 16, &[0, 0x80]),    // p_vaddr
        (64 + 24, &[0, 0x80]),    // p_paddr
        (64 + 32, &[4]),          // p_filesz
        (64 + 40, &[4]),          // p_memsz
    ] {
        elf[at..at + bytes.len()].copy_from_slice(bytes);
    }
    elf.extend_from_slice(b"code");
    let folder = Folder::new();
    folder.put("prog", &elf);
    let mut capture = Capture {
        cores: vec![Core { name: "cpu".into(), device_type: "ARMv8-A".into(), ..Core::default() }],
        ..Capture::default()
    };
    capture.add_image(&ImageSource::file(folder.0.join("prog")).at(0x1000)).unwrap();
    check(&capture, "an ELF image");
    write(&capture, &folder.0.join("out")).unwrap();
    assert_eq!(
        std::fs::read_to_string(folder.0.join("out/cpu.ini")).unwrap(),
        "[device]\nname=cpu\nclass=core\ntype=ARMv8-A\n\n\
         [elf_all1]\nfile=prog.bin\naddress=0x1000\nlength=0x7c\n\n\
         [dump_elf1_1]\nfile=prog_2.bin\naddress=0x9000\nlength=0x4\n"
    );
    assert_eq!(std::fs::read(folder.0.join("out/prog_2.bin")).unwrap(), b"code");
}

/// Random captures with all features of the format.
#[test]
fn random_captures_read_back_equal() {
    let mut random = Random::new(0x2545_f491_4f6c_dd1d);
    for round in 0..150 {
        check(&any_capture(&mut random), &format!("round {round}"));
    }
}

fn any_capture(random: &mut Random) -> Capture {
    let name = |random: &mut Random, n: usize| {
        const PARTS: &[&str] =
            &["cpu", "ETM", "é", " x", ".", "-", "_", "/", "\\", ")", "\"", "!", "'s"];
        let parts: String = (0..random.below(4)).map(|_| random.pick(PARTS)).collect();
        format!("d{n}{parts}z")
    };
    let bytes = |random: &mut Random| -> Bytes {
        let len = random.below(40);
        (0..len).map(|_| random.below(256) as u8).collect::<Vec<_>>().into()
    };
    let registers = |random: &mut Random| {
        let register = |(n, random): (u64, &mut Random)| Register {
            name: format!("R{n}"),
            id: (random.below(2) == 0).then(|| random.below(1 << 32) as u32),
            size: (random.below(2) == 0).then(|| 8 << random.below(5)),
            value: u128::from(random.below(u64::MAX)) << random.below(64),
        };
        let count = random.below(4);
        Registers((0..count).map(|n| register((n, &mut *random))).collect())
    };
    let location = |random: &mut Random| {
        (random.below(3) == 0).then(|| format!("address:{:#x}", random.below(u64::MAX)))
    };

    let mut capture = Capture::default();
    if random.below(2) == 0 {
        capture.description = Some("a = b, [c] (d) @e".into());
    }
    for n in 0..random.below(4) as usize {
        let format = match random.below(4) {
            0 => Format::CoreSight,
            1 => Format::SourceData,
            2 => Format::DstreamCoreSight,
            _ => Format::Other("STP".into()),
        };
        let file = |random: &mut Random| File {
            name: (random.pick(&["a.bin", "b", ""])).into(),
            path: "".into(),
            bytes: bytes(random),
            pipe: None,
            spooled: false,
        };
        let files = (0..random.below(4)).map(|_| file(random)).collect();
        capture.buffers.push(Buffer { files, ..Buffer::empty(name(random, n), format) });
    }
    for n in 0..random.below(4) as usize {
        capture.cores.push(Core {
            name: name(random, n),
            device_type: (random.pick(&["", "Cortex-A9", "whatever"])).into(),
            location: location(random),
            registers: registers(random),
            ..Core::default()
        });
    }
    for n in 0..random.below(4) as usize {
        let mut buffers = Vec::new();
        for buffer in 0..capture.buffers.len() {
            for stream in [None, Some(0), Some(255)] {
                if random.below(3) == 0 {
                    buffers.push(BufferRef { buffer, stream });
                }
            }
        }
        // Without cores, sources have no link to a core.
        let some_core = random.below(2) == 0 && !capture.cores.is_empty();
        capture.sources.push(Source {
            name: name(random, n + 10),
            device_type: (random.pick(&["", "ETM4", "ITM", "ETE"])).into(),
            location: location(random),
            registers: registers(random),
            core: some_core.then(|| random.below(capture.cores.len() as u64) as usize),
            buffers,
            ..Source::default()
        });
    }
    for n in 0..random.below(3) as usize {
        capture.others.push(Other {
            name: name(random, n + 20),
            class: (random.pick(&["", "memory_space", "CTI"])).into(),
            device_type: (random.pick(&["", "AXI"])).into(),
            location: location(random),
            registers: registers(random),
            ..Other::default()
        });
    }
    for n in 0..random.below(3) as usize {
        let cores = (0..capture.cores.len()).filter(|_| random.below(2) == 0).collect();
        capture.clusters.push(Cluster { name: format!("Cluster {n}"), cores });
    }
    let devices = [capture.cores.len(), capture.sources.len(), capture.others.len()];
    let mut owners = Vec::new();
    if devices != [0, 0, 0] {
        owners.push(Owner::Any);
    }
    // Devices of three kinds, interleaved.
    let mut next = [0; 3];
    while next != devices {
        let kind = random.below(3) as usize;
        if next[kind] < devices[kind] {
            owners.push([Owner::Core, Owner::Source, Owner::Other][kind](next[kind]));
            next[kind] += 1;
        }
    }
    for owner in owners {
        for _ in 0..random.below(3) {
            let form = if random.below(4) == 0 { Form::Elf } else { Form::Raw };
            let words = ["S", "EL1N", "H"];
            let spaces: Vec<_> =
                (0..random.below(3)).map(|_| (random.pick(&words)).to_owned()).collect();
            capture.memory.push(Dump {
                owner,
                form,
                file: (random.pick(&["", "x.bin", "deep/x.bin"])).into(),
                address: random.below(u64::MAX) >> random.below(64),
                spaces,
                bytes: (random.below(5) != 0).then(|| bytes(random)),
                ..Dump::default()
            });
        }
    }
    capture
}
