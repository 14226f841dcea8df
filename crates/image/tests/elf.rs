//! ELF files: made from the System V gABI, and read from captures.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tracewright_base::{Code, Isa, Pc, Space, Waypoints};
use tracewright_image::{
    Bytes, Cache, CacheOptions, Elf, ElfError, Image, Load, OnDemand, SpaceMask,
};
use tracewright_testing::shared;

const ANYONE: Space = Space::ANY;

/// A file that is not in memory: counts the bytes that are read, and is never read as a whole.
#[derive(Debug)]
struct Outside(Vec<u8>, AtomicUsize);

/// Bytes of a block.
const BLOCK: usize = 64;

impl Outside {
    fn of(bytes: &[u8]) -> Arc<Outside> {
        Arc::new(Outside(bytes.to_vec(), AtomicUsize::new(0)))
    }

    fn count(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }
}

impl OnDemand for Outside {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let len = rest.len().min(into.len());
        into[..len].copy_from_slice(&rest[..len]);
        self.1.fetch_add(len, Ordering::Relaxed);
        Ok(len)
    }

    fn all(&self) -> &[u8] {
        panic!("the file is read as a whole");
    }

    fn run(&self, offset: u64) -> &[u8] {
        let end = (offset as usize / BLOCK * BLOCK + BLOCK).min(self.0.len());
        self.1.fetch_add(BLOCK, Ordering::Relaxed);
        self.0.get(offset as usize..end).unwrap_or_default()
    }
}

/// Of a large file, headers, symbols and the memory that is used are read.
#[test]
fn a_large_file_is_read_in_parts() {
    for shape in [A32, A64] {
        let mut bytes = file(shape);
        // What is not in a segment.
        bytes.resize(16 << 20, 0xa5);
        let outside = Outside::of(&bytes);
        let load = Load::default();
        let want = Elf::read(&bytes.into(), "a.elf", load).unwrap();
        let got = Elf::read(&Bytes::on_demand(outside.clone()), "a.elf", load).unwrap();
        assert!(outside.count() < 2_000, "{}", outside.count());
        assert_eq!(got.segments, want.segments);
        let symbol = |elf: &Elf| elf.symbols.at(0x8002).map(|s| (s.name.to_owned(), s.start));
        assert_eq!(symbol(&got).unwrap().0, "main");
        assert_eq!(symbol(&got), symbol(&want));
        let (got, want) = (Image::new(got.regions), Image::new(want.regions));
        let read = |image: &Image| {
            let mut out = [0; 40];
            let len = image.read(image.view(ANYONE), 0x8000, u64::MAX, &mut out);
            out[..len].to_vec()
        };
        assert_eq!(read(&got), read(&want));
        assert_eq!(read(&got).len(), 16);
        assert!(outside.count() < 3_000, "{}", outside.count());
        assert_eq!(Elf::address_of(&Bytes::on_demand(outside), "data"), Some(0x8004));
    }
}

/// Tables that a header claims to be everywhere in a file are read once.
#[test]
fn claimed_tables_are_bounded() {
    let bytes = file(A64);
    let (sections, entry) = (u64::from_le_bytes(*bytes[40..].first_chunk().unwrap()) as usize, 64);
    let mut large = bytes.clone();
    large.resize(1 << 20, 0);
    // All sections extend from the beginning to the end of the file.
    for section in 1..4 {
        let at = sections + section * entry + 24;
        large[at..at + 8].fill(0);
        large[at + 8..at + 16].copy_from_slice(&(1u64 << 40).to_le_bytes());
    }
    let outside = Outside::of(&large);
    let _ = Elf::read(&Bytes::on_demand(outside.clone()), "a.elf", Load::default());
    assert!(outside.count() <= 2 * large.len(), "{}", outside.count());
}

/// Writes an ELF file: numbers of 2 bytes (`half`), of 4 (`word`), and of the size of an address.
struct File {
    bytes: Vec<u8>,
    bits64: bool,
    big: bool,
}

impl File {
    fn number(&mut self, value: u64, size: usize) {
        let little = value.to_le_bytes();
        let number = little.iter().take(size);
        if self.big {
            self.bytes.extend(number.rev());
        } else {
            self.bytes.extend(number);
        }
    }

    fn row(&mut self, fields: &[(u64, char)]) {
        for &(value, size) in fields {
            let long = if self.bits64 { 8 } else { 4 };
            self.number(
                value,
                match size {
                    'h' => 2,
                    'w' => 4,
                    _ => long,
                },
            );
        }
    }
}

/// What varies between the files of these tests.
#[derive(Clone, Copy)]
struct Shape {
    bits64: bool,
    big: bool,
    kind: u64,
    machine: u64,
    flags: u64,
}

/// A build identifier in a section that no segment has, as stripped or embedded programs have it.
#[test]
fn build_ids_of_sections() {
    for shape in [A32, A64, Shape { big: true, ..A64 }] {
        let mut f = File { bytes: file(shape), bits64: shape.bits64, big: shape.big };
        assert_eq!(
            Elf::read(&f.bytes.clone().into(), "a.elf", Load::default()).unwrap().build_id,
            None
        );
        let sections = f.bytes.len() as u64;
        // A table with the null section and one of notes. Name, type, flags, address, offset, size,
        // link, info, alignment, size of entries.
        let entry = if shape.bits64 { 64 } else { 40 };
        let note = sections + 2 * entry;
        for (kind, offset, size) in [(0, 0, 0), (7, note, 20)] {
            f.row(&[(0, 'w'), (kind, 'w'), (0, 'a'), (0, 'a'), (offset, 'a'), (size, 'a')]);
            f.row(&[(0, 'w'), (0, 'w'), (4, 'a'), (0, 'a')]);
        }
        // The lengths of the name and of the identifier, and NT_GNU_BUILD_ID.
        f.row(&[(4, 'w'), (4, 'w'), (3, 'w')]);
        f.bytes.extend(b"GNU\0\x01\x02\x03\x04");
        let all = std::mem::take(&mut f.bytes);
        // e_shoff, and e_shnum.
        let (table, count) = if shape.bits64 { (40, 60) } else { (32, 48) };
        f.row(&[(sections, 'a'), (2, 'h')]);
        let mut patched = all;
        let (offset, number) = f.bytes.split_at(f.bytes.len() - 2);
        patched[table..table + offset.len()].copy_from_slice(offset);
        patched[count..count + 2].copy_from_slice(number);
        let outside = Bytes::on_demand(Outside::of(&patched));
        for bytes in [Bytes::from(patched), outside] {
            let elf = Elf::read(&bytes, "a.elf", Load::default()).unwrap();
            assert_eq!(elf.build_id.as_deref(), Some(&[1, 2, 3, 4][..]));
        }
    }
}

const EXEC: u64 = 2;
const DYN: u64 = 3;
const ARM: u64 = 40;
const AARCH64: u64 = 183;
const A64: Shape = Shape { bits64: true, big: false, kind: EXEC, machine: AARCH64, flags: 0 };
const A32: Shape =
    Shape { bits64: false, big: false, kind: EXEC, machine: ARM, flags: 0x0500_0000 };

/// 16 bytes of code at 0x8000, all in the file, 16 more bytes of memory, and a second segment at
/// 0x9000, of which the file has 4 of 8 bytes.
fn file(shape: Shape) -> Vec<u8> {
    let Shape { bits64, big, kind, machine, flags } = shape;
    let (header, program, section, symbol) =
        if bits64 { (64, 56, 64, 24) } else { (52, 32, 40, 16) };
    let strings = b"\0main\0tail\0$x\0label\0data\0outer\0";
    let code = header + 2 * program;
    let names = code + 16;
    let symbols = names + strings.len() as u64;
    let sections = symbols + 7 * symbol;
    let end = sections + 4 * section;

    let mut f = File { bytes: Vec::new(), bits64, big };
    f.bytes.extend([0x7f, b'E', b'L', b'F', 1 + u8::from(bits64), 1 + u8::from(big), 1]);
    f.bytes.resize(16, 0);
    // type machine version entry phoff shoff flags ehsize phentsize phnum shentsize shnum shstrndx
    f.row(&[(kind, 'h'), (machine, 'h'), (1, 'w'), (0x8001, 'a'), (header, 'a'), (sections, 'a')]);
    f.row(&[
        (flags, 'w'),
        (header, 'h'),
        (program, 'h'),
        (2, 'h'),
        (section, 'h'),
        (4, 'h'),
        (0, 'h'),
    ]);
    for (offset, address, in_file, in_memory, access) in
        [(code, 0x8000, 16, 32, 5), (end, 0x9000, 8, 8, 6)]
    {
        f.row(&[(1, 'w')]);
        if bits64 {
            f.row(&[(access, 'w')]);
        }
        f.row(&[(offset, 'a'), (address, 'a'), (address, 'a'), (in_file, 'a'), (in_memory, 'a')]);
        if !bits64 {
            f.row(&[(access, 'w')]);
        }
        f.row(&[(4, 'a')]);
    }
    f.bytes.extend(0xc0..0xd0);
    f.bytes.extend(strings);
    // The null symbol, then: name, value, size, type and binding, section.
    for (name, value, size, info, section) in [
        (0, 0, 0, 0, 0),
        (1, 0x8001, 4, 0x12, 1),
        (6, 0x800c, 0, 0x12, 1),
        (11, 0x8000, 0, 0x00, 1),
        (14, 0x8002, 0, 0x00, 1),
        (20, 0x8004, 4, 0x11, 1),
        (25, 0x8008, 0, 0x02, 1),
    ] {
        if bits64 {
            f.row(&[(name, 'w'), (info | section << 16, 'w'), (value, 'a'), (size, 'a')]);
        } else {
            f.row(&[(name, 'w'), (value, 'a'), (size, 'a')]);
            f.row(&[(info | section << 16, 'w')]);
        }
    }
    // name type flags address offset size link info align entsize
    for (kind, flags, address, offset, size, link, entry) in [
        (0, 0, 0, 0, 0, 0, 0),
        (1, 6, 0x8000, code, 16, 0, 0),
        (2, 0, 0, symbols, 7 * symbol, 3, symbol),
        (3, 0, 0, names, strings.len() as u64, 0, 0),
    ] {
        f.row(&[(0, 'w'), (kind, 'w'), (flags, 'a'), (address, 'a'), (offset, 'a'), (size, 'a')]);
        f.row(&[(link, 'w'), (0, 'w'), (1, 'a'), (entry, 'a')]);
    }
    assert_eq!(f.bytes.len() as u64, end);
    f.bytes.extend([0xe0, 0xe1, 0xe2, 0xe3]);
    f.bytes
}

fn read(image: &Image, address: u64) -> Vec<u8> {
    let mut out = vec![0; 64];
    let len = image.read(image.view(ANYONE), address, u64::MAX, &mut out);
    out.truncate(len);
    out
}

#[test]
fn segments_are_memory() {
    for (shape, bias) in [(A64, 0), (A32, 0), (Shape { kind: DYN, ..A64 }, 0x7f_0000_0000)] {
        let image = Image::from_elf(&file(shape).into(), "a.elf", bias).unwrap();
        assert_eq!(read(&image, bias + 0x8000), (0xc0..0xd0).collect::<Vec<u8>>());
        assert_eq!(read(&image, bias + 0x9000), [0xe0, 0xe1, 0xe2, 0xe3]);
        assert_eq!(read(&image, bias + 0x8010), []);
        let missing: Vec<_> = image.regions().iter().map(|r| r.missing()).collect();
        assert_eq!(missing, [0, 4]);
        assert!(image.regions().iter().all(|r| r.name() == "a.elf"));
    }
}

#[test]
fn bytes_that_are_not_in_the_file_are_zero_on_request() {
    let load = Load { zeros: true, bias: 0x100, spaces: SpaceMask::EL1N };
    let elf = Elf::read(&file(A64).into(), "a.elf", load).unwrap();
    assert!(elf.regions.iter().all(|r| r.spaces() == SpaceMask::EL1N));
    let image = Image::new(elf.regions);
    assert_eq!(read(&image, 0x8110), [0; 16]);
    assert_eq!(elf.entry, 0x8101);
    assert_eq!((elf.machine, elf.bits64, elf.movable), (183, true, false));
    assert_eq!((elf.segments[0].address, elf.segments[0].executable), (0x8000, true));
    assert_eq!((elf.segments[1].address, elf.segments[1].executable), (0x9000, false));
}

#[test]
fn code_has_names() {
    // Bit 0 of a function selects T32 in an Arm file only.
    for (shape, main) in [(A32, 0x8000), (A64, 0x8001)] {
        let image = Image::from_elf(&file(shape).into(), "a.elf", 0x1_0000).unwrap();
        let name = |address: u64| {
            image.symbols().at(0x1_0000 + address).map(|s| (s.name, s.start, s.size))
        };
        // `label` has no size and is within `main`; `outer` and `tail` end at the next and at the
        // end of the section.
        for address in [0x8001, 0x8002, 0x8003] {
            assert_eq!(name(address), Some(("main", 0x1_0000 + main, 4)));
        }
        assert_eq!(name(0x8006), None);
        assert_eq!(name(0x800b), Some(("outer", 0x1_8008, 4)));
        assert_eq!(name(0x800c), Some(("tail", 0x1_800c, 4)));
        assert_eq!(name(0x8010), None);
        assert_eq!(image.symbols().len(), 4);
    }
}

/// The names of symbols may overlap in one long string: that does not fill memory. No name controls
/// a terminal.
#[test]
fn names_overlap() {
    const LONG: usize = 0x4_0000;
    const MANY: usize = 0x1000;
    let mut bytes = file(A64);
    let (sections, entry) = (u64::from_le_bytes(*bytes[40..].first_chunk().unwrap()), 64);
    let (strings, mut table) = (bytes.len(), vec![0; 24]);
    bytes.extend(std::iter::repeat_n(b'a', LONG));
    bytes.extend(b"\0\x1b[31m\0main\0");
    for n in [LONG as u32 + 1, LONG as u32 + 7].into_iter().chain(0..MANY as u32) {
        table.extend(n.to_le_bytes());
        // A function in section 1.
        table.extend([0x12, 0, 1, 0]);
        table.extend((0x8000 + u64::from(n % 4)).to_le_bytes());
        table.extend(4u64.to_le_bytes());
    }
    for (section, start, len) in [(2, strings + LONG + 12, table.len()), (3, strings, LONG + 12)] {
        let offset = sections as usize + section * entry + 24;
        bytes[offset..offset + 8].copy_from_slice(&(start as u64).to_le_bytes());
        bytes[offset + 8..offset + 16].copy_from_slice(&(len as u64).to_le_bytes());
    }
    bytes.extend(table);
    let len = bytes.len();
    let symbols = Elf::read(&bytes.into(), "a.elf", Load::default()).unwrap().symbols;
    let names: Vec<_> = symbols.iter().map(|symbol| symbol.name).collect();
    assert!(names.contains(&"main") && !names.iter().any(|name| name.contains('\x1b')));
    let all: usize = names.iter().map(|name| name.len()).sum();
    assert!((len..=8 * len).contains(&all), "{all} bytes of names in a file of {len}");
}

#[test]
fn data_may_be_big_endian_but_not_code() {
    let image = Image::from_elf(&file(Shape { big: true, ..A64 }).into(), "be", 0).unwrap();
    assert_eq!(read(&image, 0x8000)[..4], [0xc0, 0xc1, 0xc2, 0xc3]);
    // BE-8: big-endian data, little-endian instructions.
    let be8 = Shape { big: true, flags: 0x0580_0000, ..A32 };
    assert!(Image::from_elf(&file(be8).into(), "be8", 0).is_ok());
}

#[test]
fn files_without_memory_are_refused() {
    let mut no_segments = file(A64);
    // e_phnum
    no_segments[56] = 0;
    let mut beyond = file(A64);
    // The top byte of e_phoff.
    beyond[39] = 0x7f;
    for (bytes, want) in [
        (vec![], ElfError::NotElf),
        (b"\x7fELF".to_vec(), ElfError::NotElf),
        (vec![0; 100], ElfError::NotElf),
        (file(Shape { kind: 1, ..A64 }), ElfError::Relocatable),
        (file(Shape { big: true, ..A32 }), ElfError::BigEndianCode),
        (no_segments, ElfError::NoSegments),
    ] {
        assert_eq!(Image::from_elf(&bytes.into(), "a.elf", 0).err(), Some(want));
    }
    for bytes in [beyond, file(A64)[..40].to_vec()] {
        let error = Image::from_elf(&bytes.into(), "a.elf", 0).err();
        assert!(matches!(error, Some(ElfError::Malformed(_))), "{error:?}");
    }
}

#[test]
fn a_damaged_file_does_not_panic() {
    for shape in [A64, A32] {
        let whole = file(shape);
        for cut in 0..whole.len() {
            let _ = Image::from_elf(&whole[..cut].to_vec().into(), "cut", 0);
        }
        for offset in 0..whole.len() {
            for value in [0x00, 0x7f, 0x80, 0xff] {
                let mut damaged = whole.clone();
                damaged[offset] = value;
                if let Ok(image) = Image::from_elf(&damaged.into(), "damaged", u64::MAX - 7) {
                    read(&image, 0x8000);
                    image.conflicts();
                }
            }
        }
    }
}

/// Values as `readelf -lsW` prints them.
#[test]
fn programs_of_captures() {
    for (path, name, address, size, isa) in [
        ("sigrok-stm32f105/trace_example.elf", "main", 0x0800_021c, 152, Isa::T32),
        ("ti-am243x-r5f/freertos/freertos.out", "main_task", 0x700a_9460, 112, Isa::T32),
        ("ricsec-decoder/branches/branches", "main", 0x900, 64, Isa::A64),
        ("ricsec-decoder/branches/libc-2.31.so", "printf", 0x4_d2f8, 192, Isa::A64),
        ("riscv/etrace-ref/elf/dhrystone.riscv", "Proc_1", 0x8000_11d6, 160, Isa::Rv64),
        ("riscv/etrace-ref/elf/own_calls_rv32.elf", "main", 0x8000_0388, 320, Isa::Rv32),
        ("riscv/etrace-ref/elf/xrle.riscv", "main", 0x2001_0522, 136, Isa::Rv32),
    ] {
        let Some(path) = shared(&format!("captures/{path}")) else { return };
        let bytes = Bytes::from(std::fs::read(&path).unwrap());
        let image = Image::from_elf(&bytes, &path.display().to_string(), 0).unwrap();
        let outside = Bytes::on_demand(Outside::of(&bytes));
        let parts = Elf::read(&outside, "parts", Load::default()).unwrap();
        assert!(parts.symbols.iter().eq(image.symbols().iter()));
        let symbol = image.symbols().at(address).unwrap();
        assert_eq!((symbol.name, symbol.start, symbol.size), (name, address, size));

        // The whole function can be walked, block by block.
        let mut cache = Cache::new(Arc::new(image), Waypoints::default(), CacheOptions::default());
        let mut at = address;
        while at < address + size {
            let block = cache.block(Pc { address: at, isa, space: ANYONE }).unwrap();
            assert!(block.instructions > 0, "0x{at:x}");
            at = block.next();
        }
    }
}
