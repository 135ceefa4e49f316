// Prints what each function returns and leaves in errno, in success and failure, and which threads are cancelled where.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void say(const char *what, int result) {
    printf("%s: %d %d\n", what, result, errno);
    errno = 77;
}
#define SAY(call) (errno = 77, say(#call, call))

static struct timespec in(int clock, long milliseconds) {
    struct timespec time;
    clock_gettime(clock, &time);
    long nanoseconds = time.tv_nsec + milliseconds * 1000000;
    return (struct timespec){time.tv_sec + nanoseconds / 1000000000, nanoseconds % 1000000000};
}

static pthread_mutex_t made(int type, int protocol, int robust, int shared) {
    pthread_mutex_t mutex;
    pthread_mutexattr_t how;
    pthread_mutexattr_init(&how);
    pthread_mutexattr_settype(&how, type);
    pthread_mutexattr_setprotocol(&how, protocol);
    pthread_mutexattr_setrobust(&how, robust);
    pthread_mutexattr_setpshared(&how, shared);
    SAY(pthread_mutex_init(&mutex, &how));
    return mutex;
}

static void *other(void *given) {
    pthread_mutex_t *mutex = given;
    struct timespec soon = in(CLOCK_REALTIME, 5), never = {0, -1}, past = {1, 0}, monotonic = in(CLOCK_MONOTONIC, 5);
    SAY(pthread_mutex_trylock(mutex));
    SAY(pthread_mutex_timedlock(mutex, &soon));
    SAY(pthread_mutex_timedlock(mutex, &never));
    SAY(pthread_mutex_timedlock(mutex, &past));
    SAY(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &monotonic));
    SAY(pthread_mutex_clocklock(mutex, CLOCK_PROCESS_CPUTIME_ID, &monotonic));
    SAY(pthread_mutex_unlock(mutex) && mutex->__data.__kind & 3);
    return NULL;
}

static void run(void *(*routine)(void *), void *given) {
    pthread_t thread;
    void *result;
    // Print nothing here: two threads run, and their order varies.
    int created = pthread_create(&thread, NULL, routine, given), joined = pthread_join(thread, &result);
    SAY(created);
    SAY(joined);
    printf("returned %ld\n", (long)result);
}

static void *dies(void *mutex) {
    SAY(pthread_mutex_lock(mutex));
    return (void *)5;
}

static void mutexes(void) {
    for (int type = 0; type < 4; type++)
        for (int protocol = 0; protocol < 2; protocol++)
            for (int robust = 0; robust < 2; robust++)
                for (int shared = 0; shared < 2; shared++) {
                    printf("mutex %d %d %d %d\n", type, protocol, robust, shared);
                    pthread_mutex_t mutex = made(type, protocol, robust, shared);
                    SAY(pthread_mutex_lock(&mutex));
                    if (type == PTHREAD_MUTEX_NORMAL || type == PTHREAD_MUTEX_ADAPTIVE_NP) run(other, &mutex);
                    else if (type == PTHREAD_MUTEX_RECURSIVE) {
                        SAY(pthread_mutex_lock(&mutex));
                        SAY(pthread_mutex_trylock(&mutex));
                        run(other, &mutex);
                        SAY(pthread_mutex_unlock(&mutex));
                        SAY(pthread_mutex_unlock(&mutex));
                    } else {
                        struct timespec soon = in(CLOCK_REALTIME, 5);
                        SAY(pthread_mutex_lock(&mutex));
                        SAY(pthread_mutex_trylock(&mutex));
                        SAY(pthread_mutex_timedlock(&mutex, &soon));
                        run(other, &mutex);
                    }
                    SAY(pthread_mutex_destroy(&mutex));
                    SAY(pthread_mutex_unlock(&mutex));
                    if (type == PTHREAD_MUTEX_ERRORCHECK || type == PTHREAD_MUTEX_RECURSIVE) SAY(pthread_mutex_unlock(&mutex));
                    if (robust) {
                        run(dies, &mutex);
                        SAY(pthread_mutex_lock(&mutex));
                        SAY(pthread_mutex_consistent(&mutex));
                        SAY(pthread_mutex_unlock(&mutex));
                        run(dies, &mutex);
                        SAY(pthread_mutex_trylock(&mutex));
                        SAY(pthread_mutex_unlock(&mutex));
                        SAY(pthread_mutex_lock(&mutex));
                        SAY(pthread_mutex_trylock(&mutex));
                    }
                    SAY(pthread_mutex_destroy(&mutex));
                }
    pthread_mutex_t protecting = made(0, PTHREAD_PRIO_PROTECT, 0, 0);
    SAY(pthread_mutex_lock(&protecting));
    run(other, &protecting);
    SAY(pthread_mutex_unlock(&protecting));
}

static void *reads(void *given) {
    pthread_rwlock_t *lock = given;
    struct timespec soon = in(CLOCK_REALTIME, 5), never = {0, 1000000000};
    SAY(pthread_rwlock_tryrdlock(lock));
    SAY(pthread_rwlock_trywrlock(lock));
    SAY(pthread_rwlock_timedrdlock(lock, &soon));
    SAY(pthread_rwlock_timedrdlock(lock, &never));
    SAY(pthread_rwlock_timedwrlock(lock, &soon));
    struct timespec monotonic = in(CLOCK_MONOTONIC, 5);
    SAY(pthread_rwlock_clockwrlock(lock, CLOCK_MONOTONIC, &monotonic));
    SAY(pthread_rwlock_clockrdlock(lock, 55, &soon));
    return NULL;
}

static void rwlocks(void) {
    for (int kind = 0; kind < 3; kind++) {
        pthread_rwlock_t lock;
        pthread_rwlockattr_t how;
        struct timespec never = {0, -5}, soon = in(CLOCK_REALTIME, 5);
        pthread_rwlockattr_init(&how);
        pthread_rwlockattr_setkind_np(&how, kind);
        SAY(pthread_rwlock_init(&lock, &how));
        SAY(pthread_rwlock_timedrdlock(&lock, &never));
        SAY(pthread_rwlock_rdlock(&lock));
        SAY(pthread_rwlock_rdlock(&lock));
        SAY(pthread_rwlock_trywrlock(&lock));
        SAY(pthread_rwlock_unlock(&lock));
        SAY(pthread_rwlock_unlock(&lock));
        SAY(pthread_rwlock_wrlock(&lock));
        SAY(pthread_rwlock_wrlock(&lock));
        SAY(pthread_rwlock_rdlock(&lock));
        SAY(pthread_rwlock_timedwrlock(&lock, &soon));
        pthread_t thread;
        pthread_create(&thread, NULL, reads, &lock);
        pthread_join(thread, NULL);
        SAY(pthread_rwlock_unlock(&lock));
        SAY(pthread_rwlock_destroy(&lock));
    }
}

static void semaphores(void) {
    sem_t semaphore;
    struct timespec soon = in(CLOCK_REALTIME, 5), never = {0, -1};
    SAY(sem_init(&semaphore, 0, 1u << 31));
    SAY(sem_init(&semaphore, 0, 2));
    SAY(sem_timedwait(&semaphore, &never));
    SAY(sem_clockwait(&semaphore, 55, &soon));
    SAY(sem_wait(&semaphore));
    SAY(sem_trywait(&semaphore));
    SAY(sem_trywait(&semaphore));
    SAY(sem_timedwait(&semaphore, &soon));
    SAY(sem_timedwait(&semaphore, &never));
    SAY(sem_clockwait(&semaphore, CLOCK_REALTIME, &soon));
    SAY(sem_destroy(&semaphore));
}

static void others(void) {
    pthread_spinlock_t spinlock;
    SAY(pthread_spin_init(&spinlock, 0));
    SAY(pthread_spin_lock(&spinlock));
    SAY(pthread_spin_trylock(&spinlock));
    SAY(pthread_spin_unlock(&spinlock));
    SAY(pthread_spin_destroy(&spinlock));
    pthread_mutex_t mutex = made(PTHREAD_MUTEX_ERRORCHECK, 0, 0, 0);
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    struct timespec soon = in(CLOCK_REALTIME, 5), monotonic = in(CLOCK_MONOTONIC, 5), never = {0, -1};
    SAY(pthread_cond_timedwait(&condition, &mutex, &soon));
    SAY(pthread_mutex_lock(&mutex));
    SAY(pthread_cond_timedwait(&condition, &mutex, &soon));
    SAY(pthread_cond_timedwait(&condition, &mutex, &never));
    SAY(pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &monotonic));
    SAY(pthread_cond_clockwait(&condition, &mutex, 55, &monotonic));
    SAY(pthread_mutex_unlock(&mutex));
    SAY(pthread_cond_destroy(&condition));
    SAY(pthread_join(pthread_self(), NULL));
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setaffinity_np(&attributes, 0, NULL);
    struct sched_param first = {99};
    (void)first;
    pthread_t thread;
    pthread_attr_setstacksize(&attributes, 1ul << 46);
    SAY(pthread_create(&thread, &attributes, dies, NULL));
}

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t nothing = PTHREAD_COND_INITIALIZER;
static sem_t empty, full;
static pthread_barrier_t ready;
static pthread_key_t key;

static void clean(void *name) {
    int value;
    sem_getvalue(&full, &value);
    printf("cleaned up after %s, %d, %d\n", (char *)name, pthread_mutex_trylock(&plain), value);
    pthread_mutex_unlock(&plain);
}

static void ended(void *name) {
    pthread_mutex_lock(&plain);
    printf("destroyed after %s\n", (char *)name);
    pthread_mutex_unlock(&plain);
}

static void *sleeps(void *given) {
    pause();
    return given;
}

static void *in_condition(void *name) {
    pthread_setspecific(key, name);
    pthread_cleanup_push(clean, name);
    pthread_mutex_lock(&plain);
    pthread_barrier_wait(&ready);
    for (;;) pthread_cond_wait(&nothing, &plain);
    pthread_cleanup_pop(0);
}

static void *in_semaphore(void *name) {
    pthread_setspecific(key, name);
    pthread_cleanup_push(clean, name);
    pthread_barrier_wait(&ready);
    for (;;) sem_wait(&empty);
    pthread_cleanup_pop(0);
}

static void *in_timed(void *name) {
    struct timespec far = in(CLOCK_REALTIME, 100000);
    pthread_setspecific(key, name);
    pthread_cleanup_push(clean, name);
    pthread_barrier_wait(&ready);
    for (;;) sem_timedwait(&empty, &far);
    pthread_cleanup_pop(0);
}

static void *in_join(void *name) {
    static pthread_t thread;
    pthread_create(&thread, NULL, sleeps, NULL);
    pthread_setspecific(key, name);
    pthread_cleanup_push(clean, name);
    pthread_barrier_wait(&ready);
    pthread_join(thread, NULL);
    pthread_cleanup_pop(0);
    return NULL;
}

// Whether pthread_cancel(3) was called.
static volatile int is_cancelled;

// Cancelled before sem_wait(3), which must not decrement the semaphore then.
static void *before_semaphore(void *name) {
    pthread_setspecific(key, name);
    pthread_cleanup_push(clean, name);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_barrier_wait(&ready);
    while (!is_cancelled) usleep(1000);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    sem_wait(&full);
    printf("not cancelled\n");
    pthread_cleanup_pop(0);
    return NULL;
}

// pthread_mutex_lock(3) is not a cancellation point.
static void *in_lock(void *name) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_barrier_wait(&ready);
    while (!is_cancelled) usleep(1000);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    printf("%s came through\n", (char *)name);
    pthread_setspecific(key, name);
    pthread_exit((void *)9);
}

static void cancellation(void) {
    void *(*all[])(void *) = {in_condition, in_semaphore, in_timed, in_join, before_semaphore, in_lock};
    const char *names[] = {"a condition", "a semaphore", "a timed semaphore", "a join", "a cancelled wait", "a lock"};
    sem_init(&empty, 0, 0), sem_init(&full, 0, 3);
    pthread_key_create(&key, ended);
    for (unsigned number = 0; number < sizeof all / sizeof *all; number++) {
        pthread_t thread;
        void *result;
        is_cancelled = 0;
        pthread_barrier_init(&ready, NULL, 2);
        pthread_create(&thread, NULL, all[number], (void *)names[number]);
        pthread_barrier_wait(&ready);
        usleep(10000);
        int cancelled = pthread_cancel(thread);
        is_cancelled = 1;
        int joined = pthread_join(thread, &result);
        SAY(cancelled);
        SAY(joined);
        printf("%s: %ld\n", names[number], (long)result);
    }
}

static void *in_main(void *thread) {
    pthread_join(*(pthread_t *)thread, NULL);
    printf("the first thread has ended\n");
    exit(3);
}

int main(void) {
    setvbuf(stdout, NULL, _IONBF, 0);
    mutexes(), rwlocks(), semaphores(), others(), cancellation();
    static pthread_t self;
    self = pthread_self();
    pthread_t thread;
    pthread_create(&thread, NULL, in_main, &self);
    pthread_exit(NULL);
}
