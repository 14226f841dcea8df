/*
 * Pushes the bytes of a file, and prints all that the functions of the client receive:
 *
 *     pushed all CAPTURE FILE LEVEL           a line for each call
 *     pushed hold CAPTURE FILE                waits after each element
 *     pushed stop CAPTURE FILE N              ends decoding at element number N
 *     pushed memory CAPTURE FILE CODE ADDRESS reads program memory, which changes
 *     pushed wrong CAPTURE                    calls every function wrongly
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracewright.h>

#define EXPECT(want, call)                                                                             \
    do {                                                                                               \
        tw_status got_ = (call);                                                                       \
        if (got_ != (want)) {                                                                          \
            printf("%d: %s: %d (%s), not %s\n", __LINE__, #call, got_, error.text, #want);              \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)

#define THAT(condition)                                                                                \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            printf("%d: %s\n", __LINE__, #condition);                                                  \
            exit(1);                                                                                   \
        }                                                                                              \
    } while (0)

static tw_error error = TW_ERROR_INIT;

/* What the functions of the client know. */
struct client {
    int prints;
    int holds;
    uint64_t stop;
    uint64_t elements;
    uint64_t ranges;
    uint64_t no_code;
    uint64_t requests;
    uint64_t late;
    uint64_t reports[4];
    tw_push *push;
    int gone;
    uint8_t *code;
    size_t code_length;
    uint64_t code_address;
};

static void print_bytes(const uint8_t *bytes, size_t length)
{
    for (size_t n = 0; n < length; n++) {
        printf("%02x", bytes[n]);
    }
    printf("\n");
}

static int32_t element(void *user, const tw_element *element, const char *name, const uint8_t *content,
                       size_t length)
{
    struct client *client = user;

    THAT(element->size == sizeof *element);
    client->elements++;
    client->ranges += element->kind == TW_ELEMENT_RANGE;
    client->no_code += element->kind == TW_ELEMENT_NO_CODE;
    if (client->prints) {
        printf("E %" PRIu32 " %" PRIu64 " %s %s ", element->source, element->offset,
               tw_element_kind_name(element->kind), name ? name : "-");
        print_bytes(content, length);
    }
    if (client->elements == client->stop) {
        return 7;
    }
    return client->holds ? TW_HOLD : TW_CONTINUE;
}

static void print_packet(char tag, const tw_packet *packet)
{
    THAT(packet->size == sizeof *packet && *packet->text);
    printf("%c %" PRIu32 " %" PRIu64 " %" PRIu32 " %" PRIu32 " %s|%s|", tag, packet->source, packet->offset,
           packet->value, packet->flags, packet->kind, packet->text);
    print_bytes(packet->bytes, packet->length);
}

static void packet(void *user, const tw_packet *packet)
{
    (void)user;
    print_packet('P', packet);
}

static void link_event(void *user, const tw_packet *packet)
{
    (void)user;
    print_packet('L', packet);
}

static void frame(void *user, const tw_packet *packet)
{
    (void)user;
    print_packet('F', packet);
}

static void report(void *user, const tw_report *report)
{
    struct client *client = user;

    THAT(report->size == sizeof *report && report->severity >= 1 && report->severity <= 3);
    client->reports[report->severity]++;
    if (client->prints) {
        printf("R %" PRIu32 " %" PRIu32 " %" PRIu64 " %s|%s\n", report->severity, report->source,
               report->offset, report->code, report->text);
    }
}

/* Memory of the client. Each second answer comes later. The space is one bit of eight. */
static int64_t read_code(void *user, uint64_t address, uint32_t space, uint32_t source, uint8_t *into,
                         size_t length)
{
    struct client *client = user;
    uint64_t first = address - client->code_address;

    THAT(space && space < 256 && !(space & (space - 1)) && source == 0);
    if (++client->requests % 2) {
        client->late++;
        return TW_READ_LATER;
    }
    if (client->gone || address < client->code_address || first >= client->code_length) {
        return 0;
    }
    length = length > client->code_length - first ? client->code_length - first : length;
    memcpy(into, client->code + first, length);
    return (int64_t)length;
}

static uint8_t *contents(const char *path, size_t *length)
{
    static const size_t room = 1 << 22;
    uint8_t *bytes = malloc(room);
    FILE *file = fopen(path, "rb");

    THAT(bytes && file);
    *length = fread(bytes, 1, room, file);
    fclose(file);
    return bytes;
}

/* Pushes all bytes in pieces, flushes while that is asked for, and returns the number of flushes. */
static uint64_t push_all(struct client *client, uint64_t from, const uint8_t *bytes, size_t length)
{
    uint64_t flushes = 0;
    size_t at = 0, taken;
    int ended = 0;

    for (;;) {
        size_t piece = length - at < 64 ? length - at : 64;
        uint64_t before = client->elements;
        tw_status status = ended ? TW_OK : tw_push_data(client->push, from + at, bytes + at, piece, &taken, &error);
        at += taken;
        if (!ended && status == TW_OK && at == length) {
            status = tw_push_end(client->push, &error);
            ended = 1;
        }
        THAT(!client->holds || client->elements - before <= 1);
        while (status == TW_WAIT) {
            /* Nothing else may follow. */
            EXPECT(TW_ERR_ORDER, tw_push_data(client->push, from + at, bytes, 0, NULL, &error));
            EXPECT(TW_ERR_ORDER, tw_push_end(client->push, &error));
            before = client->elements;
            status = tw_push_flush(client->push, &error);
            THAT(!client->holds || client->elements - before <= 1);
            flushes++;
        }
        if (status != TW_OK) {
            printf("status %d at %zu\n", status, at);
            return flushes;
        }
        if (ended) {
            EXPECT(TW_ERR_ORDER, tw_push_data(client->push, from + at, bytes, 1, NULL, &error));
            return flushes;
        }
    }
}

/* The counts and the last reports of the handle are those that the client received. */
static void check_reports(struct client *client, int all)
{
    for (uint32_t severity = TW_SEVERITY_ERROR; severity <= TW_SEVERITY_INFO; severity++) {
        uint64_t count;
        EXPECT(TW_OK, tw_push_report_count(client->push, severity, &count, &error));
        printf("counted %" PRIu32 " %" PRIu64 "\n", severity, count);
        THAT(!all || count == client->reports[severity]);
    }
    for (uint32_t n = 0; n < 2; n++) {
        const char *text;
        EXPECT(TW_OK, tw_push_last_report(client->push, n ? TW_NO_SOURCE : 0, &text, &error));
        printf("last %s %s\n", n ? "link" : "source", text ? text : "-");
    }
}

static void all(tw_capture *capture, struct client *client, const char *path, uint32_t level)
{
    tw_push_options options = TW_PUSH_OPTIONS_INIT;
    size_t length, taken;
    uint8_t *bytes = contents(path, &length);

    client->prints = 1;
    options.user = client;
    options.element = element;
    options.packet = packet;
    options.link = link_event;
    options.frame = frame;
    options.report = report;
    options.level = level;
    EXPECT(TW_OK, tw_push_new(capture, &options, &client->push, &error));
    EXPECT(TW_OK, tw_push_data(client->push, 0, bytes, length, &taken, &error));
    THAT(taken == length);
    EXPECT(TW_ERR_ORDER, tw_push_data(client->push, length + 1, bytes, 1, &taken, &error));
    THAT(taken == 0);
    EXPECT(TW_OK, tw_push_end(client->push, &error));
    check_reports(client, level == TW_SEVERITY_INFO);
    EXPECT(TW_OK, tw_push_free(&client->push, &error));
    free(bytes);
}

/* Elements that wait for a flush each, and end at one of them; a reset begins anew. */
static void hold(tw_capture *capture, struct client *client, const char *path)
{
    tw_push_options options = TW_PUSH_OPTIONS_INIT;
    size_t length;
    uint8_t *bytes = contents(path, &length);
    uint64_t flushes;

    options.user = client;
    options.element = element;
    EXPECT(TW_OK, tw_push_new(capture, &options, &client->push, &error));
    client->prints = 1;
    if (client->stop) {
        push_all(client, 0, bytes, length);
        THAT(client->elements == client->stop);
        EXPECT(TW_STOPPED, tw_push_flush(client->push, &error));
        EXPECT(TW_ERR_ORDER, tw_push_data(client->push, 0, bytes, length, NULL, &error));
        /* Offsets count from another number. */
        EXPECT(TW_OK, tw_push_reset(client->push, 1 << 20, &error));
        client->prints = 0;
        client->stop = 0;
        client->elements = 0;
        push_all(client, 1 << 20, bytes, length);
        printf("after the reset %" PRIu64 "\n", client->elements);
    } else {
        client->holds = 1;
        flushes = push_all(client, 0, bytes, length);
        THAT(flushes >= client->elements && client->elements > 1);
    }
    EXPECT(TW_OK, tw_push_free(&client->push, &error));
    free(bytes);
}

/* The code of the target disappears. What was read stays until it is forgotten. */
static void changes(tw_capture *capture, struct client *client, const char *path, const char *code,
                    const char *address)
{
    tw_push_options options = TW_PUSH_OPTIONS_INIT;
    size_t length;
    uint8_t *bytes = contents(path, &length);
    uint64_t ranges, requests;

    client->code = contents(code, &client->code_length);
    client->code_address = strtoull(address, NULL, 0);
    options.user = client;
    options.element = element;
    options.read = read_code;
    EXPECT(TW_OK, tw_push_new(capture, &options, &client->push, &error));
    /* It asks again after late answers. */
    THAT(push_all(client, 0, bytes, length) > 0 && client->late > 0);
    ranges = client->ranges;
    printf("ranges %" PRIu64 " elements %" PRIu64 "\n", client->ranges, client->elements);

    client->gone = 1;
    requests = client->requests;
    client->ranges = client->no_code = 0;
    EXPECT(TW_OK, tw_push_reset(client->push, 0, &error));
    push_all(client, 0, bytes, length);
    THAT(client->requests == requests && client->ranges == ranges);

    client->ranges = client->no_code = 0;
    EXPECT(TW_OK, tw_push_reset(client->push, 0, &error));
    EXPECT(TW_OK, tw_push_forget_memory(client->push, &error));
    push_all(client, 0, bytes, length);
    THAT(client->requests > requests && client->ranges == 0 && client->no_code > 0);
    EXPECT(TW_OK, tw_push_free(&client->push, &error));
    free(bytes);
    free(client->code);
}

/* A function of the client that uses the handle. */
static int32_t uses_handle(void *user, const tw_element *element, const char *name, const uint8_t *content,
                           size_t length)
{
    struct client *client = user;

    (void)element;
    (void)name;
    (void)content;
    (void)length;
    EXPECT(TW_ERR_BUSY, tw_push_flush(client->push, &error));
    client->elements++;
    return TW_CONTINUE;
}

static void wrong(tw_capture *capture, struct client *client)
{
    tw_push_options options = TW_PUSH_OPTIONS_INIT;
    const char *text;
    const tw_push *other = (const tw_push *)capture;
    uint64_t count;
    uint8_t byte = 0;

    EXPECT(TW_ERR_NULL, tw_push_new(NULL, &options, &client->push, &error));
    EXPECT(TW_ERR_NULL, tw_push_new(capture, NULL, &client->push, &error));
    EXPECT(TW_ERR_NULL, tw_push_new(capture, &options, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_push_new((const tw_capture *)&options, &options, &client->push, &error));
    options.size = 2;
    EXPECT(TW_ERR_SIZE, tw_push_new(capture, &options, &client->push, &error));
    options.size = sizeof options;
    options.buffer = 9;
    EXPECT(TW_ERR_RANGE, tw_push_new(capture, &options, &client->push, &error));
    options.buffer = 0;
    options.level = 4;
    EXPECT(TW_ERR_ARGUMENT, tw_push_new(capture, &options, &client->push, &error));
    options.level = 0;
    THAT(client->push == NULL);
    options.user = client;
    options.element = uses_handle;
    EXPECT(TW_OK, tw_push_new(capture, &options, &client->push, &error));

    EXPECT(TW_ERR_NULL, tw_push_data(NULL, 0, &byte, 1, NULL, &error));
    EXPECT(TW_ERR_NULL, tw_push_data(client->push, 0, NULL, 1, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_push_data((tw_push *)other, 0, &byte, 1, NULL, &error));
    EXPECT(TW_ERR_NULL, tw_push_flush(NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_push_flush((tw_push *)other, &error));
    EXPECT(TW_ERR_NULL, tw_push_end(NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_push_end((tw_push *)other, &error));
    EXPECT(TW_ERR_NULL, tw_push_reset(NULL, 0, &error));
    EXPECT(TW_ERR_HANDLE, tw_push_reset((tw_push *)other, 0, &error));
    EXPECT(TW_ERR_NULL, tw_push_forget_memory(NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_push_forget_memory((tw_push *)other, &error));
    EXPECT(TW_ERR_NULL, tw_push_last_report(NULL, 0, &text, &error));
    EXPECT(TW_ERR_NULL, tw_push_last_report(client->push, 0, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_push_last_report((tw_push *)other, 0, &text, &error));
    EXPECT(TW_ERR_NULL, tw_push_report_count(NULL, 1, &count, &error));
    EXPECT(TW_ERR_NULL, tw_push_report_count(client->push, 1, NULL, &error));
    EXPECT(TW_ERR_ARGUMENT, tw_push_report_count(client->push, 0, &count, &error));
    EXPECT(TW_ERR_HANDLE, tw_push_report_count((tw_push *)other, 1, &count, &error));
    EXPECT(TW_ERR_NULL, tw_push_free(NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_push_free((tw_push **)&other, &error));
    EXPECT(TW_ERR_NULL, tw_emit_timestamp(NULL, 1, &error));
    EXPECT(TW_ERR_NULL, tw_emit_custom(NULL, 0, &byte, 1, &error));

    EXPECT(TW_OK, tw_push_last_report(client->push, 0, &text, &error));
    THAT(text == NULL);
    EXPECT(TW_OK, tw_push_data(client->push, 0, &byte, 1, NULL, &error));
    EXPECT(TW_OK, tw_push_end(client->push, &error));
    THAT(client->elements > 0);
    EXPECT(TW_OK, tw_push_free(&client->push, &error));
    EXPECT(TW_OK, tw_push_free(&client->push, &error));
    printf("refused\n");
}

int main(int argc, char **argv)
{
    static struct client client;
    tw_capture *capture;

    THAT(argc > 2);
    EXPECT(TW_OK, tw_open(argv[2], NULL, &capture, &error));
    if (!strcmp(argv[1], "all")) {
        all(capture, &client, argv[3], (uint32_t)atoi(argv[4]));
    } else if (!strcmp(argv[1], "hold")) {
        hold(capture, &client, argv[3]);
    } else if (!strcmp(argv[1], "stop")) {
        client.stop = strtoull(argv[4], NULL, 0);
        hold(capture, &client, argv[3]);
    } else if (!strcmp(argv[1], "memory")) {
        changes(capture, &client, argv[3], argv[4], argv[5]);
    } else {
        wrong(capture, &client);
    }
    EXPECT(TW_OK, tw_capture_free(&capture, &error));
    return 0;
}
