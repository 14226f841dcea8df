// Deep and branching recursion: Ackermann, Hanoi, queens, and even and odd by turns.
#include <stdio.h>

static unsigned ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

static unsigned moves;

static void hanoi(int n, int from, int to, int by) {
    if (n == 0) return;
    hanoi(n - 1, from, by, to);
    moves += from ^ to;
    hanoi(n - 1, by, to, from);
}

static int queens(unsigned all, unsigned columns, unsigned left, unsigned right) {
    if (columns == all) return 1;
    int count = 0;
    for (unsigned free = all & ~(columns | left | right); free;) {
        unsigned bit = free & -free;
        free ^= bit;
        count += queens(all, columns | bit, (left | bit) << 1, (right | bit) >> 1);
    }
    return count;
}

__attribute__((noinline)) static int odd(int n);
__attribute__((noinline)) static int even(int n) { return n == 0 ? 1 : odd(n - 1) ^ 0; }
__attribute__((noinline)) static int odd(int n) { return n == 0 ? 0 : even(n - 1) ^ 0; }

int main(void) {
    unsigned a = ackermann(2, 160) + ackermann(3, 5);
    hanoi(15, 1, 3, 2);
    int q = queens(0x1ff, 0, 0, 0), e = even(2000);
    printf("%u %u %d %d\n", a, moves, q, e);
    return 0;
}
