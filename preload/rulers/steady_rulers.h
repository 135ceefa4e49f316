/* Rulers: some tens of microseconds of fixed work each. The CPU time of a ruler shows how slow a resource of the
 * machine is now.
 *
 * Run one right before a request, on the thread that will serve it, and report its time to the agent. `steady release`
 * then separates the cost of the request from the state of the machine. Any thread may call these functions, also in a
 * forked child. They acquire no locks, leave no descriptor open, and may change errno. */
#ifndef STEADY_RULERS_H
#define STEADY_RULERS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    STEADY_RULER_ICODE = 0,   /* 700 small functions in permuted order: instruction fetch */
    STEADY_RULER_SYSCALL = 1, /* 30 short system calls and a byte through a pipe */
    STEADY_RULER_ALU = 2,     /* a chain of dependent integer operations */
    STEADY_RULER_MEMORY = 3   /* dependent loads from 4 MiB, which stay allocated after the first run */
};

/* Runs a ruler once. Returns the CPU time that it took the calling thread, in nanoseconds; 0 on failure. */
uint64_t steady_ruler(int kind);

/* Returns how long the calling thread has waited for a CPU so far, in nanoseconds; UINT64_MAX if the kernel does not
 * report it. */
uint64_t steady_run_delay(void);

/* Returns the version of the rulers' work. Readings of different versions must not be compared. */
int steady_rulers_version(void);

#ifdef __cplusplus
}
#endif

#endif
