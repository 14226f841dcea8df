//! QEMU's log: `-d exec,nochain,cpu,int` with one instruction per block.

/// The registers before an instruction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Before {
    pub(super) r: [u32; 16],
    pub(super) psr: u32,
    pub(super) thumb: bool,
}

/// An entry of the log.
#[derive(Clone, Copy, Debug)]
pub(super) enum Seen {
    /// An instruction.
    Ran(Before),
    /// An exception, by QEMU's number.
    Raised(u32),
}

/// QEMU's exception number of a semihosting call, which ends the program.
const SEMIHOSTING: u32 = 16;

/// Reads the log.
pub(super) fn read(log: &str) -> Vec<Seen> {
    let mut all = Vec::new();
    for line in log.lines() {
        if line.starts_with("Trace ") {
            all.push(Seen::Ran(Before::default()));
        } else if line.starts_with("Stopped execution of TB chain before") {
            // The instruction was not executed.
            all.pop();
        } else if let Some(rest) = line.strip_prefix("Taking exception ") {
            let number = rest.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
            if number == SEMIHOSTING {
                break;
            }
            all.push(Seen::Raised(number));
        } else if let Some(Seen::Ran(before)) = all.last_mut() {
            before.line(line);
        }
    }
    // The log does not contain the effect of the last instruction.
    all.pop();
    all
}

impl Before {
    fn line(&mut self, line: &str) {
        if let Some(psr) = line.strip_prefix("PSR=") {
            self.psr = u32::from_str_radix(&psr[..8], 16).expect("PSR");
            self.thumb = psr.split_whitespace().nth(2) == Some("T");
        } else if line.starts_with('R') && line.as_bytes().get(3) == Some(&b'=') {
            for word in line.split_whitespace() {
                let (name, value) = word.split_once('=').expect("a register");
                let n: usize = name[1..].parse().expect("its number");
                self.r[n] = u32::from_str_radix(value, 16).expect("its value");
            }
        }
    }
}
