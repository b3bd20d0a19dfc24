/*
 * What a command's output is searched for: named metrics, and lines that must be there.
 */
#include <regex.h>
#include <string.h>

#include "sweeper/sweepfile_node.h"

static bool check_regex(const struct reader *reader, const struct node *node, size_t groups)
{
    regex_t regex;
    char text[120];
    int status = regcomp(&regex, node->text, REG_EXTENDED);
    if (status != 0) {
        regerror(status, &regex, text, sizeof text);
        return reader_fail(reader, node->line, "\"%.120s\" is no regular expression: %s",
                           node->text, text);
    }
    size_t found = regex.re_nsub;
    regfree(&regex);
    if (found < groups) {
        reader_fail(reader, node->line, "\"%.120s\" has no group for the number", node->text);
        return err_hint(reader->err, "put it into brackets: \"latency = ([0-9.]+) ms\"");
    }
    return true;
}

static bool is_metric_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return name[0] != '\0' && strchr(letters, name[0]) != NULL && strlen(name) <= 60 &&
           name[strspn(name, "0123456789_abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")] ==
               '\0';
}

static bool read_metric(const struct reader *reader, const struct node *group,
                        struct load_metric_spec *out)
{
    const struct node *name = node_find(group, "name");
    const struct node *regex = node_find(group, "regex");
    const struct node *better = node_find(group, "better");
    if (!node_is_group(reader, group) || !check_keys(reader, "workload.metrics", group)) {
        return false;
    }
    if (name == NULL || regex == NULL || better == NULL) {
        reader_fail(reader, group->line, "a metric has a name, a regex and a better");
        return err_hint(reader->err,
                        "{ name = \"tps\"; regex = \"tps = ([0-9.]+)\"; better = \"higher\"; }");
    }
    if (!node_is_text(reader, name) || !node_is_text(reader, regex) ||
        !node_is_text(reader, better) || !check_regex(reader, regex, 1)) {
        return false;
    }
    if (!is_metric_name(name->text)) {
        reader_fail(reader, name->line, "a metric cannot be named \"%.60s\"", name->text);
        return err_hint(reader->err, "rank.by and rank.under name it: letters, digits and _, a "
                                     "letter first");
    }
    if (strcmp(better->text, "higher") != 0 && strcmp(better->text, "lower") != 0) {
        return reader_fail(reader, better->line, "better is higher or lower, not \"%.60s\"",
                           better->text);
    }
    *out =
        (struct load_metric_spec){.name = name->text, .regex = regex->text, .better = better->text};
    return true;
}

bool read_metrics(const struct reader *reader, const struct node *list)
{
    struct workload_spec *workload = &reader->sweep->workload;
    if (list == NULL) {
        return true;
    }
    if (!node_is_list(reader, list)) {
        return false;
    }
    workload->metrics = ARENA_ARRAY(reader->arena, struct load_metric_spec, list->child_count);
    if (workload->metrics == NULL) {
        return err_memory(reader->err);
    }
    for (size_t i = 0; i < list->child_count; i++) {
        struct load_metric_spec *metric = &workload->metrics[i];
        if (!read_metric(reader, &list->children[i], metric)) {
            return false;
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(workload->metrics[j].name, metric->name) == 0) {
                return reader_fail(reader, list->children[i].line, "there are two metrics %.60s",
                                   metric->name);
            }
        }
        workload->metric_count++;
    }
    return true;
}

bool check_expect(const struct reader *reader, const struct node *list)
{
    for (size_t i = 0; list != NULL && i < list->child_count; i++) {
        if (!check_regex(reader, &list->children[i], 0)) {
            return false;
        }
    }
    return true;
}
