/* Prints the fields of elements and packets that have a meaning for their kind. The structures are
 * those of the headers with which the client is compiled. */
#ifndef FIELDS_H
#define FIELDS_H

#include <inttypes.h>
#include <stdio.h>

#include "opencsd/c_api/opencsd_c_api.h"
#if OCSD_VER_NUM >= 0x010701
#include "opencsd/itm/trc_pkt_types_itm.h"
#endif

/* The fields of an element that have a meaning for its kind. */
static void print_fields(const ocsd_generic_trace_elem *e)
{
    switch (e->elem_type) {
    case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
        printf("{%d %" PRIx64 " %" PRIx64 " %u %d %d %d %d %d}", e->isa, e->st_addr, e->en_addr,
               e->num_instr_range, e->last_i_type, e->last_i_subtype, e->last_instr_exec,
               e->last_instr_sz, e->has_cc ? (int)e->cycle_count : -1);
        break;
    case OCSD_GEN_TRC_ELEM_PE_CONTEXT:
        printf("{%d %d %d %x %x %d%d%d%d}", e->isa, e->context.security_level,
               e->context.el_valid ? e->context.exception_level : -1,
               e->context.ctxt_id_valid ? e->context.context_id : 0,
               e->context.vmid_valid ? e->context.vmid : 0, e->context.bits64,
               e->context.ctxt_id_valid, e->context.vmid_valid, e->context.el_valid);
        break;
    case OCSD_GEN_TRC_ELEM_EXCEPTION:
        printf("{%x %d %" PRIx64 "}", e->exception_number, e->excep_ret_addr,
               e->excep_ret_addr ? e->en_addr : 0);
        break;
    case OCSD_GEN_TRC_ELEM_TIMESTAMP:
        printf("{%" PRIx64 " %d}", e->timestamp, e->has_cc ? (int)e->cycle_count : -1);
        break;
    case OCSD_GEN_TRC_ELEM_CYCLE_COUNT:
        printf("{%d}", e->cycle_count);
        break;
    case OCSD_GEN_TRC_ELEM_TRACE_ON:
        printf("{%d}", e->trace_on_reason);
        break;
    case OCSD_GEN_TRC_ELEM_NO_SYNC:
        printf("{%d}", e->unsync_eot_info);
        break;
    case OCSD_GEN_TRC_ELEM_ADDR_NACC:
        printf("{%" PRIx64 "}", e->st_addr);
        break;
    case OCSD_GEN_TRC_ELEM_EVENT:
        printf("{%d %x}", e->trace_event.ev_type, e->trace_event.ev_number);
        break;
    case OCSD_GEN_TRC_ELEM_SYNC_MARKER:
        printf("{%d %x}", e->sync_marker.type, e->sync_marker.value);
        break;
    case OCSD_GEN_TRC_ELEM_MEMTRANS:
        printf("{%d}", e->mem_trans);
        break;
#if OCSD_VER_NUM >= 0x010701
    case OCSD_GEN_TRC_ELEM_EO_TRACE:
        printf("{%d}", e->unsync_eot_info);
        break;
    case OCSD_GEN_TRC_ELEM_INSTRUMENTATION:
        printf("{%x %" PRIx64 "}", e->sw_ite.el, e->sw_ite.value);
        break;
    case OCSD_GEN_TRC_ELEM_ITMTRACE:
        printf("{%d %x %x %x %x %" PRIx64 "}", e->swt_itm.pkt_type, e->swt_itm.payload_src_id,
               e->swt_itm.payload_size, e->swt_itm.value, e->swt_itm.overflow,
               e->swt_itm.pkt_type >= TS_SYNC ? e->timestamp : 0);
        break;
#endif
    case OCSD_GEN_TRC_ELEM_SWTRACE:
        if (e->sw_trace_info.swt_id_valid)
            printf("{%x %x}", e->sw_trace_info.swt_master_id, e->sw_trace_info.swt_channel_id);
        printf("{%x}", e->sw_trace_info.swt_payload_pkt_bitsize);
        if (e->sw_trace_info.swt_payload_pkt_bitsize == 32)
            printf("{%x}", *(const uint32_t *)e->ptr_extended_data);
        break;
    default:
        break;
    }
}

/* Fields of a packet that have a meaning for its kind. With `data_addresses`, the two places where
 * a packet of ETMv3 may have the address of a data access. */
static void print_packet_fields(ocsd_trace_protocol_t kind, const void *packet, int data_addresses)
{
    if (kind == OCSD_PROTOCOL_ETMV4I || kind == OCSD_PROTOCOL_ETE) {
        const ocsd_etmv4_i_pkt *p = packet;
        printf("{%x atoms %u %x", p->type, p->atom.num, p->atom.num ? p->atom.En_bits : 0);
        if (p->type >= ETM4_PKT_I_ADDR_CTXT_L_32IS0 && p->type <= ETM4_PKT_I_ADDR_L_64IS1)
            printf(" address %" PRIx64 " %u %u %u", p->v_addr.val, p->v_addr.pkt_bits,
                   p->v_addr.valid_bits, p->v_addr_ISA);
        if (p->context.updated)
            printf(" context %u %u %u %x %x", p->context.EL, p->context.SF, p->context.NS,
                   p->context.updated_c ? p->context.ctxtID : 0,
                   p->context.updated_v ? p->context.VMID : 0);
        if (p->type == ETM4_PKT_I_TIMESTAMP)
            printf(" time %" PRIx64 " %u", p->ts.timestamp, p->ts.bits_changed);
        if (p->pkt_valid.bits.cc_valid)
            printf(" cycles %u", p->cycle_count);
        if (p->type == ETM4_PKT_I_EXCEPT)
            printf(" exception %x %u", p->exception_info.exceptionType,
                   p->exception_info.addr_interp);
        if (p->type == ETM4_PKT_I_EVENT)
            printf(" event %x", p->event_val);
        printf(" error %x}\n", p->err_type);
    }
    if (kind == OCSD_PROTOCOL_ETMV3) {
        const ocsd_etmv3_pkt *p = packet;
        printf("{%x isa %u %u atoms %u %x %u", p->type, p->curr_isa, p->prev_isa, p->atom.num,
               p->atom.num ? p->atom.En_bits : 0, p->atom.num ? p->p_hdr_fmt : 0);
        printf(" context %u %u %u %u", p->context.curr_NS, p->context.curr_Hyp,
               p->context.updated_c ? p->context.ctxtID : 0,
               p->context.updated_v ? p->context.VMID : 0);
        if (p->type == ETM3_PKT_BRANCH_ADDRESS || p->type == ETM3_PKT_I_SYNC)
            printf(" address %" PRIx64 " %u %u", p->addr.val, p->addr.pkt_bits, p->addr.valid_bits);
        if (p->type == ETM3_PKT_I_SYNC || p->type == ETM3_PKT_I_SYNC_CYCLE)
            printf(" sync %u %u %u %u", p->isync_info.reason, p->isync_info.has_cycle_count,
                   p->isync_info.has_LSipAddress, p->isync_info.no_address);
        if (p->exception.bits.present)
            printf(" exception %u %u %u %u %u %u", p->exception.type, p->exception.number,
                   p->exception.bits.cancel, p->exception.bits.cm_type, p->exception.bits.cm_resume,
                   p->exception.bits.cm_irq_n);
        printf(" cycles %u data %u %x", p->cycle_count, p->data.ooo_tag, p->data.value);
        if (p->type == ETM3_PKT_TIMESTAMP)
            printf(" time %" PRIx64 " %u", p->timestamp, p->ts_update_bits);
        if (data_addresses && (p->data.update_addr || p->data.update_dval))
            printf(" addr %" PRIx64 " data.addr %" PRIx64, p->addr.val, p->data.addr.val);
        printf(" error %x}\n", p->type > ETM3_PKT_TIMESTAMP ? p->err_type : 0);
    }
    if (kind == OCSD_PROTOCOL_PTM) {
        const ocsd_ptm_pkt *p = packet;
        printf("{%x isa %u %u", p->type, p->curr_isa, p->prev_isa);
        if (p->type == PTM_PKT_ATOM)
            printf(" atoms %u %x", p->atom.num, p->atom.En_bits);
        if (p->type == PTM_PKT_BRANCH_ADDRESS || p->type == PTM_PKT_WPOINT_UPDATE ||
            p->type == PTM_PKT_I_SYNC)
            printf(" address %" PRIx64 " %u %u", p->addr.val, p->addr.pkt_bits, p->addr.valid_bits);
        if (p->type == PTM_PKT_I_SYNC)
            printf(" sync %u", p->i_sync_reason);
        printf(" context %u %u %u %x %x", p->context.updated, p->context.curr_NS,
               p->context.curr_Hyp, p->context.updated_c ? p->context.ctxtID : 0,
               p->context.updated_v ? p->context.VMID : 0);
        if (p->exception.bits.present)
            printf(" exception %u %u", p->exception.type, p->exception.number);
        if (p->cc_valid)
            printf(" cycles %u", p->cycle_count);
        if (p->type == PTM_PKT_TIMESTAMP)
            printf(" time %" PRIx64 " %u", p->timestamp, p->ts_update_bits);
        printf("}\n");
    }
    if (kind == OCSD_PROTOCOL_STM) {
        const ocsd_stm_pkt *p = packet;
        static const unsigned bits[] = {4, 8, 16, 32, 64};
        printf("{%x %x %x", p->type, p->master, p->channel);
        if (p->pkt_has_ts)
            printf(" time %" PRIx64 " %u %u", p->timestamp, p->pkt_ts_bits, p->ts_type);
        if (p->type >= STM_PKT_D4 && p->type <= STM_PKT_D64) {
            unsigned size = bits[p->type - STM_PKT_D4];
            uint64_t value = size == 64   ? p->payload.D64
                             : size == 32 ? p->payload.D32
                             : size == 16 ? p->payload.D16
                                          : p->payload.D8;
            printf(" value %" PRIx64, value);
        }
        printf(" marker %u}\n", p->pkt_has_marker);
    }
#if OCSD_VER_NUM >= 0x010701
    if (kind == OCSD_PROTOCOL_ITM) {
        const ocsd_itm_pkt *p = packet;
        printf("{%x", p->type);
        if (p->type >= ITM_PKT_SWIT && p->type <= ITM_PKT_EXTENSION)
            printf(" %x %x %u %x", p->src_id, p->value, p->val_sz, p->val_ext);
        printf("}\n");
    }
#endif
}

#endif
