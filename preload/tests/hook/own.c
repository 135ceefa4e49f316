// Looks at the path argv[3] with the function argv[1]. First it sets the program's path (AT_EXECFN) to argv[2], as the
// stub of a snapshot does.
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void show(int descriptor, const char *path) {
    struct stat stat;
    if (path ? fstatat(AT_FDCWD, path, &stat, 0) : fstat(descriptor, &stat)) perror("stat");
    else printf("%lu\n", stat.st_ino);
}

int main(int argc, char **argv, char **environment) {
    if (argc < 4) return 2;
    while (*environment) environment++;
    for (Elf64_auxv_t *entry = (void *)(environment + 1); entry->a_type != AT_NULL; entry++)
        if (entry->a_type == AT_EXECFN) entry->a_un.a_val = (unsigned long)argv[2];
    char own[64], buffer[PATH_MAX] = "";
    sprintf(own, "/proc/%d/exe", getpid());
    if (!strcmp(argv[1], "wait")) return puts("waits"), fflush(stdout), pause();
    if (!strcmp(argv[1], "readlink-removed")) {
        syscall(SYS_readlink, "/proc/self/exe", buffer, sizeof buffer);
        unlink(buffer);
        memset(buffer, 0, sizeof buffer);
        argv[1] = "readlink";
    }
    char *way = argv[1], *path = strcmp(argv[3], "by number") ? argv[3] : own;
    struct statx more;
    struct stat stat_;
    FILE *file;
    if (!strcmp(way, "readlink")) printf("%zd ", readlink(path, buffer, sizeof buffer)), puts(buffer);
    if (!strcmp(way, "readlink-short")) printf("%zd ", readlink(path, buffer, 5)), puts(buffer);
    if (!strcmp(way, "readlinkat")) printf("%zd ", readlinkat(AT_FDCWD, path, buffer, sizeof buffer)), puts(buffer);
    if (!strcmp(way, "realpath")) puts(realpath(path, NULL));
    if (!strcmp(way, "canonicalize")) puts(canonicalize_file_name(path));
    if (!strcmp(way, "open")) show(open(path, O_RDONLY), NULL);
    if (!strcmp(way, "openat")) show(openat(AT_FDCWD, path, O_RDONLY), NULL);
    if (!strcmp(way, "fopen") && (file = fopen(path, "r"))) show(fileno(file), NULL);
    if (!strcmp(way, "fstatat")) show(0, path);
    if (!strcmp(way, "in-folder")) {
        char *slash = strrchr(path, '/');
        *slash = 0;
        int folder = open(path, O_PATH | O_DIRECTORY);
        if (!fstatat(folder, slash + 1, &stat_, 0)) printf("%lu ", stat_.st_ino);
        printf("%zd ", readlinkat(folder, slash + 1, buffer, sizeof buffer)), puts(buffer);
    }
    if (!strcmp(way, "stat") && !stat(path, &stat_)) printf("%lu\n", stat_.st_ino);
    if (!strcmp(way, "statx") && !statx(AT_FDCWD, path, 0, STATX_INO, &more)) printf("%llu\n", more.stx_ino);
    if (!strcmp(way, "link-fstatat") && !fstatat(AT_FDCWD, path, &stat_, AT_SYMLINK_NOFOLLOW)) puts(S_ISLNK(stat_.st_mode) ? "link" : "file");
    // Since Linux 6.11, the path may be missing.
    char *volatile none = NULL;
    if (!strcmp(way, "no-path")) printf("%d\n", statx(1, none, AT_EMPTY_PATH, STATX_INO, &more) ? errno : 0);
    if (!strcmp(way, "link-statx") && !statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_MODE, &more)) puts(S_ISLNK(more.stx_mode) ? "link" : "file");
    if (!strcmp(way, "link-open")) puts(fstat(open(path, O_PATH | O_NOFOLLOW), &stat_) || !S_ISLNK(stat_.st_mode) ? "file" : "link");
    if (!strcmp(way, "create")) {
        umask(0);
        show(open(path, O_CREAT | O_EXCL | O_WRONLY, 0640), NULL);
        printf("%o\n", stat(path, &stat_) ? 0 : stat_.st_mode & 0777);
    }
    char *arguments[] = {"own", "readlink", argv[2], "/proc/self/exe", NULL};
    if (strstr(way, "bound")) setenv("LD_BIND_NOW", "1", 1);
    if (strstr(way, "gone")) unlink(argv[2]);
    errno = 0;
    if (!strncmp(way, "execv", 5)) execv(path, arguments);
    if (!strncmp(way, "execl", 5)) execl(path, "own", "readlink", argv[2], "/proc/self/exe", NULL);
    if (!strncmp(way, "spawn", 5)) {
        pid_t child;
        if (!(errno = posix_spawn(&child, path, NULL, NULL, arguments, environ))) waitpid(child, NULL, 0);
    }
    if (errno) puts(strerror(errno));
    return 0;
}
