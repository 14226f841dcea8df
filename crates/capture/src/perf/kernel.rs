//! Where the kernel and its modules were in memory: from the symbols that mappings are named for,
//! and from lists of symbols.

use std::collections::HashMap;

use tracewright_base::remedy::{ASSUME_MODULE_LAYOUT, BINARY};
use tracewright_image::{Elf, ObjectFile};

use super::features::RecordedFile;
use super::record::Mmap;
use crate::Bytes;

/// The name of the kernel's mapping, without the symbol.
pub(super) const KERNEL: &str = "[kernel.kallsyms]";

/// Whether a mapping of this name is the kernel itself.
pub(super) fn kernel(path: &str) -> bool {
    path.starts_with(KERNEL)
}

/// Whether a mapping of this name is of a guest: `[guest.kernel.kallsyms]_text`,
/// `[guest.kernel.kallsyms.PID]`.
pub(super) fn guest(path: &str) -> bool {
    path.starts_with("[guest.kernel")
}

/// The process of the virtual machine of a guest: of its mapping, or of the name of its kernel. A
/// guest without one has the process 0. (Linux 6.1.192, tools/perf/util/machine.h:25,
/// DEFAULT_GUEST_KERNEL_ID; machine.c:74, `machine__set_mmap_name`)
pub(super) fn machine(mmap: &Mmap) -> Option<u32> {
    let named = mmap.path.strip_prefix("[guest.kernel.kallsyms.");
    let named = named.and_then(|rest| rest.split(']').next()?.parse().ok());
    named.or(Some(mmap.process)).filter(|process| ![0, u32::MAX].contains(process))
}

/// The symbols that may be those of a mapping of the kernel, and its address in memory: 0 where it
/// is not recorded.
///
/// perf names the mapping for `_text` or `_stext`, and its offset is the address of that symbol
/// (Linux 6.1.192, tools/perf/util/synthetic-events.c:1143 and 1156,
/// `__perf_event__synthesize_kernel_mmap`). simpleperf names it for `_stext` where its start is
/// that symbol, and its offset is 0 (simpleperf/environment.cpp at 433d6f55,
/// `GetKernelAndModuleMmaps`). Where it names no symbol, the kernel begins at its start.
fn reference(mmap: &Mmap) -> (Vec<&str>, u64) {
    let named = mmap.path.rsplit_once(']').map_or("", |(_, symbol)| symbol);
    let names = if named.is_empty() { vec!["_text", "_stext"] } else { vec![named] };
    (names, if mmap.offset != 0 { mmap.offset } else { mmap.address })
}

/// The difference of the addresses in memory to those in the kernel's file, which has `bytes`; else
/// why it is not known.
pub(super) fn bias(bytes: &Bytes, mmap: &Mmap, symbols: &KernelSymbols) -> Result<u64, String> {
    let (names, recorded) = reference(mmap);
    let found = names.iter().find_map(|name| Some((*name, Elf::address_of(bytes, name)?)));
    let Some((name, linked)) = found else {
        return Err(format!(
            "it has no symbol {}, for which the mapping is named",
            names.join(" or ")
        ));
    };
    let address = match recorded {
        0 => symbols.get(name, "").ok_or_else(|| {
            format!("the address of {name} is not recorded, which /proc/kallsyms has")
        })?,
        recorded => recorded,
    };
    Ok(address.wrapping_sub(linked))
}

/// Whether the kernel's mapping names no symbol, and the two that it may be have other addresses in
/// the kernel's file, which has `bytes`.
pub(super) fn is_unnamed(bytes: &Bytes, mmap: &Mmap) -> bool {
    let address = |name| Elf::address_of(bytes, name);
    let both = address("_text").zip(address("_stext"));
    mmap.path == KERNEL && both.is_some_and(|(text, stext)| text != stext)
}

/// The name of a module, by the path of its mapping or its file: `/lib/modules/6.6.0/snd-pcm.ko.xz`
/// and `[snd_pcm]` are `snd_pcm`.
pub(super) fn module_name(path: &str) -> String {
    let file = path.rsplit('/').next().unwrap_or(path);
    let name = file.split_once(".ko").map_or(file, |(name, _)| name);
    name.trim_matches(['[', ']']).replace('-', "_")
}

/// Where `.text` of a module is in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// At this address.
    At(u64),
    /// At this address, where the loader made no section before it larger.
    Assumed(u64),
    /// It is not known: why not.
    Unknown(String),
}

/// The place of `.text` of `object`, a module that is mapped by `mmap` and recorded as `recorded`.
/// `assume`: where it is not known, it is assumed to be as in the file.
///
/// The sections with code are in memory in their order in the file (kernel/module/main.c of Linux,
/// `layout_sections`), but the sections of trampolines before `.text` become larger
/// (arch/arm64/kernel/module-plts.c, `module_frob_arch_sections`).
pub(super) fn module_text(
    object: &ObjectFile,
    mmap: &Mmap,
    recorded: Option<&RecordedFile>,
    symbols: &KernelSymbols,
    assume: bool,
) -> Text {
    if let Some(offset) = recorded.and_then(RecordedFile::text_offset) {
        return Text::At(mmap.address.wrapping_add(offset));
    }
    let name = module_name(&mmap.path);
    match symbols.text_of(&name, object) {
        Some(Ok(start)) if start.wrapping_sub(mmap.address) < mmap.len => return Text::At(start),
        Some(Ok(start)) => {
            return Text::Unknown(format!(
                "the list of the kernel's symbols has it at {start:#x}, but it was mapped at {:#x}: \
                 the list is of another start of the machine",
                mmap.address
            ));
        }
        Some(Err(why)) => return Text::Unknown(why),
        None if object.least_offset() == Some(0) => return Text::At(mmap.address),
        None => {}
    }
    match object.least_offset().filter(|_| assume) {
        Some(offset) => Text::Assumed(mmap.address.wrapping_add(offset)),
        None => Text::Unknown(format!(
            "other sections with code are before .text, and become larger when the module is \
             loaded; the kernel's symbols (/proc/kallsyms of the traced machine: {BINARY} kallsyms) \
             or a copy of its memory (perf record --kcore) have the address, and \
             {ASSUME_MODULE_LAYOUT} takes that of the file"
        )),
    }
}

/// A symbol of the kernel, whatever else has its name.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// `None` where several symbols of the same kind have the name.
    address: Option<u64>,
    global: bool,
}

/// Symbols by name.
type Names = HashMap<String, Known>;

fn insert(names: &mut Names, name: &str, address: u64, global: bool) {
    let new = Known { address: Some(address), global };
    match names.get_mut(name) {
        None => {
            names.insert(name.to_owned(), new);
        }
        // A module refers to global symbols of other files.
        Some(known) if global != known.global => {
            if global {
                *known = new;
            }
        }
        Some(known) if known.address != Some(address) => known.address = None,
        Some(_) => {}
    }
}

/// The addresses of the kernel's symbols, and of those of its modules.
#[derive(Clone, Debug, Default)]
pub(super) struct KernelSymbols {
    /// The symbols of the kernel and of all modules.
    all: Names,
    /// The symbols of each module.
    modules: HashMap<String, Names>,
}

impl KernelSymbols {
    /// The symbols of a list as in `/proc/kallsyms`: `address type name`, and the module in
    /// brackets. Without rights all addresses are 0.
    pub(super) fn listed(text: &str) -> KernelSymbols {
        let mut symbols = KernelSymbols::default();
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let mut word = || words.next().unwrap_or_default();
            let (address, kind, name, module) = (word(), word(), word(), word());
            let Ok(address @ 1..) = u64::from_str_radix(address, 16) else { continue };
            let global = kind.starts_with(|kind: char| kind.is_ascii_uppercase());
            let module = module.strip_prefix('[').and_then(|module| module.strip_suffix(']'));
            if name.is_empty() {
                continue;
            }
            insert(&mut symbols.all, name, address, global);
            if let Some(module) = module {
                let names = symbols.modules.entry(module.to_owned()).or_default();
                insert(names, name, address, false);
            }
        }
        symbols
    }

    /// The symbols of the kernel's file.
    pub(super) fn of_file(elf: &Elf, bias: u64) -> KernelSymbols {
        let mut symbols = KernelSymbols::default();
        for symbol in elf.symbols.iter() {
            insert(&mut symbols.all, symbol.name, symbol.start.wrapping_add(bias), true);
        }
        symbols
    }

    /// The address of a symbol that the module named `module` refers to.
    pub(super) fn get(&self, name: &str, module: &str) -> Option<u64> {
        let own = self.modules.get(module).and_then(|names| names.get(name));
        own.or_else(|| self.all.get(name))?.address
    }

    /// The address of a symbol for the module that is mapped from `path`.
    pub(super) fn for_module(&self, path: &str) -> impl Fn(&str) -> Option<u64> {
        let module = module_name(path);
        move |name| self.get(name, &module)
    }

    /// Why the symbols are not those of the kernel that was mapped by `mmap`.
    pub(super) fn contradiction(&self, mmap: &Mmap) -> Option<String> {
        let (names, recorded) = reference(mmap);
        let [name] = names[..] else { return None };
        let listed = self.get(name, "").filter(|_| recorded != 0)?;
        (listed != recorded).then(|| {
            format!(
                "the list of the kernel's symbols has {name} at {listed:#x}, but it was at \
                 {recorded:#x}: the list is of another start of the machine, and is not used"
            )
        })
    }

    /// The address of `.text` of the module named `name`, from the symbols that both `object` and
    /// the list have once. `None` where there are none.
    fn text_of(&self, name: &str, object: &ObjectFile) -> Option<Result<u64, String>> {
        let names = self.modules.get(name)?;
        let mut counts: HashMap<&str, usize> = HashMap::new();
        object.labels().iter().for_each(|(name, _)| *counts.entry(name).or_default() += 1);
        let once = object.labels().iter().filter(|(name, _)| counts.get(&**name) == Some(&1));
        let mut starts = once.filter_map(|(name, offset)| {
            let address = names.get(name)?.address?;
            Some(address.wrapping_sub(*offset))
        });
        let first = starts.next()?;
        Some(match starts.all(|start| start == first) {
            true => Ok(first),
            false => {
                Err("its symbols in the list of the kernel's symbols are those of another file, \
                          whose functions have other distances"
                    .into())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_named_as_the_kernel_names_them() {
        for (path, want) in [
            ("/lib/modules/6.6.0/kernel/sound/snd-pcm.ko", "snd_pcm"),
            ("/lib/modules/6.6.0/x/snd-pcm.ko.xz", "snd_pcm"),
            ("[nf_nat]", "nf_nat"),
        ] {
            assert_eq!(module_name(path), want);
        }
    }

    #[test]
    fn a_module_refers_to_its_own_symbols_and_to_global_ones() {
        let symbols = KernelSymbols::listed(
            "0 T hidden\n10 T _text\n20 t init\t[a]\n30 t init\t[b]\n40 T run\t[a]\n50 t run\n\
             60 t twice\t[b]\n70 t twice\t[b]\nnonsense\n",
        );
        for (name, module, want) in [
            ("_text", "", Some(0x10)),
            ("init", "a", Some(0x20)),
            ("init", "b", Some(0x30)),
            ("init", "", None),
            ("run", "b", Some(0x40)),
            ("twice", "b", None),
            ("hidden", "", None),
        ] {
            assert_eq!(symbols.get(name, module), want, "{name} {module}");
        }
    }
}
