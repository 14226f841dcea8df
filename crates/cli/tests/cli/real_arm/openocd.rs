//! OpenOCD's analyser of ETMv1 traces (`etm analyze`), run without a target by a dummy JTAG
//! adapter.

use std::fs;
use std::path::Path;
use std::process::Command;

use tracewright::capture::cycles::{Form, write};

use super::hex;
use super::run::{Flow, Traced};

/// Values of ETMCR: ports of 8 and 16 bits, and each kind of data trace. (For a 4-bit port OpenOCD
/// masks the pipeline status wrongly, and it misreads address packet offsets other than 0.)
pub(super) const CONTROLS: [u32; 5] = [0x90, 0x94, 0x9c, 0xa0, 0xac];

/// Runs OpenOCD on the capture at `snapshot`, and compares its output with `ours`.
pub(super) fn compare(control: u32, snapshot: &Path, ours: &Traced) {
    let folder = snapshot.parent().expect("a folder");
    let capture = tracewright::read_capture(snapshot).expect("a snapshot");
    fs::write(folder.join("dump"), write(&capture, Form::OpenOcd).expect("a dump"))
        .expect("a file");
    let width = if control >> 4 & 7 == 1 { 8 } else { 16 };
    let script = format!(
        "adapter driver dummy\nadapter speed 1000\ntransport select jtag\ngdb_port disabled\n\
         telnet_port disabled\ntcl_port disabled\n\
         jtag newtap arm9 cpu -irlen 4 -ircapture 0x1 -irmask 0xf -expected-id 0\n\
         target create arm9.cpu arm926ejs -endian little -chain-position arm9.cpu\n\
         etm config arm9.cpu {width} normal full dummy\netm_dummy config arm9.cpu\ninit\n\
         etm load dump\netm image program.elf 0 elf\nputs [capture {{etm analyze}}]\nshutdown\n"
    );
    fs::write(folder.join("openocd.cfg"), script).expect("a script");
    let mut command = Command::new("openocd");
    command.args(["-f", "openocd.cfg"]).current_dir(folder);
    let output = command.output().expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let (mut ran, mut moved) = (Vec::new(), Vec::new());
    for line in text.lines() {
        if let Some(value) = line.strip_prefix("data: ") {
            moved.push(hex(value.trim()));
        } else if line.starts_with("0x") {
            let address = line.split('\t').next().expect("an address");
            ran.push((hex(address), !line.contains("(not executed)")));
        }
    }
    let want: Vec<(u32, bool)> = ours
        .flow
        .iter()
        .filter_map(|flow| match flow {
            Flow::Ran { address, passed, .. } => Some((*address, *passed)),
            Flow::Raised { .. } => None,
        })
        .collect();
    let n = want.iter().zip(&ran).take_while(|(a, b)| a == b).count();
    let pair = (want.get(n), ran.get(n));
    assert!(want == ran, "{control:#x}: instruction {n}, ours and OpenOCD's: {pair:x?}");
    let values: Vec<u32> = ours.moved.iter().filter_map(|moved| moved.value).collect();
    let n = values.iter().zip(&moved).take_while(|(a, b)| a == b).count();
    let pair = (values.get(n), moved.get(n));
    assert!(values == moved, "{control:#x}: datum {n}, ours and OpenOCD's: {pair:x?}");
    println!("{control:#x}: {} instructions, {} data", ran.len(), moved.len());
}
