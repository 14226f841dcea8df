// Hashes text with FNV-1a, CRC-32 and a table of buckets with chains.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BUCKETS = 256, ENTRIES = 4000 };

struct entry {
    char key[16];
    uint32_t count;
    struct entry *next;
};

static struct entry pool[ENTRIES], *table[BUCKETS];
static int used;

static uint32_t fnv(const char *text) {
    uint32_t hash = 2166136261u;
    for (; *text; text++) hash = (hash ^ (uint8_t)*text) * 16777619u;
    return hash;
}

static uint32_t crc(const void *data, unsigned size) {
    const uint8_t *bytes = data;
    uint32_t value = ~0u;
    while (size--) {
        value ^= *bytes++;
        for (int k = 0; k < 8; k++) value = value & 1 ? value >> 1 ^ 0xedb88320u : value >> 1;
    }
    return ~value;
}

static struct entry *find(const char *key) {
    struct entry **place = &table[fnv(key) % BUCKETS];
    for (; *place; place = &(*place)->next)
        if (strcmp((*place)->key, key) == 0) return *place;
    struct entry *entry = &pool[used++];
    strcpy(entry->key, key);
    *place = entry;
    return entry;
}

int main(void) {
    uint32_t state = 1, sum = 0;
    for (int i = 0; i < 6000; i++) {
        char key[16];
        state = state * 1103515245u + 12345u;
        unsigned word = state >> 16 & 1023, at = 0;
        do key[at++] = 'a' + word % 26;
        while (word /= 26);
        key[at] = 0;
        find(key)->count++;
    }
    for (int i = 0; i < used; i++) sum ^= crc(&pool[i].key, sizeof pool[i].key) * pool[i].count;
    printf("%d %08x\n", used, sum);
    return 0;
}
