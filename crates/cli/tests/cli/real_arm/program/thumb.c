/* T32 code: searches bytes, calls and returns across instruction sets. */
typedef unsigned char u8; typedef short i16;
static i16 shorts[16];
__attribute__((noinline)) static int find(const u8 *t, int n, u8 c) {
  for (int i = 0; i < n; i++) if (t[i] == c) return i;
  return -1;
}
__attribute__((noinline)) static int mix(int a, int b, int c, int d) {
  volatile int v[4]; v[0] = a; v[1] = b; v[2] = c; v[3] = d; return v[0] * 3 + v[1] - v[2] + v[3];
}
int thumb_part(u8 *text, int n) {
  int s = 0;
  for (int i = 0; i < n; i += 3) {
    s += find(text, n, (u8)(i * 7));
    text[i] ^= (u8)s;
    shorts[i & 15] = (i16)(shorts[(i + 1) & 15] - s);
    s = mix(s, i, shorts[i & 15], text[i]);
#ifdef BARE
    if ((i & 3) == 0) __asm__ volatile("svc #3" ::: "lr");
#endif
  }
  return s;
}
