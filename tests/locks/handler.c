/* The main thread waits for a mutex for 150 ms. While it waits, its signal handler waits for another one for 50 ms. */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_held;

static void handle(int signal) {
    (void)signal;
    pthread_mutex_lock(&inner);
    pthread_mutex_unlock(&inner);
}

static void *hold(void *nothing) {
    pthread_mutex_lock(&outer);
    pthread_mutex_lock(&inner);
    is_held = 1;
    usleep(100000);
    pthread_mutex_unlock(&inner);
    usleep(50000);
    pthread_mutex_unlock(&outer);
    return nothing;
}

int main(void) {
    pthread_t thread;
    sigset_t alarm;
    struct itimerval after = {.it_value = {.tv_usec = 50000}};
    signal(SIGALRM, handle);
    sigemptyset(&alarm);
    sigaddset(&alarm, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarm, NULL);
    if (pthread_create(&thread, NULL, hold, NULL)) return 1;
    while (!is_held) usleep(100);
    pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
    if (setitimer(ITIMER_REAL, &after, NULL)) return 2;
    pthread_mutex_lock(&outer);
    pthread_mutex_unlock(&outer);
    return pthread_join(thread, NULL);
}
