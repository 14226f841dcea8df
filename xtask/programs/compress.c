// Compresses text by back references, expands it again, and compares.
#include <stdio.h>
#include <string.h>

enum { SIZE = 2400, WINDOW = 512, LONGEST = 18 };

static unsigned char text[SIZE], packed[2 * SIZE], again[SIZE + LONGEST];

static int longest(int at, int *offset) {
    int best = 0;
    for (int back = 1; back <= WINDOW && back <= at; back++) {
        int n = 0;
        while (n < LONGEST && at + n < SIZE && text[at + n] == text[at - back + n]) n++;
        if (n > best) {
            best = n;
            *offset = back;
            if (n == LONGEST) break;
        }
    }
    return best;
}

static int compress(void) {
    int out = 0;
    for (int at = 0; at < SIZE;) {
        int offset = 0, n = longest(at, &offset);
        if (n >= 4) {
            packed[out++] = 0xff;
            packed[out++] = n;
            packed[out++] = offset >> 8;
            packed[out++] = offset & 0xff;
            at += n;
        } else {
            packed[out++] = text[at++];
        }
    }
    return out;
}

static int expand(int size) {
    int out = 0;
    for (int in = 0; in < size;) {
        if (packed[in] != 0xff) {
            again[out++] = packed[in++];
            continue;
        }
        int n = packed[in + 1], offset = packed[in + 2] << 8 | packed[in + 3];
        for (int k = 0; k < n; k++, out++) again[out] = again[out - offset];
        in += 4;
    }
    return out;
}

int main(void) {
    static const char *words[] = {"trace ", "atom ", "branch ", "return ", "cycle ", "context ", "gap. "};
    unsigned state = 3;
    for (int at = 0; at < SIZE;) {
        state = state * 69069u + 1;
        const char *word = words[(state >> 20) % 7];
        for (; *word && at < SIZE; word++) text[at++] = *word;
    }
    int size = compress();
    int back = expand(size);
    printf("%d %d %d\n", size, back, memcmp(text, again, SIZE));
    return 0;
}
