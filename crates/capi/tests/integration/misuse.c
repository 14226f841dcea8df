/* Calls every function wrongly: each call returns an error and changes nothing. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracewright.h>

static int failures;

#define EXPECT(want, call)                                                                             \
    do {                                                                                               \
        tw_status got_ = (call);                                                                       \
        if (got_ != (want)) {                                                                          \
            failures++;                                                                                \
            printf("%d: %s: %d (%s), not %s\n", __LINE__, #call, got_, error.text, #want);              \
        }                                                                                              \
    } while (0)

#define THAT(condition)                                                                                \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            failures++;                                                                                \
            printf("%d: %s\n", __LINE__, #condition);                                                  \
        }                                                                                              \
    } while (0)

/* The bytes of no handle. */
static struct {
    uint64_t words[32];
} nothing;

static tw_error error = TW_ERROR_INIT;

static int32_t count_elements(void *user, const tw_element *elements, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        *(uint64_t *)user += elements[n].kind == TW_ELEMENT_REPEAT
                                 ? elements[n].number * elements[n].value
                                 : 1;
    }
    return 0;
}

static int32_t stop(void *user, const tw_element *elements, size_t count)
{
    (void)elements;
    *(uint64_t *)user += count;
    return 1;
}

static int32_t free_capture(void *user, const tw_element *elements, size_t count)
{
    (void)elements;
    (void)count;
    tw_capture_free(user, NULL);
    return 0;
}

static int32_t take_bytes(void *user, const uint8_t *bytes, size_t length)
{
    (void)bytes;
    *(size_t *)user += length;
    return 0;
}

static int32_t refuse_bytes(void *user, const uint8_t *bytes, size_t length)
{
    (void)user;
    (void)bytes;
    (void)length;
    return 1;
}

static void opening(const char *path)
{
    tw_capture *capture = (tw_capture *)&nothing;
    tw_open_options options = TW_OPEN_OPTIONS_INIT;
    const char *images[] = {"/no/such/file", NULL};
    tw_error small;

    EXPECT(TW_ERR_NULL, tw_open(NULL, NULL, &capture, &error));
    THAT(capture == NULL);
    EXPECT(TW_ERR_NULL, tw_open(path, NULL, NULL, &error));
    EXPECT(TW_ERR_OPEN, tw_open("/no/such/capture", NULL, &capture, &error));
    THAT(capture == NULL && strstr(error.text, "/no/such/capture") != NULL);
    THAT(error.code == TW_ERR_OPEN && error.size == sizeof error);
    EXPECT(TW_ERR_OPEN, tw_open("", NULL, &capture, NULL));
    options.size = 4;
    EXPECT(TW_ERR_SIZE, tw_open(path, &options, &capture, &error));
    options.size = 100000;
    EXPECT(TW_ERR_SIZE, tw_open(path, &options, &capture, &error));
    options.size = sizeof options;
    options.flags = 1u << 31;
    EXPECT(TW_ERR_ARGUMENT, tw_open(path, &options, &capture, &error));
    options.flags = 0;
    options.image_count = 1;
    EXPECT(TW_ERR_NULL, tw_open(path, &options, &capture, &error));
    options.images = images;
    EXPECT(TW_ERR_OPEN, tw_open(path, &options, &capture, &error));
    options.images = images + 1;
    EXPECT(TW_ERR_NULL, tw_open(path, &options, &capture, &error));
    options.images = (const char *const *)((const char *)images + 1);
    EXPECT(TW_ERR_ARGUMENT, tw_open(path, &options, &capture, &error));
    options.images = images;
    options.image_count = SIZE_MAX;
    EXPECT(TW_ERR_ARGUMENT, tw_open(path, &options, &capture, &error));
    small.size = 8;
    EXPECT(TW_ERR_SIZE, tw_open(path, NULL, &capture, &small));
    THAT(capture == NULL && small.size == 8);

    EXPECT(TW_ERR_NULL, tw_capture_free(NULL, &error));
    EXPECT(TW_OK, tw_capture_free(&capture, &error));
    capture = (tw_capture *)&nothing;
    EXPECT(TW_ERR_HANDLE, tw_capture_free(&capture, &error));
    capture = (tw_capture *)((char *)&nothing + 1);
    EXPECT(TW_ERR_HANDLE, tw_capture_free(&capture, &error));
}

static void captures(const tw_capture *capture, const tw_index *index)
{
    tw_info info = TW_INFO_INIT;
    tw_source source = TW_SOURCE_INIT;
    const char *text;
    char symbol[8];
    uint64_t length;
    size_t needed;

    EXPECT(TW_ERR_NULL, tw_capture_info(NULL, &info, &error));
    EXPECT(TW_ERR_NULL, tw_capture_info(capture, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_capture_info((const tw_capture *)&nothing, &info, &error));
    EXPECT(TW_ERR_HANDLE, tw_capture_info((const tw_capture *)index, &info, &error));
    info.size = 0;
    EXPECT(TW_ERR_SIZE, tw_capture_info(capture, &info, &error));
    info.size = sizeof info;
    EXPECT(TW_OK, tw_capture_info(capture, &info, &error));
    THAT(info.sources > 0 && info.buffers > 0);

    EXPECT(TW_ERR_NULL, tw_capture_source(NULL, 0, &source, &error));
    EXPECT(TW_ERR_NULL, tw_capture_source(capture, 0, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_capture_source((const tw_capture *)index, 0, &source, &error));
    EXPECT(TW_ERR_RANGE, tw_capture_source(capture, info.sources, &source, &error));
    EXPECT(TW_ERR_RANGE, tw_capture_source(capture, SIZE_MAX, &source, &error));
    source.size = 1;
    EXPECT(TW_ERR_SIZE, tw_capture_source(capture, 0, &source, &error));

    EXPECT(TW_ERR_NULL, tw_capture_buffer(NULL, 0, &text, &length, &error));
    EXPECT(TW_ERR_HANDLE, tw_capture_buffer((const tw_capture *)index, 0, &text, &length, &error));
    EXPECT(TW_ERR_RANGE, tw_capture_buffer(capture, info.buffers, &text, &length, &error));
    EXPECT(TW_OK, tw_capture_buffer(capture, 0, NULL, NULL, &error));
    EXPECT(TW_OK, tw_capture_buffer(capture, 0, &text, &length, NULL));
    THAT(strlen(text) > 0 && length > 0);

    EXPECT(TW_ERR_NULL, tw_capture_note(NULL, 0, &text, &error));
    EXPECT(TW_ERR_NULL, tw_capture_note(capture, 0, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_capture_note((const tw_capture *)&nothing, 0, &text, &error));
    EXPECT(TW_ERR_RANGE, tw_capture_note(capture, info.notes, &text, &error));

    EXPECT(TW_ERR_NULL, tw_symbol(NULL, 0, 0, symbol, sizeof symbol, &needed, &error));
    EXPECT(TW_ERR_NULL, tw_symbol(capture, 0, 0, NULL, 8, &needed, &error));
    EXPECT(TW_ERR_RANGE, tw_symbol(capture, info.sources, 0, symbol, sizeof symbol, &needed, &error));
    EXPECT(TW_ERR_HANDLE, tw_symbol((const tw_capture *)index, 0, 0, symbol, 8, &needed, &error));
    EXPECT(TW_OK, tw_symbol(capture, 0, 0, NULL, 0, NULL, &error));
    EXPECT(TW_OK, tw_symbol(capture, 0, UINT64_MAX, symbol, 1, &needed, &error));
    THAT(needed == 0 && symbol[0] == 0);
}

static void decoding(const char *path, tw_capture *capture, tw_index *index)
{
    tw_decode_options options = TW_DECODE_OPTIONS_INIT;
    tw_counts counts = TW_COUNTS_INIT;
    tw_capture *other;
    uint64_t all = 0, some = 0;

    EXPECT(TW_ERR_NULL, tw_decode(NULL, NULL, stop, &some, NULL, &error));
    EXPECT(TW_ERR_NULL, tw_decode(capture, NULL, NULL, &some, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_decode((const tw_capture *)index, NULL, stop, &some, NULL, &error));
    counts.size = 12;
    EXPECT(TW_ERR_SIZE, tw_decode(capture, NULL, stop, &some, &counts, &error));
    counts.size = sizeof counts;
    options.size = 8;
    EXPECT(TW_ERR_SIZE, tw_decode(capture, &options, stop, &some, &counts, &error));
    options.size = sizeof options;
    options.element_size = 16;
    EXPECT(TW_ERR_SIZE, tw_decode(capture, &options, stop, &some, &counts, &error));
    options.element_size = sizeof(tw_element) + 4;
    EXPECT(TW_ERR_SIZE, tw_decode(capture, &options, stop, &some, &counts, &error));
    options.element_size = 0;
    options.flags = 2;
    EXPECT(TW_ERR_ARGUMENT, tw_decode(capture, &options, stop, &some, &counts, &error));
    options.flags = 0;
    options.threads = UINT32_MAX;
    EXPECT(TW_ERR_ARGUMENT, tw_decode(capture, &options, stop, &some, &counts, &error));
    options.threads = 1;
    options.select = 1u << 30;
    EXPECT(TW_ERR_ARGUMENT, tw_decode(capture, &options, stop, &some, &counts, &error));
    options.select = TW_SELECT_BUFFER;
    options.buffer = 1000;
    EXPECT(TW_ERR_RANGE, tw_decode(capture, &options, stop, &some, &counts, &error));
    options.select = TW_SELECT_OFFSET;
    options.offset_from = 5;
    EXPECT(TW_ERR_RANGE, tw_decode(capture, &options, stop, &some, &counts, &error));
    options.select = 0;
    options.index = (const tw_index *)&nothing;
    EXPECT(TW_ERR_HANDLE, tw_decode(capture, &options, stop, &some, &counts, &error));
    options.index = (const tw_index *)capture;
    EXPECT(TW_ERR_HANDLE, tw_decode(capture, &options, stop, &some, &counts, &error));
    THAT(some == 0);

    options.index = NULL;
    EXPECT(TW_OK, tw_decode(capture, &options, count_elements, &all, &counts, &error));
    THAT(all > 0 && all == counts.elements);
    options.batch = 1;
    EXPECT(TW_STOPPED, tw_decode(capture, &options, stop, &some, &counts, &error));
    THAT(some == 1);
    /* A part of the trace, by number, with the index and without. */
    options.select = TW_SELECT_ELEMENT;
    options.element_from = all / 2;
    options.element_to = all / 2 + 3;
    some = 0;
    EXPECT(TW_OK, tw_decode(capture, &options, count_elements, &some, NULL, &error));
    THAT(some >= 3 && some <= 5);
    options.index = index;
    all = 0;
    EXPECT(TW_OK, tw_decode(capture, &options, count_elements, &all, NULL, &error));
    THAT(all == some);
    /* The index of another capture, and a capture that is freed while it is decoded. */
    EXPECT(TW_OK, tw_open(path, NULL, &other, &error));
    EXPECT(TW_ERR_INDEX, tw_decode(other, &options, stop, &some, NULL, &error));
    EXPECT(TW_OK, tw_decode(other, NULL, free_capture, &other, NULL, &error));
    THAT(other == NULL);
}

/* The element of a version of the header with one more field. */
struct larger_element {
    tw_element element;
    uint64_t more;
};

static void reading(tw_capture *capture, tw_index *index)
{
    tw_decode_options options = TW_DECODE_OPTIONS_INIT;
    tw_counts counts = TW_COUNTS_INIT;
    struct larger_element larger[3];
    tw_element elements[3];
    tw_reader *reader = (tw_reader *)&nothing;
    size_t count = 7;

    EXPECT(TW_ERR_NULL, tw_reader_new(NULL, NULL, &reader, &error));
    THAT(reader == NULL);
    EXPECT(TW_ERR_NULL, tw_reader_new(capture, NULL, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_reader_new((const tw_capture *)index, NULL, &reader, &error));
    options.size = 3;
    EXPECT(TW_ERR_SIZE, tw_reader_new(capture, &options, &reader, &error));
    options.size = sizeof options;
    options.select = TW_SELECT_TIME;
    EXPECT(TW_ERR_ARGUMENT, tw_reader_new(capture, &options, &reader, &error));
    options.select = 0;
    options.index = index;
    EXPECT(TW_ERR_ARGUMENT, tw_reader_new(capture, &options, &reader, &error));
    options.index = NULL;
    options.element_size = sizeof larger[0];
    memset(larger, 0xff, sizeof larger);
    EXPECT(TW_OK, tw_reader_new(capture, &options, &reader, &error));
    EXPECT(TW_OK, tw_reader_next(reader, &larger[0].element, 2, &count, &error));
    THAT(count == 2 && larger[0].element.size == sizeof(tw_element) && larger[1].more == 0);
    THAT(larger[2].more == UINT64_MAX && larger[1].element.kind != 0);

    EXPECT(TW_ERR_NULL, tw_reader_next(NULL, elements, 3, &count, &error));
    EXPECT(TW_ERR_NULL, tw_reader_next(reader, NULL, 3, &count, &error));
    THAT(count == 0);
    EXPECT(TW_ERR_NULL, tw_reader_next(reader, elements, 3, NULL, &error));
    EXPECT(TW_ERR_ARGUMENT, tw_reader_next(reader, elements, 0, &count, &error));
    EXPECT(TW_ERR_HANDLE, tw_reader_next((tw_reader *)capture, elements, 3, &count, &error));
    EXPECT(TW_ERR_NULL, tw_reader_counts(NULL, &counts, &error));
    EXPECT(TW_ERR_NULL, tw_reader_counts(reader, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_reader_counts((tw_reader *)index, &counts, &error));
    counts.size = 0;
    EXPECT(TW_ERR_SIZE, tw_reader_counts(reader, &counts, &error));
    EXPECT(TW_ERR_HANDLE, tw_capture_free((tw_capture **)&reader, &error));
    EXPECT(TW_ERR_NULL, tw_reader_free(NULL, &error));
    EXPECT(TW_OK, tw_reader_free(&reader, &error));
    THAT(reader == NULL);
    EXPECT(TW_OK, tw_reader_free(&reader, &error));
    EXPECT(TW_ERR_NULL, tw_reader_next(reader, elements, 3, &count, &error));
}

static void results(const char *path, tw_capture *capture, tw_index *index)
{
    tw_function function = TW_FUNCTION_INIT;
    tw_functions *functions;
    tw_decode_options options = TW_DECODE_OPTIONS_INIT;
    tw_match match = TW_MATCH_INIT;
    tw_element element = TW_ELEMENT_INIT;
    tw_matches *matches;
    tw_capture *other;
    size_t count, length = 0;
    uint64_t found;

    EXPECT(TW_ERR_NULL, tw_functions_new(NULL, NULL, &functions, &error));
    EXPECT(TW_ERR_NULL, tw_functions_new(capture, NULL, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_functions_new((const tw_capture *)index, NULL, &functions, &error));
    options.size = 1;
    EXPECT(TW_ERR_SIZE, tw_functions_new(capture, &options, &functions, &error));
    THAT(functions == NULL);
    EXPECT(TW_OK, tw_functions_new(capture, NULL, &functions, &error));
    EXPECT(TW_ERR_NULL, tw_functions_count(NULL, &count, &error));
    EXPECT(TW_ERR_NULL, tw_functions_count(functions, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_functions_count((tw_functions *)capture, &count, &error));
    EXPECT(TW_OK, tw_functions_count(functions, &count, &error));
    EXPECT(TW_ERR_NULL, tw_functions_get(NULL, 0, &function, &error));
    EXPECT(TW_ERR_NULL, tw_functions_get(functions, 0, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_functions_get((tw_functions *)index, 0, &function, &error));
    EXPECT(TW_ERR_RANGE, tw_functions_get(functions, count, &function, &error));
    function.size = 16;
    EXPECT(TW_ERR_SIZE, tw_functions_get(functions, 0, &function, &error));
    EXPECT(TW_ERR_NULL, tw_functions_free(NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_matches_free((tw_matches **)&functions, &error));
    EXPECT(TW_OK, tw_functions_free(&functions, &error));

    EXPECT(TW_ERR_NULL, tw_profile(NULL, NULL, TW_PROFILE_JSON, NULL, take_bytes, &length, &error));
    EXPECT(TW_ERR_NULL, tw_profile(capture, NULL, TW_PROFILE_JSON, NULL, NULL, &length, &error));
    EXPECT(TW_ERR_ARGUMENT, tw_profile(capture, NULL, 0, NULL, take_bytes, &length, &error));
    EXPECT(TW_ERR_ARGUMENT, tw_profile(capture, NULL, 1000, NULL, take_bytes, &length, &error));
    EXPECT(TW_ERR_ARGUMENT, tw_profile(capture, NULL, TW_PROFILE_JSON, "\xff", take_bytes, &length, &error));
    EXPECT(TW_ERR_PROFILE, tw_profile(capture, NULL, TW_PROFILE_JSON, "none", take_bytes, &length, &error));
    EXPECT(TW_ERR_HANDLE, tw_profile((const tw_capture *)index, NULL, TW_PROFILE_JSON, NULL, take_bytes,
                                     &length, &error));
    EXPECT(TW_ERR_SIZE, tw_profile(capture, &options, TW_PROFILE_JSON, NULL, take_bytes, &length, &error));
    THAT(length == 0);
    EXPECT(TW_STOPPED, tw_profile(capture, NULL, TW_PROFILE_JSON, NULL, refuse_bytes, NULL, &error));

    EXPECT(TW_ERR_NULL, tw_find(NULL, NULL, "any", 0, &matches, &error));
    EXPECT(TW_ERR_NULL, tw_find(capture, NULL, NULL, 0, &matches, &error));
    EXPECT(TW_ERR_NULL, tw_find(capture, NULL, "any", 0, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_find((const tw_capture *)index, NULL, "any", 0, &matches, &error));
    EXPECT(TW_ERR_HANDLE, tw_find(capture, (const tw_index *)capture, "any", 0, &matches, &error));
    EXPECT(TW_ERR_QUERY, tw_find(capture, NULL, "", 0, &matches, &error));
    EXPECT(TW_ERR_QUERY, tw_find(capture, NULL, "no such query", 0, &matches, &error));
    EXPECT(TW_ERR_QUERY, tw_find(capture, NULL, "function no_such_function", 0, &matches, &error));
    EXPECT(TW_ERR_ARGUMENT, tw_find(capture, NULL, "\xff", 0, &matches, &error));
    THAT(matches == NULL);
    EXPECT(TW_OK, tw_find(capture, index, "count any", 0, &matches, &error));
    EXPECT(TW_OK, tw_matches_count(matches, &found, &error));
    THAT(found > 0);
    EXPECT(TW_ERR_RANGE, tw_matches_get(matches, 0, &match, &element, &error));
    EXPECT(TW_OK, tw_matches_free(&matches, &error));
    EXPECT(TW_OK, tw_find(capture, index, "all any", 2, &matches, &error));
    EXPECT(TW_ERR_NULL, tw_matches_count(NULL, &found, &error));
    EXPECT(TW_ERR_NULL, tw_matches_count(matches, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_matches_count((tw_matches *)capture, &found, &error));
    EXPECT(TW_ERR_NULL, tw_matches_get(NULL, 0, &match, &element, &error));
    EXPECT(TW_ERR_NULL, tw_matches_get(matches, 0, NULL, &element, &error));
    EXPECT(TW_ERR_HANDLE, tw_matches_get((tw_matches *)index, 0, &match, &element, &error));
    EXPECT(TW_ERR_RANGE, tw_matches_get(matches, 2, &match, &element, &error));
    match.size = 2;
    EXPECT(TW_ERR_SIZE, tw_matches_get(matches, 0, &match, &element, &error));
    match.size = sizeof match;
    element.size = 2;
    EXPECT(TW_ERR_SIZE, tw_matches_get(matches, 0, &match, &element, &error));
    EXPECT(TW_OK, tw_matches_get(matches, 0, &match, NULL, &error));
    EXPECT(TW_ERR_NULL, tw_matches_free(NULL, &error));
    EXPECT(TW_OK, tw_matches_free(&matches, &error));

    EXPECT(TW_OK, tw_open(path, NULL, &other, &error));
    EXPECT(TW_ERR_INDEX, tw_find(other, index, "any", 0, &matches, &error));
    EXPECT(TW_OK, tw_capture_free(&other, &error));
}

static void indexes(const char *path, const char *file, const char *program, tw_capture *capture)
{
    tw_index_options options = TW_INDEX_OPTIONS_INIT;
    tw_index *index;

    EXPECT(TW_ERR_NULL, tw_index_new(NULL, NULL, &index, &error));
    EXPECT(TW_ERR_NULL, tw_index_new(capture, NULL, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_index_new((const tw_capture *)&nothing, NULL, &index, &error));
    options.size = 2;
    EXPECT(TW_ERR_SIZE, tw_index_new(capture, &options, &index, &error));
    options.size = sizeof options;
    options.flags = 6;
    EXPECT(TW_ERR_ARGUMENT, tw_index_new(capture, &options, &index, &error));
    options.flags = TW_INDEX_FULL;
    options.segment = (UINT64_C(1) << 30) + 1;
    EXPECT(TW_ERR_ARGUMENT, tw_index_new(capture, &options, &index, &error));
    options.segment = UINT64_C(1) << 62;
    EXPECT(TW_ERR_ARGUMENT, tw_index_new(capture, &options, &index, &error));
    options.segment = 256;
    EXPECT(TW_OK, tw_index_new(capture, &options, &index, &error));
    EXPECT(TW_ERR_NULL, tw_index_save(NULL, file, &error));
    EXPECT(TW_ERR_NULL, tw_index_save(index, NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_index_save((const tw_index *)capture, file, &error));
    EXPECT(TW_ERR_WRITE, tw_index_save(index, "/no/such/folder/index", &error));
    EXPECT(TW_OK, tw_index_save(index, file, &error));
    EXPECT(TW_OK, tw_index_free(&index, &error));

    EXPECT(TW_ERR_NULL, tw_index_open(NULL, file, &index, &error));
    EXPECT(TW_ERR_NULL, tw_index_open(capture, NULL, &index, &error));
    EXPECT(TW_ERR_NULL, tw_index_open(capture, file, NULL, &error));
    EXPECT(TW_ERR_READ, tw_index_open(capture, "/no/such/index", &index, &error));
    EXPECT(TW_ERR_READ, tw_index_open(capture, path, &index, &error));
    EXPECT(TW_ERR_INDEX, tw_index_open(capture, program, &index, &error));
    THAT(index == NULL);
    EXPECT(TW_OK, tw_index_open(capture, file, &index, &error));
    EXPECT(TW_ERR_NULL, tw_index_free(NULL, &error));
    EXPECT(TW_OK, tw_index_free(&index, &error));
    EXPECT(TW_OK, tw_index_free(&index, &error));
}

/* A capture that is made in memory, with random bytes, `number` of them. */
static void building(unsigned number)
{
    tw_open_options options = TW_OPEN_OPTIONS_INIT;
    tw_builder *builder;
    tw_capture *capture;
    uint8_t bytes[2000];
    uint64_t seed = number, all = 0;
    tw_counts counts = TW_COUNTS_INIT;

    for (size_t n = 0; n < sizeof bytes; n++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        bytes[n] = (uint8_t)(seed >> 56);
    }
    EXPECT(TW_ERR_NULL, tw_builder_new(NULL, &error));
    EXPECT(TW_OK, tw_builder_new(&builder, &error));
    EXPECT(TW_ERR_ORDER, tw_builder_source(builder, "ETM", "ETM4.2", &error));
    EXPECT(TW_ERR_ORDER, tw_builder_register(builder, "TRCTRACEIDR", 1, &error));
    EXPECT(TW_ERR_ORDER, tw_builder_core(builder, "Cortex-A53", &error));
    EXPECT(TW_ERR_NULL, tw_builder_buffer(NULL, "b", "coresight", bytes, 16, &error));
    EXPECT(TW_ERR_NULL, tw_builder_buffer(builder, NULL, "coresight", bytes, 16, &error));
    EXPECT(TW_ERR_NULL, tw_builder_buffer(builder, "b", NULL, bytes, 16, &error));
    EXPECT(TW_ERR_NULL, tw_builder_buffer(builder, "b", "coresight", NULL, 16, &error));
    EXPECT(TW_ERR_ARGUMENT, tw_builder_buffer(builder, "b", "none", bytes, 16, &error));
    EXPECT(TW_ERR_ARGUMENT, tw_builder_buffer(builder, "b", "coresight", bytes, SIZE_MAX, &error));
    EXPECT(TW_OK, tw_builder_buffer(builder, "b", "source_data", bytes, sizeof bytes, &error));
    EXPECT(TW_ERR_NULL, tw_builder_source(NULL, "ETM", "ETM4.2", &error));
    EXPECT(TW_ERR_NULL, tw_builder_source(builder, NULL, "ETM4.2", &error));
    EXPECT(TW_ERR_NULL, tw_builder_source(builder, "ETM", NULL, &error));
    EXPECT(TW_OK, tw_builder_source(builder, "ETM", "ETM4.2", &error));
    EXPECT(TW_ERR_NULL, tw_builder_register(NULL, "TRCTRACEIDR", 1, &error));
    EXPECT(TW_ERR_NULL, tw_builder_register(builder, NULL, 1, &error));
    EXPECT(TW_ERR_NULL, tw_builder_core(NULL, "Cortex-A53", &error));
    EXPECT(TW_ERR_NULL, tw_builder_core(builder, NULL, &error));
    EXPECT(TW_OK, tw_builder_core(builder, "Cortex-A53", &error));
    EXPECT(TW_ERR_NULL, tw_builder_memory(NULL, 0, bytes, 16, &error));
    EXPECT(TW_ERR_NULL, tw_builder_memory(builder, 0, NULL, 16, &error));
    EXPECT(TW_OK, tw_builder_memory(builder, 0x1000, bytes, sizeof bytes, &error));
    EXPECT(TW_ERR_NULL, tw_builder_open(NULL, NULL, &capture, &error));
    EXPECT(TW_ERR_NULL, tw_builder_open(&builder, NULL, NULL, &error));
    options.size = 1;
    EXPECT(TW_ERR_SIZE, tw_builder_open(&builder, &options, &capture, &error));
    THAT(capture == NULL);
    /* Registers are missing. */
    EXPECT(TW_OK, tw_builder_open(&builder, NULL, &capture, &error));
    THAT(builder == NULL);
    EXPECT(TW_OK, tw_capture_free(&capture, &error));
    EXPECT(TW_ERR_NULL, tw_builder_open(&builder, NULL, &capture, &error));
    EXPECT(TW_OK, tw_builder_new(&builder, &error));
    EXPECT(TW_OK, tw_builder_buffer(builder, "b", "source_data", bytes, sizeof bytes, &error));
    EXPECT(TW_OK, tw_builder_source(builder, "ETM", "ETM4.2", &error));
    EXPECT(TW_OK, tw_builder_memory(builder, 0x1000, bytes, sizeof bytes, &error));
    EXPECT(TW_OK, tw_builder_open(&builder, NULL, &capture, &error));
    EXPECT(TW_ERR_SOURCES, tw_decode(capture, NULL, stop, &all, NULL, &error));
    EXPECT(TW_OK, tw_capture_free(&capture, &error));

    EXPECT(TW_OK, tw_builder_new(&builder, &error));
    EXPECT(TW_OK, tw_builder_buffer(builder, "b", "source_data", bytes, sizeof bytes, &error));
    EXPECT(TW_OK, tw_builder_source(builder, "ITM", "ITM", &error));
    EXPECT(TW_OK, tw_builder_open(&builder, NULL, &capture, &error));
    EXPECT(TW_OK, tw_decode(capture, NULL, count_elements, &all, &counts, &error));
    THAT(all == counts.elements && counts.bytes == sizeof bytes);
    EXPECT(TW_OK, tw_capture_free(&capture, &error));
    EXPECT(TW_OK, tw_builder_new(&builder, &error));
    EXPECT(TW_ERR_NULL, tw_builder_free(NULL, &error));
    EXPECT(TW_ERR_HANDLE, tw_reader_free((tw_reader **)&builder, &error));
    EXPECT(TW_OK, tw_builder_free(&builder, &error));
}

struct shared_reader {
    tw_reader *reader;
    uint64_t count;
    int wrong;
};

/* Reads until the end, while other threads do. */
static void *read_shared(void *user)
{
    struct shared_reader *shared = user;
    tw_element elements[16];
    for (;;) {
        size_t count;
        tw_status status = tw_reader_next(shared->reader, elements, 16, &count, NULL);
        if (status == TW_END) {
            return NULL;
        }
        if (status != TW_OK && status != TW_ERR_BUSY) {
            shared->wrong = 1;
            return NULL;
        }
        shared->count += count;
    }
}

/* Decodes a capture that other threads decode, too. */
static void *decode_shared(void *user)
{
    uint64_t *count = calloc(1, sizeof *count);
    tw_decode(user, NULL, count_elements, count, NULL, NULL);
    return count;
}

static void threads(tw_capture *capture)
{
    struct shared_reader both[2] = {{0}};
    pthread_t thread[2];
    tw_counts counts = TW_COUNTS_INIT;
    tw_reader *reader;
    uint64_t *count[2];

    EXPECT(TW_OK, tw_reader_new(capture, NULL, &reader, &error));
    for (int n = 0; n < 2; n++) {
        both[n].reader = reader;
        THAT(pthread_create(&thread[n], NULL, read_shared, &both[n]) == 0);
    }
    for (int n = 0; n < 2; n++) {
        pthread_join(thread[n], NULL);
        THAT(!both[n].wrong);
    }
    EXPECT(TW_OK, tw_reader_counts(reader, &counts, &error));
    THAT(both[0].count + both[1].count == counts.elements);
    EXPECT(TW_OK, tw_reader_free(&reader, &error));
    for (int n = 0; n < 2; n++) {
        THAT(pthread_create(&thread[n], NULL, decode_shared, capture) == 0);
    }
    for (int n = 0; n < 2; n++) {
        void *result;
        pthread_join(thread[n], &result);
        count[n] = result;
        THAT(*count[n] == counts.elements);
        free(count[n]);
    }
}

static void remedies(void)
{
    const char *text = "add <register> A=1, or <image> FILE";
    const char *name;

    EXPECT(TW_OK, tw_remedy(text, 0, &name, &error));
    THAT(strcmp(name, "register") == 0);
    EXPECT(TW_OK, tw_remedy(text, 1, &name, &error));
    THAT(strcmp(name, "image") == 0);
    EXPECT(TW_END, tw_remedy(text, 2, &name, &error));
    THAT(name == NULL);
    EXPECT(TW_ERR_NULL, tw_remedy(NULL, 0, &name, &error));
    EXPECT(TW_ERR_NULL, tw_remedy(text, 0, NULL, &error));
}

int main(int argc, char **argv)
{
    tw_capture *capture;
    tw_index *index;

    if (argc < 4) {
        return 2;
    }
    for (int code = -20; code < 5; code++) {
        THAT(strlen(tw_status_text(code)) > 5);
    }
    THAT(tw_element_kind_name(0) == NULL && tw_element_kind_name(UINT32_MAX) == NULL);
    remedies();
    THAT(tw_version() != 0 && strchr(tw_version_text(), '.') != NULL);
    opening(argv[1]);
    EXPECT(TW_OK, tw_open(argv[1], NULL, &capture, &error));
    EXPECT(TW_OK, tw_index_new(capture, NULL, &index, &error));
    captures(capture, index);
    decoding(argv[1], capture, index);
    reading(capture, index);
    results(argv[1], capture, index);
    indexes(argv[1], argv[2], argv[0], capture);
    for (int n = 0; n < atoi(argv[3]); n++) {
        building((unsigned)n);
    }
    threads(capture);
    /* What was made from a capture stays valid. */
    EXPECT(TW_OK, tw_capture_free(&capture, &error));
    EXPECT(TW_ERR_NULL, tw_find(capture, index, "any", 0, NULL, &error));
    EXPECT(TW_OK, tw_index_save(index, argv[2], &error));
    EXPECT(TW_OK, tw_index_free(&index, &error));
    printf("%d failures\n", failures);
    return failures != 0;
}
