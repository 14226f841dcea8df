/* A client of OpenCSD's C interface. It reads a description of a capture, decodes it, and prints
 * what it receives. It is compiled with the headers of an installed OpenCSD, and run with its
 * library and with ours.
 *
 * client SCRIPT MODE BLOCK WAITS
 *   MODE   elements, callback (memory is read by a function), plain (by one that is not passed a
 *          trace ID), buffer (memory of the client), packets, monitor (packets and elements),
 *          callbacks (the same by a function), sink (packets by a function), frames, printer
 *          (elements that the library prints), stats
 *   BLOCK  bytes in each call
 *   MODE   mutate: WAITS copies of the data with changed bits are decoded; where WAITS is odd,
 *          memory is read by a function, and a function receives the packets
 *   MODE   count: counts elements, WAITS times, and prints the least processor time of a decode
 *   WAITS  every WAITSth element is answered with WAIT; 0 for none. In mode sink -1 prints the
 *          fields of packets, -2 also where an ETMv3 has the address of a data access
 *
 * client release: prints the release of the headers, and the size of an element
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fields.h"

struct region {
    uint64_t address;
    uint32_t space;
    size_t length;
    uint8_t *bytes;
};

static struct region regions[256];
static int region_count;
static long waits, received, since_flush, after_wait;
static int mode_is_callback, mode_is_monitor, mode_is_frames;

static void fail(const char *what, int code)
{
    printf("%s: %d\n", what, code);
    exit(1);
}

static uint8_t *load(const char *path, long offset, long *length)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        fail(path, 0);
    if (*length < 0) {
        fseek(file, 0, SEEK_END);
        *length = ftell(file) - offset;
    }
    uint8_t *bytes = malloc(*length + 1);
    fseek(file, offset, SEEK_SET);
    *length = (long)fread(bytes, 1, *length, file);
    fclose(file);
    return bytes;
}

static ocsd_trace_protocol_t protocols[128];
static uint8_t ids[128];

/* The memory space of the last context that was received of each ETMv4 or ETE: 0 for none. */
static uint32_t spaces[128];
static int has_level[128];

static uint32_t space_of(const ocsd_pe_context *context)
{
    static const uint32_t by_level[3][4] = {{1, 2, 0x80, 0x20}, {0x10, 4, 0x80, 0x40},
                                            {8, 8, 0x80, 8}};
    int level = context->exception_level;
    return by_level[level > 2 ? 2 : level > 1 ? 1 : 0][context->security_level & 3];
}

static uint32_t read_memory(const void *context, const ocsd_vaddr_t address,
                            const ocsd_mem_space_acc_t space, const uint8_t id,
                            const uint32_t count, uint8_t *out)
{
    (void)context;
    if (id && !protocols[id & 0x7f])
        printf("MEMORY FOR TRACE ID %x, WHICH HAS NO DECODER\n", id);
    /* Memory of a context is not read before its element was received. */
    if (has_level[id & 0x7f] && spaces[id & 0x7f] != space)
        printf("MEMORY OF SPACE %x IN A CONTEXT OF %x\n", space, spaces[id & 0x7f]);
    for (int n = 0; n < region_count; n++) {
        struct region *region = &regions[n];
        uint64_t offset = address - region->address;
        if (!(region->space & space) || address < region->address || offset >= region->length)
            continue;
        uint64_t known = region->length - offset;
        if (known > count)
            known = count;
        memcpy(out, region->bytes + offset, known);
        return (uint32_t)known;
    }
    return 0;
}

static ocsd_datapath_resp_t element(const void *context, const ocsd_trc_index_t index,
                                    const uint8_t id, const ocsd_generic_trace_elem *e)
{
    char text[512];
    (void)context;
    if (e->elem_type == OCSD_GEN_TRC_ELEM_PE_CONTEXT && e->context.el_valid)
        spaces[id & 0x7f] = space_of(&e->context);
    received++;
    since_flush++;
    if (after_wait)
        printf("ELEMENT AFTER WAIT\n");
    if (ocsd_gen_elem_str(e, text, sizeof text))
        fail("ocsd_gen_elem_str", 0);
    if (mode_is_frames)
        return waits > 0 && received % waits == 0 ? OCSD_RESP_WAIT : OCSD_RESP_CONT;
    printf("Idx:%u; ID:%x; %s", index, id, text);
    if (!mode_is_monitor) {
        printf(" | ");
        print_fields(e);
    }
    printf("\n");
    if (waits > 0 && received % waits == 0) {
        after_wait = 1;
        return OCSD_RESP_WAIT;
    }
    return OCSD_RESP_CONT;
}

/* Counts of elements by kind, of instructions, and a sum over all addresses of ranges. */
struct counts {
    uint64_t kinds[32], instructions, sum;
};

static ocsd_datapath_resp_t count(const void *context, const ocsd_trc_index_t index,
                                  const uint8_t id, const ocsd_generic_trace_elem *e)
{
    struct counts *counts = (struct counts *)context;
    counts->kinds[e->elem_type & 31]++;
    if (e->elem_type == OCSD_GEN_TRC_ELEM_INSTR_RANGE) {
        counts->instructions += e->num_instr_range;
        counts->sum = counts->sum * 31 + e->st_addr + 7 * e->en_addr + id + e->last_instr_exec;
    }
    (void)index;
    return OCSD_RESP_CONT;
}

static void print_packet(const ocsd_trc_index_t index, uint8_t id, const void *packet)
{
    char text[1024];
    ocsd_err_t code = ocsd_pkt_str(protocols[id & 0x7f], packet, text, sizeof text);
    if (code)
        fail("ocsd_pkt_str", code);
    printf(";\t%s\n", text);
    (void)index;
    if (waits < 0)
        print_packet_fields(protocols[id & 0x7f], packet, waits == -2);
}

/* The text of each packet is made and not printed. */
static void silent_monitor(const void *context, const ocsd_datapath_op_t op,
                           const ocsd_trc_index_t index, const void *packet, const uint32_t size,
                           const uint8_t *data)
{
    char text[256];
    uint32_t sum = 0;
    (void)index;
    for (uint32_t n = 0; n < size && data; n++)
        sum += data[n];
    if (op == OCSD_OP_DATA && (ocsd_pkt_str(protocols[*(const uint8_t *)context & 0x7f], packet,
                                            text, sizeof text) || sum == UINT32_MAX))
        fail("ocsd_pkt_str", 0);
}

static void monitor(const void *context, const ocsd_datapath_op_t op,
                    const ocsd_trc_index_t index, const void *packet, const uint32_t size,
                    const uint8_t *data)
{
    uint8_t id = *(const uint8_t *)context;
    if (op == OCSD_OP_EOT)
        printf("ID:%x\tEND OF TRACE DATA\n", id);
    if (op != OCSD_OP_DATA)
        return;
    printf("Idx:%u; ID:%x; [", index, id);
    for (uint32_t n = 0; n < size; n++)
        printf("0x%02x ", data[n]);
    printf("]");
    print_packet(index, id, packet);
}

static ocsd_datapath_resp_t sink(const void *context, const ocsd_datapath_op_t op,
                                 const ocsd_trc_index_t index, const void *packet)
{
    uint8_t id = *(const uint8_t *)context;
    if (op == OCSD_OP_EOT)
        printf("ID:%x\tEND OF TRACE DATA\n", id);
    if (op != OCSD_OP_DATA)
        return OCSD_RESP_CONT;
    if (after_wait)
        printf("PACKET AFTER WAIT\n");
    printf("Idx:%u; ID:%x", index, id);
    print_packet(index, id, packet);
    received++;
    if (waits > 0 && received % waits == 0) {
        after_wait = 1;
        return OCSD_RESP_WAIT;
    }
    return OCSD_RESP_CONT;
}

static ocsd_trace_protocol_t protocol(const char *name)
{
    if (!strcmp(name, "ETMV3"))
        return OCSD_PROTOCOL_ETMV3;
    if (!strcmp(name, "PTM"))
        return OCSD_PROTOCOL_PTM;
    if (!strcmp(name, "STM"))
        return OCSD_PROTOCOL_STM;
    if (!strcmp(name, "ETE"))
        return OCSD_PROTOCOL_ETE;
    /* Headers before 1.8.0 do not have the number of ITM. */
    return strcmp(name, "ITM") ? OCSD_PROTOCOL_ETMV4I : (ocsd_trace_protocol_t)7;
}

/* A function that is not passed the trace ID. */
static uint32_t read_memory_of_all(const void *context, const ocsd_vaddr_t address,
                                   const ocsd_mem_space_acc_t space, const uint32_t count,
                                   uint8_t *out)
{
    return read_memory(context, address, space, 0, count, out);
}

static void print_stats(dcd_tree_handle_t tree)
{
    for (int id = 0; id < 128; id++) {
        ocsd_decode_stats_t *s;
        if (!protocols[id] || ocsd_dt_get_decode_stats(tree, (unsigned char)id, &s))
            continue;
        printf("%x: %" PRIu64 " bytes, %" PRIu64 " unsynced, %u %u errors; %" PRIu64 " %" PRIu64
               " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", id, s->channel_total, s->channel_unsynced,
               s->bad_header_errs, s->bad_sequence_errs, s->demux.valid_id_bytes,
               s->demux.no_id_bytes, s->demux.reserved_id_bytes, s->demux.unknown_id_bytes,
               s->demux.frame_bytes);
    }
}

static void message(const void *context, const char *text, const int length)
{
    (void)context;
    if ((size_t)length != strlen(text))
        printf("LENGTH %d IS WRONG\n", length);
    fputs(text, stdout);
}

static uint32_t random_number(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 8;
}

/* Gives all data in blocks and ends the trace, as long as no response is fatal. */
static ocsd_datapath_resp_t decode(dcd_tree_handle_t tree, const uint8_t *data, long length,
                                   long block)
{
    ocsd_datapath_resp_t answer = OCSD_RESP_CONT;
    int ended = 0;
    for (long at = 0; !OCSD_DATA_RESP_IS_FATAL(answer);) {
        if (OCSD_DATA_RESP_IS_WAIT(answer)) {
            after_wait = 0;
            answer = ocsd_dt_process_data(tree, OCSD_OP_FLUSH, 0, 0, NULL, NULL);
        } else if (at < length) {
            uint32_t size = length - at < block ? (uint32_t)(length - at) : (uint32_t)block;
            uint32_t used = 77;
            answer = ocsd_dt_process_data(tree, OCSD_OP_DATA, (ocsd_trc_index_t)at, size,
                                          data + at, &used);
            if (used > size)
                fail("used", (int)used);
            at += used;
        } else if (!ended) {
            ended = 1;
            answer = ocsd_dt_process_data(tree, OCSD_OP_EOT, 0, 0, NULL, NULL);
        } else {
            break;
        }
    }
    return answer;
}

/* Decodes `rounds` times, and prints counts and the least processor time. */
static void count_all(dcd_tree_handle_t tree, const uint8_t *data, long length, long block,
                      long rounds)
{
    struct counts counts;
    double least = 1e9;
    ocsd_dt_set_gen_elem_outfn(tree, count, &counts);
    for (long n = 0; n < rounds; n++) {
        memset(&counts, 0, sizeof counts);
        ocsd_dt_process_data(tree, OCSD_OP_RESET, 0, 0, NULL, NULL);
        clock_t start = clock();
        decode(tree, data, length, block);
        double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;
        least = seconds < least ? seconds : least;
    }
    for (int n = 0; n < 32; n++)
        printf("%" PRIu64 " ", counts.kinds[n]);
    printf("%" PRIu64 " instructions, sum %" PRIx64 "\n%.6f s\n", counts.instructions, counts.sum,
           least);
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "release"))
        return printf("%s %zu\n", OCSD_VER_STRING, sizeof(ocsd_generic_trace_elem)) < 0;
    if (argc < 5)
        return 2;
    const char *mode = argv[2];
    long block = atol(argv[3]);
    waits = atol(argv[4]);
    int mode_is_plain = !strcmp(mode, "plain"), mode_is_printer = !strcmp(mode, "printer");
    mode_is_callback = !strcmp(mode, "callback") || mode_is_plain;
    mode_is_monitor = !strcmp(mode, "monitor") || !strcmp(mode, "callbacks");
    mode_is_frames = !strcmp(mode, "frames") || !strcmp(mode, "stats") || !strcmp(mode, "mutate");
    long mutations = strcmp(mode, "mutate") ? 0 : waits;
    mode_is_callback |= mutations > 0 && waits % 2;
    int prints = mode_is_printer || !strcmp(mode, "packets") || !strcmp(mode, "monitor") || !strcmp(mode, "frames");
    FILE *script = fopen(argv[1], "r");
    char word[32], name[32], path[1024];
    dcd_tree_handle_t tree = C_API_INVALID_TREE_HANDLE;
    uint8_t *data = NULL;
    long length = -1;
    uint32_t code;

    if (!script)
        fail(argv[1], 0);
    while (fscanf(script, "%31s", word) == 1) {
        if (!strcmp(word, "tree")) {
            unsigned source, flags;
            if (fscanf(script, "%u %x", &source, &flags) != 2)
                return 2;
            tree = ocsd_create_dcd_tree((ocsd_dcd_tree_src_t)source, flags);
            if (!tree)
                fail("ocsd_create_dcd_tree", 0);
            if (prints) {
                if ((code = ocsd_def_errlog_init(OCSD_ERR_SEV_ERROR, 1)) ||
                    (code = ocsd_def_errlog_config_output(0, NULL)) ||
                    (code = ocsd_def_errlog_set_strprint_cb(tree, NULL, message)))
                    fail("log", code);
            }
            if (!strcmp(mode, "frames") &&
                (code = ocsd_dt_set_raw_frame_printer(tree, OCSD_DFRMTR_PACKED_RAW_OUT |
                                                                OCSD_DFRMTR_UNPACKED_RAW_OUT)))
                fail("ocsd_dt_set_raw_frame_printer", code);
        } else if (!strcmp(word, "decoder")) {
            uint32_t words[16] = {0}, flags;
            int count;
            unsigned char id = 0xff;
            if (fscanf(script, "%31s %x %d", name, &flags, &count) != 3)
                return 2;
            for (int n = 0; n < count && n < 16; n++)
                if (fscanf(script, "%x", &words[n]) != 1)
                    return 2;
            int only_packets = !strcmp(mode, "packets") || !strcmp(mode, "sink");
            flags |= only_packets ? OCSD_CREATE_FLG_PACKET_PROC : OCSD_CREATE_FLG_FULL_DECODER;
            if ((code = ocsd_dt_create_decoder(tree, name, (int)flags, words, &id)))
                fail(name, code);
            protocols[id & 0x7f] = protocol(name);
            ids[id & 0x7f] = id;
            has_level[id & 0x7f] = !strcmp(name, "ETMV4I") || !strcmp(name, "ETE");
            if (!strcmp(mode, "sink") &&
                (code = ocsd_dt_attach_packet_callback(tree, id, OCSD_C_API_CB_PKT_SINK,
                                                       (void *)sink, &ids[id & 0x7f])))
                fail("sink", code);
            if (!strcmp(mode, "callbacks") &&
                (code = ocsd_dt_attach_packet_callback(tree, id, OCSD_C_API_CB_PKT_MON,
                                                       (void *)monitor, &ids[id & 0x7f])))
                fail("monitor", code);
            if (mutations % 2 &&
                (code = ocsd_dt_attach_packet_callback(tree, id, OCSD_C_API_CB_PKT_MON,
                                                       (void *)silent_monitor, &ids[id & 0x7f])))
                fail("monitor", code);
            if (prints && !mode_is_printer && strcmp(mode, "frames") &&
                (code = ocsd_dt_set_pkt_protocol_printer(tree, id, !strcmp(mode, "monitor"))))
                fail("ocsd_dt_set_pkt_protocol_printer", code);
        } else if (!strcmp(word, "memory")) {
            struct region *region = &regions[region_count++];
            long offset, size;
            if (fscanf(script, "%" SCNx64 " %x %ld %ld %1023[^\n]", &region->address,
                       &region->space, &offset, &size, path) != 5)
                return 2;
            region->bytes = load(path, offset, &size);
            region->length = (size_t)size;
            if (mode_is_callback)
                continue;
            ocsd_file_mem_region_t part = {(size_t)offset, region->address, (size_t)size};
            if (!strcmp(mode, "buffer"))
                code = OCSD_ERR_MEM_ACC_FILE_DIFF_RANGE;
            else
                code = ocsd_dt_add_binfile_region_mem_acc(
                    tree, &part, 1, (ocsd_mem_space_acc_t)region->space, path);
            /* A second region of the same file. */
            if (code == OCSD_ERR_MEM_ACC_FILE_DIFF_RANGE || code == OCSD_ERR_MEM_ACC_OVERLAP)
                code = ocsd_dt_add_buffer_mem_acc(tree, region->address,
                                                  (ocsd_mem_space_acc_t)region->space,
                                                  region->bytes, (uint32_t)size);
            if (code && code != OCSD_ERR_MEM_ACC_OVERLAP)
                fail(path, code);
        } else if (!strcmp(word, "data")) {
            if (fscanf(script, " %1023[^\n]", path) != 1)
                return 2;
            data = load(path, 0, &length);
        }
    }
    if (mode_is_plain &&
        (code = ocsd_dt_add_callback_mem_acc(tree, 0, ~(ocsd_vaddr_t)0, OCSD_MEM_SPACE_ANY,
                                             read_memory_of_all, NULL)))
        fail("ocsd_dt_add_callback_mem_acc", code);
    if (mode_is_callback && !mode_is_plain &&
        (code = ocsd_dt_add_callback_trcid_mem_acc(tree, 0, ~(ocsd_vaddr_t)0, OCSD_MEM_SPACE_ANY,
                                                   read_memory, NULL)))
        fail("ocsd_dt_add_callback_trcid_mem_acc", code);
    if (mode_is_printer && (code = ocsd_dt_set_gen_elem_printer(tree)))
        fail("ocsd_dt_set_gen_elem_printer", code);
    if (strcmp(mode, "packets") && strcmp(mode, "sink") && !mode_is_printer && (code = ocsd_dt_set_gen_elem_outfn(tree, element, NULL)))
        fail("ocsd_dt_set_gen_elem_outfn", code);

    if (!strcmp(mode, "count")) {
        count_all(tree, data, length, block, waits);
    } else if (mutations) {
        uint32_t seed = 1;
        uint8_t *changed = malloc(length);
        for (; mutations > 0; mutations--) {
            memcpy(changed, data, length);
            for (int n = 0; n < 8; n++) {
                long at = (long)(random_number(&seed) % (unsigned long)length);
                long run = random_number(&seed) % 4 ? 1 : random_number(&seed) % 32;
                for (long k = at; k < at + run && k < length; k++)
                    changed[k] = (uint8_t)(random_number(&seed) >> 3);
                changed[at] ^= 1 << random_number(&seed) % 8;
            }
            waits = random_number(&seed) % 8;
            ocsd_dt_process_data(tree, OCSD_OP_RESET, 0, 0, NULL, NULL);
            decode(tree, changed, length, block);
        }
        free(changed);
        printf("%ld elements\n", received);
    } else {
        ocsd_datapath_resp_t answer = decode(tree, data, length, block);
        if (OCSD_DATA_RESP_IS_FATAL(answer))
            printf("FATAL %d\n", answer);
        if (!strcmp(mode, "stats"))
            print_stats(tree);
    }
    /* OpenCSD ends with a fault where it destroys a tree that has printed elements. */
    fflush(stdout);
    if (!mode_is_printer)
        ocsd_destroy_dcd_tree(tree);
    for (int n = 0; n < region_count; n++)
        free(regions[n].bytes);
    free(data);
    fclose(script);
    return 0;
}
