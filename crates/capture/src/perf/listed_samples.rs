//! Samples of a branch record buffer (LBR) in a branch list. (`LBRData` of
//! simpleperf/branch_list.proto; BranchListFile.cpp and cmd_inject.cpp at 9bc2f38b)
//!
//! A message has the samples with their branches, the newest first, and the program files, whose
//! numbers in the samples begin with 1; 0 is none. Addresses are those in the files.

use std::collections::HashMap;

use super::find;
use super::limits::{MAX_LISTED, MAX_LISTED_BRANCHES};
use crate::proto::{Message, Value, fields};

/// Samples, and the program files that they are in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedSamples {
    /// The program files.
    pub binaries: Vec<SampledBinary>,
    /// The samples.
    pub samples: Vec<ListedSample>,
}

/// A program file of samples.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SampledBinary {
    /// The path on the sampled machine.
    pub path: String,
    /// The build identifier; empty where it is not known.
    pub build_id: Vec<u8>,
}

/// An address in a program file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FileAddress {
    /// The number of the program file, from 1 on; 0 where it is not known.
    pub binary: u32,
    /// The address in the file.
    pub address: u64,
}

/// A sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedSample {
    /// Where it was taken.
    pub at: FileAddress,
    /// The branches before: address, and address of the next instruction; the newest first.
    pub branches: Vec<(FileAddress, FileAddress)>,
}

impl ListedSamples {
    /// Reads the message `LBRData`. `count` counts the samples and branches of all messages.
    pub(super) fn read(bytes: &[u8], count: &mut usize) -> Result<ListedSamples, String> {
        let mut all = ListedSamples::default();
        for (field, value) in fields(bytes) {
            match (field, value) {
                (1, Value::Bytes(sample)) => {
                    let sample = ListedSample::read(sample);
                    *count += 1 + sample.branches.len();
                    if *count > MAX_LISTED_BRANCHES {
                        return Err(format!(
                            "it has more than {MAX_LISTED_BRANCHES} samples and branches"
                        ));
                    }
                    all.samples.push(sample);
                }
                (2, Value::Bytes(binary)) => all.binaries.push(SampledBinary::read(binary)),
                _ => {}
            }
        }
        if all.binaries.len() > MAX_LISTED {
            return Err(format!("it has more than {MAX_LISTED} program files"));
        }
        let known = all.binaries.len();
        let ends = |sample: &ListedSample| {
            sample
                .branches
                .iter()
                .flat_map(|(from, to)| [from.binary, to.binary])
                .max()
                .unwrap_or(0)
        };
        let last = all.samples.iter().map(|sample| sample.at.binary.max(ends(sample))).max();
        match last {
            Some(last) if last as usize > known => {
                Err(format!("a sample is of program file {last}, and the list has {known}"))
            }
            _ => Ok(all),
        }
    }

    /// Adds other samples. A program file of both is one.
    pub fn add(&mut self, other: ListedSamples) {
        let mut known: HashMap<SampledBinary, u32> = HashMap::new();
        for (binary, n) in self.binaries.iter().zip(1..) {
            known.entry(binary.clone()).or_insert(n);
        }
        let mut numbers = vec![0];
        for binary in other.binaries {
            let n = *known.entry(binary.clone()).or_insert_with(|| {
                self.binaries.push(binary);
                self.binaries.len() as u32
            });
            numbers.push(n);
        }
        let number = |place: &mut FileAddress| {
            place.binary = numbers.get(place.binary as usize).copied().unwrap_or(0);
        };
        self.samples.extend(other.samples.into_iter().map(|mut sample| {
            number(&mut sample.at);
            for (from, to) in &mut sample.branches {
                number(from);
                number(to);
            }
            sample
        }));
    }

    /// Writes the message `LBRData`.
    pub(super) fn write(&self) -> Message {
        let mut message = Message::default();
        for sample in &self.samples {
            message.bytes(1, &sample.write().0);
        }
        for SampledBinary { path, build_id } in &self.binaries {
            let mut binary = Message::default();
            binary.text(1, path);
            binary.text(2, &find::hex(build_id));
            message.bytes(2, &binary.0);
        }
        message
    }
}

impl SampledBinary {
    fn read(bytes: &[u8]) -> SampledBinary {
        let mut binary = SampledBinary::default();
        for (field, value) in fields(bytes) {
            match (field, value) {
                (1, Value::Bytes(path)) => binary.path = String::from_utf8_lossy(path).into_owned(),
                (2, Value::Bytes(id)) => binary.build_id = find::from_hex(id).unwrap_or_default(),
                _ => {}
            }
        }
        binary
    }
}

impl ListedSample {
    fn read(bytes: &[u8]) -> ListedSample {
        let mut sample = ListedSample::default();
        for (field, value) in fields(bytes) {
            match (field, value) {
                (1, Value::Number(n)) => sample.at.binary = number(n),
                (2, Value::Number(address)) => sample.at.address = address,
                (3, Value::Bytes(branch)) => sample.branches.push(read_branch(branch)),
                _ => {}
            }
        }
        sample
    }

    fn write(&self) -> Message {
        let mut message = Message::default();
        message.number(1, self.at.binary.into());
        message.number(2, self.at.address);
        for (from, to) in &self.branches {
            let mut branch = Message::default();
            branch.number(1, from.binary.into());
            branch.number(2, to.binary.into());
            branch.number(3, from.address);
            branch.number(4, to.address);
            message.bytes(3, &branch.0);
        }
        message
    }
}

/// Reads the message `Branch`.
fn read_branch(bytes: &[u8]) -> (FileAddress, FileAddress) {
    let (mut from, mut to) = (FileAddress::default(), FileAddress::default());
    for (field, value) in fields(bytes) {
        match (field, value) {
            (1, Value::Number(n)) => from.binary = number(n),
            (2, Value::Number(n)) => to.binary = number(n),
            (3, Value::Number(address)) => from.address = address,
            (4, Value::Number(address)) => to.address = address,
            _ => {}
        }
    }
    (from, to)
}

/// The number of a program file.
fn number(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(binary: u32, address: u64) -> FileAddress {
        FileAddress { binary, address }
    }

    fn binary(path: &str) -> SampledBinary {
        SampledBinary { path: path.into(), build_id: vec![0xab; 20] }
    }

    /// Laid out as `LBRData` of branch_list.proto.
    #[test]
    fn samples_are_read_and_written() {
        let bytes = b"\x0a\x10\x08\x01\x10\x20\x1a\x0a\x08\x01\x10\x02\x18\x90\x20\x20\x80\x01\
                      \x0a\x00\x12\x03\x0a\x01a\x12\x07\x0a\x01b\x12\x02ff";
        let want = ListedSamples {
            binaries: vec![
                SampledBinary { path: "a".into(), build_id: vec![] },
                SampledBinary { path: "b".into(), build_id: vec![0xff] },
            ],
            samples: vec![
                ListedSample { at: at(1, 0x20), branches: vec![(at(1, 0x1010), at(2, 0x80))] },
                ListedSample::default(),
            ],
        };
        let mut count = 0;
        assert_eq!(ListedSamples::read(bytes, &mut count), Ok(want.clone()));
        assert_eq!((count, want.write().0.as_slice()), (3, bytes.as_slice()));
        let outside = b"\x0a\x02\x08\x03\x12\x03\x0a\x01a";
        let found = ListedSamples::read(outside, &mut count);
        assert_eq!(found, Err("a sample is of program file 3, and the list has 1".into()));
        count = MAX_LISTED_BRANCHES;
        assert!(ListedSamples::read(bytes, &mut count).unwrap_err().contains("more than"));
    }

    #[test]
    fn a_program_file_of_two_lists_is_one() {
        let sample = |n| ListedSample { at: at(n, 1), branches: vec![(at(n, 2), at(0, 3))] };
        let mut sum = ListedSamples {
            binaries: vec![binary("a"), binary("b")],
            samples: vec![sample(1), sample(2)],
        };
        sum.add(ListedSamples {
            binaries: vec![binary("c"), binary("b")],
            samples: vec![sample(1), sample(2)],
        });
        assert_eq!(sum.binaries, ["a", "b", "c"].map(binary));
        assert_eq!(sum.samples, [1, 2, 3, 2].map(sample));
    }
}
