//! What the library exports.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use tracewright_testing::tool;

use crate::client::{installed, library, text_of};

/// The functions of OpenCSD 1.8.0. 1.3.3 has all but `ocsd_dt_set_mem_acc_cacheing`.
const FUNCTIONS: [&str; 34] = [
    "ocsd_create_dcd_tree",
    "ocsd_cust_protocol_to_str",
    "ocsd_def_errlog_config_output",
    "ocsd_def_errlog_init",
    "ocsd_def_errlog_msgout",
    "ocsd_def_errlog_set_strprint_cb",
    "ocsd_deregister_decoders",
    "ocsd_destroy_dcd_tree",
    "ocsd_dt_add_binfile_mem_acc",
    "ocsd_dt_add_binfile_region_mem_acc",
    "ocsd_dt_add_buffer_mem_acc",
    "ocsd_dt_add_callback_mem_acc",
    "ocsd_dt_add_callback_trcid_mem_acc",
    "ocsd_dt_attach_packet_callback",
    "ocsd_dt_create_decoder",
    "ocsd_dt_get_decode_stats",
    "ocsd_dt_process_data",
    "ocsd_dt_remove_decoder",
    "ocsd_dt_remove_mem_acc",
    "ocsd_dt_reset_decode_stats",
    "ocsd_dt_set_gen_elem_outfn",
    "ocsd_dt_set_gen_elem_printer",
    "ocsd_dt_set_mem_acc_cacheing",
    "ocsd_dt_set_pkt_protocol_printer",
    "ocsd_dt_set_raw_frame_printer",
    "ocsd_err_str",
    "ocsd_gen_elem_init",
    "ocsd_gen_elem_str",
    "ocsd_get_last_err",
    "ocsd_get_version",
    "ocsd_get_version_str",
    "ocsd_pkt_str",
    "ocsd_register_custom_decoder",
    "ocsd_tl_log_mapped_mem_ranges",
];

/// What `file` exports, by name: `T` for a function.
fn exported(nm: &str, file: &Path) -> BTreeSet<(String, String)> {
    let done = Command::new(nm).args(["-D", "--defined-only"]).arg(file).output().unwrap();
    let lines = text_of(&done.stdout);
    let symbols = lines.lines().filter_map(|line| {
        let mut words = line.split_whitespace().rev();
        Some((words.next()?.to_owned(), words.next()?.to_owned()))
    });
    symbols.filter(|(name, _)| name.starts_with("ocsd_")).collect()
}

#[test]
fn every_function_of_opencsd_is_exported() {
    let Some(nm) = tool(&[("nm", "binutils")]) else { return };
    let own = exported(nm, &library().join("libopencsd_c_api.so.1"));
    let function = |name: &str| (name.to_owned(), "T".to_owned());
    assert_eq!(own, FUNCTIONS.map(function).into_iter().collect());
    let Some(theirs) = installed() else { return };
    let theirs = exported(nm, &theirs);
    assert!(theirs.len() >= 33, "{theirs:?}");
    assert_eq!(theirs.difference(&own).collect::<Vec<_>>(), Vec::<&(String, String)>::new());
}

#[test]
fn the_library_has_the_name_that_programs_load() {
    let Some(readelf) = tool(&[("readelf", "binutils")]) else { return };
    let file = library().join("libopencsd_c_api.so.1");
    let done = Command::new(readelf).arg("-d").arg(file).output().unwrap();
    assert!(text_of(&done.stdout).contains("soname: [libopencsd_c_api.so.1]"));
}
