#!/usr/bin/env bash
# What a model, a packed folder or a log from a stranger can do: queries in them that are no queries, or read and write what
# the user has not named. Each is refused, leaves every file as it was, and tells nothing that it should not know.
#   attacks.sh ADVGP MAKE_MODEL PUT_QUERY
put_query=$3
. "$(dirname "$0")/common.sh"
secret=OPENSESAME
printf 'a,b,y\n1,2,3\n%s,5,6\n' $secret > secret.csv
echo "alias ls=ls # $secret" > startup
quietly() { "$@" > /dev/null 2>&1 || miss "$*"; }
"$make_model" t.csv y good.safetensors sql='SELECT a, b, color, y FROM t' pack=packed || exit 1
quietly "$advgp" predict good.safetensors t.csv -o secret.parquet
export S=$secret

# state: every file but those of the test itself
state() { find . -type f ! -path './tmp/*' ! -path './evil*' ! -name '*.txt' -exec sha256sum {} + | sort -k2; }
state > tmp/before

# refused NAME -- COMMAND...: it fails, with a sentence, and nothing has changed or come out.
refused() {
  local name=$1; shift 2
  ((seen++))
  "$@" > tmp/out.txt 2> tmp/err.txt < /dev/null
  local code=$?
  [[ $code == [23] ]] || miss "$name: exit $code: $(head -c 300 tmp/err.txt)"
  ! grep -q $secret tmp/out.txt tmp/err.txt || miss "$name: the secret came out"
  ! grep -q $'[\x01-\x08\x0b-\x1f\x7f]' tmp/err.txt || miss "$name: control characters in the message"
  state > tmp/after
  cmp -s tmp/before tmp/after || { miss "$name: files have changed: $(diff tmp/before tmp/after)"; cp tmp/after tmp/before; }
}

attack() { # NAME QUERY: by predict, every fifth by evaluate, too
  "$put_query" model good.safetensors evil.safetensors "$2" || miss "$1: no model"
  refused "$1 (predict)" -- "$advgp" predict evil.safetensors t.csv
  ((seen % 5)) || refused "$1 (evaluate)" -- "$advgp" evaluate evil.safetensors t.csv
}

t='SELECT a, b, color, y FROM t'
attack 'a second statement'        "$t); COPY (SELECT 'rm -rf') TO 'startup'; SELECT * FROM ($t"
attack 'after a line of comment'   "$t --
); COPY (SELECT 1) TO 'startup' --"
attack 'two queries'               "$t; $t"
attack 'COPY'                      "COPY t TO 'startup'"
attack 'COPY onto the data'        "COPY (SELECT 1) TO 't.csv'"
attack 'ATTACH'                    "ATTACH 'new.db'"
attack 'ATTACH before the query'   "ATTACH 'new.db'; $t"
attack 'EXPORT'                    "EXPORT DATABASE 'exported'"
attack 'IMPORT'                    "IMPORT DATABASE '.'"
attack 'INSTALL'                   "INSTALL httpfs FROM 'http://127.0.0.1:9'"
attack 'LOAD'                      "LOAD './evil.duckdb_extension'"
attack 'PRAGMA'                    "PRAGMA enable_profiling"
attack 'SET'                       "SET enable_external_access = true"
attack 'CREATE'                    "CREATE TABLE x AS $t"
attack 'DROP'                      "DROP VIEW t"
attack 'CALL'                      "CALL enable_logging(storage = 'file', storage_path = 'logged')"
attack 'PREPARE'                   "PREPARE p AS $t"
attack 'EXPLAIN ANALYZE'           "EXPLAIN ANALYZE $t"
attack 'a log by a SELECT'         "SELECT a, b, color, y FROM t, enable_logging(storage = 'file', storage_path = 'logged')"
attack 'a log on standard output'  "SELECT a, b, color, y FROM t, enable_logging(storage = 'stdout')"
attack 'read_text'                 "SELECT a, b, content AS color, y FROM t, read_text('startup')"
attack 'read_blob'                 "SELECT a, b, content::VARCHAR AS color, y FROM t, read_blob('startup')"
attack 'read_csv'                  "SELECT * FROM read_csv('secret.csv')"
attack 'read_parquet'              "SELECT mean AS a, mean AS b, 'red' AS color, mean AS y FROM read_parquet('secret.parquet')"
attack 'read_json'                 "SELECT * FROM read_json('startup')"
attack 'a file as a table'         "SELECT t.* FROM t, 'secret.csv'"
attack 'a device as a table'       "SELECT t.* FROM t, '/dev/stdin'"
attack 'the environment'           "SELECT a, b, content AS color, y FROM t, read_text('/proc/self/environ')"
attack 'a function of the shell'   "SELECT a, b, getenv('S') AS color, y FROM t"
attack 'in a subquery'             "SELECT a, b, (SELECT content FROM read_text('startup')) AS color, y FROM t"
attack 'in a condition'            "$t WHERE (SELECT content FROM read_text('startup')) LIKE '%$secret%'"
attack 'in a WITH'                 "WITH x AS (SELECT * FROM read_text('startup')) SELECT a, b, content AS color, y FROM t, x"
attack 'behind a name of WITH'     "WITH \"secret.csv\" AS (SELECT 1) SELECT a, b, color, y FROM t, (SELECT * FROM main.\"secret.csv\")"
attack 'names of files'            "SELECT a, b, file AS color, y FROM t, glob('*')"
attack 'a look into a file'        "SELECT a, b, Columns AS color, y FROM t, sniff_csv('secret.csv')"
attack 'a look into Parquet'       "SELECT a, b, path_in_schema AS color, y FROM t, parquet_metadata('secret.parquet')"
attack 'a query in a text'         "SELECT * FROM query('SELECT * FROM read_csv(''secret.csv'')')"
attack 'a query in a tree'         "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM read_csv(''secret.csv'')'))"
attack 'settings'                  "SELECT a, b, name AS color, y FROM t, duckdb_settings()"
attack 'the catalog'               "SELECT a, b, table_name AS color, y FROM t, information_schema.tables"
attack 'an address'                "SELECT * FROM read_csv('http://127.0.0.1:9/x.csv')"
attack 'an address as a table'     "SELECT t.* FROM t, 'http://127.0.0.1:9/x.csv'"
told() { attack "what $1 tells" "SELECT a, b, ($1)::VARCHAR AS color, y FROM t"; }
for call in "current_setting('temp_directory')" "main.current_setting('threads')" 'version()' 'current_user' 'session_user' 'user' \
  'current_schema' 'current_catalog' 'current_role' 'current_database()' 'current_schemas(true)' 'current_query()' \
  'current_connection_id()' 'txid_current()' "getvariable('x')" 'inet_server_addr()' 'pg_postmaster_start_time()' \
  'pg_conf_load_time()' "has_table_privilege('t', 'select')" "nextval('s')" "write_log('x')" 'setseed(0.5)' "stats(a)" \
  "json_serialize_sql('SELECT 1')" "json_serialize_plan('SELECT * FROM t')" "in_search_path('a', 'b')" 'Current_Setting(color)' \
  "list_transform([color], x -> current_setting(x))" "'threads'.current_setting()" "max(version()) OVER ()" "nosuch(a)"; do told "$call"; done
attack 'in an order'               "$t ORDER BY current_setting('threads')"
attack 'in a join'                 "SELECT t.a, t.b, t.color, t.y FROM t JOIN t u ON version() = 'v'"
attack 'in a group'                "SELECT max(a) AS a, max(b) AS b, max(color) AS color, max(y) AS y FROM t GROUP BY version()"
attack 'in VALUES'                 "SELECT a, b, v AS color, y FROM t, (VALUES (current_setting('threads'))) x(v)"
attack 'in a PIVOT'                "SELECT * FROM (PIVOT t ON version() USING sum(y))"
attack 'SHOW'                      "SHOW ALL TABLES"
attack 'SHOW in a table'           "SELECT a, b, name AS color, y FROM t, (SHOW ALL TABLES)"
attack 'DESCRIBE in a table'       "SELECT a, b, column_name AS color, y FROM t, (DESCRIBE t)"
attack 'SUMMARIZE in a table'      "SELECT a, b, column_name AS color, y FROM t, (SUMMARIZE t)"
attack 'DESCRIBE'                  "DESCRIBE t"
for table in 'duckdb_settings()' 'duckdb_functions()' 'duckdb_secrets()' 'duckdb_memory()' 'duckdb_databases()' 'pragma_version()' \
  'pragma_platform()' "pragma_table_info('t')" 'pg_timezone_names()' "histogram_values(t, a)" "query_table('t')" "which_secret('a', 'b')" \
  'test_all_types()' 'pg_catalog.pg_settings' 'duckdb_tables' 'sqlite_master'; do
  attack "the table $table" "SELECT t.* FROM t, $table"
done
attack 'escapes of a terminal'     $'SELECT \x1b[31m \x1b]0;x\x07 FROM t'
attack 'no query'                  ""
attack 'nested without an end'     "SELECT $(printf '(%.0s' {1..20000})1$(printf ')%.0s' {1..20000}) AS a FROM t"

# A single file stands for the table of the query, whatever the query calls it.
"$put_query" model good.safetensors evil.safetensors "SELECT * FROM 'secret.csv'" || miss "no model"
"$advgp" predict evil.safetensors t.csv --keep id 2> tmp/err.txt > tmp/out.txt || miss "a file's name as a table: $(cat tmp/err.txt)"
grep -q n400 tmp/out.txt && ! grep -q $secret tmp/out.txt || miss "another file was read: $(head -2 tmp/out.txt)"

# A packed folder: its query reads --test, and becomes that of the model.
cp -r packed evil_packed
for query in "$t; COPY (SELECT 1) TO 'startup'" "SELECT a, b, content AS color, y FROM t, read_text('startup')"; do
  "$put_query" manifest evil_packed/manifest.json "$query" || miss "no manifest"
  refused "a packed folder: $query" -- "$advgp" train evil_packed --test t.csv --method linear -o evil_trained.safetensors
  [[ ! -e evil_trained.safetensors ]] || miss "a model was made of: $query"
done

# A log: its query is run by replay, and its --cache names a folder.
quietly "$advgp" train t.csv --target y --features a,b -m 5 --components 1 --epochs 1 --log evil_run.jsonl -o evil_run.safetensors
for query in "$t; COPY (SELECT 1) TO 'startup'" "SELECT a, b, y FROM t, read_text('startup')"; do
  "$put_query" log evil_run.jsonl evil_log.jsonl sql "$query" || miss "no log"
  refused "a log: $query" -- "$advgp" replay evil_log.jsonl -o evil_again.safetensors
done
"$put_query" log evil_run.jsonl evil_log.jsonl cache planted || miss "no log"
refused "a log's cache" -- "$advgp" replay evil_log.jsonl -o evil_again.safetensors
[[ ! -e planted ]] || miss "a log has made a folder"

# The user's own query is under the same rule, and says so.
refused 'a file that only a query names' -- "$advgp" train t.csv --target y --sql "SELECT * FROM read_csv('secret.csv')" -o evil.safetensors
grep -q 'may not call read_csv()' tmp/err.txt || miss "$(cat tmp/err.txt)"

# What is printed of names, queries and values does not reach the terminal as commands.
printf 'a\x1b[31m,y\x07\n' > evil_names.csv
awk 'BEGIN { for (i = 0; i < 50; i++) print i "," i * 2 + i % 3 }' >> evil_names.csv
"$make_model" evil_names.csv $'y\x07' evil_names.safetensors sql=$'SELECT * FROM data /* \x1b]0;x */' || exit 1
"$advgp" inspect evil_names.safetensors > tmp/out.txt 2> tmp/err.txt || miss "inspect: $(cat tmp/err.txt)"
"$advgp" evaluate evil_names.safetensors evil_names.csv >> tmp/out.txt 2>> tmp/err.txt || miss "evaluate: $(cat tmp/err.txt)"
"$advgp" predict evil_names.safetensors t.csv >> tmp/out.txt 2>> tmp/err.txt && miss "predict without its column"
"$advgp" train evil_names.csv --target $'y\x07' --dry-run >> tmp/out.txt 2>> tmp/err.txt || miss "train: $(cat tmp/err.txt)"
! grep -q $'[\x01-\x08\x0b-\x1f\x7f]' tmp/out.txt tmp/err.txt || miss "control characters are printed: $(cat -v tmp/out.txt tmp/err.txt)"
grep -qF 'a\x1b[31m' tmp/out.txt || miss "a name is not shown: $(cat -v tmp/out.txt)"

# JSON that is deeper than a stack
{ printf '{"a":'; printf '[%.0s' {1..20000}; printf ']%.0s' {1..20000}; printf ',"b":1,"color":"red","y":1}\n'; } > deep.jsonl
gzip -k deep.jsonl
state > tmp/before
for file in deep.jsonl deep.jsonl.gz; do
  refused "$file" -- "$advgp" predict m.safetensors $file
  grep -q "$file, row 1: a value nested" tmp/err.txt || miss "$(cat tmp/err.txt)"
done

((seen >= 50)) || miss "$seen attacks were tried"
[[ $bad == 0 ]] && echo "$seen attacks, all refused"
exit $bad
