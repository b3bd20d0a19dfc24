/*
 * The script workload in the sweep file: which files are read and how they are weighted, what is
 * wrong with them and where, how trials are reset, and that their text belongs to the work.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sweeper/sweepfile.h"

static char folder[64];
static struct arena arena;
static struct err err;
static struct sweep sweep;

static int set_up(void **state)
{
    (void)state;
    arena_open(&arena, 256u << 20);
    err_clear(&err);
    snprintf(folder, sizeof folder, "/tmp/dbsweep-script.XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder); /* a name of mkdtemp's */
    arena_close(&arena);
    return system(command);
}

static const char *put_bytes(const char *name, const char *data, size_t size)
{
    const char *path = arena_printf(&arena, "%s/%s", folder, name);
    assert_non_null(path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    fclose(file);
    return path;
}

static const char *put(const char *name, const char *text)
{
    return put_bytes(name, text, strlen(text));
}

/* A sweep file with this workload, for this kind of server. */
static bool read_sweep(const char *backend, const char *workload)
{
    const char *text = arena_printf(&arena,
                                    "target = { backend = \"%s\"; connect = \"x\"; };\n"
                                    "workload = { kind = \"script\";\n%s };\n",
                                    backend, workload);
    assert_non_null(text);
    err_clear(&err);
    return sweepfile_read(put("n.cfg", text), &arena, &sweep, &err);
}

static void must_read(const char *backend, const char *workload)
{
    char all[1200];
    if (!read_sweep(backend, workload)) {
        err_format(&err, all, sizeof all);
        fail_msg("%s", all);
    }
}

static void refuses(const char *backend, const char *workload, const char *origin, const char *what,
                    const char *hint)
{
    if (read_sweep(backend, workload)) {
        fail_msg("%s was read", workload);
    }
    if (!text_ends_with(err.origin, origin) || strstr(err.text, what) == NULL ||
        strstr(err.hint, hint) == NULL || err.class != ERR_PLAN) {
        fail_msg("%s: %s: %s; %s", workload, err.origin, err.text, err.hint);
    }
}

static void files_and_weights_are_read(void **state)
{
    (void)state;
    put("a.sql", "select 1;");
    mkdir(arena_printf(&arena, "%s/sub", folder), 0755);
    put("sub/b.c.sql", "select :x;");
    put("odd@7", "select 3;");
    must_read("postgresql", "scripts = [ \"a.sql\", \"sub/b.c.sql@12\", \"odd@7@2\" ];"
                            " variables = [ \"x=1\" ]; think_time = \"20ms\";");
    const struct workload_spec *workload = &sweep.workload;
    assert_int_equal(workload->script_count, 3);
    assert_string_equal(workload->scripts[0].name, "a");
    assert_string_equal(workload->scripts[0].text, "select 1;");
    assert_int_equal(workload->scripts[0].weight, 1);
    assert_string_equal(workload->scripts[1].name, "b.c");
    assert_int_equal(workload->scripts[1].weight, 12);
    assert_true(text_ends_with(workload->scripts[1].path, "/sub/b.c.sql"));
    assert_string_equal(workload->scripts[2].text, "select 3;");
    assert_int_equal(workload->scripts[2].weight, 2);
    assert_int_equal(workload->think_time_ms, 20);
    assert_false(workload->scripts_write);
    assert_false(workload_writes(workload));
}

static void mistakes_have_their_place(void **state)
{
    (void)state;
    put("a.sql", "select 1;");
    put("bad.sql", "select 1;\nselect :gone;\n");
    put("latin.sql", "select 1;\n\nselect '\xe4';\n");
    put_bytes("nul.sql", "select 1;\n\0;", 12);
    refuses("sqlite", "", "n.cfg:2", "needs its scripts", "scripts = [");
    refuses("sqlite", "scripts = [ \"none.sql\" ];", "n.cfg:2", "cannot read the script",
            "sweep file's folder");
    refuses("sqlite", "scripts = [ \".\" ];", "n.cfg:2", "is not a file", "");
    refuses("sqlite", "scripts = [ \"bad.sql\" ];", "/bad.sql:2", "no variable :gone", "\\set it");
    refuses("sqlite", "scripts = [ \"latin.sql\" ];", "/latin.sql:3", "byte 0xe4 is not UTF-8",
            "UTF-8");
    refuses("sqlite", "scripts = [ \"nul.sql\" ];", "/nul.sql:2", "byte 0x00", "UTF-8");
    refuses("sqlite", "scripts = [ \"a.sql@0\" ];", "n.cfg:2", "weight of a.sql@0 is out",
            "never to run");
    refuses("sqlite", "scripts = [ \"a.sql@1000001\" ];", "n.cfg:2", "1..1000000", "");
    refuses("sqlite", "scripts = [ \"a.sql\", \"./a.sql\" ];", "n.cfg:2", "two scripts are named a",
            "without its ending");
    refuses("sqlite", "scripts = [ \"a.sql\" ]; variables = [ \"x\" ];", "n.cfg:2",
            "\"x\" has no value", "variables = ");
    refuses("sqlite", "scripts = [ \"a.sql\" ]; setup = \"bad.sql\";", "/bad.sql:2",
            "no variable :gone", "");
    refuses("sqlite", "scripts = [ \"a.sql\" ]; teardown = \"none.sql\";", "n.cfg:2",
            "cannot read the script", "");
    refuses("sqlite", "scripts = [ \"a.sql\" ]; rate = 5; think_time = \"1s\";", "n.cfg:2",
            "no think time", "leave out");
    refuses("sqlite", "scripts = [ \"a.sql\" ]; reset = \"reload\";", "n.cfg:2",
            "the scripts have no setup", "setup = ");
    refuses("sqlite", "scripts = \"a.sql\";", "n.cfg:3", "workload.scripts takes a list", "");
}

/* A frame has its limit. */
static void too_much_text_is_refused(void **state)
{
    (void)state;
    enum { BYTES = (4 << 20) - 64, FILES = 9 };
    struct text list;
    char *text = arena_alloc(&arena, BYTES + 1);
    char name[16];
    assert_non_null(text);
    memset(text, ' ', BYTES);
    memcpy(text, "select 1;", 9);
    text_open(&list, &arena);
    text_add(&list, "scripts = [ ");
    for (int i = 0; i < FILES; i++) {
        snprintf(name, sizeof name, "%d.sql", i);
        put(name, text);
        text_addf(&list, "%s\"%s\"", i > 0 ? ", " : "", name);
    }
    text_add(&list, " ];");
    refuses("sqlite", text_done(&list), "n.cfg:2", "larger than 33554432 bytes together", "");
    put("big.sql", arena_printf(&arena, "%s%200s", text, ";"));
    refuses("sqlite", "scripts = [ \"big.sql\" ];", "n.cfg:2", "larger than 4194304 bytes", "");
}

static void trials_that_write_are_reset(void **state)
{
    (void)state;
    static const char write[] = "scripts = [ \"w.sql\" ];";
    put("w.sql", "select 1; update t set x = 1;");
    put("s.sql", "create table t (x int);");
    refuses("postgresql", write, "n.cfg:2", "nothing puts them back", "reset = \"none\"");
    must_read("sqlite", write); /* whose file is copied */
    assert_true(workload_writes(&sweep.workload));
    must_read("postgresql", "scripts = [ \"w.sql\" ]; reset = \"none\";");
    must_read("postgresql", "scripts = [ \"w.sql\" ]; setup = \"s.sql\";");
    must_read("postgresql",
              "scripts = [ \"w.sql\" ]; reset = \"command\"; reset_command = [ \"true\" ];");
}

static void the_text_belongs_to_the_work(void **state)
{
    (void)state;
    const char *plans[3] = {NULL};
    struct text json;
    put("a.sql", "select 1; -- \"one\"\n");
    put("s.sql", "create table t (x int);");
    for (size_t i = 0; i < 3; i++) {
        must_read("sqlite", "scripts = [ \"a.sql@3\" ]; setup = \"s.sql\";");
        assert_true(sweepfile_plan_text(&sweep, &arena, &plans[i], &err));
        put("a.sql", "select 2; -- \"one\"\n");
    }
    assert_string_not_equal(plans[0], plans[1]);
    assert_string_equal(plans[1], plans[2]);
    assert_non_null(strstr(plans[0], "workload.script = {\"name\":\"a\",\"weight\":3,\"text\":"
                                     "\"select 1; -- \\\"one\\\"\\n\"}\n"));
    text_open(&json, &arena);
    assert_true(workload_json(&sweep.workload, &json));
    assert_non_null(strstr(json.data, "\"script_texts\":[{\"name\":\"a\",\"weight\":3,"));
    assert_non_null(strstr(json.data, "\"setup_text\":{\"name\":\"setup\","));
    assert_non_null(strstr(json.data, "\"teardown_text\":null"));
    assert_non_null(strstr(json.data, "\"scripts\":[\"a.sql@3\"]"));
}

/* A store holds the sweep file alone; what it is read for needs no scripts. */
static void a_text_from_elsewhere_needs_no_files(void **state)
{
    (void)state;
    assert_true(sweepfile_parse("/x/s.db",
                                "target = { backend = \"postgresql\"; connect = \"x\"; };\n"
                                "workload = { kind = \"script\"; scripts = [ \"a.sql\" ]; };\n",
                                &arena, &sweep, &err));
    assert_int_equal(sweep.workload.script_count, 0);
}

static void options_add_up(void **state)
{
    (void)state;
    struct workload_spec workload;
    assert_true(workload_defaults(&workload, &arena, &err));
    assert_true(workload_set(&workload, "scripts", put("a b.sql", "select :n;"), &arena, &err));
    assert_true(workload_set(&workload, "scripts", put("c.sql", "select 1;"), &arena, &err));
    assert_true(workload_set(&workload, "variables", "n=1 2", &arena, &err));
    assert_true(workload_read_scripts(&workload, "", &arena, &err));
    assert_int_equal(workload.script_count, 2);
    assert_string_equal(workload.scripts[0].name, "a b");
    assert_string_equal(workload.scripts[1].name, "c");
    assert_null(workload.setup_script.text);
    assert_null(workload_knob("setup"));
    assert_null(workload_knob("scripts"));
    assert_non_null(workload_knob("think_time"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(files_and_weights_are_read),
        TEST(mistakes_have_their_place),
        TEST(too_much_text_is_refused),
        TEST(trials_that_write_are_reset),
        TEST(the_text_belongs_to_the_work),
        TEST(a_text_from_elsewhere_needs_no_files),
        TEST(options_add_up),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
