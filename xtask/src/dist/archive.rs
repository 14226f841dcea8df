//! Archives. The same files make the same bytes, on any machine: they are sorted, belong to root,
//! have one time, and are compressed by the libraries of the lock file.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::Command;

use flate2::{Compression, GzBuilder, write::GzEncoder};
use lzma_rust2::{XzOptions, XzWriter};
use tar::{Builder, EntryType, Header};

use super::{failed, output};

/// How much time compression takes, 0 to 9.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level(u32);

impl Level {
    pub(super) fn new(dev: bool) -> Level {
        // Libraries of the development profile are large, and are not published.
        Level(if dev { 1 } else { 6 })
    }
}

/// Writes the archive `path`, a `.tar.gz` or `.tar.xz`, of what is below `folder`. Its names begin
/// with `prefix`.
pub(super) fn pack(
    path: &Path,
    folder: &Path,
    prefix: &str,
    time: u64,
    level: Level,
) -> Result<(), String> {
    let write = |file| {
        if path.extension().is_some_and(|extension| extension == "xz") {
            tar(folder, prefix, time, xz(file, level)?)?.finish()
        } else {
            tar(folder, prefix, time, gzip(file, level))?.finish()
        }
    };
    fs::File::create(path).and_then(write).map(drop).map_err(|error| failed(path, &error))
}

/// The bytes of a `.tar.xz` of what is below `folder`.
pub(super) fn packed(folder: &Path, prefix: &str, time: u64, level: Level) -> io::Result<Vec<u8>> {
    tar(folder, prefix, time, xz(Vec::new(), level)?)?.finish()
}

/// Bytes, compressed by gzip without a name and a time.
pub(super) fn gzipped(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut writer = gzip(Vec::new(), Level(9));
    writer.write_all(bytes)?;
    writer.finish()
}

fn gzip<W: Write>(to: W, level: Level) -> GzEncoder<W> {
    GzBuilder::new().write(to, Compression::new(level.0))
}

fn xz<W: Write>(to: W, level: Level) -> io::Result<XzWriter<W>> {
    XzWriter::new(to, XzOptions::with_preset(level.0))
}

/// Writes what is below `folder`, and its folders before their files.
fn tar<W: Write>(folder: &Path, prefix: &str, time: u64, to: W) -> io::Result<W> {
    let mut builder = Builder::new(to);
    entries(&mut builder, folder, prefix, time)?;
    builder.into_inner()
}

/// Appends a folder, and what is in it, by name.
fn entries<W: Write>(
    builder: &mut Builder<W>,
    folder: &Path,
    name: &str,
    time: u64,
) -> io::Result<()> {
    let mut header = header(EntryType::Directory, 0o755, time);
    append(builder, &mut header, &format!("{name}/"), io::empty())?;
    let mut inside = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    inside.sort_by_key(fs::DirEntry::file_name);
    for entry in inside {
        let (path, kind) = (entry.path(), entry.file_type()?);
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if kind.is_dir() {
            entries(builder, &path, &name, time)?;
        } else if kind.is_symlink() {
            let mut header = self::header(EntryType::Symlink, 0o777, time);
            header.set_link_name(fs::read_link(&path)?)?;
            append(builder, &mut header, &name, io::empty())?;
        } else {
            let content = fs::read(&path)?;
            let mut header = self::header(EntryType::Regular, mode(&entry.metadata()?), time);
            header.set_size(content.len() as u64);
            append(builder, &mut header, &name, content.as_slice())?;
        }
    }
    Ok(())
}

/// Appends an entry. Names of Debian packages begin with `./`, which `set_path` takes away.
fn append<W: Write>(
    builder: &mut Builder<W>,
    header: &mut Header,
    name: &str,
    content: impl io::Read,
) -> io::Result<()> {
    let field = &mut header.as_old_mut().name;
    let Some(start) = field.get_mut(..name.len()) else {
        return builder.append_data(header, name, content);
    };
    start.copy_from_slice(name.as_bytes());
    header.set_cksum();
    builder.append(header, content)
}

fn header(kind: EntryType, mode: u32, time: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_mtime(time);
    header.set_size(0);
    // The identifiers are 0 from the start.
    let _ = header.set_username("root").and_then(|()| header.set_groupname("root"));
    header
}

/// What everybody may do with a file: read it, and run it if its owner may.
#[cfg(unix)]
fn mode(file: &fs::Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    if file.permissions().mode() & 0o100 != 0 { 0o755 } else { 0o644 }
}

#[cfg(not(unix))]
fn mode(_: &fs::Metadata) -> u32 {
    0o644
}

/// Seconds since 1970 of the last commit; `SOURCE_DATE_EPOCH` replaces it.
pub(super) fn time(root: &Path) -> Result<u64, String> {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok();
    let commit = || {
        let mut command = Command::new("git");
        output(command.args(["log", "-1", "--format=%ct"]).current_dir(root))
    };
    let text = given.map_or_else(commit, Ok)?;
    text.trim().parse().map_err(|_| format!("SOURCE_DATE_EPOCH: `{}` is no number", text.trim()))
}
