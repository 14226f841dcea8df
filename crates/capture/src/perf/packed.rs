//! Modules of the kernel in compressed files: `.ko.xz`, `.ko.zst` and `.ko.gz`.
//! (Linux 6.1.192, scripts/Makefile.modinst:24 to 27 and 99 to 104)

use std::io::Read;

use super::compressed;
use super::limits::{Budget, UNPACKED_MODULE};
use crate::Bytes;

/// The first bytes of a file in the format xz.
const XZ: &[u8] = b"\xfd7zXZ\0";
/// The first bytes of a file in the format gzip.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// The most memory in KiB for the dictionary of xz.
const XZ_MEMORY: u32 = 1 << 16;

/// The contents of a compressed file; `None` for any other file.
///
/// # Errors
/// Why it cannot be unpacked.
pub(super) fn unpack(file: &Bytes) -> Option<Result<Bytes, String>> {
    let head = file.head(XZ.len());
    let result = if head.starts_with(XZ) {
        read(lzma_rust2::XzReader::new_mem_limit(file.reader(), true, XZ_MEMORY))
    } else if head.starts_with(GZIP) {
        read(flate2::read::MultiGzDecoder::new(file.reader()))
    } else if head.starts_with(&compressed::MAGIC) {
        let mut packed = Vec::new();
        let all = file.part(0, UNPACKED_MODULE).reader().read_to_end(&mut packed);
        all.map_err(|error| error.to_string())
            .and_then(|_| compressed::unpack(&packed, &mut Budget::new(UNPACKED_MODULE)))
    } else {
        return None;
    };
    Some(result.map(Bytes::from))
}

/// All that `reader` unpacks.
fn read(reader: impl Read) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let len = reader.take(UNPACKED_MODULE + 1).read_to_end(&mut bytes);
    match len.map_err(|error| error.to_string())? as u64 {
        ..=UNPACKED_MODULE => Ok(bytes),
        _ => Err(format!("it unpacks to more than {UNPACKED_MODULE} bytes")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    /// "trace" as xz 5.4 and zstd 1.5 write it: `printf trace | xz --check=crc32`, `| zstd -1`.
    #[test]
    fn each_format_is_unpacked() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(b"trace").expect("memory");
        let gzip = gzip.finish().expect("memory");
        for packed in [XZ_OF_TRACE, ZSTD_OF_TRACE, &gzip] {
            let bytes = unpack(&packed.to_vec().into()).expect("compressed").expect("whole");
            assert_eq!(&*bytes.head(9), b"trace");
            let cut = &packed[..packed.len() - 9];
            assert!(unpack(&cut.to_vec().into()).expect("compressed").is_err());
        }
        assert!(unpack(&b"\x7fELF".to_vec().into()).is_none());
    }

    #[test]
    fn files_that_unpack_to_too_much_are_refused() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        let zeros = vec![0; 1 << 20];
        (0..=UNPACKED_MODULE >> 20).for_each(|_| gzip.write_all(&zeros).expect("memory"));
        let gzip = gzip.finish().expect("memory");
        let why = unpack(&gzip.into()).expect("compressed").expect_err("too large");
        assert!(why.contains("unpacks to more than"), "{why}");
    }

    const XZ_OF_TRACE: &[u8] = &[
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x00, 0x21,
        0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x04, 0x74, 0x72, 0x61,
        0x63, 0x65, 0x00, 0x00, 0x00, 0x00, 0xa1, 0xd5, 0x5b, 0x31, 0x00, 0x01, 0x19, 0x05, 0xbc,
        0xe8, 0xec, 0xcb, 0x90, 0x42, 0x99, 0x0d, 0x01, 0x00, 0x00, 0x00, 0x00, 0x01, 0x59, 0x5a,
    ];
    const ZSTD_OF_TRACE: &[u8] = &[
        0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x48, 0x29, 0x00, 0x00, 0x74, 0x72, 0x61, 0x63, 0x65, 0xd1,
        0x4f, 0x48, 0x3f,
    ];
}
