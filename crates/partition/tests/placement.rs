//! Rows are routed to the same hash partitions as in PostgreSQL.
//!
//! The remainders are those for which `satisfies_hash_partition(parent, 1021, …)`
//! was true in PostgreSQL 18.

use steppe_partition::{PartitionBound, PartitionMap, PartitionStrategy};
use steppe_types::Datum;
use steppe_types::io::IoContext;
use steppe_types::oid::{self, Oid};
use steppe_types::text_io::input;

const MODULUS: u32 = 1021;

/// A parent with every possible partition; the one for remainder r is r + 1.
fn parent(types: &[Oid]) -> PartitionMap {
    let mut map = PartitionMap::new(PartitionStrategy::Hash, types).unwrap();
    for remainder in 0..MODULUS {
        map.attach(remainder + 1, &PartitionBound::Hash { modulus: MODULUS, remainder }).unwrap();
    }
    map
}

fn datum(type_oid: Oid, text: &str) -> Datum {
    input(type_oid, -1, text, &IoContext::default()).unwrap()
}

#[test]
fn single_columns() {
    for (type_oid, text, remainder) in PLACES {
        let map = parent(&[*type_oid]);
        let found = map.route(&[datum(*type_oid, text)], &mut Vec::new()).unwrap();
        assert_eq!(found, Some(remainder + 1), "{text} of type {type_oid}");
    }
}

#[test]
fn several_columns_and_nulls() {
    let types = [oid::INT4, oid::TEXT, oid::NUMERIC];
    let map = parent(&types);
    for (texts, remainder) in ROWS {
        let value =
            |(oid, text): (&Oid, &Option<&str>)| text.map_or(Datum::Null, |t| datum(*oid, t));
        let key: Vec<Datum> = types.iter().zip(texts).map(value).collect();
        let found = map.route(&key, &mut Vec::new()).unwrap();
        assert_eq!(found, Some(remainder + 1), "{texts:?}");
    }
}

const ROWS: &[([Option<&str>; 3], u32)] = &[
    ([Some("1"), Some("x"), Some("1.0")], 66),
    ([None, Some("x"), None], 121),
    ([Some("1"), None, None], 844),
    ([None, None, None], 0),
    ([None, None, Some("2")], 1016),
    ([Some("1"), Some("key 1"), Some("0.25")], 417),
    ([Some("2"), Some("key 2"), Some("0.5")], 155),
    ([Some("3"), Some("key 3"), Some("0.75")], 500),
];

const PLACES: &[(Oid, &str, u32)] = &[
    (oid::INT2, "0", 1015),
    (oid::INT2, "-1", 270),
    (oid::INT2, "32767", 672),
    (oid::INT4, "0", 1015),
    (oid::INT4, "42", 246),
    (oid::INT4, "-2147483648", 519),
    (oid::INT8, "42", 246),
    (oid::INT8, "-1", 270),
    (oid::INT8, "9223372036854775807", 519),
    (oid::INT8, "-4294967297", 148),
    (oid::OID, "0", 1015),
    (oid::OID, "4294967295", 270),
    (oid::BOOL, "t", 844),
    (oid::BOOL, "f", 1015),
    (oid::CHAR, "a", 4),
    (oid::CHAR, "\\303", 50),
    (oid::TEXT, "", 470),
    (oid::TEXT, "x", 121),
    (oid::TEXT, "hello world, how are you", 525),
    (oid::TEXT, "größer", 953),
    (oid::VARCHAR, "abc", 794),
    (oid::VARCHAR, "abc   ", 569),
    (oid::BPCHAR, "abc   ", 794),
    (oid::BPCHAR, "", 470),
    (oid::NAME, "pg_class", 209),
    (oid::NAME, "", 470),
    (oid::BYTEA, "\\x", 470),
    (oid::BYTEA, "\\x00", 229),
    (oid::BYTEA, "\\xdeadbeef0001", 775),
    (oid::NUMERIC, "0", 149),
    (oid::NUMERIC, "-0.00", 149),
    (oid::NUMERIC, "1.50", 49),
    (oid::NUMERIC, "1.5", 49),
    (oid::NUMERIC, "123456789012345678901234567890.000100", 923),
    (oid::NUMERIC, "-0.00012", 276),
    (oid::NUMERIC, "NaN", 150),
    (oid::NUMERIC, "Infinity", 150),
    (oid::NUMERIC, "-Infinity", 150),
    (oid::NUMERIC, "10000", 839),
    (oid::NUMERIC, "1e-20", 331),
    (oid::FLOAT4, "0", 150),
    (oid::FLOAT4, "-0", 150),
    (oid::FLOAT4, "1.5", 331),
    (oid::FLOAT4, "0.1", 337),
    (oid::FLOAT4, "NaN", 401),
    (oid::FLOAT4, "Infinity", 938),
    (oid::FLOAT8, "-0", 150),
    (oid::FLOAT8, "1.5", 331),
    (oid::FLOAT8, "0.1", 153),
    (oid::FLOAT8, "NaN", 401),
    (oid::FLOAT8, "-Infinity", 295),
    (oid::FLOAT8, "5e-324", 156),
    (oid::DATE, "2000-01-01", 1015),
    (oid::DATE, "1970-01-01", 355),
    (oid::DATE, "infinity", 662),
    (oid::DATE, "-infinity", 519),
    (oid::TIME, "00:00", 1015),
    (oid::TIME, "23:59:59.999999", 822),
    (oid::TIME, "24:00", 102),
    (oid::TIMETZ, "12:00+02", 272),
    (oid::TIMETZ, "00:00:00-15:59", 471),
    (oid::TIMESTAMP, "2000-01-01", 1015),
    (oid::TIMESTAMP, "1969-07-20 20:17:40.5", 830),
    (oid::TIMESTAMP, "infinity", 519),
    (oid::TIMESTAMPTZ, "2024-02-29 12:00+00", 353),
    (oid::TIMESTAMPTZ, "-infinity", 662),
    (oid::INTERVAL, "1 mon 2 days", 133),
    (oid::INTERVAL, "-1 day 3.25 sec", 140),
    (oid::INTERVAL, "24:00", 102),
    (oid::INTERVAL, "infinity", 612),
    (oid::UUID, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", 517),
    (oid::TID, "(70000,3)", 698),
    (oid::XID, "700", 493),
    (oid::CID, "7", 207),
    (oid::XID8, "18446744073709551615", 270),
    (1007, "{1,NULL,3}", 313),
    (1007, "{}", 584),
    (1009, "{{a,b},{c,d}}", 257),
    (1231, "{1.0,2}", 816),
    (oid::OIDVECTOR, "1 2 3", 606),
];
