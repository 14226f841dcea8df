// Threads of ThreadX on the Cortex-M4 of QEMU's mps2-an386: a mutex with inheritance, a queue,
// sleeps, two interrupts, and a thread on the heap that is deleted and its memory used again. The
// hook records each switch, and the program prints the control blocks.

#include "tx_api.h"

#define NOINLINE __attribute__((noinline))
#define REGISTER(address) (*(volatile unsigned *)(address))

extern TX_THREAD *_tx_thread_current_ptr;

static unsigned block_of[4096];
static volatile unsigned switches, sink;

void _tx_execution_initialize(void) {}
void _tx_execution_thread_exit(void) {}
void _tx_execution_isr_enter(void) {}
void _tx_execution_isr_exit(void) {}

void _tx_execution_thread_enter(void) {
  if (switches < 4096)
    block_of[switches] = (unsigned)_tx_thread_current_ptr;
  switches++;
}

NOINLINE static void work(unsigned turns) {
  for (volatile unsigned n = 0; n < turns; n++)
    sink += n;
}

static TX_THREAD control, logger, sensor, maker;
static TX_MUTEX mutex;
static TX_QUEUE queue;
static TX_BYTE_POOL pool;
static ULONG stacks[4][256], messages[8], memory[2048];

static void control_entry(ULONG own) {
  (void)own;
  for (;;) {
    ULONG value;
    if (tx_queue_receive(&queue, &value, 20) == TX_SUCCESS)
      work(value % 50);
  }
}

static void logger_entry(ULONG own) {
  (void)own;
  for (;;) {
    tx_mutex_get(&mutex, TX_WAIT_FOREVER);
    work(400);
    tx_mutex_put(&mutex);
    tx_thread_sleep(3);
  }
}

static void sensor_entry(ULONG own) {
  (void)own;
  for (ULONG n = 0;; n++) {
    tx_mutex_get(&mutex, TX_WAIT_FOREVER);
    work(30);
    tx_mutex_put(&mutex);
    tx_queue_send(&queue, &n, TX_NO_WAIT);
    tx_thread_sleep(2);
  }
}

static void short_entry(ULONG own) {
  (void)own;
  work(50);
}

// Prints the switches, and ends QEMU by semihosting: SYS_EXIT, ADP_Stopped_ApplicationExit.
NOINLINE static void finish(void) {
  __asm volatile("cpsid i");
  for (unsigned n = 0; n < switches && n < 4096; n++) {
    REGISTER(0x40004000) = '-';
    REGISTER(0x40004000) = '\t';
    for (unsigned shift = 32; shift; shift -= 4)
      REGISTER(0x40004000) = "0123456789abcdef"[block_of[n] >> (shift - 4) & 15];
    REGISTER(0x40004000) = '\n';
  }
  register unsigned operation __asm("r0") = 0x18;
  register unsigned reason __asm("r1") = 0x20026;
  for (;;)
    __asm volatile("bkpt 0xab" : : "r"(operation), "r"(reason) : "memory");
}

static void maker_entry(ULONG own) {
  (void)own;
  for (unsigned n = 0; n < 12; n++) {
    VOID *block, *stack;
    tx_byte_allocate(&pool, &block, sizeof(TX_THREAD), TX_NO_WAIT);
    tx_byte_allocate(&pool, &stack, 512, TX_NO_WAIT);
    tx_thread_create(block, "short", short_entry, 0, stack, 512, 1, 1, TX_NO_TIME_SLICE,
                     TX_AUTO_START);
    tx_thread_sleep(5);
    REGISTER(0xe000e200) = 1 << 5;
    tx_thread_terminate(block);
    tx_thread_delete(block);
    tx_byte_release(block);
    tx_byte_release(stack);
  }
  finish();
}

static void create(TX_THREAD *block, char *name, void (*entry)(ULONG), void *stack,
                   unsigned priority) {
  tx_thread_create(block, name, entry, 0, stack, sizeof stacks[0], priority, priority,
                   TX_NO_TIME_SLICE, TX_AUTO_START);
}

void tx_application_define(void *unused) {
  (void)unused;
  tx_byte_pool_create(&pool, "pool", memory, sizeof memory);
  tx_queue_create(&queue, "queue", 1, messages, sizeof messages);
  tx_mutex_create(&mutex, "mutex", TX_INHERIT);
  create(&control, "control", control_entry, stacks[0], 3);
  create(&logger, "logger", logger_entry, stacks[1], 6);
  create(&sensor, "sensor", sensor_entry, stacks[2], 4);
  create(&maker, "maker", maker_entry, stacks[3], 2);
}

extern void *_tx_initialize_unused_memory, *_tx_thread_system_stack_ptr;
extern unsigned stack_end;
void _tx_timer_interrupt(void);
void PendSV_Handler(void);

// The lowest priority for PendSV, then the timer, then the interrupt.
void _tx_initialize_low_level(void) {
  _tx_initialize_unused_memory = (void *)0x20100000;
  _tx_thread_system_stack_ptr = &stack_end;
  REGISTER(0xe000ed20) = 0x40ff0000;
  REGISTER(0xe000ed1c) = 0xff000000;
  REGISTER(0xe000e014) = 2500;
  REGISTER(0xe000e010) = 7;
  *(volatile unsigned char *)0xe000e405 = 0x40;
  REGISTER(0xe000e100) = 1 << 5;
}

void tick_handler(void) { _tx_timer_interrupt(); }

void external_handler(void) {
  ULONG value = 7;
  tx_queue_send(&queue, &value, TX_NO_WAIT);
}

void *memset(void *to, int value, size_t size) {
  for (size_t n = 0; n < size; n++)
    ((volatile char *)to)[n] = (char)value;
  return to;
}

void *memcpy(void *to, const void *from, size_t size) {
  for (size_t n = 0; n < size; n++)
    ((volatile char *)to)[n] = ((const char *)from)[n];
  return to;
}

int main(void) {
  REGISTER(0x40004008) = 1;
  REGISTER(0x40004010) = 16;
  tx_kernel_enter();
  for (;;) {
  }
}

void unexpected(void) {
  for (;;) {
  }
}

__attribute__((section(".vectors"), used)) static void *const vectors[] = {
    &stack_end, main, unexpected, unexpected, unexpected, unexpected, unexpected, 0, 0, 0, 0,
    unexpected, unexpected, 0, PendSV_Handler, tick_handler, unexpected, unexpected, unexpected,
    unexpected, unexpected, external_handler,
};
