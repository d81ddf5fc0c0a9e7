-- aclitem and aclitem[]: text, parts, defaults; what initdb grants.
-- PostgreSQL 15 differs: the privilege MAINTAIN is new, as are the letters of settings and several catalogs
SELECT 'postgres=arwdDxt/postgres'::aclitem, '=r/postgres'::aclitem, 'postgres=r*w/postgres'::aclitem;
SELECT ' user  postgres =/postgres '::aclitem, 'group pg_monitor=U/postgres'::aclitem;
SELECT '"postgres"=r/"postgres"'::aclitem, 'pg_read_all_data=m/pg_monitor'::aclitem;
SELECT 'postgres'::aclitem;
SELECT 'postgres=q/postgres'::aclitem;
SELECT 'postgres=r/'::aclitem;
SELECT 'postgres=r/postgres x'::aclitem;
SELECT 'nobody=r/postgres'::aclitem;
SELECT 'postgres=r/nobody'::aclitem;
SELECT 'foo postgres=r/postgres'::aclitem;
SELECT 'user =r/postgres'::aclitem;
SELECT ''::aclitem;
SELECT '{postgres=arw/postgres,=r/postgres}'::aclitem[];
SELECT ('{postgres=arw/postgres,=r/postgres}'::aclitem[])[2];
SELECT array_length('{postgres=arw/postgres,=r/postgres}'::aclitem[], 1);
SELECT unnest('{postgres=arw/postgres,=r/postgres}'::aclitem[]);
SELECT array_to_string('{postgres=arw/postgres,=r/postgres}'::aclitem[], E'\n');
SELECT '=r/postgres'::aclitem = '=r/postgres', '=r/postgres'::aclitem = '=w/postgres'::aclitem;
SELECT '{=r/postgres}'::aclitem[] = '{=r/postgres}'::aclitem[], '{=r/postgres}'::aclitem[] <> '{}'::aclitem[];
SELECT '{postgres=arw/postgres}'::aclitem[] @> 'postgres=a/postgres'::aclitem AS holds,
       '{postgres=arw/postgres}'::aclitem[] @> 'postgres=d/postgres'::aclitem AS other_privilege,
       '{postgres=arw/postgres}'::aclitem[] @> '=a/postgres'::aclitem AS other_grantee;
SELECT kind, acldefault(kind::"char", 10) FROM unnest('{c,r,s,d,f,l,L,n,p,t,F,S,T}'::text[]) AS k(kind) ORDER BY kind COLLATE "C";
SELECT acldefault('x', 10);
SELECT acldefault('r', 6171), acldefault(NULL, 10), acldefault('r', NULL);
SELECT * FROM aclexplode('{postgres=ar*w/postgres,=r/postgres,pg_monitor=XUCTcsAm/pg_monitor}');
SELECT * FROM aclexplode('{}');
SELECT * FROM aclexplode(NULL);
SELECT (aclexplode(acldefault('s', 10))).privilege_type;
SELECT makeaclitem(10, 10, 'SELECT', false), makeaclitem(0, 10, 'insert, Temp,ALTER SYSTEM', true);
SELECT makeaclitem(10, 10, 'nosuch', false);
SELECT pg_typeof('=r/postgres'::aclitem), pg_typeof(acldefault('r', 10));
SELECT '=r/postgres'::aclitem < '=w/postgres'::aclitem;
SELECT aclinsert('{}', '=r/postgres');
SELECT nspname, nspacl FROM pg_namespace WHERE nspname IN ('pg_catalog', 'public', 'information_schema') ORDER BY 1;
SELECT classoid::regclass, privtype, initprivs, count(*) FROM pg_init_privs WHERE classoid <> 'pg_class'::regclass GROUP BY 1, 2, 3 ORDER BY 1, 2, initprivs::text COLLATE "C";
SELECT count(*) FROM pg_class c JOIN pg_init_privs i ON i.objoid = c.oid AND i.classoid = 'pg_class'::regclass AND objsubid = 0 WHERE relacl IS DISTINCT FROM initprivs AND relkind = 'r';
SELECT relname, relacl FROM pg_class WHERE relname IN ('pg_class', 'pg_authid', 'pg_settings', 'pg_statistic', 'tables') ORDER BY 1;
SELECT proname, proacl FROM pg_proc WHERE proname IN ('pg_reload_conf', 'pg_ls_tmpdir', 'lower', 'pg_export_snapshot') ORDER BY 1;
SELECT attname, attacl FROM pg_attribute WHERE attrelid = 'pg_subscription'::regclass AND attacl IS NOT NULL ORDER BY attnum;
CREATE TABLE t (a integer);
SELECT relacl FROM pg_class WHERE relname = 't';
