//! Writing of a folder with a `capture.toml`.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use toml::Value;

use crate::buffer_file::File;
use crate::capture::Capture;
use crate::device::{Registers, Text};
use crate::dump::Form;
use crate::new_folder::NewFolder;
use crate::open_files::reason;
use crate::probe::DESCRIPTION;
use crate::problem::{OpenError, Problem};
use crate::spool::move_file;
use crate::when;

/// Writes `capture` into `folder`, which is created; it must be empty if it exists. The description
/// lists memory whose file is missing, but no file is written for it.
///
/// # Errors
/// [`OpenError`] where the folder contains files, or a file cannot be written. Then the folder is
/// left as it was.
pub fn write(capture: &Capture, folder: &Path) -> Result<(), OpenError> {
    let new = NewFolder::new(folder)?;
    let failed =
        |path: &Path, why: std::io::Error| OpenError::new(path, Problem::NotWritten(reason(&why)));
    let mut taken = HashSet::from([DESCRIPTION.to_owned()]);
    // Without bytes, a unique file name is reserved and no file is written.
    let mut put = |name: &str, end: &str, bytes: Option<&[u8]>, spooled: Option<&Path>| {
        let plain: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '_' })
            .collect();
        let plain = plain.trim_start_matches('.');
        let plain = plain.strip_suffix(end).unwrap_or(plain);
        let plain = if plain.is_empty() { "file" } else { plain };
        let names = (0..).map(|n| match n {
            0 => format!("{plain}{end}"),
            n => format!("{plain}-{n}{end}"),
        });
        let name = names.into_iter().find(|name| taken.insert(name.clone())).unwrap_or_default();
        let path = new.path().join(&name);
        let done = match (spooled, bytes) {
            (Some(from), _) => move_file(from, &path),
            (None, Some(bytes)) => fs::write(&path, bytes),
            (None, None) => Ok(()),
        };
        done.map_err(|why| failed(&folder.join(&name), why)).map(|()| name)
    };
    let mut text = String::new();
    if let Some(description) = &capture.description {
        let _ = writeln!(text, "description = {}\n", quoted(description));
    }
    for buffer in &capture.buffers {
        let stored = buffer.sink.as_ref().map(|sink| sink.stored.iter().map(File::all));
        let stored = stored.map(|parts| parts.collect::<Vec<_>>().concat());
        let file = match (&stored, buffer.files.as_slice()) {
            (Some(stored), _) => put(&buffer.name, ".bin", Some(stored), None)?,
            (None, [file]) if file.spooled => put(&buffer.name, ".bin", None, Some(&file.path))?,
            (None, _) => put(&buffer.name, ".bin", Some(&buffer.bytes()), None)?,
        };
        let (name, file) = (quoted(&buffer.name), quoted(&file));
        let _ = writeln!(text, "[[buffer]]\nname = {name}\nfile = {file}");
        let _ = writeln!(text, "format = {}", quoted(&buffer.format.to_string()));
        if let Some(sink) = &buffer.sink {
            let _ = writeln!(text, "[buffer.registers]");
            registers(&sink.registers, &mut text);
        }
        text.push('\n');
    }
    for source in &capture.sources {
        let (name, protocol) = (quoted(&source.name), quoted(&source.device_type));
        let _ = writeln!(text, "[[source]]\nname = {name}\nprotocol = {protocol}");
        let links = source.buffers.iter().filter_map(|link| capture.buffers.get(link.buffer));
        let links: Vec<_> = links.map(|buffer| quoted(&buffer.name)).collect();
        let _ = writeln!(text, "buffers = [{}]", links.join(", "));
        if let Some(core) = capture.core(source) {
            let _ = writeln!(text, "core = {}", quoted(&core.device_type));
        }
        let _ = writeln!(text, "[source.parameters]");
        for (name, word) in &source.words {
            let _ = writeln!(text, "{} = {}", key(name), quoted(word));
        }
        registers(&source.registers, &mut text);
        let mut lists: Vec<(&str, Vec<String>)> = Vec::new();
        for Text { name, text, .. } in &source.texts {
            match lists.iter_mut().find(|(known, _)| known == name) {
                Some((_, list)) => list.push(quoted(text)),
                None => lists.push((name, vec![quoted(text)])),
            }
        }
        for (name, list) in lists {
            let _ = writeln!(text, "{} = [\n    {},\n]", key(name), list.join(",\n    "));
        }
        text.push('\n');
    }
    for dump in &capture.memory {
        let end = if dump.form == Form::Elf { ".elf" } else { ".mem" };
        let file = put(&dump.name, end, dump.bytes.as_deref(), None)?;
        let _ = writeln!(text, "[[image]]\nfile = {}", quoted(&file));
        match (dump.form, dump.address) {
            (Form::Elf, 0) => {}
            (_, address) if address <= i64::MAX as u64 => {
                let _ = writeln!(text, "address = {address:#x}");
            }
            (_, address) => {
                let _ = writeln!(text, "address = \"{address:#x}\"");
            }
        }
        for (key, value) in when::pairs(&dump.when) {
            let _ = writeln!(text, "{key} = {}", quoted(&value));
        }
        text.push('\n');
    }
    let done = fs::write(new.path().join(DESCRIPTION), text);
    done.map_err(|why| failed(&folder.join(DESCRIPTION), why))?;
    new.finish()
}

/// A line for each register.
fn registers(registers: &Registers, text: &mut String) {
    for register in &registers.0 {
        let value = match register.value {
            value if value <= i64::MAX as u128 => format!("{value:#x}"),
            value => format!("\"{value:#x}\""),
        };
        let _ = writeln!(text, "{} = {value}", key(&register.name));
    }
}

/// A TOML key, in quotes where necessary.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { quoted(name) }
}

/// A TOML string.
fn quoted(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}
