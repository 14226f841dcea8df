/* Sorts, hashes and sums with loads and stores of each size, LDM, STM, LDRD, STRD and SWP; calls T32 code. */
typedef unsigned int u32; typedef unsigned short u16; typedef unsigned char u8; typedef long long i64;
static u32 table[64]; static u16 halves[32]; static signed char bytes[64]; static i64 wide[8];
static volatile u32 calls, ticks, lock;
extern int thumb_part(u8 *text, int n);
#ifdef BARE
extern void faults(void);
void called(u32 number) { calls += number & 0xff; }
void interrupted(void) { *(volatile u32 *)0x101e200c = 1; ticks++; }
#else
static void faults(void) {}
#endif

__attribute__((noinline)) static void sort(u32 *t, int n) {
  for (int i = 1; i < n; i++) {
    u32 x = t[i]; int j = i;
    for (; j > 0 && t[j - 1] > x; j--) t[j] = t[j - 1];
    t[j] = x;
  }
}
__attribute__((noinline)) static u32 hash(const signed char *s, int n) {
  u32 h = 5381; while (n--) h = h * 33 + *s++; return h;
}
__attribute__((noinline)) static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__attribute__((noinline)) static i64 sum(i64 *w, int n) {
  i64 s = 0; for (int i = 0; i < n; i++) { s += w[i]; w[i] = s; } return s;
}
/* Copies eight words at a time. */
__attribute__((noinline)) static void copy(u32 *to, const u32 *from, int n) {
  for (; n >= 8; n -= 8)
    __asm__ volatile("ldmia %1!, {r2-r9}\n stmia %0!, {r2-r9}" : "+r"(to), "+r"(from)
                     :: "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "memory");
}
__attribute__((noinline)) static u32 swap(volatile u32 *at, u32 value) {
  u32 was;
  __asm__ volatile("swp %0, %1, [%2]" : "=&r"(was) : "r"(value), "r"(at) : "memory");
  __asm__ volatile("swpb %0, %0, [%1]" : "+r"(value) : "r"(at) : "memory");
  return was + value;
}
int run(void) {
  u32 seed = 1, h = 0; static u32 room[64];
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < 64; i++) {
      seed = seed * 1103515245u + 12345u;
      table[i] = seed >> 8; bytes[i] = (signed char)(seed >> 20); halves[i & 31] += (u16)seed; wide[i & 7] += seed;
    }
    sort(table, 64);
    copy(room, table, 64);
    h ^= hash(bytes, 64) ^ (u32)sum(wide, 8) ^ halves[3] ^ (u32)fib(9) ^ swap(&lock, seed) ^ room[9];
    faults();
    h += (u32)thumb_part((u8 *)bytes, 64);
  }
  return (int)(h & 0x7f);
}
