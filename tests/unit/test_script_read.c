/*
 * Script files: where statements end and what is a variable, in the dialect of each system; names;
 * control calls; and each mistake, with its line and its remedy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweeper/load/script/script.h"

static struct arena arena;
static struct err err;
static struct script_variables variables;
static struct script_file file;

static const char *const given[] = {
    "scale=10", "share=0.25", "zip=01234", "who=O'Hara \\ Co", "big=9223372036854775807", NULL};
static const struct workload_spec spec = {
    .kind = "script", .clients = 8, .seed = 1, .prepared = true, .variables = given};

static int set_up(void **state)
{
    (void)state;
    arena_open(&arena, 64u << 20);
    err_clear(&err);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

static bool read_as(const char *text, enum dialect dialect)
{
    const struct load_script script = {.name = "t", .path = "dir/t.sql", .weight = 1, .text = text};
    err_clear(&err);
    return script_variables_open(&spec, dialect, &arena, &variables, &err) &&
           script_read(&script, dialect, &variables, &arena, &file, &err);
}

static void must_read(const char *text, enum dialect dialect)
{
    char all[1200];
    if (!read_as(text, dialect)) {
        err_format(&err, all, sizeof all);
        fail_msg("%s: %s", text, all);
    }
}

static const struct script_item *item_at(size_t at)
{
    assert_true(at < file.item_count);
    return &file.items[at];
}

/* What is sent where nothing is prepared. */
static const char *text_of(const struct script_item *item, uint32_t client)
{
    struct script_value values[SCRIPT_VARIABLE_LIMIT] = {{0}};
    size_t size = script_text_bytes(item, &variables);
    char *out = arena_alloc(&arena, size);
    script_variables_fill(&variables, client, values);
    assert_non_null(out);
    script_text_fill(item, &variables, values, out);
    assert_true(strlen(out) < size);
    return out;
}

static void one_sql(const char *text, enum dialect dialect, const char *sql)
{
    must_read(text, dialect);
    assert_int_equal(file.item_count, 1);
    assert_string_equal(item_at(0)->sql, sql);
}

/* ---- statements ---- */

static void statements_end_at_semicolons(void **state)
{
    (void)state;
    must_read("select 1; select\n  2\n;;\n\n  insert into t values (';', \"a;b\") ;",
              DIALECT_SQLITE);
    assert_int_equal(file.item_count, 3);
    assert_string_equal(item_at(0)->sql, "select 1");
    assert_string_equal(item_at(1)->sql, "select\n  2");
    assert_string_equal(item_at(1)->name, "select 2");
    assert_int_equal(item_at(1)->line, 1);
    assert_string_equal(item_at(2)->sql, "insert into t values (';', \"a;b\")");
    assert_int_equal(item_at(2)->line, 5);
    assert_true(file.writes);
    must_read("\xef\xbb\xbfselect 1", DIALECT_POSTGRESQL); /* the last one may lack it */
    assert_string_equal(item_at(0)->sql, "select 1");
    assert_false(file.writes);
    must_read("-- first\n/* second; */ select 1 -- third;\n , 2;\r\n", DIALECT_POSTGRESQL);
    assert_int_equal(file.item_count, 1);
    assert_string_equal(item_at(0)->sql, "select 1 -- third;\n , 2");
    assert_string_equal(item_at(0)->name, "select 1 , 2");
    assert_int_equal(item_at(0)->line, 2);
    must_read("/*+ seqscan(t) */ select 1;", DIALECT_POSTGRESQL); /* what a server reads stays */
    assert_string_equal(item_at(0)->sql, "/*+ seqscan(t) */ select 1");
    assert_false(file.writes);
}

static void bodies_of_routines_are_whole(void **state)
{
    (void)state;
    must_read("create trigger a after update on t begin update t set x = case when 1 then 2 end;"
              " select 1; end; select 2;",
              DIALECT_SQLITE);
    assert_int_equal(file.item_count, 2);
    assert_string_equal(item_at(1)->sql, "select 2");
    must_read("create procedure p() begin if 1 then select 1; end if; while 0 do select 2; end"
              " while; case 1 when 1 then select 3; end case; begin select 4; end; end; select 5;",
              DIALECT_MYSQL);
    assert_int_equal(file.item_count, 2);
    assert_string_equal(item_at(1)->sql, "select 5");
    must_read("create function f() returns int language sql as $$ select 1; $$; select 2;",
              DIALECT_POSTGRESQL);
    assert_int_equal(file.item_count, 2);
    must_read("create function f() returns int begin atomic select 1; end; select 2;",
              DIALECT_POSTGRESQL);
    assert_int_equal(file.item_count, 2);
    must_read("create table event (begin_at int); select 2;", DIALECT_MYSQL);
    assert_int_equal(file.item_count, 2);
}

static void control_calls_are_the_drivers(void **state)
{
    (void)state;
    static const enum script_item_kind kinds[] = {
        SCRIPT_BEGIN,  SCRIPT_STATEMENT, SCRIPT_STATEMENT, SCRIPT_STATEMENT,
        SCRIPT_COMMIT, SCRIPT_BEGIN,     SCRIPT_ROLLBACK,  SCRIPT_BEGIN,
        SCRIPT_COMMIT, SCRIPT_BEGIN,     SCRIPT_ROLLBACK};
    must_read("begin; savepoint a; rollback to savepoint a; select 1; Commit Work;"
              "START\n TRANSACTION; rollback;BEGIN TRANSACTION; end; begin work; abort;",
              DIALECT_POSTGRESQL);
    assert_int_equal(file.item_count, COUNT_OF(kinds));
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        assert_int_equal(item_at(i)->kind, kinds[i]);
    }
}

static void labels_name_statements(void **state)
{
    (void)state;
    must_read("-- name: take it \nupdate t set x = 1;\nselect 2;\n--name:third\n\n\\set a 1\n"
              "select :a;",
              DIALECT_POSTGRESQL);
    assert_string_equal(item_at(0)->name, "take it");
    assert_string_equal(item_at(1)->name, "select 2");
    assert_null(item_at(1)->label);
    assert_string_equal(item_at(3)->name, "third");
    must_read("select 'äääääääääääääääääääääääääääääääääääääääääääää';", DIALECT_POSTGRESQL);
    assert_true(text_ends_with(item_at(0)->name, "ä..."));
    assert_true(strlen(item_at(0)->name) <= 63);
}

/* ---- variables ---- */

static void variables_become_parameters(void **state)
{
    (void)state;
    one_sql("select :scale, :client_id+:scale;", DIALECT_MYSQL, "select ?, ?+?");
    assert_int_equal(item_at(0)->param_count, 3);
    assert_string_equal(text_of(item_at(0), 5), "select 10, 5+10");
    one_sql("select :share, :zip, :who, :big, :clients;", DIALECT_POSTGRESQL,
            "select ?, ?, ?, ?, ?");
    assert_string_equal(text_of(item_at(0), 0),
                        "select 0.25, '01234', 'O''Hara \\ Co', 9223372036854775807, 8");
    must_read("select :who;", DIALECT_MYSQL);
    assert_string_equal(text_of(item_at(0), 0), "select 'O''Hara \\\\ Co'");
    must_read("\\set a -5\n\\set b double(7)\n\\set c 1 / -4.0\nselect 1-:a,:b,:c;",
              DIALECT_SQLITE);
    struct script_value values[SCRIPT_VARIABLE_LIMIT];
    struct random random;
    char sql[200];
    script_variables_fill(&variables, 0, values);
    for (size_t i = 0; i < 3; i++) {
        assert_true(script_evaluate(&item_at(i)->expression, values, &random, ERR_CODE_workload,
                                    &values[item_at(i)->variable], &err));
    }
    script_text_fill(item_at(3), &variables, values, sql);
    assert_string_equal(sql, "select 1-(-5),7.0,(-0.25)");
}

static void what_is_no_variable_stays(void **state)
{
    (void)state;
    one_sql("select ':scale', \":scale\", 1::text, x[1:2] -- :scale\n;", DIALECT_POSTGRESQL,
            "select ':scale', \":scale\", 1::text, x[1:2] -- :scale");
    one_sql("select E'\\':scale', $$ :scale $$, $a$ $$ :scale $a$, '\\', :scale;",
            DIALECT_POSTGRESQL, "select E'\\':scale', $$ :scale $$, $a$ $$ :scale $a$, '\\', ?");
    one_sql("select /* :a /* :b */ :c */ :scale;", DIALECT_POSTGRESQL,
            "select /* :a /* :b */ :c */ ?");
    one_sql("select '\\':scale', `:scale`, @a := 1, \"\\\":scale\" # :scale\n, 1--:scale;",
            DIALECT_MYSQL,
            "select '\\':scale', `:scale`, @a := 1, \"\\\":scale\" # :scale\n, 1--?");
    one_sql("select [:scale], `:scale`, '\\', :scale /* /* :a */;", DIALECT_SQLITE,
            "select [:scale], `:scale`, '\\', ? /* /* :a */");
    one_sql("select a ? 'b', ':?' from t where x = :scale;", DIALECT_POSTGRESQL,
            "select a ?? 'b', ':?' from t where x = ?");
    assert_string_equal(text_of(item_at(0), 0), "select a ? 'b', ':?' from t where x = 10");
    one_sql("select 'it''s :scale', :scale;", DIALECT_SQLITE, "select 'it''s :scale', ?");
}

static void set_lines_are_read(void **state)
{
    (void)state;
    must_read("\\set a 1 + \\\n  2\n  \\set b :a * 2.5\n\\set b 7\n\\set scale :scale + 1\n"
              "select :a, :b, :scale;",
              DIALECT_POSTGRESQL);
    assert_int_equal(file.item_count, 5);
    assert_int_equal(item_at(0)->kind, SCRIPT_SET);
    assert_int_equal(item_at(1)->line, 3);
    assert_int_equal(variables.rows[item_at(1)->variable].type, PARAM_REAL);
    assert_int_equal(item_at(1)->variable, item_at(2)->variable);
    assert_int_equal(item_at(2)->expression.type, PARAM_REAL); /* a whole number becomes one */
    assert_null(variables.rows[item_at(3)->variable].path);
    assert_int_equal(item_at(4)->line, 6);
}

/* ---- mistakes ---- */

static const struct {
    enum dialect dialect;
    const char *text;
    int line;
    const char *what;
    const char *hint;
} mistakes[] = {
    {DIALECT_POSTGRESQL, "", 1, "has no statement", "semicolon"},
    {DIALECT_POSTGRESQL, "\n-- nothing\n\\set a 1\n;", 4, "has no statement", "semicolon"},
    {DIALECT_POSTGRESQL, "begin; commit;", 1, "has no statement", "semicolon"},
    {DIALECT_POSTGRESQL, "select 1;\n\nselect :gone;", 3, "no variable :gone", "\\set it above"},
    {DIALECT_POSTGRESQL, "select\n:b;\n\\set b 1", 2, "no variable :b", "variables = [ \"b=1\" ]"},
    {DIALECT_POSTGRESQL, "\\set a :b\nselect 1;", 1, "no variable :b", "\\set it before"},
    {DIALECT_POSTGRESQL, "\\set a 1 +\nselect 1;", 1, "ends too early", ""},
    {DIALECT_POSTGRESQL, "\\set\nselect 1;", 1, "\\set has no name", "\\set id random"},
    {DIALECT_POSTGRESQL, "\\set 1a 2\nselect 1;", 1, "cannot be named \"1a\"", "no digit first"},
    {DIALECT_POSTGRESQL, "\\set clients 2\nselect 1;", 1, ":clients is given by dbsweep", "my_"},
    {DIALECT_POSTGRESQL, "\\set zip 2\nselect 1;", 1, ":zip is a text", ""},
    {DIALECT_POSTGRESQL, "\\set a 1\n\\set a 1.5\nselect 1;", 2, ":a is a whole number", "int("},
    {DIALECT_POSTGRESQL, "select 1;\n\\sleep 10 ms", 2, "\\sleep is not possible", "think_time"},
    {DIALECT_POSTGRESQL, "\\if 1\nselect 1;", 1, "\\if is not possible", "weight"},
    {DIALECT_POSTGRESQL, "select 1; \\set a 1", 1, "in the middle of a line", "of its own"},
    {DIALECT_POSTGRESQL, "select 1\n\\gset", 2, "within the statement of line 1", "semicolon"},
    {DIALECT_POSTGRESQL, "select 1;\n\\gset", 2, "\\gset is not possible", "thrown away"},
    {DIALECT_POSTGRESQL, "\\setrandom a 1 2", 1, "\\setrandom is not possible", "random(1, 100)"},
    {DIALECT_POSTGRESQL, "\\sett a 1", 1, "\\sett is no command", "did you mean \\set?"},
    {DIALECT_POSTGRESQL, "\\d t", 1, "\\d is no command", "\\set alone"},
    {DIALECT_POSTGRESQL, "select 1;\nbegin;\nselect 2;", 2, "has no end", "commit;"},
    {DIALECT_POSTGRESQL, "begin;\nselect 1;\nbegin;", 3, "transaction of line 1 is still open", ""},
    {DIALECT_POSTGRESQL, "select 1;\ncommit;", 2, "no transaction is open", ""},
    {DIALECT_POSTGRESQL, "\nbegin isolation level serializable;", 2, "BEGIN with options",
     "write BEGIN"},
    {DIALECT_SQLITE, "begin immediate;", 1, "BEGIN with options", "write BEGIN"},
    {DIALECT_MYSQL, "begin; commit and chain;", 1, "COMMIT with options", "write COMMIT"},
    {DIALECT_POSTGRESQL, "select 1;\nselect 'a\n", 2, "quote that begins here is not closed", ""},
    {DIALECT_POSTGRESQL, "select 1;\n/* a\n", 2, "comment that begins here is not closed", ""},
    {DIALECT_POSTGRESQL, "select /* a\n", 1, "comment that begins here is not closed", ""},
    {DIALECT_POSTGRESQL, "select $$ a", 1, "quote that begins here is not closed", ""},
    {DIALECT_SQLITE, "select 1;\ncreate trigger a after update on t begin select 1;\n", 2,
     "body of the routine", "END"},
    {DIALECT_POSTGRESQL, "select $1;", 1, "$1... is a parameter", ":name"},
    {DIALECT_SQLITE, "select @a;", 1, "@a... is a parameter", ":name"},
    {DIALECT_SQLITE, "select ?;", 1, "question mark", ":name"},
    {DIALECT_MYSQL, "delimiter //\nselect 1;", 1, "MySQL's own client", "leave it out"},
    {DIALECT_POSTGRESQL, "select 1;\n-- name: a\n", 2, "label a names no statement", "above"},
    {DIALECT_POSTGRESQL, "\n-- name: pay\nbegin;\nselect 1;\ncommit;", 2, "label pay names a call",
     "label a statement"},
    {DIALECT_POSTGRESQL, "-- name:\nselect 1;", 1, "label is empty", "-- name: transfer"},
    {DIALECT_POSTGRESQL, "-- name: commit\nselect 1;", 1, "driver's own", "another name"},
};

static void mistakes_have_lines_and_remedies(void **state)
{
    (void)state;
    char origin[64];
    for (size_t i = 0; i < COUNT_OF(mistakes); i++) {
        if (read_as(mistakes[i].text, mistakes[i].dialect)) {
            fail_msg("\"%s\" was read", mistakes[i].text);
        }
        snprintf(origin, sizeof origin, "dir/t.sql:%d", mistakes[i].line);
        if (strstr(err.text, mistakes[i].what) == NULL ||
            strstr(err.hint, mistakes[i].hint) == NULL || strcmp(err.origin, origin) != 0 ||
            err.class != ERR_PLAN) {
            fail_msg("\"%s\": %s: %s; %s", mistakes[i].text, err.origin, err.text, err.hint);
        }
    }
}

static void given_variables_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        const char *what;
    } rows[] = {{"scale", "\"scale\" has no value"},
                {"1a=2", "cannot be named \"1a\""},
                {"=2", "cannot be named \"\""},
                {"client_id=2", "given by dbsweep itself"},
                {"x=2", "x is given twice"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *const words[] = {"x=1", rows[i].word, NULL};
        const struct workload_spec bad = {.clients = 1, .variables = words};
        err_clear(&err);
        assert_false(script_variables_open(&bad, DIALECT_SQLITE, &arena, &variables, &err));
        if (strstr(err.text, rows[i].what) == NULL) {
            fail_msg("%s: %s", rows[i].word, err.text);
        }
    }
}

/* ---- the plan ---- */

static bool plan(const char *const *texts, size_t count, const struct script_plan **out)
{
    static const char *const names[] = {"a", "b", "c"};
    static const char *const paths[] = {"a.sql", "b.sql", "c.sql"};
    struct workload_spec *mine = ARENA_NEW(&arena, struct workload_spec);
    const void *made = NULL;
    assert_non_null(mine);
    *mine = spec;
    mine->scripts = ARENA_ARRAY(&arena, struct load_script, count);
    mine->script_count = count;
    for (size_t i = 0; i < count; i++) {
        mine->scripts[i] = (struct load_script){
            .name = names[i], .path = paths[i], .weight = (int64_t)i * 3 + 1, .text = texts[i]};
    }
    err_clear(&err);
    bool ok = workload_find("script")->plan(mine, DIALECT_POSTGRESQL, &arena, &made, &err);
    *out = made;
    return ok;
}

static void equal_statements_share_a_slot(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "\\set x 1\nselect :x; select :x;\n"
        "select 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1';\n"
        "select 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa2';\n",
        "\\set x 1.5\nselect :x;"};
    const struct script_plan *made = NULL;
    assert_true(plan(texts, 2, &made));
    assert_int_equal(made->statement_count, 4);
    assert_int_equal(made->statements[0].types[0], PARAM_INT);
    assert_int_equal(made->statements[3].types[0], PARAM_REAL); /* each file has its own */
    assert_true(text_ends_with(made->statements[1].name, "..."));
    assert_true(text_ends_with(made->statements[2].name, "... (line 4)"));
    assert_int_equal(made->files[0].items[1].slot, made->files[0].items[2].slot);
}

static void bad_draws_are_found_before_a_drive(void **state)
{
    (void)state;
    static const char *const texts[] = {"select 1;", "\n\\set x 100 / :client_id\nselect :x;"};
    const struct script_plan *made = NULL;
    assert_false(plan(texts, 2, &made));
    assert_string_equal(err.origin, "b.sql:2");
    assert_string_equal(err.text, "the expression divides by zero");
    assert_int_equal(err.class, ERR_PLAN);
}

static void too_much_is_refused(void **state)
{
    (void)state;
    struct text text;
    const struct script_plan *made = NULL;
    text_open(&text, &arena);
    text_add(&text, "select :scale");
    for (int i = 0; i < LOAD_PARAM_LIMIT; i++) {
        text_add(&text, ", :scale");
    }
    const char *wide[] = {text_done(&text)};
    assert_false(plan(wide, 1, &made));
    assert_non_null(strstr(err.text, "65 variables"));
    text_open(&text, &arena);
    for (int i = 0; i <= 256; i++) {
        text_addf(&text, "select %d;\n", i);
    }
    const char *many[] = {text_done(&text)};
    assert_false(plan(many, 1, &made));
    assert_string_equal(err.origin, "a.sql:257");
    text_open(&text, &arena);
    for (int i = 0; i <= SCRIPT_VARIABLE_LIMIT; i++) {
        text_addf(&text, "\\set v%d 1\n", i);
    }
    const char *more[] = {text_done(&text)};
    assert_false(plan(more, 1, &made));
    assert_non_null(strstr(err.text, "more than 128 variables"));
}

/* ---- a client ---- */

static struct call next_call(struct client *client, bool is_retry)
{
    struct call call = {.kind = CALL_END};
    if (!workload_find("script")->step(client, is_retry, &call, &err)) {
        fail_msg("%s", err.text);
    }
    return call;
}

static void a_retry_repeats_what_was_not_committed(void **state)
{
    (void)state;
    static const char *const texts[] = {"\\set a random(1, 1000000000)\nupdate t set x = :a;\n"
                                        "\\set scale :scale + 1\n"
                                        "begin;\\set b random(1, 1000000000)\n"
                                        "select :b, :scale;\ncommit;\nselect :b;"};
    static const char *const good[] = {"\\set a random(1, 1000000000)\nupdate t set x = :a;\n"
                                       "\\set scale :scale + 1\nbegin;\n"
                                       "\\set b random(1, 1000000000)\n"
                                       "select :b, :scale;\ncommit;\nselect :b;"};
    const struct script_plan *made = NULL;
    assert_false(plan(texts, 1, &made)); /* a \ command begins its line */
    assert_true(plan(good, 1, &made));
    struct client client = {.plan = made, .number = 3};
    client.state = arena_alloc(&arena, workload_find("script")->client_size);
    random_seed(&client.random, 1, 1);
    int64_t a = next_call(&client, false).params[0].integer;
    client.step = 0; /* it failed: the same again */
    assert_int_equal(next_call(&client, true).params[0].integer, a);
    client.step = 1;
    assert_int_equal(next_call(&client, false).kind, CALL_BEGIN);
    client.step++;
    struct call select = next_call(&client, false);
    int64_t b = select.params[0].integer;
    assert_int_equal(select.params[1].integer, 11);
    client.step++;
    assert_int_equal(next_call(&client, false).kind, CALL_COMMIT);
    client.step = 0; /* the commit failed: not the update again */
    assert_int_equal(next_call(&client, true).kind, CALL_BEGIN);
    client.step = 1;
    select = next_call(&client, false);
    assert_int_equal(select.params[0].integer, b);
    assert_int_equal(select.params[1].integer, 11);
    client.step++;
    assert_int_equal(next_call(&client, false).kind, CALL_COMMIT);
    client.step++;
    assert_int_equal(next_call(&client, false).params[0].integer, b);
    client.step = 0; /* the last statement alone */
    assert_int_equal(next_call(&client, true).slot, 2);
    client.step = 1;
    assert_int_equal(next_call(&client, false).kind, CALL_END);
    client.step = 0;
    assert_true(next_call(&client, false).params[0].integer != a);
}

static void weights_choose(void **state)
{
    (void)state;
    static const char *const texts[] = {"select 1;", "select 2;", "select 3;"}; /* 1, 4, 7 */
    const struct script_plan *made = NULL;
    double counts[3] = {0};
    assert_true(plan(texts, 3, &made));
    struct client client = {.plan = made};
    random_seed(&client.random, 1, 1);
    for (int i = 0; i < 12000; i++) {
        counts[workload_find("script")->choose(&client)]++;
    }
    double chi_square = 0;
    for (int i = 0; i < 3; i++) {
        double wanted = 1000.0 * (i * 3 + 1);
        chi_square += (counts[i] - wanted) * (counts[i] - wanted) / wanted;
    }
    assert_true(chi_square < 13.8); /* 2 degrees of freedom, one seed of a thousand */
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(statements_end_at_semicolons),
        TEST(bodies_of_routines_are_whole),
        TEST(control_calls_are_the_drivers),
        TEST(labels_name_statements),
        TEST(variables_become_parameters),
        TEST(what_is_no_variable_stays),
        TEST(set_lines_are_read),
        TEST(mistakes_have_lines_and_remedies),
        TEST(given_variables_are_checked),
        TEST(equal_statements_share_a_slot),
        TEST(bad_draws_are_found_before_a_drive),
        TEST(too_much_is_refused),
        TEST(a_retry_repeats_what_was_not_committed),
        TEST(weights_choose),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
