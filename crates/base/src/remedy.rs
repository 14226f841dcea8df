//! Remedies: what a user gives beside a capture.

use alloc::string::String;
use core::ffi::CStr;
use core::fmt;

macro_rules! remedies {
    ($($(#[doc = $doc:literal])+ $constant:ident $name:ident $text:literal,)*) => {
        /// Something that a user gives beside a capture: what is missing, or wrong, where a trace
        /// cannot be decoded well.
        ///
        /// Texts of the libraries name a remedy as its `Display` writes it, its name between `<`
        /// and `>`, and not as an option of a program: a program writes its own word there.
        ///
        /// ```
        /// use tracewright_base::Remedy;
        ///
        /// let text = "program memory is missing; add the program with <image> FILE";
        /// let missing: Vec<_> = Remedy::named_in(text).collect();
        /// assert_eq!(missing, [Remedy::Image]);
        /// let own = Remedy::spelled(text, |remedy| format!("the dialog {}", remedy.name()));
        /// assert_eq!(own, "program memory is missing; add the program with the dialog image FILE");
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Remedy {
            $($(#[doc = $doc])+ $name,)*
        }

        $($(#[doc = $doc])+ pub const $constant: Remedy = Remedy::$name;)*

        impl Remedy {
            /// All remedies.
            pub const ALL: &[Remedy] = &[$(Remedy::$name),*];

            /// The name: small letters, and `-` between words.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Remedy::$name => $text,)*
                }
            }

            /// The name for C, with a zero after it.
            pub const fn c_name(self) -> &'static CStr {
                let bytes = match self {
                    $(Remedy::$name => concat!($text, "\0").as_bytes(),)*
                };
                match CStr::from_bytes_with_nul(bytes) {
                    Ok(name) => name,
                    Err(_) => c"",
                }
            }
        }
    };
}

remedies! {
    /// Whether trace is assumed to begin with a packet.
    ASSUME_SYNCED AssumeSynced "assume-synced",
    /// The bytes before the first frame.
    ALIGN Align "align",
    /// All buffers of a capture.
    ALL_BUFFERS AllBuffers "all-buffers",
    /// The layout of kernel modules is that of their files.
    ASSUME_MODULE_LAYOUT AssumeModuleLayout "assume-module-layout",
    /// The rate of the bits of a serial wire, in bits for each second.
    BAUD Baud "baud",
    /// Start and stop addresses of a request.
    BETWEEN Between "between",
    /// A file that a `perf.data` file maps.
    BINARY Binary "binary",
    /// The outcome of each branch, in a request.
    BRANCH_OUTPUT BranchOutput "branch-output",
    /// The bytes of each packet, in a listing.
    BYTES Bytes "bytes",
    /// The trace buffer in a dump of memory: its address or symbol.
    BUFFER Buffer "buffer",
    /// The coding of a serial wire.
    CODING Coding "coding",
    /// A context ID that is traced, in a request.
    CONTEXT Context "context",
    /// The size of context IDs, in a request.
    CONTEXT_BYTES ContextBytes "context-bytes",
    /// The type of the traced core.
    CORE Core "core",
    /// Cycle counts, in a request.
    CYCLES Cycles "cycles",
    /// Data trace, in a request.
    DATA Data "data",
    /// Addresses that are not traced, in a request.
    EXCLUDE Exclude "exclude",
    /// The form of an output.
    FORMAT Format "format",
    /// The framing of the bytes.
    FRAMING Framing "framing",
    /// A trigger that halts the processor, in a request.
    HALT Halt "halt",
    /// The trace IDs, or source numbers, that are decoded.
    ID Id "id",
    /// Program memory: a file, and its address where it has none.
    IMAGE Image "image",
    /// An execution log.
    LOG Log "log",
    /// The most instructions for each byte of a packet.
    MAX_EXPANSION MaxExpansion "max-expansion",
    /// Whether messages begin at bytes, or at any bit.
    MESSAGES_AT MessagesAt "messages-at",
    /// A file with the parameters of a RISC-V trace unit.
    PARAMS Params "params",
    /// A recording of the levels of a trace port.
    PINS Pins "pins",
    /// Whether a capture may refer to named pipes.
    PIPES Pipes "pipes",
    /// The protocol of a trace unit, with its trace ID where there are frames.
    PROTOCOL Protocol "protocol",
    /// A register, or a parameter, of a trace unit, and its value.
    REGISTER Register "register",
    /// What a generated routine does, in a request.
    ROUTINE Routine "routine",
    /// Security states that are traced, in a request.
    SECURITY Security "security",
    /// The name that a recording gives to a signal.
    SIGNAL Signal "signal",
    /// The trace buffer, in a request.
    SINK Sink "sink",
    /// Bytes at the start of the trace that are not decoded.
    SKIP Skip "skip",
    /// A buffer of the capture.
    SOURCE Source "source",
    /// Whether the processor waits for the trace, in a request.
    STALL Stall "stall",
    /// The size of the words in which bytes are swapped.
    SWAP Swap "swap",
    /// The folder with the files of the recorded machine.
    SYMFS Symfs "symfs",
    /// Timestamps, in a request.
    TIMESTAMPS Timestamps "timestamps",
    /// Addresses that are traced, in a request.
    TRACE Trace "trace",
    /// What triggers, in a request.
    TRIGGER Trigger "trigger",
    /// A virtual machine that is traced, in a request.
    VMID Vmid "vmid",
    /// Identifiers of virtual machines, in a request.
    VMIDS Vmids "vmids",
}

impl Remedy {
    /// The remedies that a text of a library names, in its order.
    pub fn named_in(text: &str) -> impl Iterator<Item = Remedy> + '_ {
        parts(text).filter_map(|(_, remedy)| remedy)
    }

    /// A text of a library, with `word` for each remedy that it names.
    pub fn spelled(text: &str, word: impl Fn(Remedy) -> String) -> String {
        let mut out = String::with_capacity(text.len());
        for (before, remedy) in parts(text) {
            out.push_str(before);
            out.extend(remedy.map(&word));
        }
        out
    }
}

/// `<name>`
impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.name())
    }
}

/// The parts of a text: the bytes before a remedy, and the remedy; the last part has none.
fn parts(text: &str) -> impl Iterator<Item = (&str, Option<Remedy>)> {
    let mut rest = Some(text);
    core::iter::from_fn(move || {
        let text = rest?;
        let found = text.match_indices('<').find_map(|(at, _)| {
            let (before, begin) = text.split_at_checked(at)?;
            let begin = begin.strip_prefix('<')?;
            let named = |remedy: Remedy| begin.strip_prefix(remedy.name())?.strip_prefix('>');
            let mut all = Remedy::ALL.iter();
            all.find_map(|&remedy| Some((before, remedy, named(remedy)?)))
        });
        rest = found.map(|(_, _, after)| after);
        Some(found.map_or((text, None), |(before, remedy, _)| (before, Some(remedy))))
    })
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn settings_are_named_in_texts() {
        for remedy in Remedy::ALL {
            let text = format!("{remedy}: a < b, <none> {remedy}>");
            assert_eq!(Remedy::named_in(&text).collect::<Vec<_>>(), [*remedy; 2]);
            let spelled = Remedy::spelled(&text, |_| "own".into());
            assert_eq!(spelled, "own: a < b, <none> own>");
            assert_eq!(remedy.c_name().to_str(), Ok(remedy.name()));
        }
        assert_eq!(Remedy::spelled("<<image", |_| "x".into()), "<<image");
        assert_eq!(Remedy::spelled("<<image>é", |_| "x".into()), "<xé");
    }
}
