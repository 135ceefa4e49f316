/* The process ends while a thread that has waited for a mutex cannot acquire it: the mutex is free, but a thread with
 * real-time priority uses the CPU of the thread. The waiting thread is also the last one that acquired the mutex without
 * waiting. Prints why this is not possible here, if it is not. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_first_done, is_second_in, is_blocked, is_free;

static int keep_to(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

static void *first(void *nothing) {
    keep_to(0);
    pthread_mutex_lock(&mutex);
    is_first_done = 1;
    usleep(100000);
    pthread_mutex_unlock(&mutex);
    while (!is_second_in) usleep(1000);
    pthread_mutex_lock(&mutex);
    return nothing;
}

static void *second(void *nothing) {
    keep_to(1);
    while (!is_first_done) usleep(1000);
    pthread_mutex_lock(&mutex);
    is_second_in = 1;
    while (!is_blocked) usleep(1000);
    pthread_mutex_unlock(&mutex);
    is_free = 1;
    pause();
    return nothing;
}

static void *block(void *nothing) {
    keep_to(0);
    is_blocked = 1;
    for (;;) ;
    return nothing;
}

int main(void) {
    pthread_t threads[3];
    struct sched_param priority = {.sched_priority = 1};
    if (keep_to(0)) return puts("CPU 0 may not be used") < 0;
    if (keep_to(1)) return puts("CPU 1 may not be used") < 0;
    if (pthread_create(&threads[0], NULL, first, NULL) || pthread_create(&threads[1], NULL, second, NULL)) return 1;
    while (!is_second_in) usleep(1000);
    /* The first thread waits for longer than half a second. */
    usleep(1000000);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &priority);
    int error = pthread_create(&threads[2], &attributes, block, NULL);
    if (error) return printf("no real-time priority: %s\n", strerror(error)) < 0;
    while (!is_free) ;
    return 0;
}
