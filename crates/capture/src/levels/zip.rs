//! Members of a ZIP archive, stored or compressed with Deflate. (APPNOTE.TXT 6.3, sections 4.3 and
//! 4.4)

use std::io::Read;

use flate2::read::DeflateDecoder;

use crate::Bytes;

/// The first bytes of an archive.
pub(crate) const MAGIC: [u8; 4] = *b"PK\x03\x04";
/// The greatest number of members.
const MAX_MEMBERS: usize = 1 << 16;
/// The greatest size of the directory.
const MAX_DIRECTORY: u32 = 1 << 24;
/// The greatest length of the comment at the end, and the bytes of the record before it.
const END: u64 = (1 << 16) + 22;

/// A member of an archive.
pub(crate) struct Member {
    pub(crate) name: String,
    method: u16,
    packed: u32,
    at: u32,
}

/// The members of the archive, in the order of its directory.
pub(crate) fn members(file: &Bytes) -> Result<Vec<Member>, String> {
    let len = file.size();
    let from = len.saturating_sub(END);
    let tail = bytes(file, from, len - from)?;
    let end = tail.windows(4).rposition(|window| window == b"PK\x05\x06");
    let end = end.and_then(|at| tail.get(at..)).ok_or("the archive has no directory")?;
    let (size, at) = word(end, 12).zip(word(end, 16)).ok_or("the archive has no directory")?;
    if size > MAX_DIRECTORY {
        return Err(format!("the directory of the archive has more than {MAX_DIRECTORY} bytes"));
    }
    let directory = bytes(file, at.into(), size.into())?;
    let (mut rest, mut members) = (directory.as_slice(), Vec::new());
    while rest.starts_with(b"PK\x01\x02") {
        let member = entry(rest).ok_or("the directory of the archive is incomplete")?;
        let (member, len) = member;
        if members.len() == MAX_MEMBERS {
            return Err(format!("the archive has more than {MAX_MEMBERS} members"));
        }
        members.push(member);
        rest = rest.get(len..).unwrap_or_default();
    }
    Ok(members)
}

/// The member at the beginning of `rest`, and the length of its entry.
fn entry(rest: &[u8]) -> Option<(Member, usize)> {
    let name = usize::from(half(rest, 28)?);
    let len = 46 + name + usize::from(half(rest, 30)?) + usize::from(half(rest, 32)?);
    let text = String::from_utf8_lossy(rest.get(46..46 + name)?).into_owned();
    let (method, packed, at) = (half(rest, 10)?, word(rest, 20)?, word(rest, 42)?);
    rest.get(..len)?;
    Some((Member { name: text, method, packed, at }, len))
}

impl Member {
    /// The number of bytes in the archive.
    pub(crate) fn packed(&self) -> u64 {
        self.packed.into()
    }

    /// The offset of the contents in the archive and their length, where they are not compressed.
    pub(crate) fn stored(&self, file: &Bytes) -> Option<(u64, u64)> {
        let from = self.start(file).ok().filter(|_| self.method == 0)?;
        Some((from, self.packed.into()))
    }

    /// The offset of the contents, compressed or not, in the archive.
    fn start(&self, file: &Bytes) -> Result<u64, String> {
        let head = bytes(file, self.at.into(), 30)?;
        let lens = half(&head, 26).zip(half(&head, 28)).filter(|_| head.starts_with(&MAGIC));
        let (name, extra) = lens.ok_or("a member of the archive has no header")?;
        Ok(u64::from(self.at) + 30 + u64::from(name) + u64::from(extra))
    }

    /// A reader of the contents.
    pub(crate) fn reader(&self, file: &Bytes) -> Result<Box<dyn Read>, String> {
        let packed = file.part(self.start(file)?, self.packed.into());
        match self.method {
            0 => Ok(Box::new(packed.reader())),
            8 => Ok(Box::new(DeflateDecoder::new(packed.reader()))),
            other => Err(format!("the archive uses compression method {other}, not Deflate")),
        }
    }
}

/// `len` bytes of the file.
fn bytes(file: &Bytes, from: u64, len: u64) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    let read = file.part(from, len).reader().read_to_end(&mut out);
    read.map_err(|error| error.to_string())?;
    Ok(out)
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|bytes| u16::from_le_bytes(*bytes))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}
