//! The features of snapshots, one per test.

use crate::common;

use common::Edit::{Missing, Text, Whole};
use common::{Folder, base};
use tracewright_base::MissingRegister;
use tracewright_capture::{
    BufferRef, Dump, Found, ImageSource, Owner, Problem, Severity, open, probe,
};
use tracewright_testing::Random;

#[test]
fn the_small_snapshot() {
    let folder = base(&[]);
    // The folder, its index, and each of its other ini files denote the same capture.
    for path in ["", "snapshot.ini", "trace.ini", "etm.ini", "cpu.ini"] {
        let path = folder.0.join(path);
        assert_eq!(probe(&path), Ok(Found::Snapshot(folder.0.join("snapshot.ini"))));
        let capture = open(&path).unwrap();
        assert_eq!(capture.path, path);
        let source = &capture.sources[0];
        assert_eq!((source.name.as_str(), source.protocol()), ("etm", "ETM4"));
        assert_eq!(source.register("trcconfigr"), Some(0xc1));
        assert_eq!(source.register("TRCIDR0"), None);
        assert_eq!(source.buffers, [BufferRef { buffer: 0, stream: None }]);
        assert_eq!(capture.core(source).unwrap().name, "cpu");
        assert_eq!(*capture.buffers[0].bytes(), *b"0123456789abcdef");
        let dump = &capture.memory[0];
        assert_eq!((dump.address, dump.last(), dump.core()), (0x1000, Some(0x100f), Some(0)));
        assert_eq!(dump.bytes.as_deref(), Some(&b"codecodecodecode"[..]));
    }
}

#[test]
fn an_index_of_another_name() {
    let index = std::fs::read(base(&[]).0.join("snapshot.ini")).unwrap();
    let folder = base(&[Missing("snapshot.ini")]);
    folder.put("target.ini", &index);
    assert_eq!(probe(&folder.0), Ok(Found::Snapshot(folder.0.join("target.ini"))));
    assert_eq!(
        probe(&folder.0.join("trace.ini")),
        Ok(Found::Snapshot(folder.0.join("target.ini")))
    );
    folder.put("other.ini", &index);
    assert!(probe(&folder.0).is_err(), "two indices are ambiguous");
    assert!(probe(&folder.0.join("other.ini")).is_ok());
}

/// Ini files in UTF-16 with a byte order mark, of either byte order.
#[test]
fn ini_files_in_utf16() {
    for little in [true, false] {
        let folder = base(&[]);
        for name in ["snapshot.ini", "cpu.ini", "etm.ini", "trace.ini"] {
            let text = std::fs::read_to_string(folder.0.join(name)).unwrap();
            let units = ['\u{feff}'].into_iter().chain(text.chars());
            let units = units.flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec());
            let bytes = units.flat_map(|u| if little { u.to_le_bytes() } else { u.to_be_bytes() });
            folder.put(name, bytes.collect::<Vec<_>>());
        }
        for path in [folder.0.clone(), folder.0.join("snapshot.ini"), folder.0.join("etm.ini")] {
            let capture = open(&path).unwrap();
            assert_eq!(capture.notes, []);
            assert_eq!((capture.sources.len(), capture.buffers[0].len()), (1, 16));
        }
    }
}

#[test]
fn line_ends_comments_blanks_and_quotes() {
    let folder = base(&[
        Whole(
            "etm.ini",
            b"\xef\xbb\xbf; made by hand\r\n [ device ] ; a comment\r\nNAME = etm # another\r\n\
              class=Trace_Source\r\ntype = 'ETM4.2'\r\n[Regs]\r\n trcconfigr ( id : 0x4 , size : 32 ) = \"0xC1\"\r\n",
        ),
        Text("cpu.ini", "code.bin", "\"code.bin\""),
        Text("trace.ini", "buffers=buffer0", "buffers= buffer0 ,"),
    ]);
    let capture = open(&folder.0).unwrap();
    assert_eq!(capture.notes, []);
    let source = &capture.sources[0];
    assert_eq!((source.name.as_str(), source.device_type.as_str()), ("etm", "ETM4.2"));
    let register = &source.registers.0[0];
    assert_eq!(register.name, "trcconfigr");
    assert_eq!((register.id, register.size, register.value), (Some(4), Some(32), 0xc1));
    assert!(capture.memory[0].bytes.is_some());
}

/// The forms of Arm *Reference CoreSight Trace Decoder: API Specifications and Component Design*,
/// 4.2.2.2, and those that occur in snapshots.
#[test]
fn register_forms() {
    for (text, id, size, value) in [
        ("A=5", None, None, 5),
        ("A(77)=0x1234", Some(77), None, 0x1234),
        ("A(id:78)=0x1234", Some(78), None, 0x1234),
        ("A(id:0x80,size:64)=0x1234000012340000", Some(0x80), Some(64), 0x1234_0000_1234_0000),
        ("A(size:64,0x82)=0x1234", Some(0x82), Some(64), 0x1234),
        ("A(size:64)=0xFFFFFFC000081000", None, Some(64), 0xffff_ffc0_0008_1000),
        ("A(0x07A)=0x000008EA", Some(0x7a), None, 0x8ea),
        ("A(92, size:64) = 0x12345670000000", Some(92), Some(64), 0x12_3456_7000_0000),
        (
            "A(size:128)=0x123456789abcdef0123456789",
            None,
            Some(128),
            0x1_2345_6789_abcd_ef01_2345_6789,
        ),
    ] {
        let edit = Whole("etm.ini", b"[device]\nname=etm\nclass=trace_source\ntype=ETM4\n[regs]\n");
        let folder = base(&[edit]);
        let path = folder.0.join("etm.ini");
        let head = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{head}{text}\n")).unwrap();
        let capture = open(&folder.0).unwrap();
        assert_eq!(capture.notes, [], "{text}");
        let register = &capture.sources[0].registers.0[0];
        assert_eq!(register.name, "A", "{text}");
        assert_eq!((register.id, register.size, register.value), (id, size, value), "{text}");
        assert_eq!(capture.sources[0].register("a"), u64::try_from(value).ok(), "{text}");
    }
}

#[test]
fn older_device_files() {
    let folder = base(&[Whole(
        "cpu.ini",
        b"[global]\ncore=Cortex-A9\n[extendregs]\n0x20=7\n33=0x8\n[dump]\nfile=code.bin\naddress=0x1000\n",
    )]);
    let capture = open(&folder.0).unwrap();
    let core = &capture.cores[0];
    assert_eq!((core.name.as_str(), core.device_type.as_str()), ("cpu", "Cortex-A9"));
    let numbered: Vec<_> = core.registers.0.iter().map(|r| (r.id, r.value)).collect();
    assert_eq!(numbered, [(Some(0x20), 7), (Some(33), 8)]);
}

#[test]
fn a_dump_is_a_part_of_a_file() {
    for (lines, want) in [
        ("offset=4\nlength=4", &b"4567"[..]),
        ("offset=0xc", b"cdef"),
        ("length=2", b"01"),
        // Some tools write a length of 0 for the whole file.
        ("length=0", b"0123456789abcdef"),
        ("offset=16", b""),
        ("offset=8\nlength=100", b"89abcdef"),
    ] {
        let folder = base(&[Text("cpu.ini", "code.bin", "trace.bin")]);
        let path = folder.0.join("cpu.ini");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{text}{lines}\nspace= EL1N, EL1S EL2\n")).unwrap();
        let dump = &open(&folder.0).unwrap().memory[0];
        assert_eq!(dump.bytes.as_deref(), Some(want), "{lines}");
        assert_eq!(dump.spaces, ["EL1N", "EL1S", "EL2"]);
    }
}

#[test]
fn files_in_folders_by_either_slash() {
    for name in ["deep/er/code.bin", "deep\\er\\code.bin"] {
        let folder =
            base(&[Whole("deep/er/code.bin", b"deep"), Text("cpu.ini", "0x1000", "0x1000")]);
        let path = folder.0.join("cpu.ini");
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("code.bin", name)).unwrap();
        let capture = open(&folder.0).unwrap();
        assert_eq!(capture.memory[0].bytes.as_deref(), Some(&b"deep"[..]), "{name}");
    }
    // A device file in another folder refers to files relative to the index or to itself.
    let folder = base(&[
        Text("snapshot.ini", "cpu.ini", "cpu/cpu.ini"),
        Whole("cpu/cpu.ini", b"[device]\nname=cpu\nclass=core\ntype=ARMv7-A\n[dump1]\nfile=code.bin\naddress=0\n[dump2]\nfile=mine.bin\naddress=64\n"),
        Whole("cpu/mine.bin", b"mine"),
    ]);
    let capture = open(&folder.0).unwrap();
    let bytes: Vec<_> = capture.memory.iter().map(|d| d.bytes.as_deref().unwrap()).collect();
    assert_eq!(bytes, [&b"codecodecodecode"[..], b"mine"]);
}

#[test]
fn a_buffer_of_several_files() {
    let folder = base(&[
        Text("trace.ini", "file=trace.bin", "file=trace.bin, code.bin,more.bin"),
        Whole("more.bin", b"!"),
    ]);
    let capture = open(&folder.0).unwrap();
    assert_eq!(*capture.buffers[0].bytes(), *b"0123456789abcdefcodecodecodecode!");
    assert_eq!(capture.buffers[0].len(), 33);
    assert_eq!(capture.buffers[0].parts().count(), 3);
}

#[test]
fn buffers_are_in_the_order_of_their_sections() {
    let folder = base(&[Text("trace.ini", "buffers=buffer0", "buffers=Buffer1,gone,buffer0")]);
    let text = std::fs::read_to_string(folder.0.join("trace.ini")).unwrap();
    folder.put("trace.ini", text + "\n[buffer1]\nname=RAM\nfile=code.bin\nformat=coresight\n");
    let capture = open(&folder.0).unwrap();
    let names: Vec<_> = capture.buffers.iter().map(|buffer| buffer.name.as_str()).collect();
    assert_eq!(names, ["ETB", "RAM"]);
}

/// The files after a missing file do not continue those before it.
#[test]
fn a_missing_file_splits_a_buffer() {
    let folder =
        base(&[Text("trace.ini", "file=trace.bin", "file=trace.bin,gone.bin,code.bin,away.bin")]);
    let capture = open(&folder.0).unwrap();
    let buffers: Vec<_> =
        capture.buffers.iter().map(|b| (b.name.as_str(), b.bytes().to_vec())).collect();
    assert_eq!(
        buffers,
        [
            ("ETB", b"0123456789abcdef".to_vec()),
            ("ETB after gone.bin", b"codecodecodecode".to_vec()),
        ]
    );
    let links: Vec<_> = capture.sources[0].buffers.iter().map(|link| link.buffer).collect();
    assert_eq!(links, [0, 1]);
    let notes: Vec<_> = capture.notes.iter().map(|note| folder.short(note)).collect();
    assert_eq!(
        notes,
        [
            "trace.ini:6: [buffer0] file: cannot read gone.bin, so its trace is missing and the \
             files after it form a separate buffer: no such file; copy the file there",
            "trace.ini:6: [buffer0] file: cannot read away.bin, so its trace is missing: no such \
             file; copy the file there",
        ]
    );
}

const TWO: &str = "[trace_buffers]\nbuffers=b0, b1\n[b0]\nname=ETB 0\nfile=trace.bin\nformat=CoreSight\n\
                   [b1]\nname=ETB 1\nfile=code.bin\nformat=source_data\n";

/// Rows: text after the buffers, links of the one source, index of its core.
#[test]
fn links() {
    let link = |buffer, stream| BufferRef { buffer, stream };
    for (text, want, core) in [
        // Without sections: every buffer of several sources, and the only core.
        ("", vec![link(0, None)], Some(0)),
        ("[source_buffers]\netm=ETB 0,ETB 1\n", vec![link(0, None), link(1, None)], Some(0)),
        // By section name, and in another case.
        ("[source_buffers]\nETM=b1,etb 0\n", vec![link(1, None), link(0, None)], Some(0)),
        // The two streams of an ETMv4.
        (
            "[source_buffers]\netm(stream:0)=ETB 1\netm(stream:1)=ETB 0\n",
            vec![link(1, Some(0)), link(0, Some(1))],
            Some(0),
        ),
        // An empty section: no buffer.
        ("[source_buffers]\n", vec![], Some(0)),
        // Cores by name and by location, with numbers in several forms.
        ("[core_trace_sources]\ncpu=etm\n", vec![link(0, None)], Some(0)),
        ("[core_trace_sources]\ncpu=@address:0x0012308000, dap:2\n", vec![link(0, None)], Some(0)),
        ("[core_trace_sources]\ncpu=@dap:2,address:0x12308001\n", vec![link(0, None)], None),
        ("[core_trace_sources]\n", vec![link(0, None)], None),
    ] {
        let folder =
            base(&[Text("etm.ini", "type=ETM4", "type=ETM4\nlocation=dap:2,address:0x12308000")]);
        folder.put("trace.ini", format!("{TWO}{text}"));
        let capture = open(&folder.0).unwrap();
        assert_eq!(capture.sources[0].buffers, want, "{text}");
        assert_eq!(capture.sources[0].core, core, "{text}");
    }
}

/// Validation snapshots list a core once for the source of each session.
#[test]
fn a_core_with_several_sources() {
    let folder = base(&[
        Text("snapshot.ini", "[trace]", "device2=etm2.ini\n[trace]"),
        Whole("etm2.ini", b"[device]\nname=etm2\nclass=trace_source\ntype=ETE\n"),
        Text("trace.ini", "cpu=etm", "cpu=etm\ncpu=etm2"),
        Text("trace.ini", "etm=ETB", "etm=ETB\netm2=ETB"),
    ]);
    let capture = open(&folder.0).unwrap();
    assert_eq!(capture.notes, []);
    assert!(capture.sources.iter().all(|s| s.core == Some(0)));
    assert_eq!(capture.sources_of(0).len(), 2);
}

#[test]
fn memory_of_a_source() {
    let core = |n: u8| {
        format!(
            "[device]\nname=cpu{n}\nclass=core\ntype=ARMv8-A\n[dump1]\nfile={n}.bin\naddress=0\n"
        )
    };
    let folder = base(&[
        Whole("snapshot.ini", b"[snapshot]\nversion=1.0\n[device_list]\n0=0.ini\n1=1.ini\n2=2.ini\n3=etm.ini\n4=bus.ini\n[clusters]\nbig=cpu1,cpu2\nlittle=cpu0\n[trace]\nmetadata=trace.ini\n"),
        Text("trace.ini", "cpu=etm", "cpu2=etm"),
        Whole("bus.ini", b"[device]\nname=bus\nclass=memory_space\n[dump]\nfile=trace.bin\naddress=64\n"),
        Whole("all.bin", b"all"),
    ]);
    for n in 0..3 {
        folder.put(&format!("{n}.ini"), core(n));
        folder.put(&format!("{n}.bin"), [n]);
    }
    let mut capture = open(&folder.0).unwrap();
    capture.add_image(&ImageSource::file(folder.0.join("all.bin")).at(0)).unwrap();
    let owners: Vec<_> = capture.images_for(&capture.sources[0]).iter().map(|d| d.owner).collect();
    assert_eq!(
        owners,
        [Owner::Any, Owner::Core(2), Owner::Core(1), Owner::Core(0), Owner::Other(0)],
        "all devices, its core, its cluster, the rest"
    );
    assert!(!capture.one_memory(), "the cores' memories differ at 0");
    capture.memory.retain(|d| matches!(d.owner, Owner::Core(1) | Owner::Other(_)));
    assert!(capture.one_memory());
}

/// Added images have priority over memory of the capture that all cores see.
#[test]
fn added_images_have_priority() {
    let folder = base(&[
        Whole(
            "cpu.ini",
            b"[device]\nname=cpu\nclass=core\ntype=ARMv8-A\n\
              [dump_all1]\nfile=its.bin\naddress=0\n[dump_all2]\nfile=more.bin\naddress=0\n",
        ),
        Whole("its.bin", b"its"),
        Whole("more.bin", b"mor"),
        Whole("mine.bin", b"mine"),
        Whole("also.bin", b"also"),
    ]);
    let mut capture = open(&folder.0).unwrap();
    assert_eq!(capture.memory.len(), 2);
    for given in ["mine.bin", "also.bin"] {
        capture.add_image(&ImageSource::file(folder.0.join(given)).at(0)).unwrap();
    }
    let names = |dumps: Vec<&Dump>| dumps.iter().map(|d| d.name.clone()).collect::<Vec<_>>();
    let want = ["mine.bin", "also.bin", "dump_all1", "dump_all2"];
    assert_eq!(names(capture.images_for(&capture.sources[0])), want);
    assert_eq!(names(capture.memory.iter().collect()), want);
}

#[test]
fn errors_of_missing_registers_and_protocols() {
    let folder = base(&[]);
    let capture = open(&folder.0).unwrap();
    let source = &capture.sources[0];
    let missing = MissingRegister { name: "TRCIDR0", about: "what is traced" };
    assert_eq!(
        folder.short(capture.missing_register(source, missing, Vec::new())),
        "etm.ini: [regs] TRCIDR0: etm cannot be decoded without this register (what is traced); \
         add `TRCIDR0=VALUE`"
    );
    assert_eq!(
        folder.short(capture.unknown_protocol(source, &["ETM3", "ETE"])),
        "etm.ini: [device] type: unknown protocol `ETM4`; expected one of ETM3, ETE"
    );
}

#[test]
fn further_malformed_lines_are_counted() {
    let folder = base(&[]);
    folder.put("etm.ini", format!("[device]\nname=etm\n{}", "garbage\n".repeat(100)));
    let capture = open(&folder.0).unwrap();
    let bad = |w: &Problem| matches!(w, Problem::Malformed(_));
    assert_eq!(capture.notes.iter().filter(|n| bad(&n.problem)).count(), 8);
    assert!(capture.notes.iter().any(|n| n.problem == Problem::MoreMalformed(92)));
    assert_eq!(capture.notes[0].severity(), Severity::Error);
}

/// Of thousands of conflicting dumps, a limited number is noted.
#[test]
fn conflicts_are_limited() {
    let mut cpu = "[device]\nname=cpu\nclass=core\ntype=Cortex-A53\n".to_owned();
    for n in 0..5000 {
        cpu += &format!("[dump{n}]\nfile=code.bin\naddress={}\n", 0x1000 + n);
    }
    let folder = base(&[]);
    folder.put("cpu.ini", cpu);
    folder.put("code.bin", (0..8000u32).map(|n| (n * n >> 3) as u8).collect::<Vec<_>>());
    let capture = open(&folder.0).unwrap();
    let conflict = |w: &Problem| matches!(w, Problem::DumpConflict { .. });
    let noted = capture.notes.iter().filter(|n| conflict(&n.problem)).count();
    assert!((64..1000).contains(&noted), "{noted} conflicts");
    assert!(!capture.one_memory());
}

/// Random contents of any file give a capture or an error, and never a panic.
#[test]
fn random_files_do_not_panic() {
    const WORDS: &[&str] = &[
        "[",
        "]",
        "=",
        "\n",
        "\r",
        ";",
        "#",
        "(",
        ")",
        ":",
        ",",
        "@",
        "\"",
        " ",
        "\0",
        "\u{feff}",
        "é",
        "0x",
        "ffffffffffffffff",
        "99999999999999999999999",
        "-1",
        "device",
        "dump",
        "dump_all",
        "elf",
        "regs",
        "name",
        "class",
        "core",
        "trace_source",
        "type",
        "file",
        "address",
        "length",
        "offset",
        "space",
        "stream",
        "buffers",
        "trace_buffers",
        "source_buffers",
        "core_trace_sources",
        "snapshot",
        "device_list",
        "clusters",
        "trace",
        "metadata",
        "trace.ini",
        "cpu.ini",
        "trace.bin",
        "code.bin",
        "..",
        "/",
        "cpu",
        "etm",
        "ETB",
        "buffer0",
    ];
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    let folder = base(&[]);
    for round in 0..600 {
        let (name, text) = random.pick(&common::BASE[..4]);
        // The file with random ranges replaced.
        let mut bytes = text.as_bytes().to_vec();
        for _ in 0..=random.below(6) {
            let at = random.below(bytes.len() as u64 + 1) as usize;
            let to = (at + random.below(9) as usize).min(bytes.len());
            let mut new = Vec::new();
            for _ in 0..random.below(7) {
                match random.below(8) {
                    0 => new.push(random.below(256) as u8),
                    _ => new.extend_from_slice(random.pick(WORDS).as_bytes()),
                }
            }
            bytes.splice(at..to, new);
        }
        folder.put(name, &bytes);
        match open(&folder.0) {
            Ok(capture) => {
                for note in &capture.notes {
                    assert!(!note.to_string().contains('\n'), "round {round}: {note}");
                }
                for source in &capture.sources {
                    capture.images_for(source);
                }
            }
            Err(error) => assert!(!error.to_string().contains('\n'), "round {round}: {error}"),
        }
        folder.put(name, text);
    }
}

#[test]
fn a_huge_ini_file_is_refused() {
    let folder = Folder::new();
    folder.put("snapshot.ini", [b"[device_list]\n".to_vec(), vec![b'\n'; 17 << 20]].concat());
    let error = open(&folder.0).unwrap_err();
    assert_eq!(
        folder.short(error),
        "snapshot.ini: 17825806 bytes is more than the limit of 1048576 bytes for a file that describes a capture; check that the path is right"
    );
}
