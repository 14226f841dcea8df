/*
 * A protocol of the client in two sources of the second of two buffers, whose memory the client reads:
 * sources FRAMES. A packet is `S` and 8 bytes, an address; or `B`, a branch that was taken.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracewright.h>

static tw_error error = TW_ERROR_INIT;

struct state {
    uint64_t address;
    uint32_t isa;
    uint8_t branches;
};

static void check(int line, tw_status status)
{
    if (status != TW_OK) {
        printf("%d: %s: %s\n", line, tw_status_text(status), error.text);
        exit(1);
    }
}
#define CHECK(call) check(__LINE__, call)

static int64_t find_start(void *user, const uint8_t *bytes, size_t length)
{
    (void)user;
    for (size_t at = 0; at < length; at++) {
        if (bytes[at] == 'S' || bytes[at] == 'B') {
            return (int64_t)at;
        }
    }
    return -1;
}

static int64_t parse(void *user, const uint8_t *bytes, size_t length)
{
    (void)user;
    if (bytes[0] == 'B') {
        return 1;
    }
    return bytes[0] != 'S' ? -1 : length < 9 ? 0 : 9;
}

static void decode(void *user, void *memory, const uint8_t *packet, size_t length, tw_emit *emit)
{
    struct state *state = memory;

    (void)user;
    if (packet[0] == 'S') {
        memcpy(&state->address, packet + 1, 8);
        state->isa = state->address & 1 ? TW_ISA_T32 : TW_ISA_A64;
        state->address &= ~UINT64_C(1);
        return;
    }
    state->branches++;
    CHECK(tw_emit_custom(emit, 1, &state->branches, 1, &error));
    if (tw_emit_custom(emit, 2, packet, length, NULL) != TW_ERR_RANGE) {
        exit(3);
    }
    if (state->isa && tw_emit_branch(emit, 1, &state->address, &state->isa, &error) == TW_END) {
        state->isa = 0;
    }
}

static int32_t element(void *user, const tw_element *element, const char *name, const uint8_t *content,
                       size_t length)
{
    (void)user;
    printf("%" PRIu32 " %s", element->source, tw_element_kind_name(element->kind));
    if (element->kind == TW_ELEMENT_RANGE) {
        printf(" 0x%" PRIx64 "-0x%" PRIx64 " %u", element->address, element->end, element->isa);
    } else if (element->kind == TW_ELEMENT_NO_CODE) {
        printf(" 0x%" PRIx64, element->address);
    } else if (name) {
        printf(" %s %u of %zu", name, content[0], length);
    }
    printf("\n");
    return TW_CONTINUE;
}

/* `nop; b .-4` for source 1, and `nop; b .` for source 2; and for both, T32 code that calls A32 code. */
static int64_t read_code(void *user, uint64_t address, uint32_t space, uint32_t source, uint8_t *into,
                         size_t length)
{
    static const uint8_t loop[] = {0x1f, 0x20, 0x03, 0xd5, 0xff, 0xff, 0xff, 0x17};
    static const uint8_t wait[] = {0x1f, 0x20, 0x03, 0xd5, 0x00, 0x00, 0x00, 0x14};
    static const uint8_t calls[] = {0x00, 0xbf, 0x00, 0xf0, 0x06, 0xe8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
                                    0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x20, 0xe3, 0xfe, 0xff, 0xff, 0xea};
    const uint8_t *code = source == 1 ? loop : wait;
    uint64_t start = 0x1000;
    size_t size = sizeof loop;

    (void)space;
    ((unsigned *)user)[source < 3 ? source : 3]++;
    if (address >= 0x2000) {
        code = calls;
        start = 0x2000;
        size = sizeof calls;
    }
    if (address < start || address - start >= size) {
        return 0;
    }
    size -= address - start;
    memcpy(into, code + (address - start), size < length ? size : length);
    return (int64_t)(size < length ? size : length);
}

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"other", "branch"};
    static uint8_t frames[1 << 16];
    unsigned asked[4] = {0};
    tw_protocol protocol = TW_PROTOCOL_INIT;
    const tw_protocol *protocols[] = {&protocol};
    tw_open_options open = TW_OPEN_OPTIONS_INIT;
    tw_push_options options = TW_PUSH_OPTIONS_INIT;
    tw_builder *builder;
    tw_capture *capture;
    tw_push *push;
    const char *last;
    FILE *file;
    size_t length;

    if (argc != 2 || !(file = fopen(argv[1], "rb"))) {
        return 2;
    }
    length = fread(frames, 1, sizeof frames, file);
    fclose(file);
    protocol.name = "Tiny";
    protocol.kinds = kinds;
    protocol.kind_count = 2;
    protocol.state_size = sizeof(struct state);
    protocol.sync = find_start;
    protocol.parse = parse;
    protocol.decode = decode;
    open.protocols = protocols;
    open.protocol_count = 1;
    CHECK(tw_builder_new(&builder, &error));
    CHECK(tw_builder_buffer(builder, "first", "coresight", NULL, 0, &error));
    CHECK(tw_builder_source(builder, "zero", "Tiny", &error));
    CHECK(tw_builder_register(builder, "TRACEID", 0x31, &error));
    CHECK(tw_builder_buffer(builder, "second", "coresight", NULL, 0, &error));
    /* It cannot be decoded, and has no number. */
    CHECK(tw_builder_source(builder, "unknown", "no protocol", &error));
    CHECK(tw_builder_source(builder, "one", "Tiny1.0", &error));
    CHECK(tw_builder_register(builder, "TRACEID", 0x31, &error));
    CHECK(tw_builder_source(builder, "two", "tiny", &error));
    CHECK(tw_builder_register(builder, "TRACEID", 0x32, &error));
    CHECK(tw_builder_open(&builder, &open, &capture, &error));

    options.user = asked;
    options.buffer = 1;
    options.element = element;
    options.read = read_code;
    CHECK(tw_push_new(capture, &options, &push, &error));
    CHECK(tw_push_data(push, 0, frames, length, NULL, &error));
    CHECK(tw_push_end(push, &error));
    printf("asked %d %d %d %d\n", asked[0] > 0, asked[1] > 0, asked[2] > 0, asked[3] > 0);
    CHECK(tw_push_last_report(push, 1, &last, &error));
    printf("%s\n", last ? "reported" : "none");
    CHECK(tw_push_reset(push, 0, &error));
    CHECK(tw_push_last_report(push, 1, &last, &error));
    printf("%s\n", last ? "reported" : "none");
    CHECK(tw_push_free(&push, &error));
    CHECK(tw_capture_free(&capture, &error));
    return 0;
}
