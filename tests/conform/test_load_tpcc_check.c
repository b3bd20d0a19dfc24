/*
 * TPC-C's consistency conditions (clause 3.3.2) over every session there is: each broken once and
 * seen to fail.
 *
 * plain alone: minutes of the servers' own work, on code of ours that other tests run sanitized.
 */
#include "tests/support/tpcc_subject.h"

struct sabotage {
    const char *what; /* in the error */
    bool is_cheap;    /* seen after each trial too */
    const char *spoil[2];
    const char *mend[2];
};

static const struct sabotage sabotages[] = {
    {"condition 1 ",
     true,
     {"update warehouse set w_ytd = w_ytd + 0.01"},
     {"update warehouse set w_ytd = w_ytd - 0.01"}},
    {"condition 2 ",
     true,
     {"update district set d_next_o_id = d_next_o_id + 1 where d_id = 3"},
     {"update district set d_next_o_id = d_next_o_id - 1 where d_id = 3"}},
    {"condition 2 ",
     true,
     {"delete from new_order where no_d_id = 3 and no_o_id = 3000"},
     {"insert into new_order values (3000, 3, 1)"}},
    {"condition 3 ",
     true,
     {"delete from new_order where no_d_id = 3 and no_o_id = 2500"},
     {"insert into new_order values (2500, 3, 1)"}},
    {"condition 4 ",
     true,
     {"update orders set o_ol_cnt = o_ol_cnt + 1 where o_d_id = 3 and o_id = 7"},
     {"update orders set o_ol_cnt = o_ol_cnt - 1 where o_d_id = 3 and o_id = 7"}},
    {"condition 5 ",
     false,
     {"update orders set o_carrier_id = 4 where o_d_id = 3 and o_id = 2500"},
     {"update orders set o_carrier_id = null where o_d_id = 3 and o_id = 2500"}},
    {"condition 5 ",
     false,
     {"update orders set o_carrier_id = null where o_d_id = 3 and o_id = 2100"},
     {"update orders set o_carrier_id = 1 where o_d_id = 3 and o_id = 2100"}},
    {"condition 6 ",
     false,
     {"update orders set o_ol_cnt = o_ol_cnt + 1 where o_d_id = 3 and o_id = 7",
      "update orders set o_ol_cnt = o_ol_cnt - 1 where o_d_id = 3 and o_id = 8"},
     {"update orders set o_ol_cnt = o_ol_cnt - 1 where o_d_id = 3 and o_id = 7",
      "update orders set o_ol_cnt = o_ol_cnt + 1 where o_d_id = 3 and o_id = 8"}},
    {"condition 7 ",
     false,
     {"update order_line set ol_delivery_d = null where ol_d_id = 3 and ol_o_id = 7"
      " and ol_number = 2"},
     {"update order_line set ol_delivery_d = current_timestamp where ol_d_id = 3 and ol_o_id = 7"
      " and ol_number = 2"}},
    {"condition 8 ",
     false,
     {"update warehouse set w_ytd = w_ytd + 10",
      "update district set d_ytd = d_ytd + 10 where d_id = 3"},
     {"update warehouse set w_ytd = w_ytd - 10",
      "update district set d_ytd = d_ytd - 10 where d_id = 3"}},
    {"condition 9 ",
     false,
     {"update district set d_ytd = d_ytd + 10 where d_id = 3",
      "update district set d_ytd = d_ytd - 10 where d_id = 4"},
     {"update district set d_ytd = d_ytd - 10 where d_id = 3",
      "update district set d_ytd = d_ytd + 10 where d_id = 4"}},
    {"condition 10 ",
     false,
     {"update customer set c_balance = c_balance + 0.01, c_ytd_payment = c_ytd_payment - 0.01"
      " where c_d_id = 3 and c_id = 9"},
     {"update customer set c_balance = c_balance - 0.01, c_ytd_payment = c_ytd_payment + 0.01"
      " where c_d_id = 3 and c_id = 9"}},
    {"condition 11 ",
     false,
     {"insert into orders values (0, 3, 1, 1, current_timestamp, 1, 0, 1)"},
     {"delete from orders where o_id = 0"}},
    {"condition 12 ",
     false,
     {"update customer set c_ytd_payment = c_ytd_payment + 0.01 where c_d_id = 3 and c_id = 9"},
     {"update customer set c_ytd_payment = c_ytd_payment - 0.01 where c_d_id = 3 and c_id = 9"}},
    {"table item has 100001 rows, not 100000",
     false,
     {"insert into item values (100001, 1, 'more', 1, 'more')"},
     {"delete from item where i_id = 100001"}},
};

static void apply(struct subject *subject, const char *const *statements)
{
    for (size_t i = 0; i < 2 && statements[i] != NULL; i++) {
        subject_sql(subject, statements[i]);
    }
}

static void sees_each_condition_broken(struct subject *subject)
{
    tpcc_need_data(subject);
    if (text_starts_with(tpcc_note(subject), "used")) {
        MUST(tpcc_run(subject, LOAD_RESET));
    }
    MUST(tpcc_run(subject, LOAD_CHECK_ALL));
    for (size_t i = 0; i < COUNT_OF(sabotages); i++) {
        apply(subject, sabotages[i].spoil);
        MUST_FAIL(tpcc_run(subject, LOAD_CHECK_ALL), ERR_CODE_workload_check);
        HOLDS(subject->err.text, sabotages[i].what);
        assert_int_equal(subject->err.class, ERR_POINT);
        if (sabotages[i].is_cheap) {
            MUST_FAIL(tpcc_run(subject, LOAD_CHECK), ERR_CODE_workload_check);
        } else {
            MUST(tpcc_run(subject, LOAD_CHECK));
        }
        apply(subject, sabotages[i].mend);
    }
    MUST(tpcc_run(subject, LOAD_CHECK_ALL));
}

static const struct load_test tests[] = {
    LOAD_TEST(sees_each_condition_broken),
};

int main(int argc, char **argv)
{
    const struct load_suite suite = {.tests = tests,
                                     .test_count = COUNT_OF(tests),
                                     .begin = tpcc_begin,
                                     .end = tpcc_end,
                                     .leave = tpcc_leave};
    return suite_main(&suite, argc, argv);
}
