/* Prints what the library answers of a capture: the number of elements and of instructions, the
 * functions, and the profile as JSON.
 *
 * answers CAPTURE
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <tracewright.h>

static tw_error error = TW_ERROR_INIT;

static void check(tw_status status)
{
    if (status < 0) {
        printf("%s\n", error.text);
        exit(0);
    }
}

static int32_t print(void *user, const uint8_t *bytes, size_t length)
{
    (void)user;
    return fwrite(bytes, 1, length, stdout) != length;
}

int main(int argc, char **argv)
{
    tw_capture *capture = NULL;
    tw_reader *reader = NULL;
    tw_matches *matches = NULL;
    tw_functions *functions = NULL;
    uint64_t elements = 0, instructions = 0, found = 0;
    static tw_element batch[1024];
    size_t count = 0;

    check(tw_open(argv[argc - 1], NULL, &capture, &error));
    check(tw_reader_new(capture, NULL, &reader, &error));
    for (;;) {
        tw_status status = tw_reader_next(reader, batch, 1024, &count, &error);
        check(status);
        if (status == TW_END) {
            break;
        }
        elements += count;
        for (size_t n = 0; n < count; n++) {
            instructions += batch[n].kind == TW_ELEMENT_RANGE ? batch[n].instructions : 0;
        }
    }
    check(tw_find(capture, NULL, "count any", 0, &matches, &error));
    check(tw_matches_count(matches, &found, &error));
    printf("%" PRIu64 " elements, %" PRIu64 " found, %" PRIu64 " instructions in ranges\n", elements,
           found, instructions);
    check(tw_functions_new(capture, NULL, &functions, &error));
    check(tw_functions_count(functions, &count, &error));
    for (size_t n = 0; n < count; n++) {
        tw_function function = TW_FUNCTION_INIT;
        check(tw_functions_get(functions, n, &function, &error));
        printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", function.calls, function.instructions,
               function.inclusive_instructions, function.name);
    }
    check(tw_profile(capture, NULL, TW_PROFILE_JSON, NULL, print, NULL, &error));
    tw_functions_free(&functions, NULL);
    tw_matches_free(&matches, NULL);
    tw_reader_free(&reader, NULL);
    tw_capture_free(&capture, NULL);
    return 0;
}
