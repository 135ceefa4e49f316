// Without arguments, a deadlock: two threads each acquire a lock and wait for the other's; the main thread joins one.
// `had`: a thread waits for a lock of the main thread, acquires and keeps it. Then the main thread waits for the lock.
// `left`: as `had`, but the thread ends.
// `passed`: a thread waits for a lock of the main thread, acquires and releases it.
// `signalled`: as `had`, but the thread acquires the lock as it returns from a wait for a condition.
// `count FILE`: four threads acquire a lock in an endless loop and count the acquisitions in the file.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *locks(void *first) {
    for (int time = 0; time < 100; time++) pthread_mutex_lock(first), pthread_mutex_unlock(first);
    pthread_mutex_lock(first);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(first == &one ? &other : &one);
    return NULL;
}

// Whether the second thread is about to wait, and has the lock.
static volatile int about_to_wait, has;

static void *keeps(void *leaves) {
    about_to_wait = 1;
    pthread_mutex_lock(&one);
    has = 1;
    printf("had\n");
    fflush(stdout);
    if (!leaves) pause();
    return NULL;
}

static int had(char *leaves) {
    pthread_t thread;
    pthread_mutex_lock(&one);
    pthread_create(&thread, NULL, keeps, leaves);
    while (!about_to_wait) usleep(1000);
    usleep(100000);
    pthread_mutex_unlock(&one);
    // On a busy machine, the second thread may get the lock much later.
    while (!has) usleep(1000);
    usleep(50000);
    pthread_mutex_lock(&one);
    return 0;
}

static void *passes(void *nothing) {
    about_to_wait = 1;
    pthread_mutex_lock(&one);
    pthread_mutex_unlock(&one);
    return nothing;
}

static int passed(void) {
    pthread_t thread;
    pthread_mutex_lock(&one);
    pthread_create(&thread, NULL, passes, NULL);
    while (!about_to_wait) usleep(1000);
    usleep(100000);
    pthread_mutex_unlock(&one);
    return pthread_join(thread, NULL);
}

static pthread_cond_t news = PTHREAD_COND_INITIALIZER;

static void *waits_for_signal(void *nothing) {
    pthread_mutex_lock(&one);
    about_to_wait = 1;
    pthread_cond_wait(&news, &one);
    has = 1;
    printf("had\n");
    fflush(stdout);
    pause();
    return nothing;
}

static int signalled(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, waits_for_signal, NULL);
    while (!about_to_wait) usleep(1000);
    // Until the thread has released the lock.
    usleep(100000);
    pthread_mutex_lock(&one);
    pthread_cond_signal(&news);
    pthread_mutex_unlock(&one);
    while (!has) usleep(1000);
    pthread_mutex_lock(&one);
    return 0;
}

static void *counts(void *counted) {
    for (;;) {
        pthread_mutex_lock(&one);
        ++*(volatile long *)counted;
        for (volatile int step = 0; step < 100; step++) ;
        pthread_mutex_unlock(&one);
    }
    return NULL;
}

static int count(const char *path) {
    int file = open(path, O_RDWR | O_CREAT, 0600);
    if (file < 0 || ftruncate(file, 4096)) return 1;
    void *counted = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    pthread_t thread;
    for (int number = 0; number < 4; number++) pthread_create(&thread, NULL, counts, counted);
    return pause();
}

int main(int argc, char **argv) {
    pthread_t threads[2];
    if (argc == 2 && !strcmp(argv[1], "passed")) return passed();
    if (argc == 2 && !strcmp(argv[1], "signalled")) return signalled();
    if (argc == 2) return had(strcmp(argv[1], "left") ? NULL : argv[1]);
    if (argc == 3) return count(argv[2]);
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&threads[0], NULL, locks, &one);
    pthread_create(&threads[1], NULL, locks, &other);
    usleep(100000);
    printf("%p %p\n", (void *)&one, (void *)&other);
    fflush(stdout);
    pthread_join(threads[0], NULL);
    return 0;
}
