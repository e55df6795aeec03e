// sim_setting.c: small data with real gradients.
#include "sim_setting.h"

void must(advgp_status st, const advgp_error *err, const char *what)
{
    if (st == ADVGP_OK) return;
    fprintf(stderr, "%s: %s\n", what, err->text);
    exit(1);
}

void setting_init(setting *s, uint64_t seed)
{
    advgp_error err = {0};
    problem_init(&s->p, seed,
                 (problem_options){.n = ROWS,
                                   .d = INPUTS,
                                   .n_components = 1,
                                   .m = POINTS,
                                   .kernel = gp_kernels[0],
                                   .map = gp_maps[0],
                                   .full_rank = true});
    s->e = engine_new(&s->p, 0);
    must(gp_qw_new(s->p.layout.M, &s->qw, &err), &err, "q(w)");
    gp_rng rng = gp_rng_seeded(seed, 9);
    for (size_t i = 0; i < ROWS; i++) {
        const double *x = s->p.X + i * INPUTS;
        s->p.y[i] = sin(1.5 * x[0]) + 0.4 * x[1] + 0.3 * gp_rng_normal(&rng);
    }
    s->theta = doubles(s->p.layout.size), s->grad = doubles(s->p.layout.size);
    s->theta[0] = -0.5; // ln sigma; ln a0 and ln eta start at 0
    for (size_t i = 0; i < POINTS; i++)
        for (size_t j = 0; j < INPUTS; j++)
            s->theta[2 + INPUTS + i * INPUTS + j] = s->p.X[gp_rng_below(&rng, ROWS) * INPUTS + j];
    gp_theta_start_q(s->p.layout, s->theta);
}

void setting_fini(setting *s)
{
    free(s->theta), free(s->grad);
    gp_qw_free(s->qw);
    engine_free(s->e);
    problem_fini(&s->p);
}

double bound_of(setting *s, const double *theta)
{
    advgp_error err = {0};
    double bound;
    if (gp_pass_run(s->e.pass, theta, GP_PASS_STATS, s->p.rows, NULL, NULL, &err) != ADVGP_OK ||
        gp_qw_optimal(s->qw, gp_pass_stats(s->e.pass), theta[0], NULL, NULL, &bound, &err) != ADVGP_OK)
        return INFINITY;
    return bound / ROWS;
}

advgp_status sum_rows(setting *s, const gp_rule_ops *rule, const size_t *first_rows, const gp_work *work, size_t only,
                      double *push, gp_work_done *done, advgp_error *err)
{
    const gp_range range = gp_range_all(s->p.layout);
    advgp_status st = gp_pass_begin(s->e.pass, work->theta, GP_PASS_GRADIENT, err);
    *done = (gp_work_done){.n_values = rule->push_size(s->p.layout, range)};
    for (size_t i = 0; st == ADVGP_OK && i < work->n_shards; i++) {
        const size_t shard = work->shards[i], first = first_rows[shard], n = first_rows[shard + 1] - first;
        done->shard_weight += (double)n;
        if (only != ALL_SHARDS && i != only) continue;
        done->batch_weight += (double)n;
        done->rows += n;
        st = gp_pass_add(s->e.pass, gp_batch_part(s->p.rows, first, n), err);
    }
    double sum_g;
    if (st == ADVGP_OK) st = gp_pass_end(s->e.pass, &sum_g, s->grad, err);
    if (st == ADVGP_OK) rule->fill(s->p.layout, range, gp_pass_stats(s->e.pass), sum_g, s->grad, push);
    return st;
}

size_t a_shard_of(const gp_work *work)
{
    return gp_hash_u64(work->worker + 1, work->sequence) % work->n_shards;
}

size_t pick(gp_rng *rng, size_t n)
{
    return gp_rng_below(rng, n);
}

double between(gp_rng *rng, double low, double high)
{
    return low + (high - low) * gp_rng_uniform(rng);
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text && *text ? strtoull(text, NULL, 10) : otherwise;
}

int sim_main(int argc, char **argv, int (*run_seeds)(setting *settings, uint64_t first, uint64_t count, bool shown),
             int (*run_bugs)(setting *settings, uint64_t count))
{
    setting *settings = calloc(PROBLEMS, sizeof *settings);
    if (!settings) return 1;
    for (uint64_t i = 0; i < PROBLEMS; i++) setting_init(&settings[i], i);
    const bool bugs = argc > 1 && !strcmp(argv[1], "bugs");
    const int bad = bugs ? run_bugs(settings, number_from("SIM_SEEDS", 2000))
                         : run_seeds(settings, number_from("SIM_FIRST", 0),
                                     number_from("SIM_SEEDS", getenv("ADVGP_LONG") ? 20000 : 2000),
                                     getenv("SIM_SHOW") != NULL);
    for (uint64_t i = 0; i < PROBLEMS; i++) setting_fini(&settings[i]);
    free(settings);
    return bad;
}
