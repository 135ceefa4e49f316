/* The main thread waits for a mutex for half a second. While it waits, its signal handler waits for another one. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_held, waits, handles;
static pthread_t first;

static void handle(int signal) {
    (void)signal;
    handles = 1;
    pthread_mutex_lock(&inner);
    pthread_mutex_unlock(&inner);
}

static void *hold(void *nothing) {
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    is_held = 1;
    while (!waits) usleep(1000);
    /* Until the main thread really waits. */
    usleep(300000);
    pthread_kill(first, SIGUSR1);
    while (!handles) usleep(1000);
    usleep(100000);
    pthread_mutex_unlock(&inner);
    usleep(100000);
    pthread_mutex_unlock(&outer);
    return nothing;
}

int main(void) {
    pthread_t thread;
    first = pthread_self();
    signal(SIGUSR1, handle);
    if (pthread_create(&thread, NULL, hold, NULL)) return 1;
    while (!is_held) usleep(1000);
    waits = 1;
    pthread_mutex_lock(&outer);
    pthread_mutex_unlock(&outer);
    return pthread_join(thread, NULL);
}
