// usage: ways WAY PROGRAM ARGUMENTS...
// Starts a program by the function or in the state that WAY names, and prints its status.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

// Makes two system calls fail with ENOSYS from now on.
static void without(unsigned one, unsigned other)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof rules / sizeof *rules, rules };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) perror("seccomp");
}

// Sets state of the process that execve(2) preserves or resets.
static void prepare(const char *way)
{
    if (!strcmp(way, "pending")) {
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR1);
        sigprocmask(SIG_BLOCK, &set, NULL);
        raise(SIGUSR1);
        signal(SIGUSR2, SIG_IGN);
    }
    if (!strcmp(way, "alternative-stack")) {
        static char memory[65536];
        sigaltstack(&(stack_t){ .ss_sp = memory, .ss_size = sizeof memory }, NULL);
    }
    if (!strcmp(way, "death-signal")) prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (!strcmp(way, "no-rseq")) without(SYS_rseq, SYS_rseq);
    if (!strcmp(way, "no-symlink")) without(SYS_symlink, SYS_symlinkat);
}

static void replace(const char *way, const char *program, char **words)
{
    if (!strcmp(way, "execve")) execve(program, words, environ);
    if (!strcmp(way, "execv")) execv(program, words);
    if (!strcmp(way, "execvp")) execvp(program, words);
    if (!strcmp(way, "execvpe")) execvpe(program, words, environ);
    if (!strcmp(way, "execl")) execl(program, words[0], words[1], (char *)NULL);
    if (!strcmp(way, "execlp")) execlp(program, words[0], words[1], (char *)NULL);
    if (!strcmp(way, "execle")) execle(program, words[0], words[1], (char *)NULL, environ);
    if (!strcmp(way, "fexecve")) fexecve(open(program, O_RDONLY | O_CLOEXEC), words, environ);
    if (!strcmp(way, "fexecve-path")) fexecve(open(program, O_PATH), words, environ);
    if (!strcmp(way, "execveat")) execveat(AT_FDCWD, program, words, environ, 0);
    if (!strcmp(way, "execveat-fd")) execveat(open(program, O_PATH | O_CLOEXEC), "", words, environ, AT_EMPTY_PATH);
    if (!strcmp(way, "execveat-folder")) {
        char *folder = strdup(program), *slash = strrchr(folder, '/');
        *slash = 0;
        execveat(open(folder, O_PATH | O_DIRECTORY), slash + 1, words, environ, 0);
    }
    if (!strcmp(way, "execveat-nofollow")) execveat(AT_FDCWD, program, words, environ, AT_SYMLINK_NOFOLLOW);
    if (!strcmp(way, "no-words")) { char *none[] = { NULL }; execve(program, none, environ); }
    if (!strcmp(way, "no-environment")) execve(program, words, (char *[]){ NULL });
    if (!strcmp(way, "null-environment")) execve(program, words, NULL);
    if (!strcmp(way, "odd-environment"))
        execve(program, words, (char *[]){ "A", "=x", "", "A=1", "A=2", "LANG=C.UTF-8", NULL });
    if (strchr("padn", *way)) {
        prepare(way);
        execve(program, words, environ);
    }
    if (!strcmp(way, "syscall")) syscall(SYS_execve, program, words, environ);
    printf("%s: %s\n", way, strerror(errno));
    fflush(stdout);
    _exit(127);
}

static pid_t start(const char *way, const char *program, char **words)
{
    pid_t child = -1;
    if (!strcmp(way, "spawn")) { errno = posix_spawn(&child, program, NULL, NULL, words, environ); return child; }
    if (!strcmp(way, "spawnp")) { errno = posix_spawnp(&child, program, NULL, NULL, words, environ); return child; }
    if (!strcmp(way, "spawn-actions")) {
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        sigset_t set;
        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 5, "/dev/null", O_WRONLY, 0);
        posix_spawn_file_actions_adddup2(&actions, 1, 6);
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setsigmask(&attributes, &set);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
        errno = posix_spawn(&child, program, &actions, &attributes, words, environ);
        return child;
    }
    if (!strcmp(way, "spawn-chdir")) {
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addchdir_np(&actions, "/");
        errno = posix_spawn(&child, program, &actions, NULL, words, environ);
        return child;
    }
    if (!strncmp(way, "vfork-", 6)) {
        child = vfork();
        if (child == 0) { replace(way + 6, program, words); }
        return child;
    }
    child = fork();
    if (child == 0) replace(way, program, words);
    return child;
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    setvbuf(stdout, NULL, _IOLBF, 0);
    pid_t child = start(argv[1], argv[2], argv + 2);
    if (child < 0) return printf("%s: %s\n", argv[1], strerror(errno)), 1;
    int status;
    waitpid(child, &status, 0);
    printf("status %x\n", status);
    return 0;
}
