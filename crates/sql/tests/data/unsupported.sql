select * from t tablesample system (10) --> TABLESAMPLE
select xmlelement(name a) --> an XML expression
select json_object('a': 1) --> JSON_OBJECT
select a is json from t --> IS JSON
select * from json_table(a, '$' columns (b int)) --> JSON_TABLE
create rule r as on insert to t do nothing --> CREATE RULE
create policy p on t using (true) --> CREATE POLICY
create operator class c for type int4 using btree as operator 1 < --> CREATE OPERATOR CLASS
create publication p for all tables --> CREATE PUBLICATION
create subscription s connection 'x' publication p --> CREATE SUBSCRIPTION
create event trigger e on ddl_command_start execute function f() --> CREATE EVENT TRIGGER
create tablespace t location '/x' --> CREATE TABLESPACE
create foreign table t (a int) server s --> CREATE FOREIGN TABLE
grant usage on schema s to r --> GRANT ON SCHEMA
revoke execute on function f(int) from public --> REVOKE ON FUNCTION
grant select on all tables in schema s to r --> GRANT ON ALL IN SCHEMA
security label on table t is 'x' --> SECURITY LABEL
alter default privileges grant select on tables to r --> ALTER DEFAULT PRIVILEGES
