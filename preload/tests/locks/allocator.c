// A library with an allocator that locks a mutex in every call. The first call is in a constructor. A nested allocation
// would deadlock.
#include <pthread.h>
#include <stddef.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char memory[1 << 22] __attribute__((aligned(16)));
static size_t used;

void *malloc(size_t bytes) {
    if (pthread_mutex_trylock(&lock)) pthread_mutex_lock(&lock);
    size_t from = used + 16;
    used = from + ((bytes + 15) & ~(size_t)15);
    memcpy(memory + from - 16, &bytes, sizeof bytes);
    pthread_mutex_unlock(&lock);
    return used <= sizeof memory ? memory + from : NULL;
}

void free(void *given) { (void)given; }

void *calloc(size_t count, size_t bytes) { return malloc(count * bytes); }

void *realloc(void *given, size_t bytes) {
    size_t had = 0;
    if (given) memcpy(&had, (char *)given - 16, sizeof had);
    void *made = malloc(bytes);
    if (given && made) memcpy(made, given, had < bytes ? had : bytes);
    return made;
}

__attribute__((constructor)) static void first(void) { free(malloc(1)); }
