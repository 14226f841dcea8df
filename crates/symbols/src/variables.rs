//! Variables of a program: address and type, from DWARF. (DWARF 5, sections 4.1 and 5)

use gimli::{AttributeValue, EndianArcSlice, Reader, RunTimeEndian};
use tracewright_base::Invalid;
use tracewright_image::Bytes;
use tracewright_image::debug_sections::DebugSections;

use crate::lines;

type Slice = EndianArcSlice<RunTimeEndian>;
type Dwarf = gimli::Dwarf<Slice>;
type Unit = gimli::Unit<Slice>;
type Entry = gimli::DebuggingInformationEntry<Slice>;

/// A variable in memory, or a member of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The address.
    pub address: u64,
    /// The type.
    pub kind: VariableType,
}

/// The type of a variable. Sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariableType {
    /// An unsigned integer, a character or a Boolean value.
    Unsigned(u64),
    /// A signed integer.
    Signed(u64),
    /// A floating-point number.
    Float(u64),
    /// An address.
    Pointer(u64),
    /// An enumeration: its size, and the values with their names.
    Enumeration(u64, Vec<(i128, String)>),
    /// A structure, an array or another type: its size, where it is known.
    Other(Option<u64>),
}

impl VariableType {
    /// The size in bytes, where it is known.
    pub fn size(&self) -> Option<u64> {
        match self {
            VariableType::Unsigned(size)
            | VariableType::Signed(size)
            | VariableType::Float(size)
            | VariableType::Pointer(size)
            | VariableType::Enumeration(size, _) => Some(*size),
            VariableType::Other(size) => *size,
        }
    }
}

/// The deepest chain of types that name another one.
const MAX_TYPES: usize = 64;

/// The most names of an enumeration.
const MAX_NAMES: usize = 1 << 12;

impl Variable {
    /// The variable `name` of an ELF file, at its address in the file: `state`, a member as in
    /// `state.speed`, an element as in `table[3]`. `None` where the file has no such variable.
    ///
    /// # Errors
    /// Why the variable cannot be used: the file has no DWARF, several variables have the name, or
    /// its location is not an address.
    pub fn of_elf(file: &Bytes, name: &str) -> Result<Option<Variable>, Invalid> {
        let dwarf = dwarf(file).ok_or("it has no DWARF that can be read")?;
        let (base, path) = steps(name)?;
        let mut found: Vec<Variable> = Vec::new();
        let mut why = None;
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            let Ok(unit) = dwarf.unit(header) else { continue };
            let mut entries = unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                if entry.tag() != gimli::DW_TAG_variable || !is_named(&dwarf, &unit, entry, base) {
                    continue;
                }
                let Some(address) = location(&dwarf, &unit, entry) else {
                    if entry.has_attr(gimli::DW_AT_location) {
                        why = Some(format!("`{base}` is not at one address in memory"));
                    }
                    continue;
                };
                let variable = follow(&dwarf, &unit, entry, address, &path)?;
                if !found.contains(&variable) {
                    found.push(variable);
                }
            }
        }
        match (found.as_slice(), why) {
            ([], Some(why)) => Err(why.into()),
            ([], None) => Ok(None),
            ([one], _) => Ok(Some(one.clone())),
            (several, _) => {
                let list = several.iter().map(|variable| format!("{:#x}", variable.address));
                let list = list.collect::<Vec<_>>().join(", ");
                Err(format!("several variables have the name `{name}`: {list}").into())
            }
        }
    }
}

/// A member of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberOfType {
    /// The offset in the structure, in bytes.
    pub offset: u64,
    /// The type.
    pub kind: VariableType,
}

impl MemberOfType {
    /// The member `path`, such as `name` or `list.next`, of the structure that an ELF file calls
    /// `name`, by its tag or by a typedef. `None` where the file has no DWARF, no such structure
    /// with this member, or several with other places of it.
    pub fn of_elf(file: &Bytes, name: &str, path: &str) -> Option<MemberOfType> {
        let dwarf = dwarf(file)?;
        let member = format!("x.{path}");
        let (_, path) = steps(&member).ok()?;
        let mut found: Option<MemberOfType> = None;
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            let Ok(unit) = dwarf.unit(header) else { continue };
            let mut entries = unit.entries();
            while let Ok(Some(entry)) = entries.next_dfs() {
                let tags =
                    [gimli::DW_TAG_typedef, gimli::DW_TAG_structure_type, gimli::DW_TAG_class_type];
                if !tags.contains(&entry.tag())
                    || string(&dwarf, &unit, entry, gimli::DW_AT_name).as_deref() != Some(name)
                {
                    continue;
                }
                let kind = match entry.tag() {
                    gimli::DW_TAG_typedef => plain_type(&unit, entry),
                    _ => Some(entry.clone()),
                };
                let Ok(at) = part(&dwarf, &unit, kind, 0, &path) else { continue };
                let own = MemberOfType { offset: at.address, kind: at.kind };
                match &found {
                    Some(other) if other.offset != own.offset => return None,
                    _ => found = Some(own),
                }
            }
        }
        found
    }
}

fn dwarf(file: &Bytes) -> Option<Dwarf> {
    DebugSections::read(file).filter(|sections| sections.has(gimli::SectionId::DebugInfo))?;
    Some(lines::dwarf(file)?.0)
}

/// A step from a variable to a part of it.
enum Step<'a> {
    Member(&'a str),
    Element(u64),
}

/// The variable in `name`, and the steps to its part.
fn steps(name: &str) -> Result<(&str, Vec<Step<'_>>), String> {
    let end = name.find(['.', '[']).unwrap_or(name.len());
    let (base, mut rest) = name.split_at(end);
    let wrong = || format!("`{name}` is not a variable, such as state, state.speed or table[3]");
    let mut path = Vec::new();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix('.') {
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (member, after) = after.split_at(end);
            path.push(Step::Member(member));
            rest = after;
        } else {
            let inside = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            let (number, after) = inside.ok_or_else(wrong)?;
            path.push(Step::Element(number.trim().parse().map_err(|_| wrong())?));
            rest = after;
        }
    }
    if base.is_empty() { Err(wrong()) } else { Ok((base, path)) }
}

fn string(dwarf: &Dwarf, unit: &Unit, entry: &Entry, name: gimli::DwAt) -> Option<String> {
    let text = dwarf.attr_string(unit, entry.attr_value(name)?).ok()?;
    Some(text.to_string_lossy().ok()?.into_owned())
}

/// Whether a variable has this name, by itself or by its declaration.
fn is_named(dwarf: &Dwarf, unit: &Unit, entry: &Entry, name: &str) -> bool {
    let names = [gimli::DW_AT_name, gimli::DW_AT_linkage_name];
    let is = |entry: &Entry| {
        names.iter().any(|&at| string(dwarf, unit, entry, at).is_some_and(|own| own == name))
    };
    let declaration = match entry.attr_value(gimli::DW_AT_specification) {
        Some(AttributeValue::UnitRef(offset)) => unit.entry(offset).ok(),
        _ => None,
    };
    is(entry) || declaration.as_ref().is_some_and(is)
}

/// The address of a variable whose location is one.
fn location(dwarf: &Dwarf, unit: &Unit, entry: &Entry) -> Option<u64> {
    let AttributeValue::Exprloc(expression) = entry.attr_value(gimli::DW_AT_location)? else {
        return None;
    };
    let mut operations = expression.operations(unit.encoding());
    let first = operations.next().ok()??;
    let only = operations.next().ok()?.is_none();
    let address = match first {
        gimli::Operation::Address { address } => address,
        gimli::Operation::AddressIndex { index } => dwarf.address(unit, index).ok()?,
        _ => return None,
    };
    only.then_some(address)
}

/// The entry of the type of `entry`. Types of other units, as link-time optimisation makes them,
/// are not followed.
fn type_of(unit: &Unit, entry: &Entry) -> Option<Entry> {
    match entry.attr_value(gimli::DW_AT_type)? {
        AttributeValue::UnitRef(offset) => unit.entry(offset).ok(),
        _ => None,
    }
}

/// The type of `entry`, without names of types and qualifiers.
fn plain_type(unit: &Unit, entry: &Entry) -> Option<Entry> {
    let mut kind =
        type_of(unit, entry).or_else(|| match entry.attr_value(gimli::DW_AT_specification)? {
            AttributeValue::UnitRef(offset) => type_of(unit, &unit.entry(offset).ok()?),
            _ => None,
        })?;
    for _ in 0..MAX_TYPES {
        match kind.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => kind = type_of(unit, &kind)?,
            _ => return Some(kind),
        }
    }
    None
}

fn size_of(entry: &Entry) -> Option<u64> {
    entry.attr_value(gimli::DW_AT_byte_size)?.udata_value()
}

/// The entries directly beneath `entry`.
fn children(unit: &Unit, entry: &Entry) -> Vec<Entry> {
    let mut all = Vec::new();
    let Ok(mut cursor) = unit.entries_at_offset(entry.offset()) else { return all };
    if cursor.next_dfs().is_err() {
        return all;
    }
    while let Ok(Some(child)) = cursor.next_dfs() {
        match child.depth() {
            1 if all.len() < MAX_NAMES => all.push(child.clone()),
            depth if depth <= 0 => break,
            _ => {}
        }
    }
    all
}

/// The part of the variable `entry` at the end of `path`.
fn follow(
    dwarf: &Dwarf,
    unit: &Unit,
    entry: &Entry,
    address: u64,
    path: &[Step<'_>],
) -> Result<Variable, String> {
    part(dwarf, unit, plain_type(unit, entry), address, path)
}

/// The part at the end of `path` of what is of type `kind` at `address`.
fn part(
    dwarf: &Dwarf,
    unit: &Unit,
    kind: Option<Entry>,
    address: u64,
    path: &[Step<'_>],
) -> Result<Variable, String> {
    let (mut address, mut kind) = (address, kind);
    for step in path {
        let own = kind.as_ref().ok_or("its type is not described")?;
        match step {
            Step::Member(name) => {
                let member = children(unit, own).into_iter().find(|child| {
                    child.tag() == gimli::DW_TAG_member
                        && string(dwarf, unit, child, gimli::DW_AT_name).as_deref() == Some(name)
                });
                let member = member.ok_or_else(|| format!("it has no member `{name}`"))?;
                let offset = member.attr_value(gimli::DW_AT_data_member_location);
                let offset = offset.map_or(Some(0), |value| value.udata_value());
                address = address.wrapping_add(offset.ok_or("a member has no fixed place")?);
                kind = plain_type(unit, &member);
            }
            Step::Element(index) => {
                if own.tag() != gimli::DW_TAG_array_type {
                    return Err(format!("[{index}] is for arrays, and it is none"));
                }
                let element = plain_type(unit, own).ok_or("the type of its elements is unknown")?;
                let size = size_of(&element).ok_or("the size of its elements is unknown")?;
                address = address.wrapping_add(size.wrapping_mul(*index));
                kind = Some(element);
            }
        }
    }
    let kind = kind.map_or(VariableType::Other(None), |kind| variable_type(dwarf, unit, &kind));
    Ok(Variable { address, kind })
}

fn variable_type(dwarf: &Dwarf, unit: &Unit, kind: &Entry) -> VariableType {
    let size = size_of(kind);
    let encoding = match kind.attr_value(gimli::DW_AT_encoding) {
        Some(AttributeValue::Encoding(encoding)) => Some(encoding),
        _ => None,
    };
    match (kind.tag(), size, encoding) {
        (gimli::DW_TAG_base_type, Some(size), Some(encoding)) => match encoding {
            gimli::DW_ATE_float => VariableType::Float(size),
            gimli::DW_ATE_signed | gimli::DW_ATE_signed_char => VariableType::Signed(size),
            gimli::DW_ATE_unsigned
            | gimli::DW_ATE_unsigned_char
            | gimli::DW_ATE_boolean
            | gimli::DW_ATE_UTF => VariableType::Unsigned(size),
            _ => VariableType::Other(Some(size)),
        },
        (gimli::DW_TAG_pointer_type, size, _) => {
            VariableType::Pointer(size.unwrap_or(u64::from(unit.encoding().address_size)))
        }
        (gimli::DW_TAG_enumeration_type, Some(size), _) => {
            let names = children(unit, kind).into_iter().filter_map(|child| {
                let name = string(dwarf, unit, &child, gimli::DW_AT_name)?;
                let value = child.attr_value(gimli::DW_AT_const_value)?;
                let value = value.sdata_value().map(i128::from);
                Some((value?, name))
            });
            VariableType::Enumeration(size, names.collect())
        }
        (_, size, _) => VariableType::Other(size),
    }
}

#[cfg(test)]
mod tests {
    use tracewright_testing::shared;

    use object::Object;

    use super::*;

    /// The example of an STM32F105, whose symbol table has the same addresses.
    #[test]
    fn addresses_are_those_of_the_symbols() {
        let Some(path) = shared("captures/sigrok-stm32f105/trace_example.elf") else { return };
        let file = Bytes::from(std::fs::read(path).unwrap());
        let object = object::File::parse(&*file).unwrap();
        let mut compared = 0;
        use object::ObjectSymbol;
        for symbol in object.symbols() {
            let name = symbol.name().unwrap();
            if symbol.kind() != object::SymbolKind::Data || name.contains('.') {
                continue;
            }
            let Ok(Some(variable)) = Variable::of_elf(&file, name) else { continue };
            assert_eq!(variable.address, symbol.address(), "{name}");
            if let (Some(size), true) = (variable.kind.size(), symbol.size() > 0) {
                assert_eq!(size, symbol.size(), "{name}");
            }
            compared += 1;
        }
        assert!(compared > 0, "no variable was compared");
    }

    /// Variables of a program by gcc, at the addresses that readelf lists, of the sizes of the ABI.
    #[test]
    fn types_of_variables() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/variables/v.elf");
        let file = Bytes::from(std::fs::read(path).unwrap());
        let names = [(0, "IDLE"), (1, "RUN"), (-1, "FAULT")];
        let names = names.map(|(value, name)| (value, name.to_owned())).to_vec();
        for (name, address, kind) in [
            ("counter", 0x2000_0000, VariableType::Unsigned(2)),
            ("state", 0x2000_0020, VariableType::Other(Some(32))),
            ("state.mode", 0x2000_0020, VariableType::Enumeration(4, names)),
            ("state.sensors[1].value", 0x2000_0030, VariableType::Float(4)),
            ("state.sensors[2].trim", 0x2000_0036, VariableType::Signed(1)),
            ("state.next", 0x2000_003c, VariableType::Pointer(4)),
            ("ratio", 0x2000_0040, VariableType::Float(8)),
            ("big[1]", 0x2000_0050, VariableType::Signed(8)),
            ("pointer", 0x2000_005c, VariableType::Pointer(4)),
        ] {
            let found = Variable::of_elf(&file, name).unwrap();
            assert_eq!(found, Some(Variable { address, kind }), "{name}");
        }
        assert_eq!(Variable::of_elf(&file, "none"), Ok(None));
        for (name, why) in [
            ("twice", "several variables"),
            ("state.none", "no member `none`"),
            ("counter[1]", "is for arrays"),
        ] {
            assert!(Variable::of_elf(&file, name).unwrap_err().to_string().contains(why), "{name}");
        }
        let text = Bytes::from(b"no ELF".to_vec());
        assert!(Variable::of_elf(&text, "counter").unwrap_err().to_string().contains("no DWARF"));
    }

    #[test]
    fn members_of_types() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/variables/v.elf");
        let file = Bytes::from(std::fs::read(path).unwrap());
        for (name, member, offset, kind) in [
            ("state", "next", 28, VariableType::Pointer(4)),
            ("state", "sensors[1].trim", 14, VariableType::Signed(1)),
            ("sensor", "value", 4, VariableType::Float(4)),
        ] {
            let found = MemberOfType::of_elf(&file, name, member);
            assert_eq!(found, Some(MemberOfType { offset, kind }), "{name} {member}");
        }
        for (name, member) in [("none", "next"), ("state", "none"), ("u16", "next")] {
            assert_eq!(MemberOfType::of_elf(&file, name, member), None);
        }
    }

    #[test]
    fn names_of_parts() {
        let (base, path) = steps("a.b[3].c").unwrap();
        assert!(matches!(path[..], [Step::Member("b"), Step::Element(3), Step::Member("c")]));
        assert_eq!(base, "a");
        for wrong in ["", ".a", "a[", "a[x]", "a[1"] {
            assert!(steps(wrong).is_err(), "{wrong}");
        }
    }
}
