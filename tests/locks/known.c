/* usage: known LOCK THREADS ROUNDS HOLD ALONE
 *
 * In each round, each thread acquires the lock (mutex, rwlock, spinlock or none), sleeps HOLD microseconds, releases
 * the lock, and sleeps ALONE microseconds. Prints three numbers in seconds: how long all threads together waited for
 * the lock, how long they held it, and the duration of the whole run. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spinlock;
static pthread_barrier_t all_there;
static const char *kind;
static long rounds, hold, alone;
/* Times of one thread, in seconds. */
struct seen {
    double waited, held;
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void rest(long microseconds) {
    struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};
    if (microseconds > 0)
        nanosleep(&time, NULL);
}

static void take(void) {
    if (!strcmp(kind, "mutex"))
        pthread_mutex_lock(&mutex); /* taken here */
    else if (!strcmp(kind, "rwlock"))
        pthread_rwlock_wrlock(&rwlock);
    else if (!strcmp(kind, "spinlock"))
        pthread_spin_lock(&spinlock);
}

static void leave(void) {
    if (!strcmp(kind, "mutex"))
        pthread_mutex_unlock(&mutex);
    else if (!strcmp(kind, "rwlock"))
        pthread_rwlock_unlock(&rwlock);
    else if (!strcmp(kind, "spinlock"))
        pthread_spin_unlock(&spinlock);
}

static void *work(void *place) {
    struct seen *seen = place;
    pthread_barrier_wait(&all_there);
    for (long round = 0; round < rounds; round++) {
        double before = now();
        take();
        double taken = now();
        seen->waited += taken - before;
        rest(hold);
        double held = now() - taken;
        leave();
        seen->held += held;
        rest(alone);
    }
    return NULL;
}

int main(int count, char **words) {
    if (count < 6)
        return 2;
    kind = words[1];
    long threads = atol(words[2]);
    rounds = atol(words[3]), hold = atol(words[4]), alone = atol(words[5]);
    pthread_spin_init(&spinlock, 0);
    pthread_barrier_init(&all_there, NULL, threads);
    pthread_t made[64];
    struct seen each[64] = {0}, sum = {0};
    double begin = now();
    for (long thread = 0; thread < threads; thread++)
        pthread_create(&made[thread], NULL, work, &each[thread]);
    for (long thread = 0; thread < threads; thread++)
        pthread_join(made[thread], NULL), sum.waited += each[thread].waited, sum.held += each[thread].held;
    printf("%.6f %.6f %.6f\n", sum.waited, sum.held, now() - begin);
    return 0;
}
