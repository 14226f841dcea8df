//! `cargo xtask wasm`: the module for WebAssembly, its package for npm, and the viewer as a page
//! without a server.

mod compiler;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use compiler::{Compiler, HELP, TARGET};

/// The exit code where there is no compiler.
const SKIPPED: u8 = 3;

/// The files of the package beside the module.
const PACKAGE: [&str; 7] = [
    "README.md",
    "index.d.ts",
    "index.js",
    "instance.d.ts",
    "instance.js",
    "package.json",
    "tables.js",
];

/// Where Chromium is installed.
const BROWSERS: [&str; 3] =
    ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/// What is made.
struct Options {
    out: PathBuf,
    /// Compares the answers with those of the command, and tests the page.
    test: bool,
    /// Without optimisation across crates, which is built sooner.
    dev: bool,
}

/// Makes the folders `package` and `page` below `--out`, or the target folder.
pub(crate) fn run(root: &Path, words: &[&str]) -> ExitCode {
    let mut options = Options { out: target(root).join("wasm"), test: false, dev: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match (*word, words.as_slice().first()) {
            ("--dev", _) => options.dev = true,
            ("--test", _) => options.test = true,
            ("--out", Some(folder)) => {
                options.out = PathBuf::from(folder);
                words.next();
            }
            _ => {
                eprintln!("usage: cargo xtask wasm [--dev] [--test] [--out FOLDER]");
                return ExitCode::from(2);
            }
        }
    }
    let compiler = match Compiler::find() {
        Ok(compiler) => compiler,
        Err(why) => {
            println!("SKIPPED: WebAssembly: {why}; to enable it: {HELP}");
            return ExitCode::from(SKIPPED);
        }
    };
    match make(root, &compiler, &options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// The target folder of Cargo.
fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

fn make(root: &Path, compiler: &Compiler, options: &Options) -> Result<(), String> {
    let module = build(root, compiler, options.dev)?;
    let package = options.out.join("package");
    copy_package(root, &module, &package)?;
    let size = fs::metadata(&module).map_err(|error| format!("{}: {error}", module.display()))?;
    println!("{}: {} bytes", package.display(), size.len());
    let command = command(root)?;
    let made = options.out.join("page");
    if !root.join("viewer/node_modules/esbuild").is_dir() {
        println!("SKIPPED: the page; to enable it: npm ci --prefix viewer --ignore-scripts");
    } else {
        page(root, &module, &command, &made)?;
    }
    if options.test { test(root, &module, &command, &made) } else { Ok(()) }
}

/// Makes the package for npm in a folder. The error has why there is no compiler, and how to get
/// one.
pub(crate) fn package(root: &Path, to: &Path, dev: bool) -> Result<(), Missing> {
    let compiler = Compiler::find().map_err(|why| Missing::Compiler { why, help: HELP })?;
    let module = build(root, &compiler, dev).map_err(Missing::Failed)?;
    copy_package(root, &module, to).map_err(Missing::Failed)
}

/// Why there is no package.
#[derive(Debug)]
pub(crate) enum Missing {
    /// There is no compiler for the target.
    Compiler { why: String, help: &'static str },
    /// The build failed, or a file cannot be written.
    Failed(String),
}

fn copy_package(root: &Path, module: &Path, to: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("{}: {error}", to.display());
    fs::create_dir_all(to).map_err(failed)?;
    let sources = root.join("crates/wasm/package");
    for name in PACKAGE.into_iter().chain(["worker.js"]) {
        fs::copy(sources.join(name), to.join(name)).map_err(failed)?;
    }
    fs::copy(module, to.join("tracewright.wasm")).map(drop).map_err(failed)
}

/// Compares the answers with those of the command, in Node, and tests the page in Chromium.
fn test(root: &Path, module: &Path, command: &Path, page: &Path) -> Result<(), String> {
    let shared = std::env::var_os("TRACEWRIGHT_SHARED").map(PathBuf::from);
    let shared = shared.unwrap_or_else(|| root.join("../shared"));
    let mut node = Command::new("node");
    node.arg(root.join("crates/wasm/tests/run.mjs")).args([module, command, &shared]);
    done("node", &mut node)?;
    let viewer = root.join("viewer");
    let has_browser = BROWSERS.iter().any(|path| Path::new(path).is_file());
    if !has_browser || !page.is_dir() || !viewer.join("node_modules/playwright-core").is_dir() {
        let help = "apt-get install chromium, and npm ci --prefix viewer --ignore-scripts";
        println!("SKIPPED: the page in a browser; to enable it: {help}");
        return Ok(());
    }
    let mut node = Command::new("node");
    node.args(["tests/run.mjs", "dropped:"]).current_dir(viewer);
    node.env("TRACEWRIGHT_PAGE", page).env("TRACEWRIGHT_SHARED", shared);
    done("node", &mut node)
}

/// Builds the module, and returns it.
fn build(root: &Path, compiler: &Compiler, dev: bool) -> Result<PathBuf, String> {
    let target = target(root).join("wasm");
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--locked", "--target-dir"]).arg(&target);
    cargo.current_dir(root.join("crates/wasm"));
    if dev {
        cargo.env("CARGO_PROFILE_RELEASE_LTO", "off");
        cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    }
    compiler.prepare(&mut cargo);
    done("cargo", &mut cargo)?;
    Ok(target.join(TARGET).join("release/tracewright_wasm.wasm"))
}

/// The command of the development profile.
fn command(root: &Path) -> Result<PathBuf, String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--quiet", "--locked", "--package", "tracewright-cli"]);
    done("cargo", cargo.current_dir(root))?;
    Ok(target(root).join("debug/tracewright"))
}

/// Makes the page: the bundle, the module, and the files of the built-in example.
fn page(root: &Path, module: &Path, command: &Path, out: &Path) -> Result<(), String> {
    let failed = |error: io::Error| format!("{}: {error}", out.display());
    let _ = fs::remove_dir_all(out);
    done("node", Command::new("node").arg(root.join("viewer/browser.mjs")).arg(out))?;
    fs::copy(module, out.join("tracewright.wasm")).map_err(failed)?;
    let example = out.join("example");
    done("tracewright", Command::new(command).args(["demo", "--write"]).arg(&example))?;
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(&example).map_err(failed)? {
        names.push(entry.map_err(failed)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    let list: Vec<String> = names.iter().map(|name| format!("{name:?}")).collect();
    fs::write(example.join("files.json"), format!("[{}]\n", list.join(","))).map_err(failed)?;
    println!("{}", out.display());
    Ok(())
}

/// Runs a program.
fn done(name: &str, command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: {status}")),
        Err(error) => Err(format!("{name}: {error}")),
    }
}
