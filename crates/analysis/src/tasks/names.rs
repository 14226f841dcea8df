//! The names of threads that are tasks.

use super::Tasks;
use super::system::number;
use crate::code::{Code, FunctionId};

/// How the name of a task is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum NamedBy {
    /// The capture records it.
    Capture,
    /// A table that was given.
    User,
    /// The control block in the memory of the capture.
    Memory,
    /// The variable of the control block.
    Symbol,
    /// The function that is beneath all others.
    Function,
}

impl NamedBy {
    /// The name in outputs.
    pub const fn name(self) -> &'static str {
        match self {
            NamedBy::Capture => "capture",
            NamedBy::User => "table",
            NamedBy::Memory => "memory",
            NamedBy::Symbol => "symbol",
            NamedBy::Function => "function",
        }
    }
}

/// The name of a task.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskName {
    /// The name.
    pub text: String,
    /// How it is known.
    pub by: NamedBy,
}

/// A thread of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskThread {
    /// The source that executed it first.
    pub source: usize,
    /// Its identifier in the trace: a context ID, or the value of the variable that names the
    /// running task.
    pub id: Option<u64>,
    /// The number among the threads of its source, from 1 on.
    pub number: usize,
    /// The name, where it is known.
    pub name: Option<TaskName>,
    /// The text in outputs: with the source, and what identifies it.
    pub text: String,
}

/// Whether `name` is `pattern`, in which `*` stands for any characters.
pub(super) fn is_like(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some(at) = rest.find(part) else { return false };
        rest = rest.get(at + part.len()..).unwrap_or_default();
    }
    rest.ends_with(last)
}

impl TaskThread {
    /// Whether `--task` names it: by its name, in which `*` stands for any characters, its text in
    /// outputs, its identifier, or for a thread without one its number.
    pub fn is_named(&self, pattern: &str) -> bool {
        if self.text == pattern || self.name.as_ref().is_some_and(|n| is_like(pattern, &n.text)) {
            return true;
        }
        let number = number(pattern);
        match (number, self.id) {
            (Some(number), Some(id)) => number == id,
            (Some(number), None) => self.number > 1 && number == self.number as u64,
            (None, _) => false,
        }
    }
}

impl Tasks {
    /// The threads of one buffer, each with its source and its identifier in the trace, for sources
    /// with these names. `outermost` is the outermost function of each.
    pub fn threads(
        &self,
        sources: &[String],
        threads: impl IntoIterator<Item = (usize, Option<u64>)>,
        outermost: impl Fn(usize) -> Option<String>,
    ) -> Vec<TaskThread> {
        let mut counts = vec![0; sources.len()];
        let thread = |(number, (source, id)): (usize, (usize, Option<u64>))| {
            let own = sources.get(source).map_or("", String::as_str);
            let count = counts.get_mut(source).map_or(1, |count| {
                *count += 1;
                *count
            });
            let (name, text) = self.text(own, id, count, outermost(number));
            TaskThread { source, id, number: count, name, text }
        };
        threads.into_iter().enumerate().map(thread).collect()
    }

    /// The name of a thread, and its text: that of its source, and what identifies it. `number` is
    /// that among the threads of the source, and `function` the name of its outermost function.
    pub fn text(
        &self,
        source: &str,
        id: Option<u64>,
        number: usize,
        function: Option<String>,
    ) -> (Option<TaskName>, String) {
        let known = id.and_then(|id| self.name(id));
        let label = match id {
            _ if known.is_some() => String::new(),
            Some(id) if self.system().is_none() && self.events().is_none() => {
                return (None, format!("{source} thread {id}"));
            }
            Some(0) if !self.watched().is_empty() || self.events().is_some() => {
                return (None, format!("{source} no task"));
            }
            Some(id) => format!(" {id:#x}"),
            None if number > 1 => format!(" {number}"),
            None => return (None, source.to_owned()),
        };
        let by_function = || Some(TaskName { text: function?, by: NamedBy::Function });
        let Some(name) = known.or_else(by_function) else {
            return (None, format!("{source} task{label}"));
        };
        let text = format!("{source} task{label} {}", name.text);
        (Some(name), text)
    }

    /// The name of the outermost function of a thread among `outermost`, which is that of a task.
    pub fn outermost_name(
        &self,
        code: &Code,
        outermost: &[Option<FunctionId>],
        thread: usize,
    ) -> Option<String> {
        let function = outermost.get(thread).copied().flatten()?;
        (!self.is_wrapper(function)).then(|| code.name(function).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_names() {
        for (pattern, name, expected) in [
            ("Control", "Control", true),
            ("Control", "Control2", false),
            ("Con*", "Control", true),
            ("*rol", "Control", true),
            ("*o*o*", "Control", true),
            ("*o*x*", "Control", false),
            ("C*l", "Control", true),
            ("Ctrl*", "Control", false),
            ("*", "", true),
        ] {
            assert_eq!(is_like(pattern, name), expected, "{pattern} {name}");
        }
    }
}
