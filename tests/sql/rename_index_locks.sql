-- Sessions: an index is renamed beside those who read by it.
S: create table t (a int primary key, b int);
S: create index t_b on t (b);
A: begin;
A: select * from t where a = 1;
B: alter index t_b rename to t_c;
B: alter index t_pkey rename to t_key;
A: commit;
A: begin;
A: alter index t_c rename to t_d;
A: select relation::regclass, mode from pg_locks where pid = pg_backend_pid() and locktype = 'relation' and relation::regclass::text like 't\_%' order by 1;
B: select * from t where b = 1;
A: rollback;
S: drop table t;
