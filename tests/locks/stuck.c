/* A deadlock: two threads wait for each other's lock, and the main thread waits for the first of them to end. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *up(void *nothing) {
    pthread_mutex_lock(&one);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&other); /* up hangs */
    return nothing;
}

static void *down(void *nothing) {
    pthread_mutex_lock(&other);
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&one); /* down hangs */
    return nothing;
}

int main(void) {
    pthread_t threads[2];
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&threads[0], NULL, up, NULL);
    pthread_create(&threads[1], NULL, down, NULL);
    puts("stuck");
    fflush(stdout);
    pthread_join(threads[0], NULL); /* main hangs */
    return 0;
}
