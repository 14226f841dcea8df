#include "start.h"

// Tables and searches of `switch`, with decisions among the cases.

NOINLINE static int dense(int n, int more) {
  switch (n) {
  case 0:
    return more && sink ? 1 : 2;
  case 1:
    if (more > 1 || sink == 3)
      return 3;
    break;
  case 2:
    return 4;
  case 3:
    sink = n;
    /* Falls through. */
  case 4:
    while (more > 0 && sink != 9)
      more--;
    return more;
  case 5:
    return 6;
  case 6:
    return 7;
  default:
    return 8;
  }
  return 9;
}

NOINLINE static int sparse(unsigned n) {
  switch (n) {
  case 3:
    return 1;
  case 1000:
    return 2;
  case 70000:
    return 3;
  case 9000000:
    return 4;
  }
  return 0;
}

NOINLINE static int of_decision(int a, int b) {
  switch (a > 1 && b > 1) {
  case 0:
    return 5;
  default:
    return 6;
  }
}

enum state { IDLE, HEAD, BODY, DONE, ERROR };

NOINLINE static enum state next(enum state state, int byte) {
  switch (state) {
  case IDLE:
    return byte == 0x55 || byte == 0xaa ? HEAD : IDLE;
  case HEAD:
    if (byte > 0 && byte < 16)
      return BODY;
    return ERROR;
  case BODY:
    return byte ? BODY : DONE;
  case DONE:
    return IDLE;
  case ERROR:
    if (byte == 0x7e)
      return IDLE;
    return ERROR;
  }
  return ERROR;
}

void program(void) {
  static const unsigned char bytes[] = {1, 0x55, 3, 9, 9, 0, 4, 0xaa, 77, 2, 0x7e, 5, 0x55, 0};
  unsigned sum = 0;
  for (int n = 0; n < 9; n++)
    if (n != 6)
      sum += dense(n, n & 3) + dense(n, 0);
  sum += sparse(3) + sparse(70000) + sparse(4);
  sum += of_decision(2, 2) + of_decision(0, 2) + of_decision(2, 1);
  enum state state = IDLE;
  for (unsigned n = 0; n < sizeof bytes; n++) {
    state = next(state, bytes[n]);
    sum = 5 * sum + state;
  }
  sink = sum;
}
