//! The messages about captures with problems, one row per problem.

use crate::common;

use common::Edit::{IsFolder, Missing, Text, Whole};
use common::{Edit, base};
use tracewright_capture::open;

/// Rows: problem, edits of the small snapshot, severity and message of each note.
#[rustfmt::skip]
const NOTES: &[(&str, &[Edit], &[&str])] = &[
    ("nothing", &[], &[]),
    // The ini files.
    ("a line without `=`", &[Text("etm.ini", "[regs]\n", "[regs]\nnonsense\n")], &[
        "error: etm.ini:7: [regs] `nonsense` is not KEY=VALUE and was skipped; correct or remove it",
    ]),
    ("a header that does not end", &[Text("etm.ini", "[regs]", "[regs")], &[
        "error: etm.ini:6: [device] `[regs` is not KEY=VALUE and was skipped; correct or remove it",
    ]),
    ("a key outside sections", &[Text("etm.ini", "[device]", "loose=1\n[device]")], &[
        "error: etm.ini:1: loose: the key is before the first section and was skipped; move it into its section",
    ]),
    ("not UTF-8", &[Whole("etm.ini", b"[device]\nname=etm\nclass=trace_source\ntype=ETM4\nmaker=\xff\xfe\n")], &[
        "warning: etm.ini: contains bytes that are not UTF-8, each shown as �; save the file as UTF-8",
    ]),
    ("control characters", &[Whole("etm.ini", b"[device]\nname=etm\nclass=trace_source\ntype=\x1b[31mETM4\nmaker\x07\n")], &[
        "warning: etm.ini: contains control characters, each shown as �; remove them",
        "error: etm.ini:5: [device] `maker�` is not KEY=VALUE and was skipped; correct or remove it",
    ]),
    ("a key twice", &[Text("etm.ini", "type=ETM4", "type=ETM4\ntype=ETE")], &[
        "warning: etm.ini:5: [device] type: the key is repeated, and the value of line 4 is used; remove one of the two",
    ]),
    ("a section twice", &[Text("etm.ini", "[regs]", "[device]\nmore=1\n[regs]")], &[
        "warning: etm.ini:6: [device] the section is repeated, and is joined to that of line 1; merge the two",
    ]),
    ("no version", &[Text("snapshot.ini", "version=1.0", "")], &[
        "warning: snapshot.ini: no version, 1.0 is assumed; add `version=1.0` to [snapshot]",
    ]),
    ("no trace", &[Text("snapshot.ini", "[trace]\nmetadata=trace.ini", "")], &[
        "info: snapshot.ini: section [trace] is missing, so the capture has no trace; if it has, add the section with `metadata=trace.ini`",
    ]),
    ("a cluster with an unknown core", &[Text("snapshot.ini", "[trace]", "[clusters]\nall=cpu, gpu\n[trace]")], &[
        "info: snapshot.ini:9: [clusters] all: unknown core `gpu`; correct the name or add the device",
    ]),
    ("a cluster twice", &[Text("snapshot.ini", "[trace]", "[clusters]\nall=cpu\nall=cpu\n[trace]")], &[
        "warning: snapshot.ini:10: [clusters] all: the key is that of line 9 as well, and both are used; a snapshot has each key once",
    ]),
    // Devices.
    ("no device file", &[Missing("etm.ini")], &[
        "error: snapshot.ini:6: [device_list] device1: cannot read etm.ini, so the device is missing: no such file; copy the file there or remove the line",
    ]),
    ("a folder as a device file", &[IsFolder("etm.ini")], &[
        "error: snapshot.ini:6: [device_list] device1: cannot read etm.ini, so the device is missing: it is a folder; copy the file there or remove the line",
    ]),
    ("an empty device file", &[Whole("etm.ini", b"")], &[
        "warning: etm.ini: no name, `etm` is used; add `name=`",
        "info: etm.ini: neither a core nor a trace source; nothing is decoded from it",
        "warning: trace.ini:13: [source_buffers] etm: unknown trace source `etm`; correct the name or add the device",
        "warning: trace.ini:10: [core_trace_sources] cpu: unknown trace source `etm`; correct the name or add the device",
        "warning: trace.ini: no source is linked to buffer ETB; add `SOURCE=ETB` to [source_buffers]",
    ]),
    ("a trace source of another class", &[Text("etm.ini", "trace_source", "Trace Source")], &[
        "warning: trace.ini:13: [source_buffers] etm: `etm` is no trace source: its class is `Trace Source`; correct it to `trace_source` or remove the link",
        "warning: trace.ini:10: [core_trace_sources] cpu: `etm` is no trace source: its class is `Trace Source`; correct it to `trace_source` or remove the link",
        "warning: trace.ini: no source is linked to buffer ETB; add `SOURCE=ETB` to [source_buffers]",
    ]),
    ("no name", &[Text("cpu.ini", "name=cpu\n", "")], &[
        "warning: cpu.ini:1: [device] no name, `cpu` is used; add `name=`",
    ]),
    ("no class, a source by its type", &[Text("etm.ini", "class=trace_source\n", "")], &[
        "info: etm.ini:1: [device] no class, trace_source is assumed from the type; add `class=`",
    ]),
    ("no class, a core by its type", &[Text("cpu.ini", "class=core\n", "")], &[
        "info: cpu.ini:1: [device] no class, core is assumed from the type; add `class=`",
    ]),
    ("no class and no type", &[Text("cpu.ini", "class=core\ntype=Cortex-A53\n", "")], &[
        "info: cpu.ini:1: [device] neither a core nor a trace source; nothing is decoded from it",
        "info: trace.ini:10: [core_trace_sources] cpu: unknown core `cpu`; correct the name or add the device",
        "warning: trace.ini: the core of etm is not recorded, so its profile is inferred from the trace unit's registers; add `CORE=etm` to [core_trace_sources]",
    ]),
    ("two devices of one key", &[Text("snapshot.ini", "device1=etm.ini", "device0=etm.ini")], &[
        "warning: snapshot.ini:6: [device_list] device0: the key is that of line 5 as well, and both are used; a snapshot has each key once",
    ]),
    ("a device file twice", &[Text("snapshot.ini", "device1=etm.ini", "device1=etm.ini\ndevice2=etm.ini")], &[
        "error: snapshot.ini:7: [device_list] device2: the file of `etm` is listed twice, and links refer to the first; remove one of the two lines",
    ]),
    ("a core without a type", &[Text("cpu.ini", "type=Cortex-A53\n", "")], &[
        "warning: cpu.ini:1: [device] no type, so the core's profile is inferred from the trace unit's registers; add `type=`, such as Cortex-A53",
    ]),
    ("two devices of one name", &[Text("cpu.ini", "name=cpu", "name=etm")], &[
        "error: etm.ini:1: [device] another device has the name `etm`, in cpu.ini, and links refer to that one; rename one of the two",
        "info: trace.ini:10: [core_trace_sources] cpu: unknown core `cpu`; correct the name or add the device",
        "warning: trace.ini: the core of etm is not recorded, so its profile is inferred from the trace unit's registers; add `CORE=etm` to [core_trace_sources]",
    ]),
    ("an unknown core", &[Text("cpu.ini", "Cortex-A53", "Cortex-Z1")], &[
        "warning: cpu.ini:1: [device] unknown core `Cortex-Z1`, so its profile is inferred from the trace unit's registers; write its architecture instead, such as ARMv8-A",
    ]),
    ("a source of no type", &[Text("etm.ini", "type=ETM4\n", "")], &[
        "error: etm.ini:1: [device] no type, so the protocol is unknown and the source is not decoded; add `type=`, such as ETM4.2",
    ]),
    ("a register that is not a number", &[Text("etm.ini", "0xC1", "C1h")], &[
        "error: etm.ini:7: [regs] TRCCONFIGR(0x004): `C1h` is not a number and was skipped; write decimal digits, or 0x and hexadecimal digits",
    ]),
    ("a register of 132 bits", &[Text("etm.ini", "0xC1", "0x123456789012345678901234567890123")], &[
        "error: etm.ini:7: [regs] TRCCONFIGR(0x004): `0x123456789012345678901234567890123` is not a number and was skipped; write decimal digits, or 0x and hexadecimal digits",
    ]),
    ("a register wider than its size", &[Text("etm.ini", "(0x004)=0xC1", "(4,size:8)=0x1C1")], &[
        "warning: etm.ini:7: [regs] TRCCONFIGR(4,size:8): 0x1c1 is wider than 8 bits; correct the value or the size",
    ]),
    ("an unknown word at a register", &[Text("etm.ini", "(0x004)", "(4, colour:red)")], &[
        "warning: etm.ini:7: [regs] TRCCONFIGR(4, colour:red): `colour:red` was skipped; expected (ID), (id:ID) or (size:BITS) after the register's name",
    ]),
    ("a register of 36 bits without a size", &[Text("etm.ini", "=0xC1", "=0x100000001")], &[
        "warning: etm.ini:7: [regs] TRCCONFIGR(0x004): 0x100000001 is wider than 32 bits, which a register without a size has; it is used as it is; add (size:64) after the name",
    ]),
    ("a register of 36 bits", &[Text("etm.ini", "(0x004)=0xC1", "(4,size:64)=0x100000001")], &[]),
    ("a bracket that is not closed", &[Text("etm.ini", "(0x004)", "(0x004")], &[
        "warning: etm.ini:7: [regs] TRCCONFIGR(0x004: `0x004` was skipped; expected (ID), (id:ID) or (size:BITS) after the register's name",
    ]),
    ("two devices at one location", &[
        Text("cpu.ini", "name=cpu\n", "name=cpu\nlocation=ap:1, address:0x10\n"),
        Text("etm.ini", "name=etm\n", "name=etm\nlocation=ADDRESS:16,ap:01\n"),
    ], &[
        "warning: etm.ini:3: [device] location: the location is that of `cpu` as well, to which links by location refer; correct one of the two",
    ]),
    ("a register twice", &[Text("etm.ini", "=0xC1\n", "=0xC1\ntrcconfigr(id:4)=0\n")], &[
        "warning: etm.ini:8: [regs] trcconfigr(id:4): the key is repeated, and the value of line 7 is used; remove one of the two",
    ]),
    // Memory.
    ("no dump file", &[Missing("code.bin")], &[
        "error: cpu.ini:7: [dump1] file: cannot read code.bin, so its memory is missing: no such file; copy the file there or give it with <image>",
    ]),
    ("a folder as a dump", &[IsFolder("code.bin")], &[
        "error: cpu.ini:7: [dump1] file: cannot read code.bin, so its memory is missing: it is a folder; copy the file there or give it with <image>",
    ]),
    #[cfg(unix)]
    ("a device as a dump", &[Text("cpu.ini", "code.bin", "/dev/null")], &[
        "warning: cpu.ini:7: [dump1] file: /dev/null is outside of the capture's folder; copy it there, or check where the capture is from",
        "error: cpu.ini:7: [dump1] file: cannot read /dev/null, so its memory is missing: it is not a regular file; copy the file there or give it with <image>",
    ]),
    ("an empty dump", &[Whole("code.bin", b"")], &[
        "warning: cpu.ini:7: [dump1] file: code.bin is empty, so its memory is missing; replace the file",
    ]),
    ("an offset past the end", &[Text("cpu.ini", "0x1000", "0x1000\noffset=17")], &[
        "error: cpu.ini:9: [dump1] offset: offset 0x11 is past the end of the file of 0x10 bytes, so its memory is missing; correct the offset",
    ]),
    ("a length past the end", &[Text("cpu.ini", "0x1000", "0x1000\noffset=8\nlength=0x9")], &[
        "warning: cpu.ini:10: [dump1] length: length 0x9 exceeds the 0x8 bytes in the file, which are used; correct the length or replace the file",
    ]),
    ("a length that is not a number", &[Text("cpu.ini", "0x1000", "0x1000\nlength=all")], &[
        "error: cpu.ini:9: [dump1] length: `all` is not a number and was skipped; write decimal digits, or 0x and hexadecimal digits",
    ]),
    ("an address of 68 bits", &[Text("cpu.ini", "0x1000", "0x10000000000000000")], &[
        "error: cpu.ini:8: [dump1] address: 0x10000000000000000 does not fit in 64 bits and was skipped; correct it",
    ]),
    ("past the last address", &[Text("cpu.ini", "0x1000", "0xfffffffffffffff8")], &[
        "warning: cpu.ini:8: [dump1] address: the dump extends past the last address and is truncated there; correct the address",
    ]),
    ("an address that is not a number", &[Text("cpu.ini", "0x1000", "here")], &[
        "error: cpu.ini:8: [dump1] address: `here` is not a number and was skipped; write decimal digits, or 0x and hexadecimal digits",
    ]),
    ("no address", &[Text("cpu.ini", "address=0x1000\n", "")], &[
        "error: cpu.ini:6: [dump1] key `address` is missing, so its memory is missing; add it",
    ]),
    ("no file", &[Text("cpu.ini", "file=code.bin\n", "")], &[
        "error: cpu.ini:6: [dump1] key `file` is missing, so its memory is missing; add it",
    ]),
    ("an unknown key", &[Text("cpu.ini", "0x1000", "0x1000\ncolour=red")], &[
        "info: cpu.ini:9: [dump1] colour: the key is unknown and was skipped",
    ]),
    ("a program as memory", &[Whole("code.bin", b"\x7fELF"), Text("cpu.ini", "0x1000", "0")], &[
        "warning: cpu.ini:7: [dump1] file: code.bin is an ELF file, mapped as raw memory; give it with <image> instead",
    ]),
    ("an unknown space", &[Text("cpu.ini", "0x1000", "0x1000\nspace=EL9, el2")], &[
        "warning: cpu.ini:9: [dump1] space: unknown memory space `EL9`, any is assumed; expected S, N, H, EL1S, EL1N, EL2 or EL3",
    ]),
    ("dumps that differ", &[
        Whole("data.bin", b"data"),
        Text("cpu.ini", "0x1000", "0x1000\n[dump2]\nfile=data.bin\naddress=0x100e"),
    ], &[
        "warning: cpu.ini: dump2 and dump1 contain different bytes for the same address, and dump1 is used; remove the wrong one, or give each its space",
    ]),
    ("dumps that agree", &[
        Whole("data.bin", b"de"),
        Text("cpu.ini", "0x1000", "0x1000\n[dump2]\nfile=data.bin\naddress=0x100e"),
    ], &[]),
    ("dumps of two spaces", &[
        Whole("data.bin", b"data"),
        Text("cpu.ini", "0x1000", "0x1000\nspace=S\n[dump2]\nfile=data.bin\naddress=0x100e\nspace=n"),
    ], &[]),
    // Buffers and links.
    ("no trace file", &[Missing("trace.bin")], &[
        "error: trace.ini:6: [buffer0] file: cannot read trace.bin, so its trace is missing: no such file; copy the file there",
    ]),
    ("an empty trace file", &[Whole("trace.bin", b"")], &[
        "info: trace.ini:6: [buffer0] file: the buffer is empty; there is nothing to decode in it",
    ]),
    ("no section for a buffer", &[Text("trace.ini", "=buffer0", "=buffer0, buffer1")], &[
        "error: trace.ini:2: [trace_buffers] buffers: section [buffer1] is missing, so that buffer is missing; add it or correct the list",
    ]),
    ("a buffer without a name", &[Text("trace.ini", "name=ETB\n", ""), Text("trace.ini", "etm=ETB", "etm=buffer0")], &[
        "warning: trace.ini:4: [buffer0] key `name` is missing, the name of the section is used; add it",
    ]),
    ("a buffer without a file", &[Text("trace.ini", "file=trace.bin\n", "")], &[
        "warning: trace.ini:4: [buffer0] key `file` is missing, so the buffer is empty; add it",
    ]),
    ("a buffer without a format", &[Text("trace.ini", "format=coresight\n", "")], &[
        "warning: trace.ini:4: [buffer0] key `format` is missing, coresight is assumed; add it",
    ]),
    ("an unknown format", &[Text("trace.ini", "coresight", "DSTREAM")], &[
        "warning: trace.ini:7: [buffer0] format: unknown format `DSTREAM`; expected coresight, source_data, dstream_coresight or encapsulated; correct it or give <framing>",
    ]),
    ("two buffers of one name", &[Text("trace.ini", "buffers=buffer0", "buffers=buffer0,buffer0")], &[
        "error: trace.ini:4: [buffer0] another buffer has the name `ETB`, and links refer to that one; rename one of the two",
        "warning: trace.ini: no source is linked to buffer ETB; add `SOURCE=ETB` to [source_buffers]",
    ]),
    ("an unknown buffer", &[Text("trace.ini", "etm=ETB", "etm=ETF, ETB")], &[
        "error: trace.ini:13: [source_buffers] etm: unknown buffer `ETF`; correct the name or add the buffer",
    ]),
    ("an unknown source", &[Text("trace.ini", "etm=ETB", "etm=ETB\nitm=ETB")], &[
        "warning: trace.ini:14: [source_buffers] itm: unknown trace source `itm`; correct the name or add the device",
    ]),
    ("a stream without a number", &[Text("trace.ini", "etm=ETB", "etm(stream:x)=ETB\netm(1)=ETB\netm(stream:1)=ETB")], &[
        "error: trace.ini:13: [source_buffers] etm(stream:x): `etm(stream:x)` is not a stream; expected NAME(stream:N), N from 0 to 255",
        "error: trace.ini:14: [source_buffers] etm(1): `etm(1)` is not a stream; expected NAME(stream:N), N from 0 to 255",
    ]),
    ("a source in no buffer", &[Text("trace.ini", "etm=ETB\n", "")], &[
        "info: trace.ini: no buffer is linked to etm; add `etm=BUFFER` to [source_buffers] if one contains its trace",
        "warning: trace.ini: no source is linked to buffer ETB; add `SOURCE=ETB` to [source_buffers]",
    ]),
    ("an unknown core in a link", &[Text("trace.ini", "cpu=etm", "gpu=etm")], &[
        "info: trace.ini:10: [core_trace_sources] gpu: unknown core `gpu`; correct the name or add the device",
        "warning: trace.ini: the core of etm is not recorded, so its profile is inferred from the trace unit's registers; add `CORE=etm` to [core_trace_sources]",
    ]),
    ("an unknown source in a link", &[Text("trace.ini", "cpu=etm", "cpu=ptm")], &[
        "warning: trace.ini:10: [core_trace_sources] cpu: unknown trace source `ptm`; correct the name or add the device",
        "warning: trace.ini: the core of etm is not recorded, so its profile is inferred from the trace unit's registers; add `CORE=etm` to [core_trace_sources]",
    ]),
    ("an unknown location", &[Text("trace.ini", "cpu=etm", "cpu=@address:0x80")], &[
        "warning: trace.ini:10: [core_trace_sources] cpu: no trace source has the location `address:0x80`; correct it or add the device",
        "warning: trace.ini: the core of etm is not recorded, so its profile is inferred from the trace unit's registers; add `CORE=etm` to [core_trace_sources]",
    ]),
    ("one core without a link", &[Text("trace.ini", "[core_trace_sources]\ncpu=etm\n", "")], &[
        "info: trace.ini: the core of etm is not recorded, cpu is assumed as the only one; add `cpu=etm` to [core_trace_sources]",
    ]),
    ("two cores for one source", &[
        Text("snapshot.ini", "[trace]", "device2=cpu1.ini\n[trace]"),
        Whole("cpu1.ini", b"[device]\nname=cpu1\nclass=core\ntype=ARMv8-A\n"),
        Text("trace.ini", "cpu=etm", "cpu=etm\ncpu1=etm"),
    ], &[
        "warning: trace.ini:11: [core_trace_sources] cpu1: etm is linked to cpu already, and cpu1 was skipped; remove one of the two",
    ]),
    ("two sources in an unformatted buffer", &[
        Text("snapshot.ini", "[trace]", "device2=itm.ini\n[trace]"),
        Whole("itm.ini", b"[device]\nname=itm\nclass=trace_source\ntype=ITM\n"),
        Text("trace.ini", "coresight", "source_data"),
        Text("trace.ini", "etm=ETB", "etm=ETB\nitm=ETB"),
    ], &[
        "warning: trace.ini: ETB is unformatted and can contain one source only: etm is used, not itm; remove the others, or correct the format",
    ]),
];

/// Rows: problem, edits of the small snapshot, opened path, message.
#[rustfmt::skip]
const ERRORS: &[(&str, &[Edit], &str, &str)] = &[
    ("nothing there", &[], "nowhere",
        "nowhere: cannot be read: no such file; check the path"),
    ("a folder without an index", &[Missing("snapshot.ini")], "",
        ": no snapshot.ini and no capture.toml in this folder; give the folder of a capture, or a file of raw trace data with <protocol>"),
    ("a part without an index", &[Missing("snapshot.ini")], "trace.ini",
        "trace.ini: part of a snapshot, but there is no snapshot.ini in its folder; give the file with the section [device_list]"),
    ("an index that is a folder", &[IsFolder("snapshot.ini")], "",
        ": no snapshot.ini and no capture.toml in this folder; give the folder of a capture, or a file of raw trace data with <protocol>"),
    ("an empty index", &[Whole("snapshot.ini", b"")], "",
        "snapshot.ini: section [device_list] is missing; add it"),
    ("another version", &[Text("snapshot.ini", "1.0", "2.0")], "",
        "snapshot.ini:2: [snapshot] version: snapshot version `2.0` is not supported, expected 1.0; correct it if the file follows 1.0"),
    ("no devices", &[Text("snapshot.ini", "[device_list]", "[devices]")], "",
        "snapshot.ini: section [device_list] is missing; add it"),
    ("no metadata", &[Text("snapshot.ini", "metadata=", "data=")], "",
        "snapshot.ini:8: [trace] key `metadata` is missing; add it"),
    ("no metadata file", &[Missing("trace.ini")], "",
        "snapshot.ini:9: [trace] metadata: cannot read trace.ini, which describes the trace: no such file; copy the file there or correct its name"),
    ("empty metadata", &[Whole("trace.ini", b"")], "",
        "trace.ini: section [trace_buffers] is missing; add it"),
    ("metadata that is a folder", &[IsFolder("trace.ini")], "",
        "snapshot.ini:9: [trace] metadata: cannot read trace.ini, which describes the trace: it is a folder; copy the file there or correct its name"),
    ("metadata without a name", &[Text("snapshot.ini", "metadata=trace.ini", "metadata=\"\"")], "",
        "snapshot.ini:9: [trace] metadata: cannot read a file without a name, which describes the trace: it is a folder; copy the file there or correct its name"),
    ("no list of buffers", &[Text("trace.ini", "[trace_buffers]", "[buffers]")], "",
        "trace.ini: section [trace_buffers] is missing; add it"),
    ("an empty section of buffers", &[Text("trace.ini", "buffers=buffer0", "")], "",
        "trace.ini:1: [trace_buffers] key `buffers` is missing; add it"),
    ("perf.data", &[Whole("perf.data", b"PERFILE2\x68\0\0\0")], "perf.data",
        "perf.data: cannot be decoded: it is shorter than its header"),
    ("perf.data of the other byte order", &[Whole("perf.data", b"2ELIFREP\0\0\0\x68")], "perf.data",
        "perf.data: cannot be decoded: it is shorter than its header"),
    ("a program", &[Whole("a.out", b"\x7fELF\x02\x01\x01")], "a.out",
        "a.out: a program (ELF), not a capture; give the capture, and this file with <image>, or beside perf.data with <binary>"),
    ("raw trace data", &[], "trace.bin",
        "trace.bin: not a known capture format; for raw trace data give the protocol and its registers (<protocol> NAME <register> NAME=VALUE), otherwise give a snapshot"),
];

#[test]
fn notes() {
    for (name, edits, want) in NOTES {
        let folder = base(edits);
        let capture = open(&folder.0).unwrap_or_else(|error| panic!("{name}: {error}"));
        let got: Vec<_> = capture
            .notes
            .iter()
            .map(|note| folder.short(format!("{}: {note}", note.severity())))
            .collect();
        if std::env::var_os("SHOW").is_some() {
            println!("@@{name}@@{got:?}");
            continue;
        }
        assert_eq!(got, *want, "{name}");
    }
}

#[test]
fn errors() {
    for (name, edits, path, want) in ERRORS {
        let folder = base(edits);
        let error = open(&folder.0.join(path)).expect_err(name);
        let got = folder.short(&error);
        if std::env::var_os("SHOW").is_some() {
            println!("@@{name}@@{got:?}");
            continue;
        }
        assert_eq!(got, *want, "{name}");
    }
}
