//! Logs in each format, read to entries and steps, and written.

use std::vec::Vec;

use tracewright_base::{Access, Cause, Direction, Isa, Step};

use crate::assembler::Assembler;
use crate::entry::{Entry, Event, Raised};
use crate::format::Format;
use crate::lookup::Lookup;
use crate::reader::Reader;
use crate::writer::Writer;

fn entries(format: Format, isa: Isa, text: &str) -> Vec<Entry> {
    let mut whole = Vec::new();
    let mut reader = Reader::new(format, isa);
    reader.feed(text.as_bytes(), &mut |entry| whole.push(entry)).unwrap();
    reader.finish(&mut |entry| whole.push(entry)).unwrap();
    // Byte by byte, the result is the same.
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
    let mut emit = |_: u16, step: &Step| steps.push(*step);
    entries.iter().for_each(|entry| assembler.entry(entry, &mut emit));
    assembler.finish(&mut emit);
    steps
}

/// Steps in short form: addresses, `!` if not taken, `X` for exceptions.
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
    // Written and read again, the steps are the same.
    let written = text(Format::Spike, Isa::Rv64, &read);
    assert_eq!(short(&steps(&entries(Format::Spike, Isa::Rv64, &written))), short(&steps(&read)));
}

/// Traps and levels of RISC-V in a log of QEMU: a system call from U, whose instruction has a line
/// and was not retired; a timer interrupt; and an address that cannot be fetched, which has none.
#[test]
fn qemu_of_riscv() {
    let log = "\
IN: 
Priv: 0; Virt: 0
0x0000000080000000:  00000073          ecall
0x0000000080000004:  8082              ret
0x0000000080000100:  30200073          mret
0x0000000080000200:  0001              nop

Trace 0: 0x7f4328000e00 [0000000000000000/0000000080000000/00207600/ff000201] 
riscv_cpu_do_interrupt: hart:0, async:0, cause:0000000000000008, epc:0x0000000080000000, tval:0x0000000000000000, desc=user_ecall
Trace 0: 0x7f4328000f40 [0000000000000000/0000000080000100/00209003/ff000201] 
Trace 0: 0x7f4328001080 [0000000000000000/0000000080000004/00207600/ff000201] 
riscv_cpu_do_interrupt: hart:0, async:0, cause:0000000000000001, epc:0x00000000deadbeee, tval:0x00000000deadbeee, desc=fault_fetch
Trace 0: 0x7f4328000f40 [0000000000000000/0000000080000100/00209003/ff000201] 
Trace 0: 0x7f43280011c0 [0000000000000000/0000000080000200/0020b602/ff000201] 
riscv_cpu_do_interrupt: hart:0, async:1, cause:0000000000000007, epc:0x0000000080000202, tval:0x0000000000000000, desc=m_timer
Trace 0: 0x7f4328001300 [0000000000000000/0000000080000100/00209003/ff000201] 
";
    let read = entries(Format::Qemu, Isa::Rv64, log);
    let want = "el0 XRiscv { code: 8, interrupt: false }:80000000>80000100 el3 80000100>80000004 el0 80000004>deadbeee \
         XRiscv { code: 1, interrupt: false }:deadbeee>80000100 el3 80000100>80000200 el1 80000200>80000202 \
         XRiscv { code: 7, interrupt: true }:80000202>80000100 el3 80000100>80000104";
    assert_eq!(short(&steps(&read)), want);
    let written = text(Format::Qemu, Isa::Rv64, &read);
    assert_eq!(entries(Format::Qemu, Isa::Rv64, &written), read);
    let wrong = "riscv_cpu_do_interrupt: hart:0, async:0, epc:0x8000000e, tval:0x0, desc=?\n";
    let mut reader = Reader::new(Format::Qemu, Isa::Rv64);
    let error = reader.feed(wrong.as_bytes(), &mut |_| {}).unwrap_err().to_string();
    assert!(error.contains("`cause:` in hexadecimal"), "{error}");
}

/// Commit lines of other versions, and of those who write the same: no `core`, two words for a
/// register, CSRs, vector and floating-point registers, both kinds of line with one of them bare.
#[test]
fn spike_of_other_versions() {
    let log = "3 0x0000000080000000 (0x00000297) x 5 0x0000000080000000\n\
        core   0: 0x0000000080000004 (0x30529073) csrw    mtvec, t0\n\
        3 0x0000000080000004 (0x30529073) c773_mtvec 0x0000000080000000\n\
        core   0: 3 0x0000000080000008 (0x0002b507) f10 0x3ff0000000000000 mem 0x0000000080002000\n\
        core   0: 3 0x000000008000000c (0x02056407) e64 m1 l2 v8  0x0001 mem 0x0000000080002000 mem 0x0000000080002008\n\
        core   0: 3 0x0000000080000010 (0x00a2b02f) x0  0x0000000000000001 mem 0x0000000080002000 mem 0x0000000080002000 0x0000000000000002\n\
        core   0: 1 0x0000000080000014 (0x00028067)\n";
    let read = entries(Format::Spike, Isa::Rv64, log);
    let retired: Vec<u64> = steps(&read)
        .iter()
        .filter_map(|s| if let Step::Retired(r) = s { Some(r.address) } else { None })
        .collect();
    assert_eq!(retired, (0..6).map(|n| 0x8000_0000 + 4 * n).collect::<Vec<u64>>());
    let levels = steps(&read).iter().filter(|s| matches!(s, Step::Context(_))).count();
    assert_eq!(levels, 2);
    let accesses: Vec<(Direction, Option<u64>)> = steps(&read)
        .iter()
        .filter_map(
            |s| if let Step::Access(a) = s { Some((a.direction, a.address())) } else { None },
        )
        .collect();
    let (read, write) = (Direction::Read, Direction::Write);
    let at = [(read, 0), (read, 0), (read, 8), (read, 0), (write, 0)];
    assert_eq!(accesses, at.map(|(way, at)| (way, Some(0x8000_2000 + at))));
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

const TARMAC: &str = "\
Tarmac Text Rev 3t
0 clk cpu0 E 00008000 00000001 CoreEvent_RESET
1 clk cpu0 IT (1) 00008000 e1a00000 A svc_s : NOP
2 clk cpu0 IS (2) 00008004 0afffffe A svc_s : BEQ 0x8004
2 clk cpu0 R r0 00000016
3 clk cpu0 IT (3) 00008008 e5910000 A svc_s : LDR r0,[r1]
3 clk cpu0 MR4 20000000:0020000000_NS 12345678
4 clk cpu0 IT (4) 0000800c fa000000 A svc_s : BLX 0x8014
5 clk cpu0 IT (5) 00008014 bf00 T svc_s : NOP
5 clk cpu0 E 00008016 00000007 CoreEvent_IRQ
6 clk cpu0 IT (6) 00000018 e1a00000 A irq_s : NOP
7 clk cpu0 TTW DTLB LPAE 1:0 000080004000 0000000000000000
7 clk cpu1 IT (1) 0000000080000000 d4000001 O EL0t_n : SVC #0
7 clk cpu1 E 0000000080000000 00000088 CoreEvent_LOWER_64_SYNC
7 clk cpu1 R ELR_EL1 0000000080000004
8 clk cpu1 IT (2) 0000000080000400 d503201f O EL1h_n : NOP
";

#[test]
fn tarmac() {
    let read = entries(Format::Tarmac, Isa::A32, TARMAC);
    let mut assembler = Assembler::new(Lookup::default());
    let mut each = [Vec::new(), Vec::new()];
    let mut emit = |cpu: u16, step: &Step| each[usize::from(cpu)].push(*step);
    read.iter().for_each(|entry| assembler.entry(entry, &mut emit));
    assembler.finish(&mut emit);
    assert_eq!(
        short(&each[0]),
        "el-1 XReset:0>8000 el1 8000>8004 8004!>8008 8008>800c r4@20000000=12345678 800c>8014 \
         8014>8016 XIrq:8016>18 18>1c"
    );
    assert_eq!(
        short(&each[1]),
        "el0 80000000>80000004 XCall:80000004>80000400 el1 80000400>80000404"
    );
    // Written and read again, the steps are the same.
    let written = text(Format::Tarmac, Isa::A32, &read);
    let again = entries(Format::Tarmac, Isa::A32, &written);
    assert_eq!(short(&steps_of(&again, 1)), short(&each[1]));
}

/// The steps of one processor.
fn steps_of(entries: &[Entry], cpu: u16) -> Vec<Step> {
    let all: Vec<Entry> = entries.iter().filter(|entry| entry.cpu == cpu).copied().collect();
    steps(&all)
}

const QEMU: &str = "\
----------------
IN: _start
0x0000000000400580:  d2800020  mov      x0, #1

Trace 0: 0x7fbfa0000100 [0000000001009331/0000000000400580/00000001/00000201] _start
Trace 0: 0x7fbfa0000200 [0000000001009331/0000000000400584/00000001/00000201] _start
Stopped execution of TB chain before 0x7fbfa0000200 [0000000000400584] _start
Taking exception 5 [IRQ] on CPU 0
...from EL0 to EL1
...with ESR 0x15/0x56000000
...with ELR 0x400584
...to EL1 PC 0x8480 PSTATE 0x3c5
Trace 0: 0x7fbfa0000300 [0000000001009331/0000000000008480/00000001/00000201] vector
Exception return from AArch64 EL1 to AArch64 EL0 PC 0x400584
0x0000000000400584:  54000040  b.eq     #0x40058c
0x0000000000008480:  d69f03e0  eret
Trace 0: 0x7fbfa0000200 [0000000001009331/0000000000400584/00000001/00000201] _start
";

#[test]
fn qemu_with_exceptions() {
    // Code that is shown before it runs, as QEMU does.
    let log = QEMU
        .replace("Trace 0: 0x7fbfa0000200", "0x400584:  54000040  b.eq\nTrace 0: 0x7fbfa0000200");
    let log =
        log.replace("Trace 0: 0x7fbfa0000300", "0x8480:  d69f03e0  eret\nTrace 0: 0x7fbfa0000300");
    let read = entries(Format::Qemu, Isa::A64, &log);
    assert_eq!(
        short(&steps(&read)),
        "el-1 400580>400584 XIrq:400584>8480 el1 8480>400584 el0 400584!>400588"
    );
}

/// With `-icount`, an instruction that accesses a device is executed again.
#[test]
fn qemu_with_rewound_instructions() {
    let line = |block: &str| {
        format!("Trace 0: {block} [0000000001009331/0000000000400580/00000001/00000201] _start\n")
    };
    let rewound = "cpu_io_recompile: rewound execution of TB to 0000000000400580\n";
    let (first, second) = (line("0x7fbfa0000100"), line("0x7fbfa0000140"));
    let log = QEMU.replace(&first, &format!("{first}{rewound}{second}"));
    assert_ne!(log, QEMU);
    let of = |log: &str| short(&steps(&entries(Format::Qemu, Isa::A64, log)));
    assert_eq!(of(&log), of(QEMU));
}

#[test]
fn qemu_of_both_instruction_sets_and_conditions() {
    let log = "0x8000:  4770       bx lr\n0x8002:  bf18       it ne\n0x8004:  4770       bx lr\n\
               0x8006:  bf00       nop\n0x9000:  0a000000  beq #0x9008\n\
               Trace 0: 0x7f9c7b4000c0 [00800480/00008002/00000000/00000201] \n\
               Trace 0: 0x7f9c7b4000c0 [18800480/00008004/00000000/00000201] \n\
               R15=00008004\nPSR=40000030 -Z-- T usr32\n\
               Trace 0: 0x7f9c7b4000c0 [00800480/00008006/00000000/00000201] \n\
               Trace 0: 0x7f9c7b4000c0 [00000480/00009000/00000000/00000201] \n";
    let read = entries(Format::Qemu, Isa::T32, log);
    // The NOP leads nowhere else: tracing is off between.
    assert_eq!(short(&steps(&read)), "el-1 8002>8004 8004!>8006 8006>8008 Off On 9000!>9004");
}

/// An M-profile processor under `qemu-system-arm`: a handler's end is no exception, and one that is
/// pending then is tail-chained. A semihosting call is none either.
#[test]
fn qemu_of_the_m_profile() {
    let log = "Loaded reset SP 0x20002000 PC 0x41 from vector table\n\
               0x00000040:  df01       svc      #1\n\
               Trace 0: 0x7f6e58000100 [00800408/00000040/00000110/ff000201] reset\n\
               Taking exception 2 [SVC] on CPU 0\n\
               ...taking pending nonsecure exception 11\n\
               ...loading from element 11 of non-secure vector table at 0x2c\n\
               ...loaded new PC 0x8b\n\
               0x0000008a:  4770       bx       lr\n\
               Trace 0: 0x7f6e58000680 [00800409/0000008a/00000110/ff000201] svc\n\
               Taking exception 8 [QEMU v7M exception exit] on CPU 0\n\
               Exception return: magic PC fffffff9 previous exception 11\n\
               ...successful exception return\n\
               0x00000042:  de01       udf      #1\n\
               Trace 0: 0x7f6e58000a40 [00800408/00000042/00000110/ff000201] reset\n\
               Taking exception 1 [Undefined Instruction] on CPU 0\n\
               ...taking pending nonsecure exception 6\n\
               ...loaded new PC 0x8b\n\
               Trace 0: 0x7f6e58000680 [00800409/0000008a/00000110/ff000201] svc\n\
               Taking exception 8 [QEMU v7M exception exit] on CPU 0\n\
               Exception return: magic PC fffffff9 previous exception 6\n\
               ...tailchaining to pending exception\n\
               ...taking pending nonsecure exception 15\n\
               ...loaded new PC 0x8b\n\
               Trace 0: 0x7f6e58000680 [00800409/0000008a/00000110/ff000201] svc\n\
               Taking exception 8 [QEMU v7M exception exit] on CPU 0\n\
               ...successful exception return\n\
               0x00000044:  beab       bkpt     0xab\n\
               Trace 0: 0x7f6e58000b40 [00800408/00000044/00000110/ff000201] reset\n\
               Taking exception 16 [Semihosting call] on CPU 0\n\
               ...handling as semihosting call 0x18\n\
               0x00000046:  bf00       nop\n\
               Trace 0: 0x7f6e58000c40 [00800408/00000046/00000110/ff000201] reset\n";
    let read = entries(Format::Qemu, Isa::T32, log);
    assert_eq!(
        short(&steps(&read)),
        "el-1 40>42 XVector(11):42>8a 8a>42 XVector(6):42>8a 8a>fffffffe XVector(15):fffffffe>8a \
         8a>44 44>46 46>48"
    );
}

/// AArch32 of `qemu-system-arm`: modes, not levels; no return addresses, which follow from what was
/// to be next.
#[test]
fn qemu_of_aarch32() {
    let log = "0x8000:  1afffffe  bne #0x8000\n0x8004:  e1b0f00e  movs pc, lr\n0x18:  e25ef004  subs pc, lr, #4\n\
               Trace 0: 0x7f6fec005cc0 [00000400/00008000/00000120/ff000201] \n\
               Trace 0: 0x7f6fec005cc0 [00000400/00008000/00000120/ff000201] \n\
               Stopped execution of TB chain before 0x7f6fec005cc0 [00008000] \n\
               Taking exception 5 [IRQ] on CPU 0\n\
               ...from EL1 to EL1\n\
               ...with ESR 0x11/0x46000009\n\
               Trace 0: 0x7f6fec0060c0 [00000400/00000018/00000120/ff000201] \n\
               Exception return from AArch32 irq to svc PC 0x8000\n\
               Trace 0: 0x7f6fec005cc0 [00000400/00008000/00000120/ff000201] \n\
               Trace 0: 0x7f6fec005cc0 [00000400/00008004/00000120/ff000201] \n\
               Exception return from AArch32 svc to usr PC 0x8000\n\
               Trace 0: 0x7f6fec005cc0 [00000400/00008000/00000120/ff000201] \n\
               AArch32 mode switch from svc to irq PC 0x8000\n\
               Taking exception 5 [IRQ] on CPU 0\n\
               Trace 0: 0x7f6fec0060c0 [00000400/00000018/00000120/ff000201] \n";
    let read = entries(Format::Qemu, Isa::A32, log);
    // The target of the last branch is unknown: no line states it, and no instruction follows.
    assert_eq!(
        short(&steps(&read)),
        "el-1 8000>8000 XIrq:8000>18 el1 18>8000 8000!>8004 8004>8000 el0 Off On el1 18>1c"
    );
}

/// What Cycle Models and the RTL of large cores write: rows of memory, and lines without a time.
#[test]
fn tarmac_with_rows_of_memory() {
    let log = "Tarmac Text Rev 3t\n\
        17000 ns  ES  EXC [0x00] Reset\n\
        \x20                 BR (0000000000000000) O\n\
        17100 ns  ES  (0000000000000000:d503201f) O el3h_s:         NOP\n\
        17200 ns  ES  (0000000000000004:a9be7bfd) O el3h_s:         STP      x29,x30,[sp,#-0x20]!\n\
        \x20                 ST 0000000004001b60 02000000 00000000 ........ ......20    S:0004001b60    nGnRnE OSH\n\
        \x20                    0000000004001b50 ........ ........ ......12 ........    S:0004001b50    nGnRnE OSH\n\
        \x20                 R SP_EL3 0000000004001b60\n\
        17300 ns  ES  (0000000000000008:54000040) O el3h_s:  CCFAIL B.EQ     0x10\n\
        17400 ns  ES  (000000000000000c:--------) O el3h_s:\n\
        17400 ns  ES  EXC [0x200] Synchronous Current EL with SP_ELx\n\
        \x20                 R ELR_EL3 00000000 0000000c\n\
        17500 ns  ES  (0000000000000200:d503201f) O el3h_s:         NOP\n";
    let read = entries(Format::Tarmac, Isa::A64, log);
    assert_eq!(
        short(&steps(&read)),
        "el-1 XReset:0>0 el3 0>4 4>8 w1@4001b60=20 w8@4001b68=200000000000000 w1@4001b54=12 8!>c \
         XInstructionFault:c>200 200>204"
    );
}

/// What the RTL of small cores writes: no processor, no state, no mode, a bus beside the
/// instructions.
#[test]
fn tarmac_of_small_cores() {
    let log = "# a comment\n\
        10.356000us E HRESETn 0\n10.356000us E LOCKUP 0\n10.356000us R MSP 00204800\n\
        10.376000us MR4_D 00000004 0000010b\n10.384000us MR2_I 0000010a b5100000\n\
        10.394000us IT 0000010a b510        PUSH     {r4,lr}\n\
        10.404000us IT (0000010c:00000006) 0000010c     bf00 T16 NOP\n\
        10.405000us MNW4___D 2002fa00 efbeefbe\n\
        10.406000us MNR4O__I 00022ae4 f7ffffcb\n";
    let read = entries(Format::Tarmac, Isa::T32, log);
    assert_eq!(short(&steps(&read)), "r4@4=10b el-1 10a>10c 10c>10e w4@2002fa00=efbeefbe");
    let times: Vec<_> = read.iter().map(|entry| entry.time.unwrap()).collect();
    assert_eq!(times[1] - times[0], 18_000, "{times:?}");
}

/// What Fast Models write beside instructions, and of the M profile.
#[test]
fn tarmac_of_fast_models() {
    let log = "0 ps CACHE MAINTENANCE Instruction and Data cache Invalidate All to PoU 00000000\n\
        0 ps SIGNAL: SIGNAL=DebugReset STATE=N\n0 ps R cpsr 01000000\n\
        0 ps E 000000e0 00000001 CoreEvent_RESET\n\
        1000000 ps IT (1) 000000e0 1000 T thread : ASRS     r0,r0,#32\n\
        4000000 ps IT (4) 000000e2 dfcf T thread : SVC      #0xcf\n\
        4000000 ps E 00000000 handler 00000019 CoreEvent_ModeChange\n\
        4000000 ps MW4 ea00002c 41000200\n\
        4000000 ps INFO_EXCEPTION_REASON: PHASE=ACTIVATE REASONS=UNSPECIFIED PC=0x000000e4 VECTOR=SVCALL\n\
        4000000 ps E 000000e4 0000000b CoreEvent_SVCALL\n\
        4000000 ps R ICSR 0000000b\n\
        5000000 ps IT (5) 00000100:000000000100_NS f8d0000e T handler : LDR      r0,[r0,#0xe]\n\
        5000000 ps MR4 dfdfdfcf (ABORTED)\n\
        5000000 ps E 00000100 00000005 CoreEvent_BUSFAULT\n\
        6000000 ps IT (6) 00000200 bf00 T handler : NOP\n\
        6000000 ps CADI E simulation_stopped\n";
    let read = entries(Format::Tarmac, Isa::T32, log);
    assert_eq!(
        short(&steps(&read)),
        "el-1 XReset:0>e0 e0>e2 e2>e4 w4@ea00002c=41000200 XVector(11):e4>100 XVector(5):100>200 200>202"
    );
}

#[test]
fn csv_of_every_step() {
    let log = "cpu,step,address,isa,opcode,passed,el,security,size,value,cause,target,time\n\
               0,instruction,8000,A32,e5910000,1,1,secure,,,,,\n\
               0,read,20000000,,,,,,4,12345678,big-endian,,\n\
               0,exception,8004,,,,,,,,irq,18,\n\
               0,mode,,,,,2,non-secure,,,,,\n\
               0,contextid,,,,,,,,1234,,,\n\
               0,vmid,,,,,,,,7,,,\n\
               0,fault,8008,,,,,,,,data-fault,10,\n\
               0,software-write,1f,,,,,,32,1,,2,\n\
               0,software-write,10,,,,,,8,ff,marker,m41,99\n\
               0,dwt-event,1,,,,,,2,101c,,,\n\
               0,cycles,,,,,,,,3,,,\n0,timestamp,,,,,,,,100,,,\n0,events,,,,,,,,5,,,\n0,signals,,,,,,,,2a,,,\n\
               0,signals,,,,,,,,80000000000000000000000000000000000000000000000000000000000000ff,,,\n\
               0,instrumentation,,,,,1,,,77,,,\n0,transaction,,,,,,,,,commit,,\n\
               0,trigger,,,,,,,,,,,\n0,off,,,,,,,,,,,\n0,on,,,,,,,,,,,\n0,halted,,,,,,,,,,,\n\
               0,overflow,,,,,,,,,,,\n0,code,8000,,bf00,,,,,,,,\n0,withdrawn,8000,,,,,,,,,,\n\
               0,flags,,,,,,,,4,,,\n0,exception,8004,,,,,,,0,riscv:2,18,\n";
    let read = entries(Format::Csv, Isa::A32, log);
    assert_eq!(read.len(), log.lines().count() - 1);
    let written = text(Format::Csv, Isa::A32, &read);
    assert_eq!(written, log);
}

#[test]
fn a_list_of_addresses_is_a_log() {
    let read = entries(Format::Csv, Isa::A32, "address\n8001\n0x8003\n");
    assert_eq!(short(&steps(&read)), "Off");
    // A spreadsheet begins it with a byte order mark.
    let marked = "\u{feff}address\r\n8001\r\n0x8003\r\n";
    assert_eq!(entries(Format::Csv, Isa::A32, marked), read);
    assert_eq!(Format::detect(marked.as_bytes()), Some(Format::Csv));
    let read = entries(Format::Csv, Isa::A64, "opcode,address\nd503201f,8000\nd503201f,8004\n");
    assert_eq!(short(&steps(&read)), "el-1 8000>8004 8004>8008");
}

#[test]
fn the_header_of_a_log_is_its_format_whatever_its_lines_are_like() {
    let mut log = String::from("\ncpu,step,address,isa,opcode,value\r\n");
    for n in 0..200 {
        log += &format!("0,instruction,{:x},A64,d503201f,\r\n", 0x40_0000 + 4 * n);
    }
    assert_eq!(Format::detect(log.as_bytes()), Some(Format::Csv));
}

#[test]
fn formats_are_detected() {
    for (log, want) in [
        (TARMAC, Some(Format::Tarmac)),
        ("\n\n53 clk IT (53) 002109f0 f94003e1 O EL3h_s : LDR\n", Some(Format::Tarmac)),
        (QEMU, Some(Format::Qemu)),
        (SPIKE, Some(Format::Spike)),
        ("3 0x0000000080000000 (0x00000093) x 1 0x0\n", Some(Format::Spike)),
        ("VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT\n", Some(Format::SpikeCsv)),
        ("cpu,address\n", Some(Format::Csv)),
        ("hello\n", None),
        ("", None),
    ] {
        assert_eq!(Format::detect(log.as_bytes()), want, "{log}");
    }
}

#[test]
fn errors_have_the_line_and_the_expected_text() {
    for (format, log, line, expected) in [
        (Format::Qemu, "\nTrace 0: 0x1 [1/zz/0/0] \n", 2, "the address in hexadecimal"),
        (Format::Qemu, "Trace x: 0x1 [1/2/0/0] \n", 1, "`Trace N:`"),
        (Format::Qemu, "Trace 0: 0x1 [1/2/0/0\n", 1, "`]`"),
        (Format::Qemu, "Taking exception 5 [IRQ] on CPU\n", 1, "`on CPU N`"),
        (Format::Tarmac, "x clk IT\n", 1, "a time and its unit"),
        (Format::Tarmac, "1 clk ES  what\n", 1, "`(ADDRESS:OPCODE)` or `EXC`"),
        (Format::Tarmac, "1 ns ES  EXC what\n", 1, "`[VECTOR] NAME`"),
        (Format::Tarmac, "LD 8000 ........ .. ........ ........\n", 1, "four columns"),
        (Format::Tarmac, "1 clk E 8000 0007\n", 1, "the name of an event"),
        (Format::Tarmac, "1 clk IT (1) 8000 e1a0 A\n", 1, "a mode"),
        (Format::Tarmac, "1 clk IT (1) 8000 e1a0000 A svc :\n", 1, "an opcode"),
        (Format::Tarmac, "1 clk MR4 8000 12_zz\n", 1, "the data in hexadecimal"),
        (Format::Spike, "core   0: 0x8000 0x13\n", 1, "the opcode in brackets"),
        (Format::Spike, "core   0: exception bad, epc 0x0\n", 1, "the name of a trap"),
        (Format::Spike, "core   0: 7 0x8000 (0x13)\n", 1, "a privilege level"),
        (Format::SpikeCsv, "1,2,3\n", 1, "eight numbers"),
        (Format::SpikeCsv, "1,8000,13,9,0,0,0,0\n", 1, "a privilege level"),
        (Format::Csv, "a,b\n", 1, "a header line"),
        (Format::Csv, "step,address\nnothing,8000\n", 2, "a known word"),
        (Format::Csv, "address\n8000\n8004,1\n", 3, "no more cells"),
        (Format::Csv, "address,opcode\n8000,123\n", 2, "an opcode"),
        (Format::Csv, "step,address,value\ncycles,,100000000\n", 2, "at most 32 bits"),
        (Format::Csv, "step,address,value\ncontextid,,100000000\n", 2, "at most 32 bits"),
        (Format::Csv, "step,address,value\nevents,,10\n", 2, "at most 4 bits"),
        (Format::Csv, "step,address,value\nflags,,10\n", 2, "at most 4 bits"),
        (Format::Csv, "step,address,size\ndwt-event,20,4\n", 2, "a discriminator"),
        (Format::Csv, "step,address,size\nread,20,256\n", 2, "a size of at most 255"),
        (Format::Csv, "step,address\nsoftware-write,20\n", 2, "a port from 0 to 1f"),
        (Format::Csv, "step,address,target\nsoftware-write,1,8\n", 2, "a page from 0 to 7"),
        (Format::Csv, "step,address,target\nsoftware-write,1,m10000\n", 2, "`m` and a master"),
        (Format::Csv, "step,address,target\nsoftware-write,10000,m1\n", 2, "a channel"),
        (Format::Csv, "step,address,size\nsoftware-write,1,65\n", 2, "a width"),
        (Format::Csv, "step,address,el,value\ninstrumentation,,4,1\n", 2, "an exception level"),
    ] {
        let mut reader = Reader::new(format, Isa::A64);
        let mut read = reader.feed(log.as_bytes(), &mut |_| {});
        if read.is_ok() {
            read = reader.finish(&mut |_| {});
        }
        let error = read.unwrap_err();
        assert_eq!(error.line, line, "{log}");
        assert!(error.expected.starts_with(expected), "{log}: {error}");
        assert!(error.to_string().contains(&error.found), "{error}");
    }
}

/// An exception to a handler that is not in the log: tracing is off after the exception.
#[test]
fn handlers_that_are_not_in_the_log() {
    for (between, log) in [
        (
            "off, on",
            "step,address,isa,opcode,cause,target\n,8000,A64,d503201f,,\nexception,8004,,,irq,400\n,8004,A64,d503201f,,\n",
        ),
        (
            "off",
            "step,address,isa,opcode,cause,target\n,8000,A64,d503201f,,\nexception,8004,,,irq,400\noff\n",
        ),
    ] {
        let all = steps(&entries(Format::Csv, Isa::A64, log));
        let exception = all.iter().position(|step| matches!(step, Step::Exception(_)));
        let after: Vec<&Step> = all[exception.unwrap() + 1..].iter().take(2).collect();
        match between {
            "off" => assert_eq!(after, [&Step::Off]),
            _ => assert_eq!(after, [&Step::Off, &Step::On]),
        }
    }
}

/// Lines of Spike as its source prints them: riscv/processor.cc, `processor_t::disasm` (the symbol,
/// then `Executed N times`, then the instruction), `take_trap` and `take_trigger_action`;
/// riscv/execute.cc, `commit_log_print_insn`.
#[test]
fn spike_repeats_triggers_and_other_lines() {
    let a = "core   0: 0x0000000080000000 (0x00000013) nop\n";
    let j = "core   0: 0x0000000080000004 (0x0000006f) j       pc + 0x0\n";
    let commit = "core   0: 3 0x0000000080000004 (0x0000006f)\n";
    let irq = "core   0: exception interrupt #7, epc 0x0000000080000004\n";
    let handler = "core   0: 0x0000000080000100 (0x30200073) mret\n";
    let executed = |n: &str| format!("core   0: >>>>  trap\ncore   0: Executed {n} times\n");
    let trigger = "core   0: trigger action 0\n\
                   core   0: exception trap_breakpoint, epc 0x0000000080000000\n\
                   core   0:           tval 0x0000000080000000\n";
    for (log, want) in [
        (format!("{a}{j}{}{handler}", executed("12")), "i j*12 h"),
        // An older version prints hexadecimal digits.
        (format!("{a}{j}{}{handler}", executed("1c")), "i j*28 h"),
        // The number follows an interrupt; the instructions were executed before it.
        (format!("{a}{j}{irq}{}{handler}", executed("3")), "i j*3 interrupt h"),
        // Commit lines list each execution.
        (format!("{a}{j}{commit}{commit}{commit}{}{handler}", executed("3")), "i j*3 h"),
        // A trigger fires before the instruction.
        (format!("{a}{trigger}{handler}"), "i exception h"),
        // A prompt, a warning, and the output of the program.
        (
            format!(
                "warning: tohost and fromhost symbols not in ELF\n(spike) {a}(spike) \nHello\n{j}"
            ),
            "i j*1",
        ),
    ] {
        let (mut seen, mut jumps) = (Vec::new(), 0);
        let mut all = entries(Format::Spike, Isa::Rv64, &log).into_iter().peekable();
        while let Some(entry) = all.next() {
            let address = |entry: &Entry| match entry.event {
                Event::Instruction(executed) => executed.address,
                _ => 0,
            };
            match entry.event {
                Event::Instruction(_) if address(&entry) == 0x8000_0004 => {
                    jumps += 1;
                    if all.peek().is_none_or(|next| address(next) != 0x8000_0004) {
                        seen.push(format!("j*{jumps}"));
                    }
                }
                Event::Instruction(executed) if executed.address == 0x8000_0100 => {
                    seen.push("h".into())
                }
                Event::Instruction(_) => seen.push("i".into()),
                Event::Raised(Raised { synchronous, .. }) => {
                    seen.push(if synchronous { "exception" } else { "interrupt" }.into());
                }
                _ => {}
            }
        }
        assert_eq!(seen.join(" "), want, "{log}");
    }
}

/// The value of a load is that of its register, whichever the line names last.
#[test]
fn spike_loads_beside_csrs() {
    let log = "core   0: 3 0x00000000800025c8 (0x0005b087) f1 0x7ff8000000000000 \
               c768_mstatus 0x8000000a00006000 mem 0x0000000080003000\n";
    let all = entries(Format::Spike, Isa::Rv64, log);
    let value = all.iter().find_map(|entry| match entry.event {
        Event::Step(Step::Access(access)) => access.value(),
        _ => None,
    });
    assert_eq!(value, Some(0x7ff8_0000_0000_0000));
}

/// Lines of NEORV32 1.13.5 in GHDL, which prints compressed instructions as their expansions: `mv`,
/// `j`; a call is one of 4 bytes. (rtl/core/neorv32_cpu_trace.vhd, neorv32_cpu_trace_simlog)
#[test]
fn expansions_of_compressed_instructions() {
    const LOG: &str = "\
6 31 0x00000016 0x00800533 M add         x10, x0, x8
7 33 0x00000018 0x00000097 M auipc       x1, 0x00000000
8 35 0x0000001c 0x06c080e7 M jalr        x1, x1, 108
9 39 0x00000084 0xff010113 M addi        x2, x2, -16
10 41 0x00000086 0x00112623 M sw          x1, 12(x2)
11 43 0x00000088 0x00a12423 M sw          x10, 8(x2)
";
    let format = Format::detect(LOG.as_bytes()).unwrap();
    let mut assembler = Assembler::new(Lookup::default());
    let mut steps = Vec::new();
    let mut emit = |_: u16, step: &Step| steps.push(*step);
    entries(format, Isa::Rv32, LOG).iter().for_each(|entry| assembler.entry(entry, &mut emit));
    assembler.finish(&mut emit);
    assert_eq!((assembler.summary.jumps, assembler.summary.expanded), (0, 3));
    let sizes: Vec<u8> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Retired(retired) => Some(retired.instruction.size),
            _ => None,
        })
        .collect();
    assert_eq!(sizes, [2, 4, 4, 2, 2, 4]);
    // Expansions are no memory of the program.
    let runs = assembler.lookup().logged().runs();
    let starts: Vec<u64> = runs.iter().map(|(address, _)| *address).collect();
    assert_eq!(starts, [0x18, 0x88]);
}

/// Lines of CV32E40P's tracer, which marks compressed instructions: a taken jump has the size of
/// its compressed form, too. (bhv/cv32e40p_instr_trace.svh, printMnemonic)
#[test]
fn marked_expansions_are_compressed_instructions() {
    const LOG: &str = "\
            Time           Cycle PC       Instr    Decoded instruction Register and memory contents
         167.000 ns              50 000000a8 40a60633 c.sub            x12, x12, x10       x12=0000003c
         177.000 ns              51 000000aa 00c0006f c.jal            x0, 12
         187.000 ns              53 000000b6 00000593 addi             x11, x0, 0          x11=00000000
         197.000 ns              54 000000ba ff1ff06f c.jal            x0, -16
         207.000 ns              56 000000aa 00c0006f c.jal            x0, 12
";
    let format = Format::detect(LOG.as_bytes()).unwrap();
    let mut assembler = Assembler::new(Lookup::default());
    let mut steps = Vec::new();
    let mut emit = |_: u16, step: &Step| steps.push(*step);
    entries(format, Isa::Rv32, LOG).iter().for_each(|entry| assembler.entry(entry, &mut emit));
    assembler.finish(&mut emit);
    let summary = assembler.summary;
    assert_eq!((summary.jumps, summary.expanded, summary.unknown), (0, 3, 0));
    let found: Vec<_> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Retired(retired) => Some((retired.instruction.size, retired.instruction.target)),
            _ => None,
        })
        .collect();
    let jump = (2, Some(0xb6));
    assert_eq!(found, [(2, None), jump, (4, None), (2, Some(0xaa)), jump]);
    let runs = assembler.lookup().logged().runs();
    assert_eq!(runs.iter().map(|(address, _)| *address).collect::<Vec<_>>(), [0xb6]);
}
