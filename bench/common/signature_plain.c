// The signature as in published course code: one thread, and a binary heap of pointers to nodes. The nodes come from a pool
// that is reset for each block, or from malloc.
//
//     signature_plain FILE pool|malloc ROUNDS      prints the signature and the CPU seconds per round, without reading the file
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define P 2147483647ull
#define BLOCK 1024

typedef struct node {
    int symbol;
    unsigned freq;
    struct node *left, *right;
} node;

static char arena[131072];
static size_t used;
static int use_malloc;
static node *heap[512];
static int size;

static node *make(int symbol, unsigned freq, node *left, node *right) {
    node *n;
    if (use_malloc) {
        n = malloc(sizeof *n);
    } else {
        n = (node *)(arena + used);
        used += sizeof *n;
    }
    n->symbol = symbol;
    n->freq = freq;
    n->left = left;
    n->right = right;
    return n;
}

static void push(node *n) {
    int i = size++;
    heap[i] = n;
    while (i > 0) {
        int p = (i - 1) / 2;
        if (heap[p]->freq < heap[i]->freq)
            break;
        node *t = heap[p];
        heap[p] = heap[i];
        heap[i] = t;
        i = p;
    }
}

static node *pop(void) {
    node *top = heap[0];
    heap[0] = heap[--size];
    int i = 0;
    for (;;) {
        int l = 2 * i + 1, r = l + 1, m = i;
        if (l < size && heap[l]->freq < heap[m]->freq)
            m = l;
        if (r < size && heap[r]->freq < heap[m]->freq)
            m = r;
        if (m == i)
            break;
        node *t = heap[m];
        heap[m] = heap[i];
        heap[i] = t;
        i = m;
    }
    return top;
}

static uint64_t walk(node *n, uint64_t h) {
    if (!n)
        return h;
    h = (h * 31 + n->freq + n->symbol) % P;
    h = walk(n->left, h);
    return walk(n->right, h);
}

static void release(node *n) {
    if (!n)
        return;
    release(n->left);
    release(n->right);
    free(n);
}

static uint64_t block(const unsigned char *bytes, size_t length) {
    unsigned freq[256] = {0};
    for (size_t i = 0; i < length; i++)
        freq[bytes[i]]++;
    size = 0;
    used = 0;
    for (int s = 0; s < 256; s++)
        if (freq[s])
            push(make(s, freq[s], 0, 0));
    while (size > 1) {
        node *a = pop(), *b = pop();
        push(make(0, a->freq + b->freq, a, b));
    }
    node *root = pop();
    uint64_t h = walk(root, 0);
    if (use_malloc)
        release(root);
    return h;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    use_malloc = !strcmp(argv[2], "malloc");
    int rounds = atoi(argv[3]);
    FILE *f = fopen(argv[1], "rb");
    if (!f || rounds < 1)
        return 2;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    unsigned char *bytes = malloc(n + 1);
    if (fread(bytes, 1, n, f) != (size_t)n)
        return 2;
    struct timespec a, b;
    uint64_t sum = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
    for (int round = 0; round < rounds; round++) {
        sum = 0;
        for (long i = 0; i < n; i += BLOCK)
            sum = (sum + block(bytes + i, n - i < BLOCK ? n - i : BLOCK)) % P;
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
    double seconds = (b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) / 1e9;
    printf("%llu %.9f\n", (unsigned long long)sum, seconds / rounds);
    return 0;
}
