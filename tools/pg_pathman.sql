-- The functions of pg_pathman 1.5 that Steppe has, as signatures: tools/extract-catalog.sh turns them into
-- crates/pathman/data/pg_pathman.tsv. A body is the name by which the implementation attaches.
create schema pathman;
set search_path = pathman, pg_catalog;
set check_function_bodies = off;

-- Partitioning a table, and undoing it.
create function create_range_partitions(parent_relid regclass, expression text, start_value anyelement,
    p_interval interval, p_count integer default null, partition_data boolean default true)
    returns integer language sql as 'pathman_create_range';
create function create_range_partitions(parent_relid regclass, expression text, start_value anyelement,
    p_interval anyelement, p_count integer default null, partition_data boolean default true)
    returns integer language sql as 'pathman_create_range';
create function create_range_partitions(parent_relid regclass, expression text, bounds anyarray,
    partition_names text[] default null, tablespaces text[] default null, partition_data boolean default true)
    returns integer language sql as 'pathman_create_range_bounds';
create function create_hash_partitions(parent_relid regclass, expression text, partitions_count integer,
    partition_data boolean default true, partition_names text[] default null, tablespaces text[] default null)
    returns integer language sql as 'pathman_create_hash';
create function drop_partitions(parent_relid regclass, delete_data boolean default false)
    returns integer language sql as 'pathman_drop_partitions';
create function disable_pathman_for(parent_relid regclass)
    returns void language sql strict as 'pathman_disable';
create function add_to_pathman_config(parent_relid regclass, expression text, range_interval text)
    returns boolean language sql as 'pathman_add_to_config';
create function add_to_pathman_config(parent_relid regclass, expression text)
    returns boolean language sql as 'pathman_add_to_config';

-- The partitions of a range-partitioned table.
create function append_range_partition(parent_relid regclass, partition_name text default null,
    tablespace text default null) returns text language sql as 'pathman_append';
create function prepend_range_partition(parent_relid regclass, partition_name text default null,
    tablespace text default null) returns text language sql as 'pathman_prepend';
create function add_range_partition(parent_relid regclass, start_value anyelement, end_value anyelement,
    partition_name text default null, tablespace text default null)
    returns text language sql as 'pathman_add';
create function drop_range_partition(partition_relid regclass, delete_data boolean default true)
    returns text language sql as 'pathman_drop_range';
create function attach_range_partition(parent_relid regclass, partition_relid regclass,
    start_value anyelement, end_value anyelement) returns text language sql as 'pathman_attach';
create function detach_range_partition(partition_relid regclass)
    returns text language sql as 'pathman_detach';
create function split_range_partition(partition_relid regclass, split_value anyelement,
    partition_name text default null, tablespace text default null)
    returns regclass language sql as 'pathman_split';
create function merge_range_partitions(variadic partitions regclass[])
    returns regclass language sql strict as 'pathman_merge';
create function replace_hash_partition(old_partition regclass, new_partition regclass,
    lock_parent boolean default true) returns regclass language sql as 'pathman_replace_hash';
create function generate_range_bounds(p_start anyelement, p_interval interval, p_count integer)
    returns anyarray language sql strict as 'pathman_range_bounds';
create function generate_range_bounds(p_start anyelement, p_interval anyelement, p_count integer)
    returns anyarray language sql strict as 'pathman_range_bounds';

-- What is kept of a partitioned table.
create function set_interval(relation regclass, value anyelement)
    returns void language sql as 'pathman_set_interval';
create function set_auto(relation regclass, value boolean)
    returns void language sql strict as 'pathman_set_auto';
create function set_enable_parent(relation regclass, value boolean)
    returns void language sql strict as 'pathman_set_enable_parent';
create function set_spawn_using_bgw(relation regclass, value boolean)
    returns void language sql strict as 'pathman_set_spawn_using_bgw';
create function set_init_callback(relation regclass, callback regprocedure default 0)
    returns void language sql strict as 'pathman_set_init_callback';
create function get_number_of_partitions(parent_relid regclass)
    returns integer language sql strict as 'pathman_count';
create function get_partition_key(parent_relid regclass)
    returns text language sql strict as 'pathman_key';
create function get_partition_key_type(parent_relid regclass)
    returns regtype language sql strict as 'pathman_key_type';
create function get_partition_type(parent_relid regclass)
    returns integer language sql strict as 'pathman_type';
create function get_parent_of_partition(partition_relid regclass)
    returns regclass language sql strict as 'pathman_parent';
create function build_sequence_name(parent_relid regclass)
    returns text language sql strict as 'pathman_sequence_name';
create function pathman_version() returns text language sql strict as 'pathman_version';

-- Behind the views.
create function show_config() returns table (partrel regclass, expr text, parttype integer,
    range_interval text) rows 10 language sql strict as 'pathman_show_config';
create function show_config_params() returns table (partrel regclass, enable_parent boolean,
    auto boolean, init_callback regprocedure, spawn_using_bgw boolean)
    rows 10 language sql strict as 'pathman_show_params';
create function show_partition_list() returns table (parent regclass, partition regclass,
    parttype integer, expr text, range_min text, range_max text)
    language sql strict as 'pathman_show_partitions';
create function show_concurrent_part_tasks() returns table (userid regrole, pid integer, dbid oid,
    relid regclass, processed bigint, status text) rows 1 language sql strict as 'pathman_show_tasks';

-- Moving rows in the background.
create function partition_table_concurrently(relation regclass, batch_size integer default 1000,
    sleep_time float8 default 1.0) returns void language sql strict as 'pathman_concurrently';
create function stop_concurrent_part_task(relation regclass)
    returns boolean language sql strict as 'pathman_stop_task';
