// argv[1] selects how processes are created or share locks. Each process acquires its locks a known number of times.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(int times) {
    while (times--) pthread_mutex_lock(&mutex), pthread_mutex_unlock(&mutex);
}

static volatile int done, go_on;

static void *locks(void *nothing) {
    lock(1000);
    done = 1;
    // This thread exists while the process forks, and holds nothing.
    while (!go_on) usleep(1000);
    return nothing;
}

static void ended(pid_t child) {
    int status;
    if (waitpid(child, &status, 0) != child || status) abort();
}

// Whether a process sleeps, as in a system call that waits for a lock: its state in proc_pid_stat(5).
static int sleeps(pid_t process) {
    char path[64], name[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%*d (%63[^)]) %c", name, &state) != 2) state = 0;
        fclose(file);
    }
    return state == 'S';
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    char *way = argv[1];
    if (!strcmp(way, "fork")) {
        pthread_t thread;
        pthread_create(&thread, NULL, locks, NULL);
        lock(10);
        while (!done) usleep(1000);
        for (int number = 0; number < 2; number++) {
            pid_t child = fork();
            if (!child) {
                // The second child cannot open the area any more, and has no descriptor of it.
                if (number && chroot("/proc/self/fdinfo")) perror("chroot");
                pid_t grandchild = fork();
                if (!grandchild) lock(7), exit(0);
                ended(grandchild);
                lock(20 + number);
                go_on = 1;
                pthread_t more;
                pthread_create(&more, NULL, locks, NULL);
                pthread_join(more, NULL);
                exit(0);
            }
            ended(child);
        }
        go_on = 1;
        pthread_join(thread, NULL);
    } else if (!strcmp(way, "vfork")) {
        lock(10);
        pid_t child = vfork();
        if (!child) execl(argv[0], argv[0], "end", NULL), _exit(1);
        ended(child);
        lock(1);
    } else if (!strcmp(way, "end")) {
        lock(3);
    } else if (!strcmp(way, "shared")) {
        pthread_mutex_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        pthread_mutexattr_t how;
        pthread_mutexattr_init(&how);
        pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED);
        pthread_mutex_init(shared, &how);
        pthread_mutex_lock(shared);
        pid_t child = fork();
        if (!child) {
            for (int time = 0; time < 50; time++) pthread_mutex_lock(shared), pthread_mutex_unlock(shared);
            exit(0);
        }
        while (!sleeps(child)) usleep(1000);
        usleep(50000);
        pthread_mutex_unlock(shared);
        ended(child);
    } else if (!strcmp(way, "library")) {
        for (int time = 0; time < 3; time++) {
            void *library = dlopen(argv[2], RTLD_NOW);
            if (!library) return 3;
            ((void (*)(void))dlsym(library, "lock_own"))();
            dlclose(library);
        }
    }
    puts("ok");
    return 0;
}
