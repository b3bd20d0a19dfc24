/*
 * For analysers, which see one file at a time: the functions that fill an error record always
 * return false. Without this they follow paths on which a failed function went on.
 */
#include "sweeper/base/err.h"

#define err_set(...) ((void)err_set(__VA_ARGS__), false)
#define err_set_errno(...) ((void)err_set_errno(__VA_ARGS__), false)
#define err_memory(...) ((void)err_memory(__VA_ARGS__), false)
#define err_hint(...) ((void)err_hint(__VA_ARGS__), false)
#define err_origin(...) ((void)err_origin(__VA_ARGS__), false)
#define err_native(...) ((void)err_native(__VA_ARGS__), false)
#define err_while(...) ((void)err_while(__VA_ARGS__), false)
#define err_reclass(...) ((void)err_reclass(__VA_ARGS__), false)
