//! Members of a ZIP archive, stored or compressed with Deflate. (APPNOTE.TXT 6.3, sections 4.3 and
//! 4.4)

use std::io::{self, Read};

use flate2::read::DeflateDecoder;
use rawzip::{
    CompressionMethod, Error, ErrorKind, MAX_CENTRAL_DIRECTORY_RECORD_SIZE, ReaderAt, ZipArchive,
    ZipArchiveEntryWayfinder, ZipLocator,
};

use crate::Bytes;

/// The first bytes of an archive.
pub(crate) const MAGIC: [u8; 4] = *b"PK\x03\x04";
/// The greatest number of members.
const MAX_MEMBERS: usize = 1 << 16;
/// The greatest length of the comment at the end, and the bytes of the record before it.
const END: u64 = (1 << 16) + 22;

/// An archive whose directory was read.
pub(crate) struct Archive {
    archive: ZipArchive<File>,
    /// Its members, in the order of the directory.
    pub(crate) members: Vec<Member>,
}

/// A member of an archive.
pub(crate) struct Member {
    pub(crate) name: String,
    method: CompressionMethod,
    packed: u64,
    entry: ZipArchiveEntryWayfinder,
}

impl Archive {
    /// Reads the directory of `file`.
    pub(crate) fn read(file: &Bytes) -> Result<Archive, String> {
        let mut buffer = vec![0; MAX_CENTRAL_DIRECTORY_RECORD_SIZE];
        let archive = ZipLocator::new()
            .max_search_space(END)
            .locate_in_reader(File(file.clone()), &mut buffer, file.size())
            .map_err(|(_, error)| reason(&error))?;
        let (mut entries, mut members) = (archive.entries(&mut buffer), Vec::new());
        while let Some(entry) = entries.next_entry().map_err(|error| reason(&error))? {
            if members.len() == MAX_MEMBERS {
                return Err(format!("the archive has more than {MAX_MEMBERS} members"));
            }
            members.push(Member {
                name: String::from_utf8_lossy(entry.file_path().as_ref()).into_owned(),
                method: entry.compression_method(),
                packed: entry.compressed_size_hint(),
                entry: entry.wayfinder(),
            });
        }
        Ok(Archive { archive, members })
    }

    /// The offset of the contents of a member in the archive and their length, where they are not
    /// compressed.
    pub(crate) fn stored(&self, member: &Member) -> Option<(u64, u64)> {
        let stored = member.method == CompressionMethod::STORE;
        let entry = self.archive.get_entry(member.entry).ok().filter(|_| stored)?;
        let (start, end) = entry.compressed_data_range();
        Some((start, end.saturating_sub(start)))
    }

    /// A reader of the contents of a member, which fails at their end where their size or checksum
    /// is not that of the directory.
    pub(crate) fn reader(&self, member: &Member) -> Result<Box<dyn Read + '_>, String> {
        let entry = self.archive.get_entry(member.entry).map_err(|error| reason(&error))?;
        match member.method {
            CompressionMethod::STORE => Ok(Box::new(entry.verifying_reader(entry.reader()))),
            CompressionMethod::DEFLATE => {
                Ok(Box::new(entry.verifying_reader(DeflateDecoder::new(entry.reader()))))
            }
            other => {
                let number = other.as_u16();
                Err(format!("the archive uses compression method {number}, not Deflate"))
            }
        }
    }
}

impl Member {
    /// The number of bytes in the archive.
    pub(crate) fn packed(&self) -> u64 {
        self.packed
    }
}

/// Why an archive cannot be read.
fn reason(error: &Error) -> String {
    match error.kind() {
        ErrorKind::MissingEndOfCentralDirectory => "the archive has no directory".to_owned(),
        ErrorKind::Eof => "the directory of the archive is incomplete".to_owned(),
        _ => format!("the archive cannot be read: {error}"),
    }
}

/// The bytes of the archive.
struct File(Bytes);

impl ReaderAt for File {
    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.part(offset, into.len() as u64).reader().read(into)
    }
}
