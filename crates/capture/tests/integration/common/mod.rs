//! Temporary folders, and the small snapshot that the tests edit.
#![allow(dead_code, unreachable_pub)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::{env, fs, process};

/// An empty temporary folder, deleted on drop.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("tracewright-capture-{}-{n}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn put(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// A message without the path of the folder.
    pub fn short(&self, message: impl ToString) -> String {
        message.to_string().replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A small snapshot with one core, one source, one buffer and one dump.
pub const BASE: &[(&str, &str)] = &[
    (
        "snapshot.ini",
        "[snapshot]\nversion=1.0\n\n[device_list]\ndevice0=cpu.ini\ndevice1=etm.ini\n\n[trace]\nmetadata=trace.ini\n",
    ),
    (
        "cpu.ini",
        "[device]\nname=cpu\nclass=core\ntype=Cortex-A53\n\n[dump1]\nfile=code.bin\naddress=0x1000\n",
    ),
    (
        "etm.ini",
        "[device]\nname=etm\nclass=trace_source\ntype=ETM4\n\n[regs]\nTRCCONFIGR(0x004)=0xC1\n",
    ),
    (
        "trace.ini",
        "[trace_buffers]\nbuffers=buffer0\n\n[buffer0]\nname=ETB\nfile=trace.bin\nformat=coresight\n\n[core_trace_sources]\ncpu=etm\n\n[source_buffers]\netm=ETB\n",
    ),
    ("trace.bin", "0123456789abcdef"),
    ("code.bin", "codecodecodecode"),
];

/// A change to [`BASE`].
pub enum Edit {
    /// In the file, the first text is replaced by the second.
    Text(&'static str, &'static str, &'static str),
    /// The file has these contents.
    Whole(&'static str, &'static [u8]),
    /// The file is missing.
    Missing(&'static str),
    /// The path is a folder.
    IsFolder(&'static str),
}

/// [`BASE`] with edits, on disk.
pub fn base(edits: &[Edit]) -> Folder {
    let folder = Folder::new();
    for (name, text) in BASE {
        folder.put(name, text);
    }
    for edit in edits {
        match *edit {
            Edit::Text(name, from, to) => {
                let path = folder.0.join(name);
                let text = fs::read_to_string(&path).unwrap();
                assert!(text.contains(from), "{name} has no {from:?}");
                fs::write(&path, text.replacen(from, to, 1)).unwrap();
            }
            Edit::Whole(name, bytes) => folder.put(name, bytes),
            Edit::Missing(name) => fs::remove_file(folder.0.join(name)).unwrap(),
            Edit::IsFolder(name) => {
                let _ = fs::remove_file(folder.0.join(name));
                fs::create_dir_all(folder.0.join(name)).unwrap();
            }
        }
    }
    folder
}
