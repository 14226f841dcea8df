//! The options of the command line for what the libraries call a remedy.

use tracewright::base::Remedy;

/// The text of a library, with options where it names remedies.
pub fn spelled(text: &str) -> String {
    Remedy::spelled(text, option)
}

/// The option that gives `remedy`.
fn option(remedy: Remedy) -> String {
    match remedy {
        Remedy::Register => "--config".to_owned(),
        // The others have the name of their remedy.
        other => format!("--{}", other.name()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn each_remedy_is_an_option() {
        fn has(command: &clap::Command, name: &str) -> bool {
            let own = |arg: &clap::Arg| arg.get_long() == Some(name);
            command.get_arguments().any(own) || command.get_subcommands().any(|sub| has(sub, name))
        }
        let mut command = Cli::command();
        command.build();
        for &remedy in Remedy::ALL {
            let option = option(remedy);
            assert!(has(&command, option.trim_start_matches("--")), "{option}");
        }
        assert_eq!(spelled("add <register> TRCIDR2=VALUE"), "add --config TRCIDR2=VALUE");
    }
}
