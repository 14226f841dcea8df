//! The arguments of a verb, with the description of the verb.

use std::ops::Deref;

use clap::builder::Resettable;
use clap::{ArgMatches, Args, Command, FromArgMatches};

/// Arguments whose description is not that of the type, but that of the verb: they are added after
/// it, when the verb is used.
#[derive(Debug)]
pub struct Own<T>(T);

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
    add(verb).about(about).long_about(long)
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
