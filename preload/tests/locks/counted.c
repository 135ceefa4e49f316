// argv[1] threads acquire a lock of type argv[2]. Each does so argv[3] times, and holds it for argv[4] ns by its own
// clock. Prints the nanoseconds that all threads together waited for the lock and held it, measured around the calls.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t checking = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t robust, inheriting, protecting;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static sem_t semaphore;
static const char *kind;
static long times, hold;
static _Atomic long waited, held;

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static pthread_mutex_t *chosen(void) {
    if (!strcmp(kind, "recursive")) return &recursive;
    if (!strcmp(kind, "checking")) return &checking;
    if (!strcmp(kind, "adaptive")) return &adaptive;
    if (!strcmp(kind, "robust")) return &robust;
    if (!strcmp(kind, "inheriting")) return &inheriting;
    if (!strcmp(kind, "protecting")) return &protecting;
    return &mutex;
}

static int acquire(long number) {
    struct timespec far = {.tv_sec = time(NULL) + 1000};
    int more = number % 3;
    if (!strcmp(kind, "write")) return more == 2 ? pthread_rwlock_timedwrlock(&rwlock, &far) : pthread_rwlock_wrlock(&rwlock);
    if (!strcmp(kind, "read")) return more == 2 ? pthread_rwlock_timedrdlock(&rwlock, &far) : pthread_rwlock_rdlock(&rwlock);
    if (!strcmp(kind, "spin")) return pthread_spin_lock(&spinlock);
    if (!strcmp(kind, "semaphore")) return more == 2 ? sem_timedwait(&semaphore, &far) : sem_wait(&semaphore);
    if (more == 0) return pthread_mutex_timedlock(chosen(), &far);
    if (more == 1) return pthread_mutex_clocklock(chosen(), CLOCK_REALTIME, &far);
    return pthread_mutex_lock(chosen());
}

static int release(void) {
    if (!strcmp(kind, "write") || !strcmp(kind, "read")) return pthread_rwlock_unlock(&rwlock);
    if (!strcmp(kind, "spin")) return pthread_spin_unlock(&spinlock);
    if (!strcmp(kind, "semaphore")) return sem_post(&semaphore);
    return pthread_mutex_unlock(chosen());
}

static void *work(void *nothing) {
    for (long number = 0; number < times; number++) {
        long before = now();
        if (acquire(number)) abort();
        long after = now();
        while (hold && now() - after < hold) ;
        long end = now();
        if (release()) abort();
        waited += after - before;
        held += end - after;
    }
    return nothing;
}

static void initialise(void) {
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&inheriting, &attributes);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_PROTECT);
    pthread_mutex_init(&protecting, &attributes);
    pthread_spin_init(&spinlock, 0);
    sem_init(&semaphore, 0, 1);
}

int main(int argc, char **argv) {
    if (argc < 5) return 2;
    initialise();
    // PTHREAD_PRIO_PROTECT: the default ceiling is the lowest real-time priority.
    struct sched_param least = {.sched_priority = 1};
    if (!strcmp(argv[2], "protecting") && sched_setscheduler(0, SCHED_FIFO, &least)) return 77;
    kind = argv[2], times = atol(argv[3]), hold = atol(argv[4]);
    long count = atol(argv[1]);
    pthread_t threads[count];
    for (long number = 0; number < count; number++) pthread_create(&threads[number], NULL, work, NULL);
    for (long number = 0; number < count; number++) pthread_join(threads[number], NULL);
    printf("%ld %ld\n", waited, held);
    return 0;
}
