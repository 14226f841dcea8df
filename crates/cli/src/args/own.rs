//! The arguments of a verb, with the description of the verb, and its help in two lengths.

use std::ops::Deref;

use clap::builder::{Resettable, StyledStr};
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// Groups of options that several verbs have. The short help of a verb has its own options only.
pub(super) mod group {
    /// The part of the trace that is read or listed.
    pub const SELECTING: &str = "Selecting";
    /// Trace data without a description.
    pub const RAW: &str = "Raw trace data";
    /// Programs of a `perf.data`.
    pub const LINUX: &str = "Linux";
    /// Units of work, and parts.
    pub const UNITS: &str = "Units";
    /// The decoder.
    pub const COMMON: &str = "Common";
}

/// Arguments whose description is not that of the type, but that of the verb: they are added after
/// it, when the verb is used.
#[derive(Debug)]
pub struct Own<T>(pub(super) T);

impl<T> Deref for Own<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// `add` with the descriptions that `verb` has.
fn described(verb: Command, add: fn(Command) -> Command) -> Command {
    let about = Resettable::from(verb.get_about().cloned());
    let long = Resettable::from(verb.get_long_about().cloned());
    in_two_lengths(add(verb).about(about).long_about(long))
}

/// The place among options of those that every verb has.
pub(super) const LAST: usize = 900;

/// The command with a short help (`-h`): an example, and the options without a group.
pub(super) fn in_two_lengths(verb: Command) -> Command {
    let mut groups: Vec<String> = Vec::new();
    for group in verb.get_arguments().filter_map(|arg| arg.get_help_heading()) {
        if !groups.iter().any(|known| known == group) {
            groups.push(group.to_owned());
        }
    }
    let verb = verb.mut_args(|arg| {
        let is_shared = arg.get_help_heading().is_some() || arg.is_global_set();
        let hidden = is_shared || arg.is_hide_short_help_set();
        arg.hide_short_help(hidden)
    });
    let short = verb.get_after_long_help().and_then(|long| shortened(&long.to_string(), &groups));
    let verb = match short {
        Some(short) => verb.after_help(short),
        None => verb,
    };
    verb.mut_subcommands(in_two_lengths)
}

/// The first of some examples, and where the other options are.
fn shortened(examples: &str, groups: &[String]) -> Option<StyledStr> {
    let (_, examples) = examples.split_once("Examples:\n")?;
    let example = examples.lines().next()?;
    let more = match groups {
        [] => String::new(),
        groups => format!("\n\nFurther options (--help): {}", groups.join(", ")),
    };
    Some(format!("Example:\n{example}{more}").into())
}

impl<T: Args> Args for Own<T> {
    fn augment_args(verb: Command) -> Command {
        described(verb, T::augment_args)
    }

    fn augment_args_for_update(verb: Command) -> Command {
        described(verb, T::augment_args_for_update)
    }
}

impl<T: FromArgMatches> FromArgMatches for Own<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        T::from_arg_matches(matches).map(Own)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, clap::Error> {
        T::from_arg_matches_mut(matches).map(Own)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}
