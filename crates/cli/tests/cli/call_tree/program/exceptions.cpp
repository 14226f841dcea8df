// Exceptions of C++: through frames with and without destructors, by type, thrown again, out of
// recursive functions, and out of the handler of another one.

#define NOINLINE __attribute__((noinline))

extern "C" {
volatile unsigned sink;
}

struct Small {
  unsigned n;
};
struct Large : Small {
  unsigned more[8];
};

struct Guard {
  unsigned n;
  NOINLINE ~Guard() { sink += n; }
};

struct Shape {
  NOINLINE virtual unsigned area(unsigned n) { return n + sink; }
  virtual ~Shape() {}
};
struct Broken : Shape {
  NOINLINE unsigned area(unsigned n) override {
    if (n > 2)
      throw Small{n};
    return 2 * n;
  }
};

NOINLINE static unsigned leaf(unsigned n) {
  if (n % 3 == 0)
    throw Small{n};
  if (n % 3 == 1)
    throw Large{{n}, {}};
  return n;
}

NOINLINE static unsigned plain(unsigned n) { return leaf(n) + 1; }

NOINLINE static unsigned guarded(unsigned n) {
  Guard guard{n};
  return plain(n) + 1;
}

// Catches one of the two types; the other passes.
NOINLINE static unsigned catches(unsigned n) {
  try {
    return guarded(n);
  } catch (const Large &large) {
    return large.n + 100;
  }
}

NOINLINE static unsigned again(unsigned n) {
  try {
    return catches(n);
  } catch (...) {
    sink += 1;
    throw;
  }
}

// The call in the `try` block and the one outside of it are of the same function: only one of the
// frames has a handler for the exception.
NOINLINE static unsigned nested(unsigned n) {
  Guard guard{n};
  if (n == 0)
    return leaf(3);
  if (n % 2)
    return nested(n - 1) + 1;
  try {
    return nested(n - 1) + 2;
  } catch (const Large &) {
    return 7;
  }
}

NOINLINE static unsigned direct(unsigned n) {
  if (n == 0)
    return leaf(1);
  if (n != 3)
    return direct(n - 1) + sink;
  try {
    return direct(n - 1) + 1;
  } catch (const Small &small) {
    return small.n;
  }
}

NOINLINE static unsigned second(unsigned n) {
  try {
    return plain(n);
  } catch (const Small &) {
    try {
      return plain(n + 3);
    } catch (const Small &inner) {
      return inner.n;
    }
  }
}

NOINLINE static unsigned shapes(Shape &shape, unsigned n) {
  try {
    return shape.area(n);
  } catch (const Small &small) {
    return small.n;
  }
}

int main() {
#ifdef SHORT
  // One exception, in the middle of a recursive function.
  sink += direct(4);
  return 0;
#endif
  Shape shape;
  Broken broken;
  for (unsigned n = 0; n < 5; n++) {
    try {
      sink += again(n);
    } catch (const Small &small) {
      sink += small.n;
    }
    sink += shapes(n % 2 ? shape : broken, n);
  }
  try {
    sink += nested(4);
  } catch (const Small &) {
    sink += 1;
  }
  sink += direct(5) + second(6);
  return 0;
}
