//! A zip archive of files that are stored without compression. (PKWARE APPNOTE 6.3.10)

/// The version of the format that is needed to read it.
const VERSION: u16 = 10;

/// Names are UTF-8. (Section 4.4.4, bit 11)
const UTF_8: u16 = 1 << 11;

/// 1 January 1980, the first day of the format: the same files make the same bytes.
const DAY: u16 = 1 << 5 | 1;

/// The CRC-32 of bytes. (Section 4.4.7)
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 != 0 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

fn halves(out: &mut Vec<u8>, values: &[u16]) {
    values.iter().for_each(|value| out.extend(value.to_le_bytes()));
}

fn words(out: &mut Vec<u8>, values: &[u32]) {
    values.iter().for_each(|value| out.extend(value.to_le_bytes()));
}

/// The archive of these files, with their names. They are small: their sizes and offsets have 32
/// bits.
pub(super) fn pack(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let offset = out.len() as u32;
        let (size, length) = (content.len() as u32, name.len() as u16);
        // What both headers have: flags, method, time, day, checksum, sizes, length of the name.
        let mut shared = Vec::new();
        halves(&mut shared, &[VERSION, UTF_8, 0, 0, DAY]);
        words(&mut shared, &[crc32(content), size, size]);
        halves(&mut shared, &[length, 0]);
        // Section 4.3.7: the local header.
        words(&mut out, &[0x0403_4b50]);
        out.extend(&shared);
        out.extend(name.as_bytes());
        out.extend(content);
        // Section 4.3.12: the header in the central directory.
        words(&mut directory, &[0x0201_4b50]);
        halves(&mut directory, &[VERSION]);
        directory.extend(&shared);
        halves(&mut directory, &[0, 0, 0]);
        words(&mut directory, &[0, offset]);
        directory.extend(name.as_bytes());
    }
    // Section 4.3.16: the end of the central directory.
    let (begin, size, count) = (out.len() as u32, directory.len() as u32, files.len() as u16);
    out.extend(directory);
    words(&mut out, &[0x0605_4b50]);
    halves(&mut out, &[0, 0, count, count]);
    words(&mut out, &[size, begin]);
    halves(&mut out, &[0]);
    out
}
