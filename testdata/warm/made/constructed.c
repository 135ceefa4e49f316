// A library whose constructor calls the function KIND before the program is entered. `answer` returns the result.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
long seen;
static long (*asked)(void);
static int count;
static char **words_given;
static char text[256];

static void *forever(void *unused) { pause(); return unused; }
static void *nothing(void *unused) { return unused; }
static void ignored(int signal) { (void)signal; }
static int later;
static void at_exit(void) { later++; }

// The possible values of KIND. tests/sweep/constructors.rs lists which of them a snapshot cannot reproduce.
static void thread(void) { pthread_t made; pthread_create(&made, NULL, forever, NULL); }
static void joined_thread(void) { pthread_t made; pthread_create(&made, NULL, nothing, NULL); pthread_join(made, NULL); }
static void open_file(void) { seen = open("/etc/passwd", O_RDONLY); }
static void read_file(void) { int file = open("/etc/passwd", O_RDONLY); seen = read(file, text, 8) == 8 ? text[0] : -1; close(file); }
static void shared_map(void)
{
    int *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *map = 5;
    seen = *map;
}
static void opened_socket(void) { seen = socket(AF_UNIX, SOCK_STREAM, 0); }
static void process_number(void) { seen = getpid(); }
static void parent_number(void) { seen = getppid(); }
static void moment(void) { seen = time(NULL); }
static void moment_of_day(void) { struct timeval now; gettimeofday(&now, NULL); seen = now.tv_sec; }
static void monotonic(void) { struct timespec now; clock_gettime(CLOCK_MONOTONIC_COARSE, &now); seen = now.tv_sec; }
static void drawn(void) { seen = getrandom(text, 16, 0); }
static void affinity(void) { cpu_set_t set; sched_getaffinity(0, sizeof set, &set); seen = CPU_COUNT(&set); }
static void terminal(void) { seen = isatty(0); }
static void folder(void) { seen = getcwd(text, sizeof text) != NULL; }
static void user(void) { seen = getuid(); }
static void limit(void) { struct rlimit limit; getrlimit(RLIMIT_NOFILE, &limit); seen = limit.rlim_cur; }
static void mask(void) { seen = umask(022); }
static void handler(void) { seen = signal(SIGUSR1, ignored) == SIG_DFL; }
static void blocked(void) { sigset_t set; sigemptyset(&set); sigaddset(&set, SIGUSR1); sigprocmask(SIG_BLOCK, &set, NULL); }
static void alternative_stack(void)
{
    static char memory[65536];
    sigaltstack(&(stack_t){ .ss_sp = memory, .ss_size = sizeof memory }, NULL);
}
static void named(void) { prctl(PR_SET_NAME, "other"); }
static void timer(void) { alarm(100); }
static void forked(void) { seen = fork(); if (seen == 0) _exit(0); }
static void writes(void) { seen = write(1, "constructed\n", 12); }
static void ends(void) { exit(7); }
static void crashes(void) { abort(); }
static void hangs(void) { if (access("/nonexistent-steady", F_OK)) sleep(getenv("HURRY") ? 0 : 20); }
static void reads_input(void) { seen = read(0, text, 1); }
static void own_path(void) { seen = readlink("/proc/self/exe", text, sizeof text); }
static void own_maps(void) { FILE *maps = fopen("/proc/self/maps", "r"); seen = maps && fgets(text, sizeof text, maps) ? text[5] : 0; if (maps) fclose(maps); }
static void locked_memory(void) { static char page[4096]; seen = mlock(page, sizeof page); }
static void counted(void) { seen = count > 1; }
static void called(void) { seen = strcmp(words_given[0], "sh") == 0; }
static void called_short(void) { extern char *program_invocation_short_name; seen = strcmp(program_invocation_short_name, "sh") == 0; }
static void first_process(void) { seen = getpid() == 1; }
static void group(void) { seen = getauxval(AT_EGID) == 0; }
static void capability(void) { seen = prctl(PR_CAPBSET_READ, 0, 0, 0, 0) == 1; }
static void hard_limit(void) { struct rlimit limit; getrlimit(RLIMIT_STACK, &limit); seen = limit.rlim_max == RLIM_INFINITY; }
static void position(void) { seen = lseek(0, 0, SEEK_CUR); }
static void inherited(void) { seen = fcntl(7, F_GETFD); }
static void descriptor(void) { int file = open("/etc/passwd", O_RDONLY); seen = file; close(file); }
static void asked_mask(void) { sigset_t set; sigprocmask(SIG_BLOCK, NULL, &set); seen = sigismember(&set, SIGUSR1); }
static void asked_handler(void) { struct sigaction old; sigaction(SIGINT, NULL, &old); seen = old.sa_handler == SIG_IGN; }
static void terminals(void) { int file = open("/proc/sys/kernel/pty/nr", O_RDONLY); seen = read(file, text, 1) == 1 ? text[0] : -1; close(file); }
static void one_byte(void) { seen = getrandom(text, 1, GRND_NONBLOCK) == 1 ? text[0] & 1 : -1; }
static void launch_bytes(void) { seen = *(char *)getauxval(AT_RANDOM) & 1; seen += ((char *)getauxval(AT_RANDOM))[8] & 1; }
static void processor(void) { seen = sched_getcpu(); }
// More values of KIND. A snapshot can reproduce the effect of most of them.
static void memory(void) { seen = 0; for (int i = 0; i < 100; i++) { char *made = malloc(1 << (i % 20)); *made = 1; seen += *made; if (i % 3 == 0) free(made); } }
static void variable(void) { const char *value = getenv("STEADY_TEST"); seen = value ? atoi(value) : -1; }
static void registered(void) { atexit(at_exit); seen = 1; }
static void once(void) { static pthread_once_t control = PTHREAD_ONCE_INIT; pthread_once(&control, at_exit); seen = later; }
static void words(void) { extern char *program_invocation_short_name; snprintf(text, sizeof text, "%s", program_invocation_short_name); seen = strlen(text); }
static volatile double small[2] = { 3e-310, 2e-310 };
static volatile long double third[2] = { 1, 3 };
static long floats(void)
{
    unsigned mxcsr;
    unsigned short control, status;
    __asm__ volatile("stmxcsr %0; fnstcw %1; fnstsw %2" : "=m"(mxcsr), "=m"(control), "=m"(status));
    return (small[0] + small[1] == 0) + 2 * (third[0] / third[1] * 3 == 1) + 4 * (mxcsr & 0xffc0) + (control & 0xfff) * 64 + (status & 0x3f) + fegetround();
}
// Sets the MXCSR register like crtfastmath.o, and also precision and rounding of the x87.
static void fast(void)
{
    unsigned mxcsr = 0x9fc0;
    unsigned short control = 0x7f;
    __asm__ volatile("ldmxcsr %0; fldcw %1" : : "m"(mxcsr), "m"(control));
    asked = floats;
}
static void noted(void) { fesetround(FE_UPWARD); feraiseexcept(FE_INEXACT | FE_OVERFLOW); asked = floats; }
static long multibyte(void) { return MB_CUR_MAX; }
static void locale(void) { setlocale(LC_ALL, "C.UTF-8"); asked = multibyte; }
// FOLDER has files with various rights.
static void read_from(const char *name) { int file = open(name, O_RDONLY); seen = file >= 0 && read(file, text, 1) == 1 ? text[0] : -1; close(file); }
static void read_by_group(void) { read_from(FOLDER "/read_by_group"); }
static void read_by_others(void) { read_from(FOLDER "/read_by_others"); }
static void read_unasked(void) { read_from(FOLDER "/read_unasked"); }
static void asked_group(void) { seen = access(FOLDER "/read_by_group", R_OK); }
static void asked_unasked(void) { seen = faccessat(AT_FDCWD, FOLDER "/read_unasked", R_OK, AT_EACCESS); }
static void asked_write(void) { seen = access(FOLDER "/written_by_group", W_OK); }
static void asked_execute(void) { seen = access(FOLDER "/executed_by_group", X_OK); }
static void asked_all(void) { seen = access(FOLDER "/read_by_all", R_OK); read_from(FOLDER "/read_by_all"); }
static void read_below(void) { read_from(FOLDER "/searched_by_group/file"); }
static void asked_below(void) { seen = access(FOLDER "/searched_by_group/missing", F_OK) ? errno : 0; }
static void asked_existence(void) { seen = access(FOLDER "/read_unasked", F_OK); }
static void capabilities(void) { seen = 0; while (prctl(PR_CAPBSET_READ, seen, 0, 0, 0) >= 0) seen++; }

__attribute__((constructor)) static void construct(int argc, char **argv)
{
    count = argc;
    words_given = argv;
    (void)counted; (void)called; (void)called_short; (void)first_process; (void)group; (void)capability; (void)hard_limit;
    (void)position; (void)inherited; (void)descriptor; (void)asked_mask; (void)asked_handler; (void)terminals; (void)one_byte;
    (void)read_by_group; (void)read_by_others; (void)read_unasked; (void)asked_group; (void)asked_unasked; (void)asked_write;
    (void)read_below; (void)asked_below; (void)asked_execute; (void)asked_all; (void)asked_existence;
    (void)launch_bytes; (void)fast; (void)noted; (void)locale; (void)capabilities;
    (void)thread; (void)joined_thread; (void)open_file; (void)read_file; (void)shared_map; (void)opened_socket;
    (void)process_number; (void)parent_number; (void)moment; (void)moment_of_day; (void)monotonic; (void)drawn;
    (void)affinity; (void)terminal; (void)folder; (void)user; (void)limit; (void)mask; (void)handler; (void)blocked;
    (void)alternative_stack; (void)named; (void)timer; (void)forked; (void)writes; (void)ends; (void)crashes;
    (void)hangs; (void)reads_input; (void)own_path; (void)own_maps; (void)locked_memory; (void)processor; (void)memory;
    (void)variable; (void)registered; (void)once; (void)words;
    KIND();
    count = 0;
    words_given = NULL;
}

int answer(void);
int answer(void) { return (int)(asked ? asked() : seen); }
