//! Files that are recognised by their content and hold no trace data as they are: archives,
//! recordings of levels, memory images as text.

use std::fmt;

use tracewright_base::remedy::{IMAGE, PINS, PROTOCOL};

use crate::gnatcov;

/// A file format that is named instead of being read as trace data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container {
    /// A session file of sigrok: a ZIP archive that begins with its member `version` or `metadata`.
    Sigrok,
    /// A Value Change Dump.
    Vcd,
    /// Another ZIP archive.
    Zip,
    /// A file compressed by gzip.
    Gzip,
    /// A file compressed by xz.
    Xz,
    /// A file compressed by Zstandard.
    Zstandard,
    /// A memory image as Intel HEX records.
    IntelHex,
    /// A memory image as Motorola S-records.
    SRecords,
    /// A Linux kernel: `Image` of arm64 or RISC-V, or `zImage` of arm.
    Kernel,
    /// An image of U-Boot (`uImage`).
    UBoot,
    /// A flattened device tree, or a FIT image of U-Boot.
    DeviceTree,
    /// An Android boot image.
    AndroidBoot,
    /// A program in blocks of UF2.
    Uf2,
    /// A program of Windows or EFI (PE).
    Pe,
    /// An execution trace of GNATcoverage.
    ExecutedBlocks,
}

impl Container {
    /// The format of a file with the first bytes `head`.
    pub fn probe(head: &[u8]) -> Option<Container> {
        if head.starts_with(b"PK\x03\x04") {
            // The name of the first member follows 30 bytes of header. (APPNOTE.TXT 6.3, 4.3.7)
            let name = head.get(30..).unwrap_or_default();
            let sigrok = name.starts_with(b"version") || name.starts_with(b"metadata");
            return Some(if sigrok { Container::Sigrok } else { Container::Zip });
        }
        let magics: [(&[u8], Container); 8] = [
            (gnatcov::MAGIC, Container::ExecutedBlocks),
            (b"\x1f\x8b\x08", Container::Gzip),
            (b"\xfd7zXZ\0", Container::Xz),
            (b"\x28\xb5\x2f\xfd", Container::Zstandard),
            (b"$date", Container::Vcd),
            (b"$version", Container::Vcd),
            (b"$timescale", Container::Vcd),
            (b"$scope", Container::Vcd),
        ];
        let magic = magics.iter().find(|(magic, _)| head.starts_with(magic));
        if let Some((_, container)) = magic {
            return Some(*container);
        }
        if let Some(program) = program(head) {
            return Some(program);
        }
        let mut lines = head.split(|byte| *byte == b'\n');
        let line = lines.next()?.trim_ascii_end();
        match line.split_first()? {
            (b':', digits) => {
                let record = hex(digits)?;
                let sum = record.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
                let len = usize::from(*record.first()?) + 5;
                (sum == 0 && record.len() == len).then_some(Container::IntelHex)
            }
            (b'S', [b'0'..=b'9', digits @ ..]) => {
                let record = hex(digits)?;
                let sum = record.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
                let len = usize::from(*record.first()?) + 1;
                (sum == 0xff && record.len() == len).then_some(Container::SRecords)
            }
            _ => None,
        }
    }

    /// The name of the format.
    pub const fn name(self) -> &'static str {
        match self {
            Container::Sigrok => "a session of sigrok (.sr)",
            Container::Vcd => "a Value Change Dump",
            Container::Zip => "a ZIP archive",
            Container::Gzip => "a file compressed by gzip",
            Container::Xz => "a file compressed by xz",
            Container::Zstandard => "a file compressed by Zstandard",
            Container::IntelHex => "a memory image in Intel HEX records",
            Container::SRecords => "a memory image in Motorola S-records",
            Container::Kernel => "a Linux kernel image",
            Container::UBoot => "an image of U-Boot (uImage)",
            Container::DeviceTree => "a device tree, or a FIT image of U-Boot",
            Container::AndroidBoot => "an Android boot image",
            Container::Uf2 => "a program in blocks of UF2",
            Container::Pe => "a program of Windows or EFI (PE)",
            Container::ExecutedBlocks => "an execution trace of GNATcoverage",
        }
    }

    /// Whether the file has memory in records, of which a trace buffer may be a part, or trace data
    /// that are compressed.
    pub const fn is_memory(self) -> bool {
        use Container::{Gzip, IntelHex, SRecords, Uf2};
        matches!(self, IntelHex | SRecords | Uf2 | Gzip)
    }

    /// What a user can do with it.
    pub fn help(self) -> String {
        match self {
            Container::Sigrok | Container::Vcd => {
                format!(
                    "of a parallel trace port give it with {PINS} and {PROTOCOL}; of a serial wire (SWO) \
                 read it with `tracewright itm`"
                )
            }
            Container::Zip => "unpack it with `unzip`, and give the capture in it".into(),
            Container::Gzip => "unpack it with `gzip -dk`, and give the result".into(),
            Container::Xz => "unpack it with `xz -dk`, and give the result".into(),
            Container::Zstandard => "unpack it with `zstd -d`, and give the result".into(),
            Container::IntelHex | Container::SRecords => {
                format!(
                    "a program belongs to {IMAGE}, which reads its addresses; convert trace data to \
                 bytes with `objcopy -I ihex -O binary` (`-I srec` for S-records)"
                )
            }
            Container::Kernel => {
                format!(
                    "give the capture, and the ELF file of the kernel (vmlinux) with {IMAGE}; an Image \
                 that is not compressed is program memory with {IMAGE} FILE@ADDRESS"
                )
            }
            Container::Uf2 => format!("give the capture, and this file with {IMAGE}"),
            Container::UBoot | Container::AndroidBoot => {
                format!("give the capture, and the ELF file of the program with {IMAGE}")
            }
            Container::DeviceTree => "give the capture".into(),
            Container::ExecutedBlocks => {
                format!(
                    "it has no order of execution; `tracewright coverage` reads it with {IMAGE}"
                )
            }
            Container::Pe => {
                format!(
                    "give the capture, and the program as ELF, or its memory as FILE@ADDRESS, with {IMAGE}"
                )
            }
        }
    }
}

impl fmt::Display for Container {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Executable images, by their magic numbers.
fn program(head: &[u8]) -> Option<Container> {
    // The offset of a magic number, and its bytes. Linux: Documentation/arch/arm64/booting.rst,
    // Documentation/arch/riscv/boot-image-header.rst, arch/arm/boot/compressed/head.S.
    let magics: [(usize, &[u8], Container); 8] = [
        (0x38, b"ARM\x64", Container::Kernel),
        (0x38, b"RSC\x05", Container::Kernel),
        (0x24, b"\x18\x28\x6f\x01", Container::Kernel),
        (0x24, b"\x01\x6f\x28\x18", Container::Kernel),
        (0, b"\x27\x05\x19\x56", Container::UBoot),
        (0, b"\xd0\x0d\xfe\xed", Container::DeviceTree),
        (0, b"ANDROID!", Container::AndroidBoot),
        (0, b"UF2\n\x57\x51\x5d\x9e", Container::Uf2),
    ];
    let is_at = |at: usize, magic: &[u8]| head.get(at..).is_some_and(|at| at.starts_with(magic));
    let found = magics.iter().find(|(at, magic, _)| is_at(*at, magic));
    if let Some((.., container)) = found {
        return Some(*container);
    }
    // The offset of the PE header is at 0x3c. (PE format, "MS-DOS stub")
    let at = head.get(0x3c..0x40)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))?;
    let pe = head.starts_with(b"MZ") && is_at(usize::try_from(at).ok()?, b"PE\0\0");
    pe.then_some(Container::Pe)
}

/// Bytes from pairs of hexadecimal digits. `None` where there is anything else.
pub(crate) fn hex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match *pair {
        [high, low] => u8::try_from(digit(high)? * 16 + digit(low)?).ok(),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised() {
        let at = |at: usize, magic: &[u8]| [&vec![0x5a; at], magic, &[0; 64]].concat();
        let mut efi = at(0, b"MZ");
        efi.resize(0x84, 0);
        efi[0x3c] = 0x80;
        efi[0x80..].copy_from_slice(b"PE\0\0");
        let zip = |name: &[u8]| [b"PK\x03\x04".as_slice(), &[0; 26], name].concat();
        for (head, want) in [
            (zip(b"version2"), Some(Container::Sigrok)),
            (zip(b"metadata"), Some(Container::Sigrok)),
            (zip(b"dump.bin"), Some(Container::Zip)),
            (b"\x1f\x8b\x08\0".to_vec(), Some(Container::Gzip)),
            (b"\xfd7zXZ\0\0".to_vec(), Some(Container::Xz)),
            (b"\x28\xb5\x2f\xfd\x04".to_vec(), Some(Container::Zstandard)),
            (b"$date today $end".to_vec(), Some(Container::Vcd)),
            // 16 bytes at 0x0100, and an end record.
            (
                b":10010000214601360121470136007EFE09D2190140\r\n:00000001FF\r\n".to_vec(),
                Some(Container::IntelHex),
            ),
            (b"S00F000068656C6C6F202020202000003C\n".to_vec(), Some(Container::SRecords)),
            (at(0x38, b"ARM\x64"), Some(Container::Kernel)),
            (at(0x38, b"RSC\x05"), Some(Container::Kernel)),
            (at(0x24, &0x016f_2818u32.to_le_bytes()), Some(Container::Kernel)),
            (at(0x24, &0x016f_2818u32.to_be_bytes()), Some(Container::Kernel)),
            (at(0, &0x2705_1956u32.to_be_bytes()), Some(Container::UBoot)),
            (at(0, &0xd00d_feedu32.to_be_bytes()), Some(Container::DeviceTree)),
            (at(0, b"ANDROID!"), Some(Container::AndroidBoot)),
            (at(0, b"UF2\n\x57\x51\x5d\x9e"), Some(Container::Uf2)),
            (efi.clone(), Some(Container::Pe)),
            (at(0, b"#QEMU-Traces\x01\x02"), Some(Container::ExecutedBlocks)),
            (efi[..0x80].to_vec(), None),
            // The checksum or the length is wrong.
            (b":10010000214601360121470136007EFE09D2190141\n".to_vec(), None),
            (b":0F010000214601360121470136007EFE09D2190141\n".to_vec(), None),
            (b"S00F000068656C6C6F202020202000003D\n".to_vec(), None),
            (b":\n".to_vec(), None),
            (b"S".to_vec(), None),
            (vec![0, 0, 0, 0, 0, 0x80], None),
            (Vec::new(), None),
        ] {
            assert_eq!(Container::probe(&head), want, "{head:x?}");
        }
    }
}
