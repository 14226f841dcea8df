//! Files that gzip compressed. (RFC 1952)

use std::io::Read;

use flate2::read::MultiGzDecoder;

use crate::Bytes;
use crate::container::Container;
use crate::dump::ELF;

/// The greatest size in bytes of the contents: at most the first number, and the second one and the
/// third one for each byte of the file.
const LARGEST: (u64, u64, u64) = (1 << 28, 1 << 26, 8);

/// The first bytes of a `perf.data` file in either byte order.
const PERF: [&[u8]; 2] = [b"PERFILE2", b"2ELIFREP"];

/// The contents of `file`. `None`: gzip did not compress it.
///
/// # Errors
/// Why they cannot be read, or what they are, where that is no trace data and no memory.
pub(super) fn unpacked(file: &Bytes) -> Option<Result<Bytes, String>> {
    let is_gzip = Container::probe(&file.head(16)) == Some(Container::Gzip);
    is_gzip.then(|| read(file))
}

fn read(file: &Bytes) -> Result<Bytes, String> {
    let form = Container::Gzip;
    let mut bytes = Vec::new();
    let (most, always, each) = LARGEST;
    let largest = file.size().saturating_mul(each).saturating_add(always).min(most);
    let read = MultiGzDecoder::new(file.reader()).take(largest + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("it is {form}, and damaged: {error}"))?;
    if bytes.len() as u64 > largest {
        let help = form.help();
        return Err(format!("it is {form}, whose contents have more than {largest} bytes; {help}"));
    }
    let other = contents(&bytes);
    if let Some(other) = other {
        return Err(format!("it is {form}, with {other} inside; {}", form.help()));
    }
    Ok(Bytes::from(bytes))
}

/// What `bytes` are, where they are a file of their own.
fn contents(bytes: &[u8]) -> Option<&'static str> {
    /// The offset of the mark of an archive of tar. (POSIX, "ustar Interchange Format")
    const TAR: usize = 257;
    let container = Container::probe(bytes).filter(|container| !container.is_memory());
    match container {
        Some(container) => Some(container.name()),
        None if bytes.get(TAR..).is_some_and(|rest| rest.starts_with(b"ustar")) => {
            Some("an archive of tar")
        }
        None if bytes.starts_with(ELF) && !super::is_core(bytes) => Some("a program (ELF)"),
        None if PERF.iter().any(|magic| bytes.starts_with(magic)) => Some("a perf.data file"),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn packed(bytes: &[u8]) -> Bytes {
        let mut out = GzEncoder::new(Vec::new(), Compression::default());
        out.write_all(bytes).unwrap();
        Bytes::from(out.finish().unwrap())
    }

    #[test]
    fn contents_are_read_or_named() {
        let trace: Vec<u8> = (0..=255).cycle().take(5000).collect();
        assert_eq!(unpacked(&packed(&trace)), Some(Ok(Bytes::from(trace.clone()))));
        assert_eq!(unpacked(&Bytes::from(trace.clone())), None);
        let tar = [vec![b'a'; TAR_AT], b"ustar\0".to_vec(), vec![0; 200]].concat();
        for (inside, want) in [
            (tar, "tar"),
            (b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x02\0".to_vec(), "ELF"),
            (b"PERFILE2........".to_vec(), "perf.data"),
            (b"PK\x03\x04..........................version".to_vec(), "sigrok"),
        ] {
            let error = unpacked(&packed(&inside)).unwrap().unwrap_err();
            assert!(error.contains(want) && error.contains("gzip -dk"), "{error}");
        }
        let whole = packed(&trace);
        let cut = Bytes::from(whole[..whole.len() / 2].to_vec());
        assert!(unpacked(&cut).unwrap().unwrap_err().contains("damaged"));
    }

    /// 64 MiB of zeros are read, and no more of so few bytes.
    #[test]
    fn contents_are_bounded_by_the_size_of_the_file() {
        let zeros = vec![0; 1 << 26];
        assert_eq!(unpacked(&packed(&zeros)).unwrap().unwrap().len(), zeros.len());
        let many = packed(&vec![0; 1 << 27]);
        let error = unpacked(&many).unwrap().unwrap_err();
        let want =
            format!("whose contents have more than {} bytes; unpack", (1 << 26) + 8 * many.len());
        assert!(error.contains(&want), "{error}");
    }

    const TAR_AT: usize = 257;
}
