//! System views that only the server can fill: pg_settings, pg_stat_activity ….

use steppe_types::{Datum, Error, Oid, Result};

use crate::services::Core;

/// The rows of a virtual relation.
pub(crate) fn rows(core: &Core, relation: Oid) -> Result<Vec<Vec<Datum>>> {
    let names = core.names();
    let found = names.catalog.relation(relation).map(|relation| relation.name.clone());
    match found.as_deref() {
        Some("pg_settings") => Ok(settings(core)),
        Some(name) => Err(Error::not_supported(format!("the system catalog {name}"))),
        None => Err(Error::not_supported("this system catalog")),
    }
}

/// pg_settings, in its column order.
fn settings(core: &Core) -> Vec<Vec<Datum>> {
    let text = |text: &str| Datum::text(text);
    let maybe = |value: Option<&str>| value.map_or(Datum::Null, Datum::text);
    let rows = core.settings.lock().rows();
    rows.into_iter()
        .map(|row| {
            use crate::settings::definition::Kind;
            let definition = row.definition;
            let (min, max) = match &definition.kind {
                Kind::Int { min, max } => (Some(min.to_string()), Some(max.to_string())),
                Kind::Real { min, max } => (
                    Some(crate::settings::value::format_g(*min)),
                    Some(crate::settings::value::format_g(*max)),
                ),
                _ => (None, None),
            };
            let words = match &definition.kind {
                Kind::Enum(words) => {
                    Datum::Array(std::sync::Arc::new(steppe_types::datum::Array {
                        element_type: steppe_types::oid::TEXT,
                        dimensions: vec![(words.len() as i32, 1)],
                        elements: words.iter().map(|word| Datum::text(*word)).collect(),
                    }))
                }
                _ => Datum::Null,
            };
            let line = match row.setting.source {
                crate::settings::Source::File(line) => i32::try_from(line).ok(),
                _ => None,
            };
            vec![
                text(definition.name),
                Datum::text(row.setting.value.setting()),
                maybe(definition.unit),
                text(definition.category),
                // The extracted facts carry no descriptions.
                text(""),
                Datum::Null,
                text(definition.context.as_str()),
                text(definition.kind.as_str()),
                text(row.setting.source.as_str()),
                maybe(min.as_deref()),
                maybe(max.as_deref()),
                words,
                Datum::text(definition.boot.setting()),
                Datum::text(row.reset.setting()),
                line.map_or(Datum::Null, |_| Datum::text("steppe.conf")),
                line.map_or(Datum::Null, Datum::Int4),
                Datum::Bool(false),
            ]
        })
        .collect()
}
