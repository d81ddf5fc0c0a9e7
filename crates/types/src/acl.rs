//! aclitem: which privileges one role has granted another (src/backend/utils/adt/acl.c).
//!
//! A value is held as a composite of three columns, the grantee, the grantor and the privileges
//! as bits, so that it is stored, compared and hashed as one. Its text is
//! `grantee=privileges/grantor`; the roles' names come from [`IoContext::catalog`].

use crate::datum::Array;
use crate::io::IoContext;
use crate::number_io::is_space;
use crate::oid::{self, Oid};
use crate::{Datum, Error, Result, SqlState};
use std::sync::Arc;

/// PUBLIC, as grantee.
pub const PUBLIC: Oid = 0;

/// The grantor if the text names none.
const BOOTSTRAP_SUPERUSER: Oid = 10;
/// The letters of the privileges, from the lowest bit on (ACL_ALL_RIGHTS_STR).
const LETTERS: &[u8; 15] = b"arwdDxtXUCTcsAm";
/// The privileges' names, from the lowest bit on.
const NAMES: [&str; LETTERS.len()] = [
    "INSERT",
    "SELECT",
    "UPDATE",
    "DELETE",
    "TRUNCATE",
    "REFERENCES",
    "TRIGGER",
    "EXECUTE",
    "USAGE",
    "CREATE",
    "TEMPORARY",
    "CONNECT",
    "SET",
    "ALTER SYSTEM",
    "MAINTAIN",
];
/// Grant options are this many bits above their privilege.
const OPTION_SHIFT: u32 = 32;

/// The privileges that one role granted to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AclItem {
    /// The role that has the privileges, or [`PUBLIC`].
    pub grantee: Oid,
    /// The role that granted them.
    pub grantor: Oid,
    /// Privileges in the low half, options to grant them in the high half.
    pub privileges: u64,
}

impl AclItem {
    /// The value as a datum.
    pub fn datum(self) -> Datum {
        let columns = [
            Datum::Oid(self.grantee),
            Datum::Oid(self.grantor),
            Datum::Int8(self.privileges as i64),
        ];
        Datum::Record(columns.into())
    }

    /// The value that a datum holds.
    pub fn of(datum: &Datum) -> Result<AclItem> {
        match datum {
            Datum::Record(columns) => match &columns[..] {
                [Datum::Oid(grantee), Datum::Oid(grantor), Datum::Int8(privileges)] => {
                    let privileges = *privileges as u64;
                    Ok(AclItem { grantee: *grantee, grantor: *grantor, privileges })
                }
                _ => Err(Error::internal("an aclitem of other columns")),
            },
            _ => Err(Error::internal("expected an aclitem")),
        }
    }

    /// The privileges' names in their order, each with whether it may be granted on.
    pub fn granted(self) -> impl Iterator<Item = (&'static str, bool)> {
        let bit = move |shift: u32| self.privileges >> shift & 1 == 1;
        let names = NAMES.iter().zip(0u32..);
        names.filter(move |(_, at)| bit(*at)).map(move |(name, at)| (*name, bit(at + OPTION_SHIFT)))
    }

    /// Whether everything that `other` grants is granted here, by and to the same role.
    pub fn contains(self, other: AclItem) -> bool {
        (self.grantee, self.grantor) == (other.grantee, other.grantor)
            && other.privileges & !self.privileges == 0
    }
}

/// An aclitem[] as a datum.
pub fn array(items: impl IntoIterator<Item = AclItem>) -> Datum {
    let elements: Vec<Datum> = items.into_iter().map(AclItem::datum).collect();
    // One dimension even where it is empty (allocacl).
    let dimensions = vec![(elements.len() as i32, 1)];
    Datum::Array(Arc::new(Array { element_type: oid::ACLITEM, dimensions, elements }))
}

/// The bit of a privilege by its name, in any case: `SELECT`, `alter system`, `temp`.
pub fn privilege(name: &str) -> Option<u64> {
    let name = if name.eq_ignore_ascii_case("temp") { "TEMPORARY" } else { name };
    NAMES.iter().position(|known| known.eq_ignore_ascii_case(name)).map(|at| 1 << at)
}

/// The same privileges as options to grant them.
pub fn options(privileges: u64) -> u64 {
    privileges << OPTION_SHIFT
}

fn bits(letters: &str) -> u64 {
    let bit = |letter: &u8| LETTERS.iter().position(|l| l == letter).map_or(0, |at| 1u64 << at);
    letters.as_bytes().iter().map(bit).sum()
}

/// The default privileges of an object's owner and of PUBLIC; `None` for a letter that stands for
/// no kind of object.
pub fn default_privileges(object: u8, owner: Oid) -> Option<Vec<AclItem>> {
    let (public, own) = match object {
        b'c' => ("", ""),
        b'r' => ("", "arwdDxtm"),
        b's' => ("", "rwU"),
        b'd' => ("Tc", "CTc"),
        b'f' => ("X", "X"),
        b'l' | b'T' => ("U", "U"),
        b'L' => ("", "rw"),
        b'n' => ("", "UC"),
        b't' => ("", "C"),
        b'F' | b'S' => ("", "U"),
        b'p' => ("", "sA"),
        _ => return None,
    };
    let items = [(PUBLIC, public), (owner, own)];
    let items = items.into_iter().filter(|(_, letters)| !letters.is_empty());
    let item = |(grantee, letters)| AclItem { grantee, grantor: owner, privileges: bits(letters) };
    Some(items.map(item).collect())
}

/// aclitemout
pub fn write(datum: &Datum, context: &IoContext, out: &mut Vec<u8>) -> Result<()> {
    let item = AclItem::of(datum)?;
    if item.grantee != PUBLIC {
        write_role(item.grantee, context, out);
    }
    out.push(b'=');
    for (letter, at) in LETTERS.iter().zip(0u32..) {
        if item.privileges >> at & 1 == 1 {
            out.push(*letter);
        }
        if item.privileges >> (at + OPTION_SHIFT) & 1 == 1 {
            out.push(b'*');
        }
    }
    out.push(b'/');
    write_role(item.grantor, context, out);
    Ok(())
}

/// A role's name, in double quotes unless it consists of letters, digits and underscores (putid),
/// or the number of a dropped role.
fn write_role(role: Oid, context: &IoContext, out: &mut Vec<u8>) {
    let Some(name) = context.catalog.as_ref().and_then(|catalog| catalog.role_name(role)) else {
        out.extend_from_slice(role.to_string().as_bytes());
        return;
    };
    let safe = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match safe {
        true => out.extend_from_slice(name.as_bytes()),
        false => {
            out.push(b'"');
            out.extend_from_slice(name.replace('"', "\"\"").as_bytes());
            out.push(b'"');
        }
    }
}

/// aclitemin
pub fn input(text: &str, context: &IoContext) -> Result<Datum> {
    let role = |name: &str| match &context.catalog {
        Some(catalog) => catalog.role(name),
        // A stored text has the numbers of roles.
        None => name.parse().map_err(|_| Error::internal("no catalog to look up a role in")),
    };
    parse(text, role).map(AclItem::datum)
}

/// Reads an item, asking `role` for the OIDs of names.
pub fn parse(text: &str, role: impl Fn(&str) -> Result<Oid>) -> Result<AclItem> {
    let (mut name, mut rest) = role_in(text)?;
    if !rest.starts_with('=') && matches!(name.as_str(), "group" | "user") {
        (name, rest) = role_in(rest)?;
        if name.is_empty() {
            return Err(malformed("missing name")
                .hint("A name must follow the \"group\" or \"user\" key word."));
        }
    } else if !rest.starts_with('=') {
        return Err(malformed(format!("unrecognized key word: \"{name}\""))
            .hint("ACL key word must be \"group\" or \"user\"."));
    }
    let rest = rest.strip_prefix('=').ok_or_else(|| malformed("missing \"=\" sign"))?;
    let (privileges, rest) = privileges_in(rest)?;
    let grantee = if name.is_empty() { PUBLIC } else { role(&name)? };
    let (grantor, rest) = match rest.strip_prefix('/') {
        None => (BOOTSTRAP_SUPERUSER, rest),
        Some(rest) => match role_in(rest)? {
            (name, _) if name.is_empty() => {
                return Err(malformed("a name must follow the \"/\" sign"));
            }
            (name, rest) => (role(&name)?, rest),
        },
    };
    if !rest.trim_start_matches(blank).is_empty() {
        return Err(malformed("extra garbage at the end of the ACL specification"));
    }
    Ok(AclItem { grantee, grantor, privileges })
}

/// Reads letters, each perhaps with an asterisk; returns the rest, too.
fn privileges_in(text: &str) -> Result<(u64, &str)> {
    let (mut privileges, mut last) = (0, 0);
    let end = text.find(|c: char| !c.is_ascii_alphabetic() && c != '*').unwrap_or(text.len());
    for byte in text[..end].bytes() {
        if byte == b'*' {
            privileges |= options(last);
            continue;
        }
        let at = LETTERS.iter().position(|letter| *letter == byte).ok_or_else(|| {
            malformed("invalid mode character: must be one of \"arwdDxtXUCTcsAm\"")
        })?;
        last = 1 << at;
        privileges |= last;
    }
    Ok((privileges, &text[end..]))
}

/// Reads a role's name, perhaps in double quotes; returns the rest after it and blanks, too
/// (getid).
fn role_in(text: &str) -> Result<(String, &str)> {
    let text = text.trim_start_matches(blank);
    let (mut name, mut quoted) = (String::new(), false);
    let mut chars = text.char_indices().peekable();
    while let Some(&(at, c)) = chars.peek() {
        if c == '"' {
            chars.next();
            if quoted && matches!(chars.peek(), Some((_, '"'))) {
                name.push('"');
                chars.next();
            } else {
                quoted = !quoted;
            }
        } else if quoted || c.is_alphanumeric() || c == '_' {
            name.push(c);
            chars.next();
        } else {
            return Ok((limited(name)?, text[at..].trim_start_matches(blank)));
        }
    }
    Ok((limited(name)?, ""))
}

fn limited(name: String) -> Result<String> {
    if name.len() <= crate::text_io::NAME_BYTES_MAX {
        return Ok(name);
    }
    Err(Error::new(SqlState::NAME_TOO_LONG, "identifier too long")
        .detail("Identifier must be less than 64 characters."))
}

fn blank(c: char) -> bool {
    c.is_ascii() && is_space(c as u8)
}

#[cold]
fn malformed(message: impl Into<String>) -> Error {
    Error::new(SqlState::INVALID_TEXT_REPRESENTATION, message.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(name: &str) -> Result<Oid> {
        match name {
            "postgres" => Ok(10),
            "a \"b" => Ok(11),
            _ => Err(Error::internal("no such role")),
        }
    }

    #[test]
    fn items_are_read() {
        let item = |grantee, privileges| AclItem { grantee, grantor: 10, privileges };
        assert_eq!(parse("=r/postgres", role).expect("an item"), item(0, 2));
        assert_eq!(parse(" postgres = ", role).expect("an item"), item(10, 0));
        let granted = parse("user \"a \"\"b\"=ar*/postgres ", role).expect("an item");
        assert_eq!(granted, item(11, 3 | 2 << 32));
        let names: Vec<_> = granted.granted().collect();
        assert_eq!(names, [("INSERT", false), ("SELECT", true)]);
        assert!(granted.contains(item(11, 2)) && !granted.contains(item(11, 4)));
        for bad in ["postgres", "x y=r", "=q/postgres", "=r/", "=r/postgres x", "user =r"] {
            assert!(parse(bad, role).is_err(), "{bad}");
        }
    }
}
