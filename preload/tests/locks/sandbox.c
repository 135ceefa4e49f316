// Restricts its system calls to those that threads need, with the function argv[1]. Any other system call kills it.
// With "test", it only tests what the kernel has.
// Then it acquires locks at new call sites and in new threads.
#define _GNU_SOURCE
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const int allowed[] = {
    SYS_read, SYS_write, SYS_mmap, SYS_mprotect, SYS_munmap, SYS_brk, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn,
    SYS_clone, SYS_clone3, SYS_futex, SYS_set_robust_list, SYS_rseq, SYS_exit, SYS_exit_group, SYS_newfstatat, SYS_fstat,
    SYS_madvise, SYS_getrandom,
};
enum { COUNT = sizeof allowed / sizeof *allowed };

static int restrict_calls(const char *way) {
    struct sock_filter filter[COUNT + 3];
    filter[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
    for (int at = 0; at < COUNT; at++)
        filter[at + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, allowed[at], COUNT - at, 0);
    filter[COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    filter[COUNT + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {.len = COUNT + 3, .filter = filter};
    // As libseccomp tests whether there is seccomp(2).
    syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL);
    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL);
    if (!strcmp(way, "test")) return 0;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 1;
    if (!strcmp(way, "syscall")) return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void *work(void *nothing) {
    for (int time = 0; time < 10000; time++) pthread_mutex_lock(&lock), pthread_mutex_unlock(&lock);
    return nothing;
}

int main(int argc, char **argv) {
    pthread_t threads[3];
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    if (argc < 2 || restrict_calls(argv[1])) return 77;
    for (int number = 0; number < 3; number++)
        if (pthread_create(&threads[number], NULL, work, NULL)) return 2;
    for (int number = 0; number < 3; number++) pthread_join(threads[number], NULL);
    printf("ok\n");
    return 5;
}
