// Two threads each take a lock and then wait for the other's; the first waits for the second to end.
#include <pthread.h>
#include <stdio.h>
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

int main(void) {
    pthread_t threads[2];
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&threads[0], NULL, locks, &one);
    pthread_create(&threads[1], NULL, locks, &other);
    usleep(100000);
    printf("%p %p\n", (void *)&one, (void *)&other);
    fflush(stdout);
    pthread_join(threads[0], NULL);
    return 0;
}
