//! `perf.data`: records that select the trace and the memory, laid out from their writers.

use tracewright_base::{Context, Security, Space};
use tracewright_capture::perf::{self, Attr, Aux, Body, IdEntry, Layout, PerfData, Record, Search};
use tracewright_capture::{Capture, Queue};

use crate::perf::{buffers, id_of, notes, synthetic};
use crate::perf_files::{Folder, given, kernel_map, module_of, vmlinux};

fn read(data: &PerfData) -> Capture {
    perf::from_bytes(&data.write(Layout::default()).into()).expect("a capture")
}

/// The word of AUXTRACE_INFO with the TRCCONFIGR of each CPU: after version, PMU and count, and
/// snapshot, a block of mark, CPU, number of parameters, and parameters.
/// (Linux 6.1.192, tools/perf/util/cs-etm.h:25 and 65, CS_HEADER_VERSION_MAX and
/// CS_ETMV4_TRCCONFIGR)
fn configure(data: &mut PerfData, values: [u64; 2]) {
    for record in &mut data.records {
        if let Body::AuxTraceInfo { words, .. } = &mut record.body {
            let len = 3 + words[5] as usize;
            for (n, value) in values.into_iter().enumerate() {
                words[3 + n * len + 3] = value;
            }
        }
    }
}

/// The sample type of sessions of threads has no CPU (Linux 6.1.192,
/// tools/perf/arch/arm/util/cs-etm.c:428, `cs_etm_recording_options`: it is set where there is a
/// map of CPUs), so that nothing states the CPU of an AUX record. The trace of a TRBE has no trace
/// ID, either.
#[test]
fn trace_without_a_cpu_is_that_of_the_only_kind_of_unit() {
    let of_threads = |values: [u64; 2], cpus: usize| {
        let mut data = synthetic(1, perf::SAMPLE_TYPE & !Attr::CPU, 128);
        configure(&mut data, values);
        for record in &mut data.records {
            match &mut record.body {
                Body::AuxTrace(trace) => (trace.cpu, trace.thread) = (u32::MAX, 1000),
                Body::AuxTraceInfo { words, .. } if cpus == 1 => {
                    let len = 3 + words[5] as usize;
                    words.truncate(3 + len);
                    words[1] -= 1;
                }
                _ => {}
            }
        }
        read(&data)
    };
    let links = |capture: &Capture| {
        let linked = capture.sources.iter().map(|s| s.buffers.iter().map(|b| b.buffer).collect());
        linked.collect::<Vec<Vec<_>>>()
    };
    for (values, cpus, want, note) in [
        ([0x41, 0], 1, vec![vec![0, 1]], ""),
        ([0x41, 0x41], 2, vec![vec![0, 1], vec![]], "they are decoded as trace of cpu2"),
        ([0x41, 0x8081], 2, vec![vec![], vec![]], "perf record --sample-cpu records it"),
    ] {
        let capture = of_threads(values, cpus);
        let found = notes(&capture).join("\n");
        assert_eq!(links(&capture), want, "{values:x?} {cpus}: {found}");
        assert_eq!(found.contains("have no CPU"), !note.is_empty(), "{found}");
        assert!(found.contains(note), "{found}");
        let queues = buffers(&capture);
        assert!(queues.iter().all(|(queue, ..)| *queue == Queue::Thread(1000)));
    }
}

/// A second event with an AUX buffer of its own, whose offsets begin at 0, too. Its records have
/// its identifier; the AUXTRACE records have the ordinal of the buffer, as the entries of ID_INDEX
/// have (Linux 6.1.192, tools/perf/util/auxtrace.c:1907, `__auxtrace_mmap__read`;
/// synthetic-events.c:1878, `__perf_event__synthesize_id_index`).
#[test]
fn aux_records_are_those_of_their_event() {
    const OTHER: u64 = 77;
    let plain = {
        let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
        data.attrs[0].ids = vec![2, 3];
        for record in &mut data.records {
            if let (Body::Aux(_), Some(cpu)) = (&record.body, record.id.cpu) {
                record.id.identifier = Some(cpu.into());
            }
        }
        data
    };
    let want = buffers(&read(&plain));
    assert_eq!(want.len(), 3);
    // The ordinal of the other buffer, its size, and whether ID_INDEX exists.
    for (ordinal, size, index, decoded) in
        [(9, 16, true, 3), (9, 16, false, 2), (9, 64, false, 3), (2, 64, false, 3)]
    {
        let mut data = plain.clone();
        let kind = perf::PMU + 1;
        data.attrs.push(Attr { kind, ids: vec![OTHER], ..data.attrs[0].clone() });
        let mut id = id_of(2, 11);
        id.identifier = Some(OTHER);
        data.add_trace(&id, 2, Aux { offset: 0, size, flags: 0 }, vec![0xee; size as usize]);
        let mut ordinals = [3, 2, 3, ordinal].into_iter();
        for record in &mut data.records {
            if let Body::AuxTrace(trace) = &mut record.body {
                trace.index = ordinals.next().expect("four records");
            }
        }
        if index {
            let entry = |id, index: u32| IdEntry {
                id,
                index: index.into(),
                cpu: u64::MAX,
                thread: u64::MAX,
            };
            let entries = vec![entry(2, 2), entry(3, 3), entry(OTHER, ordinal)];
            data.records.insert(0, Record::new(Body::IdIndex(entries)));
        }
        let capture = read(&data);
        let (found, row) = (notes(&capture).join("\n"), (ordinal, size, index));
        let got = buffers(&capture);
        assert_eq!(got.len(), decoded, "{row:?}: {found}");
        assert!(got.iter().all(|buffer| want.contains(buffer)), "{row:?}: {got:x?}");
        assert!(found.contains(&format!("1 AUX records, of {size} bytes, are of events of other")));
        assert_eq!(found.contains("cannot be distinguished"), decoded == 2, "{row:?}: {found}");
    }
}

/// Each AUXTRACE record has an ordinal of its own.
#[test]
fn buffers_of_events_are_bounded() {
    let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
    data.attrs[0].ids = vec![2, 3];
    let kind = perf::PMU + 1;
    data.attrs.push(Attr { kind, ids: vec![77], ..data.attrs[0].clone() });
    let mut id = id_of(2, 11);
    id.identifier = Some(77);
    for index in 0..70 {
        data.add_trace(&id, 2, Aux { offset: 0, size: 8, flags: 0 }, vec![0xee; 8]);
        if let Some(Body::AuxTrace(trace)) = data.records.last_mut().map(|r| &mut r.body) {
            trace.index = 100 + index;
        }
    }
    let found = notes(&read(&data)).join("\n");
    assert!(found.contains("more than 64 buffers: 7 AUXTRACE records are not used"), "{found}");
}

/// The host's kernel is at EL2 where CONTEXTIDR_EL2 is traced in place of the VMID, and EL1 is a
/// guest (Linux commit 8d3031d39fe8, tools/perf/util/cs-etm.c, `cs_etm__get_machine`). The mapping
/// of its kernel has the mode GUEST_KERNEL, the process of its virtual machine, or 0, and a name
/// with it (Linux 6.1.192, tools/perf/util/synthetic-events.c:1127 to 1158, `machine->pid`;
/// machine.c:74, `machine__set_mmap_name`).
#[test]
fn the_kernel_of_a_guest_is_that_of_its_virtual_machine() {
    const LINKED: u64 = 0xffff_8000_8000_0000;
    const MOVED: u64 = LINKED + 0x1234_0000;
    let folder = Folder::new("perf-guest-kernel");
    let host = folder.write("host/vmlinux", vmlinux(LINKED, &[0x11; 16], &[("_text", 0)]));
    let guest = folder.write("guest/vmlinux", vmlinux(LINKED, &[0x22; 16], &[("_text", 0)]));
    let search = Search { guest_kernel: Some(guest), ..given(&[&host]) };
    let of_host = || kernel_map("[kernel.kallsyms]_text", LINKED, LINKED);
    let of_guest = |name: &str, process: u32| {
        let mut map = Record { misc: 4, ..kernel_map(name, MOVED, MOVED) };
        if let Body::Mmap(mmap) = &mut map.body {
            mmap.process = process;
        }
        map
    };
    let assumed = "it is assumed to be at the addresses of its file";
    let unknown = "the trace does not distinguish a guest from the host";
    // The mappings of guests, TRCCONFIGR, the guest's code as thread 1000 and 2000, and the note.
    for (maps, config, at, want, note) in [
        (vec![of_guest("[guest.kernel.kallsyms]_text", 0)], 0x8080, MOVED, [0x22, 0x22], ""),
        (vec![of_guest("[guest.kernel.kallsyms.1000]_text", 1000)], 0x8080, MOVED, [0x22, 0], ""),
        (vec![], 0x8080, LINKED, [0x22, 0x22], assumed),
        // The VMID is that of the guest, and EL1 may be the host.
        (vec![of_guest("[guest.kernel.kallsyms]_text", 0)], 0x40, MOVED, [0, 0], unknown),
    ] {
        let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
        configure(&mut data, [config; 2]);
        data.records.push(of_host());
        data.records.extend(maps);
        let path = folder.write("perf.data", data.write(Layout::default()));
        let capture = perf::open(&path, &search).expect("a capture");
        let viewpoint = capture.linux.as_ref().expect("a system").viewpoint(0, 0).expect("one");
        let byte = |el: u8, thread: u32, address: u64| {
            let security = Some(Security::NonSecure);
            let id = Some(thread);
            let context =
                Context { el: Some(el), security, vmid: id, context_id: id, ..Context::default() };
            let image = viewpoint.spaces.image(viewpoint.memory(&context));
            image.run(image.view(Space::ANY), address).first().copied().unwrap_or(0)
        };
        let found = notes(&capture).join("\n");
        assert_eq!([1000, 2000].map(|thread| byte(1, thread, at)), want, "{config:x}: {found}");
        assert_eq!(byte(2, 1000, LINKED), 0x11, "the host");
        assert_eq!(byte(3, 1000, LINKED), 0, "firmware");
        for text in [assumed, unknown] {
            assert_eq!(found.contains(text), text == note, "{found}");
        }
    }
}

/// A module of a guest's kernel has the mode GUEST_KERNEL, and its path in the folder of all
/// guests, or in that of the guest with the process. (Linux 6.1.192,
/// tools/perf/util/synthetic-events.c:668, `perf_event__synthesize_modules`; machine.c:353,
/// `machines__findnew`)
#[test]
fn modules_of_guests_are_in_the_folder_of_guests() {
    const AT: u64 = 0xffff_8000_7900_0000;
    const PATH: &str = "/lib/modules/6.1.0/my-mod.ko";
    let folder = Folder::new("perf-guest-modules");
    folder.write("guest/lib/modules/6.1.0/my-mod.ko", module_of(&["first", "second"], false));
    folder.write("guest/mnt/7/lib/modules/6.1.0/other.ko", module_of(&["first"], false));
    let search = Search { guest_symfs: Some(folder.0.join("guest")), ..Search::default() };
    let loaded = |path: &str, mode: u16, process: u32, config: u64, search: &Search| {
        let mut data = synthetic(1, perf::SAMPLE_TYPE, 128);
        configure(&mut data, [config; 2]);
        let mut map = Record { misc: mode, ..kernel_map(path, AT, 0) };
        if let Body::Mmap(mmap) = &mut map.body {
            mmap.process = process;
        }
        data.records.push(map);
        let file = folder.write("perf.data", data.write(Layout::default()));
        let capture = perf::open(&file, search).expect("a capture");
        let viewpoint = capture.linux.as_ref().expect("a system").viewpoint(0, 0).expect("one");
        let byte = |el: u8, address: u64| {
            let security = Some(Security::NonSecure);
            let context =
                Context { el: Some(el), security, vmid: Some(1000), ..Context::default() };
            let image = viewpoint.spaces.image(viewpoint.memory(&context));
            image.run(image.view(Space::ANY), address).first().copied().unwrap_or(0)
        };
        ([byte(1, AT), byte(1, AT + 16), byte(2, AT)], notes(&capture).join("\n"))
    };
    for (path, mode, process, config, want) in [
        (PATH, 4, 0, 0x8080, [1, 2, 0]),
        (PATH, 4, 1000, 0x8080, [1, 2, 0]),
        (PATH, 4, 2000, 0x8080, [0; 3]),
        ("/mnt/7/lib/modules/6.1.0/other.ko", 4, 0, 0x8080, [1, 0, 0]),
        ("/lib/modules/6.1.0/../6.1.0/my-mod.ko", 4, 0, 0x8080, [0; 3]),
        ("[my_mod]", 4, 0, 0x8080, [0; 3]),
        // EL1 may be the host.
        (PATH, 4, 0, 0x40, [0; 3]),
        // A module of the host.
        (PATH, 1, 0, 0x8080, [0; 3]),
    ] {
        let (found, text) = loaded(path, mode, process, config, &search);
        assert_eq!(found, want, "{path} {mode} {process} {config:x}: {text}");
        let without = loaded(path, mode, process, config, &Search::default());
        assert_eq!(without.0, [0; 3], "{}", without.1);
    }
}
