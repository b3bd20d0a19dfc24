/*
 * Tests of a workload over every session there is: each test over each subject, by name
 * "SUBJECT: TEST". A first argument chooses among them, as a pattern.
 */
#ifndef TESTS_SUPPORT_LOAD_SUITE_H
#define TESTS_SUPPORT_LOAD_SUITE_H

#include "tests/support/load_subjects.h"

enum { SUITE_SUBJECTS = 3, SUITE_TESTS = 64 };

struct load_test {
    const char *name;
    void (*run)(struct subject *subject);
};
#define LOAD_TEST(test)                                                                            \
    {                                                                                              \
#test, test                                                                                \
    }

struct load_suite {
    const struct load_test *tests;
    size_t test_count;
    void (*begin)(struct subject *subject); /* before each test, and after it */
    void (*end)(struct subject *subject);
    void (*leave)(struct subject *subject); /* after all of them; NULL: nothing to do */
};

static const struct load_suite *the_suite;

struct load_pair {
    struct subject *subject;
    void (*run)(struct subject *subject);
};

static inline void suite_run_pair(void **state)
{
    const struct load_pair *pair = *state;
    if (pair->subject->absent != NULL) {
        print_message("skipped: %s\n", pair->subject->absent);
        skip();
    }
    the_suite->begin(pair->subject);
    pair->run(pair->subject);
}

static inline int suite_end_pair(void **state)
{
    const struct load_pair *pair = *state;
    if (pair->subject->absent == NULL) {
        the_suite->end(pair->subject);
    }
    return 0;
}

/* The server serves other tests after these. */
static inline void suite_leave(struct subject *subject)
{
    if (subject->absent == NULL && the_suite->leave != NULL) {
        the_suite->begin(subject);
        the_suite->leave(subject);
        the_suite->end(subject);
    }
    subject_forget(subject);
}

static inline int suite_main(const struct load_suite *suite, int argc, char **argv)
{
    static const char *const backend_names[SUITE_SUBJECTS] = {"sqlite", "postgresql", "mysql"};
    static struct subject subjects[SUITE_SUBJECTS];
    static struct load_pair pairs[SUITE_SUBJECTS * SUITE_TESTS];
    static struct CMUnitTest tests[SUITE_SUBJECTS * SUITE_TESTS];
    static char names[SUITE_SUBJECTS * SUITE_TESTS][96];
    size_t count = 0;
    subject_serve(argc, argv);
    stop_install();
    the_suite = suite;
    assert(suite->test_count <= SUITE_TESTS);
    for (size_t i = 0; i < SUITE_SUBJECTS; i++) {
        subject_find(&subjects[i], backend_names[i]);
        for (size_t j = 0; j < suite->test_count; j++, count++) {
            pairs[count] = (struct load_pair){.subject = &subjects[i], .run = suite->tests[j].run};
            snprintf(names[count], sizeof names[count], "%s: %s", backend_names[i],
                     suite->tests[j].name);
            tests[count] = (struct CMUnitTest){.name = names[count],
                                               .test_func = suite_run_pair,
                                               .teardown_func = suite_end_pair,
                                               .initial_state = &pairs[count]};
        }
    }
    if (argc == 2) {
        cmocka_set_test_filter(argv[1]);
    }
    int failed = _cmocka_run_group_tests("tests", tests, count, NULL, NULL);
    for (size_t i = 0; i < SUITE_SUBJECTS; i++) {
        suite_leave(&subjects[i]);
    }
    return failed;
}

#endif
