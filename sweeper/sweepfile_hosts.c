/*
 * The load hosts of the sweep file.
 */
#include "sweeper/load/load.h"
#include "sweeper/sweepfile_node.h"

static bool read_load_host(const struct reader *reader, const struct node *item,
                           struct text *addresses)
{
    struct sweep *sweep = reader->sweep;
    struct load_host_spec *spec = &sweep->load_hosts[sweep->load_host_count];
    sweep->load_host = (struct host_spec){0};
    sweep->load_program = NULL;
    if (!read_section(reader, "workload.load_hosts", item)) {
        return false;
    }
    if (sweep->load_host.ssh == NULL) {
        reader_fail(reader, item->line, "a load host has an address");
        return err_hint(reader->err, "load_hosts = ( { ssh = \"user@name\"; } );");
    }
    *spec = (struct load_host_spec){.host = sweep->load_host, .program = sweep->load_program};
    text_addf(addresses, "%s%s", addresses->size > 0 ? " " : "", sweep->load_host.ssh);
    sweep->load_host_count++;
    return true;
}

/* One host twice is as good as two: each worker has event loops of its own. */
bool read_load_hosts(const struct reader *reader, const struct node *list)
{
    struct sweep *sweep = reader->sweep;
    struct text addresses;
    if (list == NULL) {
        return true;
    }
    if (!node_is_list(reader, list)) {
        return false;
    }
    sweep->load_hosts = ARENA_ARRAY(reader->arena, struct load_host_spec, list->child_count + 1);
    if (sweep->load_hosts == NULL) {
        return err_memory(reader->err);
    }
    text_open(&addresses, reader->arena);
    for (size_t i = 0; i < list->child_count; i++) {
        if (!read_load_host(reader, &list->children[i], &addresses)) {
            return false;
        }
    }
    sweep->load_host.ssh = list->child_count > 0 ? text_done(&addresses) : NULL;
    return !addresses.failed || err_memory(reader->err);
}

bool check_load_hosts(const struct reader *reader, const struct node *list)
{
    const struct sweep *sweep = reader->sweep;
    if (sweep->load_host_count < 2) {
        return true;
    }
    if (!workload_can_be_shared(sweep->workload.kind)) {
        reader_fail(reader, list->children[1].line,
                    "what several load hosts find of the workload %s cannot be added up",
                    sweep->workload.kind);
        return err_hint(reader->err, "name one load host");
    }
    if ((size_t)sweep->workload.clients < sweep->load_host_count) {
        reader_fail(reader, list->children[1].line,
                    "%lld clients are fewer than the %zu load hosts",
                    (long long)sweep->workload.clients, sweep->load_host_count);
        return err_hint(reader->err, "each load host drives one client at least");
    }
    return true;
}
