//! Profiles in the formats of compilers and profilers.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use tracewright::analysis::{Filter, Profile, Profiler, RawProfile};
use tracewright::decode::{memory, Merge, Program};
use tracewright::export::{Dialect, Format};

use crate::error::TwError;
use crate::guard::guard;
use crate::handle::shared;
use crate::opened::{Opened, Shared, TwCapture};
use crate::plain;
use crate::run;
use crate::select::{Selected, TwDecodeOptions};
use crate::status::{Failure, TwStatus, TW_ERR_NULL, TW_ERR_PROFILE, TW_OK, TW_STOPPED};

/// Text for `create_llvm_prof` and `create_gcov` of AutoFDO.
pub const TW_PROFILE_AUTOFDO: u32 = 1;
/// Pre-aggregated profile for `perf2bolt` of BOLT.
pub const TW_PROFILE_BOLT: u32 = 2;
/// Sample profile of LLVM, as text.
pub const TW_PROFILE_LLVM: u32 = 3;
/// Unsymbolized profile of llvm-profgen.
pub const TW_PROFILE_LLVM_UNSYMBOLIZED: u32 = 4;
/// Clusters of basic blocks for clang.
pub const TW_PROFILE_PROPELLER: u32 = 5;
/// profile.proto of pprof.
pub const TW_PROFILE_PPROF: u32 = 6;
/// Folded stacks, with functions only.
pub const TW_PROFILE_FOLDED: u32 = 7;
/// Callgrind.
pub const TW_PROFILE_CALLGRIND: u32 = 8;
/// JSON Lines.
pub const TW_PROFILE_JSON: u32 = 9;

/// A function of the client that receives `length` bytes, which are valid during the call. It
/// returns 0 for more, or another number to stop.
pub type TwWrite =
    Option<unsafe extern "C" fn(user: *mut c_void, bytes: *const u8, length: usize) -> i32>;

/// The format with a number.
fn format_of(number: u32) -> Option<Format> {
    Some(match number {
        TW_PROFILE_AUTOFDO => Format::Autofdo,
        TW_PROFILE_BOLT => Format::Bolt,
        TW_PROFILE_LLVM => Format::Llvm,
        TW_PROFILE_LLVM_UNSYMBOLIZED => Format::LlvmUnsymbolized,
        TW_PROFILE_PROPELLER => Format::Propeller,
        TW_PROFILE_PPROF => Format::Pprof,
        TW_PROFILE_FOLDED => Format::Folded,
        TW_PROFILE_CALLGRIND => Format::Callgrind,
        TW_PROFILE_JSON => Format::Json,
        _ => return None,
    })
}

/// The profile of the selected buffers.
fn profile(opened: &Opened, selected: &Selected) -> Result<Profile, Failure> {
    let modules = memory::modules(opened.trace.capture());
    let mut profile = Profile::default();
    for (plan, first) in run::plans(opened, selected)? {
        let sources = opened.sources_of(plan, first);
        let programs: Vec<Program> = sources.iter().map(|source| source.program.clone()).collect();
        let mut counts = RawProfile::default();
        run::run(opened, plan, selected, Profiler::new(programs.iter().cloned()), |more| {
            counts.merge(more);
            true
        })?;
        profile.add(counts, &programs, &modules, &Filter::default());
    }
    Ok(profile)
}

/// Removes the profiles of other files than `module`.
fn select(profile: &mut Profile, module: &str) -> Result<(), Failure> {
    profile.retain(|found| found.file.path == module);
    if profile.modules.is_empty() {
        let text = format_args!("no instructions of `{module}` were executed");
        return Err(Failure::new(TW_ERR_PROFILE, text));
    }
    Ok(())
}

/// Writes the profile of a capture in the format `format`, `TW_PROFILE_*`, with one call of
/// `write`. `module` is the path of the program file, for formats that have the profile of one;
/// NULL selects all files. `options` may be NULL.
#[no_mangle]
pub unsafe extern "C" fn tw_profile(
    capture: *const TwCapture,
    options: *const TwDecodeOptions,
    format: u32,
    module: *const c_char,
    write: TwWrite,
    user: *mut c_void,
    error: *mut TwError,
) -> TwStatus {
    // SAFETY: the header states what pointers are.
    unsafe {
        guard(error, || {
            let capture = shared::<Shared>(capture)?;
            let Shared(opened) = &*capture;
            let opened = Arc::clone(opened);
            let write = write.ok_or_else(|| Failure::new(TW_ERR_NULL, "`write` is null"))?;
            let wrong = || Failure::argument(format_args!("format {format}"));
            let format = format_of(format).ok_or_else(wrong)?;
            let module =
                if module.is_null() { None } else { Some(plain::string(module, "module")?) };
            let selected = plain::read_or_zero(options, "options")?.selected(&opened)?;
            let mut profile = profile(&opened, &selected)?;
            if let Some(module) = module {
                select(&mut profile, module)?;
            }
            if format.holds_one(Dialect::Full) && profile.modules.len() > 1 {
                let paths: Vec<&str> =
                    profile.modules.keys().map(|(path, _)| path.as_str()).collect();
                let text = format!(
                    "the format has one file; `module` must be one of {}",
                    paths.join(", ")
                );
                return Err(Failure::new(TW_ERR_PROFILE, text));
            }
            let bytes = format.write(&profile, Dialect::Full);
            let bytes = bytes.map_err(|text| Failure::new(TW_ERR_PROFILE, text))?;
            let more = write(user, bytes.as_ptr(), bytes.len()) == 0;
            Ok(if more { TW_OK } else { TW_STOPPED })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tracewright::analysis::ModuleProfile;

    /// The totals of a file do not have what other files executed.
    #[test]
    fn totals_are_those_of_the_file() {
        let mut profile = Profile { instructions: 9, outside: 7, ..Profile::default() };
        let mut module = ModuleProfile::default();
        module.file.path = "a".to_owned();
        profile.modules.insert(("a".to_owned(), None), module);
        assert!(select(&mut profile, "a").is_ok());
        assert_eq!((profile.instructions, profile.outside), (0, 0));
        assert!(select(&mut profile, "b").is_err());
    }
}
