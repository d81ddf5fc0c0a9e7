//! The properties of a type that its OID alone decides. A type that is not built in has an OID in
//! the range of its kind ([`steppe_types::oid::place`]). It is the row type of a relation, an enum,
//! a domain, or the array type over one. Only a catalog knows its name, and whether it exists.

use crate::builtin::{ARRAY_SUBSCRIPT_HANDLER, Type};
use std::ops::Range;
use steppe_types::Oid;
use steppe_types::oid::{FIRST_NORMAL_OID, place};

/// The input, output and receive functions of a kind of type.
const RECORD_IO: [Oid; 3] = [2290, 2291, 2402];
const ARRAY_IO: [Oid; 3] = [750, 751, 2400];
const ENUM_IO: [Oid; 3] = [3506, 3507, 3532];
/// A domain's output function is the base type's.
const DOMAIN_IO: [Oid; 3] = [2597, 0, 2598];

/// A kind of type whose OIDs follow from those of objects.
struct Kind {
    /// typtype
    letter: u8,
    /// typcategory; a domain's is the base type's, which only a catalog knows.
    category: u8,
    len: i16,
    io: [Oid; 3],
    /// The places of such types, and of arrays of them.
    places: [Oid; 2],
}

const KINDS: [Kind; 3] = [
    Kind {
        letter: b'c',
        category: b'C',
        len: -1,
        io: RECORD_IO,
        places: [place::ROWS, place::ROW_ARRAYS],
    },
    Kind {
        letter: b'e',
        category: b'E',
        len: 4,
        io: ENUM_IO,
        places: [place::ENUMS, place::ENUM_ARRAYS],
    },
    Kind {
        letter: b'd',
        category: b'X',
        len: -1,
        io: DOMAIN_IO,
        places: [place::DOMAINS, place::DOMAIN_ARRAYS],
    },
];

/// The OIDs of objects.
const OBJECTS: Range<Oid> = FIRST_NORMAL_OID..place::LENGTH;

/// The type of an OID in one of the places. It need not exist.
pub(crate) fn by_place(oid: Oid) -> Option<Type> {
    let start = oid / place::LENGTH * place::LENGTH;
    let kind = KINDS.iter().find(|kind| kind.places.contains(&start))?;
    let object = Some(oid - start).filter(|object| OBJECTS.contains(object))?;
    let [own, arrays] = kind.places.map(|place| place + object);
    if oid == arrays {
        return Some(array_over(own, oid));
    }
    let [input, output, receive] = kind.io;
    Some(Type {
        oid,
        name: "record",
        in_information_schema: false,
        len: kind.len,
        kind: kind.letter,
        category: kind.category,
        preferred: false,
        relation: if kind.letter == b'c' { object } else { 0 },
        subscript: 0,
        element: 0,
        array: arrays,
        collation: 0,
        input,
        output,
        receive,
    })
}

fn array_over(element: Oid, oid: Oid) -> Type {
    let [input, output, receive] = ARRAY_IO;
    Type {
        oid,
        name: "record",
        in_information_schema: false,
        len: -1,
        kind: b'b',
        category: b'A',
        preferred: false,
        relation: 0,
        subscript: ARRAY_SUBSCRIPT_HANDLER,
        element,
        array: 0,
        collation: 0,
        input,
        output,
        receive,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use steppe_types::oid::{is_domain, is_enum_type};

    #[test]
    fn places_do_not_meet() {
        for object in [FIRST_NORMAL_OID, 123_456, place::LENGTH - 1] {
            for kind in &KINDS {
                let ty = by_place(kind.places[0] + object).expect("a type");
                assert_eq!(ty.kind, kind.letter);
                assert_eq!(is_enum_type(ty.oid), ty.kind == b'e');
                assert_eq!(is_domain(ty.oid), ty.kind == b'd');
                let array = by_place(ty.array).expect("an array type");
                assert_eq!((array.is_true_array(), array.element), (true, ty.oid));
                assert!(!is_enum_type(array.oid) && !is_domain(array.oid));
            }
        }
        let none = [0, FIRST_NORMAL_OID, place::ROWS, place::ROWS + 2249, place::ROW_ARRAYS];
        for oid in
            none.into_iter().chain([3 * place::LENGTH + 99_999, u32::MAX - place::LENGTH + 1])
        {
            assert!(by_place(oid).is_none(), "{oid}");
        }
    }
}
