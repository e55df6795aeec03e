// paired.c: losses of one turn are kept, those of the other compared as they come.
#include "score/paired.h"
#include "base/alloc.h"

#include <assert.h>
#include <math.h>

static const double rounding = 1e-8; // of the mean loss: differences below it are none

advgp_status gp_paired_init(gp_paired *p, size_t capacity, advgp_error *err)
{
    *p = (gp_paired){.loss = gp_alloc(capacity, sizeof *p->loss)};
    return p->loss ? ADVGP_OK : gp_no_memory(err);
}

void gp_paired_fini(gp_paired *p)
{
    gp_free(p->loss);
}

void gp_paired_add(gp_paired *p, double w, double loss)
{
    double *first = &p->loss[p->n++];
    if (!p->turned) {
        *first = loss;
        return;
    }
    const double fall = *first - loss;
    p->w += w, p->first += w * *first, p->fall += w * fall;
    p->w2 += w * w, p->w2_fall += w * w * fall, p->w2_fall_fall += w * w * fall * fall;
}

void gp_paired_turn(gp_paired *p)
{
    assert(!p->turned);
    p->turned = true;
    p->n = 0;
}

double gp_paired_first(const gp_paired *p)
{
    return p->first / p->w;
}

double gp_paired_second(const gp_paired *p)
{
    return (p->first - p->fall) / p->w;
}

double gp_paired_gain(const gp_paired *p)
{
    const double mean = p->fall / p->w, sum = p->w2_fall_fall - 2 * mean * p->w2_fall + mean * mean * p->w2;
    const double least = rounding * fabs(p->first / p->w);
    if (sum > least * least * p->w2) return mean * p->w / sqrt(sum);
    return fabs(mean) > least ? copysign(INFINITY, mean) : 0; // the same on every row
}
