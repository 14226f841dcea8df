// A shared library, of which two kinds have different code at the same addresses.
#ifdef FIRST
int work(int n) {
    int all = 0;
    for (int i = 0; i < n; i++)
        all += i & 1 ? i * 3 : i ^ 5;
    return all;
}
#else
__attribute__((noinline)) static int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

int work(int n) { return fibonacci(n % 11) + 7; }
#endif
