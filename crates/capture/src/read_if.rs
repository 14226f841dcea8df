//! Files of one kind among others, which may be pipes.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use tracewright_base::Invalid;

use crate::open_files::reason;

/// The first bytes of a file, which show what it is.
const HEAD: u64 = 64;

/// The bytes of the file or pipe at `path`, of at most `most` bytes, if its first 64 bytes are
/// `wanted`. Of another pipe, these bytes are lost. `None` also for a folder.
///
/// # Errors
/// The reason why it is not read.
pub fn read_if(
    path: &Path,
    most: u64,
    wanted: &dyn Fn(&[u8]) -> bool,
) -> Result<Option<Vec<u8>>, Invalid> {
    let Some(from) = open_if(path, wanted)? else { return Ok(None) };
    let mut bytes = Vec::new();
    let failed = |error: io::Error| Invalid::from(reason(&error));
    from.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    match bytes.len() as u64 > most {
        true => Err(format!("it has more than {most} bytes").into()),
        false => Ok(Some(bytes)),
    }
}

/// As [`read_if`], for files of any size: a reader from their beginning.
///
/// # Errors
/// The reason why it is not read.
pub fn open_if(
    path: &Path,
    wanted: &dyn Fn(&[u8]) -> bool,
) -> Result<Option<impl BufRead + use<>>, Invalid> {
    let failed = |error: io::Error| Invalid::from(reason(&error));
    if fs::metadata(path).map_err(failed)?.is_dir() {
        return Ok(None);
    }
    let (mut from, mut head) = (File::open(path).map_err(failed)?, Vec::new());
    Read::by_ref(&mut from).take(HEAD).read_to_end(&mut head).map_err(failed)?;
    let is_wanted = wanted(&head);
    Ok(is_wanted.then(|| io::Cursor::new(head).chain(BufReader::new(from))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_wanted_files_up_to_a_length_are_read() {
        let path = std::env::temp_dir().join(format!("tracewright-read-if-{}", std::process::id()));
        let bytes = [7; 200];
        fs::write(&path, bytes).expect("room");
        let read = |most, first| read_if(&path, most, &|head| head == [first; 64]);
        assert_eq!(read(200, 7).expect("a file"), Some(bytes.to_vec()));
        assert_eq!(read(200, 8).expect("a file"), None);
        assert!(read(199, 7).expect_err("too long").to_string().contains("199"));
        assert_eq!(read_if(&std::env::temp_dir(), 9, &|_| true).expect("a folder"), None);
        fs::remove_file(&path).expect("the file");
        assert!(read(200, 7).expect_err("no file").to_string().contains("no such file"));
    }
}
