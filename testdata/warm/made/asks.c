// Prints the answer of its library, a number compiled into the program (OWN), and whether it runs from a snapshot.
#define _GNU_SOURCE
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int answer(void);

int main(void)
{
    char exe[PATH_MAX] = "";
    long length = syscall(SYS_readlink, "/proc/self/exe", exe, sizeof exe - 1);
    const char *how = length < 0 ? "unknown" : strstr(exe, "/snapshots/") ? "warm" : "usual";
    int answered = answer();
    setlocale(LC_ALL, "");
    printf("%d %d %s\n", answered, OWN, how);
    return 0;
}
