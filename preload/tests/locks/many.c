// Uses argv[2] threads or mutexes. argv[1] selects the scenario. "threads": eight threads run concurrently, and each
// acquires a mutex once. "locks": each mutex is initialised at its own address, acquired twice and destroyed. "reused":
// the same, with all mutexes at one address. "kept": like "locks", but no mutex is destroyed.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long acquired;

static void *acquire_once(void *nothing) {
    pthread_mutex_lock(&lock);
    acquired++;
    pthread_mutex_unlock(&lock);
    return nothing;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    long count = atol(argv[2]);
    if (!strcmp(argv[1], "threads")) {
        pthread_t threads[8];
        for (long number = 0; number < count; number += 8) {
            for (int one = 0; one < 8; one++) if (pthread_create(&threads[one], NULL, acquire_once, NULL)) abort();
            for (int one = 0; one < 8; one++) pthread_join(threads[one], NULL);
        }
        printf("%ld\n", acquired);
        return 0;
    }
    pthread_mutex_t *locks = calloc(count, sizeof *locks);
    for (long number = 0; number < count; number++) {
        pthread_mutex_t *one = &locks[strcmp(argv[1], "reused") ? number : 0];
        if (pthread_mutex_init(one, NULL)) abort();
        for (int time = 0; time < 2; time++) if (pthread_mutex_lock(one) || pthread_mutex_unlock(one)) abort();
        if (strcmp(argv[1], "kept") && pthread_mutex_destroy(one)) abort();
    }
    printf("%ld\n", 2 * count);
    return 0;
}
