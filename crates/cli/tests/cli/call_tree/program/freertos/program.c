// Tasks of FreeRTOS: two that compute and are preempted, and two that exchange values by queues.

#include "FreeRTOS.h"
#include "queue.h"
#include "task.h"

#define NOINLINE __attribute__((noinline))

volatile unsigned sink;

// The oracle knows the stack of a task by this name.
StackType_t stack_first[512], stack_second[512], stack_sender[512], stack_receiver[512], stack_idle[256];
static StaticTask_t tasks[5];
static StaticQueue_t queue_data;
static uint8_t queue_values[4 * sizeof(unsigned)];
static QueueHandle_t queue;
static volatile unsigned received;

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

NOINLINE static unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

NOINLINE static unsigned down(unsigned n) {
  if (n == 0)
    return fibonacci(5);
  unsigned below = down(n - 1);
  return below + n;
}

// Ends QEMU by semihosting: SYS_EXIT, ADP_Stopped_ApplicationExit.
__attribute__((noreturn)) NOINLINE static void finish(void) {
  register unsigned operation asm("r0") = 0x18;
  register unsigned reason asm("r1") = 0x20026;
  for (;;)
    asm volatile("bkpt 0xab" : : "r"(operation), "r"(reason) : "memory");
}

static void compute(void *own) {
  for (unsigned n = 0;; n++)
    sink += down((unsigned)own + n % 3);
}

static void send(void *own) {
  (void)own;
  for (unsigned n = 0;; n++) {
    unsigned value = fibonacci(n % 6);
    xQueueSend(queue, &value, portMAX_DELAY);
    if (n % 4 == 3)
      vTaskDelay(1);
  }
}

static void receive(void *own) {
  (void)own;
  for (;;) {
    unsigned value;
    if (xQueueReceive(queue, &value, portMAX_DELAY) == pdTRUE)
      received += value;
    if (xTaskGetTickCount() > 20)
      finish();
  }
}

void vApplicationGetIdleTaskMemory(StaticTask_t **task, StackType_t **stack, configSTACK_DEPTH_TYPE *size) {
  *task = &tasks[4];
  *stack = stack_idle;
  *size = 256;
}

int main(void) {
  queue = xQueueCreateStatic(4, sizeof(unsigned), queue_values, &queue_data);
  xTaskCreateStatic(compute, "first", 512, (void *)1, 1, stack_first, &tasks[0]);
  xTaskCreateStatic(compute, "second", 512, (void *)3, 1, stack_second, &tasks[1]);
  xTaskCreateStatic(send, "sender", 512, 0, 2, stack_sender, &tasks[2]);
  xTaskCreateStatic(receive, "receive", 512, 0, 3, stack_receiver, &tasks[3]);
  vTaskStartScheduler();
  return 0;
}

void reset(void) {
  main();
  finish();
}

void fault(void) { finish(); }

void vPortSVCHandler(void);
void xPortPendSVHandler(void);
void xPortSysTickHandler(void);

extern char stack_end[];

__attribute__((section(".vectors"), used)) static void *const vectors[16] = {
    stack_end, reset, fault, fault, fault, fault, fault, 0, 0, 0, 0,
    vPortSVCHandler, fault, 0, xPortPendSVHandler, xPortSysTickHandler,
};
