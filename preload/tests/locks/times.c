// Two threads acquire a lock of type argv[1] alternately, argv[2] times. The first thread releases it 2 ms after the
// second has arrived, so the second always waits, also on a busy machine. The second then holds it for 3 ms. Prints how
// long the second thread waited for the lock and held it, by its own clock, and how long the first held it.
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, nested = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opens = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static sem_t begin, end;
static const char *kind;
static long times, first, waited, held;
static int open_;
// How often the second thread has arrived at the lock.
static atomic_long arrived;

static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000L + time.tv_nsec;
}

static void acquire(void) {
    if (!strcmp(kind, "rwlock")) pthread_rwlock_wrlock(&rwlock);
    else if (!strcmp(kind, "read")) pthread_rwlock_rdlock(&rwlock);
    else if (!strcmp(kind, "spin")) pthread_spin_lock(&spinlock);
    else if (!strcmp(kind, "recursive")) pthread_mutex_lock(&nested), pthread_mutex_lock(&nested), pthread_mutex_unlock(&nested);
    else pthread_mutex_lock(&mutex);
}

static void release(void) {
    if (!strcmp(kind, "rwlock") || !strcmp(kind, "read")) pthread_rwlock_unlock(&rwlock);
    else if (!strcmp(kind, "spin")) pthread_spin_unlock(&spinlock);
    else if (!strcmp(kind, "recursive")) pthread_mutex_unlock(&nested);
    else pthread_mutex_unlock(&mutex);
}

static void *second(void *nothing) {
    for (long number = 0; number < times; number++) {
        sem_wait(&begin);
        long before = now();
        arrived = number + 1;
        acquire();
        long after = now();
        usleep(3000);
        held += now() - after, waited += after - before;
        release();
        sem_post(&end);
    }
    return nothing;
}

static void *waits(void *nothing) {
    pthread_mutex_lock(&gate);
    for (long number = 0; number < times; number++) {
        long before = now();
        arrived = number + 1;
        while (!open_) pthread_cond_wait(&opens, &gate);
        waited += now() - before;
        open_ = 0;
        sem_post(&end);
    }
    pthread_mutex_unlock(&gate);
    return nothing;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    kind = argv[1], times = atol(argv[2]);
    pthread_spin_init(&spinlock, 0);
    sem_init(&begin, 0, 0), sem_init(&end, 0, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, strcmp(kind, "condition") ? second : waits, NULL);
    for (long number = 0; number < times; number++) {
        if (!strcmp(kind, "condition")) {
            // The gate is free when the thread waits for the condition.
            while (arrived <= number) usleep(100);
            usleep(3000);
            pthread_mutex_lock(&gate);
            open_ = 1;
            pthread_cond_signal(&opens);
            pthread_mutex_unlock(&gate);
        } else {
            if (!strcmp(kind, "read")) pthread_rwlock_wrlock(&rwlock);
            else acquire();
            long after = now();
            sem_post(&begin);
            while (arrived <= number) usleep(100);
            usleep(2000);
            first += now() - after;
            release();
        }
        sem_wait(&end);
    }
    long before = now();
    pthread_join(thread, NULL);
    printf("%ld %ld %ld %ld\n", waited, held, first, now() - before);
    return 0;
}
