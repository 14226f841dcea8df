// Sorts numbers four ways and checks that all agree.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1600 };

static uint32_t next(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void insertion(uint32_t *v, int n) {
    for (int i = 1; i < n; i++) {
        uint32_t x = v[i];
        int j = i;
        for (; j > 0 && v[j - 1] > x; j--) v[j] = v[j - 1];
        v[j] = x;
    }
}

static void quick(uint32_t *v, int low, int high) {
    while (low < high) {
        uint32_t pivot = v[(low + high) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (v[i] < pivot) i++;
            while (v[j] > pivot) j--;
            if (i <= j) {
                uint32_t t = v[i];
                v[i++] = v[j];
                v[j--] = t;
            }
        }
        if (j - low < high - i) {
            quick(v, low, j);
            low = i;
        } else {
            quick(v, i, high);
            high = j;
        }
    }
}

static void sift(uint32_t *v, int root, int n) {
    for (int child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && v[child + 1] > v[child]) child++;
        if (v[root] >= v[child]) return;
        uint32_t t = v[root];
        v[root] = v[child];
        v[child] = t;
    }
}

static void heap(uint32_t *v, int n) {
    for (int i = n / 2 - 1; i >= 0; i--) sift(v, i, n);
    for (int end = n - 1; end > 0; end--) {
        uint32_t t = v[0];
        v[0] = v[end];
        v[end] = t;
        sift(v, 0, end);
    }
}

static int compare(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int main(void) {
    static uint32_t data[COUNT], a[COUNT], b[COUNT], c[COUNT];
    uint32_t seed = 7;
    for (int i = 0; i < COUNT; i++) data[i] = next(&seed);
    memcpy(a, data, sizeof data);
    memcpy(b, data, sizeof data);
    memcpy(c, data, sizeof data);
    quick(a, 0, COUNT - 1);
    heap(b, COUNT);
    qsort(c, COUNT, sizeof *c, compare);
    insertion(data, 450);
    printf("%d %08x\n", memcmp(a, b, sizeof a) == 0 && memcmp(a, c, sizeof a) == 0, a[COUNT / 2]);
    return 0;
}
