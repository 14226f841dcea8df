/* Calls every function of OpenCSD's C interface wrongly: without a tree, with a handle of none, out
 * of order, with null pointers and invalid numbers. Each must return an error, and none may touch
 * memory that it must not. Then two threads decode with a tree each.
 *
 * misuse [DATA]: with DATA, the bytes of the file are decoded by every decoder.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencsd/c_api/opencsd_c_api.h"

/* The function that 1.8.0 has and the headers of 1.3.3 do not. */
extern ocsd_err_t ocsd_dt_set_mem_acc_cacheing(const dcd_tree_handle_t, const int, const uint16_t,
                                               const int);

static int failures;

#define EXPECT(call, want)                                                                         \
    do {                                                                                           \
        int got = (int)(call);                                                                     \
        if (got != (int)(want)) {                                                                  \
            printf("line %d: %s: %d, not %d\n", __LINE__, #call, got, (int)(want));                \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

static ocsd_datapath_resp_t element(const void *context, const ocsd_trc_index_t index,
                                    const uint8_t id, const ocsd_generic_trace_elem *e)
{
    char text[256];
    (void)index;
    (void)id;
    ocsd_gen_elem_str(e, text, sizeof text);
    *(unsigned long *)context += strlen(text);
    return OCSD_RESP_CONT;
}

/* A client that answers with anything. */
static ocsd_datapath_resp_t fatal_element(const void *context, const ocsd_trc_index_t index,
                                          const uint8_t id, const ocsd_generic_trace_elem *e)
{
    (void)context;
    (void)index;
    (void)id;
    (void)e;
    return OCSD_RESP_FATAL_SYS_ERR;
}

static dcd_tree_handle_t current;

/* A client that calls the library from a function that the library calls. */
static ocsd_datapath_resp_t nested_element(const void *context, const ocsd_trc_index_t index,
                                           const uint8_t id, const ocsd_generic_trace_elem *e)
{
    uint32_t used = 1;
    uint8_t data[16] = {0};
    (void)context;
    (void)index;
    (void)e;
    EXPECT(ocsd_dt_process_data(current, OCSD_OP_DATA, 0, 16, data, &used),
           OCSD_RESP_FATAL_INVALID_OP);
    EXPECT(ocsd_dt_remove_decoder(current, id), OCSD_ERR_FAIL);
    EXPECT(ocsd_dt_add_buffer_mem_acc(current, 0, OCSD_MEM_SPACE_ANY, data, 16), OCSD_ERR_FAIL);
    return OCSD_RESP_CONT;
}

static uint32_t lying_memory(const void *context, const ocsd_vaddr_t address,
                             const ocsd_mem_space_acc_t space, const uint32_t count, uint8_t *out)
{
    (void)context;
    (void)address;
    (void)space;
    (void)out;
    return count + 1;
}

static void message(const void *context, const char *text, const int length)
{
    (void)text;
    *(unsigned long *)context += (unsigned long)length;
}

static ocsd_etmv4_cfg config(uint32_t id)
{
    ocsd_etmv4_cfg made;
    memset(&made, 0, sizeof made);
    made.reg_idr0 = 0x28000ea1;
    made.reg_idr1 = 0x4100f403;
    made.reg_idr2 = 0x488;
    made.reg_traceidr = id;
    made.arch_ver = ARCH_V8;
    made.core_prof = profile_CortexA;
    return made;
}

/* Every function with a handle that no tree has. */
static void bad_handle(dcd_tree_handle_t tree)
{
    ocsd_etmv4_cfg unit = config(0x10);
    ocsd_file_mem_region_t region = {0, 0x1000, 16};
    ocsd_decode_stats_t *stats;
    uint8_t data[16] = {0};
    unsigned char id;
    uint32_t used = 5;

    ocsd_destroy_dcd_tree(tree);
    ocsd_tl_log_mapped_mem_ranges(tree);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_DATA, 0, 16, data, &used), OCSD_RESP_FATAL_NOT_INIT);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_FLUSH, 0, 0, NULL, NULL), OCSD_RESP_FATAL_NOT_INIT);
    EXPECT(ocsd_dt_set_gen_elem_outfn(tree, element, NULL), OCSD_ERR_BAD_HANDLE);
    EXPECT(ocsd_dt_create_decoder(tree, "ETMV4I", 2, &unit, &id), OCSD_ERR_BAD_HANDLE);
    EXPECT(ocsd_dt_remove_decoder(tree, 0x10), OCSD_ERR_BAD_HANDLE);
    EXPECT(ocsd_dt_attach_packet_callback(tree, 0x10, OCSD_C_API_CB_PKT_MON, (void *)element, NULL),
           OCSD_ERR_BAD_HANDLE);
    EXPECT(ocsd_dt_get_decode_stats(tree, 0x10, &stats), OCSD_ERR_BAD_HANDLE);
    EXPECT(ocsd_dt_reset_decode_stats(tree, 0x10), OCSD_ERR_BAD_HANDLE);
    EXPECT(ocsd_dt_add_binfile_mem_acc(tree, 0, OCSD_MEM_SPACE_ANY, "/bin/sh"),
           OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_add_binfile_region_mem_acc(tree, &region, 1, OCSD_MEM_SPACE_ANY, "/bin/sh"),
           OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_add_buffer_mem_acc(tree, 0, OCSD_MEM_SPACE_ANY, data, 16),
           OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_add_callback_mem_acc(tree, 0, 0xfff, OCSD_MEM_SPACE_ANY, lying_memory, NULL),
           OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_remove_mem_acc(tree, 0, OCSD_MEM_SPACE_ANY), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_set_mem_acc_cacheing(tree, 1, 512, 16), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_def_errlog_set_strprint_cb(tree, NULL, message), OCSD_ERR_NOT_INIT);
    EXPECT(ocsd_dt_set_raw_frame_printer(tree, 0x18), OCSD_ERR_NOT_INIT);
    EXPECT(ocsd_dt_set_gen_elem_printer(tree), OCSD_ERR_NOT_INIT);
    EXPECT(ocsd_dt_set_pkt_protocol_printer(tree, 0x10, 0), OCSD_ERR_NOT_INIT);
}

static void strings(void)
{
    ocsd_generic_trace_elem e;
    ocsd_etmv4_i_pkt packet[2];
    char text[8] = "unused";
    ocsd_trc_index_t index;
    uint8_t id;

    memset(&e, 0xff, sizeof e);
    e.ptr_extended_data = NULL;
    memset(packet, 0xff, sizeof packet);
    EXPECT(ocsd_gen_elem_str(NULL, text, sizeof text), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_gen_elem_str(&e, NULL, 10), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_gen_elem_str(&e, text, 1), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_gen_elem_str(&e, text, -1), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_gen_elem_str(&e, text, sizeof text), OCSD_OK);
    EXPECT(strlen(text), sizeof text - 1);
    for (int kind = 0; kind < 24; kind++) {
        e.elem_type = (ocsd_gen_trc_elem_t)kind;
        if (kind != OCSD_GEN_TRC_ELEM_SWTRACE)
            EXPECT(ocsd_gen_elem_str(&e, text, sizeof text), OCSD_OK);
    }
    ocsd_gen_elem_init(NULL, OCSD_GEN_TRC_ELEM_EVENT);
    ocsd_gen_elem_init(&e, OCSD_GEN_TRC_ELEM_EVENT);
    EXPECT(e.elem_type, OCSD_GEN_TRC_ELEM_EVENT);
    EXPECT(e.flag_bits, 0);
    EXPECT(ocsd_pkt_str(OCSD_PROTOCOL_ETMV4I, NULL, text, sizeof text), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_pkt_str(OCSD_PROTOCOL_ETMV4I, packet, NULL, 8), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_pkt_str(OCSD_PROTOCOL_ETMV4I, packet, text, 0), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_pkt_str(OCSD_PROTOCOL_UNKNOWN, packet, text, 8), OCSD_ERR_NO_PROTOCOL);
    EXPECT(ocsd_pkt_str(OCSD_PROTOCOL_CUSTOM_0, packet, text, 8), OCSD_ERR_NO_PROTOCOL);
    EXPECT(ocsd_pkt_str((ocsd_trace_protocol_t)-1, packet, text, 8), OCSD_ERR_NO_PROTOCOL);
    for (unsigned kind = 0; kind < 0x500; kind++) {
        packet->type = (ocsd_etmv4_i_pkt_type)kind;
        EXPECT(ocsd_pkt_str(OCSD_PROTOCOL_ETE, packet, text, sizeof text), OCSD_OK);
        EXPECT(ocsd_pkt_str(OCSD_PROTOCOL_ETMV3, packet, text, sizeof text), OCSD_OK);
        EXPECT(ocsd_pkt_str(OCSD_PROTOCOL_PTM, packet, text, sizeof text), OCSD_OK);
        EXPECT(ocsd_pkt_str(OCSD_PROTOCOL_STM, packet, text, sizeof text), OCSD_OK);
        /* ITM in 1.8.0. */
        EXPECT(ocsd_pkt_str((ocsd_trace_protocol_t)7, packet, text, sizeof text), OCSD_OK);
    }
    EXPECT(ocsd_cust_protocol_to_str(OCSD_PROTOCOL_ETE, packet, text, 8), OCSD_ERR_NO_PROTOCOL);
    EXPECT(ocsd_cust_protocol_to_str(OCSD_PROTOCOL_CUSTOM_0, NULL, text, 8),
           OCSD_ERR_INVALID_PARAM_VAL);
    ocsd_err_str(OCSD_ERR_MEM, NULL, 10);
    ocsd_err_str(OCSD_ERR_MEM, text, 0);
    ocsd_err_str((ocsd_err_t)-77, text, sizeof text);
    EXPECT(strlen(text), sizeof text - 1);
    ocsd_get_last_err(NULL, NULL, NULL, 0);
    ocsd_get_last_err(&index, &id, text, sizeof text);
    ocsd_def_errlog_msgout(NULL);
    EXPECT(ocsd_get_version(), 0x010800);
    EXPECT(strcmp(ocsd_get_version_str(), "1.8.0"), 0);
}

static void trees(void)
{
    ocsd_etmv4_cfg unit = config(0x10), other = config(0x7f);
    ocsd_file_mem_region_t regions[2] = {{0, 0x1000, 16}, {0, 0x1008, 16}};
    ocsd_extern_dcd_fact_t factory;
    ocsd_decode_stats_t *stats;
    uint8_t data[32] = {0};
    unsigned char id = 0;
    uint32_t used = 5;
    dcd_tree_handle_t tree;

    EXPECT(ocsd_create_dcd_tree((ocsd_dcd_tree_src_t)7, 4) == NULL, 1);
    EXPECT(ocsd_create_dcd_tree(OCSD_TRC_SRC_FRAME_FORMATTED, 0) == NULL, 1);
    EXPECT(ocsd_create_dcd_tree(OCSD_TRC_SRC_FRAME_FORMATTED, 0x100) == NULL, 1);
    EXPECT(ocsd_create_dcd_tree(OCSD_TRC_SRC_FRAME_FORMATTED, 5) == NULL, 1);
    tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_FRAME_FORMATTED, OCSD_DFRMTR_FRAME_MEM_ALIGN);
    EXPECT(tree != NULL, 1);

    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_RESET, 0, 0, NULL, NULL), OCSD_RESP_CONT);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_FLUSH, 0, 0, NULL, NULL), OCSD_RESP_CONT);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_EOT, 0, 0, NULL, NULL), OCSD_RESP_CONT);
    EXPECT(ocsd_dt_process_data(tree, (ocsd_datapath_op_t)9, 0, 0, NULL, NULL),
           OCSD_RESP_FATAL_INVALID_OP);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_DATA, 0, 16, NULL, &used),
           OCSD_RESP_FATAL_INVALID_PARAM);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_DATA, 0, 0, data, &used),
           OCSD_RESP_FATAL_INVALID_PARAM);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_DATA, 0, 16, data, NULL),
           OCSD_RESP_FATAL_INVALID_PARAM);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_DATA, 0, 15, data, &used),
           OCSD_RESP_FATAL_INVALID_DATA);
    EXPECT(used, 0);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_DATA, 0, 16, data, &used), OCSD_RESP_CONT);
    EXPECT(used, 16);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_DATA, 64, 16, data, &used),
           OCSD_RESP_FATAL_INVALID_DATA);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_RESET, 0, 0, NULL, NULL), OCSD_RESP_CONT);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_DATA, 64, 16, data, &used), OCSD_RESP_CONT);

    EXPECT(ocsd_dt_create_decoder(tree, NULL, 2, &unit, &id), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_create_decoder(tree, "", 2, &unit, &id), OCSD_ERR_DCDREG_NAME_UNKNOWN);
    EXPECT(ocsd_dt_create_decoder(tree, "ETMV4", 2, &unit, &id), OCSD_ERR_DCDREG_NAME_UNKNOWN);
    EXPECT(ocsd_dt_create_decoder(tree, "ETMV4I", 2, NULL, &id), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_create_decoder(tree, "ETMV4I", 0, &unit, &id), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_create_decoder(tree, "ETMV4I", 2, &other, &id), OCSD_ERR_INVALID_ID);
    EXPECT(ocsd_dt_create_decoder(tree, "ETMV4I", 2, &unit, NULL), OCSD_OK);
    EXPECT(ocsd_dt_create_decoder(tree, "ETMV4I", 2, &unit, &id), OCSD_ERR_ATTACH_TOO_MANY);
    EXPECT(ocsd_dt_remove_decoder(tree, 0), OCSD_ERR_INVALID_ID);
    EXPECT(ocsd_dt_remove_decoder(tree, 0x11), OCSD_ERR_INVALID_ID);

    EXPECT(ocsd_dt_attach_packet_callback(tree, 0x11, OCSD_C_API_CB_PKT_MON, (void *)element, NULL),
           OCSD_ERR_INVALID_ID);
    EXPECT(ocsd_dt_attach_packet_callback(tree, 0x10, (ocsd_c_api_cb_types)3, (void *)element,
                                          NULL),
           OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_attach_packet_callback(tree, 0x10, OCSD_C_API_CB_PKT_MON, NULL, NULL),
           OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_attach_packet_callback(tree, 0x10, OCSD_C_API_CB_PKT_SINK, (void *)element,
                                          NULL),
           OCSD_ERR_ATTACH_TOO_MANY);
    EXPECT(ocsd_dt_set_pkt_protocol_printer(tree, 0x11, 0), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_set_pkt_protocol_printer(tree, 0x10, 0), OCSD_ERR_ATTACH_TOO_MANY);
    EXPECT(ocsd_dt_get_decode_stats(tree, 0x10, NULL), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_get_decode_stats(tree, 0x11, &stats), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_get_decode_stats(tree, 0x10, &stats), OCSD_OK);
    EXPECT(stats->channel_total, 0);
    EXPECT(ocsd_dt_reset_decode_stats(tree, 0x11), OCSD_ERR_INVALID_PARAM_VAL);

    EXPECT(ocsd_dt_add_binfile_mem_acc(tree, 0, OCSD_MEM_SPACE_ANY, NULL),
           OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_add_binfile_mem_acc(tree, 0, OCSD_MEM_SPACE_ANY, ""),
           OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_add_binfile_mem_acc(tree, 0, OCSD_MEM_SPACE_ANY, "/no/such/file"),
           OCSD_ERR_MEM_ACC_FILE_NOT_FOUND);
    EXPECT(ocsd_dt_add_binfile_region_mem_acc(tree, NULL, 1, OCSD_MEM_SPACE_ANY, "/bin/sh"),
           OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_add_binfile_region_mem_acc(tree, regions, 0, OCSD_MEM_SPACE_ANY, "/bin/sh"),
           OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_add_binfile_region_mem_acc(tree, regions, -4, OCSD_MEM_SPACE_ANY, "/bin/sh"),
           OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_add_binfile_region_mem_acc(tree, regions, 2, OCSD_MEM_SPACE_ANY, "/bin/sh"),
           OCSD_ERR_MEM_ACC_OVERLAP);
    EXPECT(ocsd_dt_add_buffer_mem_acc(tree, 0x2000, OCSD_MEM_SPACE_ANY, NULL, 16),
           OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_add_buffer_mem_acc(tree, 0x2000, OCSD_MEM_SPACE_ANY, data, 3),
           OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_add_buffer_mem_acc(tree, 0x2001, OCSD_MEM_SPACE_ANY, data, 16),
           OCSD_ERR_MEM_ACC_RANGE_INVALID);
    EXPECT(ocsd_dt_add_buffer_mem_acc(tree, ~(ocsd_vaddr_t)7, OCSD_MEM_SPACE_ANY, data, 16),
           OCSD_ERR_MEM_ACC_RANGE_INVALID);
    EXPECT(ocsd_dt_add_buffer_mem_acc(tree, 0x2000, OCSD_MEM_SPACE_EL1N, data, 16), OCSD_OK);
    EXPECT(ocsd_dt_add_buffer_mem_acc(tree, 0x2008, OCSD_MEM_SPACE_EL1S, data, 16), OCSD_OK);
    EXPECT(ocsd_dt_add_buffer_mem_acc(tree, 0x2008, OCSD_MEM_SPACE_EL1N, data, 16),
           OCSD_ERR_MEM_ACC_OVERLAP);
    EXPECT(ocsd_dt_add_callback_mem_acc(tree, 0x4000, 0x4fff, OCSD_MEM_SPACE_ANY, NULL, NULL),
           OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_add_callback_mem_acc(tree, 0x4fff, 0x4000, OCSD_MEM_SPACE_ANY, lying_memory,
                                        NULL),
           OCSD_ERR_MEM_ACC_RANGE_INVALID);
    EXPECT(ocsd_dt_add_callback_trcid_mem_acc(tree, 0x4000, 0x4fff, OCSD_MEM_SPACE_ANY, NULL, NULL),
           OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_remove_mem_acc(tree, 0x9000, OCSD_MEM_SPACE_ANY), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_remove_mem_acc(tree, 0x2000, OCSD_MEM_SPACE_EL1N), OCSD_OK);
    EXPECT(ocsd_dt_remove_mem_acc(tree, 0x2000, OCSD_MEM_SPACE_EL1N), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_set_mem_acc_cacheing(tree, 1, 1, 16), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_dt_set_mem_acc_cacheing(tree, 1, 512, 16), OCSD_OK);
    EXPECT(ocsd_dt_set_mem_acc_cacheing(tree, 0, 0, 0), OCSD_OK);

    memset(&factory, 0, sizeof factory);
    EXPECT(ocsd_register_custom_decoder(NULL, &factory), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_register_custom_decoder("mine", NULL), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_register_custom_decoder("mine", &factory), OCSD_ERR_INVALID_PARAM_VAL);
    EXPECT(ocsd_deregister_decoders(), OCSD_OK);

    EXPECT(ocsd_dt_remove_decoder(tree, 0x10), OCSD_OK);
    ocsd_destroy_dcd_tree(tree);
    bad_handle(tree);

    /* A tree of one source. */
    tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_DATA, 0, 16, data, &used), OCSD_RESP_FATAL_NOT_INIT);
    EXPECT(ocsd_dt_set_raw_frame_printer(tree, 0x18), OCSD_ERR_DCDT_NO_FORMATTER);
    EXPECT(ocsd_dt_create_decoder(tree, "ETMV4I", 2, &unit, &id), OCSD_OK);
    EXPECT(ocsd_dt_create_decoder(tree, "ETMV4I", 2, &other, &id), OCSD_ERR_ATTACH_TOO_MANY);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_DATA, 0, 5, data, &used), OCSD_RESP_CONT);
    EXPECT(used, 5);
    ocsd_destroy_dcd_tree(tree);
}

/* The bytes of an A-sync, Trace Info, Trace On, a context with an address, and atoms. */
static const uint8_t trace[] = {0, 0,    0,    0,    0,    0, 0, 0, 0, 0, 0, 0x80, 0x01,
                                1, 0,    0x04, 0x85, 0,    0, 0, 0, 0, 0, 0, 0,    0x31,
                                0xf7, 0xf7, 0xff, 0xf6};

static ocsd_datapath_resp_t waiting_element(const void *context, const ocsd_trc_index_t index,
                                            const uint8_t id, const ocsd_generic_trace_elem *e)
{
    (void)context, (void)index, (void)id, (void)e;
    return OCSD_RESP_WAIT;
}

static void responses(void)
{
    ocsd_etmv4_cfg unit = config(0x10);
    unsigned char id;
    uint32_t used = 99;
    unsigned long count = 0;

    current = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0);
    EXPECT(ocsd_dt_create_decoder(current, "ETMV4I", 2, &unit, &id), OCSD_OK);
    EXPECT(ocsd_dt_add_callback_mem_acc(current, 0, ~(ocsd_vaddr_t)0, OCSD_MEM_SPACE_ANY,
                                        lying_memory, NULL),
           OCSD_OK);
    EXPECT(ocsd_dt_set_gen_elem_outfn(current, nested_element, NULL), OCSD_OK);
    EXPECT(ocsd_dt_process_data(current, OCSD_OP_DATA, 0, sizeof trace, trace, &used),
           OCSD_RESP_CONT);
    EXPECT(used, sizeof trace);
    EXPECT(ocsd_dt_set_gen_elem_outfn(current, fatal_element, NULL), OCSD_OK);
    EXPECT(ocsd_dt_process_data(current, OCSD_OP_RESET, 0, 0, NULL, NULL), OCSD_RESP_CONT);
    EXPECT(ocsd_dt_process_data(current, OCSD_OP_DATA, 0, sizeof trace, trace, &used),
           OCSD_RESP_FATAL_SYS_ERR);
    EXPECT(used <= sizeof trace, 1);
    /* What was not decoded is not taken. */
    EXPECT(ocsd_dt_set_gen_elem_outfn(current, waiting_element, NULL), OCSD_OK);
    EXPECT(ocsd_dt_process_data(current, OCSD_OP_RESET, 0, 0, NULL, NULL), OCSD_RESP_CONT);
    EXPECT(ocsd_dt_process_data(current, OCSD_OP_DATA, 0, sizeof trace, trace, &used),
           OCSD_RESP_WAIT);
    EXPECT(used < sizeof trace, 1);
    EXPECT(ocsd_dt_set_gen_elem_outfn(current, element, &count), OCSD_OK);
    EXPECT(ocsd_dt_process_data(current, OCSD_OP_RESET, 0, 0, NULL, NULL), OCSD_RESP_CONT);
    EXPECT(ocsd_dt_process_data(current, OCSD_OP_DATA, 0, sizeof trace, trace, &used),
           OCSD_RESP_CONT);
    EXPECT(count > 0, 1);
    ocsd_destroy_dcd_tree(current);
}

/* The message that was received last. */
static char logged[512];

static void log_message(const void *context, const char *text, const int length)
{
    EXPECT((size_t)length, strlen(text));
    snprintf((char *)context, sizeof logged, "%s", text);
}

static void error_log(void)
{
    static const uint8_t frame[16] = {0};
    ocsd_etmv4_cfg unit = config(0x10);
    uint32_t used;
    unsigned char id;
    ocsd_trc_index_t index = 0;
    char text[256];
    dcd_tree_handle_t tree =
        ocsd_create_dcd_tree(OCSD_TRC_SRC_FRAME_FORMATTED, OCSD_DFRMTR_FRAME_MEM_ALIGN);

    EXPECT(ocsd_dt_create_decoder(tree, "ETMV4I", 2, &unit, &id), OCSD_OK);
    EXPECT(ocsd_def_errlog_set_strprint_cb(tree, logged, log_message), OCSD_OK);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_DATA, 0, 16, frame, &used), OCSD_RESP_CONT);
    EXPECT(logged[0], 0);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_DATA, 64, 16, frame, &used),
           OCSD_RESP_FATAL_INVALID_DATA);
    EXPECT(ocsd_get_last_err(&index, &id, text, sizeof text), OCSD_ERR_DFMTR_NOTCONTTRACE);
    EXPECT(index, 64);
    /* The error is of no source. */
    EXPECT(id, 0xff);
    EXPECT(strstr(text, "(OCSD_ERR_DFMTR_NOTCONTTRACE) [") != NULL, 1);
    EXPECT(strstr(text, "; TrcIdx=64; ") != NULL, 1);
    EXPECT(strncmp(logged, "DFMT_CSFRAMES : 0x", 18), 0);
    EXPECT(strcmp(logged + strlen("DFMT_CSFRAMES : "), text), 0);
    ocsd_destroy_dcd_tree(tree);
}

static ocsd_datapath_resp_t waiting_sink(const void *context, const ocsd_datapath_op_t op,
                                         const ocsd_trc_index_t index, const void *packet)
{
    (void)index, (void)packet;
    if (op != OCSD_OP_DATA)
        return OCSD_RESP_CONT;
    ++*(int *)context;
    return OCSD_RESP_WAIT;
}

/* A sink that waits receives one packet with each operation. */
static void sinks(void)
{
    ocsd_etmv4_cfg unit = config(0x10);
    uint32_t used = 99;
    unsigned char id;
    int count = 0;
    dcd_tree_handle_t tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, 0);

    EXPECT(ocsd_dt_create_decoder(tree, "ETMV4I", OCSD_CREATE_FLG_PACKET_PROC, &unit, &id), OCSD_OK);
    EXPECT(ocsd_dt_attach_packet_callback(tree, id, OCSD_C_API_CB_PKT_SINK, (void *)waiting_sink,
                                          &count),
           OCSD_OK);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_DATA, 0, sizeof trace, trace, &used), OCSD_RESP_WAIT);
    EXPECT(count, 1);
    EXPECT(used < sizeof trace, 1);
    EXPECT(ocsd_dt_process_data(tree, OCSD_OP_DATA, used, (uint32_t)sizeof trace - used,
                                trace + used, &used),
           OCSD_RESP_WAIT);
    EXPECT(count, 2);
    ocsd_destroy_dcd_tree(tree);
}

static uint8_t *capture;
static long capture_length;

static void *decode(void *argument)
{
    static const char *const names[] = {"ETMV4I", "ETE", "ETMV3", "PTM", "STM", "ITM"};
    uint32_t seed = (uint32_t)(uintptr_t)argument;
    unsigned long count = 0;

    for (int round = 0; round < 12; round++) {
        int framed = round & 1;
        uint32_t words[16] = {0}, used;
        unsigned char id;
        dcd_tree_handle_t tree = ocsd_create_dcd_tree(
            framed ? OCSD_TRC_SRC_FRAME_FORMATTED : OCSD_TRC_SRC_SINGLE,
            framed ? OCSD_DFRMTR_FRAME_MEM_ALIGN | OCSD_DFRMTR_RESET_ON_4X_FSYNC : 0);
        for (int n = 0; n < 16; n++)
            words[n] = (seed = seed * 1664525 + 1013904223);
        /* Where each structure has the trace ID. */
        words[10] = words[6] = words[3] = 0x10;
        const char *name = names[round / 2];
        if (name[0] == 'S' || name[0] == 'I')
            words[0] = 0x10 << 16;
        EXPECT(ocsd_dt_create_decoder(tree, name, OCSD_CREATE_FLG_FULL_DECODER, words, &id),
               OCSD_OK);
        EXPECT(ocsd_dt_set_gen_elem_outfn(tree, element, &count), OCSD_OK);
        EXPECT(ocsd_dt_add_buffer_mem_acc(tree, 0, OCSD_MEM_SPACE_ANY, capture,
                                          (uint32_t)(capture_length & ~1)),
               OCSD_OK);
        for (long at = 0; at + 64 <= capture_length; at += 64) {
            uint8_t block[64];
            memcpy(block, capture + at, 64);
            seed = seed * 1664525 + 1013904223;
            block[seed >> 26] ^= 1 << (seed >> 8 & 7);
            ocsd_dt_process_data(tree, OCSD_OP_DATA, (ocsd_trc_index_t)at, 64, block, &used);
            EXPECT(used <= 64, 1);
        }
        ocsd_dt_process_data(tree, OCSD_OP_EOT, 0, 0, NULL, NULL);
        ocsd_destroy_dcd_tree(tree);
    }
    return (void *)(uintptr_t)count;
}

int main(int argc, char **argv)
{
    int local;
    strings();
    bad_handle(NULL);
    bad_handle((dcd_tree_handle_t)1);
    bad_handle((dcd_tree_handle_t)&local);
    trees();
    responses();
    EXPECT(ocsd_def_errlog_config_output(0, NULL), OCSD_ERR_NOT_INIT);
    EXPECT(ocsd_def_errlog_init(OCSD_ERR_SEV_ERROR, 1), OCSD_OK);
    EXPECT(ocsd_def_errlog_config_output(0, NULL), OCSD_OK);
    error_log();
    sinks();
    if (argc > 1) {
        FILE *file = fopen(argv[1], "rb");
        if (!file)
            return 2;
        capture = malloc(1 << 20);
        capture_length = (long)fread(capture, 1, 1 << 20, file);
        fclose(file);
        pthread_t threads[2];
        void *counts[2];
        for (int n = 0; n < 2; n++)
            pthread_create(&threads[n], NULL, decode, (void *)(uintptr_t)7);
        for (int n = 0; n < 2; n++)
            pthread_join(threads[n], &counts[n]);
        /* Trees do not know of each other. */
        EXPECT(counts[0] == counts[1] && counts[0] != NULL, 1);
        free(capture);
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
