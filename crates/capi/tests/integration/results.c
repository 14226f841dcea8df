/*
 * Writes the coverage or the timeline of a capture to standard output; and pushes the bytes of a file,
 * until a number of errors: results CAPTURE coverage|timeline FORMAT, results CAPTURE push FILE ERRORS,
 * or the events of the link in it: results CAPTURE links FILE;
 * or gives the library more bytes than there is memory for: results memory LENGTH.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracewright.h>

static int32_t write_out(void *user, const uint8_t *bytes, size_t length)
{
    (void)user;
    return fwrite(bytes, 1, length, stdout) == length ? 0 : 1;
}

static int32_t refuse(void *user, const uint8_t *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)user += length;
    return 1;
}

/* Prints an event of the trace link. */
static void print_link(void *user, const tw_packet *packet)
{
    (void)user;
    printf("%" PRIu64 " %s %" PRIu32 "\n", packet->offset, packet->kind, packet->value);
}

/* Pushes no sources' data but one piece, for events of the link, and finds these. */
static void find_links(const tw_capture *capture, const char *path)
{
    tw_error error = TW_ERROR_INIT;
    tw_push_options options = TW_PUSH_OPTIONS_INIT;
    static uint8_t bytes[1 << 16];
    tw_match match = TW_MATCH_INIT;
    tw_element element = TW_ELEMENT_INIT;
    tw_matches *matches;
    uint64_t count;
    tw_push *push;
    size_t length;
    FILE *file = fopen(path, "rb");

    options.link = print_link;
    if (!file || tw_push_new(capture, &options, &push, &error) != TW_OK) {
        exit(3);
    }
    length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (tw_push_data(push, 0, bytes, length, NULL, &error) != TW_OK || tw_push_end(push, &error) != TW_OK ||
        tw_push_free(&push, &error) != TW_OK) {
        exit(4);
    }
    if (tw_find(capture, NULL, "all trigger", 0, &matches, &error) != TW_OK ||
        tw_matches_count(matches, &count, &error) != TW_OK ||
        tw_matches_get(matches, 0, &match, &element, &error) != TW_OK) {
        exit(5);
    }
    printf("%" PRIu64 " found, offset %" PRIu64 " %s %d\n", count, element.offset,
           tw_element_kind_name(element.kind), element.source == TW_NO_SOURCE);
    if (tw_matches_free(&matches, &error) != TW_OK) {
        exit(6);
    }
}

static void push(const tw_capture *capture, const char *path, uint64_t stop_after)
{
    tw_error error = TW_ERROR_INIT;
    tw_push_options options = TW_PUSH_OPTIONS_INIT;
    tw_status status = TW_OK;
    uint64_t at = 0, counts[3];
    uint8_t bytes[64];
    size_t length, taken;
    tw_push *push;
    FILE *file = fopen(path, "rb");
    uint32_t severity;

    options.stop_after = stop_after;
    if (!file || tw_push_new(capture, &options, &push, &error) != TW_OK) {
        exit(3);
    }
    while (status == TW_OK && (length = fread(bytes, 1, sizeof bytes, file)) > 0) {
        status = tw_push_data(push, at, bytes, length, &taken, &error);
        at += taken;
    }
    if (status == TW_OK) {
        status = tw_push_end(push, &error);
    }
    fclose(file);
    for (severity = TW_SEVERITY_ERROR; severity <= TW_SEVERITY_INFO; severity++) {
        if (tw_push_report_count(push, severity, &counts[severity - 1], &error) != TW_OK) {
            exit(4);
        }
    }
    if (tw_push_report_count(push, 4, &counts[0], &error) != TW_ERR_ARGUMENT) {
        exit(5);
    }
    printf("%d %" PRIu64 " errors %" PRIu64 " warnings, ends at %" PRIu64 "\n", status, counts[0], counts[1],
           at);
    /* After a reset, errors count from 0, and decoding goes on. */
    file = fopen(path, "rb");
    if (!file || tw_push_reset(push, 0, &error) != TW_OK) {
        exit(7);
    }
    length = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    if (tw_push_data(push, 0, bytes, length, &taken, &error) != TW_OK || taken != length ||
        tw_push_report_count(push, TW_SEVERITY_ERROR, &counts[0], &error) != TW_OK || counts[0] != 0) {
        exit(8);
    }
    if (tw_push_free(&push, &error) != TW_OK) {
        exit(6);
    }
}

/* The library has no memory for a copy of this much. */
static int too_much(size_t length)
{
    tw_error error = TW_ERROR_INIT;
    tw_builder *builder;
    uint8_t *bytes = calloc(length, 1);
    tw_status status = TW_OK;

    if (!bytes || tw_builder_new(&builder, &error) != TW_OK) {
        return 10;
    }
    status = tw_builder_buffer(builder, "b", "source_data", bytes, length, &error);
    printf("%d %d %s\n", status, tw_builder_memory(builder, 0, bytes, length, NULL), tw_status_text(status));
    free(bytes);
    return tw_builder_free(&builder, &error) == TW_OK ? 0 : 11;
}

int main(int argc, char **argv)
{
    tw_error error = TW_ERROR_INIT;
    tw_capture *capture;
    tw_status status = TW_OK;
    size_t refused = 0;
    uint32_t format;

    if (argc == 3 && !strcmp(argv[1], "memory")) {
        return too_much(strtoull(argv[2], NULL, 0));
    }
    if (argc < 4 || tw_open(argv[1], NULL, &capture, &error) != TW_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    format = (uint32_t)strtoul(argv[3], NULL, 0);
    if (!strcmp(argv[2], "links")) {
        find_links(capture, argv[3]);
    } else if (!strcmp(argv[2], "push")) {
        push(capture, argv[3], strtoull(argv[4], NULL, 0));
    } else if (!strcmp(argv[2], "coverage")) {
        status = tw_coverage(capture, format, write_out, NULL, &error);
        if (status == TW_OK && (tw_coverage(capture, format, refuse, &refused, NULL) != TW_STOPPED || !refused)) {
            return 7;
        }
        if (tw_coverage(capture, format, NULL, NULL, NULL) != TW_ERR_NULL) {
            return 8;
        }
    } else {
        status = tw_timeline(capture, 0, format, 0, 0, write_out, NULL, &error);
        if (status == TW_OK && (tw_timeline(capture, 0, format, 0, 0, refuse, &refused, NULL) != TW_STOPPED ||
                                !refused)) {
            return 7;
        }
        if (tw_timeline(capture, 9, TW_TIMELINE_VCD, 0, 0, refuse, NULL, NULL) != TW_ERR_RANGE) {
            return 8;
        }
    }
    if (status < 0) {
        printf("%s: %s\n", tw_status_text(status), error.text);
    }
    return tw_capture_free(&capture, &error) == TW_OK ? 0 : 9;
}
