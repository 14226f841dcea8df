//! Watchpoints on a trace with data accesses, and the memory that these show.

use std::fmt::Write as _;
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tracewright_testing::{Random, times, tool};

use crate::{Folder, TRACEWRIGHT, gdb, tracewright, transcript};

/// ETMCR with addresses and values of data accesses.
const WITH_DATA: &str = "ETMCR=0xd00c";

/// Where the variables of the programs are.
const DATA: u64 = 0x20000;

fn encode(log: &Path, options: &[&str], capture: &Path) {
    let [log, capture] = [log, capture].map(|path| path.to_str().expect("a path"));
    let mut all = vec!["encode", "--log", log, "--protocol", "ETM3", "-o", capture];
    if !options.contains(&"--config") {
        all.extend(["--config", WITH_DATA]);
    }
    tracewright(&[&all[..], options].concat());
}

/// The log of the program in `watched.c`.
fn log() -> String {
    let mut log = String::from("cpu,step,address,isa,size,value\n");
    let mut step = |address: u64, access: Option<(&str, u64, u32, u32)>| {
        let _ = writeln!(log, "0,instruction,{address:x},A32,,");
        if let Some((kind, address, size, value)) = access {
            let _ = writeln!(log, "0,{kind},{address:x},,{size},{value:x}");
        }
    };
    (0..3).for_each(|n| step(0x8000 + 4 * n, None));
    let mut sum = 0;
    for n in (1..=5).rev() {
        step(0x800c, Some(("read", DATA, 4, sum)));
        step(0x8010, None);
        sum += n;
        step(0x8014, Some(("write", DATA, 4, sum)));
        step(0x8018, None);
        step(0x801c, Some(("write", DATA + 4, 1, n)));
        step(0x8020, None);
        step(0x8024, None);
    }
    (0..3).for_each(|n| step(0x8028 + 4 * n, None));
    log
}

/// gdb stops after each write with both values, and backwards before it.
#[test]
fn who_wrote_it_last() {
    let Some(gdb) = gdb() else { return };
    let compiler = [("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf")];
    let Some(compiler) = tool(&compiler) else { return };
    let folder = Folder::new("watch");
    let (elf, capture) = (folder.path("watched.elf"), folder.path("capture"));
    std::fs::write(folder.path("watched.c"), include_str!("watched.c")).expect("a source");
    std::fs::write(folder.path("log.csv"), log()).expect("a log");
    let options = "-march=armv7-a+fp -marm -g -O1 -static -nostdlib -fno-pie -Wl,--build-id=none \
                   -Wl,-Ttext=0x8000 -Wl,-Tbss=0x20000 watched.c -o watched.elf";
    let compiled = Command::new(compiler)
        .args(options.split_whitespace())
        .current_dir(folder.path(""))
        .status();
    assert!(compiled.expect("the compiler runs").success());
    encode(&folder.path("log.csv"), &["--image", elf.to_str().expect("a path")], &capture);

    let target = format!("| {TRACEWRIGHT} gdbserver {}", capture.display());
    let printed = |commands: &[&str]| {
        let commands: Vec<_> = commands.iter().map(|text| (*text).to_owned()).collect();
        transcript(gdb, &elf, &target, &commands)
    };
    let of = |text: &str| -> Vec<String> {
        let is_value = |line: &&str| line.contains(" value = ") || line.starts_with("0x0000");
        text.lines().filter(is_value).skip(1).map(str::to_owned).collect()
    };
    let end = ["monitor goto end", "maintenance flush register-cache"];
    let back = ["watch values[0]", "reverse-continue", "reverse-continue", "continue"];
    let text = printed(&[&end[..], &back].concat());
    let want = [
        "Old value = 15",
        "New value = 14",
        "0x00008014 in _start ()",
        "Old value = 14",
        "New value = 12",
        "0x00008014 in _start ()",
        "Old value = 12",
        "New value = 14",
        "0x00008018 in _start ()",
    ];
    assert_eq!(of(&text), want, "{text}");
    let text = printed(&["watch values[0]", "continue", "continue", "stepi", "stepi", "stepi"]);
    let want = [
        "Old value = <unreadable>",
        "New value = 5",
        "0x00008018 in _start ()",
        "Old value = 5",
        "New value = 9",
        "0x00008018 in _start ()",
        "0x0000801c in _start ()",
        "0x00008020 in _start ()",
        "0x00008024 in _start ()",
    ];
    assert_eq!(of(&text), want, "{text}");
    let text = printed(&["rwatch values[0]", "continue", "print values[0]", "continue"]);
    assert_eq!(of(&text), ["0x00008010 in _start ()"; 2], "{text}");
    // What no access has shown is not 0.
    let text = printed(&["print values[0]", "watch *(char *) 0x20004", "continue", "print values"]);
    assert!(text.contains("Cannot access memory at address 0x20000"), "{text}");
    assert!(text.contains("New value = 5") && text.contains("memory at address 0x20005"), "{text}");
}

/// A server, and what is sent to it.
struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Client {
    fn new(capture: &Path) -> Client {
        let mut child = Command::new(TRACEWRIGHT)
            .arg("gdbserver")
            .arg(capture)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut client = Client { child, input, output };
        assert_eq!(client.ask("QStartNoAckMode"), "OK");
        client
    }

    /// The data of the answer, without text that gdb prints.
    fn ask(&mut self, packet: &str) -> String {
        let sum = packet.bytes().fold(0u8, u8::wrapping_add);
        write!(self.input, "${packet}#{sum:02x}").expect("written");
        self.input.flush().expect("written");
        loop {
            let mut text = Vec::new();
            let mut byte = [0];
            while text.len() < 3 || text[text.len() - 3] != b'#' {
                self.output.read_exact(&mut byte).expect("an answer");
                text.push(byte[0]);
            }
            let text = String::from_utf8(text).expect("text");
            let (_, data) = text.split_once('$').expect("a packet");
            let (data, _) = data.rsplit_once('#').expect("a checksum");
            if !data.starts_with('O') || data == "OK" {
                return data.to_owned();
            }
        }
    }

    /// The number of instructions before the position.
    fn number(&mut self) -> usize {
        let text = self.ask("p22");
        let digits: Vec<&str> = (0..8).rev().filter_map(|n| text.get(2 * n..2 * n + 2)).collect();
        usize::from_str_radix(&digits.concat(), 16).expect("a number")
    }

    /// Steps over an access as gdb does: without the watchpoint.
    fn pass(&mut self, watchpoint: &str, step: &str) {
        assert_eq!(self.ask(&format!("z{watchpoint}")), "OK");
        assert!(self.ask(step).starts_with("T05"));
        assert_eq!(self.ask(&format!("Z{watchpoint}")), "OK");
    }
}

/// A data access: address, whether it writes, and the value.
type DataAccess = (u64, bool, u32);

/// A program, and what was executed.
struct RandomProgram {
    /// The access of each instruction.
    all: Vec<Option<DataAccess>>,
    log: String,
    /// Program memory from 0x8000 on.
    code: Vec<u8>,
}

/// A word of memory, as a packet has it.
fn digits(value: u32) -> String {
    format!("{:08x}", value.swap_bytes())
}

/// A loop of loads and stores of random words.
fn random_program(random: &mut Random) -> RandomProgram {
    const STORE: u32 = 0xe580_2000;
    const LOAD: u32 = 0xe590_2000;
    const NOP: u32 = 0xe320_f000;
    let mut log = String::from("cpu,step,address,isa,size,value\n");
    let mut all = Vec::new();
    let mut body: Vec<u32> = (0..6).map(|_| random.pick(&[STORE, LOAD, NOP])).collect();
    // A branch to the beginning.
    body.push(0xeaff_fff8);
    let mut memory = [0u32; 4];
    for _ in 0..40 {
        for (n, opcode) in (0u64..).zip(&body) {
            let address = 0x8000 + 4 * n;
            let _ = writeln!(log, "0,instruction,{address:x},A32,,");
            let word = random.index(4);
            let access = [STORE, LOAD].contains(opcode).then(|| {
                let writes = *opcode == STORE;
                if writes {
                    memory[word] = random.next() as u32;
                }
                let kind = if writes { "write" } else { "read" };
                let (at, value) = (DATA + 4 * word as u64, memory[word]);
                let _ = writeln!(log, "0,{kind},{at:x},,4,{value:x}");
                (at, writes, value)
            });
            all.push(access);
        }
    }
    let code = body.iter().flat_map(|opcode| opcode.to_le_bytes()).collect();
    RandomProgram { all, log, code }
}

/// Each access of a random program stops once in each direction, and no other one; the memory after
/// it is that of the program.
#[test]
fn runs_stop_at_all_accesses() {
    let mut random = Random::new(5);
    let mut hits = 0;
    for _ in 0..times(6) {
        let RandomProgram { all, log, code } = random_program(&mut random);
        let folder = Folder::new("accesses");
        let capture = folder.path("capture");
        std::fs::write(folder.path("log.csv"), log).expect("a log");
        std::fs::write(folder.path("code.bin"), code).expect("program memory");
        let image = format!("{}@0x8000", folder.path("code.bin").display());
        encode(&folder.path("log.csv"), &["--image", &image], &capture);
        let mut client = Client::new(&capture);
        for kind in [2, 3, 4] {
            let at = DATA + 4 * random.below(4);
            let watchpoint = format!("{kind},{at:x},4");
            let wanted =
                |access: &DataAccess| access.0 == at && (kind == 4 || (kind == 2) == access.1);
            // The last instruction of the trace is not passed.
            let want: Vec<usize> =
                (0..all.len() - 1).filter(|n| all[*n].as_ref().is_some_and(wanted)).collect();
            client.ask("qRcmd,676f746f207374617274");
            if all.iter().all(Option::is_none) {
                assert!(client.ask(&format!("Z{watchpoint}")).starts_with("E."));
                continue;
            }
            assert_eq!(client.ask(&format!("Z{watchpoint}")), "OK");
            let mut got = Vec::new();
            loop {
                let stop = client.ask("vCont;c");
                if stop.contains("replaylog:end") {
                    break;
                }
                assert!(stop.contains("atch:"), "{stop}");
                got.push(client.number());
                client.pass(&watchpoint, "vCont;s");
                let access = all[*got.last().expect("a stop")].expect("an access");
                let bytes = client.ask(&format!("m{at:x},4"));
                let value: String =
                    access.2.to_le_bytes().iter().map(|b| format!("{b:02x}")).collect();
                assert_eq!(bytes, value, "{watchpoint} {got:?}");
            }
            assert_eq!(got, want, "{watchpoint}");
            let mut back = Vec::new();
            loop {
                let stop = client.ask("bc");
                if stop.contains("replaylog:begin") {
                    break;
                }
                assert!(stop.contains("atch:"), "{stop}");
                client.pass(&watchpoint, "bs");
                back.push(client.number());
                // Before the access, memory is what an earlier one has shown, or not known.
                let before = all[..*back.last().expect("a stop")].iter().rev();
                let before = before.filter_map(|access| *access).find(|access| access.0 == at);
                let bytes = client.ask(&format!("m{at:x},4"));
                let value = before.map_or("E0e".to_owned(), |(.., value)| digits(value));
                assert_eq!(bytes, value, "{watchpoint} {back:?}");
            }
            back.reverse();
            assert_eq!(back, want, "{watchpoint}");
            assert_eq!(client.ask(&format!("z{watchpoint}")), "OK");
            hits += want.len();
        }
        client.ask("D");
        assert!(client.child.wait().expect("its end").success());
    }
    assert!(hits >= 200, "{hits}");
}

/// Memory is not known after accesses that the trace unit suppressed, and known again after the
/// next one.
#[test]
fn suppressed_accesses_are_not_values() {
    let folder = Folder::new("suppressed");
    let capture = folder.path("capture");
    let mut log = String::from("cpu,step,address,isa,size,value,cause\n");
    for (value, cause) in [(5, ""), (6, "suppressed"), (7, "")] {
        let _ = writeln!(log, "0,instruction,8000,A32,,,\n0,write,{DATA:x},,4,{value},{cause}");
        log += "0,instruction,8004,A32,,,\n0,instruction,8008,A32,,,\n";
    }
    // A store, no operation, and a branch to the store.
    let code = [0xe580_2000u32, 0xe320_f000, 0xeaff_fffc];
    let code: Vec<u8> = code.iter().flat_map(|opcode| opcode.to_le_bytes()).collect();
    std::fs::write(folder.path("log.csv"), log).expect("a log");
    std::fs::write(folder.path("code.bin"), code).expect("program memory");
    let image = format!("{}@0x8000", folder.path("code.bin").display());
    // SuppressData, too.
    let options = ["--image", &image, "--config", "ETMCR=0x4d00c"];
    encode(&folder.path("log.csv"), &options, &capture);
    let mut client = Client::new(&capture);
    let mut got = Vec::new();
    for _ in 0..9 {
        got.push(client.ask(&format!("m{DATA:x},4")));
        client.ask("vCont;s");
    }
    let (five, seven, unknown) = ("05000000", "07000000", "E0e");
    assert_eq!(got, [unknown, five, five, five, unknown, unknown, unknown, seven, seven]);
}

/// E-Trace does not state which instruction makes an access: it has no values at a position, and
/// watchpoints are refused.
#[test]
fn accesses_without_instructions_are_refused() {
    let folder = Folder::new("etrace-data");
    let [log, capture] = ["log.csv", "capture"].map(|name| folder.path(name));
    let mut text = String::from("cpu,step,address,isa,opcode,size,value\n");
    for value in 1..9 {
        text += "0,instruction,80000000,RV32,00112023,,\n";
        let _ = writeln!(text, "0,write,{DATA:x},,,4,{value}");
        text += "0,instruction,80000004,RV32,00000013,,\n0,instruction,80000008,RV32,ff9ff06f,,\n";
    }
    std::fs::write(&log, text).expect("a log");
    let [log, path] = [&log, &capture].map(|path| path.to_str().expect("a path"));
    let options = ["--protocol", "etrace", "--config", "data=1", "-o", path];
    tracewright(&[&["encode", "--log", log], &options[..]].concat());
    let listed = tracewright(&["decode", path]);
    assert!(listed.contains("data-access 0x00020000 <- 0x00000005"), "{listed}");
    let mut client = Client::new(&capture);
    for kind in 2..5 {
        assert!(client.ask(&format!("Z{kind},{DATA:x},4")).starts_with("E."));
    }
    assert_eq!(client.ask(&format!("m{DATA:x},4")), "E0e");
}
