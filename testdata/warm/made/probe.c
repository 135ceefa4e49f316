// Prints what a program can find out about its start: one fact per argument. Appends to the file LOG, whose path is
// compiled in, whether it runs from a snapshot. It makes some system calls directly, because the hook interposes the C
// functions.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void note(void)
{
    char exe[PATH_MAX] = "";
    long length = syscall(SYS_readlink, "/proc/self/exe", exe, sizeof exe - 1);
    int log = syscall(SYS_openat, AT_FDCWD, LOG, O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (log < 0) return;
    const char *how = length < 0 ? "unknown\n" : strstr(exe, "/snapshots/") ? "warm\n" : "usual\n";
    if (write(log, how, strlen(how)) < 0) abort();
    close(log);
}

static uint64_t at_thread(int offset)
{
    uint64_t word;
    if (offset == 0x28) __asm__("mov %%fs:0x28, %0" : "=r"(word));
    else __asm__("mov %%fs:0x30, %0" : "=r"(word));
    return word;
}

static void *stack_of_thread(void *size)
{
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, size);
    pthread_attr_destroy(&attributes);
    return NULL;
}

static void own_stack(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t size;
    int failed = pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &low, &size);
    int inside = (char *)&size >= (char *)low && (char *)&size < (char *)low + size;
    printf("stack: %d inside %d size %d\n", failed, inside, size > 100000);
    size_t thread_size = 0;
    pthread_t thread;
    if (pthread_create(&thread, NULL, stack_of_thread, &thread_size) == 0) pthread_join(thread, NULL);
    printf("thread's stack: %zu\n", thread_size);
}

static void addresses(void)
{
    void *mapped = malloc(1 << 20);
    printf("stack %p\nmmap %p\nvdso %#lx\nbrk %p\n", (void *)&mapped, mapped, getauxval(AT_SYSINFO_EHDR), sbrk(0));
    printf("canary %#lx\nguard %#lx\n", at_thread(0x28), at_thread(0x30));
    printf("program %p\nlibrary %p\n", (void *)addresses, (void *)(uintptr_t)strtol);
    free(mapped);
}

static void descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    int most = -1, count = 0;
    while (folder && (entry = readdir(folder))) {
        int number = atoi(entry->d_name);
        if (entry->d_name[0] == '.' || number == dirfd(folder)) continue;
        count++;
        most = number > most ? number : most;
    }
    if (folder) closedir(folder);
    printf("descriptors: %d up to %d\n", count, most);
}

static void signals(void)
{
    FILE *status = fopen("/proc/self/status", "r");
    char line[256];
    while (status && fgets(line, sizeof line, status))
        if ((!strncmp(line, "Sig", 3) && line[3] != 'Q') || !strncmp(line, "ShdPnd", 6) || !strncmp(line, "NoNewPrivs", 10)
            || !strncmp(line, "Seccomp:", 8) || !strncmp(line, "Cap", 3) || !strncmp(line, "Threads", 7)
            || !strncmp(line, "Cpus_allowed_list", 17))
            fputs(line, stdout);
    if (status) fclose(status);
    stack_t alternative;
    sigaltstack(NULL, &alternative);
    printf("alternative stack: %d\n", alternative.ss_flags);
}

static void limits(void)
{
    for (int kind = 0; kind < RLIM_NLIMITS; kind++) {
        struct rlimit limit;
        getrlimit(kind, &limit);
        printf("limit %d: %ld %ld\n", kind, (long)limit.rlim_cur, (long)limit.rlim_max);
    }
}

static void place(void)
{
    char folder[PATH_MAX];
    long length = syscall(SYS_getcwd, folder, sizeof folder);
    printf("folder: %s\n", length < 0 ? strerror(errno) : folder);
    mode_t mask = umask(0);
    umask(mask);
    printf("umask %o nice %d scheduler %d personality %x\n", mask, getpriority(PRIO_PROCESS, 0),
           sched_getscheduler(0), personality(0xffffffff));
    printf("leader %d group %d foreground %d terminal %d\n", getsid(0) == getpid(), getpgrp() == getpid(),
           tcgetpgrp(0) == getpgrp(), isatty(0));
    printf("uid %d %d gid %d %d secure %lu\n", getuid(), geteuid(), getgid(), getegid(), getauxval(AT_SECURE));
}

static void words(int argc, char **argv)
{
    char name[32] = "";
    prctl(PR_GET_NAME, name);
    printf("%d arguments, name %s, %s, comm %s\n", argc, argc ? argv[0] : "none", program_invocation_short_name, name);
    unsigned long sum = 0, bytes = 0;
    for (int i = 1; i < argc; i++)
        for (char *c = argv[i]; *c; c++) sum = sum * 31 + (unsigned char)*c, bytes++;
    printf("bytes %lu sum %lu\n", bytes, sum);
    const char *preload = getenv("LD_PRELOAD");
    int count = 0;
    for (char **each = environ; each && *each; each++)
        if (strncmp(*each, "LD_PRELOAD=", 11)) count++, sum = sum * 31 + strlen(*each);
    printf("%d variables besides the preloaded%s, sum %lu\n", count, preload && strchr(preload, ' ') ? " ones" : "", sum);
    uint64_t random[2];
    memcpy(random, (void *)getauxval(AT_RANDOM), 16);
    printf("canary as the kernel drew it: %d, guard: %d\n", (random[0] & ~0xffUL) == at_thread(0x28), random[1] == at_thread(0x30));
    printf("entry and headers: %d %d, page %lu, base %d\n", getauxval(AT_ENTRY) != 0, (int)getauxval(AT_PHNUM) > 4,
           getauxval(AT_PAGESZ), getauxval(AT_BASE) != 0);
    const char *execfn = (const char *)getauxval(AT_EXECFN);
    printf("called as %s\n", execfn ? strrchr(execfn, '/') ? strrchr(execfn, '/') : execfn : "nothing");
}

static void local(void)
{
    const char *set = setlocale(LC_ALL, "");
    printf("locale %s, %s, %s, %zu\n", set ? set : "none", nl_langinfo(CODESET), nl_langinfo(DAY_2), MB_CUR_MAX);
    time_t moment = 1700000000;
    char text[64];
    tzset();
    strftime(text, sizeof text, "%F %T %Z", localtime(&moment));
    printf("time %s, %s/%s\n", text, tzname[0], tzname[1]);
}

static void restartable(void)
{
    // The kernel rejects this area if the C library has already registered one.
    static char area[32] __attribute__((aligned(32)));
    long result = syscall(SYS_rseq, area, sizeof area, 0, 0x53053053);
    printf("rseq: %s\n", result < 0 ? strerror(errno) : "registered only now");
    struct { void *head; size_t length; } robust;
    syscall(SYS_get_robust_list, 0, &robust.head, &robust.length);
    printf("robust list %d %zu, thread %d\n", robust.head != NULL, robust.length, syscall(SYS_set_tid_address, &area) == getpid());
}

int main(int argc, char **argv)
{
    note();
    for (int i = 1; i < argc; i++) {
        const char *fact = argv[i];
        if (!strcmp(fact, "--")) break;
        if (!strcmp(fact, "stack")) own_stack();
        if (!strcmp(fact, "addresses")) addresses();
        if (!strcmp(fact, "descriptors")) descriptors();
        if (!strcmp(fact, "signals")) signals();
        if (!strcmp(fact, "limits")) limits();
        if (!strcmp(fact, "place")) place();
        if (!strcmp(fact, "words")) words(argc, argv);
        if (!strcmp(fact, "local")) local();
        if (!strcmp(fact, "rseq")) restartable();
        if (!strcmp(fact, "wait")) { puts("waiting"); fflush(stdout); pause(); }
        if (!strcmp(fact, "crash")) abort();
        if (!strcmp(fact, "pid")) printf("%d\n", getpid());
    }
    if (argc == 0) words(argc, argv);
    return 0;
}
