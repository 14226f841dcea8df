/* Lists the instructions that a stream of N-Trace messages traced, by the decoder of libnexus-rv
 * (github.com/ganboing/libnexus-rv): the other side of a comparison of decoders.
 *
 *   gcc -O2 -DNDEBUG -I libnexus-rv/include libnexus_rv.c \
 *       libnexus-rv/lib/{msg-decoder,trace-decoder,misc}.c -c
 *   g++ -O2 -DNDEBUG -std=c++20 -I libnexus-rv/include *.o libnexus-rv/lib/hist-array.cpp -o libnexus-rv-decode
 *   libnexus-rv-decode CONFIG PROGRAM TRACE
 *
 * NDEBUG, because after a full I-CNT without history an assertion of its own fails.
 * CONFIG is libnexus-rv's own, such as `addr=64,maxstack=8192`. PROGRAM has a line for each instruction, as
 * NexRv reads it: address, type (L B J C R, I: indirect, and the size), and the target.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libnexus-rv/error.h>
#include <libnexus-rv/msg-decoder.h>
#include <libnexus-rv/trace-decoder.h>

struct instruction {
    uint64_t address, target;
    char type;
    int indirect, size;
};

static struct instruction *program;
static size_t count;

static void read_program(const char *path) {
    char line[128];
    FILE *file = fopen(path, "r");
    if (!file)
        exit(2);
    while (fgets(line, sizeof line, file)) {
        struct instruction one = { 0 };
        char type[8] = "";
        if (sscanf(line, "0x%" SCNx64 ",%7[^,\n],0x%" SCNx64, &one.address, type, &one.target) < 2)
            continue;
        one.type = type[0];
        one.indirect = strchr(type, 'I') != NULL;
        one.size = type[strlen(type) - 1] - '0';
        program = realloc(program, (count + 1) * sizeof one);
        program[count++] = one;
    }
    fclose(file);
}

static int order(const void *key, const void *item) {
    uint64_t a = *(const uint64_t *)key, b = ((const struct instruction *)item)->address;
    return a < b ? -1 : a > b;
}

/* One instruction at *pc. Returns a negative number at the end or on an error. */
static int execute(nexusrv_trace_decoder *decoder, uint64_t *pc) {
    const struct instruction *at;
    nexusrv_trace_indirect indirect;
    nexusrv_trace_sync sync;
    nexusrv_trace_stop stop;
    unsigned event = 0;
    uint64_t next;
    int32_t retired;
    /* It extends the sign of an address. */
    if (decoder->msg_decoder->hw_cfg->addr_bits == 32)
        *pc &= UINT32_MAX;
    at = bsearch(pc, program, count, sizeof *program, order);
    retired = nexusrv_trace_try_retire(decoder, at ? at->size / 2 : 0, &event);
    if (retired < 0)
        return retired;
    if (!at || retired < at->size / 2) {
        if (event == NEXUSRV_Trace_Event_Trap || event == NEXUSRV_Trace_Event_IndirectSync) {
            int rc = nexusrv_trace_next_indirect(decoder, &indirect);
            *pc = indirect.target;
            return rc;
        }
        if (event == NEXUSRV_Trace_Event_Sync) {
            int rc = nexusrv_trace_next_sync(decoder, &sync);
            *pc = sync.addr;
            return rc;
        }
        if (event == NEXUSRV_Trace_Event_Stop) {
            int rc = nexusrv_trace_next_stop(decoder, &stop);
            return rc < 0 ? rc : -nexus_trace_eof;
        }
        return -nexus_trace_mismatch;
    }
    printf("%" PRIx64 "\n", *pc);
    next = *pc + at->size;
    if (at->type == 'B') {
        /* It finds no outcome where a trap or the end follows a branch of branch trace. */
        int ends = event == NEXUSRV_Trace_Event_Trap || event == NEXUSRV_Trace_Event_IndirectSync ||
                   event == NEXUSRV_Trace_Event_Sync || event == NEXUSRV_Trace_Event_Stop;
        int taken = ends ? 0 : nexusrv_trace_next_tnt(decoder);
        if (taken < 0)
            return taken;
        *pc = taken ? at->target : next;
    } else if (at->type == 'R' || at->indirect) {
        uint64_t popped = 0;
        int rc = at->type == 'R' ? nexusrv_trace_pop_ret(decoder, &popped) : -nexus_trace_mismatch;
        if (event == NEXUSRV_Trace_Event_Indirect || event == NEXUSRV_Trace_Event_IndirectSync) {
            rc = nexusrv_trace_next_indirect(decoder, &indirect);
            popped = indirect.target;
        }
        if (rc < 0)
            return rc;
        if (at->type == 'C')
            nexusrv_trace_push_call(decoder, next);
        *pc = popped;
    } else if (at->type == 'J' || at->type == 'C') {
        if (at->type == 'C')
            nexusrv_trace_push_call(decoder, next);
        *pc = at->target;
    } else {
        *pc = next;
    }
    return 1;
}

int main(int argc, char **argv) {
    static uint8_t buffer[1 << 16];
    nexusrv_hw_cfg config = { 0 };
    nexusrv_msg_decoder messages;
    nexusrv_trace_decoder decoder = { 0 };
    nexusrv_trace_sync sync;
    int rc, fd;
    if (argc != 4 || nexusrv_hwcfg_parse(&config, argv[1]) < 0)
        return 2;
    read_program(argv[2]);
    if ((fd = open(argv[3], O_RDONLY)) < 0)
        return 2;
    nexusrv_msg_decoder_init(&messages, &config, fd, -1, buffer, sizeof buffer);
    if (nexusrv_trace_decoder_init(&decoder, &messages) < 0)
        return 2;
    while ((rc = nexusrv_trace_sync_reset(&decoder, &sync)) > 0) {
        uint64_t pc = sync.addr;
        while ((rc = execute(&decoder, &pc)) > 0)
            ;
        if (rc != -nexus_trace_eof)
            break;
    }
    fflush(stdout);
    if (rc == -nexus_trace_eof)
        return 0;
    fprintf(stderr, "%s\n", str_nexus_error(-rc));
    return 1;
}
