//! Texts of instructions by LLVM's disassembler, which shares no code with ours.

use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use tracewright_base::Isa;
use tracewright_testing::{is_long, tool_since};
use tracewright_views::disassembly::disassemble;

/// What LLVM is asked for.
pub struct Target {
    pub isa: Isa,
    triple: &'static str,
    features: &'static str,
}

pub const A64: Target = Target {
    isa: Isa::A64,
    triple: "aarch64",
    features: "+v8.5a,+fullfp16,+crypto,+dotprod,+rdm,+fp16fml,+sha3,+sm4,+spe,+ssbs,+chk,+gcs,\
               +mte,+clrbhb,+tme,+wfxt,+pauth-lr",
};
pub const A32: Target = Target {
    isa: Isa::A32,
    triple: "armv8a",
    features: "+v8.5a,+neon,+fullfp16,+crypto,+fp16fml,+dotprod,+ras",
};
pub const T32: Target = Target { isa: Isa::T32, triple: "thumbv8a", features: A32.features };
/// The M profile.
pub const M_PROFILE: Target = Target {
    isa: Isa::T32,
    triple: "thumbv8.1m.main-none-eabi",
    features: "+mve,+lob,+pacbti,+8msecext,+fp-armv8",
};

/// The first version of LLVM whose texts these are: an earlier one has other features.
const LEAST: (u32, u32) = (14, 0);

/// Features that some versions lack, and the instructions that these then show otherwise: TME was
/// removed in LLVM 22.
const FEATURES: &[(&str, &[&str])] = &[
    ("tme", &["tstart", "ttest", "tcommit", "tcancel"]),
    (
        "pauth-lr",
        &[
            "retaasppc",
            "retabsppc",
            "retaasppcr",
            "retabsppcr",
            "autiasppc",
            "autibsppc",
            "autiasppcr",
            "autibsppcr",
            "paciasppc",
            "pacibsppc",
            "pacnbiasppc",
            "pacnbibsppc",
            "pacia171615",
            "pacib171615",
            "autia171615",
            "autib171615",
            "pacm",
        ],
    ),
    ("gcs", &["gcsb"]),
    ("chk", &["chkfeat"]),
    ("clrbhb", &["clrbhb"]),
];

/// The texts of LLVM's disassembler.
struct Texts {
    /// The text of each opcode, normalised; `None` for unallocated ones. The mark is set where LLVM
    /// calls the opcode unpredictable.
    texts: Vec<(Option<String>, bool)>,
    /// The names of instructions that this version does not have.
    lacks: Vec<&'static str>,
}

/// LLVM's texts of 4-byte `opcodes`. A T32 opcode has its first halfword in bits \[31:16]. `None`
/// without the tool, or with one that is too old.
#[track_caller]
fn texts(target: &Target, opcodes: &[u32]) -> Option<Texts> {
    let program = tool_since(&[("llvm-mc-19", "llvm-19"), ("llvm-mc", "llvm")], LEAST)?;
    let Target { isa, triple, features } = *target;
    let mut child = Command::new(program)
        .args(["--disassemble", "-print-imm-hex=1"])
        .args([format!("-triple={triple}"), format!("-mattr={features}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = String::new();
    for &opcode in opcodes {
        let bytes = if isa == Isa::T32 { opcode.rotate_left(16) } else { opcode }.to_le_bytes();
        // Brackets: an unallocated opcode is skipped as a whole.
        let [a, b, c, d] = bytes.map(|byte| format!("{byte:#x}"));
        input += &format!("[ {a} {b} {c} {d} ]\n");
    }
    let mut stdin = child.stdin.take().unwrap();
    let writer = thread::spawn(move || stdin.write_all(input.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let warnings = String::from_utf8(output.stderr).unwrap();
    let line = |text: &str| text.split(':').nth(1).and_then(|number| number.parse::<usize>().ok());
    let lines = |what: &str| -> HashSet<usize> {
        warnings.lines().filter(|line| line.contains(what)).filter_map(line).collect()
    };
    let (invalid, unpredictable) = (lines("invalid instruction"), lines("potentially undefined"));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut found = text.lines().filter(|line| line.starts_with('\t') && !line.starts_with("\t."));
    let texts = (1..=opcodes.len()).map(|number| match invalid.contains(&number) {
        true => (None, false),
        false => (Some(normal(found.next().unwrap())), unpredictable.contains(&number)),
    });
    let texts = texts.collect();
    assert_eq!(found.next(), None);
    let lacks = FEATURES.iter().filter(|(feature, _)| {
        warnings.contains(&format!("'+{feature}' is not a recognized feature"))
    });
    Some(Texts { texts, lacks: lacks.flat_map(|(_, names)| *names).copied().collect() })
}

/// A text without its comment, with one space between words, core registers by number, and decimal
/// numbers.
fn normal(text: &str) -> String {
    let text = text.split("//").next().unwrap_or_default();
    let text = text.split(" @").next().unwrap_or_default().to_ascii_lowercase();
    let text = text.replace(['\t', '{', '}'], " ").replace("]!", "] !");
    let words = text.split_whitespace().map(|word| {
        let (start, rest) = match word.strip_prefix('[') {
            Some(rest) => ("[", rest),
            None => ("", word),
        };
        let core = rest.trim_end_matches(['!', ',', ']']);
        let end = &rest[core.len()..];
        let (core, align) = match core.split_once(':') {
            Some((core, align)) => (core, format!(":{align}")),
            None => (core, String::new()),
        };
        let core = match core {
            "sb" => "r9".to_owned(),
            "fp" => "r11".to_owned(),
            "ip" => "r12".to_owned(),
            other => number(other).unwrap_or_else(|| other.to_owned()),
        } + &align;
        format!("{start}{core}{end}")
    });
    words.collect::<Vec<_>>().join(" ")
}

/// `#0x10`, `#16` and `#1.600000e+01` are one number.
fn number(word: &str) -> Option<String> {
    let digits = word.strip_prefix('#')?;
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", digits),
    };
    let value = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?.to_string(),
        None => match digits.parse::<u64>() {
            Ok(value) => value.to_string(),
            Err(_) => digits.parse::<f64>().ok()?.to_string(),
        },
    };
    Some(format!("#{sign}{value}"))
}

/// A known difference.
pub struct Known {
    /// The reason.
    pub why: &'static str,
    /// Whether it explains the difference of an opcode: our text, and that of LLVM, empty where the
    /// opcode is unallocated.
    pub explains: fn(u32, &str, &str) -> bool,
}

/// Compares the texts of `opcodes`, and fails where one of them differs without a reason in
/// `known`. `least` is how many of them LLVM must have.
#[track_caller]
pub fn compare(target: &Target, opcodes: &[u32], known: &[Known], least: usize) {
    let (Some(Texts { texts, lacks }), isa) = (texts(target, opcodes), target.isa) else { return };
    let mut differences: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut used: HashSet<&str> = HashSet::new();
    for (&opcode, (want, unpredictable)) in opcodes.iter().zip(&texts) {
        let ours = disassemble(isa, opcode, 0);
        let ours = (!ours.starts_with(".inst")).then(|| normal(&ours));
        // An unpredictable instruction may be without a text.
        if ours == *want || ours.is_none() && *unpredictable {
            continue;
        }
        let both = (ours.as_deref().unwrap_or(""), want.as_deref().unwrap_or(""));
        if lacks.iter().any(|name| both.0.split(' ').next() == Some(name)) {
            continue;
        }
        match known.iter().find(|row| (row.explains)(opcode, both.0, both.1)) {
            Some(row) => {
                used.insert(row.why);
            }
            None => {
                let text = format!("{opcode:08x}: {ours:?}, LLVM {want:?}");
                let name = want.as_ref().or(ours.as_ref()).map(|text| text.split(' ').next());
                let name = name.flatten().unwrap_or_default().split('.').next().unwrap_or_default();
                differences.entry(name.to_owned()).or_insert((0, text)).0 += 1;
            }
        }
    }
    for (count, text) in differences.values() {
        println!("{count}: {text}");
    }
    let count = texts.iter().filter(|(text, _)| text.is_some()).count();
    println!("{isa}: {} opcodes, {count} known to LLVM", opcodes.len());
    assert_eq!(differences.len(), 0, "differences that no row explains");
    if lacks.is_empty() {
        let unused = known.iter().find(|row| is_long() && !used.contains(row.why));
        assert_eq!(unused.map(|row| row.why), None, "a row that nothing needs");
        assert!(count >= least, "{count}");
    }
}

/// Fails where an opcode has a text, and LLVM finds it unallocated. Instructions whose names begin
/// with one of `later` are not in each version.
#[track_caller]
pub fn allocated(target: &Target, opcodes: &[u32], later: &[&str]) {
    let Some(Texts { texts, lacks }) = texts(target, opcodes) else { return };
    let mut count = 0;
    for (&opcode, (want, _)) in opcodes.iter().zip(&texts) {
        let ours = disassemble(target.isa, opcode, 0);
        let name = ours.split(' ').next().unwrap_or_default();
        if name == ".inst" || lacks.contains(&name) || later.iter().any(|l| name.starts_with(l)) {
            continue;
        }
        count += 1;
        assert!(want.is_some(), "{opcode:08x} is unallocated: {ours}");
    }
    assert!(count >= opcodes.len() / 8, "{count} of {} have a text", opcodes.len());
}
