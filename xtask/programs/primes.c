// Primes by a sieve and by division, perfect numbers, and a large switch.
#include <stdio.h>

enum { LIMIT = 30000 };

static unsigned char composite[LIMIT];

static int kind(unsigned n) {
    switch (n % 16) {
    case 0: return 3;
    case 1: return n & 64 ? 5 : 1;
    case 2: return 2;
    case 3: return 8;
    case 4: return 13;
    case 5: return 21;
    case 6: return n / 7;
    case 7: return 34;
    case 8: return n & 3;
    case 9: return 55;
    case 10: return -1;
    case 11: return 89;
    case 12: return n / 3;
    case 13: return 144;
    case 14: return -(int)(n & 7);
    default: return 233;
    }
}

int main(void) {
    int primes = 0, divided = 0, perfect = 0;
    long kinds = 0;
    for (unsigned n = 2; n < LIMIT; n++) {
        if (composite[n]) continue;
        primes++;
        for (unsigned m = 2 * n; m < LIMIT; m += n) composite[m] = 1;
    }
    for (unsigned n = 3; n < 2500; n += 2) {
        unsigned d = 3;
        while (d * d <= n && n % d) d += 2;
        divided += d * d > n;
    }
    for (unsigned n = 2; n < 300; n++) {
        unsigned sum = 1;
        for (unsigned d = 2; d < n; d++)
            if (n % d == 0) sum += d;
        perfect += sum == n;
    }
    for (unsigned n = 0; n < 20000; n++) kinds += kind(n);
    printf("%d %d %d %ld\n", primes, divided, perfect, kinds);
    return 0;
}
