/*
 * Decodes the bytes of a trace buffer in pieces, as they arrive from a target, and reads its program
 * memory from there. The target is a file of trace data and a file of memory here.
 *
 *     cc push.c $(pkg-config --cflags --libs tracewright) -o push
 *     ./push CAPTURE TRACE MEMORY ADDRESS
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracewright.h>

/* The memory of a target, from an address on, and what was received. */
struct target {
    unsigned char *memory;
    size_t length;
    uint64_t address;
    unsigned requests;
    unsigned elements;
    unsigned packets;
    unsigned frames;
    unsigned waits;
};

static void check(tw_status status, const tw_error *error)
{
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", tw_status_text(status), error->text);
        exit(1);
    }
}

static unsigned char *contents(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes = NULL;
    size_t room = 0;

    *length = 0;
    if (!file) {
        perror(path);
        exit(1);
    }
    do {
        room += 65536;
        bytes = realloc(bytes, room);
        if (!bytes) {
            exit(1);
        }
        *length += fread(bytes + *length, 1, room - *length, file);
    } while (*length == room);
    fclose(file);
    return bytes;
}

/* Memory of the target. Every third answer comes later. */
static int64_t read_memory(void *user, uint64_t address, uint32_t space, uint32_t source, uint8_t *into,
                           size_t length)
{
    struct target *target = user;
    uint64_t first = address - target->address;

    (void)space;
    (void)source;
    if (++target->requests % 3 == 0) {
        return TW_READ_LATER;
    }
    if (address < target->address || first >= target->length) {
        return 0;
    }
    if (length > target->length - first) {
        length = target->length - first;
    }
    memcpy(into, target->memory + first, length);
    return (int64_t)length;
}

/* Receives an element. After every fifth one it has no room for others. */
static int32_t element(void *user, const tw_element *element, const char *name, const uint8_t *content,
                       size_t length)
{
    struct target *target = user;

    (void)content;
    if (element->kind == TW_ELEMENT_RANGE) {
        printf("%" PRIu64 " 0x%" PRIx64 "-0x%" PRIx64 " %" PRIu32 "\n", element->offset, element->address,
               element->end, element->instructions);
    } else if (name) {
        printf("%" PRIu64 " %s of %zu bytes\n", element->offset, name, length);
    }
    return ++target->elements % 5 == 0 ? TW_HOLD : TW_CONTINUE;
}

static void packet(void *user, const tw_packet *packet)
{
    struct target *target = user;
    target->packets++;
    if (packet->source == TW_NO_SOURCE) {
        printf("%" PRIu64 " link: %s %" PRIu32 "\n", packet->offset, packet->kind, packet->value);
    }
}

static void frame(void *user, const tw_packet *packet)
{
    struct target *target = user;
    target->frames += packet->flags == TW_FRAME_PACKED;
}

static void report(void *user, const tw_report *report)
{
    (void)user;
    printf("%" PRIu64 " %s: %s\n", report->offset, report->code, report->text);
}

/* Flushes until data may follow. */
static void flush(tw_push *push, tw_status status, struct target *target)
{
    tw_error error = TW_ERROR_INIT;

    while (status == TW_WAIT) {
        target->waits++;
        status = tw_push_flush(push, &error);
        check(status, &error);
    }
}

int main(int argc, char **argv)
{
    tw_error error = TW_ERROR_INIT;
    tw_push_options options = TW_PUSH_OPTIONS_INIT;
    struct target target = {0};
    unsigned char *trace;
    size_t length, at = 0;
    tw_capture *capture;
    tw_push *push;
    tw_status status;
    const char *last;

    if (argc < 5) {
        fprintf(stderr, "usage: push CAPTURE TRACE MEMORY ADDRESS\n");
        return 2;
    }
    trace = contents(argv[2], &length);
    target.memory = contents(argv[3], &target.length);
    target.address = strtoull(argv[4], NULL, 0);
    check(tw_open(argv[1], NULL, &capture, &error), &error);

    options.user = &target;
    options.element = element;
    options.packet = packet;
    options.link = packet;
    options.frame = frame;
    options.report = report;
    options.read = read_memory;
    options.level = TW_SEVERITY_WARNING;
    check(tw_push_new(capture, &options, &push, &error), &error);
    while (at < length) {
        size_t piece = length - at < 48 ? length - at : 48, taken;
        status = tw_push_data(push, at, trace + at, piece, &taken, &error);
        check(status, &error);
        at += taken;
        flush(push, status, &target);
    }
    status = tw_push_end(push, &error);
    check(status, &error);
    flush(push, status, &target);
    check(tw_push_last_report(push, 0, &last, &error), &error);
    printf("%u elements, %u packets, %u frames\n", target.elements, target.packets, target.frames);
    printf("waited: %s; last: %s\n", target.waits ? "yes" : "no", last ? last : "none");

    check(tw_push_free(&push, &error), &error);
    check(tw_capture_free(&capture, &error), &error);
    free(trace);
    free(target.memory);
    return 0;
}
