// Starts the program argv[2] with the arguments "a" and "b", in the way argv[1].
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
    // The smallest stack.
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 16384);
    pthread_t threads[64];
    for (int i = 0; i < 64; i++)
        if (pthread_create(&threads[i], &small, spawn_some, NULL)) return failed("thread");
    for (int i = 0; i < 64; i++) pthread_join(threads[i], NULL);
    return 0;
}

static int still_spawning = 1;

static void *spawn_and_end(void *unused) {
    for (int turn = 0; turn < 12; turn++) spawn_some(unused);
    __atomic_store_n(&still_spawning, 0, __ATOMIC_RELAXED);
    return NULL;
}

static void *do_nothing(void *unused) { return unused; }

// Creates threads while another thread starts programs.
static int threads_besides(void) {
    pthread_t spawning, thread;
    if (pthread_create(&spawning, NULL, spawn_and_end, NULL)) return failed("thread");
    while (__atomic_load_n(&still_spawning, __ATOMIC_RELAXED)) {
        if ((errno = pthread_create(&thread, NULL, do_nothing, NULL))) return failed("another thread");
        pthread_join(thread, NULL);
    }
    return pthread_join(spawning, NULL);
}

// A readable page filled with a string that has no NUL, followed by an unmapped page.
static char *endless(void) {
    char *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(pages + 4096, 4096);
    memset(pages, 'A', 4096);
    return pages + 4000;
}

static char **endless_vector(char *first) {
    char **vector = (char **)(endless() + 96) - 1;
    *vector = first;
    return vector;
}

enum { PAINT = 0x5a, PAINTED = 128 << 10, SMALLEST = 16384 };
static char *way_on_stack;
static char *many_words[203], *many_variables[503];

static int try_on_stack(void) {
    char *way = way_on_stack;
    pid_t child = -1;
    if (is(way, "spawn")) return posix_spawn(&child, program, NULL, NULL, arguments, environ) ? 98 : waited(child);
    if (is(way, "spawnp")) return posix_spawnp(&child, program, NULL, NULL, arguments, environ) ? 98 : waited(child);
    child = vfork();
    if (child == 0) {
        if (is(way, "execl")) execl(program, "x", "a", "b", NULL);
        if (is(way, "execlp")) execlp(program, "x", "a", "b", NULL);
        if (is(way, "execle")) execle(program, "x", "a", "b", NULL, environ);
        if (is(way, "execv")) execv(program, arguments);
        if (is(way, "execvp")) execvp(program, arguments);
        if (is(way, "execvpe")) execvpe(program, arguments, environ);
        if (is(way, "execve")) execve(program, arguments, environ);
        if (is(way, "execve-many")) execve(program, many_words, environ);
        if (is(way, "execve-variables")) execve(program, arguments, many_variables);
        _exit(97);
    }
    return waited(child);
}

static void *on_stack(void *status) {
    *(int *)status = try_on_stack();
    return NULL;
}

// Runs `way` in a thread with the smallest stack, or prints how much of a large, painted stack it uses.
static int on_small_stack(const char *way, int measures) {
    int status = 99;
    size_t bytes = measures ? PAINTED : SMALLEST;
    char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 200; i++) many_words[i] = "w";
    for (int i = 0; i < 500; i++) many_variables[i] = "V=1";
    way_on_stack = (char *)way;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, bytes);
    // Do lazy lookups before the measurement.
    for (int turn = 0; turn < 1 + measures; turn++) {
        memset(stack, PAINT, bytes);
        pthread_t thread;
        if (pthread_create(&thread, &attributes, on_stack, &status)) return failed("thread");
        pthread_join(thread, NULL);
    }
    size_t untouched = 0;
    while (stack[untouched] == PAINT) untouched++;
    if (measures) printf("used %zu\n", bytes - untouched);
    return status;
}

static int count_mappings(void) {
    int lines = 0, letter;
    FILE *maps = fopen("/proc/self/maps", "r");
    while ((letter = fgetc(maps)) != EOF) lines += letter == '\n';
    fclose(maps);
    return lines;
}

// Prints how many mappings are added by repeated launches from vfork(2).
static int leaves_mappings(void) {
    way_on_stack = "execve";
    try_on_stack();
    int before = count_mappings();
    for (int turn = 0; turn < 20; turn++) try_on_stack();
    printf("more mappings: %d\n", count_mappings() - before);
    return 0;
}

static void huge(void) {
    // 8000 arguments of 250 bytes: the kernel's limit is a quarter of the stack limit.
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
    struct stat found;
    char buffer[256];
    setvbuf(stdout, NULL, _IONBF, 0);
    if (is(way, "execl")) execl(program, "x", "a", "b", NULL);
    if (is(way, "execl-many")) execl(program, "x", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", NULL);
    if (is(way, "execlp")) execlp(program, "x", "a", "b", NULL);
    if (is(way, "execle")) execle(program, "x", "a", "b", NULL, environ);
    if (is(way, "execle-many")) execle(program, "x", "1", "2", "3", "4", "5", "6", "7", "8", NULL, environ);
    if (is(way, "execle-environment")) execle(program, "x", "a", "b", NULL, (char *[]){"LD_BIND_NOW=1", NULL});
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
    if (is(way, "execve-endless")) execve(endless(), arguments, environ);
    if (is(way, "execve-arguments-endless")) execve(program, endless_vector("x"), environ);
    if (is(way, "execve-argument-endless")) execve(program, (char *[]){"x", endless(), NULL}, environ);
    if (is(way, "execve-argument-nowhere")) execve(program, (char *[]){"x", (char *)-1, NULL}, environ);
    if (is(way, "execve-environment-endless")) execve(program, arguments, endless_vector("A=1"));
    if (is(way, "execve-variable-endless")) execve(program, arguments, (char *[]){"A=1", endless(), NULL});
    if (is(way, "execve-unmapped")) execve(endless() + 96, arguments, environ);
    if (is(way, "execveat-nowhere")) execveat(AT_FDCWD, (char *)4096, arguments, environ, 0);
    if (is(way, "fexecve-arguments-nowhere")) fexecve(file, (char **)4096, environ);
    if (is(way, "readlink-nowhere")) readlink((char *)4096, buffer, sizeof buffer);
    if (is(way, "readlink-into-nowhere")) readlink("/proc/self/exe", (char *)4096, 4096);
    if (is(way, "open-nowhere")) open((char *)4096, O_RDONLY);
    if (is(way, "stat-nowhere")) stat((char *)4096, &found);
    if (is(way, "stat-into-nowhere")) stat("/proc/self/exe", (struct stat *)4096);
    if (is(way, "fopen-nowhere")) fopen((char *)4096, "r");
    if (strncmp(way, "small-", 6) == 0) return on_small_stack(way + 6, 0);
    if (strncmp(way, "painted-", 8) == 0) return on_small_stack(way + 8, 1);
    if (is(way, "threads-besides")) return threads_besides();
    if (is(way, "leaves-mappings")) return leaves_mappings();
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
