/* Times a full decode with OpenCSD: the counterpart of `tracewright bench`.
 *
 * usage: driver JOB REPEAT files|buffers
 *
 * JOB is a file that the program `inputs` writes beside a capture: the buffer, the sources with their registers, and the memory.
 * Memory is given to the library as files, as its own lister does it, or as buffers, which is faster: see docs/speed.md.
 * The library decodes REPEAT times, each time with a new decode tree, to a callback that folds every field of every element that
 * has a meaning for its kind into one number. With a REPEAT of 0 it decodes once, counts, and folds the ranges as `tracewright bench` does
 * (crates/views/src/sinks/ranges.rs).
 *
 * Prints one line of words and numbers: what was counted, or for each pass the seconds on the clock and the seconds of the
 * processor; `no decoder` where the library has none for any source. Timed is what lies between the first and the last byte given to the library: the input is in memory, and the tree
 * exists.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <opencsd/c_api/opencsd_c_api.h>
#include <opencsd/ete/trc_pkt_types_ete.h>
#include <opencsd/ocsd_if_version.h>
#ifdef OCSD_BUILTIN_DCD_ITM
#include <opencsd/itm/trc_pkt_types_itm.h>
#endif

#define MOST 64
/* Bytes given to the library at a time: what its lister gives. Larger blocks are no faster. */
#define BLOCK 1024u

static const char *const PROTOCOLS[] = {"ETMV4I", "ETE", "ETMV3", "PTM", "STM",
#ifdef OCSD_BUILTIN_DCD_ITM
    "ITM",
#endif
};

struct source {
    char protocol[16];
    int version;
    char profile;
    uint32_t registers[16];
};

struct memory {
    char path[512];
    uint64_t address;
    uint8_t *bytes;
    size_t len;
};

struct job {
    uint8_t *trace;
    size_t len;
    char framing[16];
    struct source sources[MOST];
    struct memory memory[MOST];
    int sources_len, memory_len, files;
};

struct found {
    uint64_t elements, ranges, instructions, errors;
    /* By trace id: libraries may deliver the elements of two sources in another order. */
    uint64_t fold[256];
    struct { uint64_t sum, count; } range_fold[256];
};

static void fail(const char *what, const char *about)
{
    fprintf(stderr, "driver: %s: %s\n", what, about);
    exit(2);
}

/* A file in memory, every page of it there. */
static uint8_t *slurp(const char *path, size_t *len)
{
    struct stat about;
    int file = open(path, O_RDONLY);
    if (file < 0 || fstat(file, &about)) fail("cannot read", path);
    *len = (size_t)about.st_size;
    uint8_t *bytes = *len ? mmap(NULL, *len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0) : NULL;
    if (bytes == MAP_FAILED) fail("cannot map", path);
    close(file);
    return bytes;
}

static void read_job(const char *path, struct job *job)
{
    char line[4096];
    FILE *file = fopen(path, "r");
    if (!file) fail("cannot read the job", path);
    while (fgets(line, sizeof line, file)) {
        const char *word = strtok(line, " \n");
        if (!word) continue;
        if (!strcmp(word, "buffer")) {
            job->trace = slurp(strtok(NULL, " \n"), &job->len);
            snprintf(job->framing, sizeof job->framing, "%s", strtok(NULL, " \n"));
        } else if (!strcmp(word, "source") && job->sources_len < MOST) {
            struct source *source = &job->sources[job->sources_len++];
            snprintf(source->protocol, sizeof source->protocol, "%s", strtok(NULL, " \n"));
            source->version = atoi(strtok(NULL, " \n"));
            source->profile = *strtok(NULL, " \n");
            int n = 0;
            while (n < 16 && (word = strtok(NULL, " \n"))) source->registers[n++] = (uint32_t)strtoull(word, NULL, 0);
        } else if (!strcmp(word, "memory") && job->memory_len < MOST) {
            struct memory *memory = &job->memory[job->memory_len++];
            memory->address = strtoull(strtok(NULL, " \n"), NULL, 0);
            snprintf(memory->path, sizeof memory->path, "%s", strtok(NULL, " \n"));
            memory->bytes = slurp(memory->path, &memory->len);
        }
    }
    fclose(file);
}

/* The same arithmetic as crates/views/src/fold.rs. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)(a ^ 0xa0761d6478bd642full) * (b ^ 0xe7037ed1a0b428dbull);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t fold(uint64_t sum, uint64_t value)
{
    return sum * 0x9e3779b97f4a7c15ull + value;
}

static inline uint32_t last_of(const ocsd_generic_trace_elem *e)
{
    int blind = e->isa == ocsd_isa_thumb2 && e->last_i_type != OCSD_INSTR_BR;
    uint32_t type = e->last_i_type == OCSD_INSTR_DSB_DMB || e->last_i_type == OCSD_INSTR_WFI_WFE ? 0 : (uint32_t)e->last_i_type;
    uint32_t conditional = e->last_instr_cond && !blind;
    return type | (uint32_t)e->last_i_subtype << 4 | (uint32_t)e->isa << 8
        | (uint32_t)e->last_instr_sz << 12 | (uint32_t)e->last_instr_exec << 16 | conditional << 17;
}

static inline uint32_t cycles_of(const ocsd_generic_trace_elem *e)
{
    return e->has_cc ? e->cycle_count : 0;
}

/* What an element that is no range adds to the fold. Fields that its kind does not have are not read: OpenCSD leaves in them
 * the addresses and levels of an earlier element. */
static uint64_t value_of(const ocsd_generic_trace_elem *e, uint64_t place)
{
    ocsd_generic_trace_elem flags = *e;
    uint64_t start = 0, end = 0, number = 0, time = e->has_ts ? e->timestamp : 0;
    /* OpenCSD sets it in elements of ETMv4, ETE and STM only. */
    flags.has_ts = 0;
    uint64_t kind = (uint64_t)e->elem_type | (uint64_t)flags.flag_bits << 16;
    switch (e->elem_type) {
    case OCSD_GEN_TRC_ELEM_TIMESTAMP:
        time = e->timestamp;
        break;
    case OCSD_GEN_TRC_ELEM_I_RANGE_NOPATH:
        start = e->st_addr, end = e->en_addr, number = e->num_instr_range;
        break;
    case OCSD_GEN_TRC_ELEM_ADDR_NACC:
        start = e->st_addr;
        break;
    case OCSD_GEN_TRC_ELEM_EXCEPTION:
        end = e->excep_ret_addr ? e->en_addr : 0, number = e->exception_number;
        break;
    case OCSD_GEN_TRC_ELEM_TRACE_ON:
        number = e->trace_on_reason;
        break;
    case OCSD_GEN_TRC_ELEM_NO_SYNC:
    case OCSD_GEN_TRC_ELEM_EO_TRACE:
        number = e->unsync_eot_info;
        break;
    case OCSD_GEN_TRC_ELEM_EVENT:
        number = (uint64_t)e->trace_event.ev_type << 16 | e->trace_event.ev_number;
        break;
    case OCSD_GEN_TRC_ELEM_MEMTRANS:
        number = e->mem_trans;
        break;
    case OCSD_GEN_TRC_ELEM_SWTRACE:
        number = e->sw_trace_info.swt_flag_bits;
        if (e->sw_trace_info.swt_id_valid)
            start = (uint64_t)e->sw_trace_info.swt_master_id << 16 | e->sw_trace_info.swt_channel_id;
        if (e->extended_data) end = *(const uint8_t *)e->ptr_extended_data;
        break;
#ifdef OCSD_BUILTIN_DCD_ITM
    case OCSD_GEN_TRC_ELEM_ITMTRACE:
        number = (uint64_t)e->swt_itm.pkt_type | (uint64_t)e->swt_itm.payload_src_id << 8
            | (uint64_t)e->swt_itm.payload_size << 16 | (uint64_t)e->swt_itm.overflow << 24;
        start = e->swt_itm.value;
        time = e->swt_itm.pkt_type >= TS_SYNC ? e->timestamp : 0;
        break;
#endif
    default:
        break;
    }
    uint64_t value = mix(mix(place, kind), mix(start, end));
    value = mix(value, mix(time, (uint64_t)cycles_of(e) << 32 ^ number));
    if (e->elem_type == OCSD_GEN_TRC_ELEM_PE_CONTEXT) {
        const ocsd_pe_context *c = &e->context;
        value = mix(value, (uint64_t)e->isa);
        uint64_t ids = (uint64_t)(c->ctxt_id_valid ? c->context_id : 0) << 32 | (c->vmid_valid ? c->vmid : 0);
        value = mix(value, mix(ids, (uint64_t)(c->el_valid ? c->exception_level : 0) << 8 | (uint64_t)c->security_level));
    }
    return value;
}

/* The timed pass. */
static ocsd_datapath_resp_t element(const void *context, const ocsd_trc_index_t at, const uint8_t id,
    const ocsd_generic_trace_elem *e)
{
    struct found *found = (struct found *)(uintptr_t)context;
    uint64_t place = (uint64_t)at ^ (uint64_t)id << 56, value;
    if (e->elem_type == OCSD_GEN_TRC_ELEM_INSTR_RANGE) {
        uint64_t counts = e->en_addr ^ (uint64_t)e->num_instr_range << 32;
        uint64_t last = (uint64_t)cycles_of(e) | (uint64_t)(last_of(e) | e->has_cc << 18) << 32;
        value = mix(e->st_addr, counts) + mix(place, last);
    } else {
        value = value_of(e, place);
    }
    found->fold[id] = fold(found->fold[id], value);
    found->elements++;
    return OCSD_RESP_CONT;
}

/* The pass that counts. */
static ocsd_datapath_resp_t count(const void *context, const ocsd_trc_index_t at, const uint8_t id,
    const ocsd_generic_trace_elem *e)
{
    struct found *found = (struct found *)(uintptr_t)context;
    (void)at;
    found->elements++;
    if (e->elem_type != OCSD_GEN_TRC_ELEM_INSTR_RANGE) return OCSD_RESP_CONT;
    found->ranges++;
    found->instructions += e->num_instr_range;
    uint64_t rest = (uint64_t)e->num_instr_range << 32 | last_of(e);
    found->range_fold[id].sum = fold(found->range_fold[id].sum, mix(e->st_addr, e->en_addr) + mix(rest, e->en_addr));
    found->range_fold[id].count++;
    return OCSD_RESP_CONT;
}

static void create(dcd_tree_handle_t tree, const struct source *source)
{
    const uint32_t *r = source->registers;
    ocsd_arch_version_t arch = source->version >= 9 ? ARCH_AA64 : source->version == 8 ? ARCH_V8 : ARCH_V7;
    ocsd_core_profile_t profile = source->profile == 'M' ? profile_CortexM
        : source->profile == 'R' ? profile_CortexR : profile_CortexA;
    union { ocsd_etmv4_cfg etmv4; ocsd_ete_cfg ete; ocsd_etmv3_cfg etmv3; ocsd_ptm_cfg ptm; ocsd_stm_cfg stm;
#ifdef OCSD_BUILTIN_DCD_ITM
        ocsd_itm_cfg itm;
#endif
    } config;
    memset(&config, 0, sizeof config);
    if (!strcmp(source->protocol, "ETMV4I")) {
        config.etmv4 = (ocsd_etmv4_cfg){r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9], r[10], arch, profile};
    } else if (!strcmp(source->protocol, "ETE")) {
        /* What the reference's own reader of snapshots sets for every ETE. */
        config.ete = (ocsd_ete_cfg){r[0], r[1], r[2], r[3], r[4], r[5], r[6], ARCH_AA64, profile};
    } else if (!strcmp(source->protocol, "ETMV3")) {
        config.etmv3 = (ocsd_etmv3_cfg){r[0], r[1], r[2], r[3], arch, profile};
    } else if (!strcmp(source->protocol, "PTM")) {
        config.ptm = (ocsd_ptm_cfg){r[0], r[1], r[2], r[3], arch, profile};
#ifdef OCSD_BUILTIN_DCD_ITM
    } else if (!strcmp(source->protocol, "ITM")) {
        config.itm.reg_tcr = r[0];
#endif
    } else {
        config.stm.reg_tcsr = r[0], config.stm.reg_feat3r = r[1], config.stm.reg_devid = r[2], config.stm.reg_feat1r = r[3];
    }
    uint8_t id;
    if (ocsd_dt_create_decoder(tree, source->protocol, OCSD_CREATE_FLG_FULL_DECODER, &config, &id) != OCSD_OK)
        fail("no decoder", source->protocol);
}

static dcd_tree_handle_t plant(const struct job *job)
{
    int raw = !strcmp(job->framing, "raw");
    uint32_t flags = raw ? 0 : !strcmp(job->framing, "tpiu") ? OCSD_DFRMTR_HAS_FSYNCS : OCSD_DFRMTR_FRAME_MEM_ALIGN;
    dcd_tree_handle_t tree =
        ocsd_create_dcd_tree(raw ? OCSD_TRC_SRC_SINGLE : OCSD_TRC_SRC_FRAME_FORMATTED, flags);
    if (tree == C_API_INVALID_TREE_HANDLE) fail("no decode tree", job->framing);
    for (int n = 0; n < job->sources_len; n++) create(tree, &job->sources[n]);
    for (int n = 0; n < job->memory_len; n++) {
        const struct memory *m = &job->memory[n];
        ocsd_err_t error = job->files
            ? ocsd_dt_add_binfile_mem_acc(tree, m->address, OCSD_MEM_SPACE_ANY, m->path)
            : ocsd_dt_add_buffer_mem_acc(tree, m->address, OCSD_MEM_SPACE_ANY, m->bytes, (uint32_t)m->len);
        if (error != OCSD_OK && error != OCSD_ERR_MEM_ACC_OVERLAP) fail("memory", "not taken");
    }
    return tree;
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static struct found decode(const struct job *job, FnTraceElemIn callback, double *clock, double *processor)
{
    struct found found;
    memset(&found, 0, sizeof found);
    dcd_tree_handle_t tree = plant(job);
    /* In version 1.3.3 the callback reaches only decoders that exist. */
    if (ocsd_dt_set_gen_elem_outfn(tree, callback, &found) != OCSD_OK) fail("callback", "not taken");
    double c = seconds(CLOCK_MONOTONIC), p = seconds(CLOCK_PROCESS_CPUTIME_ID);
    size_t at = 0;
    int stuck = 0;
    ocsd_datapath_resp_t said = OCSD_RESP_CONT;
    while (at < job->len && !stuck) {
        uint32_t taken = 0, block = job->len - at < BLOCK ? (uint32_t)(job->len - at) : BLOCK;
        if (OCSD_DATA_RESP_IS_CONT(said)) {
            said = ocsd_dt_process_data(tree, OCSD_OP_DATA, at, block, job->trace + at, &taken);
            at += taken;
        } else if (OCSD_DATA_RESP_IS_WAIT(said)) {
            said = ocsd_dt_process_data(tree, OCSD_OP_FLUSH, at, 0, NULL, NULL);
        } else {
            found.errors++;
            stuck = 1;
        }
    }
    ocsd_dt_process_data(tree, OCSD_OP_EOT, 0, 0, NULL, NULL);
    *clock = seconds(CLOCK_MONOTONIC) - c;
    *processor = seconds(CLOCK_PROCESS_CPUTIME_ID) - p;
    ocsd_destroy_dcd_tree(tree);
    return found;
}

int main(int argc, char **argv)
{
    static struct job job;
    if (argc != 4) fail("usage", "driver JOB REPEAT files|buffers");
    job.files = !strcmp(argv[3], "files");
    read_job(argv[1], &job);
    int sources = 0;
    for (int n = 0; n < job.sources_len; n++) {
        int known = 0;
        for (size_t k = 0; k < sizeof PROTOCOLS / sizeof *PROTOCOLS; k++)
            known |= !strcmp(job.sources[n].protocol, PROTOCOLS[k]);
        /* Version 1.3.3 has no decoder for ITM. */
        if (known) job.sources[sources++] = job.sources[n];
    }
    job.sources_len = sources;
    if (strcmp(ocsd_get_version_str(), OCSD_VER_STRING)) fail("headers of another version", OCSD_VER_STRING);
    ocsd_def_errlog_init(OCSD_ERR_SEV_NONE, 0);
    int repeat = atoi(argv[2]);
    double clock, processor;
    printf("version %s", ocsd_get_version_str());
    if (!sources) {
        puts(" no decoder");
        return 0;
    }
    printf(" bytes %zu", job.len);
    if (repeat == 0) {
        struct found all = decode(&job, count, &clock, &processor);
        uint64_t sum = 0;
        for (int n = 0; n < 256; n++)
            if (all.range_fold[n].count) sum += mix(all.range_fold[n].sum, all.range_fold[n].count);
        printf(" elements %llu ranges %llu instructions %llu range_checksum %016llx errors %llu",
            (unsigned long long)all.elements, (unsigned long long)all.ranges, (unsigned long long)all.instructions,
            (unsigned long long)sum, (unsigned long long)all.errors);
    }
    for (int n = 0; n < repeat; n++) {
        struct found found = decode(&job, element, &clock, &processor);
        uint64_t sum = 0;
        for (int id = 0; id < 256; id++) sum = fold(sum, found.fold[id]);
        printf(" elements %llu fold %016llx clock %.6f processor %.6f", (unsigned long long)found.elements,
            (unsigned long long)sum, clock, processor);
    }
    putchar('\n');
    return 0;
}
