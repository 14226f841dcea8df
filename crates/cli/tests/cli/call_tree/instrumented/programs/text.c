#include "start.h"

// UTF-8, patterns with `*` and `?`, and a checksum, as small libraries have them.

NOINLINE static int is_tail(unsigned char byte) {
  return byte >= 0x80 && byte < 0xc0;
}

// The length of the character at the begin, or 0 where it is none.
NOINLINE static int character(const unsigned char *at, int left) {
  if (left < 1)
    return 0;
  if (at[0] < 0x80)
    return 1;
  if (at[0] >= 0xc2 && at[0] < 0xe0)
    return left > 1 && is_tail(at[1]) ? 2 : 0;
  if (at[0] >= 0xe0 && at[0] < 0xf0) {
    if (left < 3 || !is_tail(at[1]) || !is_tail(at[2]))
      return 0;
    // Too long, or a surrogate.
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] >= 0xa0))
      return 0;
    return 3;
  }
  return 0;
}

NOINLINE static int characters(const char *text, int length) {
  int count = 0;
  for (int n = 0; n < length;) {
    int own = character((const unsigned char *)text + n, length - n);
    if (!own)
      return -1;
    n += own;
    count++;
  }
  return count;
}

NOINLINE static int matches(const char *pattern, const char *text) {
  while (*pattern) {
    if (*pattern == '*') {
      do {
        if (matches(pattern + 1, text))
          return 1;
      } while (*text++);
      return 0;
    }
    if (!*text || (*pattern != '?' && *pattern != *text))
      return 0;
    pattern++;
    text++;
  }
  return !*text;
}

NOINLINE static unsigned checksum(const char *text) {
  unsigned sum = 0xffff;
  for (; *text; text++) {
    sum ^= (unsigned)(unsigned char)*text << 8;
    for (int bit = 0; bit < 8; bit++) {
      if (sum & 0x8000)
        sum = sum << 1 ^ 0x1021;
      else
        sum <<= 1;
    }
  }
  return sum & 0xffff;
}

static const char *const words[] = {"abc", "a\xc3\xa4z", "\xe2\x82\xac", "\xed\xa0\x80", "\xe0\x80\x80",
                                    "\xc3(", "\xff", "\xe2\x82", ""};
static const char *const patterns[] = {"*", "a?c", "a*c*", "??", "b*", "*z"};

void program(void) {
  unsigned total = 0;
  for (unsigned n = 0; n < sizeof words / sizeof *words; n++) {
    int length = 0;
    while (words[n][length])
      length++;
    total += (unsigned)characters(words[n], length);
    for (unsigned m = 0; m < sizeof patterns / sizeof *patterns; m++)
      total += (unsigned)matches(patterns[m], words[n]) << m;
    total ^= checksum(words[n]);
  }
  sink = total;
}
