//! Builds the command and the libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::output;

/// The packages with the command and the libraries for C.
pub(super) const PACKAGES: [&str; 3] =
    ["tracewright-cli", "tracewright-capi", "tracewright-opencsd-abi"];

/// The features of the command that a release has.
pub(super) const FEATURES: &str = "tracewright-cli/columns";

/// What was built.
#[derive(Debug)]
pub(super) struct Built {
    /// The folder with the files of the profile.
    pub(super) folder: PathBuf,
    /// The library with Tracewright's C interface as a static library.
    pub(super) archive: PathBuf,
    /// The target triple.
    pub(super) triple: String,
    /// What programs that take the static library link besides: `-lc -lm`.
    pub(super) system_libraries: String,
}

impl Built {
    /// The command.
    pub(super) fn command(&self) -> PathBuf {
        self.folder.join("tracewright")
    }

    /// The library with Tracewright's C interface.
    pub(super) fn shared(&self) -> PathBuf {
        self.folder.join("libtracewright_capi.so")
    }

    /// The library with OpenCSD's C interface.
    pub(super) fn opencsd(&self) -> PathBuf {
        self.folder.join("libopencsd_c_api.so")
    }
}

/// Builds with the release profile, or the development profile.
pub(super) fn build(root: &Path, dev: bool) -> Result<Built, String> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--locked"]).current_dir(root);
    let target = prepare(&mut cargo, root, dev)?;
    if !dev {
        // Tables take as long to compile as the rest of the command.
        cargo.args(["--release", "--features", FEATURES]);
        // That of the whole profile is not taken for a package with options of its own.
        cargo.args(["--config", "profile.release.package.tracewright-cli.strip='symbols'"]);
    }
    cargo.env("CARGO_TARGET_DIR", &target);
    cargo.args(PACKAGES.iter().flat_map(|name| ["--package", name]));
    let status = cargo.status().map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err("the build failed".into());
    }
    let folder = target.join(if dev { "debug" } else { "release" });
    let archive = folder.join("libtracewright_capi.a");
    let built = Built { folder, archive, triple: host()?, system_libraries: system_libraries()? };
    if !dev && built.triple.contains("-linux-") {
        let small = built.folder.join("libtracewright_capi.small.a");
        stripped(&built.archive, &small)?;
        return Ok(Built { archive: small, ..built });
    }
    Ok(built)
}

/// Writes the static library without debug information, which Cargo leaves in it, and without the
/// bitcode of LLVM, which is six times as large as the code. What Cargo has made stays: stripped
/// twice, it has other bytes.
fn stripped(from: &Path, to: &Path) -> Result<(), String> {
    let mut strip = Command::new("strip");
    strip.args(["--strip-debug", "--enable-deterministic-archives"]);
    strip.args(["--remove-section=.llvmbc", "--remove-section=.llvmcmd"]);
    output(strip.arg("-o").args([to, from])).map(drop)
}

/// The target triple.
pub(super) fn host() -> Result<String, String> {
    let version = output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc -vV has no host")?.to_owned())
}

/// The options of a release for Cargo and what starts it. Returns the target folder.
pub(super) fn prepare(command: &mut Command, root: &Path, dev: bool) -> Result<PathBuf, String> {
    let target = target(root)?;
    if dev {
        return Ok(target);
    }
    // Cargo compiles all again where these options change: what developers build is apart.
    let target = target.join("dist-build");
    without_paths(command, root, &target);
    command.env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    Ok(target)
}

/// Replaces the folders of this machine in what the compilers of Rust and C write.
fn without_paths(cargo: &mut Command, root: &Path, target: &Path) {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    // The last that fits is taken: the target folder may be below the root.
    let folders =
        [(Some(root), "/tracewright"), (Some(target), "/target"), (home.as_deref(), "/cargo")];
    let folders: Vec<String> = folders
        .iter()
        .filter_map(|(folder, name)| Some(format!("{}={name}", (*folder)?.display())))
        .collect();
    let given = std::env::var("RUSTFLAGS").unwrap_or_default();
    let mut flags: Vec<String> = given.split_whitespace().map(str::to_owned).collect();
    flags.extend(folders.iter().map(|folder| format!("--remap-path-prefix={folder}")));
    // Words are divided by this character: folders may have spaces.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\x1f"));
    let mut flags = vec![std::env::var("CFLAGS").unwrap_or_default()];
    flags.extend(folders.iter().map(|folder| format!("'-ffile-prefix-map={folder}'")));
    cargo.env("CFLAGS", flags.join(" ")).env("CC_SHELL_ESCAPED_FLAGS", "1");
}

/// The target folder, as Cargo reports it.
pub(super) fn target(root: &Path) -> Result<PathBuf, String> {
    let mut command = Command::new("cargo");
    command.args(["metadata", "--no-deps", "--format-version", "1"]).current_dir(root);
    let value: Value = serde_json::from_str(&output(&mut command)?).map_err(|e| e.to_string())?;
    let found = value["target_directory"].as_str();
    Ok(PathBuf::from(found.ok_or("cargo metadata has no target folder")?))
}

/// The libraries of the system that the standard library of Rust needs, as rustc reports them for
/// an empty static library.
fn system_libraries() -> Result<String, String> {
    let folder = std::env::temp_dir().join(format!("tracewright-libraries-{}", std::process::id()));
    super::fresh(&folder)?;
    let source = folder.join("empty.rs");
    std::fs::write(&source, "").map_err(|error| super::failed(&source, &error))?;
    let mut command = Command::new("rustc");
    command
        .args(["--crate-type", "staticlib", "--print", "native-static-libs", "--out-dir"])
        .args([&folder, &source]);
    let done = command.output().map_err(|error| format!("rustc: {error}"));
    // The folder is removed whatever happened.
    let removed = std::fs::remove_dir_all(&folder);
    let text = String::from_utf8_lossy(&done?.stderr).into_owned();
    removed.map_err(|error| super::failed(&folder, &error))?;
    let found = text.lines().find_map(|line| line.split("native-static-libs: ").nth(1));
    let found = found.ok_or("rustc does not report native-static-libs")?;
    // The compiler adds its own library: that of `-static` has another name.
    let libraries = found.split_whitespace().filter(|library| *library != "-lgcc_s");
    Ok(libraries.collect::<Vec<_>>().join(" "))
}
