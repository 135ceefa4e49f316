/* Causes one kind of event a given number of times. Where the time goes is known by construction.
 *
 *   made faults N              touches N new pages
 *   made calls N               makes N system calls by number (getppid)
 *   made pingpong N            passes a byte back and forth N times between two processes
 *   made forks N               forks N processes, one after the other, which exit immediately
 *   made execs N               executes this program N times, one after the other, with the argument `end`
 *   made sleep SECONDS         sleeps
 *   made spin SECONDS          uses this much CPU time
 *   made locks THREADS SECONDS each thread in turn acquires one lock and uses this much CPU time while holding it
 *   made end                   exits immediately
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static double thread_cpu(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static void spin(double seconds) {
    for (double end = thread_cpu() + seconds; thread_cpu() < end;)
        for (volatile int round = 0; round < 1000; round++)
            ;
}

static void faults(long n) {
    if (n == 0)
        return;
    char *memory = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        fail("mmap");
    madvise(memory, n * 4096, MADV_NOHUGEPAGE);
    for (long page = 0; page < n; page++)
        memory[page * 4096] = 1;
}

static void calls(long n) {
    for (long call = 0; call < n; call++)
        syscall(SYS_getppid);
}

static void pass(int from, int to, long n, int first) {
    char byte = 0;
    for (long round = 0; round < n; round++) {
        if (first && write(to, &byte, 1) != 1)
            fail("write");
        if (read(from, &byte, 1) != 1)
            fail("read");
        if (!first && write(to, &byte, 1) != 1)
            fail("write");
    }
}

static void pingpong(long n) {
    int there[2], back[2];
    if (pipe(there) || pipe(back))
        fail("pipe");
    pid_t child = fork();
    if (child < 0)
        fail("fork");
    if (child == 0) {
        pass(there[0], back[1], n, 0);
        _exit(0);
    }
    pass(back[0], there[1], n, 1);
    waitpid(child, NULL, 0);
}

static void forks(long n) {
    for (long process = 0; process < n; process++) {
        pid_t child = fork();
        if (child < 0)
            fail("fork");
        if (child == 0)
            _exit(0);
        waitpid(child, NULL, 0);
    }
}

static void execs(long n) {
    for (long process = 0; process < n; process++) {
        pid_t child = vfork();
        if (child < 0)
            fail("vfork");
        if (child == 0) {
            execl("/proc/self/exe", "made", "end", NULL);
            _exit(127);
        }
        waitpid(child, NULL, 0);
    }
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *hold(void *seconds) {
    pthread_mutex_lock(&lock);
    spin(*(double *)seconds);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void locks(int count, double seconds) {
    pthread_t threads[count];
    for (int thread = 0; thread < count; thread++)
        if (pthread_create(&threads[thread], NULL, hold, &seconds))
            fail("pthread_create");
    for (int thread = 0; thread < count; thread++)
        pthread_join(threads[thread], NULL);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    const char *much = argc > 2 ? argv[2] : "0";
    if (!strcmp(what, "faults"))
        faults(atol(much));
    else if (!strcmp(what, "calls"))
        calls(atol(much));
    else if (!strcmp(what, "pingpong"))
        pingpong(atol(much));
    else if (!strcmp(what, "forks"))
        forks(atol(much));
    else if (!strcmp(what, "execs"))
        execs(atol(much));
    else if (!strcmp(what, "sleep"))
        usleep(1e6 * atof(much));
    else if (!strcmp(what, "spin"))
        spin(atof(much));
    else if (!strcmp(what, "locks") && argc == 4)
        locks(atoi(much), atof(argv[3]));
    else if (strcmp(what, "end")) {
        fputs("see the top of made.c\n", stderr);
        return 2;
    }
    return 0;
}
