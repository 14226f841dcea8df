//! The names of threads whose trace is in several buffers.

use std::sync::Arc;

use tracewright_image::AddressSpaces;

/// The names of the threads of a system.
#[derive(Clone, Debug)]
pub struct ThreadNames {
    /// The threads that were recorded.
    pub spaces: Arc<AddressSpaces>,
    /// The names of the sources.
    pub sources: Arc<[String]>,
    /// A thread is the same on all sources.
    pub shared: bool,
}

impl ThreadNames {
    /// The name of the thread with identifier `id` that `source` executed first. The idle threads
    /// have the same identifier on all sources.
    pub fn name(&self, source: usize, id: Option<u64>) -> String {
        let cpu = self.sources.get(source).map_or("", String::as_str);
        let Some(id) = id else { return format!("{cpu} unknown thread") };
        let recorded = u32::try_from(id).ok().and_then(|id| self.spaces.thread(id, u64::MAX));
        let name = recorded.and_then(|thread| thread.name.as_deref());
        let own = if self.shared && id != 0 { String::new() } else { format!("{cpu} ") };
        match name {
            Some(name) => format!("{own}{name} thread {id}"),
            None => format!("{own}thread {id}"),
        }
    }
}

/// The names of threads of one buffer, each with its source and its identifier in the trace, for
/// sources with these names. Threads without an identifier have numbers, but for the first one of a
/// source.
pub fn thread_names(
    sources: &[String],
    threads: impl IntoIterator<Item = (usize, Option<u64>)>,
) -> Vec<String> {
    let mut counts = vec![0; sources.len()];
    let name = |(source, id): (usize, Option<u64>)| {
        let own = sources.get(source).map_or("", String::as_str);
        let count = counts.get_mut(source).map_or(1, |count| {
            *count += 1;
            *count
        });
        match id {
            Some(id) => format!("{own} thread {id}"),
            None if count > 1 => format!("{own} task {count}"),
            None => own.to_owned(),
        }
    };
    threads.into_iter().map(name).collect()
}
