// Multiplies matrices of integers, transposes them, and takes a determinant modulo a prime.
#include <stdint.h>
#include <stdio.h>

enum { N = 46, PRIME = 32749 };

static uint32_t a[N][N], b[N][N], c[N][N];

static void multiply(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            uint32_t sum = 0;
            for (int k = 0; k < N; k++) sum += a[i][k] * b[k][j] & 0xffff;
            c[i][j] = sum % PRIME;
        }
}

static uint32_t power(uint32_t base, uint32_t exponent) {
    uint32_t result = 1, square = base;
    for (; exponent; exponent >>= 1, square = square * square % PRIME)
        if (exponent & 1) result = result * square % PRIME;
    return result;
}

static uint32_t determinant(void) {
    uint32_t product = 1;
    for (int k = 0; k < N; k++) {
        int pivot = k;
        while (pivot < N && c[pivot][k] == 0) pivot++;
        if (pivot == N) return 0;
        for (int j = 0; j < N; j++) {
            uint32_t t = c[k][j];
            c[k][j] = c[pivot][j];
            c[pivot][j] = t;
        }
        product = product * c[k][k] % PRIME;
        uint32_t inverse = power(c[k][k], PRIME - 2);
        for (int i = k + 1; i < N; i++) {
            uint32_t factor = c[i][k] * inverse % PRIME;
            for (int j = k; j < N; j++)
                c[i][j] = (c[i][j] + (PRIME - factor) * c[k][j] % PRIME) % PRIME;
        }
    }
    return product;
}

int main(void) {
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {
            a[i][j] = (i * 31 + j * 17 + 1) % 251;
            b[i][j] = (i * j + 3 * i + 7) % 241;
        }
    multiply();
    uint32_t first = c[3][5];
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) c[i][j] = (c[i][j] + (i == j ? 12345 : i * 7 + j * j)) % PRIME;
    uint32_t d = determinant();
    multiply();
    printf("%u %u %u\n", first, d, c[N - 1][N - 1]);
    return 0;
}
