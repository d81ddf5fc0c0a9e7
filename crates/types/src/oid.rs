//! Object identifiers and the OIDs of the built-in types
//! (src/include/catalog/pg_type.dat).

/// A PostgreSQL object identifier.
pub type Oid = u32;

/// The OID that stands for no object (InvalidOid).
pub const INVALID_OID: Oid = 0;
/// The first OID given to user-created objects (PostgreSQL's FirstNormalObjectId).
pub const FIRST_NORMAL_OID: Oid = 16384;

/// The OIDs of users' types begin at these places: an OID alone says what a type is, which is what
/// code without a catalog asks. Each is the place and the OID of an object: of the relation for a row
/// type, of the type itself for an enum or a domain.
///
/// ```text
///   0 ………… 2^29 ………… 2^30 ………… 1.5·2^30 ………… 2^31 ………… 2.5·2^30 …………… 3·2^30 ………… 3.5·2^30 …………
///   object    row type  its array             enum      its array      domain     its array
/// ```
pub mod place {
    use super::Oid;

    /// The length of each place: no object has an OID from here on.
    pub const LENGTH: Oid = 1 << 29;
    /// Row types.
    pub const ROWS: Oid = LENGTH;
    /// Arrays of rows.
    pub const ROW_ARRAYS: Oid = 2 * LENGTH;
    /// Enums.
    pub const ENUMS: Oid = 4 * LENGTH;
    /// Arrays of enums.
    pub const ENUM_ARRAYS: Oid = 5 * LENGTH;
    /// Domains.
    pub const DOMAINS: Oid = 6 * LENGTH;
    /// Arrays of domains.
    pub const DOMAIN_ARRAYS: Oid = 7 * LENGTH;
}

/// Whether a type is an enum.
pub const fn is_enum_type(type_oid: Oid) -> bool {
    type_oid >= place::ENUMS && type_oid < place::ENUM_ARRAYS
}

/// Whether a type is a domain.
pub const fn is_domain(type_oid: Oid) -> bool {
    type_oid >= place::DOMAINS && type_oid < place::DOMAIN_ARRAYS
}

macro_rules! type_oids {
    ($($name:ident = $oid:literal, $array:literal;)*) => {
        $(
            #[doc = concat!("OID of the type `", stringify!($name), "`.")]
            pub const $name: Oid = $oid;
        )*
        /// The array type over an element type, where a built-in one exists.
        pub fn array_type_of(element: Oid) -> Option<Oid> {
            match element { $( $oid if $array != 0 => Some($array), )* _ => None }
        }
        /// The element type of a built-in array type.
        pub fn element_type_of(array: Oid) -> Option<Oid> {
            if array == 0 { return None; }
            match array { $( a if a == $array => Some($oid), )* _ => None }
        }
    };
}

/// The element type of a vector, an array of one dimension that is a type of its own.
pub fn vector_element_type(vector: Oid) -> Option<Oid> {
    match vector {
        INT2VECTOR => Some(INT2),
        OIDVECTOR => Some(OID),
        _ => None,
    }
}

/// The element type of a built-in array type or of a vector.
pub fn container_element_type(container: Oid) -> Option<Oid> {
    vector_element_type(container).or_else(|| element_type_of(container))
}

type_oids! {
    BOOL = 16, 1000;
    BYTEA = 17, 1001;
    CHAR = 18, 1002;
    NAME = 19, 1003;
    INT8 = 20, 1016;
    INT2 = 21, 1005;
    INT2VECTOR = 22, 1006;
    INT4 = 23, 1007;
    REGPROC = 24, 1008;
    TEXT = 25, 1009;
    OID = 26, 1028;
    TID = 27, 1010;
    XID = 28, 1011;
    CID = 29, 1012;
    OIDVECTOR = 30, 1013;
    JSON = 114, 199;
    PG_NODE_TREE = 194, 0;
    FLOAT4 = 700, 1021;
    FLOAT8 = 701, 1022;
    UNKNOWN = 705, 0;
    INET = 869, 1041;
    ACLITEM = 1033, 1034;
    BPCHAR = 1042, 1014;
    VARCHAR = 1043, 1015;
    DATE = 1082, 1182;
    TIME = 1083, 1183;
    TIMESTAMP = 1114, 1115;
    TIMESTAMPTZ = 1184, 1185;
    INTERVAL = 1186, 1187;
    TIMETZ = 1266, 1270;
    NUMERIC = 1700, 1231;
    REFCURSOR = 1790, 2201;
    REGPROCEDURE = 2202, 2207;
    REGOPER = 2203, 2208;
    REGOPERATOR = 2204, 2209;
    REGCLASS = 2205, 2210;
    REGTYPE = 2206, 2211;
    RECORD = 2249, 2287;
    CSTRING = 2275, 1263;
    ANY = 2276, 0;
    ANYARRAY = 2277, 0;
    VOID = 2278, 0;
    TRIGGER = 2279, 0;
    INTERNAL = 2281, 0;
    ANYELEMENT = 2283, 0;
    ANYNONARRAY = 2776, 0;
    UUID = 2950, 2951;
    TXID_SNAPSHOT = 2970, 2949;
    PG_LSN = 3220, 3221;
    REGCONFIG = 3734, 3735;
    ANYENUM = 3500, 0;
    ANYRANGE = 3831, 0;
    ANYMULTIRANGE = 4537, 0;
    ANYCOMPATIBLEMULTIRANGE = 4538, 0;
    ANYCOMPATIBLERANGE = 5080, 0;
    JSONB = 3802, 3807;
    REGNAMESPACE = 4089, 4090;
    REGROLE = 4096, 4097;
    REGCOLLATION = 4191, 4192;
    PG_SNAPSHOT = 5038, 5039;
    XID8 = 5069, 271;
    ANYCOMPATIBLE = 5077, 0;
    ANYCOMPATIBLEARRAY = 5078, 0;
    ANYCOMPATIBLENONARRAY = 5079, 0;
}

/// OID of the type `record[]`.
pub const RECORD_ARRAY: Oid = 2287;
