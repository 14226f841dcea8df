#include "start.h"

// A calculator: tokens, an expression by precedence, a queue and a checked frame.

struct text {
  const char *at;
  int error;
};

NOINLINE static int is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n';
}

NOINLINE static void skip(struct text *text) {
  while (*text->at && is_space(*text->at))
    text->at++;
}

NOINLINE static long sum(struct text *text);

NOINLINE static long factor(struct text *text) {
  skip(text);
  if (*text->at == '-') {
    text->at++;
    return -factor(text);
  }
  if (*text->at == '(') {
    text->at++;
    long value = sum(text);
    skip(text);
    if (*text->at != ')')
      text->error = 1;
    else
      text->at++;
    return value;
  }
  long value = 0;
  if (*text->at < '0' || *text->at > '9')
    text->error = 2;
  while (*text->at >= '0' && *text->at <= '9' && value < 100000)
    value = 10 * value + (*text->at++ - '0');
  return value;
}

NOINLINE static long product(struct text *text) {
  long value = factor(text);
  for (skip(text); *text->at == '*' || *text->at == '/'; skip(text)) {
    char operator= *text->at++;
    long right = factor(text);
    if (operator== '/' && right == 0) {
      text->error = 3;
      return 0;
    }
    value = operator== '*' ? value * right : value / right;
  }
  return value;
}

NOINLINE static long sum(struct text *text) {
  long value = product(text);
  for (skip(text); !text->error && (*text->at == '+' || *text->at == '-'); skip(text)) {
    if (*text->at++ == '+')
      value += product(text);
    else
      value -= product(text);
  }
  return value;
}

enum { SIZE = 4 };
static long queue[SIZE];
static unsigned first, count;

NOINLINE static int put(long value) {
  if (count == SIZE)
    return 0;
  queue[(first + count++) % SIZE] = value;
  return 1;
}

NOINLINE static int take(long *value) {
  if (count == 0)
    return 0;
  *value = queue[first];
  first = (first + 1) % SIZE;
  count--;
  return 1;
}

NOINLINE static int is_valid(const unsigned char *frame, unsigned size) {
  if (size < 3 || frame[0] != 0x7e || frame[1] > size - 3)
    return 0;
  unsigned check = 0;
  for (unsigned n = 0; n < frame[1]; n++)
    check ^= frame[2 + n];
  return check == frame[2 + frame[1]] && (check || frame[1] == 0);
}

static const char *const texts[] = {"1 + 2*3", "(4 - 6) / -2", "7 / 0 + 1", "8 +", "(1"};
static const unsigned char frames[][6] = {
    {0x7e, 2, 1, 3, 2}, {0x7e, 2, 1, 3, 4}, {0x7d, 1}, {0x7e, 9}, {0x7e, 2, 5, 5, 0}, {0x7e, 0, 0}};

void program(void) {
  long value = 0, total = 0;
  for (unsigned n = 0; n < sizeof texts / sizeof *texts; n++) {
    struct text text = {texts[n], 0};
    long result = sum(&text);
    if (text.error || *text.at)
      total += 100 * text.error;
    else if (!put(result) || !put(-result))
      total += 1000;
  }
  while (take(&value) && put(value / 2) && value)
    total += value, take(&value);
  for (unsigned n = 0; n < sizeof frames / sizeof *frames; n++)
    total += is_valid(frames[n], 6);
  total += is_valid(frames[0], 2);
  sink = total;
}
