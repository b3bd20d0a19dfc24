/*
 * Who is shown and who may win: --where, the limit, and durability. Names in these rules are
 * settings (effective, else asked), conditions and metrics of the row at hand.
 */
#include <string.h>

#include "knobs/value.h"
#include "store/rank_work.h"

struct lookup {
    struct ranking *ranking;
    const struct rank_row *row;
};

static bool is_word(const char *canonical, const char *word)
{
    return strcmp(canonical, word) == 0;
}

static void pair_value(const struct rank_pair *pair, struct rule_value *out)
{
    const char *canonical = pair->canonical;
    bool is_truth = is_word(canonical, "on") || is_word(canonical, "off");
    /* A value as found that was never read back is not known here. */
    bool is_unknown =
        canonical[0] == '\0' || is_word(canonical, "unset") || is_word(canonical, "baseline");
    if (is_unknown) {
        *out = (struct rule_value){.kind = RULE_UNKNOWN};
    } else if (pair->has_number && is_truth) {
        *out = (struct rule_value){.kind = RULE_BOOL, .truth = pair->number != 0};
    } else if (pair->has_number) {
        *out = (struct rule_value){.kind = RULE_NUMBER, .number = pair->number};
    } else {
        *out = (struct rule_value){.kind = RULE_TEXT, .text = canonical};
    }
}

static bool in_pairs(const struct rank_pair *pairs, size_t count, const char *name,
                     struct rule_value *out)
{
    for (size_t i = 0; i < count; i++) {
        if (text_equal_nocase(pairs[i].name, name)) {
            pair_value(&pairs[i], out);
            return true;
        }
    }
    return false;
}

static bool in_metrics(const struct lookup *lookup, const char *name, struct rule_value *out)
{
    const struct rank_row *row = lookup->row;
    for (size_t i = 0; i < row->metric_count; i++) {
        if (strcmp(row->metrics[i].name, name) == 0) {
            *out = (struct rule_value){.kind = RULE_NUMBER, .number = row->metrics[i].mean};
            return true;
        }
    }
    return rank_data_metric(&lookup->ranking->data, name) != SIZE_MAX;
}

static bool in_row(const struct rank_row *row, const char *name, struct rule_value *out)
{
    if (strcmp(name, "trials") == 0 || strcmp(name, "failed") == 0) {
        *out = (struct rule_value){.kind = RULE_NUMBER,
                                   .number = name[0] == 't' ? row->trials : row->failed};
        return true;
    }
    if (strcmp(name, "baseline") == 0 || strcmp(name, "durable") == 0) {
        *out = (struct rule_value){.kind = RULE_BOOL,
                                   .truth = name[0] == 'b' ? row->baseline : row->durable};
        return true;
    }
    return false;
}

static enum rank_word word_in_pairs(const struct rank_pair *pairs, size_t count, const char *word)
{
    for (size_t i = 0; i < count; i++) {
        if (text_equal_nocase(pairs[i].name, word)) {
            return RANK_WORD_NAME;
        }
        if (text_equal_nocase(pairs[i].canonical, word)) {
            return RANK_WORD_VALUE;
        }
    }
    return RANK_WORD_UNKNOWN;
}

/* What a word is that this row has not: a setting of other rows (an axis that came later), or some
 * setting's value ("journal_mode=wal", "fsync=off": the shell takes quotes away). Any other is
 * more likely a slip, and an error. The answer of the last word is kept. */
static enum rank_word find_word(struct ranking *ranking, const char *word)
{
    bool ignored = false;
    enum rank_word found = value_truth_word(word, &ignored) ? RANK_WORD_VALUE : RANK_WORD_UNKNOWN;
    if (ranking->last_word != NULL && strcmp(ranking->last_word, word) == 0) {
        return ranking->last_word_is;
    }
    for (size_t i = 0; found == RANK_WORD_UNKNOWN && i < ranking->count; i++) {
        const struct rank_row *row = &ranking->candidates[i].row;
        const struct rank_pair *lists[] = {row->asked, row->effective, row->condition};
        const size_t counts[] = {row->asked_count, row->effective_count, row->condition_count};
        for (size_t j = 0; found == RANK_WORD_UNKNOWN && j < COUNT_OF(lists); j++) {
            found = word_in_pairs(lists[j], counts[j], word);
        }
    }
    ranking->last_word = word;
    ranking->last_word_is = found;
    return found;
}

static bool look_up(void *context, const char *name, struct rule_value *out, struct err *err)
{
    const struct lookup *lookup = context;
    const struct rank_row *row = lookup->row;
    *out = (struct rule_value){.kind = RULE_UNKNOWN};
    if (in_pairs(row->effective, row->effective_count, name, out) ||
        in_pairs(row->condition, row->condition_count, name, out) ||
        in_pairs(row->asked, row->asked_count, name, out) || in_metrics(lookup, name, out) ||
        in_row(row, name, out)) {
        return true;
    }
    enum rank_word word = find_word(lookup->ranking, name);
    if (word != RANK_WORD_UNKNOWN) {
        out->kind = word == RANK_WORD_VALUE ? RULE_TEXT : RULE_UNKNOWN;
        out->text = name;
        return true;
    }
    err_set(err, ERR_CODE_rule, "\"%s\" is no knob, condition or metric of this sweep", name);
    return err_hint(err, "`dbsweep rank STORE --format json` shows the names");
}

bool rank_apply_where(struct ranking *ranking, struct err *err)
{
    for (size_t i = 0; ranking->where != NULL && i < ranking->count; i++) {
        struct lookup lookup = {.ranking = ranking, .row = &ranking->candidates[i].row};
        int truth = 0;
        if (!rule_truth(ranking->where, look_up, &lookup, &truth, err)) {
            return err_while(err, "evaluating --where");
        }
        ranking->candidates[i].is_hidden = truth != 1;
    }
    return true;
}

static bool judge_limit(struct ranking *ranking, struct rank_candidate *candidate, struct err *err)
{
    struct lookup lookup = {.ranking = ranking, .row = &candidate->row};
    int truth = 1;
    if (!rule_truth(ranking->under, look_up, &lookup, &truth, err)) {
        return err_while(err, "evaluating the limit");
    }
    if (truth != 1) {
        candidate->can_win = false;
        candidate->row.reason = arena_printf(ranking->arena,
                                             truth == 0 ? "it does not keep the limit %s"
                                                        : "it was not measured for the limit %s",
                                             rule_text(ranking->under));
        return candidate->row.reason != NULL || err_memory(err);
    }
    return true;
}

/* What is measured and shown, and nobody should be told to use. The baseline stays: it is in use.
 */
static const char *unfit(const struct rank_row *row)
{
    if (row->baseline) {
        return NULL;
    }
    if (rank_has_word(row->flags, "debt")) {
        return "it left work undone that others did (debt)";
    }
    if (rank_has_word(row->flags, "unstable")) {
        return "its runs differ too much to recommend it (unstable)";
    }
    return NULL;
}

bool rank_disqualify(struct ranking *ranking, struct err *err)
{
    const char *durability = ranking->options->durability != NULL
                                 ? ranking->options->durability
                                 : ranking->data.sweep.rank_durability;
    bool any = strcmp(durability, "any") == 0;
    if (!any && strcmp(durability, "baseline") != 0) {
        return err_set(err, ERR_CODE_usage, "durability is \"baseline\" or \"any\", not \"%s\"",
                       durability);
    }
    for (size_t i = 0; i < ranking->count; i++) {
        struct rank_candidate *candidate = &ranking->candidates[i];
        if (candidate->can_win && ranking->under != NULL && !judge_limit(ranking, candidate, err)) {
            return false;
        }
        if (candidate->can_win && !any && !candidate->row.durable) {
            candidate->can_win = false;
            candidate->row.reason = "less durable than the baseline";
        }
        const char *reason = unfit(&candidate->row);
        if (candidate->can_win && reason != NULL) {
            candidate->can_win = false;
            candidate->row.reason = reason;
        }
    }
    return true;
}
