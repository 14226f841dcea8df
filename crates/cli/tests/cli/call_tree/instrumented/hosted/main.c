#include "start.h"

volatile unsigned sink;

void program(void);

int main(void) {
  program();
  return 0;
}
