//! The limits on what a capture can make the command do.

use std::fs;

use crate::common::{Folder, args, tracewright};

/// ETMv4 with an atom at 60,000 plain A64 instructions and a return.
#[test]
fn max_expansion() {
    let folder = Folder::new("max-expansion");
    let mut code = 0xd503_201fu32.to_le_bytes().repeat(60_000);
    code.extend(0xd65f_03c0u32.to_le_bytes());
    let mut trace = vec![0; 11];
    // Alignment Sync, Trace Info, Trace On, address 0x1000 with context, an atom E.
    trace.extend([0x80, 0x01, 0x00, 0x04, 0x82, 0x00, 0x08, 0x00, 0x00, 0x11, 0xf7]);
    let (image, input) = (folder.path("code.bin"), folder.path("trace.bin"));
    fs::write(&image, code).unwrap();
    fs::write(&input, trace).unwrap();
    let image = format!("{}@0x1000", image.display());
    let run = |words: &str| {
        let words = format!(
            "{words} --framing raw --protocol ETM4 --core ARMv8-A --config TRCCONFIGR=1 \
             --config TRCIDR0=0x28000ea1 --config TRCIDR2=0x488 --config TRCIDR8=0 --image {image}"
        );
        tracewright(&args(&words, &[&input]))
    };
    let found = |words: &str| {
        let output = run(&format!("{words} --strict --format json"));
        let reason = output.out.contains("\"reason\":\"expansion-limit\"");
        assert_eq!(output.code, Some(reason.into()), "{words}: {}", output.err);
        reason
    };
    assert!(found("decode"));
    assert!(found("decode --max-expansion 1440000"));
    assert!(found("decode --max-expansion 1 --jobs 3"));
    assert!(!found("decode --max-expansion 1440048"));
    assert!(!found("instructions --max-expansion 4294967295"));
    let output = run("decode");
    assert!(output.out.contains("if the trace is right, raise the limit"), "{}", output.out);
    for verb in ["decode --format none", "instructions", "bench"] {
        let err = run(verb).err;
        let note = "the limit of 1048576 instructions for each byte of a packet was reached 1 time, first at offset 21";
        assert!(err.contains(note) && err.contains("with --max-expansion N"), "{verb}: {err}");
    }
    for verb in ["decode", "instructions", "bench"] {
        let output = run(&format!("{verb} --max-expansion 0"));
        assert_eq!(output.code, Some(2), "{verb}");
        assert!(output.err.contains("--max-expansion"), "{verb}: {}", output.err);
    }
}
