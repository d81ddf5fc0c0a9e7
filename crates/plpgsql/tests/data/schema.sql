create table t (a integer, b text, c integer[]);
create schema s;
create table s.u (x numeric, y text);
create type ct as (x integer, y text);
create domain d as integer;
create type e as enum ('p', 'q');
create sequence sq;
create index ti on t (a);
