/*
 * Axes, points and rules: both forms of an axis give equal grids, and every value is checked
 * against its knob's row, at its own line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sweeper/sweepfile.h"

#define HEAD                                                                                       \
    "target = { backend = \"postgresql\"; }; workload = { kind = \"oltp\"; rows = 500; };\n"

static struct arena arena;
static struct err err;
static struct sweep sweep;
static struct grid grid;
static const struct value_facts facts = {.host_memory_bytes = INT64_C(16) << 30,
                                         .host_cpu_count = 8};

static int set_up(void **state)
{
    (void)state;
    arena_open(&arena, 1u << 30);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_close(&arena);
    return 0;
}

static bool try_with(const char *text, const struct sweep_knob_row *rows, size_t row_count)
{
    err_clear(&err);
    return sweepfile_parse("n.cfg", arena_printf(&arena, HEAD "%s", text), &arena, &sweep, &err) &&
           sweepfile_grid(&sweep, rows, row_count, &facts, &arena, &grid, &err) &&
           grid_build(&grid, ARENA_ARRAY(&arena, struct value, grid.swept_count + 1), &facts, 0,
                      &arena, &err);
}

static void build(const char *text)
{
    char all[1200];
    if (!try_with(text, NULL, 0)) {
        err_format(&err, all, sizeof all);
        fail_msg("%s\n%s", text, all);
    }
}

static void refuse(const char *text, const char *message)
{
    char all[1200];
    if (try_with(text, NULL, 0))
        fail_msg("accepted: %s", text);
    err_format(&err, all, sizeof all);
    if (strcmp(all, message) != 0)
        fail_msg("%s\n  says:   %s\n  wanted: %s", text, all, message);
    assert_int_equal(err.class, ERR_PLAN);
}

/* All points and conditions by their keys, one a line, and the names of the axes. */
static const char *described(void)
{
    struct text text;
    text_open(&text, &arena);
    for (size_t i = 0; i < grid.axis_count; i++)
        text_addf(&text, "%s%s", i > 0 ? " x " : "", grid.axes[i].name);
    for (size_t i = 0; i < grid.point_count; i++)
        text_addf(&text, "\n%s", grid.points[i].baseline ? "baseline" : grid.points[i].key);
    for (size_t i = 0; i < grid.condition_count; i++)
        text_addf(&text, "%s%s", grid.conditions[i].key[0] != '\0' ? "\n" : "",
                  grid.conditions[i].key);
    return text_done(&text);
}

static void expect(const char *text, const char *description)
{
    build(text);
    assert_string_equal(described(), description);
}

/* ---- forms ---- */

static void values_in_a_group(void **state)
{
    (void)state;
    expect("axes = { knobs = { work_mem = [ \"4MB\", \"64MB\" ];\n"
           "                   random_page_cost = ( 1.1, 4 ); }; };",
           "work_mem x random_page_cost\nbaseline\n"
           "work_mem=4194304;random_page_cost=1.1\nwork_mem=4194304;random_page_cost=4\n"
           "work_mem=67108864;random_page_cost=1.1\nwork_mem=67108864;random_page_cost=4");
    expect("axes = { knobs = { fsync = ( true, \"off\" ); jit = true; }; }; baseline = false;",
           "fsync x jit\nfsync=on;jit=on\nfsync=off;jit=on");
}

static void both_forms_give_equal_grids(void **state)
{
    (void)state;
    static const char *const forms[][2] = {
        {"axes = { knobs = { work_mem = [ \"4MB\", \"64MB\" ]; }; };",
         "axes = { knobs = ( { name = \"work_mem\"; values = [ \"4MB\", \"64MB\" ]; } ); };"},
        {"axes = { knobs = { WORK_MEM = [ 4096, 65536 ]; }; };",
         "axes = { knobs = ( { name = \"Work_Mem\"; values = ( \"4MB\", 65536 ); } ); };"},
        {"axes = { knobs = { work_mem = { from = \"1MB\"; to = \"16MB\"; steps = 5;\n"
         "scale = \"log\"; }; }; };",
         "axes = { knobs = ( { name = \"work_mem\"; scale = \"log\"; steps = 0x5; to = \"16MB\";\n"
         "from = 1024; } ); };"},
        {"axes = { workload = { clients = [ 1, 8 ]; }; knobs = { jit = [ \"on\" ]; }; };",
         "axes = { knobs = ( { name = \"jit\"; values = ( \"on\" ); } );\n"
         "         workload = ( { name = \"clients\"; values = ( 1, 8 ); } ); };"},
        {"axes = { knobs = { both = { set = ( { jit = \"on\"; work_mem = \"1MB\"; },\n"
         "                                    { jit = \"off\"; work_mem = \"2MB\"; } ); }; }; };",
         "axes = { knobs = ( { set = (\n"
         "  ( { name = \"jit\"; value = \"on\"; }, { name = \"work_mem\"; value = \"1MB\"; } ),\n"
         "  { jit = \"off\"; work_mem = \"2MB\"; } ); } ); };"},
    };
    for (size_t i = 0; i < COUNT_OF(forms); i++) {
        build(forms[i][0]);
        const char *first = described();
        build(forms[i][1]);
        assert_string_equal(first, described());
    }
}

static void ranges(void **state)
{
    (void)state;
    expect("axes = { knobs = { work_mem = { from = \"1MB\"; to = \"16MB\"; steps = 5;\n"
           "scale = \"log\"; }; }; }; baseline = false;",
           "work_mem\nwork_mem=1048576\nwork_mem=2097152\nwork_mem=4194304\nwork_mem=8388608\n"
           "work_mem=16777216");
    expect("axes = { knobs = { random_page_cost = { from = 4; to = 1; steps = 3; }; }; };\n"
           "baseline = false;",
           "random_page_cost\nrandom_page_cost=4\nrandom_page_cost=2.5\nrandom_page_cost=1");
    expect("axes = { workload = { clients = { from = 1; to = 100; steps = 3; scale = \"log\"; };\n"
           "measure = { from = \"1s\"; to = \"3s\"; steps = 3; scale = \"linear\"; }; }; };",
           "clients x measure\nbaseline\n"
           "clients=1;measure=1000000\nclients=1;measure=2000000\nclients=1;measure=3000000\n"
           "clients=10;measure=1000000\nclients=10;measure=2000000\nclients=10;measure=3000000\n"
           "clients=100;measure=1000000\nclients=100;measure=2000000\nclients=100;measure=3000000");
}

static void axes_that_set_several(void **state)
{
    (void)state;
    expect("axes = { knobs = ( { set = ( { work_mem = \"1MB\"; jit = \"on\"; },\n"
           "                            { work_mem = \"2MB\"; fsync = \"off\"; } ); },\n"
           "                   { name = \"random_page_cost\"; values = [ 2 ]; } ); };",
           "work_mem+jit+fsync x random_page_cost\nbaseline\n"
           "work_mem=1048576;jit=on;random_page_cost=2\n"
           "work_mem=2097152;fsync=off;random_page_cost=2");
    expect("axes = { workload = ( { set = ( { clients = 1; rows = 10; },\n"
           "                               { clients = 8; rows = 100; } ); } ); };",
           "clients+rows\nbaseline\nclients=1;rows=10\nclients=8;rows=100");
}

static void points(void **state)
{
    (void)state;
    expect("points = ( { work_mem = \"1MB\"; jit = \"on\"; }, { jit = \"baseline\"; },\n"
           "           { work_mem = \"unset\"; },\n"
           "           ( { name = \"jit\"; value = false; } ) );",
           "\nbaseline\nwork_mem=1048576;jit=on\nwork_mem=unset\njit=off");
    expect("axes = { knobs = { jit = [ \"on\" ]; }; };\n"
           "points = ( { jit = \"on\"; }, { jit = \"off\"; fsync = \"on\"; } );",
           "jit\nbaseline\njit=on\njit=off;fsync=on");
    build("baseline = true;");
    assert_int_equal(grid.point_count, 1);
}

static void values_of_the_host_and_as_found(void **state)
{
    (void)state;
    expect(
        "axes = { knobs = { shared_buffers = ( \"25% of host.memory\", \"baseline\", \"unset\" );\n"
        "}; workload = { clients = ( \"200% of host.cpus\", 1 ); }; };",
        "shared_buffers x clients\nbaseline\nshared_buffers=4294967296\nshared_buffers=unset\n"
        "clients=16\nclients=1");
}

static void the_baseline_can_be_left_out(void **state)
{
    (void)state;
    build("axes = { knobs = { jit = [ \"on\", \"off\" ]; }; }; baseline = false;");
    assert_false(grid.with_baseline);
    assert_int_equal(grid.point_count, 2);
}

static void rules_prune(void **state)
{
    (void)state;
    build("axes = { knobs = { work_mem = [ \"1MB\", \"2MB\", \"4MB\" ]; };\n"
          "         workload = { clients = [ 1, 100 ]; }; };\n"
          "rules = [ \"work_mem * clients <= 200MB\", \"work_mem < host.memory\" ];");
    assert_int_equal(sweep.rule_count, 2);
    assert_string_equal(sweep.rules[0].text, "work_mem * clients <= 200MB");
    assert_int_equal(sweep.rules[0].line, 4);
    assert_int_equal(grid.kept_count, 7);
    assert_int_equal(grid.pruned_count, 1);
}

/* ---- rows ---- */

static void axes_keep_their_lines(void **state)
{
    (void)state;
    build("axes = {\nknobs = {\njit = [\n\"on\",\n\"off\" ];\n};\nworkload = (\n{ name = "
          "\"clients\";\nvalues = [ 1 ]; } );\n};");
    assert_int_equal(sweep.axes[0].line, 4);
    assert_int_equal(sweep.axes[0].choices[0].line, 5);
    assert_int_equal(sweep.axes[0].choices[1].assignments[0].line, 6);
    assert_int_equal(sweep.axes[1].line, 9);
    assert_int_equal(grid.axes[0].line, 4);
    assert_int_equal(grid.swept[0].kind, SWEPT_KNOB);
    assert_int_equal(grid.swept[1].kind, SWEPT_WORKLOAD);
    assert_ptr_equal(grid.swept[1].knob, workload_knob("clients"));
}

static void declared_knobs(void **state)
{
    (void)state;
    expect("axes = { knobs = ( { name = \"ext.size\"; type = \"integer\"; unit = \"bytes\";\n"
           "values = [ \"1M\", 5 ]; }, { name = \"ext.ratio\"; type = \"real\"; unit = \"none\";\n"
           "from = 0.5; to = 1; steps = 2; }, { name = \"ext.flag\"; type = \"bool\";\n"
           "values = [ \"on\" ]; } ); }; baseline = false; points = ( ( { name = \"EXT.flag\"; "
           "value = 0; } ) );",
           "ext.size x ext.ratio x ext.flag\n"
           "ext.size=1048576;ext.ratio=0.5;ext.flag=on\next.size=1048576;ext.ratio=1;ext.flag=on\n"
           "ext.size=5;ext.ratio=0.5;ext.flag=on\next.size=5;ext.ratio=1;ext.flag=on\n"
           "ext.flag=off");
}

static struct knob made_knob(const char *name, enum knob_type type)
{
    return (struct knob){.name = name,
                         .type = type,
                         .bare = 1,
                         .min = type == KNOB_INTEGER ? 10 : -INFINITY,
                         .max = type == KNOB_INTEGER ? 20 : INFINITY,
                         .specials = "",
                         .choices = "",
                         .durability = "",
                         .versions = "",
                         .sentence = "",
                         .source = "",
                         .danger = ""};
}

/* The live server overrules the catalogue; the file overrules only what nobody knows. */
static void the_servers_rows_come_first(void **state)
{
    (void)state;
    static const char text[] =
        "axes = { knobs = ( { name = \"jit\"; values = [ 10, 20 ]; }, { name = \"ext.n\";\n"
        "type = \"bool\"; values = [ \"on\" ]; } ); }; baseline = false;";
    struct knob jit = made_knob("jit", KNOB_INTEGER);
    struct knob known = made_knob("ext.n", KNOB_INTEGER);
    struct knob unknown = made_knob("ext.n", KNOB_TEXT);
    struct sweep_knob_row rows[] = {{"JIT", &jit}, {"ext.n", &unknown}};
    assert_true(try_with(text, rows, 2));
    assert_string_equal(described(), "jit x ext.n\njit=10;ext.n=on\njit=20;ext.n=on");
    assert_ptr_equal(grid.swept[0].knob, &jit);
    rows[1].knob = &known;
    assert_false(try_with(text, rows, 2));
    assert_string_equal(err.origin, "n.cfg:3");
}

/* ---- mistakes ---- */

static void mistakes_in_the_form_of_an_axis(void **state)
{
    (void)state;
    refuse("axes = { knob = { }; };", "n.cfg:2: unknown key axes.knob; did you mean \"knobs\"?");
    refuse("axes = { host = ( ); };", "n.cfg:2: axes.host is not available in this version; leave "
                                      "it out; README.md lists what is not done yet");
    refuse("axes = 1;", "n.cfg:2: axes takes a group { ... }, not a single value");
    refuse("axes = { knobs = 5; };",
           "n.cfg:2: axes.knobs takes a list ( ... ) or [ ... ], not a single value");
    refuse("axes = { knobs = {\njit = [ ]; }; };",
           "n.cfg:3: axes.knobs.jit has no values; leave the axis out, or give it at least one "
           "value");
    refuse("axes = { knobs = {\njit = ( \"on\", [ ] ); }; };",
           "n.cfg:3: axes.knobs.jit takes a single value, not a list");
    refuse("axes = { knobs = ( \"jit\" ); };",
           "n.cfg:2: in a list, an axis is a group with a name; { name = \"work_mem\"; values = [ "
           "\"4MB\", \"64MB\" ]; }");
    refuse("axes = { knobs = (\n{ values = [ 1 ]; } ); };",
           "n.cfg:3: this axis has no name; { name = \"work_mem\"; values = [ \"4MB\", \"64MB\" ]; "
           "}");
    refuse("axes = { knobs = ( { name = \"\"; values = [ 1 ]; } ); };", "n.cfg:2: name is empty");
    refuse("axes = { knobs = { jit = { name = \"fsync\"; values = [ 1 ]; }; }; };",
           "n.cfg:2: the name of this axis is jit already; axes with a name of their own stand in "
           "a list ( ... )");
    refuse("axes = { knobs = ( { name = \"jit\"; vales = [ 1 ]; } ); };",
           "n.cfg:2: unknown key axes.knobs.vales; did you mean \"values\"?");
    refuse(
        "axes = { knobs = ( { name = \"jit\"; } ); };",
        "n.cfg:2: this axis has neither values nor a range; { from = \"4M\"; to = \"64M\"; steps "
        "= 5; scale = \"log\"; }");
    refuse("axes = { knobs = ( { name = \"jit\"; values = [ 1 ]; from = 1; } ); };",
           "n.cfg:2: from means nothing beside values");
    refuse("axes = { knobs = ( { set = ( { jit = 1; } );\nunit = \"us\"; } ); };",
           "n.cfg:3: unit means nothing beside set");
    refuse("axes = { knobs = ( { set = ( ); } ); };", "n.cfg:2: axes.knobs.set is empty");
    refuse("axes = { knobs = ( { set = ( { } ); } ); };",
           "n.cfg:2: axes.knobs.set holds an empty combination");
    refuse("axes = { knobs = ( { set = ( 5 ); } ); };",
           "n.cfg:2: axes.knobs.set takes a group { ... }, not a single value");
    refuse("axes = { knobs = ( { set = ( ( 5 ) ); } ); };",
           "n.cfg:2: in a list, a setting is a name and a value; ( { name = \"a.b\"; value = 1; }, "
           "... )");
}

static void mistakes_in_a_range(void **state)
{
    (void)state;
    refuse("axes = { knobs = { work_mem = { from = 1; to = 2; }; }; };",
           "n.cfg:2: a range has from, to and steps; { from = \"4M\"; to = \"64M\"; steps = 5; "
           "scale = \"log\"; }");
    refuse("axes = { knobs = { work_mem = { from = 1; to = 2;\nsteps = 1; }; }; };",
           "n.cfg:3: steps is a whole number of 2..10000, not \"1\"");
    refuse("axes = { knobs = { work_mem = { from = 1; to = 2; steps = 2.5; }; }; };",
           "n.cfg:2: steps is a whole number of 2..10000, not \"2.5\"");
    refuse(
        "axes = { knobs = { work_mem = { from = 1; to = 2; steps = 2;\nscale = \"lgo\"; }; }; };",
        "n.cfg:3: scale is linear or log, not \"lgo\"");
    refuse("axes = { knobs = { work_mem = { from = [ ]; to = 2; steps = 2; }; }; };",
           "n.cfg:2: axes.knobs.work_mem.from takes a single value, not a list");
    refuse("axes = { knobs = {\nrandom_page_cost = { from = 0; to = 2; steps = 2;\n"
           "scale = \"log\"; }; }; };",
           "n.cfg:3: random_page_cost: a log range needs ends above 0; list 0 as a value of its "
           "own, or use scale = \"linear\"");
    refuse("axes = { knobs = {\nfsync = { from = 0; to = 1; steps = 2; }; }; };",
           "n.cfg:3: fsync: '0' cannot end a range");
    refuse("axes = { workload = { measure = { from = 1; to = \"5s\"; steps = 2; }; }; };",
           "n.cfg:2: measure = 1 lacks a unit; write \"1s\" for seconds");
    refuse("axes = { workload = { measure = { from = \"1s\"; to = \"2s\"; steps = 4; }; }; };",
           "n.cfg:2: measure = 1333333us is not a whole number of milliseconds");
}

static void names_that_nobody_knows(void **state)
{
    (void)state;
    refuse("axes = { knobs = {\nshared_bufers = [ 1 ]; }; };",
           "n.cfg:3: PostgreSQL has no knob \"shared_bufers\"; did you mean \"shared_buffers\"?");
    assert_int_equal(err.code, ERR_CODE_knob_unknown);
    refuse(
        "axes = { knobs = { xyzzy_plugh = [ 1 ]; }; };",
        "n.cfg:2: PostgreSQL has no knob \"xyzzy_plugh\"; a knob that no catalogue knows needs a "
        "type and a unit on its axis");
    refuse("axes = { knobs = { clients = [ 1 ]; }; };",
           "n.cfg:2: PostgreSQL has no knob \"clients\"; it is a setting of the workload: those "
           "stand in axes.workload");
    refuse("points = ( { clients = 1; } );",
           "n.cfg:2: PostgreSQL has no knob \"clients\"; it is a setting of the workload: those "
           "stand in axes.workload");
    refuse("axes = { workload = { client = [ 1 ]; }; };",
           "n.cfg:2: the workload has no setting \"client\"; did you mean \"clients\"?");
    refuse("axes = { workload = { kind = [ \"oltp\" ]; }; };",
           "n.cfg:2: workload.kind is one for the whole sweep and cannot be varied");
    refuse("axes = { workload = { reset = [ \"none\" ]; }; };",
           "n.cfg:2: workload.reset is one for the whole sweep and cannot be varied");
    refuse(
        "axes = { knobs = ( { name = \"ext.n\"; type = \"text\"; unit = \"none\"; values = [ 1 ]; "
        "} ); };",
        "n.cfg:2: ext.n: type is integer, real or bool, not \"text\"");
    refuse("axes = { knobs = ( { name = \"ext.n\"; type = \"integer\"; values = [ 1 ]; } ); };",
           "n.cfg:2: ext.n has a type and no unit; unit = \"none\", \"bytes\", \"us\" or "
           "\"percent\"");
    refuse("axes = { knobs = ( { name = \"ext.n\"; type = \"integer\"; unit = \"MB\"; values = [ 1 "
           "]; } ); };",
           "n.cfg:2: ext.n: unit is none, bytes, us or percent, not \"MB\"");
    refuse("axes = { knobs = ( { name = \"threads\"; type = \"bool\"; values = [ 1 ]; } );\n"
           "workload = { threads = [ 1 ]; }; };",
           "n.cfg:3: threads is varied both as a knob and as a setting of the workload; rules and "
           "rankings could not tell them apart");
}

static void values_that_do_not_fit(void **state)
{
    (void)state;
    refuse("axes = { knobs = { work_mem = [ \"4MB\",\n\"4 bananas\" ]; }; };",
           "n.cfg:3: work_mem: \"4 bananas\" has an unknown unit \"bananas\"; units are B, K, M, "
           "G, T (powers of 1024)");
    refuse("axes = { knobs = { synchronous_commit = [ \"on\",\n\n\"onn\" ]; }; };",
           "n.cfg:4: synchronous_commit: there is no value 'onn'; one of "
           "off|local|remote_write|on|remote_apply");
    refuse("axes = { workload = { clients = [ 1,\n0 ]; }; };",
           "n.cfg:3: clients: 0 is outside 1 .. 100000");
    refuse("axes = { workload = { clients = [ \"unset\" ]; }; };",
           "n.cfg:2: clients: \"unset\" is for knobs; write the value itself");
    refuse("axes = { workload = { clients = [ \"baseline\" ]; }; };",
           "n.cfg:2: clients: \"baseline\" is for knobs; write the value itself");
    refuse("axes = { workload = { measure = [ 5 ]; }; };",
           "n.cfg:2: measure = 5 lacks a unit; write \"5s\" for seconds");
    refuse("axes = { workload = { warm_up = [ \"1500us\" ]; }; };",
           "n.cfg:2: warm_up = 1500us is not a whole number of milliseconds");
    refuse("axes = { knobs = ( { set = ( { jit = 1;\nJIT = 0; } ); } ); };",
           "n.cfg:3: JIT is set twice");
}

#define LIKE_A_RULE "; a rule is like \"work_mem * clients <= 0.25 * host.memory\""

static void mistakes_in_rules(void **state)
{
    (void)state;
    refuse("axes = { knobs = { jit = 1; }; };\nrules = [ \"jit\",\n\"jit = \" ];",
           "n.cfg:4: column 7 of rule 'jit = ': a name, a number or a quoted text is "
           "missing" LIKE_A_RULE);
    /* What only a value shows. */
    refuse("axes = { knobs = { work_mem = \"4MB\"; }; };\nrules = [ \"true\",\n\"work_mem\" ];",
           "n.cfg:4: column 1 of rule 'work_mem': this is neither true nor false" LIKE_A_RULE);
    refuse("axes = { knobs = { work_mem = \"4MB\"; }; };\nrules = [\n\"work_mem / 0 < 1\" ];",
           "n.cfg:4: column 10 of rule 'work_mem / 0 < 1': division by zero" LIKE_A_RULE);
    refuse("axes = { knobs = { work_mem = \"4MB\"; }; };\nrules = [\n\"work_mem < 1kB\" ];",
           "n.cfg:4: every point is pruned; rule 'work_mem < 1kB' alone prunes 1 of 1 cells");
    refuse("axes = { knobs = { jit = 1;\nJIT = 0; }; };",
           "n.cfg:3: axis 'jit' sets 'jit', which axis 'jit' of line 2 sets; give one axis all of "
           "its values");
    refuse("axes = { knobs = { work_mem = 4; }; };",
           "n.cfg:2: work_mem: 4 is outside 64K .. 2147483647K; a number without a unit counts in "
           "1024 bytes: write one, such as \"64MB\"");
    refuse("axes = { knobs = { jit = 1; }; };\nrules = [\n\"jti = 1\" ];",
           "n.cfg:4: \"jti\" is not swept: the rule cannot know it; did you mean \"jit\"?");
    refuse(
        "axes = { knobs = { jit = 1; }; };\nrules = [ \"wal_level = minimal\" ];",
        "n.cfg:3: \"wal_level\" is not swept: the rule cannot know it; rules know what is swept, "
        "host.memory and host.cpus; texts stand in quotes");
    refuse("axes = { knobs = { jit = 1; }; };\nrules = \"jit = 1\";",
           "n.cfg:3: rules takes a list ( ... ) or [ ... ], not a single value");
    refuse("points = ( );", "n.cfg:2: points is empty");
    refuse("points = [ ];", "n.cfg:2: points is empty");
    refuse("points = { jit = 1; };",
           "n.cfg:2: points takes a list ( ... ) or [ ... ], not a group");
    refuse("baseline = false;",
           "n.cfg:1: nothing is measured: no axes, no points, no baseline; axes = { knobs = { "
           "work_mem = [ \"4MB\", \"64MB\" ]; }; };");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_in_a_group),
        cmocka_unit_test(both_forms_give_equal_grids),
        cmocka_unit_test(ranges),
        cmocka_unit_test(axes_that_set_several),
        cmocka_unit_test(points),
        cmocka_unit_test(values_of_the_host_and_as_found),
        cmocka_unit_test(the_baseline_can_be_left_out),
        cmocka_unit_test(rules_prune),
        cmocka_unit_test(axes_keep_their_lines),
        cmocka_unit_test(declared_knobs),
        cmocka_unit_test(the_servers_rows_come_first),
        cmocka_unit_test(mistakes_in_the_form_of_an_axis),
        cmocka_unit_test(mistakes_in_a_range),
        cmocka_unit_test(names_that_nobody_knows),
        cmocka_unit_test(values_that_do_not_fit),
        cmocka_unit_test(mistakes_in_rules),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
