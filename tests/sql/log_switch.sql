-- Alone: nobody else may write to the log.
-- pg_switch_wal() fills the segment of the log that is written, once.
create table before_switch(a int);
select pg_switch_wal() as came_to \gset
select pg_current_wal_insert_lsn() as now \gset
select pg_walfile_name(:'came_to') < pg_walfile_name(pg_lsn(:'now') + 64) as another,
       pg_lsn(:'came_to') < :'now' as further, pg_current_wal_flush_lsn() >= :'came_to' as durable;
select pg_switch_wal() = pg_switch_wal() as once;
insert into before_switch values (1);
table before_switch;
drop table before_switch;
