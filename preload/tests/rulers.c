/* Uses the rulers as a service does, under unusual conditions too. Prints one result per line. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <steady_rulers.h>

static uint64_t cpu(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* Returns whether every ruler runs, and takes no more time than is measured around it. */
static int all_run(void)
{
    for (int kind = 0; kind < 4; kind++) {
        uint64_t begin = cpu();
        uint64_t took = steady_ruler(kind);
        if (took == 0 || took > cpu() - begin)
            return 0;
    }
    return 1;
}

static int open_descriptors(void)
{
    int count = 0;
    for (int number = 0; number < 200; number++)
        count += dup2(number, number) == number;
    return count;
}

static void *many(void *failures)
{
    for (int run = 0; run < 500; run++)
        if (!all_run())
            ++*(int *)failures;
    return NULL;
}

static int in_threads(void)
{
    pthread_t threads[8];
    int failures[8] = {0}, sum = 0;
    for (int thread = 0; thread < 8; thread++)
        pthread_create(&threads[thread], NULL, many, &failures[thread]);
    for (int thread = 0; thread < 8; thread++) {
        pthread_join(threads[thread], NULL);
        sum += failures[thread];
    }
    return sum == 0;
}

static int in_child(int without_streams)
{
    pid_t child = fork();
    if (child == 0) {
        int before;
        if (without_streams) {
            close(0);
            close(1);
            close(2);
        }
        before = open_descriptors();
        _exit(all_run() && open_descriptors() == before ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int without_descriptors(void)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 3;
    setrlimit(RLIMIT_NOFILE, &limit);
    return steady_ruler(STEADY_RULER_SYSCALL) == 0 && steady_ruler(STEADY_RULER_ALU) > 0 && steady_run_delay() == UINT64_MAX;
}

int main(void)
{
    printf("version %d\n", steady_rulers_version());
    int before = open_descriptors();
    printf("all run %d\n", all_run());
    printf("others %d\n", steady_ruler(-1) == 0 && steady_ruler(4) == 0 && steady_ruler(1 << 30) == 0);
    printf("in threads %d\n", in_threads());
    printf("in a child %d\n", in_child(0));
    printf("without streams %d\n", in_child(1));
    printf("delay %d\n", steady_run_delay() != UINT64_MAX);
    printf("left open %d\n", open_descriptors() - before);
    printf("without descriptors %d\n", without_descriptors());
    return 0;
}
