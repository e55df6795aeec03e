// packed_layout.c: where things are in a shard file, computed the same way by writer and reader.
#include "shards/packed.h"

#include <stdio.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "packed shards are read as they are, and little-endian"
#endif

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

bool gp_shard_plan(gp_shard_layout *out, size_t n_columns, size_t element, size_t block_rows, uint64_t n_rows)
{
    const uint64_t limit = (uint64_t)1 << 46; // far beyond any file, far below overflow
    if ((element != 4 && element != 8) || n_columns < 1 || n_columns > 10000000) return false;
    if (block_rows < GP_RUN_VALUES || block_rows > GP_BLOCK_ROWS_MAX || block_rows % GP_RUN_VALUES) return false;
    if (n_rows > limit / element / n_columns) return false;
    gp_shard_layout l = {
        .n_columns = n_columns, .element = element, .block_rows = block_rows, .n_rows = (size_t)n_rows};
    l.n_blocks = (l.n_rows + block_rows - 1) / block_rows;
    l.data_start = round_up(sizeof(gp_shard_head) + l.n_blocks * sizeof(uint64_t), GP_SHARD_ALIGN);
    l.block_bytes = n_columns * block_rows * element;
    l.file_bytes = l.data_start;
    if (l.n_blocks) l.file_bytes += (l.n_blocks - 1) * l.block_bytes + gp_shard_block_size(&l, l.n_blocks - 1);
    *out = l;
    return true;
}

size_t gp_shard_block_rows(const gp_shard_layout *l, size_t block)
{
    return block + 1 < l->n_blocks ? l->block_rows : l->n_rows - block * l->block_rows;
}

size_t gp_shard_run(const gp_shard_layout *l, size_t block)
{
    return round_up(gp_shard_block_rows(l, block), GP_RUN_VALUES);
}

size_t gp_shard_block_size(const gp_shard_layout *l, size_t block)
{
    return l->n_columns * gp_shard_run(l, block) * l->element;
}

void gp_shard_file_name(char out[32], size_t n_train, size_t shard)
{
    if (shard < n_train)
        snprintf(out, 32, "shard-%04zu.bin", shard);
    else
        snprintf(out, 32, "%s", shard == n_train ? "stop.bin" : "calibrate.bin");
}
