/*
 * The ranking in words: what stands below the table, and `rank --explain`, which says why the first
 * is first and what is not known.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "store/layout.h"
#include "store/rank_work.h"
#include "sweeper/base/units.h"

enum { SHOWN_POINTS = 10, SHOWN_REASONS = 12, REASON_WIDTH = 160 };

struct number {
    char text[LAYOUT_NUMBER_SIZE];
};

static struct number figure(double value)
{
    struct number number = {.text = ""};
    layout_figure(value, number.text);
    return number;
}

static struct number gain(double pct)
{
    struct number number = {.text = ""};
    layout_signed(pct, 1, number.text);
    return number;
}

static const char *runs(int count)
{
    return count == 1 ? "run" : "runs";
}

/* ---- below the table ---- */

static bool any_flag(const struct rank_table *table, const char *flag)
{
    for (size_t i = 0; i < table->row_count; i++) {
        if (rank_has_word(table->rows[i].flags, flag)) {
            return true;
        }
    }
    return false;
}

static void put_drift(const struct rank_drift *drift, struct text *out)
{
    const char *between = drift->label[0] != '\0' ? ", " : "";
    if (!drift->is_testable) {
        text_addf(out, "drift not testable%s%s: %zu %s of the baseline, 8 are needed\n", between,
                  drift->label, drift->runs, runs((int)drift->runs));
    } else if (drift->is_corrected) {
        text_addf(out,
                  "drift%s%s: the baseline moved (p %s, %s %% from its first run to its last): "
                  "values are corrected by its level at their time\n",
                  between, drift->label, figure(drift->p).text, gain(drift->change_pct).text);
    } else {
        text_addf(out, "drift%s%s: none found in %zu runs of the baseline (p %s)\n", between,
                  drift->label, drift->runs, figure(drift->p).text);
    }
}

/* Of many conditions in one line where all that can be said is the same. */
static void put_drifts(const struct rank_table *table, struct text *out)
{
    bool is_testable = false;
    size_t most = 0;
    for (size_t i = 0; i < table->drift_count; i++) {
        is_testable = is_testable || table->drifts[i].is_testable;
        most = table->drifts[i].runs > most ? table->drifts[i].runs : most;
    }
    if (most > 0 && !is_testable) {
        const struct rank_drift all = {.label = "", .runs = most};
        put_drift(&all, out);
        return;
    }
    for (size_t i = 0; i < table->drift_count && most > 0; i++) {
        put_drift(&table->drifts[i], out);
    }
}

static void put_signs(const struct rank_table *table, struct text *out)
{
    bool has_tie = false;
    for (size_t i = 0; i < table->row_count; i++) {
        has_tie = has_tie || table->rows[i].tied;
    }
    if (has_tie) {
        text_add(out, "= cannot be told from the best\n");
    }
    if (!isnan(table->noise_pct) && table->row_count > 0) {
        char confidence[LAYOUT_NUMBER_SIZE];
        units_format_real(round(1e6 * table->confidence) / 1e4, confidence, sizeof confidence);
        text_addf(out,
                  "(low to high): %s %% intervals; runs of a point differ by %s %% (standard "
                  "deviation, %d degrees of freedom)\n"
                  "places: where it may truly stand; best: the chance that it is the best\n",
                  confidence, figure(table->noise_pct).text, table->degrees);
    }
}

void rank_put_footer(const struct rank_table *table, struct text *out)
{
    text_add(out, table->row_count > 0 ? "\n" : "");
    put_signs(table, out);
    if (any_flag(table, "one-trial")) {
        text_add(out, "one-trial: its interval rests on the repeats of other points\n");
    }
    if (any_flag(table, "outlier")) {
        text_add(out, "outlier: a run lies far from the others of its point; it counts\n");
    }
    if (any_flag(table, "unconfirmed") && !isnan(table->noise_pct)) {
        text_add(out,
                 "unconfirmed: chosen by the runs that measured it, which flatters; the gain is "
                 "what to expect\n");
    }
    put_drifts(table, out);
    if (table->note[0] != '\0') {
        text_addf(out, "note: %s\n", table->note);
    }
}

/* ---- why the first is first ---- */

struct group {
    const struct rank_table *table;
    const struct rank_row *rows; /* with a rank, of one condition */
    size_t count;
    size_t tied;
};

static void say_figure(const struct group *group, struct text *out)
{
    const struct rank_row *first = &group->rows[0];
    const struct rank_metric *metric = rank_row_metric(first, group->table->by);
    double mean = metric != NULL ? metric->mean : (double)NAN;
    if (first->confirmed && first->baseline_runs > 0) {
        text_addf(out,
                  "  It gave %s %s, %s %% (%s to %s) against the baseline, by %d runs that confirm "
                  "it and %d of the baseline; none of these had a part in choosing it.\n",
                  figure(mean).text, group->table->by, gain(first->versus_mean_pct).text,
                  gain(first->versus_low_pct).text, gain(first->versus_high_pct).text,
                  first->confirming, first->baseline_runs);
        return;
    }
    text_addf(out, "  It gave %s %s in %d %s%s.\n", figure(mean).text, group->table->by,
              first->trials, runs(first->trials),
              first->baseline ? "; it is the server as found" : "");
    if (first->baseline || first->confirmed) {
        return;
    }
    text_add(out, "  It is unconfirmed: no run was made after it was chosen, and of the best of "
                  "many a part is luck.");
    if (!isnan(first->expected)) {
        text_addf(out, " Expect %s", figure(first->expected).text);
        if (!isnan(first->expected_pct)) {
            text_addf(out, ", %s %% against the baseline", gain(first->expected_pct).text);
        }
        text_add(out, ".");
    }
    text_add(out, "\n");
}

static bool is_ahead(const struct rank_table *table, const struct rank_row *a,
                     const struct rank_row *b)
{
    return strcmp(table->better, "higher") == 0 ? a->expected >= b->expected
                                                : a->expected <= b->expected;
}

/* Why it stands before the next of the tied. */
static void say_order(const struct group *group, struct text *out)
{
    const struct rank_row *first = &group->rows[0];
    const struct rank_row *next = &group->rows[1];
    if (first->confirmed && !next->confirmed && !next->baseline) {
        text_add(out, "it was confirmed");
    } else if (is_ahead(group->table, first, next)) {
        text_add(out, "its value is the best of them");
    } else if (first->durable != next->durable) {
        text_add(out, "it is no worse by more than 0.5 %, and more durable");
    } else if (first->changed != next->changed) {
        text_addf(out,
                  "it is no worse by more than 0.5 %%, and nearer to the server as found (%d %s "
                  "differ, %d of point %lld)",
                  first->changed, first->changed == 1 ? "setting" : "settings", next->changed,
                  (long long)next->point_id);
    } else {
        text_add(out, "it is no worse by more than 0.5 %, and takes no more memory");
    }
}

static void say_tie(const struct group *group, struct text *out)
{
    if (isnan(group->table->noise_pct)) {
        text_add(out, "  It has the best mean, and no more is known: without noise there is no "
                      "saying whether it is better.\n");
        return;
    }
    if (group->tied == 0) {
        text_addf(out, group->count > 1
                           ? "  Every other point lies below it by more than noise explains.\n"
                           : "  There is no other point to compare it with.\n");
        return;
    }
    text_addf(out, "  It cannot be told from %zu other%s (point%s", group->tied - 1,
              group->tied == 2 ? "" : "s", group->tied == 2 ? "" : "s");
    for (size_t i = 1; i < group->tied && i <= SHOWN_POINTS; i++) {
        text_addf(out, "%s %lld", i > 1 ? "," : "", (long long)group->rows[i].point_id);
    }
    text_addf(out, "%s). It stands before them because ",
              group->tied > SHOWN_POINTS + 1 ? ", …" : "");
    say_order(group, out);
    text_add(out, ".\n");
}

static void say_chance(const struct group *group, struct text *out)
{
    const struct rank_row *first = &group->rows[0];
    const struct rank_row *next = NULL;
    if (isnan(first->chance)) {
        return;
    }
    for (size_t i = 1; i < group->count; i++) {
        const struct rank_row *row = &group->rows[i];
        next = !isnan(row->chance) && (next == NULL || row->chance > next->chance) ? row : next;
    }
    text_addf(out, "  The chance that it is the best is %.0f %%", 100 * first->chance);
    if (next != NULL) {
        text_addf(out, "; of the others point %lld has the most, %.0f %%",
                  (long long)next->point_id, 100 * next->chance);
    }
    if (first->rank_low == first->rank_high) {
        text_addf(out, ". Its place is %d of %zu beyond doubt.\n", first->rank_low, group->count);
    } else {
        text_addf(out, ". Its true place is between %d and %d of %zu.\n", first->rank_low,
                  first->rank_high, group->count);
    }
}

static void say_nondominated(const struct group *group, struct text *out)
{
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++) {
        count += group->rows[i].has_domination && group->rows[i].nondominated;
    }
    if (group->table->second == NULL || count == 0) {
        return;
    }
    text_addf(out, "  Nothing is as good in both %s and %s and surely better in one of them than",
              group->table->by, group->table->second);
    text_add(out, count == 1 ? " point" : " points");
    size_t shown = 0;
    for (size_t i = 0; i < group->count && shown < SHOWN_POINTS; i++) {
        if (group->rows[i].has_domination && group->rows[i].nondominated) {
            text_addf(out, "%s %lld", shown > 0 ? "," : "", (long long)group->rows[i].point_id);
            shown++;
        }
    }
    text_add(out, count > shown ? ", ….\n" : ".\n");
}

/* ---- what cannot win, what is not known ---- */

static void say_unranked(const struct rank_table *table, const struct rank_row *like,
                         struct text *out)
{
    const char *reasons[SHOWN_REASONS] = {NULL};
    int counts[SHOWN_REASONS] = {0};
    size_t kinds = 0;
    for (size_t i = 0; i < table->row_count; i++) {
        const struct rank_row *row = &table->rows[i];
        if (row->rank > 0 || row->reason == NULL || !rank_same_condition(row, like)) {
            continue;
        }
        size_t at = 0;
        while (at < kinds && strcmp(reasons[at], row->reason) != 0) {
            at++;
        }
        at = at < SHOWN_REASONS ? at : SHOWN_REASONS - 1;
        reasons[at] = reasons[at] != NULL ? reasons[at] : row->reason;
        counts[at]++;
        kinds = at == kinds ? kinds + 1 : kinds;
    }
    for (size_t i = 0; i < kinds; i++) {
        const char *reason = layout_line(out->arena, reasons[i], REASON_WIDTH);
        text_addf(out, "%s  %d %s: %s%s\n", i == 0 ? "cannot be the best\n" : "", counts[i],
                  counts[i] == 1 ? "point" : "points", reason != NULL ? reason : "",
                  i == SHOWN_REASONS - 1 ? ", and others" : "");
    }
}

static size_t count_flag(const struct group *group, const char *flag)
{
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++) {
        count += rank_has_word(group->rows[i].flags, flag);
    }
    return count;
}

static void say_detectable(const struct group *group, struct text *out)
{
    int count = group->rows[0].confirmed ? group->rows[0].confirming : group->rows[0].trials;
    if (isnan(group->table->noise_pct) || group->table->degrees < 1 || count < 1) {
        return;
    }
    double difference =
        compare_detectable(group->table->noise_pct / 100, group->table->degrees, (size_t)count,
                           (size_t)count, group->table->confidence, 1);
    text_addf(out,
              "  Differences below %s %% between two points of %d %s are likely to go unseen.\n",
              figure(100 * expm1(difference)).text, count, runs(count));
}

static void say_unknown(const struct group *group, struct text *out)
{
    const struct rank_row *first = &group->rows[0];
    size_t single = 0;
    for (size_t i = 0; i < group->count; i++) {
        single += group->rows[i].trials == 1;
    }
    text_add(out, "not known\n");
    if (group->table->note[0] != '\0') {
        text_addf(out, "  %s.\n", group->table->note);
    }
    if (first->drift == NULL) {
        text_add(out, "  Whether the machine drifted is not told for these values.\n");
    } else {
        text_add(out, "  ");
        put_drift(first->drift, out);
    }
    say_detectable(group, out);
    if (single > 0) {
        text_addf(out, "  %zu of %zu points were measured once.\n", single, group->count);
    }
    const char *const doubts[] = {"outlier", "not-steady", "unstable", "less-durable"};
    for (size_t i = 0; i < COUNT_OF(doubts); i++) {
        size_t count = count_flag(group, doubts[i]);
        if (count > 0) {
            text_addf(out, "  %zu of %zu points with a rank are flagged %s.\n", count, group->count,
                      doubts[i]);
        }
    }
    text_add(out, "  Nothing is said of points that were not measured.\n");
}

static bool explain_group(const struct group *group, struct text *out)
{
    const char *settings = rank_settings_text(out->arena, &group->rows[0]);
    const char *condition = rank_condition_text(out->arena, &group->rows[0]);
    const char *line = settings != NULL ? layout_line(out->arena, settings, SIZE_MAX) : NULL;
    const char *where = condition != NULL ? layout_line(out->arena, condition, SIZE_MAX) : NULL;
    if (line == NULL || where == NULL) {
        return false;
    }
    text_addf(out, "\nwhy point %lld is first%s%s: %s\n", (long long)group->rows[0].point_id,
              where[0] != '\0' ? " under " : "", where, line);
    say_figure(group, out);
    say_tie(group, out);
    say_chance(group, out);
    say_nondominated(group, out);
    say_unranked(group->table, &group->rows[0], out);
    say_unknown(group, out);
    return true;
}

bool rank_explain(const struct rank_table *table, struct text *out, struct err *err)
{
    bool ok = true;
    for (size_t first = 0; ok && first < table->row_count;) {
        struct group group = {.table = table, .rows = &table->rows[first]};
        while (first < table->row_count && table->rows[first].rank > 0 &&
               rank_same_condition(&table->rows[first], group.rows)) {
            group.tied += table->rows[first].tied;
            group.count++;
            first++;
        }
        if (group.count == 0) {
            break; /* from here on nothing has a rank */
        }
        ok = explain_group(&group, out);
    }
    return (ok && !out->failed) || err_memory(err);
}
