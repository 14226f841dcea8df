//! Programs compiled by LLVM: functions, stubs, lines and inlined functions, compared with
//! llvm-symbolizer and llvm-objdump.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process};

use lzma_rust2::{XzOptions, XzWriter};
use tracewright_image::{Bytes, Elf, Load};
use tracewright_symbols::{Functions, Lines};
use tracewright_testing::tool;

const SOURCE: &str = "\
extern int imported(int);
extern void other(void);
volatile int sink;
static inline __attribute__((always_inline)) int twice(int n) {
  sink = n;
  return n + n;
}
static inline __attribute__((always_inline)) int four(int n) {
  return twice(twice(n)) + 3;
}
__attribute__((noinline)) static int local(int n) {
  if (n > 3)
    other();
  return four(n) * n;
}
int entry(int n) {
  return local(n) + imported(n);
}
";

const CLANG: [(&str, &str); 1] = [("clang-19", "clang-19")];
const LLD: [(&str, &str); 1] = [("ld.lld-19", "lld-19")];

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn output(command: &mut Command) -> String {
    let output = command.output().expect("the tool runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// A shared library for `target`.
fn compile(folder: &Path, target: &str) -> Option<PathBuf> {
    let (clang, _) = (tool(&CLANG)?, tool(&LLD)?);
    fs::write(folder.join("program.c"), SOURCE).expect("a source");
    let words = format!(
        "--target={target} -O1 -g -fPIC -nostdlib -shared -fuse-ld=lld-19 program.c -o library.so"
    );
    output(Command::new(clang).args(words.split_whitespace()).current_dir(folder));
    Some(folder.join("library.so"))
}

#[test]
fn programs_of_each_architecture() {
    for target in ["aarch64-linux-gnu", "arm-linux-gnueabihf", "riscv64-linux-gnu"] {
        let name = format!("tracewright-symbols-{}-{target}", process::id());
        let folder = Folder(env::temp_dir().join(name));
        fs::create_dir_all(&folder.0).expect("a folder");
        let Some(path) = compile(&folder.0, target) else { return };
        let file = Bytes::from(fs::read(&path).expect("the library"));
        let functions = Functions::of_elf(&file);
        let names: Vec<&str> = functions.iter().map(|f| f.name.as_str()).collect();
        for name in ["entry", "local", "imported@plt", "other@plt"] {
            assert!(names.contains(&name), "{target}: {name} is not in {names:?}");
        }
        check_mini_debug_info(&folder.0, &functions);
        check_stubs(&path, target, &functions);
        check_lines(&path, target, &Lines::of_elf(&file).expect("lines"), &functions);
    }
}

/// A stripped program with MiniDebugInfo, packed as the manual of GDB describes it, has the
/// functions of the program; without it, and where it is damaged, those of the dynamic symbols.
fn check_mini_debug_info(folder: &Path, functions: &Functions) {
    let Some(objcopy) = tool(&[("llvm-objcopy-19", "llvm-19")]) else { return };
    let copy = |words: &str| {
        output(Command::new(objcopy).args(words.split_whitespace()).current_dir(folder));
    };
    copy("--strip-debug library.so mini");
    let mini = fs::read(folder.join("mini")).expect("a file");
    let mut xz = XzWriter::new(Vec::new(), XzOptions::with_preset(6)).expect("options");
    xz.write_all(&mini).expect("a vector takes all bytes");
    let mut packed = xz.finish().expect("a vector takes all bytes");
    fs::write(folder.join("mini.xz"), &packed).expect("a file");
    let middle = packed.len() / 2;
    packed[middle] ^= 0x55;
    fs::write(folder.join("damaged.xz"), &packed).expect("a file");
    copy("--strip-all library.so none.so");
    copy("--strip-all --add-section .gnu_debugdata=mini.xz library.so with.so");
    copy("--strip-all --add-section .gnu_debugdata=damaged.xz library.so damaged.so");
    let of = |functions: &Functions| -> Vec<(String, u64, u64)> {
        functions.iter().map(|own| (own.name.clone(), own.start, own.end)).collect()
    };
    let read = |name: &str| Bytes::from(fs::read(folder.join(name)).expect("a file"));
    assert_eq!(of(&Functions::of_elf(&read("with.so"))), of(functions));
    let exported = of(&Functions::of_elf(&read("none.so")));
    assert!(
        exported.iter().all(|own| own.0 != "local") && exported.iter().any(|own| own.0 == "entry")
    );
    assert_eq!(of(&Functions::of_elf(&read("damaged.so"))), exported);
    let elf = |name: &str| Elf::read(&read(name), name, Load::default()).expect("an ELF file");
    let of = |elf: Elf| -> Vec<(String, u64)> {
        elf.symbols.iter().map(|own| (own.name.to_owned(), own.start)).collect()
    };
    let with = of(elf("with.so"));
    let whole = of(elf("library.so"));
    assert!(whole.iter().any(|own| own.0 == "local"));
    assert!(whole.iter().all(|own| with.contains(own)), "{whole:?} {with:?}");
    assert!(of(elf("none.so")).iter().all(|own| own.0 != "local"));
}

/// llvm-objdump names stubs as `<imported@plt>`.
fn check_stubs(path: &Path, target: &str, functions: &Functions) {
    let Some(objdump) = tool(&[("llvm-objdump-19", "llvm-19")]) else { return };
    let text = output(Command::new(objdump).args(["-d", "--section=.plt"]).arg(path));
    let mut checked = 0;
    for line in text.lines().filter(|line| line.ends_with("@plt>:")) {
        let (address, name) = line.split_once(' ').expect("an address and a name");
        let address = u64::from_str_radix(address, 16).expect("an address");
        let name = name.trim_matches(['<', '>', ':']);
        let found = functions.at(address).function.and_then(|n| functions.get(n));
        let found = found.expect("a stub");
        assert_eq!(
            (found.name.as_str(), found.start, found.stub),
            (name, address, true),
            "{target}"
        );
        checked += 1;
    }
    // It names those of A64 only.
    assert!(checked == 2 || !target.starts_with("aarch64"), "{target}: {text}");
}

/// Functions, files and lines at each address of code.
fn check_lines(path: &Path, target: &str, lines: &Lines, functions: &Functions) {
    let Some(symbolizer) = tool(&[("llvm-symbolizer-19", "llvm-19")]) else { return };
    let mut inlined = 0;
    let code = functions.iter().filter(|f| f.name == "local" || f.name == "entry");
    let addresses: Vec<u64> = code.flat_map(|f| (f.start..f.end).step_by(4)).collect();
    let mut command = Command::new(symbolizer);
    command.args(["--output-style=LLVM", "-f", "-i", "-e"]).arg(path);
    let text = output(command.args(addresses.iter().map(|address| format!("{address:#x}"))));
    let blocks: Vec<&str> = text.trim_end().split("\n\n").collect();
    assert_eq!(blocks.len(), addresses.len());
    for (address, block) in addresses.into_iter().zip(blocks) {
        let want: Vec<&str> = block.lines().collect();
        let frames = lines.frames(address);
        assert_eq!(frames.len(), want.len() / 2, "{target} {address:#x}: {text}");
        for (frame, pair) in frames.iter().zip(want.chunks(2)) {
            assert_eq!(frame.function.as_deref(), Some(pair[0]), "{target} {address:#x}");
            let (file, line) = frame.location.as_ref().expect("a line");
            let (place, _column) = pair[1].rsplit_once(':').expect("a column");
            assert_eq!(format!("{file}:{line}"), place, "{target} {address:#x}");
        }
        let here = lines.at(address).expect("a line");
        let (file, line) = frames[0].location.as_ref().expect("a line");
        assert_eq!((lines.file(here.file), here.line), (Some(file.as_str()), *line));
        inlined += usize::from(frames.len() > 2);
    }
    assert!(inlined > 0, "{target}: nothing is inlined twice");
}
