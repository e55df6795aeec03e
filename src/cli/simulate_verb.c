// simulate_verb.c: `advgp simulate`: a study of clusters in virtual time, as a table.
#include "api/study.h"
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>

static const char *delay_text(size_t delay, char *text, size_t n)
{
    if (delay == GP_DELAY_ANY)
        snprintf(text, n, "inf");
    else
        snprintf(text, n, "%zu", delay);
    return text;
}

static void seconds_text(double seconds, char *text, size_t n)
{
    if (!isfinite(seconds))
        snprintf(text, n, "-");
    else if (seconds < 1e-3)
        snprintf(text, n, "%.3g us", 1e6 * seconds);
    else if (seconds < 1)
        snprintf(text, n, "%.3g ms", 1e3 * seconds);
    else
        snprintf(text, n, "%.4g s", seconds);
}

static void add_head(const gp_study *s, gp_buffer *out)
{
    char t[5][24];
    const gp_sim_costs *c = &s->costs;
    const gp_sim_result *r = s->results;
    const double values[] = {c->push, c->row, c->message, c->step, 1e9 * c->byte};
    for (size_t i = 0; i < 4; i++) seconds_text(values[i], t[i], sizeof t[i]);
    gp_buffer_add(out, "a push %s and %s a row; the server %s a message, %.3g ns a byte, %s a version\n", t[0], t[1],
                  t[2], values[4], t[3]);
    gp_buffer_add(out, "%zu inducing inputs, %zu columns; a push has %.0f bytes, parameters %.0f; %s gradients\n\n",
                  s->learner->spec.components ? s->learner->f->n_kernel_cols : 0, s->learner->spec.d, r->push_bytes,
                  r->parameter_bytes, s->gradients ? "real" : "no");
}

static void add_run(const gp_study *s, size_t workers, size_t delay, const gp_sim_result *r, gp_buffer *out)
{
    char tau[24], version[24], reached[24];
    seconds_text(r->versions ? r->seconds / (double)r->versions : INFINITY, version, sizeof version);
    seconds_text(r->reached, reached, sizeof reached);
    gp_buffer_add(out, "%7zu  %9s  %9s  %10.3g  %7.0f %%  %5.0f %%  %6.0f %%  %5.2f", workers,
                  delay_text(delay, tau, sizeof tau), version, r->rows / r->seconds, 100 * r->waiting, 100 * r->server,
                  100 * fmax(r->line_in, r->line_out), r->age);
    if (s->gradients) gp_buffer_add(out, "  %9.5g", r->rmse);
    if (gp_study_has_target(s)) gp_buffer_add(out, "  %10s", reached);
    gp_buffer_add(out, "  %s\n", gp_sim_limit_name(r->limit));
}

static advgp_status print_table(const gp_study *s, advgp_error *err)
{
    gp_buffer out = {0};
    char tau[24];
    size_t workers = 0;
    const bool target = gp_study_has_target(s);
    add_head(s, &out);
    gp_buffer_add(&out, "workers  max delay  a version      rows/s    waiting  server  network    age");
    if (s->gradients) gp_buffer_add(&out, "       RMSE");
    if (target) gp_buffer_add(&out, "   time to it");
    gp_buffer_add(&out, "  limited by\n");
    for (size_t i = 0; i < s->n_workers; i++)
        for (size_t j = 0; j < s->n_delays; j++)
            add_run(s, s->workers[i], s->delays[j], &s->results[i * s->n_delays + j], &out);
    gp_buffer_add(&out, "\n");
    for (size_t i = 0; i < s->n_workers; i++)
        gp_buffer_add(&out, "%zu worker%s: best max delay %s\n", s->workers[i], s->workers[i] == 1 ? "" : "s",
                      delay_text(s->delays[gp_study_best_delay(s, i)], tau, sizeof tau));
    const gp_sim_result *first = gp_study_saturated(s, &workers);
    if (first)
        gp_buffer_add(&out, "first to saturate: %s, at %zu workers\n", gp_sim_limit_name(first->limit), workers);
    else
        gp_buffer_add(&out, "nothing saturates: the workers compute most of the time\n");
    return gp_cli_print_take(&out, err);
}

advgp_status gp_cli_simulate(const gp_options *o, advgp_error *err)
{
    gp_study s;
    advgp_status st = gp_study_run(o, gp_cli_host(o), &s, err);
    if (st == ADVGP_OK)
        st = gp_options_flag(o, "json") ? gp_cli_print_json_take(gp_study_json(&s), err) : print_table(&s, err);
    gp_study_fini(&s);
    return st;
}
