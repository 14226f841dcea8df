//! Traces of the reference flow, and the programs that they are of.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracewright::image::{Image, Region};
use tracewright::protocols::etrace::Params;
use tracewright::protocols::etrace::config::{Profile, Version};

/// A trace.
pub struct Input {
    pub name: &'static str,
    pub bytes: Vec<u8>,
    pub elf: Vec<u8>,
    pub image: Arc<Image>,
    pub params: Params,
}

/// Name, file of the trace, file of the program, RV64.
const ALL: [(&str, &str, &str, bool); 5] = [
    (
        "coremark",
        "etrace-ref-large/coremark.te_inst_raw.xz",
        "etrace-ref-large/coremark.riscv.xz",
        true,
    ),
    (
        "dhrystone",
        "etrace-ref/itype4_basic/dhrystone.te_inst_raw",
        "etrace-ref/elf/dhrystone.riscv",
        true,
    ),
    (
        "own_calls",
        "etrace-ref/itype4_basic/own_calls_rv64.te_inst_raw",
        "etrace-ref/elf/own_calls_rv64.elf",
        true,
    ),
    (
        "crc32",
        "etrace-ref-large/embench-crc32.te_inst_raw.xz",
        "etrace-ref-large/embench-crc32.riscv.xz",
        false,
    ),
    (
        "nettle-aes",
        "etrace-ref-large/embench-nettle-aes.te_inst_raw.xz",
        "etrace-ref-large/embench-nettle-aes.riscv.xz",
        false,
    ),
];

/// Those that were asked for.
pub fn all(only: &[String]) -> Result<Vec<Input>, String> {
    let root = std::env::var_os("TRACEWRIGHT_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let folder = root.join("captures/riscv");
    if !folder.is_dir() {
        return Err(format!(
            "skipped: no {}; TRACEWRIGHT_SHARED says where it is",
            folder.display()
        ));
    }
    let wanted = |name: &str| only.is_empty() || only.iter().any(|o| o == name);
    let list = ALL.into_iter().filter(|(name, ..)| wanted(name));
    let list: Vec<_> = list.map(|row| read(&folder, row)).collect::<Result<_, _>>()?;
    if list.is_empty() { Err("no such input".into()) } else { Ok(list) }
}

fn read(
    folder: &Path,
    (name, trace, program, rv64): (&'static str, &str, &str, bool),
) -> Result<Input, String> {
    let bytes = unpacked(&folder.join(trace))?;
    let elf = unpacked(&folder.join(program))?;
    let mut params = Params::of(Profile::ReferenceFlow, rv64);
    if !rv64 {
        params.widths.iaddress = 32;
        params.widths.tval = 32;
    }
    let boot: Vec<u8> = boot(rv64).iter().flat_map(|word| word.to_le_bytes()).collect();
    let image =
        Image::from_elf(&elf.clone().into(), name, 0).map_err(|e| format!("{name}: {e}"))?;
    let image = Arc::new(image.with([Region::new("boot", 0x1000, boot)]));
    Ok(Input { name, bytes, elf, image, params })
}

/// Spike's boot ROM, which is in no file.
pub const fn boot(rv64: bool) -> [u32; 5] {
    let load = if rv64 { 0x0182_b283 } else { 0x0182_a283 };
    [0x0000_0297, 0x0202_8593, 0xf140_2573, load, 0x0002_8067]
}

fn unpacked(path: &Path) -> Result<Vec<u8>, String> {
    let why = |error: std::io::Error| format!("{}: {error}", path.display());
    let bytes = fs::read(path).map_err(why)?;
    if path.extension().is_none_or(|end| end != "xz") {
        return Ok(bytes);
    }
    let mut plain = Vec::new();
    lzma_rust2::XzReader::new(&bytes[..], true).read_to_end(&mut plain).map_err(why)?;
    Ok(plain)
}
