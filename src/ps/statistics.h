// statistics.h: the statistics of q(w) as values of a push: sum g | A, upper triangle row by row | b | yy | n |
// residual. All of them are sums over rows, so pushes of several workers add up.
#pragma once
#include "model/pass.h"

size_t gp_statistics_size(size_t M);
void gp_statistics_pack(const gp_stats *stats, double sum_g, double *values);
void gp_statistics_unpack(const double *values, gp_stats *stats); // into stats of the right size, both triangles of A
double gp_statistics_rows(size_t M, const double *values);        // their weight
