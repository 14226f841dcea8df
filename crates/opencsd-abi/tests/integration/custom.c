/* A client that registers a decoder of its own: each byte of its source is a packet, and an event
 * element with the byte as its number. It prints what each function of the library returns. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencsd/c_api/opencsd_c_api.h"

struct decoder {
    ocsd_extern_dcd_cb_fns library;
    int flags;
    int full;
    uint8_t id;
    int waiting;
};

struct config {
    uint32_t id;
};

static ocsd_datapath_resp_t take_data(const void *handle, const ocsd_datapath_op_t op,
                                      const ocsd_trc_index_t index, const uint32_t size,
                                      const uint8_t *data, uint32_t *taken)
{
    struct decoder *d = (struct decoder *)handle;
    const ocsd_extern_dcd_cb_fns *library = &d->library;
    ocsd_datapath_resp_t answer = OCSD_RESP_CONT;
    printf("operation %d of %u bytes at %u\n", op, size, index);
    if (op != OCSD_OP_DATA)
        return answer;
    uint32_t n = 0;
    for (; n < size && OCSD_DATA_RESP_IS_CONT(answer); n++) {
        ocsd_generic_trace_elem element;
        if (d->flags & OCSD_CUST_DCD_PKT_CB_USE_MON)
            library->fn_packet_mon(library->lib_context, OCSD_OP_DATA, index + n, data + n, 1,
                                   data + n);
        if (d->flags & OCSD_CUST_DCD_PKT_CB_USE_SINK)
            answer = library->fn_packet_data_sink(library->lib_context, OCSD_OP_DATA, index + n,
                                                  data + n);
        if (!d->full)
            continue;
        memset(&element, 0, sizeof element);
        ocsd_gen_elem_init(&element, OCSD_GEN_TRC_ELEM_EVENT);
        element.trace_event.ev_type = EVENT_NUMBERED;
        element.trace_event.ev_number = data[n];
        answer = library->fn_gen_elem_out(library->lib_context, index + n, d->id, &element);
        if (data[n] == 0x55) {
            uint8_t bytes[4] = {0};
            uint32_t count = 4;
            ocsd_err_t code = library->fn_memory_access(library->lib_context, 0x8000, d->id,
                                                        OCSD_MEM_SPACE_EL1N, &count, bytes);
            ocsd_instr_info info;
            memset(&info, 0, sizeof info);
            printf("memory %d %u %02x%02x%02x%02x\n", code, count, bytes[3], bytes[2], bytes[1],
                   bytes[0]);
            info.pe_type.arch = ARCH_V8;
            info.pe_type.profile = profile_CortexA;
            info.isa = ocsd_isa_aarch64;
            info.instr_addr = 0x8000;
            memcpy(&info.opcode, bytes, 4);
            code = library->fn_arm_instruction_decode(library->lib_context, &info);
            printf("instruction %d %d %llx %d %d %d %d\n", code, info.type,
                   (unsigned long long)info.branch_addr, info.instr_size, info.is_conditional,
                   info.is_link, info.sub_type);
        }
    }
    *taken = n;
    return answer;
}

static void take_flags(const void *handle, const int flags)
{
    ((struct decoder *)handle)->flags = flags;
}

static ocsd_err_t create(const int flags, const void *config,
                         const ocsd_extern_dcd_cb_fns *library, ocsd_extern_dcd_inst_t *instance)
{
    struct decoder *d = calloc(1, sizeof *d);
    d->library = *library;
    d->full = flags & OCSD_CREATE_FLG_FULL_DECODER;
    d->id = (uint8_t)((const struct config *)config)->id;
    instance->fn_data_in = take_data;
    instance->fn_update_pkt_mon = take_flags;
    instance->decoder_handle = d;
    instance->p_decoder_name = "BYTES";
    instance->cs_id = d->id;
    return OCSD_OK;
}

static ocsd_err_t destroy(const void *handle)
{
    printf("destroyed\n");
    free((void *)handle);
    return OCSD_OK;
}

static ocsd_err_t read_id(const void *config, unsigned char *id)
{
    *id = (unsigned char)((const struct config *)config)->id;
    return OCSD_OK;
}

static ocsd_err_t packet_text(const void *packet, char *buffer, const int size)
{
    snprintf(buffer, (size_t)size, "BYTE : 0x%02x", *(const uint8_t *)packet);
    return OCSD_OK;
}

static ocsd_datapath_resp_t element(const void *context, const ocsd_trc_index_t index,
                                    const uint8_t id, const ocsd_generic_trace_elem *e)
{
    static int count;
    char text[128];
    (void)context;
    ocsd_gen_elem_str(e, text, sizeof text);
    printf("Idx:%u; ID:%x; %s\n", index, id, text);
    return ++count % 7 ? OCSD_RESP_CONT : OCSD_RESP_WAIT;
}

static ocsd_trace_protocol_t number;

static void monitor(const void *context, const ocsd_datapath_op_t op,
                    const ocsd_trc_index_t index, const void *packet, const uint32_t size,
                    const uint8_t *data)
{
    char text[64];
    (void)context;
    ocsd_err_t code = ocsd_pkt_str(number, packet, text, sizeof text);
    printf("packet %d at %u: %u %02x %d %s\n", op, index, size, data[0], code, text);
}

static ocsd_datapath_resp_t sink(const void *context, const ocsd_datapath_op_t op,
                                 const ocsd_trc_index_t index, const void *packet)
{
    (void)context;
    printf("sink %d at %u: %02x\n", op, index, *(const uint8_t *)packet);
    return OCSD_RESP_CONT;
}

/* Bytes of IDs 0x10 and 0x11 in frames. */
static const uint8_t frames[48] = {
    0x21, 1,    2,    3, 0x54, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0x04,
    0x23, 0x41, 0x42, 3, 0x21, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0x00,
    2,    0x51, 4,    3, 4,    5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0x00,
};

static void decode(int framed, int flags)
{
    static const uint32_t code[4] = {0x94000004, 0xd65f03c0, 0, 0};
    struct config config = {0x10};
    unsigned char id = 0;
    ocsd_datapath_resp_t answer = OCSD_RESP_CONT;
    dcd_tree_handle_t tree = ocsd_create_dcd_tree(
        framed ? OCSD_TRC_SRC_FRAME_FORMATTED : OCSD_TRC_SRC_SINGLE,
        framed ? OCSD_DFRMTR_FRAME_MEM_ALIGN : 0);
    printf("memory: %d\n", ocsd_dt_add_buffer_mem_acc(tree, 0x8000, OCSD_MEM_SPACE_ANY,
                                                      (const uint8_t *)code, sizeof code));
    printf("create: %d\n", ocsd_dt_create_decoder(tree, "BYTES", flags, &config, &id));
    printf("id: %x\n", id);
    printf("elements: %d\n", ocsd_dt_set_gen_elem_outfn(tree, element, NULL));
    printf("monitor: %d\n", ocsd_dt_attach_packet_callback(tree, id, OCSD_C_API_CB_PKT_MON,
                                                           (void *)monitor, NULL));
    if (flags & OCSD_CREATE_FLG_PACKET_PROC)
        printf("sink: %d\n", ocsd_dt_attach_packet_callback(tree, id, OCSD_C_API_CB_PKT_SINK,
                                                            (void *)sink, NULL));
    for (uint32_t at = 0, taken; at < sizeof frames && !OCSD_DATA_RESP_IS_FATAL(answer);) {
        if (OCSD_DATA_RESP_IS_WAIT(answer)) {
            answer = ocsd_dt_process_data(tree, OCSD_OP_FLUSH, 0, 0, NULL, NULL);
            continue;
        }
        taken = 0;
        answer = ocsd_dt_process_data(tree, OCSD_OP_DATA, at, sizeof frames - at, frames + at,
                                      &taken);
        at += taken;
    }
    while (OCSD_DATA_RESP_IS_WAIT(answer))
        answer = ocsd_dt_process_data(tree, OCSD_OP_FLUSH, 0, 0, NULL, NULL);
    printf("end: %d\n", ocsd_dt_process_data(tree, OCSD_OP_EOT, 0, 0, NULL, NULL));
    ocsd_destroy_dcd_tree(tree);
}

int main(void)
{
    ocsd_extern_dcd_fact_t factory = {create, destroy, read_id, packet_text,
                                      OCSD_PROTOCOL_UNKNOWN};
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("register: %d\n", ocsd_register_custom_decoder("BYTES", &factory));
    number = factory.protocol_id;
    printf("number: %d\n", number);
    printf("again: %d\n", ocsd_register_custom_decoder("BYTES", &factory));
    decode(1, OCSD_CREATE_FLG_FULL_DECODER);
    decode(0, OCSD_CREATE_FLG_FULL_DECODER);
    decode(1, OCSD_CREATE_FLG_PACKET_PROC);
    /* 1.3.3 ends in a fault where ocsd_deregister_decoders is called after this. */
    return 0;
}
