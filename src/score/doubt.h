// doubt.h: how sure a figure is that rests on few rows: its standard error, in closed form.
#pragma once
#include <stddef.h>

enum { GP_DOUBT_ROWS = 5000 }; // so many rows and more tell a figure well enough

// One row of which figures are means: its weight, its error, and how far its target is from the mean of the targets.
typedef struct gp_doubt_row {
    double w, error, off;
} gp_doubt_row;

// By the delta method, from what each row does to the figure. R2 is 1 - sum error^2 / sum off^2, both of which vary.
double gp_doubt_rmse(const gp_doubt_row *rows, size_t n);
double gp_doubt_r2(const gp_doubt_row *rows, size_t n);
// Of a share of rows, n of them (of unequal weights so many as they are worth). Half of Wilson's interval of one
// standard error, which is not 0 where all rows are inside.
double gp_doubt_share(double share, double n);

// " ± 0.62": two digits, in as many decimals as they need; nothing where it is not finite.
typedef struct gp_doubt_text {
    char p[40];
} gp_doubt_text;
gp_doubt_text gp_doubt_said(double error);
