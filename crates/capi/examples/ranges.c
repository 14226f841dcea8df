/*
 * Prints the executed ranges of a capture, then what a search finds.
 *
 *     cc ranges.c $(pkg-config --cflags --libs tracewright) -o ranges
 *     ./ranges CAPTURE [THREADS [QUERY]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <tracewright.h>

/* Ends the program if a function returned an error. */
static void check(tw_status status, const tw_error *error)
{
    if (status < 0) {
        fprintf(stderr, "%s: %s\n", tw_status_text(status), error->text);
        exit(1);
    }
}

static void print(const tw_capture *capture, const tw_element *element)
{
    char symbol[256];
    tw_source source = TW_SOURCE_INIT;
    tw_error error = TW_ERROR_INIT;
    size_t needed = 0;

    check(tw_capture_source(capture, element->source, &source, &error), &error);
    check(tw_symbol(capture, element->source, element->address, symbol, sizeof symbol, &needed, &error),
          &error);
    printf("%" PRIu64 " %s 0x%" PRIx64 "-0x%" PRIx64 " %" PRIu32 "%s%s\n", element->offset, source.name,
           element->address, element->end, element->instructions, needed ? " " : "", symbol);
}

/* Receives elements. The library calls it on the thread that called tw_decode. */
static int32_t receive(void *user, const tw_element *elements, size_t count)
{
    const tw_capture *capture = user;
    for (size_t n = 0; n < count; n++) {
        if (elements[n].kind == TW_ELEMENT_RANGE) {
            print(capture, &elements[n]);
        }
    }
    return 0;
}

/* Makes an index, and searches with it. */
static void find(const tw_capture *capture, const char *query)
{
    tw_error error = TW_ERROR_INIT;
    tw_index *index;
    tw_matches *matches;
    uint64_t count = 0;

    check(tw_index_new(capture, NULL, &index, &error), &error);
    check(tw_find(capture, index, query, 10, &matches, &error), &error);
    check(tw_matches_count(matches, &count, &error), &error);
    printf("%" PRIu64 " found\n", count);
    for (size_t n = 0;; n++) {
        tw_match match = TW_MATCH_INIT;
        tw_element element = TW_ELEMENT_INIT;
        tw_status status = tw_matches_get(matches, n, &match, &element, &error);
        if (status == TW_ERR_RANGE) {
            break;
        }
        check(status, &error);
        printf("element %" PRIu64 " instruction %" PRIu64 " offset %" PRIu64 " %s\n", match.number,
               match.instruction, element.offset, tw_element_kind_name(element.kind));
    }
    check(tw_matches_free(&matches, &error), &error);
    check(tw_index_free(&index, &error), &error);
}

int main(int argc, char **argv)
{
    tw_error error = TW_ERROR_INIT;
    tw_decode_options options = TW_DECODE_OPTIONS_INIT;
    tw_counts counts = TW_COUNTS_INIT;
    tw_capture *capture;

    if (argc < 2) {
        fprintf(stderr, "usage: ranges CAPTURE [THREADS [QUERY]]\n");
        return 2;
    }
    check(tw_open(argv[1], NULL, &capture, &error), &error);
    options.element_size = sizeof(tw_element);
    options.threads = argc > 2 ? (uint32_t)atoi(argv[2]) : 1;
    check(tw_decode(capture, &options, receive, capture, &counts, &error), &error);
    printf("%" PRIu64 " elements, %" PRIu64 " instructions\n", counts.elements, counts.instructions);
    if (argc > 3) {
        find(capture, argv[3]);
    }
    check(tw_capture_free(&capture, &error), &error);
    return 0;
}
