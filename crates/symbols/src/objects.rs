//! Variables of the symbol table of an ELF file: names and addresses. (System V gABI, "Symbol
//! Table")

use object::{Object, ObjectSymbol, SymbolFlags, elf};
use tracewright_image::Bytes;

use crate::elf::is_code;

/// A variable of the symbol table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DataObject {
    /// The address of its first byte.
    pub address: u64,
    /// The size in bytes; 0 where the table does not state it.
    pub size: u64,
    /// The name.
    pub name: String,
}

/// The variables of the symbol tables of a program, by address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataObjects {
    all: Vec<DataObject>,
}

/// The most bytes of names for each byte of the file: symbols may share one.
const MAX_NAMES: usize = 8;

/// The most symbols whose names have no end.
const MAX_UNNAMED: usize = 64;

impl DataObjects {
    /// The variables of ELF files, each with the load bias that is added to its addresses. A file
    /// that cannot be read has none.
    pub fn of_files<'a>(files: impl IntoIterator<Item = (&'a Bytes, u64)>) -> DataObjects {
        let mut all: Vec<DataObject> = Vec::new();
        for (file, bias) in files {
            let own = of_elf(file).unwrap_or_default();
            all.extend(
                own.into_iter().map(|o| DataObject { address: o.address.wrapping_add(bias), ..o }),
            );
        }
        all.sort_unstable();
        all.dedup();
        DataObjects { all }
    }

    /// All variables in order of their addresses.
    pub fn iter(&self) -> impl Iterator<Item = &DataObject> {
        self.all.iter()
    }

    /// The variable with this name. `None` also where several have it.
    pub fn named(&self, name: &str) -> Option<&DataObject> {
        let mut found = self.all.iter().filter(|object| object.name == name);
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }

    /// Whether a variable has this name.
    pub fn has(&self, name: &str) -> bool {
        self.all.iter().any(|object| object.name == name)
    }

    /// The variable that begins at an address: of several, the largest one.
    pub fn at(&self, address: u64) -> Option<&DataObject> {
        let first = self.all.partition_point(|object| object.address < address);
        let rest = self.all.get(first..).unwrap_or_default();
        rest.iter().take_while(|object| object.address == address).max_by_key(|object| object.size)
    }

    /// The variable that has an address inside of it, and the offset in it.
    pub fn around(&self, address: u64) -> Option<(&DataObject, u64)> {
        if let Some(object) = self.at(address) {
            return Some((object, 0));
        }
        let after = self.all.partition_point(|object| object.address <= address);
        let before = self.all.get(..after)?.last()?;
        let offset = address - before.address;
        (offset < before.size).then_some((before, offset))
    }
}

fn of_elf(file: &Bytes) -> Option<Vec<DataObject>> {
    let data: &[u8] = file;
    let file = object::File::parse(data).ok()?;
    let mut left = data.len().saturating_mul(MAX_NAMES);
    let (mut found, mut unnamed) = (Vec::new(), 0);
    for symbol in file.symbols().chain(file.dynamic_symbols()) {
        let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { continue };
        // Assemblers may leave the type of local variables out.
        let untyped = st_info.st_type() == elf::STT_NOTYPE && symbol.size() > 0;
        let index = symbol.section_index();
        let is_data = |index| file.section_by_index(index).is_ok_and(|own| !is_code(&own));
        if !(st_info.st_type() == elf::STT_OBJECT || untyped && index.is_some_and(is_data))
            || symbol.is_undefined()
        {
            continue;
        }
        let Ok(name) = symbol.name() else {
            // A name without an end has been searched for it up to the end of all names.
            unnamed += 1;
            if unnamed > MAX_UNNAMED {
                break;
            }
            continue;
        };
        if name.is_empty() {
            continue;
        }
        let Some(rest) = left.checked_sub(name.len()) else { break };
        left = rest;
        found.push(DataObject {
            address: symbol.address(),
            size: symbol.size(),
            name: name.to_owned(),
        });
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The variables of a program by gcc, at the addresses that readelf lists.
    #[test]
    fn variables_by_name_and_address() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/variables/v.elf");
        let file = Bytes::from(std::fs::read(path).unwrap());
        let objects = DataObjects::of_files([(&file, 0)]);
        let state = objects.named("state").unwrap();
        assert_eq!((state.address, state.size), (0x2000_0020, 32));
        assert_eq!(objects.at(0x2000_0020), Some(state));
        assert_eq!(objects.at(0x2000_0024), None);
        assert_eq!(objects.around(0x2000_0024), Some((state, 4)));
        assert!(objects.has("twice") && objects.named("twice").is_none());
        assert_eq!((objects.named("none"), objects.at(0)), (None, None));
        let moved = DataObjects::of_files([(&file, 0x100)]);
        assert_eq!(moved.named("state").map(|own| own.address), Some(0x2000_0120));
        let text = Bytes::from(b"no ELF".to_vec());
        assert_eq!(DataObjects::of_files([(&text, 0)]), DataObjects::default());
    }
}
