/* Rulers: some tens of microseconds of a fixed work, whose CPU time tells how a resource of the machine fares right now.
 *
 * Run one right before a request, on the thread that will serve it, and tell the agent how long it took: then what the request
 * costs can be told from how the machine happens to fare. Any thread may call these functions, in a forked child too; they take
 * no locks, leave no descriptor open, and may change errno. */
#ifndef STEADY_RULERS_H
#define STEADY_RULERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    STEADY_RULER_ICODE = 0,   /* 700 small functions in permuted order: the fetching of instructions */
    STEADY_RULER_SYSCALL = 1, /* 30 short system calls and a byte through a pipe */
    STEADY_RULER_ALU = 2,     /* a chain of dependent integer operations */
    STEADY_RULER_MEMORY = 3   /* dependent loads from 4 MiB, which the library keeps once this has run */
};

/* Runs a ruler once: the CPU time that it took the calling thread in nanoseconds; 0 where it cannot be had. */
uint64_t steady_ruler(int kind);

/* How long the calling thread has waited for a CPU so far, in nanoseconds; UINT64_MAX where the kernel does not tell. */
uint64_t steady_run_delay(void);

/* What the rulers do: readings of different versions are not to be compared. */
int steady_rulers_version(void);

#ifdef __cplusplus
}
#endif

#endif
