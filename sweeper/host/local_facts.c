/*
 * What this machine is: read from /proc and /sys, each fact by itself, so that one that cannot be
 * read stays empty and the rest is told. Nothing here fails but for want of memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "sweeper/base/text.h"
#include "sweeper/host/local.h"

#define SMALL_BYTES 4096
#define MOUNTS_LIMIT_BYTES ((size_t)4 * 1024 * 1024)

/* The beginning of a file, without the newline at its end; "" where it cannot be read. */
static const char *small_read(char *buffer, size_t size, const char *root, const char *path)
{
    char full[PATH_MAX];
    buffer[0] = '\0';
    int length = snprintf(full, sizeof full, "%s%s", root, path);
    if (length < 0 || (size_t)length >= sizeof full)
        return buffer;
    int descriptor CLEANUP(local_descriptor_close) = open(full, O_RDONLY | O_NOCTTY | O_CLOEXEC);
    size_t used = 0;
    while (descriptor >= 0 && used < size - 1) {
        ssize_t got = read(descriptor, buffer + used, size - 1 - used);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        used += got > 0 ? (size_t)got : 0;
    }
    while (used > 0 && (buffer[used - 1] == '\n' || buffer[used - 1] == ' '))
        used--;
    buffer[used] = '\0';
    return buffer;
}

/* --- memory ----------------------------------------------------------------------------------- */

static int64_t memory_of_machine(const char *root)
{
    char text[SMALL_BYTES];
    const char *line = strstr(small_read(text, sizeof text, root, "/proc/meminfo"), "MemTotal:");
    if (line == NULL)
        return 0;
    long long kib = strtoll(line + strlen("MemTotal:"), NULL, 10);
    return kib > 0 && kib < INT64_MAX / 1024 ? (int64_t)kib * 1024 : 0;
}

static int64_t lower_of(int64_t a, int64_t b)
{
    return b > 0 && (a == 0 || b < a) ? b : a;
}

/* The lowest limit of a group and all those above it; 0: none ("max", or v1's huge number, which
 * the machine's own memory is below). */
static int64_t limit_of_group(const char *root, const char *mount, const char *group,
                              const char *file)
{
    int64_t lowest = 0;
    char path[PATH_MAX];
    char text[64];
    if (strlen(group) >= sizeof path / 2)
        return 0;
    for (size_t size = strlen(group);;) {
        snprintf(path, sizeof path, "%s%.*s/%s", mount, (int)size, group, file);
        small_read(text, sizeof text, root, path);
        errno = 0;
        long long limit = strtoll(text, NULL, 10);
        if (errno == 0 && limit > 0)
            lowest = lower_of(lowest, (int64_t)limit);
        if (size == 0)
            return lowest;
        while (size > 0 && group[size - 1] != '/')
            size--;
        size -= size > 0 ? 1 : 0;
    }
}

static bool has_controller(const char *list, size_t size, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at < list + size;) {
        const char *comma = memchr(at, ',', (size_t)(list + size - at));
        const char *end = comma != NULL ? comma : list + size;
        if ((size_t)(end - at) == length && memcmp(at, name, length) == 0)
            return true;
        at = end + 1;
    }
    return false;
}

/* One line of /proc/self/cgroup, "hierarchy:controllers:group"; an empty list is version 2. */
static int64_t limit_of_line(const char *root, const char *line)
{
    const char *list = strchr(line, ':');
    const char *group = list == NULL ? NULL : strchr(list + 1, ':');
    if (list == NULL || group == NULL)
        return 0;
    size_t size = (size_t)(group - list - 1);
    group++;
    if (size == 0) {
        int64_t limit = limit_of_group(root, "/sys/fs/cgroup", group, "memory.max");
        return lower_of(limit, limit_of_group(root, "/sys/fs/cgroup/unified", group, "memory.max"));
    }
    if (!has_controller(list + 1, size, "memory"))
        return 0;
    return limit_of_group(root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
}

int64_t local_memory_bytes(const char *root)
{
    char text[2 * SMALL_BYTES];
    char *rest = NULL;
    int64_t memory = memory_of_machine(root);
    small_read(text, sizeof text, root, "/proc/self/cgroup");
    for (char *line = strtok_r(text, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest))
        memory = lower_of(memory, limit_of_line(root, line));
    return memory;
}

/* --- mounts ----------------------------------------------------------------------------------- */

/* Next word of a line, in place; mountinfo writes blanks as \040 and the like. */
static char *mount_word(char **at)
{
    char *word = strsep(at, " ");
    char *to = word;
    for (const char *from = word; from != NULL && *from != '\0'; to++) {
        if (from[0] == '\\' && from[1] >= '0' && from[1] <= '3' && from[2] >= '0' &&
            from[2] <= '7' && from[3] >= '0' && from[3] <= '7') {
            *to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
            from += 4;
        } else {
            *to = *from++;
        }
    }
    if (to != NULL)
        *to = '\0';
    return word;
}

struct mount {
    const char *point;
    const char *options;
    const char *type;
    const char *device;
};

/* "36 35 98:0 /root /point rw,noatime shared:1 - ext4 /dev/sda1 rw" (proc(5)). */
static bool mount_parse(char *line, struct mount *out)
{
    char *at = line;
    char *words[6] = {NULL};
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        words[i] = mount_word(&at);
        if (words[i] == NULL)
            return false;
    }
    for (char *word = mount_word(&at); word == NULL || strcmp(word, "-") != 0;
         word = mount_word(&at)) {
        if (word == NULL)
            return false;
    }
    *out = (struct mount){.point = words[4], .options = words[5]};
    out->type = mount_word(&at);
    out->device = mount_word(&at);
    return out->type != NULL && out->device != NULL;
}

static bool is_below(const char *path, const char *point)
{
    size_t size = strlen(point);
    if (size == 1)
        return path[0] == '/';
    return strncmp(path, point, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

bool local_mount_of(const char *mountinfo, const char *path, struct arena *arena,
                    const char **out_filesystem, const char **out_device)
{
    char *rest = NULL;
    size_t longest = 0;
    struct mount best = {.type = NULL};
    char *text = arena_strdup(arena, mountinfo);
    if (text == NULL)
        return false;
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        struct mount mount;
        if (!mount_parse(line, &mount) || !is_below(path, mount.point) ||
            strlen(mount.point) < longest)
            continue;
        longest = strlen(mount.point); /* of equals the last: it covers the others */
        best = mount;
    }
    *out_filesystem =
        best.type == NULL ? "" : arena_printf(arena, "%s %s", best.type, best.options);
    *out_device = best.type == NULL ? "" : best.device;
    return *out_filesystem != NULL;
}

/* The path, or the nearest of its parents that exists, without symbolic links. */
static bool nearest_real(const char *path, char out[PATH_MAX])
{
    char parent[PATH_MAX];
    if (strlen(path) >= sizeof parent)
        return false;
    snprintf(parent, sizeof parent, "%s", path);
    while (realpath(parent, out) == NULL) {
        char *slash = strrchr(parent, '/');
        if (slash == NULL)
            return realpath(".", out) != NULL;
        if (slash == parent)
            slash++;
        if (*slash == '\0')
            return false;
        *slash = '\0';
    }
    return true;
}

static bool mount_facts(const char *path, struct arena *arena, struct host_facts *out)
{
    char real[PATH_MAX];
    struct arena scratch CLEANUP(arena_close) = {.block = NULL};
    out->filesystem = out->device = "";
    if (path == NULL || !nearest_real(path, real))
        return true;
    arena_open(&scratch, 3 * MOUNTS_LIMIT_BYTES);
    char *mounts = arena_alloc(&scratch, MOUNTS_LIMIT_BYTES);
    if (mounts == NULL)
        return false;
    small_read(mounts, MOUNTS_LIMIT_BYTES, "", "/proc/self/mountinfo");
    if (!local_mount_of(mounts, real, &scratch, &out->filesystem, &out->device))
        return false;
    out->filesystem = arena_strdup(arena, out->filesystem);
    out->device = arena_strdup(arena, out->device);
    return out->filesystem != NULL && out->device != NULL;
}

/* --- machine ---------------------------------------------------------------------------------- */

static const char *cpu_model(struct arena *arena, const char *cpuinfo)
{
    const char *line = strstr(cpuinfo, "model name");
    const char *colon = line == NULL ? NULL : strchr(line, ':');
    if (colon == NULL)
        return "";
    colon += strspn(colon, ": \t");
    return arena_strndup(arena, colon, strcspn(colon, "\n"));
}

/* By what a machine's firmware calls itself; the names are systemd-detect-virt's. */
static const char *virtualisation(const char *cpuinfo)
{
    static const struct {
        const char *file;
        const char *prefix;
        const char *name;
    } signs[] = {
        {"/sys/hypervisor/type", "xen", "xen"},
        {"/sys/class/dmi/id/product_name", "KVM", "kvm"},
        {"/sys/class/dmi/id/sys_vendor", "QEMU", "kvm"},
        {"/sys/class/dmi/id/sys_vendor", "Amazon EC2", "amazon"},
        {"/sys/class/dmi/id/sys_vendor", "VMware", "vmware"},
        {"/sys/class/dmi/id/sys_vendor", "innotek", "oracle"},
        {"/sys/class/dmi/id/sys_vendor", "Xen", "xen"},
        {"/sys/class/dmi/id/sys_vendor", "Parallels", "parallels"},
        {"/sys/class/dmi/id/sys_vendor", "Google", "google"},
        {"/sys/class/dmi/id/product_name", "Virtual Machine", "microsoft"},
    };
    bool is_pc = strstr(cpuinfo, "\nflags") != NULL;
    bool is_virtual = strstr(cpuinfo, " hypervisor") != NULL;
    char text[256];
    for (size_t i = 0; i < COUNT_OF(signs) && (is_virtual || !is_pc); i++) {
        if (text_starts_with(small_read(text, sizeof text, "", signs[i].file), signs[i].prefix))
            return signs[i].name;
    }
    return is_virtual ? "vm" : is_pc ? "none" : "";
}

static bool machine_facts(struct arena *arena, struct host_facts *out)
{
    char text[2 * SMALL_BYTES];
    struct utsname system;
    if (uname(&system) != 0)
        memset(&system, 0, sizeof system);
    out->name = arena_strdup(arena, system.nodename);
    out->kernel = arena_printf(arena, "%s %s %s", system.sysname, system.release, system.machine);
    small_read(text, sizeof text, "", "/proc/cpuinfo");
    out->cpu_model = cpu_model(arena, text);
    out->virtualisation = virtualisation(text);
    small_read(text, sizeof text, "", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    out->governor = arena_strdup(arena, text);
    small_read(text, sizeof text, "", "/proc/sys/kernel/random/boot_id");
    out->boot_id = arena_strdup(arena, text);
    return out->name != NULL && out->kernel != NULL && out->cpu_model != NULL &&
           out->governor != NULL && out->boot_id != NULL;
}

bool local_facts(const char *path, struct arena *arena, struct host_facts *out, struct err *err)
{
    long cpu_count = sysconf(_SC_NPROCESSORS_ONLN);
    *out = (struct host_facts){
        .memory_bytes = local_memory_bytes(""),
        .cpu_count = cpu_count > 0 ? cpu_count : 0,
    };
    return (machine_facts(arena, out) && mount_facts(path, arena, out)) || err_memory(err);
}
