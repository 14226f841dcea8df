//! The folders in which Linux distributions have program files, kernels and debug information.

use std::path::{Path, PathBuf};

/// The files with the build identifier `id`, in hexadecimal, in `.build-id` of a folder: the
/// program, and its debug information. A cache of perf has a folder for each identifier.
/// (Linux 6.1.192, tools/perf/util/dso.c:116 and 172, `dso__read_binary_type_filename`:
/// BUILD_ID_CACHE and BUILDID_DEBUGINFO; build-id.c:260: the names in the cache)
pub(super) fn with_id(folder: &Path, id: &str) -> Vec<PathBuf> {
    let Some((first, rest)) = id.split_at_checked(2) else { return Vec::new() };
    let folder = folder.join(".build-id").join(first);
    let entry = folder.join(rest);
    let cached = ["elf", "vdso", "debug"].map(|name| entry.join(name));
    cached.into_iter().chain([entry, folder.join(format!("{rest}.debug"))]).collect()
}

/// The folder with debug information of a system.
pub(super) fn debug(root: &Path) -> PathBuf {
    root.join("usr/lib/debug")
}

/// Where a system has the file of its kernel, of version `release`.
/// (Linux 6.1.192, tools/perf/util/symbol.c:2370, `vmlinux_paths_upd`; the last is in the folder of
/// the modules)
pub(super) fn kernels(root: &Path, release: &str) -> Vec<PathBuf> {
    if release.is_empty() || release.contains('/') || release.contains("..") {
        return Vec::new();
    }
    [
        format!("boot/vmlinux-{release}"),
        format!("usr/lib/debug/boot/vmlinux-{release}"),
        format!("lib/modules/{release}/build/vmlinux"),
        format!("usr/lib/debug/lib/modules/{release}/vmlinux"),
        format!("usr/lib/debug/boot/vmlinux-{release}.debug"),
        format!("lib/modules/{release}/vmlinux"),
    ]
    .map(|path| root.join(path))
    .to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_has_its_version_in_its_path() {
        let paths = kernels(Path::new("/"), "6.6.1");
        assert!(paths.contains(&"/usr/lib/debug/lib/modules/6.6.1/vmlinux".into()), "{paths:?}");
        assert!(["", "..", "../x", "a/b"].iter().all(|r| kernels(Path::new("/"), r).is_empty()));
    }

    #[test]
    fn files_are_named_for_their_build_identifier() {
        let paths = with_id(Path::new("/usr/lib/debug"), "123456");
        assert!(paths.contains(&"/usr/lib/debug/.build-id/12/3456.debug".into()), "{paths:?}");
        assert!(paths.contains(&"/usr/lib/debug/.build-id/12/3456/elf".into()), "{paths:?}");
        assert!(with_id(Path::new("/"), "").is_empty());
    }
}
