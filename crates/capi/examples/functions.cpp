// Prints the functions that a capture executed, and writes its profile.
//
//     c++ -std=c++17 functions.cpp $(pkg-config --cflags --libs tracewright) -o functions
//     ./functions CAPTURE [PROFILE]
#include <cinttypes>
#include <cstdio>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <tracewright.h>
#include <vector>

namespace {

// An error of the library as an exception. No exception passes through the library.
void check(tw_status status, const tw_error &error)
{
    if (status < 0) {
        throw std::runtime_error(std::string(tw_status_text(status)) + ": " + error.text);
    }
}

// A handle that is freed at the end of its block.
template <typename Handle, tw_status (*Free)(Handle **, tw_error *)> class Owned {
public:
    Owned() = default;
    Owned(const Owned &) = delete;
    Owned &operator=(const Owned &) = delete;
    ~Owned() { Free(&handle_, nullptr); }
    Handle **out() { return &handle_; }
    Handle *get() const { return handle_; }

private:
    Handle *handle_ = nullptr;
};

using Capture = Owned<tw_capture, tw_capture_free>;
using Functions = Owned<tw_functions, tw_functions_free>;
using Reader = Owned<tw_reader, tw_reader_free>;

// Reads all elements in batches, and returns the number of exceptions.
std::uint64_t exceptions(const Capture &capture)
{
    tw_error error = TW_ERROR_INIT;
    Reader reader;
    check(tw_reader_new(capture.get(), nullptr, reader.out(), &error), error);
    std::vector<tw_element> batch(1000);
    std::uint64_t sum = 0;
    for (;;) {
        std::size_t count = 0;
        tw_status status = tw_reader_next(reader.get(), batch.data(), batch.size(), &count, &error);
        check(status, error);
        if (status == TW_END) {
            return sum;
        }
        for (std::size_t n = 0; n < count; n++) {
            sum += batch[n].kind == TW_ELEMENT_EXCEPTION;
        }
    }
}

std::int32_t append(void *user, const std::uint8_t *bytes, std::size_t length)
{
    static_cast<std::ofstream *>(user)->write(reinterpret_cast<const char *>(bytes),
                                              static_cast<std::streamsize>(length));
    return 0;
}

void run(const char *path, const char *profile)
{
    tw_error error = TW_ERROR_INIT;
    Capture capture;
    check(tw_open(path, nullptr, capture.out(), &error), error);
    Functions functions;
    check(tw_functions_new(capture.get(), nullptr, functions.out(), &error), error);
    std::size_t count = 0;
    check(tw_functions_count(functions.get(), &count, &error), error);
    for (std::size_t n = 0; n < count; n++) {
        tw_function function = TW_FUNCTION_INIT;
        check(tw_functions_get(functions.get(), n, &function, &error), error);
        std::printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", function.calls, function.instructions,
                    function.inclusive_instructions, function.name);
    }
    std::printf("%" PRIu64 " exceptions\n", exceptions(capture));
    if (profile != nullptr) {
        std::ofstream file(profile, std::ios::binary);
        check(tw_profile(capture.get(), nullptr, TW_PROFILE_JSON, nullptr, append, &file, &error), error);
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 2) {
        std::fprintf(stderr, "usage: functions CAPTURE [PROFILE]\n");
        return 2;
    }
    try {
        run(argv[1], argc > 2 ? argv[2] : nullptr);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
    return 0;
}
