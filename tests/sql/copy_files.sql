-- COPY to and from files on the server.
select :'scratch' || '/copied' as file \gset
create table copied (a int, b text);
insert into copied values (1, 'x'), (2, null), (3, E'a\tb\\'), (4, '');
copy copied to :'file';
create table copied_back (like copied);
copy copied_back from :'file';
select * from copied_back order by a;
copy copied to :'file' (format csv, header);
truncate copied_back;
copy copied_back from :'file' (format csv, header match);
select * from copied_back order by a;
copy copied to :'file' (format binary);
truncate copied_back;
copy copied_back from :'file' (format binary);
select * from copied_back order by a;
copy (select a from copied order by a) to :'file';
copy copied_back (a) from :'file';
copy copied_back from :'file';
select count(*) from copied_back;
copy (select g, repeat('x', 100) from generate_series(1, 5000) g) to :'file';
copy copied_back from :'file';
select count(*), sum(a), sum(length(b)) from copied_back;
-- What cannot be opened.
copy copied to 'relative.data';
copy copied from 'no_such.data';
copy copied from '/no_such_folder/file';
copy copied to '/no_such_folder/file';
copy copied from '/tmp';
copy copied to '/tmp';
copy copied to '/dev/null/file';
-- What cannot be written.
copy copied to '/dev/full';
copy (select repeat('x', 1000) from generate_series(1, 1000)) to '/dev/full';
copy copied from '/dev/null';
copy (select generate_series(1, 1000)) to '/dev/null';
-- The same checks come first as without a file.
copy no_such_table from '/dev/null';
copy copied (c) to '/dev/null';
copy copied from '/no_such' (format csv, quote 'xx');
begin read only;
copy copied from '/dev/null';
rollback;
select command, type from pg_stat_progress_copy;
drop table copied, copied_back;
\setenv COPIED_FILE :file
\! rm -f "$COPIED_FILE"
