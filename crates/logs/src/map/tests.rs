//! The built-in maps on lines as their tracers write them, and maps of users.

use tracewright_base::{Access, Cause, Direction, Isa, Step};

use super::{BUILT_IN, LogMap};
use crate::entry::{Entry, Event};
use crate::format::Format;
use crate::instruction_set::{self, InstructionSet};
use crate::reader::Reader;

/// What the entries of a log are, in words.
fn read(reader: &mut Reader, log: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut entry = |entry: Entry| out.push(words(&entry));
    reader.feed(log.as_bytes(), &mut entry).unwrap_or_else(|error| panic!("{error}"));
    reader.finish(&mut entry).unwrap();
    out
}

fn words(entry: &Entry) -> String {
    let cpu = if entry.cpu == 0 { String::new() } else { format!("cpu {} ", entry.cpu) };
    let text = match entry.event {
        Event::Instruction(executed) => {
            let opcode = executed.opcode.map_or("?".to_owned(), |opcode| {
                format!("{:0width$x}", opcode.bits, width = 2 * usize::from(opcode.size))
            });
            let el = executed.mode.el.map_or(String::new(), |el| format!(" el {el}"));
            let time = entry.time.map_or(String::new(), |time| format!(" at {time}"));
            format!("{:x} {opcode}{el}{time}", executed.address)
        }
        Event::Raised(raised) => {
            let cause = match raised.cause {
                Some(Cause::Riscv { code, interrupt: true }) => format!("interrupt {code}"),
                Some(Cause::Riscv { code, .. }) => format!("exception {code}"),
                Some(Cause::Irq) => "an interrupt".to_owned(),
                _ => "unknown".to_owned(),
            };
            let at = raised.return_address.map_or(String::new(), |at| format!(" {at:x}"));
            let value = raised.value.map_or(String::new(), |value| format!(" tval {value:x}"));
            let kind = if raised.synchronous { "fault" } else { "raised" };
            format!("{kind}{at}: {cause}{value}")
        }
        Event::Mode(mode) => format!("mode {}", mode.el.unwrap_or(9)),
        Event::Step(Step::Access(access)) => {
            let Access { direction, .. } = access;
            let direction = match direction {
                Direction::Read => "read",
                Direction::Write => "write",
                Direction::Unknown => "move",
            };
            let value = access.value().map_or(String::new(), |value| format!(" = {value:x}"));
            format!("{direction} {:x}{value}", access.address().unwrap_or(0))
        }
        other => format!("{other:?}"),
    };
    cpu + &text
}

/// Each format: lines laid out as the source of the tracer formats them, and their meaning.
const LOGS: &[(&str, &str, &[&str])] = &[
    (
        // rtl/ibex_tracer.sv: "%15t\t%d\t%h\t%s\t%s\t", 4 digits where compressed; `-->`
        // trapped, `==>` first of a handler.
        "ibex",
        "Time\tCycle\tPC\tInsn\tDecoded instruction\tRegister and memory contents\n\
         \x20           130\t        61\t00000150\t    4481\tc.li\tx9,0\t x9=0x00000000\n\
         \x20           132\t        62\t00000152\t00a12023\tsw\tx10,0(x2)\t x2:0x00100000 x10:0x00000007 PA:0x00100000 store:0x00000007\n\
         \x20           134\t        63\t00000156\t00012583\tlw\tx11,0(x2)\t x2:0x00100000 x11=0x00000007 PA:0x00100000 load:0x00000007\n\
         \x20           140\t        66\t0000015a\t00000073\t-->ecall\t\n\
         \x20           148\t        70\t00000000\t0100006f\tjal\tx0,10\t\n\
         \x20           150\t        71\t00000010\t30200073\t==>mret\t\n",
        &[
            "150 4481 at 61",
            "152 00a12023 at 62",
            "write 100000 = 7",
            "156 00012583 at 63",
            "read 100000 = 7",
            "fault 15a: unknown",
            "0 0100006f at 70",
            "raised: an interrupt",
            "10 30200073 at 71",
        ],
    ),
    (
        // bhv/cv32e40p_instr_trace.svh: "%t %15d %h %h %-36s", a time with a unit by $timeformat;
        // `c.` where the opcode is that of the expansion.
        "cv32e40p",
        "            Time           Cycle PC       Instr    Decoded instruction\n\
         \x20            7200 ns              71 00000080 00000013 nop                                 \n\
         \x20            7300 ns              72 00000084 00a00493 c.addi           x9, x0, 10          \n\
         \x20            7400 ns              73 00000086 00052583 lw               x11, 0(x10)          x11=00000007 x10:00100000  PA:00100000\n\
         \x20            7500 ns              74 0000008a ffffffff (C) illegal\n",
        &[
            "80 00000013 at 71",
            "84 00a00493 at 72",
            "86 00052583 at 73",
            "move 100000",
            "fault 8a: unknown",
        ],
    ),
    (
        // bhv/cv32e40x_rvfi_sim_trace.sv: columns between bars, a line for each access.
        "cv32e40x",
        "pc         | rs1 (   data   ) | rs2 (   data   ) | rd  (   data   ) | memaddr    | rmask  | rdata      | wmask  | wdata      ||  Assembly\n\
         ============================================================\n\
         0x00000080 | x0  (0x00000000) | x0  (0x00000000) | x5  (0x0000000a) | 0x00000000 | 0x0000 | 0x00000000 | 0x0000 | 0x00000000 ||  addi x5,x0,10\n\
         0x00000084 | x2  (0x00100000) | x0  (0x00000000) | x8  (0x00000001) | 0x00100000 | 0x1111 | 0x00000001 | 0x0000 | 0x00000000 ||  cm.pop\n\
         0x00000084 | x2  (0x00100000) | x0  (0x00000000) | x8  (0x00000001) | 0x00100004 | 0x0000 | 0x00000000 | 0x1111 | 0x00000002 ||  cm.pop\n",
        &["80 ?", "84 ?", "read 100000 = 1", "write 100004 = 2"],
    ),
    (
        // corev_apu/tb/rvfi_tracer.sv.
        "cva6",
        "*** [rvfi_tracer] WARNING No valid address of 'tohost' (tohost == 0x0), termination possible only by timeout or Ctrl-C!\n\n\
         core   0: 0x0000000080000000 (0x00000297) DASM(00000297)\n\
         3 0x0000000080000000 (0x00000297) x 5 0x0000000080000000\n\
         core   0: 0x0000000080000004 (0x0000e022) DASM(0000e022)\n\
         3 0x0000000080000004 (0xe022) mem 0x0000000080002000 0x0000000000000007\n\
         ILLEGAL_INSTR exception @ 0x0000000080000006 (0xffff)\n\
         core   0: 0x0000000080000100 (0x34202573) DASM(34202573)\n\
         3 0x0000000080000100 (0x34202573) x10 0x0000000000000002\n\
         core   INTERRUPT 0: 0x0000000080000200 (0x00000013) DASM(00000013)\n\
         3 0x0000000080000200 (0x00000013)\n",
        &[
            "80000000 00000297 el 3",
            "80000004 e022 el 3",
            "write 80002000 = 7",
            "fault 80000006: exception 2",
            "80000100 34202573 el 3",
            "raised: an interrupt",
            "80000200 00000013 el 3",
        ],
    ),
    (
        // rtl/core/neorv32_cpu_trace.vhd, neorv32_cpu_trace_simlog.
        "neorv32",
        "0 340 0x00000104 0x4481     M addi        x9, x0, 0\n\
         1 345 0x00000106 0x00000073 U ecall       \n\
         2 347 0x00000200 0x34202573 M csrrs       x10, mcause, x0 <TRAP_ENTRY>\n",
        &["104 4481 el 3 at 340", "mode 0", "fault 106: exception 8", "200 34202573 el 3 at 347"],
    ),
    (
        // model/postlude/step.sail: "[" step "] [" privilege "]: " PC " (" opcode ") " text.
        "sail",
        "[40] [U]: 0x0000000080000110 (0x8082) c.jr ra\n\
         x5 <- 0x0000000080000000\n\
         mem[R,0x0000000080001000] -> 0x00000007\n\
         [41] [U]: 0x0000000080000114 (0x00000073) ecall\n\
         trapping from U to M to handle u-call\n\
         CSR mcause (0x342) <- 0x0000000000000008\n\
         [42] [M]: 0x0000000080000200 (0x00000013) addi zero, zero, 0\n\
         Handling interrupt: 0x0B\n\
         CSR mepc (0x341) <- 0x0000000080000204\n\
         [43] [M]: 0x0000000080000200 (0x30200073) mret\n\
         ret-ing from M to U\n",
        &[
            "80000110 8082 el 0",
            "read 80001000 = 7",
            "mode 0",
            "fault 80000114: exception 8",
            "80000200 00000013 el 3",
            "raised 80000204: interrupt 11",
            "80000200 30200073 el 3",
        ],
    ),
    (
        // src/dromajo.cpp, iterate_core.
        "dromajo",
        "0 3 0x0000000080000000 (0x00000297) x 5 0x0000000080000000\n\
         0 3 0x0000000080000004 (0x00008082)\n\
         0 0 0x0000000080000110 (0x00000073) exception 8, tval 0000000000000000\n\
         hartid=0: exception interrupt #7, epc 0x0000000080000120\n\
         1 3 0x0000000080000200 (0x00000013)\n\n\
         Power off.\n",
        &[
            "80000000 00000297 el 3",
            "80000004 8082 el 3",
            "mode 0",
            "fault 80000110: exception 8 tval 0",
            "raised 80000120: interrupt 7",
            "cpu 1 80000200 00000013 el 3",
        ],
    ),
    (
        // printTrace.cpp, formatInstTrace<uint32_t>: "#%jd %d %2s %08x %8s r %02x  %08x  %s",
        // and " +" before a further line of an instruction.
        "whisper",
        "#7 0  M 80000010     4481 r 09         00000000  c.li     x9, 0x0\n\
         #8 0  M 80000012 00a12023 m 00100000   00000007  sw       x10, 0x0(x2) [0x100000]\n\
         #9 0  U 80000016 00000073 c 0341       80000016  ecall  +\n\
         #9 0  U 80000016 00000073 c 0342       00000008  ecall\n\
         #10 0  M 80000100 34202573 r 0a         00000008  csrrs    x10, mcause, x0\n\
         #11 0  M 80000104 00000013 c 0341       80000104  addi     x0, x0, 0x0 (interrupted)  +\n\
         #11 0  M 80000104 00000013 c 0342       8000000b  addi     x0, x0, 0x0 (interrupted)\n",
        &[
            "80000010 4481 el 3",
            "80000012 00a12023 el 3",
            "write 100000 = 7",
            "mode 0",
            "fault 80000016: exception 8",
            "80000100 34202573 el 3",
            "mode 3",
            "raised 80000104: interrupt 11",
        ],
    ),
    (
        // printTrace.cpp, printInstCsvTrace.
        "whisper-csv",
        "pc, inst, modified regs, source operands, memory, inst info, privilege, trap, disassembly, hartid\n\
         80000000,297,x5=80000000,i0,,,m,,auipc    x5; 0x0,0\n\
         80000004,a12023,,x2;x10;i0,100000=7,s,m,,sw       x10; 0x0(x2),0\n\
         80000008,4481,x9=0,i0,,,m,,c.li     x9; 0x0,0\n\
         8000000a,100073,c833=8000000a;c834=3,,,,m,3,ebreak,0\n",
        &[
            "80000000 00000297 el 3",
            "80000004 00a12023 el 3",
            "write 100000 = 7",
            "80000008 4481 el 3",
            "mode 3",
            "fault 8000000a: exception 3",
        ],
    ),
    (
        // contrib/plugins/execlog.c: "%u, 0x%PRIx64, 0x%PRIx32, \"%s\"".
        "execlog",
        "0, 0x8000, 0xf04f0005, \"mov.w r0, #5\"\n\
         0, 0x8004, 0x6001, \"str r1, [r0]\", store, 0x20000000, RAM\n\
         1, 0x8006, 0x6801, \"ldr r1, [r0]\", load, 0x20000000, RAM\n",
        &[
            "8000 f04f0005",
            "8004 00006001",
            "write 20000000",
            "cpu 1 8006 00006801",
            "cpu 1 read 20000000",
        ],
    ),
    (
        // scripts/riscv_trace_csv.py of riscv-dv.
        "riscv-dv",
        "pc,instr,gpr,csr,binary,mode,instr_str,operand,pad\n\
         80000000,auipc,t0:80000000,,00000297,3,\"auipc t0, 0\",\"t0,0\",\n\
         80000004,c.li,s1:00000000,,4481,3,c.li,\"s1,0\",\n",
        &["80000000 00000297 el 3", "80000004 4481 el 3"],
    ),
    (
        // src/cpu/exetrace.cc: ticks, name, thread, address and symbol, micro-operation.
        "gem5",
        "info: Entering event queue @ 0.  Starting simulation...\n\
         \x20  1000: system.cpu: A0 T0 : 0x400580 @_start    :   movz   x29, #0, #0       : IntAlu :  D=0x0000000000000000\n\
         \x20  1500: system.cpu: A0 T0 : 0x400584 @_start+4    : ldp   x0, x1, [sp]      \n\
         \x20  1500: system.cpu: A0 T0 : 0x400584 @_start+4. 0 :   ldr_uop   x0, [sp]  : MemRead :  D=0x0000000000000001 A=0x7ffff0\n\
         \x20  1500: system.cpu: A0 T0 : 0x400584 @_start+4. 1 :   ldr_uop   x1, [sp]  : MemRead :  D=0x0000000000000002 A=0x7ffff8\n\
         \x20  2000: system.cpu: A0 T0 : 0x400588 @_start+8    :   b   #0x10           : IntAlu : \n",
        &["400580 ? at 1000", "400584 ? at 1500", "400588 ? at 2000"],
    ),
    (
        // docs/VerifStrat of core-v-verif, "RVFI Agent".
        "corev-rvfi",
        "     0.000 ns: RVFI  Order       PC    Instr M rs1 rs1_data rs2 rs2_data  rd  rd_data mem_op mem_addr mem_data\n\
         \x20  138.000 ns: RVFI      1 00000080 0000d197 M x 1 00000000 x 0 00000000 x 3 0000d080 N/A\n\
         \x20  149.000 ns: RVFI      2 00000084 53018193 M x 3 0000d080 x16 00000000 x 3 0000d5b0 N/A\n",
        &["80 0000d197 el 3 at 138", "84 53018193 el 3 at 149"],
    ),
    (
        // common/local/util/instr_trace_item.svh of CVA6: "%8dns %8d %s %h %h %h %-36s";
        // ex_trace_item.svh: "Exception @%10t, PC: %h, Cause: %s", and tval in a line of its own.
        "cva6-tracer",
        "      53ns       26 M 0000000000010000 0 00000413 li             s0, 0              s0  :0000000000000000\n\
         \x20     55ns       27 M 0000000000010004 0 00004481 c.li           s1, 0              s1  :0000000000000000\n\
         \x20     57ns       28 M 0000000000010006 0 0002b303 ld             t1, 0(t0)  VA: 0000000080000000 PA: 00000080000000\n\
         Exception @      59ns, PC: 000000000001000a, Cause: Illegal Instruction, \n\
         \t\t\t\ttval: 00000000ffffffff\n\
         \x20     61ns       30 M 0000000000010100 0 34202573 csrr           a0, mcause\n\
         Exception @      63ns, PC: 0000000000010104, Cause: Machine Timer Interrupt\n\
         \x20     65ns       32 M 0000000000010100 0 30200073 mret           \n",
        &[
            "10000 00000413 el 3 at 26",
            "10004 4481 el 3 at 27",
            "10006 0002b303 el 3 at 28",
            "move 80000000",
            "fault 1000a: exception 2",
            "10100 34202573 el 3 at 30",
            "raised 10104: interrupt 7",
            "10100 30200073 el 3 at 32",
        ],
    ),
    (
        // testbench/tb_top.sv of VeeR: "%10d : %8s 0 %h %h%13s ; %s".
        "veer",
        "//   Cycle : #inst    0    pc    opcode    reg=value   ; mnemonic\n\
         \x20        6 :       #1 0 80000000 b0201073              ; csrrw zero, minstret, zero\n\
         \x20        7 :       #2 0 80000004 00004481  s1=00000000 ; c.li s1, 0\n\
         \x20        9 :                            a0=00000041 ; nbL\n",
        &["80000000 b0201073 at 6", "80000004 4481 at 7"],
    ),
];

#[test]
fn built_in_formats() {
    assert_eq!(LOGS.len(), BUILT_IN.len());
    for (name, log, want) in LOGS {
        let format = Format::named(name).unwrap();
        assert_eq!(Format::detect(log.as_bytes()), Some(format), "{name}");
        let isa = match instruction_set::of(format, None, log.as_bytes()) {
            InstructionSet::Known(isa) | InstructionSet::Assumed(isa) => isa,
            InstructionSet::Unknown => Isa::A64,
        };
        assert_eq!(&read(&mut Reader::new(format, isa), log), want, "{name}");
    }
}

/// No log is taken for one of another format, in part neither.
#[test]
fn none_is_taken_for_another() {
    for (name, log, _) in LOGS {
        let lines: Vec<&str> = log.lines().filter(|line| !line.is_empty()).collect();
        // The last two lines may be those of several formats.
        for from in 0..lines.len() - 2 {
            let rest = lines.get(from..).unwrap_or_default().join("\n") + "\n";
            let found = Format::detect(rest.as_bytes()).map(Format::name);
            assert!(found.is_none_or(|found| found == *name), "{name} from line {from}: {found:?}");
        }
    }
    for (log, want) in [
        ("core   0: 0x0000000080000000 (0x00000297) auipc t0, 0x0\n", Some("spike")),
        ("3 0x0000000080000000 (0x00000297) x 5 0x0000000080000000\n", Some("spike")),
        ("1 clk IT (1) 00008000 e1a00000 A svc_s : NOP\n", Some("tarmac")),
        ("Trace 0: 0x7f [00000000/0000000000008000/00000000/00000000] \n", Some("qemu")),
        ("address,opcode\n8000,e1a00000\n", Some("csv")),
        ("VALID,ADDRESS,INSN,PRIVILEGE,EXCEPTION,ECAUSE,TVAL,INTERRUPT\n", Some("spike-csv")),
        ("PARAMS 1 XLEN 32\nRET 80 3e800093\n", Some("rvvi")),
        ("the quick brown fox\n", None),
    ] {
        assert_eq!(Format::detect(log.as_bytes()).map(Format::name), want, "{log}");
    }
}

/// A log that is read as one of another format has no instructions there, or ends with an error:
/// but Spike, CVA6 and Dromajo share the line of an instruction that retired.
#[test]
fn no_format_has_the_lines_of_another() {
    let shared = [("cva6", "spike"), ("dromajo", "spike"), ("dromajo", "cva6"), ("sail", "spike")];
    for (name, log, _) in LOGS {
        for other in Format::all().filter(|format| format.name() != *name) {
            if shared.contains(&(*name, other.name())) {
                continue;
            }
            let (mut instructions, mut reader) = (0, Reader::new(other, Isa::Rv64));
            let mut count = |entry: Entry| {
                instructions += usize::from(matches!(entry.event, Event::Instruction(_)));
            };
            let read = reader.feed(log.as_bytes(), &mut count);
            let read = read.and_then(|()| reader.finish(&mut count));
            let none = read.is_err() || instructions == 0;
            assert!(none, "{name} read as {}: {instructions} instructions", other.name());
        }
    }
}

/// Lines of other versions and other configurations of the same tools, in public issues and pages.
#[test]
fn variants() {
    for (name, log, want) in VARIANTS {
        let format = Format::named(name).unwrap();
        assert_eq!(Format::detect(log.as_bytes()), Some(format), "{log}");
        assert_eq!(&read(&mut Reader::new(format, Isa::Rv64), log), want, "{log}");
    }
    // The log of a gem5 that prints symbols in place of addresses.
    let log = "46415000: system.cpu: T0 : @f+131360    : lis        r12, 29         : IntAlu :\n";
    assert_eq!(Format::detect(log.as_bytes()), Format::named("gem5"));
    let mut reader = Reader::new(Format::named("gem5").unwrap(), Isa::A64);
    assert_eq!(reader.feed(log.as_bytes(), &mut |_| ()).unwrap_err().expected, "an address");
}

const VARIANTS: &[(&str, &str, &[&str])] = &[
    (
        // The first version of the tracer, as in the description of stnolting/neorv32#1318.
        "neorv32",
        "0 12 00000000 30401073 M\n1 15 00000004 f14022f3 M\n2 17 00000008 30200073 U\n",
        &["0 30401073 el 3 at 12", "4 f14022f3 el 3 at 15", "8 30200073 el 0 at 17"],
    ),
    (
        // Of a log in openhwgroup/core-v-verif#1595, and of the first one of PULP in
        // pulp-platform/pulpino#201: times with a fraction and a unit, and without.
        "cv32e40p",
        "Time\tCycle\tPC\tInstr\tDecoded instruction\tRegister and memory contents\n\
         171.000 ns              54 000000b0 40b50533 c.sub            x10, x10, x11       x10=00000001 x10:00000003 x11:00000002\n\
         172.000 ns              55 000000b2 0040006f c.j              4                   \n\
         \x20   19000000       458          000000b6      00000093       addi x1, x0, 0            x1=00000000\n",
        &["b0 40b50533 at 54", "b2 0040006f at 55", "b6 00000093 at 458"],
    ),
    (
        // VeeR-ISS, Hart.cpp, formatInstTrace: no privilege.
        "whisper",
        "#1 0 80000000 d0580537 r 0a         d0580000  lui      x10, -0x2fa80\n\
         #2 0 80000004 00b50023 m d0580000   00000041  sb       x11, 0x0(x10)\n\
         #3 0 80000008 30529073 c 0305       80000100  csrrw    x0, mtvec, x5\n\
         #4 0 8000000c     4581 r 0b         00000000  c.li     x11, 0x0\n",
        &[
            "80000000 d0580537",
            "80000004 00b50023",
            "write d0580000 = 41",
            "80000008 30529073",
            "8000000c 4581",
        ],
    ),
    (
        // corev_apu/tb/rvfi_tracer.sv, before the instruction was printed: "%s exception @ 0x%h".
        "cva6",
        "core   0: 0x0000000080000000 (0x00000297) DASM(00000297)\n\
         3 0x0000000080000000 (0x00000297) x 5 0x0000000080000000\n\
         ILLEGAL_INSTR exception @ 0x0000000080000004\n\
         core   0: 0x0000000080000100 (0x34202573) DASM(34202573)\n",
        &["80000000 00000297 el 3", "fault 80000004: exception 2", "80000100 34202573"],
    ),
    (
        // Traps of the fetch have no line of an instruction; MRET retired.
        "sail",
        "[0] [M]: 0x0000000080000000 (0x30200073) mret\n\
         ret-ing from M to S\n\
         trapping from S to M to handle fetch-access-fault\n\
         handling exc#0x01 at priv M with tval 0x0000000080000426\n\
         CSR mepc (0x341) <- 0x0000000080000426\n\
         trapping from M to M to handle fetch-access-fault\n\
         CSR mcause (0x342) <- 0x0000000000000001\n\
         CSR mtval (0x343) <- 0x0000000000000040\n\
         CSR mepc (0x341) <- 0x0000000000000040\n\
         [1] [M]: 0x0000000080000100 (0x0000) c.illegal 0x0\n\
         trapping from M to M to handle extension-exception\n",
        &[
            "80000000 30200073 el 3",
            "fault 80000426: exception 1",
            "fault 40: exception 1 tval 40",
            "mode 3",
            "fault 80000100: unknown",
        ],
    ),
    (
        // docs/source/handshake.rst of riscv-dv, and a converter that prints PRV_M and ends in CR.
        "riscv-dv",
        "pc,instr,gpr,csr,binary,mode,instr_str,operand,pad\r\n\
         ffffffff8000000c,c.addi,ra:daab700e,,000000b9,3,\"c.addi  ra, 14\",\"ra,14\",\r\n\
         ffffffff8000000e,,sp:ff8e6000,0x305:0x1100,ff8e6137,PRV_M,,\r\n",
        &["ffffffff8000000c 00b9 el 3", "ffffffff8000000e ff8e6137 el 3"],
    ),
    (
        // Names of processors in gem5's configurations.
        "gem5",
        "1001000: system.cpu_cluster.cpus1: A0 T0 : 0x8079364c @kernel_init.__cpu_setup+84    :   mrs   x10, id_aa64pfr1_el1 : System :  D=0x1  flags=(IsInteger)\n\
         3757178000: system.processor.cores2.core: A0 T0 : 0x7ffff7c82572 @_end+14    :   syscall                  : IntAlu :   flags=()\n\
         This is the output of the program\n\
         \x20 89000: system.processor.cores.core: T0 : 0x80000004 @_start+4    : addi sp, sp, 26            : IntAlu :  D=0x1\n\
         1473191502750: system.switch_cpus: A0 T0 : 0xffffffff81001bc0    :   NOP : IntAlu :\n\
         8401562000: system.cpu: A0 T0 : 0x7ffff7c8256b @_end+17. 1 :   JZ_I : limm   t2, 0x13   : IntAlu :  D=0x13\n\
         8401562000: system.cpu: A0 T0 : 0x7ffff7c8256b @_end+17. 2 :   JZ_I : wrip   t1, t2 : IntAlu :\n",
        &[
            "cpu 1 8079364c ? at 1001000",
            "cpu 2 7ffff7c82572 ? at 3757178000",
            "80000004 ? at 89000",
            "ffffffff81001bc0 ? at 1473191502750",
            "7ffff7c8256b ? at 8401562000",
        ],
    ),
    (
        // Ibex before compressed opcodes had 4 digits, with the time in blanks.
        "ibex",
        "Time\tCycle\tPC\tInsn\tDecoded instruction\tRegister and memory contents\n\
         \x20            18\t         5\t00100080\t001000b7\tlui\tx1,0x100\t  x1=0x00100000\n\
         \x20            38\t        15\t00100090\t0001\tc.nop\t\n",
        &["100080 001000b7 at 5", "100090 0001 at 15"],
    ),
];

/// QEMU's plugin prints the 32 bits at the address: a T32 instruction has its first halfword in the
/// low bits.
#[test]
fn opcodes_of_memory() {
    let log = "0, 0x8000, 0x0005f04f, \"mov.w r0, #5\"\n0, 0x8004, 0xf04f6001, \"str r1, [r0]\"\n";
    let format = Format::named("execlog").unwrap();
    assert_eq!(read(&mut Reader::new(format, Isa::T32), log), ["8000 f04f0005", "8004 6001"]);
    let log = "0, 0x8000, 0x00134481, \"c.li\"\n";
    assert_eq!(read(&mut Reader::new(format, Isa::Rv32), log), ["8000 4481"]);
    // Lines that the plugin printed in qemu-riscv64 7.2: the opcode has no zeros before it.
    let log = "0, 0x100d6, 0xae344521, \"4521              addi                    a0,zero,8\"\n\
               0, 0x100d8, 0xfd9ff0ef, \"fd9ff0ef          jal                     ra,-40                  # 0x100b0\"\n\
               0, 0x100b0, 0xae344289, \"4289              addi                    t0,zero,2\"\n\
               0, 0x100b2, 0x2554163, \"02554163          bgt                     t0,a0,34                # 0x100d4\"\n";
    let want = ["100d6 4521", "100d8 fd9ff0ef", "100b0 4289", "100b2 02554163"];
    assert_eq!(read(&mut Reader::new(format, Isa::Rv64), log), want);
}

#[test]
fn maps_of_users() {
    let map = LogMap::read(
        r#"
isa = "rv64"
skip = ["^#"]
[[line]]
step = "instruction"
match = '^(?<address>\w+) (?<opcode>\w+)(?<trap> !)?(?: x(?<repeat>\d+))?'
[[line.more]]
step = "repeat"
match = ' x(?<repeat>\d+)'
"#,
    );
    let mut reader = Reader::with_map(map.unwrap(), Isa::Rv64);
    let log = "# a log\n80000000 00000013\n80000004 0000006f x3\n80000008 00100073 !\n";
    let jump = "80000004 0000006f";
    let want = ["80000000 00000013", jump, jump, jump, "fault 80000008: exception 3"];
    assert_eq!(read(&mut reader, log), want);
    let error = reader.feed(b"other\n", &mut |_| ()).unwrap_err();
    assert_eq!((error.line, error.found.as_str()), (5, "other"));

    let pattern =
        LogMap::of_pattern(r"pc=(?<address>[0-9a-f]+) insn=(?<opcode>[0-9a-f]+)").unwrap();
    let mut reader = Reader::with_map(pattern, Isa::Rv32);
    assert_eq!(read(&mut reader, "boot\nt=1 pc=100 insn=00000013\n"), ["100 00000013"]);
}

#[test]
fn errors_of_maps_name_the_key() {
    let line = |rest: &str| format!("[[line]]\nstep = \"instruction\"\n{rest}");
    for (toml, want) in [
        (String::new(), "no [[line]]"),
        ("lines = 1".to_owned(), "`lines` is no key of the map"),
        (line("match = '(?<pc>x)'"), "`pc` is no field; expected one of address"),
        (line("match = '(?<address>x'"), "match: `(?<address>x`"),
        (line("match = 'x'"), "has no group (?<address>"),
        (line("match = '(?<address>x)'\nmerge = 1"), "merge: expected true or false"),
        ("isa = \"MIPS\"".to_owned(), "`MIPS` is no instruction set"),
        (
            "[[line]]\nstep = \"jump\"\nmatch = 'x'".to_owned(),
            "step: `jump`; expected one of instruction",
        ),
    ] {
        let why = LogMap::read(&toml).unwrap_err().to_string();
        assert!(why.contains(want), "{toml}: {why}");
    }
}
