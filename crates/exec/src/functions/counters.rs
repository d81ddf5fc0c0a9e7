//! pg_stat_get_numscans and its kin, which the views of statistics are made of in PostgreSQL: the
//! counts of one table or index (src/backend/utils/adt/pgstatfuncs.c). The server has them.

use super::session::by_session;
use super::{Entry, typed};

/// Functions by prosrc.
pub(super) const TABLE: &[Entry] = &[
    ("pg_stat_get_numscans", typed(by_session)),
    ("pg_stat_get_lastscan", typed(by_session)),
    ("pg_stat_get_tuples_returned", typed(by_session)),
    ("pg_stat_get_tuples_fetched", typed(by_session)),
    ("pg_stat_get_tuples_inserted", typed(by_session)),
    ("pg_stat_get_tuples_updated", typed(by_session)),
    ("pg_stat_get_tuples_deleted", typed(by_session)),
    ("pg_stat_get_tuples_hot_updated", typed(by_session)),
    ("pg_stat_get_tuples_newpage_updated", typed(by_session)),
    ("pg_stat_get_xact_numscans", typed(by_session)),
    ("pg_stat_get_xact_tuples_returned", typed(by_session)),
    ("pg_stat_get_xact_tuples_fetched", typed(by_session)),
    ("pg_stat_get_xact_tuples_inserted", typed(by_session)),
    ("pg_stat_get_xact_tuples_updated", typed(by_session)),
    ("pg_stat_get_xact_tuples_deleted", typed(by_session)),
    ("pg_stat_get_xact_tuples_hot_updated", typed(by_session)),
    ("pg_stat_get_xact_tuples_newpage_updated", typed(by_session)),
    ("pg_stat_get_live_tuples", typed(by_session)),
    ("pg_stat_get_dead_tuples", typed(by_session)),
    ("pg_stat_get_mod_since_analyze", typed(by_session)),
    ("pg_stat_get_ins_since_vacuum", typed(by_session)),
    ("pg_stat_get_last_vacuum_time", typed(by_session)),
    ("pg_stat_get_last_autovacuum_time", typed(by_session)),
    ("pg_stat_get_last_analyze_time", typed(by_session)),
    ("pg_stat_get_last_autoanalyze_time", typed(by_session)),
    ("pg_stat_get_vacuum_count", typed(by_session)),
    ("pg_stat_get_autovacuum_count", typed(by_session)),
    ("pg_stat_get_analyze_count", typed(by_session)),
    ("pg_stat_get_autoanalyze_count", typed(by_session)),
    ("pg_stat_get_total_vacuum_time", typed(by_session)),
    ("pg_stat_get_total_autovacuum_time", typed(by_session)),
    ("pg_stat_get_total_analyze_time", typed(by_session)),
    ("pg_stat_get_total_autoanalyze_time", typed(by_session)),
];
