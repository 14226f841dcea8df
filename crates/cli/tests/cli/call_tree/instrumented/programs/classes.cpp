extern "C" {
#include "start.h"
void program(void);
}

// Decisions in templates, operators, closures and virtual functions, with objects that are
// destroyed in the middle of a decision.

struct Guard {
  int n;
  NOINLINE explicit Guard(int n) : n(n) { sink = n; }
  NOINLINE ~Guard() { sink = n + 1; }
  NOINLINE bool open() const { return n & 1; }
};

struct Shape {
  int size;
  NOINLINE virtual bool has(int n) const { return n < size || n == 9; }
};

struct Ring : Shape {
  NOINLINE bool has(int n) const override { return n > 1 && Shape::has(n); }
};

struct Number {
  int n;
  bool operator<(const Number &other) const { return n < other.n; }
  bool operator==(const Number &other) const {
    return n == other.n && sink != 99;
  }
  explicit operator bool() const { return n != 0; }
};

template <typename T> NOINLINE static int compare(const T &a, const T &b) {
  if (a < b && !(a == b))
    return -1;
  return a == b ? 0 : 1;
}

template <int LIMIT> NOINLINE static int limited(int n) {
  if (n > LIMIT || (n == LIMIT && sink != 5))
    return LIMIT;
  return n;
}

NOINLINE static int destroyed(int a, int b) {
  if (Guard(a).open() && Guard(b).open())
    return 1;
  return 0;
}

NOINLINE static int scoped(int a, int b) {
  Guard guard(a);
  if (guard.open() || b > 1)
    return b;
  return guard.n;
}

NOINLINE static int shapes(const Shape &one, const Shape &other, int n) {
  if (one.has(n) && other.has(n + 1))
    return 2;
  return 0;
}

NOINLINE static int closures(int limit) {
  const int values[] = {4, 7, 1, 8};
  int count = 0;
  auto fits = [&](int value) { return value > limit && (count == 0 || value != 8); };
  for (int value : values)
    if (fits(value))
      count++;
  return count;
}

NOINLINE static int converted(Number a, Number b) {
  if (a || b)
    return 1;
  if (const int n = a.n + sink % 2; n > 0 && b.n == 0)
    return 2;
  return 0;
}

template <typename T> NOINLINE static T *next_of(T *at, T *end, T wanted) {
  while (at != end && !(*at == wanted))
    ++at;
  return at;
}

NOINLINE static int unused(int n) {
  if (n > 2 && n < 4)
    return compare(n, 3);
  return 0;
}

void program(void) {
  Shape shape;
  Ring ring;
  shape.size = ring.size = 3;
  Number numbers[] = {{2}, {0}, {5}};
  int sum = 0;
  for (int n = 0; n < 6; n++) {
    sum += compare(n, 3) + compare(numbers[n % 3], numbers[n & 1]);
    sum += limited<2>(n) + limited<4>(n) + destroyed(n, n / 2) + scoped(n, n / 2);
    sum += shapes(shape, ring, n) + shapes(ring, shape, n) + closures(n);
    sum += converted(numbers[n % 3], Number{n & 1});
  }
  sum += next_of(numbers, numbers + 3, Number{5})->n;
  sum += next_of(numbers, numbers + 1, Number{5}) == numbers + 1;
  if (sum == 12345)
    sum = unused(sum);
  sink = sum;
}
