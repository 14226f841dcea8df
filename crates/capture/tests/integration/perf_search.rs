//! `perf.data`: the files of the recorded code by names, build identifiers and usual folders.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use tracewright_capture::perf::{self, Layout, Search};

use crate::perf::{byte_at, elf, notes, synthetic};
use crate::perf_files::{Folder, given, kernel_map, mapped, module_of, opened, vmlinux};

/// The file as objcopy makes it for debug information: the section of the code, which is the first,
/// is SHT_NOBITS, and what is at its offset is something else.
fn debug_only(mut file: Vec<u8>) -> Vec<u8> {
    let sections = u64::from_le_bytes(file[40..48].try_into().expect("8 bytes")) as usize;
    file[sections + 64 + 4] = 8;
    file[120..136].fill(0xee);
    file
}

/// The kernel appends ` (deleted)` to the path of a file that has no name any more. (Linux 6.1.192,
/// fs/d_path.c:287, `d_path`) Another file may have the name.
#[test]
fn files_without_a_name_are_found_without_the_mark() {
    const AT: u64 = 0x10_0000;
    let folder = Folder::new("perf-deleted");
    let file = folder.write("given/prog", elf(3, 0, &[0x77; 0x40]));
    folder.write("symfs/tmp/prog", elf(3, 0, &[0x88; 0x40]));
    let symfs = Search { symfs: Some(folder.0.join("symfs")), ..Search::default() };
    for (path, search, want) in [
        ("/tmp/prog (deleted)", &given(&[&file]), Some(0x77)),
        ("/tmp/prog", &symfs, Some(0x88)),
        ("/tmp/prog (deleted)", &symfs, None),
    ] {
        let capture = opened(&folder, vec![mapped(1000, AT, path, &[])], search);
        assert_eq!(byte_at(&capture, 0, AT + 120), want, "{path}: {:?}", notes(&capture));
    }
}

/// A file with debug information has no code, but the symbols of the file with the code.
#[test]
fn debug_information_is_no_code() {
    const LINKED: u64 = 0xffff_8000_8000_0000;
    const AT: u64 = 0xffff_8001_a34a_0000;
    let folder = Folder::new("perf-debug");
    let id: Vec<u8> = (1..21).collect();
    let named = format!("usr/lib/debug/.build-id/01/{}.debug", &perf::hex(&id)[2..]);
    let full = vmlinux(LINKED, &[0x77; 16], &[("_text", 0)]);
    let stripped = folder.write("vmlinux", vmlinux(LINKED, &[0x77; 16], &[]));
    let debug = folder.write("debug/vmlinux", debug_only(full.clone()));
    folder.write(&format!("system/{named}"), debug_only(full));
    let system = Some(folder.0.join("system"));
    let map = |id: &[u8]| {
        let mut record = kernel_map("[kernel.kallsyms]_text", AT, AT);
        if let perf::Body::Mmap(mmap) = &mut record.body {
            let identity = vec![0; 24];
            mmap.file = Some(perf::MappedFile { identity, protection: 5, flags: 2 });
        }
        record.with_build_id(id)
    };
    for (id, search, want, note) in [
        // By build identifier in the usual folder: its symbols place the code.
        (&id[..], Search { system: system.clone(), ..given(&[&stripped]) }, Some(0x77), ""),
        (&[], given(&[&stripped]), None, "it has no symbol _text"),
        // No code is found, and what is at its place in the file is none.
        (&id, Search { system, ..Search::default() }, None, "[kernel.kallsyms] was not found"),
        (&[], given(&[&debug]), None, "has no code, but debug information only"),
    ] {
        let capture = opened(&folder, vec![map(id)], &search);
        let found = notes(&capture).join("\n");
        assert_eq!(byte_at(&capture, 0, AT), want, "{search:?}: {found}");
        assert!(found.contains(note), "{found}");
        let modules = capture.linux.as_ref().expect("a system").spaces.modules();
        let kernel = modules.iter().find(|module| module.path == "[kernel.kallsyms]");
        let debug = kernel.is_some_and(|kernel| kernel.debug.is_some());
        assert_eq!(debug, want.is_some());
    }
}

/// The file of a kernel has its version in its name: OSRELEASE of the recording.
/// (Linux 6.1.192, tools/perf/util/symbol.c:2370, `vmlinux_paths_upd`)
#[test]
fn the_kernel_is_in_the_usual_folders() {
    const OS_RELEASE: u32 = 4;
    const AT: u64 = 0xffff_8001_a34a_0000;
    for place in ["boot/vmlinux-6.6.1", "usr/lib/debug/lib/modules/6.6.1/vmlinux"] {
        let folder = Folder::new(&format!("perf-boot-{}", place.len()));
        folder.write(&format!("root/{place}"), vmlinux(AT, &[0x77; 16], &[("_text", 0)]));
        for (release, symfs, want) in
            [("6.6.1", true, Some(0x77)), ("6.6.2", true, None), ("6.6.1", false, None)]
        {
            let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
            let text = [&(release.len() as u32).to_le_bytes()[..], release.as_bytes()].concat();
            data.features.insert(OS_RELEASE, text);
            data.records.push(kernel_map("[kernel.kallsyms]_text", AT, AT));
            let path = folder.write("perf.data", data.write(Layout::default()));
            let root = Some(folder.0.join("root"));
            let search = match symfs {
                true => Search { symfs: root, ..Search::default() },
                // Of this machine, a file must have the recorded build identifier.
                false => Search { system: root, ..Search::default() },
            };
            let capture = perf::open(&path, &search).expect("a capture");
            assert_eq!(byte_at(&capture, 0, AT), want, "{place} {release} {symfs}");
        }
    }
}

/// Distributions compress modules: the recorded path and the file end in `.ko.xz`, `.ko.zst` or
/// `.ko.gz`.
#[test]
fn compressed_modules_are_unpacked() {
    const BASE: u64 = 0xffff_8000_7900_0000;
    let folder = Folder::new("perf-packed");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(&module_of(&["first"], false)).expect("memory");
    let packed = gzip.finish().expect("memory");
    let file = folder.write("my-mod.ko.gz", &packed);
    folder.write("symfs/lib/modules/6.6.0/my-mod.ko.gz", &packed);
    let cut = folder.write("cut/my-mod.ko.gz", &packed[..packed.len() - 9]);
    let symfs = Search { symfs: Some(folder.0.join("symfs")), ..Search::default() };
    for (search, want) in [(given(&[&file]), Some(1)), (symfs, Some(1)), (given(&[&cut]), None)] {
        let map = kernel_map("/lib/modules/6.6.0/my-mod.ko.gz", BASE, 0);
        let capture = opened(&folder, vec![map], &search);
        assert_eq!(byte_at(&capture, 0, BASE), want, "{search:?}: {:?}", notes(&capture));
    }
}
