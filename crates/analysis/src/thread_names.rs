//! The names of threads whose trace is in several buffers.

use std::sync::Arc;

use tracewright_image::AddressSpaces;

use crate::tasks::{NamedBy, TaskName, TaskThread};

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
        self.thread(source, id, 1).text
    }

    /// The thread with identifier `id` that `source` executed first, as thread `number`.
    pub fn thread(&self, source: usize, id: Option<u64>, number: usize) -> TaskThread {
        let cpu = self.sources.get(source).map_or("", String::as_str);
        let thread = |name, text| TaskThread { source, id, number, name, text };
        let Some(known) = id else { return thread(None, format!("{cpu} unknown thread")) };
        let recorded = u32::try_from(known).ok().and_then(|id| self.spaces.thread(id, u64::MAX));
        let name = recorded.and_then(|thread| thread.name.as_deref());
        let own = if self.shared && known != 0 { String::new() } else { format!("{cpu} ") };
        match name {
            Some(name) => {
                let named = TaskName { text: name.to_owned(), by: NamedBy::Capture };
                thread(Some(named), format!("{own}{name} thread {known}"))
            }
            None => thread(None, format!("{own}thread {known}")),
        }
    }
}

/// The names of threads of one buffer, each with its source and its identifier in the trace, for
/// sources with these names. Threads without an identifier have numbers, but for the first one of a
/// source, and the name of their outermost function, which is that of a task: see `outermost`, by
/// number.
pub fn thread_names(
    sources: &[String],
    threads: impl IntoIterator<Item = (usize, Option<u64>)>,
    outermost: impl Fn(usize) -> Option<String>,
) -> Vec<String> {
    let mut counts = vec![0; sources.len()];
    let name = |(number, (source, id)): (usize, (usize, Option<u64>))| {
        let own = sources.get(source).map_or("", String::as_str);
        let count = counts.get_mut(source).map_or(1, |count| {
            *count += 1;
            *count
        });
        match id {
            Some(id) => format!("{own} thread {id}"),
            None if count > 1 => match outermost(number) {
                Some(function) => format!("{own} task {count} {function}"),
                None => format!("{own} task {count}"),
            },
            None => own.to_owned(),
        }
    };
    threads.into_iter().enumerate().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::FunctionId;
    use crate::stacks::{Begin, Ending, Entry, Position, Visitor};
    use crate::{Paths, Timeline};

    /// Tasks are named by the function in which they begin, wherever it is found.
    #[test]
    fn tasks_have_the_names_of_their_functions() {
        let mut both = (Paths::new(), Timeline::new(100));
        let roots: Vec<_> = (0..4).map(|thread| both.thread(0, thread, None)).collect();
        let at = |thread: usize, depth: usize| Position { thread, depth, ..Position::default() };
        let begin = |function: u32| Begin {
            function: FunctionId::Known(function),
            entry: Entry::Before,
            address: None,
        };
        // Thread 1: function 7 calls 8. Thread 2: 9, and later its caller 10. Thread 3: 1, then 2.
        let outer = both.begin(&at(1, 0), roots[1], &begin(7));
        both.begin(&at(1, 1), outer, &begin(8));
        let inner = both.begin(&at(2, 0), roots[2], &begin(9));
        both.end(&at(2, 0), inner, Ending::UnseenCall, false);
        both.beneath(&at(2, 0), roots[2], &begin(10));
        for function in [1, 2] {
            let frame = both.begin(&at(3, 0), roots[3], &begin(function));
            both.end(&at(3, 0), frame, Ending::Return, false);
        }
        let expected = [None, Some(7), Some(10), None].map(|n| n.map(FunctionId::Known));
        assert_eq!(both.1.outermost(), expected);
        assert_eq!(both.0.outermost(), expected);
        let names = thread_names(&["cpu".to_owned()], [(0, None); 4], |number| {
            let FunctionId::Known(function) = expected[number]? else { return None };
            Some(format!("f{function}"))
        });
        assert_eq!(names, ["cpu", "cpu task 2 f7", "cpu task 3 f10", "cpu task 4"]);
        let names = thread_names(&["cpu".to_owned()], [(0, Some(5)), (0, None)], |_| None);
        assert_eq!(names, ["cpu thread 5", "cpu task 2"]);
    }
}
