/* Decodes copies of a capture with changed files in every way that the interface has. What a copy
 * contains is not an error of the library: it is opened or refused, and decodes to the same elements
 * every way.
 *
 * damaged FROM TO SEED TIMES: copies the folder FROM to the folder TO, changes files of it TIMES
 * times, and prints how many copies were opened and how many elements they had.
 */
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tracewright.h>

static int failures;
static tw_error error = TW_ERROR_INIT;
static uint64_t seed;

#define THAT(condition)                                                                                \
    do {                                                                                               \
        if (!(condition)) {                                                                            \
            failures++;                                                                                \
            printf("%d: %s: %s\n", __LINE__, #condition, error.text);                                  \
        }                                                                                              \
    } while (0)

/* A call that may fail with an error that has a text. A panic in the library is a failure. */
#define TRY(call) try_(call, __LINE__, #call)

static int try_(tw_status status, int line, const char *call)
{
    if (status == TW_ERR_INTERNAL || (status < 0 && error.text[0] == 0)) {
        failures++;
        printf("%d: %s: %d %s\n", line, call, status, error.text);
    }
    return status == TW_OK;
}

static uint32_t number_below(uint32_t limit)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return limit ? (uint32_t)(seed >> 33) % limit : 0;
}

struct file {
    char name[256];
    uint8_t *bytes;
    size_t length;
};

static struct file files[256];
static uint32_t file_count;

static void write_file(const char *folder, const char *name, const uint8_t *bytes, size_t length)
{
    char path[2048];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, length, file) != length || fclose(file)) {
        perror(path);
        exit(2);
    }
}

/* Reads the files of `from` and writes them to `to`. */
static void copy_folder(const char *from, const char *to)
{
    struct dirent *entry;
    DIR *folder = opendir(from);
    if (!folder) {
        perror(from);
        exit(2);
    }
    while ((entry = readdir(folder)) && file_count < 256) {
        char path[2048];
        struct file *made = &files[file_count];
        snprintf(path, sizeof path, "%s/%s", from, entry->d_name);
        FILE *file = entry->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (!file) {
            continue;
        }
        snprintf(made->name, sizeof made->name, "%s", entry->d_name);
        made->bytes = malloc(1 << 20);
        made->length = fread(made->bytes, 1, 1 << 20, file);
        fclose(file);
        write_file(to, made->name, made->bytes, made->length);
        file_count++;
    }
    closedir(folder);
}

/* A copy of `file` with changes: other bytes, fewer, or more. The caller frees it. */
static uint8_t *changed(const struct file *file, size_t *length)
{
    size_t room = file->length + 64;
    uint8_t *bytes = calloc(room, 1);
    memcpy(bytes, file->bytes, file->length);
    *length = file->length;
    for (uint32_t changes = 1 + number_below(6); changes > 0 && *length > 0; changes--) {
        uint32_t at = number_below((uint32_t)*length);
        uint32_t run = 1 + number_below(8);
        switch (number_below(8)) {
        case 0:
            *length = at;
            break;
        case 1:
            run = run < *length - at ? run : (uint32_t)(*length - at);
            memmove(bytes + at, bytes + at + run, *length - at - run);
            *length -= run;
            break;
        case 2:
            run = run < room - *length ? run : (uint32_t)(room - *length);
            memmove(bytes + at + run, bytes + at, *length - at);
            *length += run;
            break;
        case 3:
            for (uint32_t n = at; n < at + run && n < *length; n++) {
                bytes[n] = (uint8_t)number_below(256);
            }
            break;
        case 4:
            /* A digit of a number in a text, or what looks like one. */
            bytes[at] = (uint8_t)"0123456789abcdefx-=.\n"[number_below(21)];
            break;
        default:
            bytes[at] ^= (uint8_t)(1 << number_below(8));
        }
    }
    return bytes;
}

/* What a decode had: a count of elements and a sum over them. */
struct total {
    uint64_t count, sum;
};

static void add(struct total *total, const tw_element *elements, size_t count)
{
    for (size_t n = 0; n < count; n++) {
        const tw_element *e = &elements[n];
        total->count++;
        total->sum = total->sum * 31 + e->kind + e->offset * 3 + e->address * 5 + e->end * 7 +
                     e->value * 11 + e->time * 13 + e->instructions * 17 + e->source * 19 +
                     e->known * 23 + e->flags * 29;
    }
}

static int32_t receive(void *user, const tw_element *elements, size_t count)
{
    add(user, elements, count);
    return 0;
}

static int32_t take(void *user, const uint8_t *bytes, size_t length)
{
    for (size_t n = 0; n < length; n++) {
        *(uint64_t *)user += bytes[n];
    }
    return 0;
}

/* What the capture has. */
static void describe(const tw_capture *capture)
{
    tw_info info = TW_INFO_INIT;
    uint64_t characters = 0, length;
    const char *text;

    THAT(tw_capture_info(capture, &info, &error) == TW_OK);
    for (size_t n = 0; n < info.sources; n++) {
        tw_source source = TW_SOURCE_INIT;
        char symbol[64];
        size_t needed;
        THAT(tw_capture_source(capture, n, &source, &error) == TW_OK);
        characters += strlen(source.name);
        TRY(tw_symbol(capture, n, 0x80000000u, symbol, sizeof symbol, &needed, &error));
    }
    for (size_t n = 0; n < info.buffers; n++) {
        THAT(tw_capture_buffer(capture, n, &text, &length, &error) == TW_OK);
        characters += strlen(text);
    }
    for (size_t n = 0; n < info.notes; n++) {
        THAT(tw_capture_note(capture, n, &text, &error) == TW_OK);
        characters += strlen(text);
    }
    THAT(characters < 10000000);
}

/* Decodes with `threads` threads and blocks of `batch` elements. */
static int decode(const tw_capture *capture, uint32_t threads, uint32_t batch, struct total *total)
{
    tw_decode_options options = TW_DECODE_OPTIONS_INIT;
    tw_counts counts = TW_COUNTS_INIT;
    options.element_size = sizeof(tw_element);
    options.threads = threads;
    options.batch = batch;
    memset(total, 0, sizeof *total);
    return TRY(tw_decode(capture, &options, receive, total, &counts, &error));
}

static void read_all(const tw_capture *capture, struct total *total)
{
    tw_element elements[16];
    tw_reader *reader;
    size_t count;

    memset(total, 0, sizeof *total);
    if (!TRY(tw_reader_new(capture, NULL, &reader, &error))) {
        return;
    }
    while (TRY(tw_reader_next(reader, elements, 16, &count, &error))) {
        add(total, elements, count);
    }
    THAT(tw_reader_free(&reader, &error) == TW_OK);
}

static void results(const tw_capture *capture, uint32_t format)
{
    tw_functions *functions;
    uint64_t sum = 0;
    size_t count = 0;

    if (TRY(tw_functions_new(capture, NULL, &functions, &error))) {
        tw_function function = TW_FUNCTION_INIT;
        THAT(tw_functions_count(functions, &count, &error) == TW_OK);
        for (size_t n = 0; n < count; n++) {
            THAT(tw_functions_get(functions, n, &function, &error) == TW_OK);
        }
        THAT(tw_functions_free(&functions, &error) == TW_OK);
    }
    TRY(tw_profile(capture, NULL, format, NULL, take, &sum, &error));
}

static void search(const tw_capture *capture, const tw_index *index, uint64_t *found)
{
    tw_matches *matches;
    *found = 0;
    if (TRY(tw_find(capture, index, "count range", 0, &matches, &error))) {
        THAT(tw_matches_count(matches, found, &error) == TW_OK);
        THAT(tw_matches_free(&matches, &error) == TW_OK);
    }
}

/* An index, what is found with it, and a file of it with changes. */
static void index_of(const tw_capture *capture, const char *folder)
{
    tw_index_options options = TW_INDEX_OPTIONS_INIT;
    tw_index *index, *damaged;
    uint64_t with, without;
    char path[2048];
    struct file file = {.name = "index.twx"};
    size_t length;

    options.flags = TW_INDEX_FULL;
    options.segment = 64;
    if (!TRY(tw_index_new(capture, &options, &index, &error))) {
        return;
    }
    search(capture, index, &with);
    search(capture, NULL, &without);
    THAT(with == without);
    snprintf(path, sizeof path, "%s/../index.twx", folder);
    THAT(tw_index_save(index, path, &error) == TW_OK);
    THAT(tw_index_free(&index, &error) == TW_OK);
    FILE *opened = fopen(path, "rb");
    file.bytes = malloc(1 << 20);
    file.length = fread(file.bytes, 1, 1 << 20, opened);
    fclose(opened);
    uint8_t *bytes = changed(&file, &length);
    free(file.bytes);
    opened = fopen(path, "wb");
    fwrite(bytes, 1, length, opened);
    fclose(opened);
    free(bytes);
    if (TRY(tw_index_open(capture, path, &damaged, &error))) {
        search(capture, damaged, &with);
        THAT(tw_index_free(&damaged, &error) == TW_OK);
    }
    remove(path);
}

int main(int argc, char **argv)
{
    uint64_t opened = 0, elements = 0;

    if (argc < 5) {
        return 2;
    }
    copy_folder(argv[1], argv[2]);
    seed = (uint64_t)atoll(argv[3]);
    int times = atoi(argv[4]);
    for (int n = 0; n < times && file_count > 0; n++) {
        struct total one, several, read;
        tw_capture *capture;
        uint32_t which[2];
        for (int k = 0; k < 2; k++) {
            size_t length;
            which[k] = number_below(file_count);
            /* The second change is of the trace. */
            for (uint32_t other = 0; k == 1 && other < file_count; other++) {
                if (strstr(files[other].name, "ETB") || strstr(files[other].name, ".bin.")) {
                    which[k] = other;
                }
            }
            uint8_t *bytes = changed(&files[which[k]], &length);
            write_file(argv[2], files[which[k]].name, bytes, length);
            free(bytes);
        }
        if (TRY(tw_open(argv[2], NULL, &capture, &error))) {
            opened++;
            describe(capture);
            if (decode(capture, 1, 3, &one)) {
                elements += one.count;
                decode(capture, 3, 1000, &several);
                THAT(one.count == several.count && one.sum == several.sum);
                read_all(capture, &read);
                THAT(one.count == read.count && one.sum == read.sum);
            }
            results(capture, 1 + (uint32_t)n % TW_PROFILE_JSON);
            index_of(capture, argv[2]);
            THAT(tw_capture_free(&capture, &error) == TW_OK);
        }
        for (int k = 0; k < 2; k++) {
            write_file(argv[2], files[which[k]].name, files[which[k]].bytes, files[which[k]].length);
        }
    }
    for (uint32_t n = 0; n < file_count; n++) {
        free(files[n].bytes);
    }
    printf("%d copies, %" PRIu64 " opened, %" PRIu64 " elements, %d failures\n", times, opened, elements,
           failures);
    return failures != 0;
}
