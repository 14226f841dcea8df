//! A client with a decoder of its own.

use crate::client::{compile, installed, library, output, run};

/// Elements, packets, memory, instructions and responses, as with the installed library.
#[test]
fn a_decoder_of_the_client_works_as_with_the_installed_library() {
    let Some(program) = compile("custom.c") else { return };
    let own = output(run(&program, Some(library()), &[]));
    assert!(own.contains("OCSD_GEN_TRC_ELEM_EVENT( Numbered:10; )"), "{own}");
    if installed().is_some() {
        assert_eq!(own, output(run(&program, None, &[])));
    }
}
