#!/usr/bin/env bash
# Who may include whom: a file includes its own floor's folder and the floors below it, and each
# library header stands in one place. CONTRIBUTING.md says why.
. "$(dirname "${BASH_SOURCE[0]}")/../support/tap.sh"
cd "$TOP" || exit 1

# The folders that a file of this folder may include, as a regular expression over what it includes.
allowed_for() {
    local ground='sweeper/base/' first='knobs/|sweeper/host/|sweeper/stats/'
    case $1 in
    sweeper/base/*) echo "^($ground)" ;;
    knobs/*) echo "^($ground|knobs/)" ;;
    sweeper/host/*) echo "^($ground|sweeper/host/)" ;;
    sweeper/stats/*) echo "^($ground|sweeper/stats/)" ;;
    backends/*/*) echo "^($ground|$first|backends/[^/]*$|$(dirname "$1")/)" ;;
    backends/*) echo "^($ground|$first|backends/)" ;;
    store/*) echo "^($ground|$first|store/)" ;;
    sweeper/load/*) echo "^($ground|$first|backends/[^/]*$|store/|sweeper/load/)" ;;
    sweeper/search/*) echo "^($ground|$first|backends/[^/]*$|store/|sweeper/search/)" ;;
    sweeper/*) echo '^(sweeper|knobs|backends|store)/' ;;
    esac
}

# Library headers, and the one place of each.
place_of() {
    case $1 in
    libpq-fe.h) echo '^backends/postgresql/' ;;
    mysql.h | mysql/*) echo '^backends/mysql/' ;;
    libssh2*.h) echo '^sweeper/host/ssh(_connect)?\.[ch]$' ;;
    libconfig.h) echo '^sweeper/sweepfile[a-z_]*\.[ch]$' ;;
    sqlite3.h) echo '^(store|backends/sqlite)/' ;;
    sql.h | sqlext.h) echo '^backends/odbc/' ;;
    gsl/*) echo '^sweeper/stats/' ;;
    microhttpd.h) echo '^store/report/' ;;
    esac
}

# FILE:LINE and what is included, quoted or in angle brackets.
includes() {
    find sweeper knobs backends store -name '*.[ch]' -o -name '*.def' | sort |
        xargs grep -nHE '^[[:space:]]*#[[:space:]]*include' |
        sed -E 's/^([^:]+:[0-9]+):[^"<]*(["<][^">]+)[">].*/\1 \2/'
}

wrong_floors() {
    local where name file pattern
    while read -r where name; do
        file=${where%%:*}
        pattern=$(allowed_for "$file")
        [[ $name == \"* ]] || continue
        name=${name#\"}
        if ! [[ $name =~ $pattern ]]; then
            printf '%s includes %s\n' "$where" "$name"
        elif [ ! -e "$name" ] && [ ! -e "$BUILD/$name" ] && [ "$name" != store/schema.h ]; then
            printf '%s includes %s, which is not there from the root\n' "$where" "$name"
        fi
    done
}

wrong_places() {
    local where name place
    while read -r where name; do
        name=${name#[<\"]}
        place=$(place_of "$name")
        if [ -n "$place" ] && ! [[ ${where%%:*} =~ $place ]]; then
            printf '%s includes %s; its place is %s\n' "$where" "$name" "$place"
        fi
    done
}

# The ground floor knows C and POSIX only, so no library's header is hidden there.
foreign_ground() {
    grep -E '^sweeper/base/[^ ]+ <' |
        grep -vE '<(assert|ctype|errno|fcntl|float|inttypes|limits|locale|math|poll|pthread|signal)\.h|<(setjmp|stdalign|stdarg|stdatomic|stdbool|stddef|stdint|stdio|stdlib|stdnoreturn|string|strings|time|unistd|wchar)\.h|<sys/[a-z]+\.h' |
        sed 's/$/ is neither C nor POSIX/'
}

list=$(includes)
is 'no file includes a floor above its own' "$(wrong_floors <<<"$list")" ''
is 'each library header is included in one place' "$(wrong_places <<<"$list")" ''
is 'the ground floor knows C and POSIX only' "$(foreign_ground <<<"$list")" ''
plan
