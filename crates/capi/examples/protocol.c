/*
 * A trace protocol of a client, that of examples/protocol: one message for each branch. It prints
 * what the trace in a file means, with the program in another file.
 *
 *     cc protocol.c $(pkg-config --cflags --libs tracewright) -o protocol
 *     ./protocol TRACE MEMORY ADDRESS
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracewright.h>

enum { SYNC = 0xa5, SYNC2 = 0x5a, NOT_TAKEN = 1, TAKEN = 2, TAKEN_TO = 3, TIMESTAMP = 4, NOTE = 5 };

/* The state of a decoder. At first all of it is 0. */
struct state {
    uint64_t address;
    uint32_t isa; /* 0: it is not known where the program continues. */
};

static uint64_t number(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int n = 7; n >= 0; n--) {
        value = value << 8 | bytes[n];
    }
    return value;
}

static int64_t find_sync(void *user, const uint8_t *bytes, size_t length)
{
    (void)user;
    for (size_t at = 0; at + 1 < length; at++) {
        if (bytes[at] == SYNC && bytes[at + 1] == SYNC2) {
            return (int64_t)at;
        }
    }
    return -1;
}

static int64_t parse(void *user, const uint8_t *bytes, size_t length)
{
    size_t needed = 1;

    (void)user;
    switch (bytes[0]) {
    case SYNC:
        if (length > 1 && bytes[1] != SYNC2) {
            return -1;
        }
        needed = 11;
        break;
    case NOT_TAKEN:
    case TAKEN:
        break;
    case TAKEN_TO:
    case TIMESTAMP:
        needed = 9;
        break;
    case NOTE:
        if (length > 1 && bytes[1] > 16) {
            return -1;
        }
        needed = length > 1 ? 2 + bytes[1] : 2;
        break;
    default:
        return -1;
    }
    return length < needed ? 0 : (int64_t)needed;
}

static void decode(void *user, void *memory, const uint8_t *packet, size_t length, tw_emit *emit)
{
    static const uint32_t isas[] = {TW_ISA_A64, TW_ISA_A32, TW_ISA_T32};
    struct state *state = memory;
    tw_status status;

    (void)user;
    (void)length;
    switch (packet[0]) {
    case SYNC:
        state->isa = packet[2] < 3 ? isas[packet[2]] : 0;
        state->address = number(packet + 3);
        break;
    case TIMESTAMP:
        tw_emit_timestamp(emit, number(packet + 1), NULL);
        break;
    case NOTE:
        tw_emit_custom(emit, 0, packet + 2, packet[1], NULL);
        break;
    default:
        if (!state->isa) {
            break;
        }
        status = tw_emit_branch(emit, packet[0] != NOT_TAKEN, &state->address, &state->isa, NULL);
        if (packet[0] == TAKEN_TO) {
            state->address = number(packet + 1);
        } else if (status != TW_OK) {
            state->isa = 0;
        }
    }
}

static void check(tw_status status, const tw_error *error)
{
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", tw_status_text(status), error->text);
        exit(1);
    }
}

static unsigned char *contents(const char *path, size_t *length)
{
    unsigned char *bytes = malloc(1 << 20);
    FILE *file = fopen(path, "rb");

    if (!bytes || !file) {
        perror(path);
        exit(1);
    }
    *length = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static int32_t element(void *user, const tw_element *element, const char *name, const uint8_t *content,
                       size_t length)
{
    (void)user;
    printf("%" PRIu64 " %s", element->offset, tw_element_kind_name(element->kind));
    if (element->kind == TW_ELEMENT_RANGE) {
        printf(" 0x%" PRIx64 "-0x%" PRIx64, element->address, element->end);
    } else if (element->kind == TW_ELEMENT_TIMESTAMP) {
        printf(" %" PRIu64, element->value);
    }
    if (name) {
        printf(" %s %.*s", name, (int)length, (const char *)content);
    }
    printf("\n");
    return TW_CONTINUE;
}

/* Counts the packets of the protocol. */
static void count_packets(void *user, const tw_packet *packet)
{
    *(unsigned *)user += !strcmp(packet->kind, "packet");
}

/* Receives elements of several threads, in order. */
static int32_t elements(void *user, const tw_element *all, size_t count)
{
    size_t n;

    for (n = 0; n < count; n++) {
        element(user, &all[n], NULL, NULL, 0);
    }
    return 0;
}

/* Decodes a snapshot, whose devices have the protocol, on three threads, and counts notes by an index. */
static void decode_snapshot(const char *path, const tw_open_options *open)
{
    tw_error error = TW_ERROR_INIT;
    tw_decode_options options = TW_DECODE_OPTIONS_INIT;
    tw_capture *capture;
    tw_index *index;
    tw_matches *matches;
    uint64_t count;

    check(tw_open(path, open, &capture, &error), &error);
    options.threads = 3;
    check(tw_decode(capture, &options, elements, NULL, NULL, &error), &error);
    check(tw_index_new(capture, NULL, &index, &error), &error);
    check(tw_find(capture, index, "count custom", 0, &matches, &error), &error);
    check(tw_matches_count(matches, &count, &error), &error);
    printf("%" PRIu64 " notes\n", count);
    check(tw_matches_free(&matches, &error), &error);
    check(tw_index_free(&index, &error), &error);
    check(tw_capture_free(&capture, &error), &error);
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"note"};
    tw_error error = TW_ERROR_INIT;
    tw_protocol protocol = TW_PROTOCOL_INIT;
    const tw_protocol *protocols[] = {&protocol};
    tw_open_options open = TW_OPEN_OPTIONS_INIT;
    tw_push_options options = TW_PUSH_OPTIONS_INIT;
    unsigned char *trace, *memory;
    size_t trace_length, memory_length, taken;
    unsigned packets = 0;
    tw_builder *builder;
    tw_capture *capture;
    tw_push *push;

    if (argc != 2 && argc < 4) {
        fprintf(stderr, "usage: protocol TRACE MEMORY ADDRESS, or protocol SNAPSHOT\n");
        return 2;
    }
    protocol.name = "BranchMessages";
    protocol.kinds = kinds;
    protocol.kind_count = 1;
    protocol.state_size = sizeof(struct state);
    protocol.sync = find_sync;
    protocol.parse = parse;
    protocol.decode = decode;
    open.protocols = protocols;
    open.protocol_count = 1;
    if (argc == 2) {
        decode_snapshot(argv[1], &open);
        return 0;
    }
    trace = contents(argv[1], &trace_length);
    memory = contents(argv[2], &memory_length);
    check(tw_builder_new(&builder, &error), &error);
    check(tw_builder_buffer(builder, "trace", "source_data", NULL, 0, &error), &error);
    check(tw_builder_source(builder, "unit", "BranchMessages1.0", &error), &error);
    check(tw_builder_memory(builder, strtoull(argv[3], NULL, 0), memory, memory_length, &error), &error);
    check(tw_builder_open(&builder, &open, &capture, &error), &error);

    options.element = element;
    options.packet = count_packets;
    options.user = &packets;
    check(tw_push_new(capture, &options, &push, &error), &error);
    check(tw_push_data(push, 0, trace, trace_length, &taken, &error), &error);
    check(tw_push_end(push, &error), &error);
    printf("%u packets\n", packets);
    check(tw_push_free(&push, &error), &error);
    check(tw_capture_free(&capture, &error), &error);
    free(trace);
    free(memory);
    return 0;
}
