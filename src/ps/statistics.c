// statistics.c: packing and unpacking.
#include "ps/statistics.h"

#include <string.h>

static size_t triangle(size_t M)
{
    return M * (M + 1) / 2;
}

size_t gp_statistics_size(size_t M)
{
    return 1 + triangle(M) + M + 3;
}

void gp_statistics_pack(const gp_stats *stats, double sum_g, double *values)
{
    const size_t M = stats->A.rows;
    values[0] = sum_g;
    gp_upper_pack(gp_ro(stats->A), values + 1);
    values += 1 + triangle(M);
    memcpy(values, stats->b, M * sizeof(double));
    values += M;
    values[0] = stats->yy, values[1] = stats->n, values[2] = stats->residual;
}

void gp_statistics_unpack(const double *values, gp_stats *stats)
{
    const gp_mat A = stats->A;
    const size_t M = A.rows;
    gp_upper_unpack(M, values + 1, A);
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < i; j++) A.p[i * A.ld + j] = A.p[j * A.ld + i];
    values += 1 + triangle(M);
    memcpy(stats->b, values, M * sizeof(double));
    values += M;
    stats->yy = values[0], stats->n = values[1], stats->residual = values[2];
}

double gp_statistics_rows(size_t M, const double *values)
{
    return values[1 + triangle(M) + M + 1];
}
