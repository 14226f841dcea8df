//! What a fuzzer may begin with: the cases of `tests/cases`, in the form of each target that takes
//! a source's bytes or frames. They are written to `corpus/`, where `cargo fuzz` looks for them.
//!
//! A corpus is for the cases that there are: those that come between others change the numbers of
//! `cases`.
#![forbid(unsafe_code)]

use std::path::Path;
use std::{fs, io};

use tracewright::frames::{Framing, Joiner};
use tracewright::protocols::registry::AnyProtocol;
use tracewright_fuzz::case::Case;
use tracewright_fuzz::properties::FIRST_ID;

fn main() -> io::Result<()> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    for (number, (name, case)) in (0u16..).zip(Case::all()) {
        let case = case.map_err(io::Error::other)?;
        let protocol = AnyProtocol::ALL.iter().position(|known| *known == case.config.protocol());
        let protocol = protocol.unwrap_or_default() as u8;
        let (mut frames, mut joiner) = (Vec::new(), Joiner::new(Framing::Coresight));
        let id = FIRST_ID + protocol;
        joiner
            .push(id, &case.bytes, &mut frames)
            .map_err(|why| io::Error::other(why.to_string()))?;
        joiner.finish(&mut frames);

        for (target, head, bytes) in [
            ("cases", &number.to_le_bytes()[..], &case.bytes),
            ("source", &[protocol, 0], &case.bytes),
            ("packets", &[protocol, 0], &case.bytes),
            // A framing, a cut or a program, a step, a chunk.
            ("link", &[0, 20], &frames),
            ("session", &[0, 0, 16], &frames),
            ("chunks", &[0, 0, 0, 1], &frames),
        ] {
            let folder = corpus.join(target);
            fs::create_dir_all(&folder)?;
            fs::write(folder.join(name.replace('/', "-")), [head, bytes].concat())?;
        }
    }
    Ok(())
}
