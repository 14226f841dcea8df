//! Tests of messages, and of the operations that receivers of packets are given.

use std::ffi::c_int;
use std::ptr;

use tracewright_opencsd::client::codes::{create, operation, response};

use super::*;
use crate::log;
use crate::packets::callbacks::{MonitorPacket, SinkPacket};

/// An alignment synchronisation of ETMv4, Trace On, a reserved header, an Event.
const DATA: [u8; 15] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 4, 0x60, 0x71];

/// Appends a line to a list of them, the client's context.
fn note(context: *const c_void, line: String) {
    // SAFETY: each test passes a list that lives longer than its tree, which one thread uses.
    unsafe { (*context.cast_mut().cast::<Vec<String>>()).push(line) };
}

unsafe extern "C" fn message(context: *const c_void, text: *const c_char, _: c_int) {
    // SAFETY: the library passes a string.
    note(context, unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
}

unsafe extern "C" fn sink(context: *const c_void, what: u32, at: u32, _: *const c_void) -> u32 {
    note(context, format!("sink {what} {at}"));
    response::CONT
}

unsafe extern "C" fn monitor(
    context: *const c_void,
    what: u32,
    at: u32,
    _: *const c_void,
    _: u32,
    _: *const u8,
) {
    note(context, format!("monitor {what} {at}"));
}

/// A tree with an ETMv4 with trace ID 16, and the messages to `lines`.
fn tree(framed: bool, flags: u32, lines: &mut Vec<String>) -> *mut c_void {
    let tree = ocsd_create_dcd_tree(u32::from(!framed), 4);
    let mut config = [0u32; 13];
    (config[0], config[2], config[9], config[10]) = (0x2800_0ea1, 0x488, 0xc1, 0x10);
    (config[11], config[12]) = (3, 3);
    let name = c"ETMV4I".as_ptr();
    let config = config.as_ptr().cast();
    // SAFETY: the name is a string, and the configuration has 13 words.
    let made =
        unsafe { ocsd_dt_create_decoder(tree, name, flags as c_int, config, ptr::null_mut()) };
    assert_eq!(made, Error::OK);
    ocsd_def_errlog_init(log::SEVERITY_ERROR, 1);
    // SAFETY: there is no name of a file.
    unsafe { ocsd_def_errlog_config_output(0, ptr::null()) };
    let context = ptr::from_mut(lines).cast();
    assert_eq!(ocsd_def_errlog_set_strprint_cb(tree, context, Some(message)), Error::OK);
    tree
}

fn process(tree: *mut c_void, what: u32, at: u32, data: &[u8]) -> u32 {
    let mut taken = 0;
    // SAFETY: `data` has as many bytes.
    unsafe { ocsd_dt_process_data(tree, what, at, data.len() as u32, data.as_ptr(), &mut taken) }
}

/// A packet processor without a decoder logs its errors, a decoder those that it finds.
#[test]
fn errors_of_packets() {
    let text = "0x0014 (OCSD_ERR_INVALID_PCKT_HDR) [Invalid packet header]; TrcIdx=13; CS ID=10; ";
    for (flags, prints) in [(create::PACKETS, 0), (create::PACKETS, 1), (create::ELEMENTS, 1)] {
        let mut lines = Vec::new();
        let tree = tree(false, flags, &mut lines);
        if prints != 0 {
            assert_eq!(ocsd_dt_set_pkt_protocol_printer(tree, 0x10, 1), Error::OK);
        }
        assert_eq!(process(tree, operation::DATA, 0, &DATA), response::CONT);
        let errors = lines.iter().filter(|line| line.contains("PKTP")).collect::<Vec<_>>();
        if flags == create::ELEMENTS {
            assert!(errors.is_empty(), "{errors:?}");
        } else {
            assert_eq!(errors, [&format!("PKTP_ETMV4I : {text}")]);
            let (mut at, mut id, mut last) = (0, 0, [0; 128]);
            // SAFETY: all can be written.
            let error = unsafe { ocsd_get_last_err(&mut at, &mut id, last.as_mut_ptr(), 128) };
            // SAFETY: it ends with a zero.
            let last = unsafe { CStr::from_ptr(last.as_ptr()) };
            assert_eq!((error, at, id), (Error::INVALID_PCKT_HDR, 13, 0x10));
            assert_eq!(last.to_str(), Ok(text));
        }
        ocsd_destroy_dcd_tree(tree);
    }
    let mut lines = Vec::new();
    let tree = tree(true, create::PACKETS, &mut lines);
    // A frame with trace ID 16. Its last byte has the low bits of its even bytes, which are 0.
    let frame = [[0x21].as_slice(), &DATA[..14], &[0]].concat();
    assert_eq!(process(tree, operation::DATA, 0, &frame), response::CONT);
    ocsd_destroy_dcd_tree(tree);
    assert!(lines.iter().any(|line| line.starts_with("PKTP_ETMV4I_0016 : 0x0014")), "{lines:?}");
}

/// OpenCSD logs no error for a sequence of bytes that is no packet of ETMv4.
#[test]
fn sequences_of_etmv4_are_no_errors() {
    let mut lines = Vec::new();
    let tree = tree(false, create::PACKETS, &mut lines);
    assert_eq!(ocsd_dt_set_pkt_protocol_printer(tree, 0x10, 1), Error::OK);
    let data = [&DATA[..13], &[0, 0x20, 0x71]].concat();
    process(tree, operation::DATA, 0, &data);
    ocsd_destroy_dcd_tree(tree);
    assert!(lines.iter().any(|line| line.contains("I_BAD_SEQUENCE")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("PKTP")), "{lines:?}");
}

/// The sink receives operations before the monitor, a reset with the offset of the client.
#[test]
fn operations_of_packets() {
    let mut lines = Vec::new();
    let tree = tree(false, create::PACKETS, &mut lines);
    lines.clear();
    let context = ptr::from_mut(&mut lines).cast();
    for (kind, function) in
        [(0, sink as SinkPacket as *mut c_void), (1, monitor as MonitorPacket as *mut c_void)]
    {
        // SAFETY: the functions have the types of their kinds.
        let done = unsafe { ocsd_dt_attach_packet_callback(tree, 0x10, kind, function, context) };
        assert_eq!(done, Error::OK);
    }
    process(tree, operation::RESET, 7, &[]);
    process(tree, operation::FLUSH, 7, &[]);
    process(tree, operation::END, 7, &[]);
    ocsd_destroy_dcd_tree(tree);
    assert_eq!(lines, ["sink 3 7", "monitor 3 7", "sink 2 0", "sink 1 0", "monitor 1 0"]);
}

/// A tree without memory logs none; a file is one, with its name.
#[test]
fn memory_is_logged() {
    let mut lines = Vec::new();
    let tree = tree(false, create::ELEMENTS, &mut lines);
    ocsd_tl_log_mapped_mem_ranges(tree);
    assert!(lines.is_empty(), "{lines:?}");

    let path = std::env::temp_dir().join(format!("opencsd-abi-{}.bin", std::process::id()));
    std::fs::write(&path, [0; 64]).unwrap();
    let name = std::ffi::CString::new(path.to_str().unwrap()).unwrap();
    let region = |offset, address| FileRegion { offset, address, size: 16 };
    let regions = [region(0, 0x2000), region(16, 0x3000)];
    let all = 0xff;
    // SAFETY: names are strings, and the buffers have as many bytes and regions.
    let done = unsafe {
        [
            ocsd_dt_add_buffer_mem_acc(tree, 0x1000, all, DATA.as_ptr(), 8),
            ocsd_dt_add_binfile_region_mem_acc(tree, regions.as_ptr(), 2, all, name.as_ptr()),
            ocsd_dt_add_binfile_mem_acc(tree, 0x8000, all, name.as_ptr()),
        ]
    };
    std::fs::remove_file(&path).unwrap();
    assert_eq!(done, [Error::OK; 3]);
    ocsd_tl_log_mapped_mem_ranges(tree);
    ocsd_destroy_dcd_tree(tree);
    let file = path.to_str().unwrap();
    let want = format!(
        "Gen_Info : Mapped Memory Accessors\n\
         Gen_Info : BuffAcc; Range::0x1000:1007; Mem Space::Any\n\
         Gen_Info : FileAcc; Range::0x2000:200f; Mem Space::Any\n\
         FileAcc; Range::0x3000:300f; Mem Space::Any\n\
         Filename={file}\n\
         Gen_Info : FileAcc; Range::0x8000:803f; Mem Space::Any\n\
         Filename={file}\n\
         Gen_Info : ========================\n"
    );
    assert_eq!(lines.concat(), want);
}
