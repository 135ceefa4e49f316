// Mutexes, conditions and threads of threads.h: prints what each call returns; four threads increment a counter.
#include <stdio.h>
#include <threads.h>
#include <time.h>

#define SAY(call) printf("%s = %d\n", #call, (int)(call))

static mtx_t plain, recursive, timed;
static cnd_t condition;
static long counted;
static int ready;

static struct timespec soon(void) {
    struct timespec time;
    timespec_get(&time, TIME_UTC);
    time.tv_nsec += 20000000;
    if (time.tv_nsec >= 1000000000) time.tv_nsec -= 1000000000, time.tv_sec++;
    return time;
}

static int counts(void *nothing) {
    (void)nothing;
    for (int number = 0; number < 10000; number++) mtx_lock(&plain), counted++, mtx_unlock(&plain);
    return 7;
}

static int others(void *nothing) {
    (void)nothing;
    struct timespec time = soon();
    SAY(mtx_trylock(&timed));
    SAY(mtx_timedlock(&timed, &time));
    mtx_lock(&plain);
    ready = 1;
    cnd_signal(&condition);
    mtx_unlock(&plain);
    return -3;
}

int main(void) {
    thrd_t threads[4];
    int result;
    SAY(mtx_init(&plain, mtx_plain));
    SAY(mtx_init(&recursive, mtx_plain | mtx_recursive));
    SAY(mtx_init(&timed, mtx_timed));
    SAY(mtx_init(&timed, 77));
    SAY(cnd_init(&condition));
    for (int number = 0; number < 4; number++) SAY(thrd_create(&threads[number], counts, NULL));
    for (int number = 0; number < 4; number++) SAY(thrd_join(threads[number], &result) * 100 + result);
    SAY(counted);
    SAY(mtx_lock(&recursive)), SAY(mtx_lock(&recursive)), SAY(mtx_unlock(&recursive)), SAY(mtx_unlock(&recursive));
    SAY(mtx_unlock(&recursive));
    SAY(mtx_lock(&timed));
    SAY(mtx_lock(&plain));
    thrd_create(&threads[0], others, NULL);
    while (!ready) cnd_wait(&condition, &plain);
    struct timespec time = soon();
    SAY(cnd_timedwait(&condition, &plain, &time));
    SAY(mtx_unlock(&plain));
    SAY(thrd_join(threads[0], &result) * 100 + result);
    SAY(mtx_unlock(&timed));
    mtx_destroy(&plain), mtx_destroy(&timed), cnd_destroy(&condition);
    return 0;
}
