//! The captures, each with the configuration of its encoder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tracewright::capture::{Dump, Form};
use tracewright::image::{Image, Region};
use tracewright::protocols::ntrace::Config;
use tracewright::protocols::ntrace::config::Profile;
use tracewright_testing::unpacked;

/// One stream of messages.
#[derive(Clone)]
pub struct Capture {
    /// Folder and file, for messages of tests.
    pub path: PathBuf,
    /// What is known of it: `<stem>.pcs.xz` and others.
    pub stem: PathBuf,
    pub config: Config,
    pub bytes: Vec<u8>,
    /// Added to the addresses of the program.
    bias: u64,
}

/// The folder of the captures. Where it is missing, the test is recorded as skipped.
#[track_caller]
pub fn shared() -> Option<PathBuf> {
    tracewright_testing::shared("captures/riscv/ntrace")
}

/// The address of the boot code of Spike, which is in no ELF file.
const BOOT: u64 = 0x1000;

fn boot(rv64: bool) -> Vec<u8> {
    let load = if rv64 { 0x0182_b283 } else { 0x0182_a283 };
    let words: [u32; 5] = [0x0000_0297, 0x0202_8593, 0xf140_2573, load, 0x0002_8067];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

impl Capture {
    /// The ELF file of the program; `None` where there is none.
    fn elf(&self) -> Option<Vec<u8>> {
        let folder = self.path.parent()?;
        let program = self.path.file_name()?.to_str()?.split('.').next()?;
        let names = ["program.elf.xz".to_owned(), format!("{program}.elf.xz")];
        let path = names.iter().map(|name| folder.join(name)).find(|path| path.exists())?;
        Some(unpacked(&path))
    }

    /// The program as memory of a capture.
    pub fn dump(&self) -> Option<Dump> {
        Some(Dump { form: Form::Elf, ..Dump::new("program", self.bias, self.elf()?) })
    }

    /// The program.
    pub fn image(&self) -> Arc<Image> {
        let image = Image::from_elf(&self.elf().unwrap().into(), "program", self.bias).unwrap();
        let boot = Region::new("boot", BOOT.wrapping_add(self.bias), boot(self.config.rv64));
        Arc::new(image.with([boot]))
    }

    /// A table beside the stream: rows of cells, without the heading.
    pub fn table(&self, name: &str) -> Option<Vec<Vec<String>>> {
        let path = PathBuf::from(format!("{}{name}.tsv.xz", self.stem.display()));
        path.exists().then(|| table(&path))
    }

    /// The instructions that were executed.
    pub fn addresses(&self) -> Option<Vec<u64>> {
        let folder = self.path.parent().unwrap();
        let own = PathBuf::from(format!("{}pcs.xz", self.stem.display()));
        let flow = folder.join("pcs.flow.src0.xz");
        let path = [own, flow, folder.join("pcs.xz")].into_iter().find(|path| path.exists())?;
        let text = String::from_utf8(unpacked(&path)).unwrap();
        Some(text.lines().map(|line| u64::from_str_radix(line.trim(), 16).unwrap()).collect())
    }
}

/// Rows of cells, without the heading.
pub fn table(path: &Path) -> Vec<Vec<String>> {
    let text = String::from_utf8(unpacked(path)).unwrap();
    let row = |line: &str| line.split('\t').map(str::to_owned).collect();
    text.lines().skip(1).map(row).collect()
}

fn capture(path: &Path, stem: PathBuf, config: Config, bias: u64) -> Capture {
    Capture { path: path.to_owned(), stem, config, bytes: unpacked(path), bias }
}

/// The streams of the specification's encoder.
pub fn nexrv(root: &Path) -> Vec<Capture> {
    let folder = root.join("nexrv-ref");
    let programs = ["dhrystone", "median", "multiply", "qsort"];
    let streams = programs.iter().flat_map(|program| (0..5).map(move |mode| (program, mode)));
    streams
        .map(|(program, mode)| {
            let path = folder.join(format!("{program}.mode{mode}.nex.bin"));
            let config = Config::of(Profile::Nexrv, true);
            capture(&path, folder.join(format!("{program}.")), config, 0)
        })
        .collect()
}

/// The streams of an independent encoder of 1.0.
pub fn own(root: &Path) -> Vec<Capture> {
    let programs = ["own_traps_rv64", "own_calls_rv64", "own_calls_rv64_kva", "xrle_rv32"];
    let mut captures = Vec::new();
    for program in programs {
        let folder = root.join("own-encoder").join(program);
        let mut paths: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().unwrap().to_str().unwrap();
            let Some(variant) = name.strip_suffix(".nex.bin") else { continue };
            let mut config = Config::of(Profile::Spec, !program.contains("rv32"));
            config.link.source_bits = match variant {
                "btm_full" => 3,
                "htm_all" => 4,
                "htm_hist8" => 12,
                _ => 0,
            };
            config.extend_msb = variant == "htm_all";
            let bias = if program.ends_with("kva") { 0xffff_ffff_0000_0000 } else { 0 };
            captures.push(capture(&path, folder.join(format!("{variant}.")), config, bias));
        }
    }
    captures
}

/// Captures of SiFive cores, and whether the core is RV64.
const SIFIVE: [(&str, bool); 16] = [
    ("Ralph-indirect-call", true),
    ("ca-vector-gemm", true),
    ("dv-850", true),
    ("dv-uaddr1", true),
    ("e31_coremark_debug.htm", false),
    ("e31_crc_release.htm", false),
    ("e31_hello_debug.htm", false),
    ("event-all", false),
    ("event-ppc", true),
    ("itc-timestamp", true),
    ("itc_printf.htm", false),
    ("linux-dynamic", true),
    ("nls", true),
    ("pc-sample-itc", false),
    ("pc-sample-sync", false),
    ("timestamp", false),
];

/// The captures of SiFive cores.
pub fn sifive(root: &Path) -> Vec<Capture> {
    let captures = SIFIVE.iter().map(|&(name, rv64)| {
        let folder = root.join("sifive-hw").join(name);
        let mut config = Config::of(Profile::Sifive, rv64);
        let path = match name {
            "linux-dynamic" => folder.join("stream.bin.xz"),
            _ => folder.join("stream.bin"),
        };
        config.link.source_bits = match name {
            "Ralph-indirect-call" => 1,
            "linux-dynamic" => 2,
            _ => 0,
        };
        capture(&path, folder.join(""), config, 0)
    });
    captures.collect()
}
