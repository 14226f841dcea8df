//! `perf.data`: compressed trace of simpleperf, the cache of perf, and the kernel's file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tracewright_base::Space;
use tracewright_capture::perf::{self, Body, Layout, Mmap, PerfData, Record, Search};
use tracewright_capture::{Capture, ImageSource, Queue};
use tracewright_testing::tool;

use crate::perf::{buffers, byte_at, elf, id_of, module, notes, synthetic};

/// META_INFO of simpleperf.
const META_INFO: u32 = 129;

/// A folder that is removed when the value is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let name = format!("tracewright-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    /// Writes a file, and its folders.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, bytes).expect("a file");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A zstd frame of at most 255 bytes in one block without compression. (RFC 8878, 3.1.1)
fn frame(bytes: &[u8]) -> Vec<u8> {
    // Magic number; descriptor with Single_Segment_Flag; Frame_Content_Size of one byte.
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x20, bytes.len() as u8];
    // Last_Block, Raw_Block, Block_Size.
    let header = 1 | (bytes.len() as u32) << 3;
    frame.extend(&header.to_le_bytes()[..3]);
    frame.extend(bytes);
    frame
}

/// The frame that zstd makes.
fn packed_by_zstd(zstd: &str, folder: &Folder, bytes: &[u8]) -> Vec<u8> {
    let path = folder.write("plain", bytes);
    let output = Command::new(zstd).args(["-19", "-c"]).arg(path).output().expect("a frame");
    assert!(output.status.success());
    output.stdout
}

/// simpleperf compresses the bytes of each AUXTRACE record, and pads them with zeros. AUX records
/// have the offsets and sizes of the trace.
#[test]
fn compressed_trace_of_simpleperf() {
    let folder = Folder::new("perf-zstd");
    let plain = synthetic(1, perf::SAMPLE_TYPE, 128);
    let want = buffers(&perf::from_bytes(&plain.write(Layout::default()).into()).expect("plain"));
    let with = |pack: &dyn Fn(&[u8]) -> Vec<u8>| {
        let mut data = plain.clone();
        data.features.insert(META_INFO, b"trace_offcpu\0false\0".to_vec());
        for bytes in &mut data.trace {
            let mut packed = pack(bytes);
            packed.resize(packed.len().next_multiple_of(8), 0);
            *bytes = packed.into();
        }
        let sizes: Vec<u64> = data.trace.iter().map(|bytes| bytes.len() as u64).collect();
        let mut sizes = sizes.into_iter();
        for record in &mut data.records {
            if let Body::AuxTrace(trace) = &mut record.body {
                trace.size = sizes.next().expect("a size");
            }
        }
        perf::from_bytes(&data.write(Layout::default()).into()).expect("a capture")
    };
    assert_eq!(buffers(&with(&frame)), want);
    assert_eq!(want.len(), 3);
    if let Some(zstd) = tool(&[("zstd", "zstd")]) {
        assert_eq!(buffers(&with(&|bytes| packed_by_zstd(zstd, &folder, bytes))), want);
    }
    // A block that is shorter than its header states: that trace is missing, and a note reports it.
    let damaged = with(&|bytes| match bytes.len() {
        16 => frame(bytes)[..20].to_vec(),
        _ => frame(bytes),
    });
    let found = notes(&damaged).join("\n");
    assert!(found.contains("24 bytes of compressed trace are damaged"), "{found}");
    assert!(found.contains("1 AUX records announce 16 bytes"), "{found}");
    let queues: Vec<Queue> = buffers(&damaged).into_iter().map(|(queue, ..)| queue).collect();
    assert_eq!(queues, [Queue::Cpu(3), Queue::Cpu(3)]);
}

/// An executable mapping of a file with a build identifier.
pub fn mapped(process: u32, address: u64, path: &str, id: &[u8]) -> Record {
    let mmap = Mmap {
        process,
        thread: process,
        address,
        len: 0x1000,
        offset: 0,
        file: Some(perf::MappedFile { identity: vec![0; 24], protection: 5, flags: 2 }),
        path: path.into(),
    };
    Record::new(Body::Mmap(mmap)).with_build_id(id).with_id(id_of(2, 2))
}

/// The cache of perf has a folder for each build identifier, with a link to the file under the name
/// `elf`, or `vdso`; earlier versions have the file in place of the folder.
/// (Linux 6.1.192, tools/perf/util/build-id.c:260, `build_id_cache__basename`)
#[test]
fn the_cache_of_perf_is_searched_by_build_id() {
    let folder = Folder::new("perf-cache");
    let id = |first: u8| -> Vec<u8> { (first..first + 20).collect() };
    let name = |id: &[u8]| {
        let hex = perf::hex(id);
        format!("cache/.build-id/{}/{}", &hex[..2], &hex[2..])
    };
    let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
    let mut expected = Vec::new();
    for (n, (path, file)) in [
        ("/lib/library.so", "/elf"),
        ("[vdso]", "/vdso"),
        ("/lib/earlier.so", ""),
        ("/lib/absent.so", "/kallsyms"),
    ]
    .into_iter()
    .enumerate()
    {
        let (byte, address) = (0x40 + n as u8, 0x10_0000 * (n as u64 + 1));
        let (file, id) = (format!("{}{file}", name(&id(byte))), id(byte));
        folder.write(&file, elf(3, 0, &[byte; 16]));
        data.records.push(mapped(1000, address, path, &id));
        // The code is after the headers.
        expected.push((address + 120, (n != 3).then_some(byte)));
    }
    // Another file with the name, which has no recorded identifier.
    folder.write("symfs/lib/library.so", elf(3, 0, &[0xff; 16]));
    let path = folder.write("perf.data", data.write(Layout::default()));
    let search = Search {
        cache: Some(folder.0.join("cache")),
        symfs: Some(folder.0.join("symfs")),
        ..Search::default()
    };
    let capture = perf::open(&path, &search).expect("a capture");
    for (address, byte) in &expected {
        assert_eq!(byte_at(&capture, 0, *address), *byte, "{address:#x}");
    }
    let modules = capture.linux.as_ref().expect("a system").spaces.modules();
    let vdso = modules.iter().find(|module| module.path == "[vdso]").expect("a file");
    assert!(vdso.found.as_ref().is_some_and(|path| path.ends_with("vdso")), "{vdso:?}");
    // Without the cache, none has the recorded identifier.
    let other = perf::open(&path, &Search { cache: None, ..search }).expect("a capture");
    assert_eq!(byte_at(&other, 0, expected[1].0), None);
    assert_eq!(byte_at(&other, 0, expected[2].0), None);
}

/// A kernel that is linked at `address`, with symbols at offsets.
pub fn vmlinux(address: u64, code: &[u8], symbols: &[(&str, u64)]) -> Vec<u8> {
    let mut file = elf(2, address, code);
    let (mut names, mut table) = (b"\0".to_vec(), vec![0; 24]);
    for (name, offset) in symbols {
        table.extend((names.len() as u32).to_le_bytes());
        // STB_GLOBAL, STT_FUNC; the section.
        table.extend([0x12, 0, 1, 0]);
        table.extend((address + offset).to_le_bytes());
        table.extend(4u64.to_le_bytes());
        names.extend(name.as_bytes());
        names.push(0);
    }
    // Name, type, flags, address, offset, size, link and info, alignment, size of an entry.
    let mut sections = vec![[0u64; 8]];
    sections.push([1 << 32, 6, address, 120, code.len() as u64, 0, 4, 0]);
    let at = file.len() as u64;
    sections.push([2 << 32, 0, 0, at, table.len() as u64, 3 | 1 << 32, 8, 24]);
    sections.push([3 << 32, 0, 0, at + table.len() as u64, names.len() as u64, 0, 1, 0]);
    file.extend(&table);
    file.extend(&names);
    let at = file.len() as u64;
    sections.iter().flatten().for_each(|word| file.extend(word.to_le_bytes()));
    file[40..48].copy_from_slice(&at.to_le_bytes());
    let halves = [64u16, sections.len() as u16, 3];
    file.splice(58..64, halves.iter().flat_map(|half| half.to_le_bytes()));
    file
}

/// A record of a mapping of the kernel, of a module, or of a guest: without build identifier, of
/// process -1.
pub fn kernel_map(path: &str, address: u64, offset: u64) -> Record {
    let (process, file, path) = (u32::MAX, None, path.into());
    let mmap = Mmap { process, thread: 0, address, len: 0x4000, offset, file, path };
    Record::new(Body::Mmap(mmap)).with_id(id_of(2, 1))
}

/// Opens a file with `maps`, and with the files of the recorded code that `search` finds.
pub fn opened(folder: &Folder, maps: Vec<Record>, search: &Search) -> Capture {
    let mut data: PerfData = synthetic(1, perf::SAMPLE_TYPE, 128);
    data.records.extend(maps);
    let path = folder.write("perf.data", data.write(Layout::default()));
    perf::open(&path, search).expect("a capture")
}

pub fn given(binaries: &[&Path]) -> Search {
    let binaries = binaries.iter().map(|path| path.to_path_buf()).collect();
    Search { binaries, ..Search::default() }
}

/// The kernel's code is where the symbol was that its mapping is named for: the offset of the
/// mapping is its address (Linux 6.1.192, tools/perf/util/synthetic-events.c:1143 and 1156,
/// `__perf_event__synthesize_kernel_mmap`), or its start where the offset is 0
/// (simpleperf/environment.cpp at 433d6f55, `GetKernelAndModuleMmaps`).
#[test]
fn the_kernel_is_where_the_symbol_of_its_mapping_was() {
    const LINKED: u64 = 0xffff_8000_8000_0000;
    const TEXT: u64 = 0xffff_8001_a34a_0000;
    const STEXT: u64 = TEXT + 0x1_0000;
    let folder = Folder::new("perf-kernel-shift");
    let mut code = vec![0x1f; 0x1_0010];
    code[0x1_0000] = 0x77;
    let both =
        folder.write("both/vmlinux", vmlinux(LINKED, &code, &[("_text", 0), ("_stext", 0x1_0000)]));
    let text = folder.write("text/vmlinux", vmlinux(LINKED, &code, &[("_text", 0)]));
    let none = folder.write("none/vmlinux", vmlinux(LINKED, &code, &[]));
    let raw = folder.write("raw/vmlinux", &code);
    let list = folder.write("kallsyms", format!("{TEXT:x} T _text\n{STEXT:x} T _stext\n"));
    let unnamed = "assumed to begin at _text";
    let unknown = "where the kernel was in memory is not known";
    for (name, address, offset, files, byte, note) in [
        ("_text", TEXT, TEXT, &[&both][..], Some(0x77), None),
        ("_text", TEXT, 0, &[&both], Some(0x77), None),
        ("_stext", STEXT, STEXT, &[&both], Some(0x77), None),
        ("_stext", STEXT, 0, &[&both], Some(0x77), None),
        // The mapping may begin before the symbol.
        ("_stext", TEXT, STEXT, &[&both], Some(0x77), None),
        ("", TEXT, 0, &[&text], Some(0x77), None),
        ("", TEXT, 0, &[&both], Some(0x77), Some(unnamed)),
        ("_stext", STEXT, 0, &[&text], None, Some("it has no symbol _stext")),
        ("_text", TEXT, TEXT, &[&none], None, Some("it has no symbol _text,")),
        ("", TEXT, 0, &[&none], None, Some("it has no symbol _text or _stext,")),
        ("_text", TEXT, TEXT, &[&raw], None, Some("it has no symbol _text,")),
        // simpleperf without the right to read the kernel's addresses.
        ("", 0, 0, &[&text], None, Some(unknown)),
        ("", 0, 0, &[&text, &list], Some(0x77), None),
    ] {
        let files: Vec<&Path> = files.iter().map(|path| path.as_path()).collect();
        let map = kernel_map(&format!("[kernel.kallsyms]{name}"), address, offset);
        let capture = opened(&folder, vec![map], &given(&files));
        let row = format!("{name} {address:#x} {offset:#x} {files:?}: {:?}", notes(&capture));
        assert_eq!(byte_at(&capture, 0, STEXT), byte, "{row}");
        assert_eq!(byte_at(&capture, 0, LINKED + 0x1_0000), None, "{row}");
        for text in [unnamed, unknown] {
            let wanted = note == Some(text) || text == unknown && byte.is_none();
            assert_eq!(notes(&capture).iter().any(|n| n.contains(text)), wanted, "{row}");
        }
        assert!(note.is_none_or(|note| notes(&capture).iter().any(|n| n.contains(note))), "{row}");
    }
}

/// Name, type, flags, link and alignment of a section, and its bytes.
type Section<'a> = (u64, u64, u64, u64, u64, &'a [u8]);

/// A module with functions of 16 bytes in `.text`, each filled with its number; with `behind`, the
/// section `.plt` is before it, and `.text` is aligned to 4096 bytes.
pub fn module_of(functions: &[&str], behind: bool) -> Vec<u8> {
    let names = b"\0.plt\0.text\0.symtab\0.strtab\0";
    let text: Vec<u8> = (1..=functions.len() as u8).flat_map(|n| [n; 16]).collect();
    let (mut strings, mut symbols) = (b"\0".to_vec(), vec![0; 24]);
    // The section of `.text`.
    let section = if behind { 2 } else { 1 };
    for (n, function) in (0u64..).zip(functions) {
        symbols.extend((strings.len() as u32).to_le_bytes());
        // Global, STT_FUNC.
        symbols.extend([0x12, 0, section, 0]);
        symbols.extend((16 * n).to_le_bytes());
        // The functions of files in assembler may have no size.
        symbols.extend((16 * (n % 2)).to_le_bytes());
        strings.extend(function.as_bytes());
        strings.push(0);
    }
    let mut file = elf(1, 0, &[]);
    file.truncate(64);
    let mut sections = vec![[0u64; 8]];
    // SHF_ALLOC and SHF_EXECINSTR.
    let code = 6u64;
    let plt: Section<'_> = (1, 1, code, 0, 16, &[0]);
    let rest: [Section<'_>; 4] = [
        (6, 1, code, 0, 4096, &text),
        (12, 2, 0, u64::from(section) + 2, 8, &symbols),
        (20, 3, 0, 0, 1, &strings),
        (20, 3, 0, 0, 1, names),
    ];
    for (name, kind, flags, link, align, bytes) in behind.then_some(plt).into_iter().chain(rest) {
        let (at, len) = (file.len() as u64, bytes.len() as u64);
        let entry = if kind == 2 { 24 } else { 0 };
        sections.push([name | kind << 32, flags, 0, at, len, link, align, entry]);
        file.extend(bytes);
    }
    let at = file.len() as u64;
    sections.iter().flatten().for_each(|word| file.extend(word.to_le_bytes()));
    file[40..48].copy_from_slice(&at.to_le_bytes());
    let count = sections.len() as u16;
    let halves = [64u16, 56, 0, 64, count, count - 1];
    file[32..40].fill(0);
    file.splice(52..64, halves.iter().flat_map(|half| half.to_le_bytes()));
    file
}

/// Files, the high bits of the offset that simpleperf recorded, whether the layout is assumed; the
/// offset of the code, and the note.
type Row<'a> = (&'a [&'a PathBuf], Option<u8>, bool, Option<u64>, &'a str);

/// The code of a module is where its symbols are in the list of the kernel's symbols, or where
/// simpleperf recorded it; else it is used where nothing is before it, or where that is assumed.
#[test]
fn the_code_of_a_module_is_where_it_is_known_to_be() {
    const BASE: u64 = 0xffff_8000_7900_0000;
    /// FILE2 of simpleperf.
    const FILE2: u32 = 132;
    const PATH: &str = "/lib/modules/6.6.0/my-mod.ko";
    let folder = Folder::new("perf-module-text");
    let functions = ["twice", "first", "second", "twice"];
    let behind = folder.write("behind/my-mod.ko", module_of(&functions, true));
    let alone = folder.write("alone/my-mod.ko", module_of(&functions, false));
    let list = |name: &str, lines: &[(u64, &str, &str)]| {
        let line =
            |(at, name, module): &(u64, &str, &str)| format!("{at:x} t {name}\t[{module}]\n");
        folder.write(&format!("{name}/kallsyms"), lines.iter().map(line).collect::<String>())
    };
    let right = list(
        "right",
        &[
            (BASE + 0x2010, "first", "my_mod"),
            (BASE + 0x2020, "second", "my_mod"),
            (7, "first", "b"),
        ],
    );
    let one = list("one", &[(BASE + 0x2020, "second", "my_mod"), (BASE, "twice", "my_mod")]);
    let moved = list("moved", &[(BASE + 0x10_0010, "first", "my_mod")]);
    let other =
        list("other", &[(BASE + 0x1010, "first", "my_mod"), (BASE + 0x1030, "second", "my_mod")]);
    let foreign = list("foreign", &[(BASE + 0x2010, "first", "b")]);
    let known = Some(0x2000);
    let rows: [Row<'_>; 10] = [
        (&[&behind, &right], None, false, known, ""),
        (&[&behind, &one], None, false, known, ""),
        (&[&behind], Some(0x20), false, known, ""),
        (&[&alone, &right], None, false, known, ""),
        (&[&alone], None, false, Some(0), ""),
        (&[&behind], None, false, None, "other sections with code are before .text"),
        (&[&behind, &foreign], None, false, None, "other sections with code are before .text"),
        (&[&behind, &moved], None, false, None, "the list is of another start of the machine"),
        (&[&behind, &other], None, false, None, "whose functions have other distances"),
        (&[&behind], None, true, Some(0x1000), "is assumed to be at 0xffff800079001000"),
    ];
    for (files, recorded, assume, offset, note) in rows {
        let files: Vec<&Path> = files.iter().map(|path| path.as_path()).collect();
        let mut data: PerfData = synthetic(1, perf::SAMPLE_TYPE, 128);
        data.records.push(kernel_map(PATH, BASE, 0));
        if let Some(high) = recorded {
            // Fields 1 path, 2 kind, 7 { 1 offset }: bits [13:7] of the offset in the last byte.
            let mut message = vec![0x0a, PATH.len() as u8];
            message.extend(PATH.as_bytes());
            message.extend([0x10, 1, 0x3a, 3, 0x08, 0x80, 2 * high]);
            let len = (message.len() as u32).to_le_bytes();
            data.features.insert(FILE2, [&len, message.as_slice()].concat());
        }
        let path = folder.write("perf.data", data.write(Layout::default()));
        let search = Search { assume_module_layout: assume, ..given(&files) };
        let capture = perf::open(&path, &search).expect("a capture");
        let row = format!("{files:?} {recorded:?} {assume}: {:?}", notes(&capture));
        for at in [0, 0x1000, 0x2000u64] {
            let want = (offset == Some(at)).then_some(2);
            assert_eq!(byte_at(&capture, 0, BASE + at + 16), want, "{at:#x} {row}");
        }
        let texts = notes(&capture);
        let about = texts.iter().filter(|text| text.starts_with(PATH));
        assert_eq!(about.count(), usize::from(!note.is_empty()), "{row}");
        assert!(note.is_empty() || texts.iter().any(|text| text.contains(note)), "{row}");
    }
}

/// A module is found by the name that the kernel has for it, and as it was compressed.
#[test]
fn a_module_is_found_by_its_name_in_the_kernel() {
    const BASE: u64 = 0xffff_8000_7900_0000;
    let folder = Folder::new("perf-module-name");
    let file = folder.write("my-mod.ko", module_of(&["first"], false));
    for (path, found) in [
        ("[my_mod]", true),
        ("/lib/modules/my-mod.ko.zst", true),
        ("/lib/modules/my_mod.ko", true),
        ("[mod]", false),
        ("/lib/my-mod", false),
    ] {
        let capture = opened(&folder, vec![kernel_map(path, BASE, 0)], &given(&[&file]));
        assert_eq!(byte_at(&capture, 0, BASE), found.then_some(1), "{path}");
        let unused = notes(&capture).iter().any(|note| note.contains("my-mod.ko is not used"));
        assert_eq!(unused, !found, "{path}");
    }
}

/// A list of symbols from another start of the machine has other addresses, and moves nothing.
#[test]
fn a_list_of_symbols_that_contradicts_the_mapping_is_not_used() {
    const KERNEL: u64 = 0xffff_8000_8000_0000;
    const MODULE: u64 = 0xffff_8000_7900_0000;
    let folder = Folder::new("perf-kallsyms");
    let text: Vec<u8> =
        [0x9400_0000u32, 0xd503_201f].iter().flat_map(|word| word.to_le_bytes()).collect();
    let ko = folder.write("driver.ko", module(&text, &[(0, "schedule")]));
    for (text, used) in [(KERNEL, true), (KERNEL + 0x20_0000, false)] {
        let list = format!("{text:x} T _text\n{:x} T schedule\n", text + 0x100);
        let list = folder.write("kallsyms", list);
        let maps = vec![
            kernel_map("[kernel.kallsyms]_text", KERNEL, KERNEL),
            kernel_map("/lib/modules/driver.ko", MODULE, 0),
        ];
        let capture = opened(&folder, maps, &given(&[&ko, &list]));
        let found = notes(&capture).join("\n");
        assert_eq!(byte_at(&capture, 0, MODULE).is_some(), used, "{found}");
        assert_eq!(found.contains("the list is of another start"), !used, "{found}");
    }
}

/// A guest's memory is not that of the host, whatever its mappings are named: records of perf have
/// the mode PERF_RECORD_MISC_GUEST_KERNEL, the process of the virtual machine, and the path
/// `[guest.kernel.kallsyms]`. (Linux 6.1.192, tools/perf/util/synthetic-events.c:1127 to 1158;
/// machine.c:74, `machine__set_mmap_name`)
#[test]
fn mappings_of_guests_are_not_used() {
    const AT: u64 = 0xffff_8000_8000_0000;
    let folder = Folder::new("perf-guest");
    let kernel = folder.write("vmlinux", vmlinux(AT, &[0x1f; 16], &[("_text", 0)]));
    for (path, mode, used) in [
        ("[kernel.kallsyms]_text", 1, true),
        ("[guest.kernel.kallsyms]_text", 4, false),
        ("[guest.kernel.kallsyms.77]_text", 0, false),
        ("[kernel.kallsyms]_text", 4, false),
        ("[kernel.kallsyms]_text", 5, false),
    ] {
        let map = Record { misc: mode, ..kernel_map(path, AT, AT) };
        let capture = opened(&folder, vec![map], &given(&[&kernel]));
        let found = notes(&capture).join("\n");
        assert_eq!(byte_at(&capture, 0, AT).is_some(), used, "{path} {mode}");
        assert_eq!(found.contains("mappings of guests are not used"), !used, "{found}");
        assert_eq!(found.contains("vmlinux is not used"), !used, "{found}");
    }
}

/// A file that is given and not used is reported.
#[test]
fn files_that_are_not_used_are_reported() {
    let folder = Folder::new("perf-unused");
    let mut program = elf(3, 0, &[1; 16]);
    program.extend([0; 8]);
    let files = [
        folder.write("prog", &program),
        folder.write("other", &program),
        folder.write("kallsyms", "10 T _text\n"),
        folder.write("jit-7.dump", b"DTiJ\x01\0\0\0"),
        // A header: version, size, ELF machine, padding, process, time, flags.
        folder.write("jit-8.dump", jit_header(183, 8)),
        folder.write("jit-9.dump", jit_header(62, 9)),
    ];
    let files: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let capture = opened(&folder, Vec::new(), &given(&files));
    let found = notes(&capture);
    let about = |name: &str| found.iter().filter(|note| note.contains(name)).count();
    assert_eq!((about("/prog"), about("/other is not used")), (0, 1), "{found:?}");
    assert_eq!(about("jit-7.dump: the jitdump ends within its header"), 1, "{found:?}");
    assert_eq!(about("jit-8.dump is of process 8, which the recording does not have"), 1);
    assert_eq!(about("jit-9.dump is not used: its code is of another machine (ELF machine 62)"), 1);
}

/// The header of a jitdump. (Linux 6.1.192, tools/perf/util/jitdump.h:37, `struct jitheader`)
fn jit_header(machine: u32, process: u32) -> Vec<u8> {
    let words = [u32::from_le_bytes(*b"DTiJ"), 1, 40, machine, 0, process, 0, 0, 0, 0];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A LOAD at `address`, with a name, of code that has 16 times `byte`. (`struct jr_code_load`)
fn jit_load(time: u64, process: u32, address: u64, index: u64, byte: u8) -> Vec<u8> {
    let task = u64::from(process) | u64::from(process) << 32;
    let words = [u64::from(72u32 + 2) << 32, time, task, address, address, 16, index];
    let bytes = words.iter().flat_map(|word| word.to_le_bytes());
    bytes.chain([b'f', 0]).chain([byte; 16]).collect()
}

/// Generated code is in the memory of its process from its time on, until other code is loaded over
/// it. Mappings of anonymous memory do not hide it. Without times of the same clock, it is in
/// memory from the beginning.
/// (Linux 6.1.192, tools/perf/util/jitdump.c:421, `jit_repipe_code_load`; 122,
/// `jit_validate_events`)
#[test]
fn generated_code_is_in_memory_from_its_time_on() {
    let folder = Folder::new("perf-jitdump");
    let dump =
        [jit_header(183, 1000), jit_load(30, 1000, 0x7000, 1, 1), jit_load(50, 1000, 0x7000, 2, 2)];
    let dump = folder.write("jit-1000.dump", dump.concat());
    let anonymous = |time| {
        let mmap = Mmap {
            process: 1000,
            thread: 1000,
            address: 0x7000,
            len: 0x1000,
            path: "//anon".into(),
            ..Mmap::default()
        };
        Record::new(Body::Mmap(mmap)).with_id(id_of(2, time))
    };
    for monotonic in [true, false] {
        let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
        for attr in &mut data.attrs {
            attr.flags |= u64::from(monotonic) * perf::Attr::USE_CLOCK_ID;
            attr.clock = 1;
        }
        data.records.extend([anonymous(20), anonymous(40)]);
        let path = folder.write("perf.data", data.write(Layout::default()));
        let capture = perf::open(&path, &given(&[&dump])).expect("a capture");
        let spaces = &capture.linux.as_ref().expect("a system").spaces;
        let at = |thread, moment| {
            let image = spaces.image(spaces.memory(Some(thread), moment));
            image.run(image.view(Space::ANY), 0x7004).first().copied()
        };
        let want = if monotonic { [Some(1), Some(1), Some(2)] } else { [Some(2); 3] };
        // Before its time it is used where there is no other memory.
        assert_eq!([29, 45, 60].map(|moment| at(1000, moment)), want, "{monotonic}");
        assert_eq!(at(77, 60), None);
        let noted =
            notes(&capture).iter().any(|note| note.contains("times are those of CLOCK_MONOTONIC"));
        assert_eq!(noted, !monotonic, "{:?}", notes(&capture));
    }
}

/// A ZIP archive with one member that is not compressed, from byte `start` on, and one that is.
/// (APPNOTE.TXT 6.3, sections 4.3.7, 4.3.12 and 4.3.16)
fn apk(name: &str, start: usize, member: &[u8]) -> Vec<u8> {
    let local = |method: u16, name: &str, extra: usize, len: usize| {
        let mut out = b"PK\x03\x04\x14\0\0\0".to_vec();
        out.extend(method.to_le_bytes());
        out.extend([0; 8]);
        out.extend([(len as u32).to_le_bytes(); 2].concat());
        out.extend((name.len() as u16).to_le_bytes());
        out.extend((extra as u16).to_le_bytes());
        out.extend(name.as_bytes());
        out.resize(out.len() + extra, 0);
        out
    };
    let entry = |method: u16, name: &str, at: usize, len: usize| {
        let mut out = b"PK\x01\x02\x14\0\x14\0\0\0".to_vec();
        out.extend(method.to_le_bytes());
        out.extend([0; 8]);
        out.extend([(len as u32).to_le_bytes(); 2].concat());
        out.extend((name.len() as u16).to_le_bytes());
        out.extend([0; 12]);
        out.extend((at as u32).to_le_bytes());
        out.extend(name.as_bytes());
        out
    };
    let mut out = local(8, "res", 0, 3);
    out.extend([0xaa; 3]);
    let at = out.len();
    let extra = start - at - 30 - name.len();
    out.extend(local(0, name, extra, member.len()));
    out.extend(member);
    let directory = [entry(8, "res", 0, 3), entry(0, name, at, member.len())].concat();
    let from = out.len() as u32;
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0\x02\0\x02\0");
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(from.to_le_bytes());
    out.extend([0; 2]);
    out
}

/// The kernel records the archive and the offset in it; simpleperf the member and the offset in the
/// member. (simpleperf/cmd_record.cpp:1346 at f0b1ab0c, `UpdateMmapRecordForEmbeddedPath`)
#[test]
fn libraries_are_mapped_from_within_an_archive() {
    let folder = Folder::new("perf-apk");
    let library = elf(3, 0, &[7; 16]);
    let apk = apk("lib/arm64-v8a/libx.so", 0x2000, &library);
    let symfs = folder.0.join("symfs");
    let archive = folder.write("symfs/data/app/base.apk", &apk);
    let given = given(&[&archive]);
    let of_system = Search { symfs: Some(symfs), ..Search::default() };
    for (path, offset, want) in [
        ("/data/app/base.apk", 0x2000, Some(7)),
        ("/data/app/base.apk!/lib/arm64-v8a/libx.so", 0, Some(7)),
        ("/data/app/base.apk!/lib/arm64-v8a/other.so", 0, None),
        // In no member, and in one that is compressed.
        ("/data/app/base.apk", 0x1000, None),
        ("/data/app/base.apk", 32, None),
    ] {
        for search in [&given, &of_system] {
            let mmap = Mmap {
                process: 1000,
                thread: 1000,
                address: 0x50_0000,
                len: 0x1000,
                offset,
                path: path.into(),
                ..Mmap::default()
            };
            let capture =
                opened(&folder, vec![Record::new(Body::Mmap(mmap)).with_id(id_of(2, 2))], search);
            // The code is after the headers.
            assert_eq!(byte_at(&capture, 0, 0x50_0000 + 120), want, "{path} {offset:#x}");
            let spaces = &capture.linux.as_ref().expect("a system").spaces;
            let named = spaces
                .modules()
                .iter()
                .any(|m| m.path.ends_with("base.apk!/lib/arm64-v8a/libx.so") && m.found.is_some());
            assert_eq!(named, want.is_some(), "{path} {offset:#x}");
        }
    }
}

/// Names of generated functions are those of memory that is added for the process.
#[test]
fn generated_functions_have_the_names_of_a_perf_map() {
    let folder = Folder::new("perf-map");
    let map = folder.write("perf-1000.map", "7000 8 first\n7008 8 second\n");
    let code = folder.write("code.bin", [1; 16]);
    for (image, want) in
        [("@0x7000,pid=1000", Some("second")), ("@0x7000", Some("second")), ("@0x7000,pid=7", None)]
    {
        let mut capture = opened(&folder, Vec::new(), &given(&[&map]));
        let image = ImageSource::parse(&format!("{}{image}", code.display())).expect("a name");
        capture.add_image(&image).expect("memory");
        let modules = capture.linux.as_ref().expect("a system").spaces.modules().to_vec();
        let names = &modules.last().expect("memory").symbols;
        assert_eq!(names.at(0x700c).map(|symbol| symbol.name), want, "{image:?}");
        assert!(!notes(&capture).iter().any(|note| note.contains("not used")));
    }
}

/// A file beside the capture that has the name of one without a recorded build identifier is
/// reported, and not used.
#[test]
fn a_file_of_the_name_beside_the_capture_is_reported() {
    let folder = Folder::new("perf-beside");
    folder.write("prog", elf(3, 0, &[7; 16]));
    let mmap = Mmap {
        process: 1000,
        thread: 1000,
        address: 0x50_0000,
        len: 0x1000,
        path: "/usr/bin/prog".into(),
        ..Mmap::default()
    };
    let capture = opened(
        &folder,
        vec![Record::new(Body::Mmap(mmap)).with_id(id_of(2, 2))],
        &Search::default(),
    );
    assert_eq!(byte_at(&capture, 0, 0x50_0000 + 120), None);
    let found = notes(&capture).into_iter().filter(|note| {
        note.contains("<binary>") && note.contains("/prog has the name of /usr/bin/prog")
    });
    assert_eq!(found.count(), 1, "{:?}", notes(&capture));
}

/// The branch of a module to the kernel, from the symbols of the kernel's file: where the kernel
/// runs at the address that it is linked at, and where it was moved (KASLR).
#[test]
fn branches_of_modules_have_targets_in_the_kernels_file() {
    const LINKED: u64 = 0xffff_8000_0800_0000;
    const MODULE: u64 = 0xffff_8000_0700_0000;
    let folder = Folder::new("perf-vmlinux");
    let text: Vec<u8> =
        [0x9400_0000u32, 0xd503_201f].iter().flat_map(|word| word.to_le_bytes()).collect();
    let ko = folder.write("driver.ko", module(&text, &[(0, "schedule")]));
    let symbols = [("_text", 0), ("schedule", 0x100)];
    let kernel = folder.write("vmlinux", vmlinux(LINKED, &[0x1f; 0x200], &symbols));
    let opened = |moved: u64, offset: u64, binaries: &[&Path]| {
        let maps = vec![
            kernel_map("[kernel.kallsyms]_text", LINKED + moved, offset),
            kernel_map("/lib/modules/driver.ko", MODULE, 0),
        ];
        opened(&folder, maps, &given(binaries))
    };
    let opcode = |capture: &Capture| {
        let viewpoint = capture.linux.as_ref().expect("a system").viewpoint(0, 0)?;
        let image = viewpoint.spaces.image(viewpoint.start());
        let bytes = image.run(image.view(Space::ANY), MODULE).first_chunk()?;
        Some(u32::from_le_bytes(*bytes))
    };
    for moved in [0, 0x20_0000] {
        for offset in [LINKED + moved, 0] {
            let capture = opened(moved, offset, &[&ko, &kernel]);
            // BL counts instructions.
            let distance = (LINKED + moved + 0x100 - MODULE) / 4;
            let want = 0x9400_0000 | distance as u32;
            assert_eq!(opcode(&capture), Some(want), "{moved:#x} {offset:#x}");
            assert!(!notes(&capture).iter().any(|note| note.contains("relocated")));
            // The kernel's own code is where it was moved to.
            assert_eq!(byte_at(&capture, 0, LINKED + moved), Some(0x1f));
        }
    }
    let capture = opened(0, LINKED, &[&ko]);
    assert_eq!(opcode(&capture), None);
    assert!(notes(&capture).iter().any(|note| note.contains("1 branches to other files")));
}
