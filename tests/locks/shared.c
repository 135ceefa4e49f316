/* A process waits for a mutex that it had, and that its child has now, until a signal ends the process. */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

struct shared {
    pthread_mutex_t mutex;
    volatile int is_locked;
};

int main(void) {
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(&shared->mutex, &attributes);
    pthread_mutex_lock(&shared->mutex);
    pthread_mutex_unlock(&shared->mutex);
    if (fork() == 0) {
        pthread_mutex_lock(&shared->mutex);
        shared->is_locked = 1;
        sleep(60);
        _exit(0);
    }
    while (!shared->is_locked) usleep(1000);
    alarm(2);
    return pthread_mutex_lock(&shared->mutex);
}
