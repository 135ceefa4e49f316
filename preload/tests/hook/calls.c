// Starts the program argv[2] by the way that argv[1] names, with the arguments "a" and "b".
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static char *program, *arguments[] = {"x", "a", "b", NULL}, *nothing[] = {NULL};

static int is(char *way, char *name) { return strcmp(way, name) == 0; }

static int failed(const char *what) {
    printf("%s: %s\n", what, strerror(errno));
    return 1;
}

static int waited(pid_t child) {
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int spawned(char *way) {
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    if (strstr(way, "dup2")) posix_spawn_file_actions_adddup2(&actions, 1, 7);
    if (strstr(way, "once")) posix_spawn_file_actions_addopen(&actions, 7, "once", O_CREAT | O_EXCL | O_RDWR, 0600);
    if (strstr(way, "chdir")) posix_spawn_file_actions_addchdir_np(&actions, "bin");
    if (strstr(way, "wrong")) posix_spawn_file_actions_adddup2(&actions, 77, 78);
    pid_t child;
    int (*spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[],
                 char *const[]) = strstr(way, "spawnp") ? posix_spawnp : posix_spawn;
    int error = spawn(&child, program, strstr(way, "null") ? NULL : &actions, NULL, arguments, environ);
    if (error) return printf("%s\n", strerror(error)), 1;
    return waited(child);
}

static void *spawn_some(void *unused) {
    (void)unused;
    for (int turn = 0; turn < 5; turn++) {
        pid_t child;
        if (posix_spawn(&child, program, NULL, NULL, arguments, environ) || waited(child)) abort();
    }
    return NULL;
}

static int many_threads(void) {
    // Small stacks, as small as they may be.
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384);
    pthread_t threads[64];
    for (int i = 0; i < 64; i++)
        if (pthread_create(&threads[i], &small, spawn_some, NULL)) return failed("thread");
    for (int i = 0; i < 64; i++) pthread_join(threads[i], NULL);
    return 0;
}

static void huge(void) {
    // Eight thousand arguments of 250 bytes: the most that the kernel takes is a quarter of the stack's limit.
    static char *many[8003];
    char *word = malloc(251);
    memset(word, 'w', 250);
    word[250] = 0;
    many[0] = "x";
    for (int i = 1; i < 8000; i++) many[i] = word;
    execv(program, many);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    char *way = argv[1];
    program = argv[2];
    int folder = open("bin", O_DIRECTORY | O_CLOEXEC);
    int file = open(program, O_PATH | O_CLOEXEC);
    setvbuf(stdout, NULL, _IONBF, 0);
    if (is(way, "execl")) execl(program, "x", "a", "b", NULL);
    if (is(way, "execl-many")) execl(program, "x", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", NULL);
    if (is(way, "execlp")) execlp(program, "x", "a", "b", NULL);
    if (is(way, "execle")) execle(program, "x", "a", "b", NULL, environ);
    if (is(way, "execle-many")) execle(program, "x", "1", "2", "3", "4", "5", "6", "7", "8", NULL, environ);
    if (is(way, "execle-tells")) execle(program, "x", "a", "b", NULL, (char *[]){"LD_BIND_NOW=1", NULL});
    if (is(way, "execv")) execv(program, arguments);
    if (is(way, "execve")) execve(program, arguments, environ);
    if (is(way, "execve-no-environment")) execve(program, arguments, NULL);
    if (is(way, "execve-no-arguments")) execve(program, NULL, environ);
    if (is(way, "execve-empty-arguments")) execve(program, nothing, environ);
    if (is(way, "execve-nowhere")) execve((char *)-1, arguments, environ);
    if (is(way, "execve-lowest")) execve((char *)1, arguments, environ);
    if (is(way, "execve-arguments-nowhere")) execve(program, (char **)-8, environ);
    if (is(way, "execve-environment-nowhere")) execve(program, arguments, (char **)-8);
    if (is(way, "execve-variable-nowhere")) execve(program, arguments, (char *[]){"A=1", (char *)-1, NULL});
    if (is(way, "spawn-nowhere")) return spawned((program = (char *)-1, way));
    if (is(way, "execvp")) execvp(program, arguments);
    if (is(way, "execvpe")) execvpe(program, arguments, environ);
    if (is(way, "fexecve")) fexecve(file, arguments, environ);
    if (is(way, "execveat")) execveat(AT_FDCWD, program, arguments, environ, 0);
    if (is(way, "execveat-folder")) execveat(folder, "tool", arguments, environ, 0);
    if (is(way, "execveat-file")) execveat(file, "", arguments, environ, AT_EMPTY_PATH);
    if (is(way, "execveat-nofollow")) execveat(AT_FDCWD, program, arguments, environ, AT_SYMLINK_NOFOLLOW);
    if (is(way, "execveat-bad")) execveat(-1, "tool", arguments, environ, 0);
    if (is(way, "huge")) huge();
    if (is(way, "vfork")) {
        pid_t child = vfork();
        if (child == 0) {
            execve(program, arguments, environ);
            _exit(errno);
        }
        return waited(child);
    }
    if (is(way, "closed")) {
        pid_t child = fork();
        if (child == 0) {
            close(0), close(1), close(2);
            execve(program, arguments, environ);
            _exit(errno);
        }
        return waited(child);
    }
    if (is(way, "threads")) return many_threads();
    if (strncmp(way, "spawn", 5) == 0) return spawned(way);
    return failed(way);
}
