/*
 * A service that answers requests, for the start page of perf.data. The program and its log:
 *
 *     aarch64-linux-gnu-gcc -O1 -g -static -nostdlib -ffreestanding -fno-asynchronous-unwind-tables \
 *         -ffile-prefix-map=$PWD=. -Wl,--build-id=sha1,-z,max-page-size=4096 program.c -o program
 *     qemu-aarch64 -singlestep -d exec,nochain -D program.log program
 *     tracewright log convert program.log --image program --to csv -o log.csv
 */
typedef unsigned long u64;

#define NOINLINE __attribute__((noinline))

static NOINLINE u64 hash(const char *text)
{
    u64 value = 5381;
    while (*text)
        value = value * 33 + (unsigned char)*text++;
    return value;
}

static NOINLINE int lookup(const char *key)
{
    static const char *const names[] = { "alpha", "beta", "gamma", "delta" };
    u64 wanted = hash(key);
    for (int n = 0; n < 4; n++)
        if (hash(names[n]) == wanted)
            return n;
    return -1;
}

static NOINLINE int answer(const char *request)
{
    int found = lookup(request);
    return found < 0 ? 404 : 200 + found;
}

static NOINLINE void leave(int status)
{
    register long code __asm__("x0") = status;
    register long call __asm__("x8") = 93;
    __asm__ volatile("svc #0" : : "r"(code), "r"(call));
}

void _start(void)
{
    int errors = 0;
    errors += answer("gamma") != 202;
    errors += answer("omega") != 404;
    errors += answer("alpha") != 200;
    leave(errors);
    for (;;)
        ;
}
