// doubt.c: see doubt.h.
#include "score/doubt.h"
#include "base/whole.h"

#include <math.h>
#include <stdio.h>

typedef struct means {
    double w, error, off; // sum of weights; means of squares
} means;

static means means_of(const gp_doubt_row *rows, size_t n)
{
    means m = {0};
    for (size_t i = 0; i < n; i++) {
        m.w += rows[i].w;
        m.error += rows[i].w * rows[i].error * rows[i].error;
        m.off += rows[i].w * rows[i].off * rows[i].off;
    }
    m.error /= m.w, m.off /= m.w;
    return m;
}

// The standard error of a ratio of sums, sum w error^2 / sum w b, whose value is `ratio` and whose mean of b is `mean`;
// b is 1 of every row, or off^2.
static double of_ratio(const gp_doubt_row *rows, size_t n, double w, double ratio, double mean, int by_off)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++) {
        const double b = by_off ? rows[i].off * rows[i].off : 1;
        const double push = rows[i].w * (rows[i].error * rows[i].error - ratio * b);
        squares += push * push;
    }
    return sqrt(squares) / (w * mean);
}

double gp_doubt_rmse(const gp_doubt_row *rows, size_t n)
{
    const means m = means_of(rows, n);
    return m.error > 0 ? of_ratio(rows, n, m.w, m.error, 1, 0) / (2 * sqrt(m.error)) : m.error; // 0, or NaN of no rows
}

double gp_doubt_r2(const gp_doubt_row *rows, size_t n)
{
    const means m = means_of(rows, n);
    return of_ratio(rows, n, m.w, m.error / m.off, m.off, 1);
}

double gp_doubt_share(double share, double n)
{
    return sqrt(share * (1 - share) / n + 1 / (4 * n * n)) / (1 + 1 / n);
}

gp_doubt_text gp_doubt_said(double error)
{
    enum { DIGITS = 2, DECIMALS_MAX = 6, WHOLE_MAX = 9 };
    gp_doubt_text text = {""};
    if (!isfinite(error)) return text;
    const double size = error > 0 ? floor(log10(error)) : 0;
    const double decimals = fmax(0, DIGITS - 1 - size);
    if (decimals <= DECIMALS_MAX && size < WHOLE_MAX)
        snprintf(text.p, sizeof text.p, " \u00b1 %.*f", (int)gp_whole(decimals, 0, DECIMALS_MAX), error);
    else
        snprintf(text.p, sizeof text.p, " \u00b1 %.2g", error);
    return text;
}
