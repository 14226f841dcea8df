//! `perf.data`: compressed trace of simpleperf, the cache of perf, and the kernel's file.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tracewright_base::Space;
use tracewright_capture::perf::{self, Body, Layout, Mmap, PerfData, Record, Search};
use tracewright_capture::{Capture, Queue};
use tracewright_testing::tool;

use crate::perf::{buffers, byte_at, elf, id_of, module, notes, synthetic};

/// META_INFO of simpleperf.
const META_INFO: u32 = 129;

/// A folder that is removed when the value is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("tracewright-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        Folder(path)
    }

    /// Writes a file, and its folders.
    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
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
fn mapped(process: u32, address: u64, path: &str, id: &[u8]) -> Record {
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
/// (tools/perf/util/build-id.c)
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
fn vmlinux(address: u64, code: &[u8], symbols: &[(&str, u64)]) -> Vec<u8> {
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

/// The branch of a module to the kernel, from the symbols of the kernel's file: where the kernel
/// runs at the address that it is linked at, and where it was moved (KASLR). The mapping has the
/// address of `_text` as its offset, or none.
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
    let opened = |moved: u64, offset: u64, binaries: &[&Path]| -> Capture {
        let mut data: PerfData = synthetic(1, perf::SAMPLE_TYPE, 128);
        for (address, len, offset, path) in [
            (LINKED + moved, 0x1000, offset, "[kernel.kallsyms]_text"),
            (MODULE, 0x1000, 0, "/lib/modules/driver.ko"),
        ] {
            let mmap = Mmap {
                process: u32::MAX,
                thread: 0,
                address,
                len,
                offset,
                file: None,
                path: path.into(),
            };
            data.records.push(Record::new(Body::Mmap(mmap)).with_id(id_of(2, 1)));
        }
        let path = folder.write("perf.data", data.write(Layout::default()));
        let binaries = binaries.iter().map(|path| path.to_path_buf()).collect();
        perf::open(&path, &Search { binaries, ..Search::default() }).expect("a capture")
    };
    let opcode = |capture: &Capture| {
        let viewpoint = capture.linux.as_ref().expect("a system").viewpoint(0, 0)?;
        let image = viewpoint.spaces.image(viewpoint.start());
        let bytes = image.run(image.view(Space::ANY), MODULE).first_chunk()?;
        Some(u32::from_le_bytes(*bytes))
    };
    for moved in [0, 0x20_0000] {
        for offset in [LINKED, 0] {
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
