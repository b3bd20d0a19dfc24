#!/usr/bin/env bash
# Layers above the option file are named before anything is touched, foreign tables stop
# everything, and passwords come from where they belong and are seen nowhere.
. "$(dirname "$0")/../support/tap.sh"
. "$TOP/tests/support/sweep.sh"
own_mariadb
config=$DBSWEEP_TEST_MY_CONFIG
dir=$DBSWEEP_TEST_MY_DIR
knobs='max_connections = [ 40, 50 ];'

restart_with() {
    "$TOP/tests/support/mariadb.sh" down "$dir"
    "$TOP/tests/support/mariadb.sh" up "$dir" "$@"
}

# ---- layers ----
my_sweep "$TMP/over.cfg" "$knobs"
keep "$config"
own_mysql 'set global max_connections = 60'
run_status 'SET GLOBAL is refused' 2 "$DBSWEEP" run "$TMP/over.cfg"
like 'and named' "$ERRORS" '*max_connections is set by SET GLOBAL*'
restart_with --max-connections=60
run_status 'the command line is refused' 2 "$DBSWEEP" run "$TMP/over.cfg"
like 'and named' "$ERRORS" '*max_connections is set by the command line*'
unchanged 'nothing was written' "$config"

mkdir "$dir/conf.d"
printf '[mariadb-10.11]\nloose-max-connections = 60\n' >"$dir/conf.d/zz.cnf"
printf '[mysqld]\nmax_connections = 61\n' >"$dir/conf.d/zzz.ini"
printf 'max_connections = 30\n!includedir %s/conf.d\n' "$dir" >>"$config"
chmod -R a+rX "$dir/conf.d"
restart_with
keep "$config"
MY_TARGET="config = \"$config\";" my_sweep "$TMP/over.cfg" "$knobs"
run_status 'a file that is included later is refused' 2 "$DBSWEEP" run "$TMP/over.cfg"
like 'and named' "$ERRORS" "*max_connections is set in $dir/conf.d/zz.cnf:2*"
unchanged 'nothing was written' "$config"

MY_TARGET="config = \"$dir/conf.d/../conf.d/zz.cnf\";" my_sweep "$TMP/later.cfg" "$knobs"
keep "$dir/conf.d/zz.cnf"
run_ok 'that file can be swept, by any spelling of its path' "$DBSWEEP" run "$TMP/later.cfg"
is 'and is the source' "$(store_query "$TMP/later.db" \
    "SELECT group_concat(DISTINCT source) FROM trial_value WHERE verdict = 'equal'")" config
unchanged 'afterwards' "$dir/conf.d/zz.cnf"
my_sweep "$TMP/probed.cfg" "$knobs"
run_ok 'and it is the one that is found' "$DBSWEEP" check "$TMP/probed.cfg"
like 'by its name' "$OUTPUT" "*changes to $dir/conf.d/zz.cnf*"

MY_TARGET="config = \"$dir/conf.d/zzz.ini\";" my_sweep "$TMP/ini.cfg" "$knobs"
run_status 'a file that the server does not read is refused' 2 "$DBSWEEP" run "$TMP/ini.cfg"
like 'and named' "$ERRORS" "*does not read $dir/conf.d/zzz.ini*"

MY_TARGET="config = \"$dir/none.cnf\";" my_sweep "$TMP/none.cfg" "$knobs"
run_status 'a file that does not exist is refused' 2 "$DBSWEEP" run "$TMP/none.cfg"
like 'and named' "$ERRORS" "*$dir/none.cnf does not exist*"

# ---- edited since the start ----
rm -rf "$dir/conf.d"
sed -i '/^!includedir/d' "$config"
restart_with
chmod o+w "$config"
MY_TARGET="config = \"$config\";" my_sweep "$TMP/open.cfg" "$knobs"
run_status 'a file that anybody may write is refused' 2 "$DBSWEEP" run "$TMP/open.cfg"
like 'with the reason' "$ERRORS" '*anybody may write it*chmod o-w*'
chmod o-w "$config"
sleep 1.1
sed -i 's/^max_connections = 30$/max_connections = 31/' "$config"
run_status 'an edit that the server has not read is refused' 2 "$DBSWEEP" run "$TMP/open.cfg"
like 'and named' "$ERRORS" "*max_connections is 30, but $config:*says 31*restart*"
sed -i '/^max_connections = 31$/d' "$config"
run_status 'and so is a line that is gone' 2 "$DBSWEEP" run "$TMP/open.cfg"
like 'with its file' "$ERRORS" "*max_connections is 30 from $config, where it no longer*"
restart_with
printf 'max_connec = 44\n' >>"$config"
run_status 'a shortened name is refused' 2 "$DBSWEEP" run "$TMP/open.cfg"
like 'with its line' "$ERRORS" '*my.cnf:*max_connec*whole name*'
sed -i '/^max_connec /d' "$config"

# ---- a user who may not look at the server's process ----
if [ "$(id -u)" -eq 0 ]; then
    chmod 1777 "$TMP" # where its store would be
    my_sweep "$TMP/nobody.cfg" "$knobs"
    run_ok 'an ordinary user can check' runuser -u nobody -- "$DBSWEEP" check "$TMP/nobody.cfg"
    like 'and finds the file' "$OUTPUT" "*changes to $config*"
else
    skip 'an ordinary user can check' 'only root can become one'
fi

# ---- foreign data ----
own_mysql 'drop table if exists sbtest1'
own_mysql "create table sbtest1 (id int, mine text) comment 'precious'"
own_mysql "insert into sbtest1 values (1, 'precious')"
own_mysql 'drop table if exists dbsweep_meta'
keep "$config"
my_sweep "$TMP/foreign.cfg" "$knobs"
run_status 'a foreign table stops the sweep' 2 "$DBSWEEP" run "$TMP/foreign.cfg"
is 'it is untouched' "$(own_mysql 'select mine from sbtest1')" precious
unchanged 'and so is the file' "$config"
own_mysql 'drop table sbtest1'

# ---- passwords ----
own_mysql "create user secret@localhost identified by 'hush-hush-1'"
own_mysql 'grant all on *.* to secret@localhost'
MY_CONNECT="socket=$DBSWEEP_TEST_MY_SOCKET user=secret dbname=bench"
MY_TARGET='password_env = "MY_SECRET";' my_sweep "$TMP/env.cfg" 'max_connections = [ 40 ];'
export MY_SECRET=hush-hush-1
run_ok 'a password from the environment' "$DBSWEEP" run "$TMP/env.cfg" --log json
is 'is nowhere to be seen' "$(grep -c hush-hush <<<"$OUTPUT$ERRORS")$(grep -ac hush-hush \
    "$TMP/env.db")" 00
export MY_SECRET=wrong
run_status 'a wrong one is bad input' 2 "$DBSWEEP" check "$TMP/env.cfg"
like 'with the server'"'"'s words' "$ERRORS" "*Access denied for user 'secret'*"
printf 'hush-hush-1\n' >"$TMP/password"
chmod 600 "$TMP/password"
MY_TARGET="password_file = \"$TMP/password\";" my_sweep "$TMP/file.cfg" \
    'max_connections = [ 40 ];'
run_ok 'a password from a file' "$DBSWEEP" check "$TMP/file.cfg"
printf '[client]\npassword=hush-hush-1\nlocal-infile=1\n' >"$TMP/.my.cnf"
chmod 600 "$TMP/.my.cnf"
my_sweep "$TMP/home.cfg" 'max_connections = [ 40 ];'
HOME=$TMP run_ok 'a password from ~/.my.cnf' "$DBSWEEP" check "$TMP/home.cfg"
MY_CONNECT="$MY_CONNECT password=x" my_sweep "$TMP/bad.cfg" 'max_connections = [ 40 ];'
run_status 'a password in the connect string is refused' 2 "$DBSWEEP" check "$TMP/bad.cfg"
unchanged 'at the end' "$config"
plan
