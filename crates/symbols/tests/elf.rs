//! Programs compiled by LLVM: functions, stubs, lines and inlined functions, compared with
//! llvm-symbolizer and llvm-objdump.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, process};

use tracewright_image::Bytes;
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
        check_stubs(&path, target, &functions);
        check_lines(&path, target, &Lines::of_elf(&file).expect("lines"), &functions);
    }
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
