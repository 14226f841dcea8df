/* Variables of several types. */
typedef unsigned short u16;
enum mode { IDLE, RUN, FAULT = -1 };
struct sensor { u16 raw; signed char trim; float value; };
struct state { enum mode mode; const struct sensor sensors[3]; void *next; };
volatile u16 counter = 1;
struct state state = { RUN };
double ratio = 0.5;
long long big[2] = { 1, 2 };
static int twice = 1;
int *pointer = &twice;
void _start(void) { for (;;) counter++; }
