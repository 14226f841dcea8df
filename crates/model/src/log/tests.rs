//! Logs in each format, to entries, to steps, and back.

use std::vec::Vec;

use tracewright_base::{Access, Cause, Direction, Isa, Step};

use super::{Assembler, Entry, Format, Lookup, Reader, Writer};

fn entries(format: Format, isa: Isa, text: &str) -> Vec<Entry> {
    let mut whole = Vec::new();
    let mut reader = Reader::new(format, isa);
    reader.feed(text.as_bytes(), &mut |entry| whole.push(entry)).unwrap();
    reader.finish(&mut |entry| whole.push(entry)).unwrap();
    // Byte by byte it is the same.
    let mut parts = Vec::new();
    let mut reader = Reader::new(format, isa);
    for byte in text.as_bytes() {
        reader.feed(&[*byte], &mut |entry| parts.push(entry)).unwrap();
    }
    reader.finish(&mut |entry| parts.push(entry)).unwrap();
    assert_eq!(parts, whole);
    whole
}

fn text(format: Format, isa: Isa, entries: &[Entry]) -> String {
    let mut writer = Writer::new(format, isa != Isa::Rv32);
    entries.iter().for_each(|entry| writer.entry(entry));
    writer.finish();
    String::from_utf8(writer.take()).unwrap()
}

fn steps(entries: &[Entry]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut assembler = Assembler::new(Lookup::default());
    let mut say = |_: u16, step: &Step| steps.push(*step);
    entries.iter().for_each(|entry| assembler.entry(entry, &mut say));
    assembler.finish(&mut say);
    steps
}

/// Steps in a few letters: addresses, `!` where not taken, `X` for exceptions.
fn short(steps: &[Step]) -> String {
    let words = steps.iter().filter_map(|step| {
        Some(match step {
            Step::Retired(r) => {
                format!("{:x}{}>{:x}", r.address, if r.taken { "" } else { "!" }, r.next)
            }
            Step::Exception(t) => format!("X{:?}:{:x}>{:x}", t.cause, t.return_address, t.target),
            Step::Access(a) => format!(
                "{}{}@{:x}={:x}",
                if a.direction == Direction::Write { "w" } else { "r" },
                a.size,
                a.address()?,
                a.value()?
            ),
            Step::Context(c) => format!("el{}", c.el.map_or(-1, i32::from)),
            other => format!("{other:?}"),
        })
    });
    words.collect::<Vec<_>>().join(" ")
}

const SPIKE: &str = "\
core   0: >>>>  main
core   0: 0x0000000080000000 (0x00052583) lw      a1, 0(a0)
core   0: 3 0x0000000080000000 (0x00052583) x11 0xfffffffffffffff7 mem 0x0000000080002000
core   0: 0x0000000080000004 (0x00b52023) sw      a1, 0(a0)
core   0: 3 0x0000000080000004 (0x00b52023) mem 0x0000000080002000 0x00000007
core   0: 0x0000000080000008 (0x00000073) ecall
core   0: exception trap_machine_ecall, epc 0x0000000080000008
core   0:           tval 0x0000000000000000
core   0: 0x0000000080000100 (0x0001) c.nop
core   0: 3 0x0000000080000100 (0x0001)
core   0: exception interrupt #7, epc 0x0000000080000102
core   0: 0x0000000080000100 (0x0001) c.nop
";

#[test]
fn spike_with_both_kinds_of_line() {
    let read = entries(Format::Spike, Isa::Rv64, SPIKE);
    assert_eq!(
        short(&steps(&read)),
        "el3 80000000>80000004 r4@80002000=fffffff7 80000004>80000008 w4@80002000=7 \
         XRiscv { code: 11, interrupt: false }:80000008>80000100 80000100>80000102 \
         XRiscv { code: 7, interrupt: true }:80000102>80000100 80000100>80000102"
    );
    // Written and read again, it is the same.
    let written = text(Format::Spike, Isa::Rv64, &read);
    assert_eq!(short(&steps(&entries(Format::Spike, Isa::Rv64, &written))), short(&steps(&read)));
}

#[test]
fn spike_in_columns() {
    let log = "VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT\n\
               1,80000228,1,3,0,0,0,0\n1,8000022a,9002,3,1,3,8000022a,0\n1,80000100,1,3,0,0,0,0\n\
               1,80000102,1,3,1,8000000000000007,0,1\n1,80000200,1,3,0,0,0,0\n";
    let read = entries(Format::SpikeCsv, Isa::Rv64, log);
    assert_eq!(
        short(&steps(&read)),
        "el3 80000228>8000022a XRiscv { code: 3, interrupt: false }:8000022a>80000100 \
         80000100>80000102 XRiscv { code: 7, interrupt: true }:80000102>80000200 80000200>80000202"
    );
    let written = text(Format::SpikeCsv, Isa::Rv64, &read);
    assert_eq!(entries(Format::SpikeCsv, Isa::Rv64, &written), read);
}

#[test]
fn a_load_has_the_bytes_of_its_size() {
    let read = entries(Format::Spike, Isa::Rv64, SPIKE);
    let accesses: Vec<Access> = steps(&read)
        .iter()
        .filter_map(|step| if let Step::Access(access) = step { Some(*access) } else { None })
        .collect();
    assert_eq!(accesses[0].value(), Some(0xffff_fff7));
    assert_eq!(accesses[0].by(), Some(0x8000_0000));
}

#[test]
fn causes_are_numbers() {
    let read = entries(Format::Spike, Isa::Rv64, SPIKE);
    let causes: Vec<Cause> = steps(&read)
        .iter()
        .filter_map(|step| if let Step::Exception(taken) = step { Some(taken.cause) } else { None })
        .collect();
    let riscv = |code, interrupt| Cause::Riscv { code, interrupt };
    assert_eq!(causes, [riscv(11, false), riscv(7, true)]);
}
