//! Reading of the captures of `../shared`.

use tracewright_capture::{Note, Problem, Severity, open};
use tracewright_testing::shared;

/// Counts from the ini files: buffers, sources, cores, dumps, and dumps whose file is missing.
const SNAPSHOTS: &[(&str, [usize; 5])] = &[
    ("001-ack_test", [1, 1, 1, 125, 0]),
    ("Snowball", [1, 2, 2, 2, 0]),
    ("TC2", [1, 6, 5, 5, 0]),
    ("a55-test-tpiu", [1, 1, 1, 1, 1]),
    ("armv8_1m_branches", [1, 1, 1, 2, 0]),
    ("bugfix-exact-match", [1, 6, 6, 30, 0]),
    ("ete-bc-instr", [1, 1, 1, 4, 0]),
    ("ete_ip", [1, 1, 1, 8, 0]),
    ("ete_mem", [1, 1, 1, 12, 0]),
    ("ete_spec_1", [1, 1, 1, 2, 0]),
    ("ete_spec_2", [1, 1, 1, 2, 0]),
    ("event_test", [1, 1, 1, 2, 2]),
    ("infrastructure", [2, 7, 6, 6, 0]),
    ("init-short-addr", [1, 1, 1, 0, 0]),
    ("itm_only_raw", [1, 1, 0, 0, 0]),
    ("juno-uname-001", [1, 1, 1, 4, 2]),
    ("juno_r1_1", [2, 7, 6, 6, 0]),
    ("maxspec0_commopt1", [1, 1, 1, 3, 0]),
    ("pauth_lr", [3, 3, 1, 4, 0]),
    ("q_elem", [2, 2, 1, 2, 0]),
    ("rme_test", [3, 3, 1, 4, 0]),
    ("s_9001", [2, 2, 1, 4, 0]),
    ("src_addr", [1, 1, 1, 6, 0]),
    ("stm-issue-27", [1, 1, 0, 0, 0]),
    ("stm_only", [1, 1, 0, 0, 0]),
    ("tc2-ptm-rstk-t32", [1, 5, 1, 9, 0]),
    ("tme_simple", [1, 1, 1, 2, 0]),
    ("tme_test", [1, 1, 1, 2, 0]),
    ("trace_file_vmid", [1, 1, 1, 8, 0]),
    ("ts_marker", [1, 1, 1, 2, 0]),
];

#[test]
fn every_snapshot_is_read() {
    let Some(folder) = shared("conformance/arm/snapshots") else { return };
    for (name, [buffers, sources, cores, dumps, missing]) in SNAPSHOTS {
        let capture = open(&folder.join(name)).unwrap();
        assert_eq!(capture.buffers.len(), *buffers, "{name}: buffers");
        assert_eq!(capture.sources.len(), *sources, "{name}: sources");
        assert_eq!(capture.cores.len(), *cores, "{name}: cores");
        assert_eq!(capture.memory.len(), *dumps, "{name}: dumps");
        let gone = capture.memory.iter().filter(|d| d.bytes.is_none()).count();
        assert_eq!(gone, *missing, "{name}: missing dumps");
        let errors = capture.notes.iter().filter(|n| n.severity() == Severity::Error).count();
        assert_eq!(errors, *missing, "{name}: {:#?}", capture.notes);
        assert!(capture.cores.iter().all(|c| c.core_type().is_some()), "{name}: core types");
        for (n, buffer) in capture.buffers.iter().enumerate() {
            assert!(!buffer.is_empty(), "{name}: {} is empty", buffer.name);
            assert!(!capture.sources_of(n).is_empty(), "{name}: nobody writes {}", buffer.name);
        }
    }
}

/// Each buffer of the captures whose registers are in the capture is read with them. The captures
/// at hand have none: a debugger that records them writes a device with RWP, TRBPTR_EL1 or
/// POSITION.
#[test]
fn buffers_with_registers_are_read_with_them() {
    for inside in ["conformance/arm/snapshots", "captures/ti-am243x-r5f"] {
        let Some(folder) = shared(inside) else { continue };
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if !path.is_dir() {
                continue;
            }
            let capture = open(&path).unwrap();
            let has = |name: &str| {
                let pointers = ["RWP", "TRBPTR_EL1", "POSITION", "MTB_POSITION"];
                pointers.iter().any(|pointer| pointer.eq_ignore_ascii_case(name))
            };
            let others = capture.others.iter().flat_map(|other| &other.registers.0);
            let cores = capture.cores.iter().flat_map(|core| &core.registers.0);
            let sources = capture.sources.iter().flat_map(|source| &source.registers.0);
            let recorded = others.chain(cores).chain(sources).any(|r| has(&r.name));
            let read = capture.buffers.iter().any(|buffer| buffer.sink.is_some());
            assert_eq!(recorded, read, "{}", path.display());
            let refused = |n: &Note| matches!(n.problem, Problem::SinkRegisters { .. });
            assert!(!capture.notes.iter().any(refused), "{}", path.display());
        }
    }
}
