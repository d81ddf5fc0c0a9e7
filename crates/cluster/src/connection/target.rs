//! Whether a server is one that target_session_attrs accepts.
//!
//! A server from PostgreSQL 14 on reports what is needed as settings; an older one is asked by one
//! statement (PQconnectPoll in src/interfaces/libpq/fe-connect.c).

use crate::conninfo::TargetSessionAttrs;

/// The judgement about a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Accepted,
    /// The reason, for the error message.
    Refused(&'static str),
    /// The statement that tells: `on` or `t` is the property asked for.
    Ask(&'static str),
}

const READ_ONLY: &str = "SHOW transaction_read_only";
const IN_RECOVERY: &str = "SELECT pg_catalog.pg_is_in_recovery()";

/// Judges by the settings that the server has reported.
pub(super) fn by_settings<'a>(
    wanted: TargetSessionAttrs,
    setting: impl Fn(&str) -> Option<&'a str>,
) -> Verdict {
    let is_on = |name: &str| setting(name).map(|value| value == "on");
    match wanted {
        TargetSessionAttrs::Any => Verdict::Accepted,
        TargetSessionAttrs::ReadWrite | TargetSessionAttrs::ReadOnly => {
            match (is_on("default_transaction_read_only"), is_on("in_hot_standby")) {
                (Some(read_only), Some(standby)) => judge(wanted, read_only || standby),
                _ => Verdict::Ask(READ_ONLY),
            }
        }
        TargetSessionAttrs::Primary
        | TargetSessionAttrs::Standby
        | TargetSessionAttrs::PreferStandby => match is_on("in_hot_standby") {
            Some(standby) => judge(wanted, standby),
            None => Verdict::Ask(IN_RECOVERY),
        },
    }
}

/// Judges by the property: the session is read-only, or the server is in hot standby.
pub(super) fn judge(wanted: TargetSessionAttrs, has_property: bool) -> Verdict {
    match (wanted, has_property) {
        (TargetSessionAttrs::ReadWrite, true) => Verdict::Refused("session is read-only"),
        (TargetSessionAttrs::ReadOnly, false) => Verdict::Refused("session is not read-only"),
        (TargetSessionAttrs::Primary, true) => Verdict::Refused("server is in hot standby mode"),
        (TargetSessionAttrs::Standby | TargetSessionAttrs::PreferStandby, false) => {
            Verdict::Refused("server is not in hot standby mode")
        }
        _ => Verdict::Accepted,
    }
}

/// `15.10 (Debian 15.10-0)` is 150010, `18beta1` is 180000.
pub(super) fn version_number(text: &str) -> Option<u32> {
    let mut parts = text.split(|c: char| !c.is_ascii_digit());
    let major: u32 = parts.next()?.parse().ok()?;
    let has_minor = text[major_len(text)..].starts_with('.');
    let minor = if has_minor { parts.next()?.parse().ok()? } else { 0 };
    major.checked_mul(10_000)?.checked_add(minor)
}

fn major_len(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judges_by_settings_or_asks() {
        let primary = |name: &str| match name {
            "in_hot_standby" | "default_transaction_read_only" => Some("off"),
            _ => None,
        };
        let standby = |name: &str| match name {
            "in_hot_standby" => Some("on"),
            "default_transaction_read_only" => Some("off"),
            _ => None,
        };
        use TargetSessionAttrs::*;
        for (wanted, on_primary, on_standby) in [
            (Any, true, true),
            (ReadWrite, true, false),
            (ReadOnly, false, true),
            (Primary, true, false),
            (Standby, false, true),
            (PreferStandby, false, true),
        ] {
            let accepts = |verdict| verdict == Verdict::Accepted;
            assert_eq!(accepts(by_settings(wanted, primary)), on_primary, "{wanted:?}");
            assert_eq!(accepts(by_settings(wanted, standby)), on_standby, "{wanted:?}");
        }
        assert_eq!(by_settings(ReadWrite, |_| None), Verdict::Ask(READ_ONLY));
        assert_eq!(by_settings(Standby, |_| None), Verdict::Ask(IN_RECOVERY));
        assert_eq!(by_settings(Any, |_| None), Verdict::Accepted);
    }

    #[test]
    fn reads_version_numbers() {
        assert_eq!(version_number("15.10 (Debian 15.10-0+deb12u1)"), Some(150_010));
        assert_eq!(version_number("18beta1"), Some(180_000));
        assert_eq!(version_number("18"), Some(180_000));
        assert_eq!(version_number("devel"), None);
        assert_eq!(version_number("99999999.1"), None);
    }
}
