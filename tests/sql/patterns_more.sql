-- SIMILAR TO's brackets with classes in them; FF1 to FF6 of to_timestamp.
select 'xay' similar to '_[_[:alpha:]_]_', 'x_y' similar to '_[_[:alpha:]_]_', 'x1y' similar to '_[_[:alpha:]_]_';
select v, v similar to '%[%[:alnum:]%]%' from (values ('a'), ('%'), ('-'), (']')) t(v);
select v, v similar to '.[.[:alnum:].].' from (values ('.a.'), ('...'), ('a.a'), ('.].')) t(v);
select v, v similar to '[]%]', v similar to '[^]%]', v similar to '[^^]' from (values (']'), ('%'), ('^'), ('a')) t(v);
select v, v similar to '[[:alpha:]%' escape '%' from (values ('a')) t(v);
set timezone to 'UTC';
set datestyle to iso;
select i, to_timestamp('2018-11-02 12:34:56.123456', 'YYYY-MM-DD HH24:MI:SS.FF' || i) from generate_series(1, 6) i;
select i, to_timestamp('2018-11-02 12:34:56.98', 'YYYY-MM-DD HH24:MI:SS.FF' || i) from generate_series(1, 6) i;
select to_timestamp('2018-11-02 12:34:59.99', 'YYYY-MM-DD HH24:MI:SS.FF1');
select to_timestamp('2018-11-02 12:34:56.123456', 'YYYY-MM-DD HH24:MI:SS.US');
