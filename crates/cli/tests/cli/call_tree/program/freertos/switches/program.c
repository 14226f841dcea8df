// Tasks of FreeRTOS that wait in the same functions of the kernel: static ones and ones on the
// heap, a mutex with inheritance, a queue, a timer, two interrupts, and a task that is deleted and
// its memory used again. The hook records each switch, and the program prints the tasks by name.

#include "FreeRTOS.h"
#include "queue.h"
#include "semphr.h"
#include "task.h"
#include "timers.h"

#define NOINLINE __attribute__((noinline))
#define REGISTER(address) (*(volatile unsigned *)(address))

static char log_of[4096][configMAX_TASK_NAME_LEN];
static unsigned block_of[4096];
static volatile unsigned switches;
static volatile unsigned sink, ended;

void switched_in(void *task) {
  const char *name = pcTaskGetName(task);
  for (unsigned n = 0; switches < 4096 && n < configMAX_TASK_NAME_LEN; n++)
    log_of[switches][n] = name[n];
  if (switches < 4096)
    block_of[switches] = (unsigned)task;
  switches++;
}

NOINLINE static void work(unsigned turns) {
  for (volatile unsigned n = 0; n < turns; n++)
    sink += n;
}

static QueueHandle_t queue;
static SemaphoreHandle_t mutex;

void control_task(void *own) {
  (void)own;
  for (;;) {
    unsigned value;
    if (xQueueReceive(queue, &value, 20) == pdTRUE)
      work(value);
  }
}

void logger_task(void *own) {
  (void)own;
  for (;;) {
    xSemaphoreTake(mutex, portMAX_DELAY);
    work(400);
    xSemaphoreGive(mutex);
    vTaskDelay(3);
  }
}

void sensor_task(void *own) {
  (void)own;
  for (unsigned n = 0;; n++) {
    xSemaphoreTake(mutex, portMAX_DELAY);
    work(30);
    xSemaphoreGive(mutex);
    xQueueSend(queue, &n, 0);
    vTaskDelay(2);
  }
}

void short_task(void *own) {
  (void)own;
  work(50);
  ended++;
  vTaskDelete(NULL);
}

// Prints the switches, each with the address of the control block, and ends QEMU by semihosting: SYS_EXIT, ADP_Stopped_ApplicationExit.
NOINLINE static void finish(void) {
  asm volatile("cpsid i");
  for (unsigned n = 0; n < switches && n < 4096; n++) {
    for (const char *c = log_of[n]; *c; c++)
      REGISTER(0x40004000) = *c;
    REGISTER(0x40004000) = '\t';
    for (unsigned shift = 32; shift; shift -= 4)
      REGISTER(0x40004000) = "0123456789abcdef"[block_of[n] >> (shift - 4) & 15];
    REGISTER(0x40004000) = '\n';
  }
  register unsigned operation asm("r0") = 0x18;
  register unsigned reason asm("r1") = 0x20026;
  for (;;)
    asm volatile("bkpt 0xab" : : "r"(operation), "r"(reason) : "memory");
}

void maker_task(void *own) {
  (void)own;
  for (unsigned n = 0; n < 12; n++) {
    xTaskCreate(short_task, "short", 128, NULL, 4, NULL);
    vTaskDelay(5);
    REGISTER(0xe000e200) = 1 << 5;
  }
  finish();
}

static void tick(TimerHandle_t timer) {
  (void)timer;
  work(20);
}

void external_handler(void) {
  BaseType_t woken = pdFALSE;
  unsigned value = 7;
  xQueueSendFromISR(queue, &value, &woken);
  portYIELD_FROM_ISR(woken);
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

size_t strlen(const char *text) {
  size_t size = 0;
  while (((volatile const char *)text)[size])
    size++;
  return size;
}

static StaticTask_t control_data, logger_data;
static StackType_t control_stack[160], logger_stack[160];

int main(void) {
  REGISTER(0x40004008) = 1;
  REGISTER(0x40004010) = 16;
  queue = xQueueCreate(4, sizeof(unsigned));
  mutex = xSemaphoreCreateMutex();
  xTaskCreateStatic(control_task, "control", 160, NULL, 3, control_stack, &control_data);
  xTaskCreateStatic(logger_task, "logger", 160, NULL, 1, logger_stack, &logger_data);
  xTaskCreate(sensor_task, "sensor", 160, NULL, 2, NULL);
  xTaskCreate(maker_task, "maker", 160, NULL, 3, NULL);
  xTimerStart(xTimerCreate("timer", 7, pdTRUE, NULL, tick), 0);
  *(volatile unsigned char *)0xe000e405 = 0xc0;
  REGISTER(0xe000e100) = 1 << 5;
  vTaskStartScheduler();
  for (;;) {
  }
}

void unexpected(void) {
  for (;;) {
  }
}

void vPortSVCHandler(void);
void xPortPendSVHandler(void);
void xPortSysTickHandler(void);
extern unsigned stack_end;

__attribute__((section(".vectors"), used)) static void *const vectors[] = {
    &stack_end, main, unexpected, unexpected, unexpected, unexpected, unexpected, 0, 0, 0, 0,
    vPortSVCHandler, unexpected, 0, xPortPendSVHandler, xPortSysTickHandler, unexpected, unexpected,
    unexpected, unexpected, unexpected, external_handler,
};
