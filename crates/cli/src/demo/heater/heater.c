// The program of the second built-in example, for a Cortex-R5. It reads the temperature, shows the mean
// of the last eight samples, and raises an alarm where the mean is above a limit, which is 60. The
// alarm is raised at 25: something has written the limit.

typedef unsigned char u8;
#define NOINLINE __attribute__((noinline))

static volatile struct {
  u8 next;       // where the next sample goes
  u8 samples[8]; // the last ones
  u8 limit;      // of the mean
} heater;

static volatile u8 display;
static u8 stack[128] __attribute__((aligned(8), used));

static const u8 temperatures[] = {20, 20, 21, 21, 22, 22, 23, 23, 24, 24, 25, 25, 26, 26, 27, 27};

NOINLINE static void set_limit(u8 limit) { heater.limit = limit; }

// The error: there are eight samples, and the last one is number 7.
NOINLINE static void add(u8 sample) {
  heater.samples[heater.next] = sample;
  heater.next = heater.next < 8 ? heater.next + 1 : 0;
}

NOINLINE static unsigned mean(void) {
  unsigned sum = 0;
#pragma nounroll
  for (int n = 0; n < 8; n++)
    sum += heater.samples[n];
  return sum / 8;
}

NOINLINE static void show(unsigned value) { display = (u8)value; }

// Ends the program.
NOINLINE static void alarm(void) {
  asm volatile("mov r7, #1\n mov r0, #0\n svc #0");
}

NOINLINE static void control(void) {
  for (unsigned n = 0; n < sizeof temperatures; n++) {
    add(temperatures[n]);
    unsigned value = mean();
    show(value);
    if (n >= 8 && value > heater.limit)
      alarm();
  }
}

void start(void) {
  set_limit(60);
  control();
  alarm();
}

__attribute__((naked)) void reset_handler(void) {
  asm("ldr sp, =stack + 128\n bl start\n b .");
}
