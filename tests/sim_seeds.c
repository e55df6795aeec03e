// sim_seeds.c: random clusters with random faults, one a seed, with real gradients on small data. Every law of
// sim/laws.h holds after every event, and the fit ends where it ends without faults.
//
//     SIM_SEEDS=2000 SIM_FIRST=0 build/tests/sim_seeds          the seeds 0 .. 1999
//     SIM_FIRST=17 SIM_SEEDS=1 SIM_SHOW=1 build/tests/sim_seeds one of them again, with what happened
//     build/tests/sim_seeds bugs                                each deliberate mistake is caught by its law
#include "base/sort.h"
#include "planted_bugs.h"
#include "sim/world.h"
#include "sim_setting.h"

#include <inttypes.h>

enum { VERSIONS = 120 };

// How far the bound may end from the fault-free run's: this share of what that run gained from the start (0.18 to 1.18
// nats a row). The bound is the collapsed one, q(w) optimal as the finish pass makes it, at the last hyperparameters.
// Measured over 6,000 seeds: median 0, 99 % below 0.02 (natural) and 0.06 (prox), most 0.11 and 0.17; most of 20,000
// whose servers were all slow to give up workers: 0.074 and 0.24. A fit that forgets a shard or uses one twice need not
// show here; that is what the laws are for.
static const double distance[] = {0.25, 0.4}; // by rule, in the order of gp_rules

// ---- a cluster ------------------------------------------------------------------------------------------------------

typedef struct cluster {
    setting *s;
    size_t first[MAX_SHARDS + 1]; // rows of shard i
    double weight[MAX_SHARDS], slowness[MAX_WORKERS];
    bool whole;                 // a push is of all rows of the worker, else of one of its shards
    double failing, not_finite; // share of computations that fail, and of pushes with a value that is not finite
    double lying;               // and of pushes with an absurd value or of other rows, also in the last act
    uint64_t computed;
    bool quiet_workers; // nobody dies or is cut off: at tau = 0 nothing else may show
    gp_fault faults[MAX_FAULTS];
    gp_world_options o;
} cluster;

static advgp_status compute(void *ctx, const gp_work *work, double *push, gp_work_done *done, advgp_error *err)
{
    cluster *c = ctx;
    const bool all = work->flags & GP_FLAG_ALL_ROWS; // the last act, in which nothing may fail
    const size_t only = c->whole || all ? ALL_SHARDS : a_shard_of(work);
    const advgp_status st = sum_rows(c->s, c->o.server.schedule.rule, c->first, work, only, push, done, err);
    if (st != ADVGP_OK) return st;
    const double luck = all ? 1 : gp_hash_uniform(c->o.seed, ++c->computed);
    if (luck < c->failing) return gp_fail(err, ADVGP_ENUMERIC, "as it was told to");
    if (luck < c->failing + c->not_finite) push[luck * 1e6 - floor(luck * 1e6) < 0.5] = NAN;
    c->computed += all;
    const double honesty = gp_hash_uniform(~c->o.seed, c->computed);
    if (honesty < c->lying / 2)
        push[0] = 1e200;
    else if (honesty < c->lying)
        done->shard_weight *= 2;
    return ADVGP_OK;
}

// Faults fall into the time that the run takes without them.
static void random_faults(cluster *c, gp_rng *rng, double horizon)
{
    static const gp_fault_kind kinds[] = {GP_FAULT_CRASH, GP_FAULT_CRASH, GP_FAULT_CUT, GP_FAULT_SERVER};
    const size_t n_workers = c->o.n_workers;
    size_t n = pick(rng, 4) ? pick(rng, MAX_FAULTS + 1) : 0;
    for (size_t i = 0; i < n; i++) {
        gp_fault *f = &c->faults[i];
        *f = (gp_fault){.kind = c->quiet_workers ? GP_FAULT_SERVER : kinds[pick(rng, 4)],
                        .at = between(rng, 0, horizon),
                        .after_push = pick(rng, 2),
                        .seconds = between(rng, 0.001, (const double[]){0.1, 1, 40}[pick(rng, 3)]),
                        .worker = (uint32_t)pick(rng, n_workers)};
        // Somebody stays: the last worker always comes back.
        if (f->kind == GP_FAULT_CRASH && f->worker + 1 < n_workers && pick(rng, 4) == 0) f->seconds = INFINITY;
    }
    if (n < MAX_FAULTS && !c->quiet_workers &&
        pick(rng, 2)) // the last act is short, and something may happen in it, too
        c->faults[n++] = (gp_fault){.kind = GP_FAULT_CRASH,
                                    .at = between(rng, 0.97 * horizon, horizon),
                                    .seconds = 40,
                                    .worker = (uint32_t)pick(rng, n_workers)};
    c->o.faults = c->faults;
    c->o.n_faults = n;
}

// horizon: what random_faults needs; 0: a cluster on a perfect network where nobody dies
static void cluster_of(cluster *c, uint64_t seed, setting *settings, double horizon)
{
    static const size_t delays[] = {0, 0, 1, 2, 8, 32, GP_DELAY_ANY};
    static const double quorums[] = {0, 0.5, 0.75, 1}, filters[] = {0, 0, 0, 1e-3, 0.1};
    gp_rng rng = gp_rng_seeded(seed, 77);
    *c = (cluster){.s = &settings[seed % PROBLEMS]};
    const size_t n_workers = 2 + pick(&rng, MAX_WORKERS - 1), n_shards = MAX_WORKERS + pick(&rng, 9);
    const gp_rule_ops *rule = gp_rules[pick(&rng, 2)];
    const gp_theta_layout layout = c->s->p.layout;
    for (size_t i = 0; i <= n_shards; i++) c->first[i] = i * ROWS / n_shards;
    for (size_t i = 0; i < n_shards; i++) c->weight[i] = (double)(c->first[i + 1] - c->first[i]);
    for (size_t k = 0; k < n_workers; k++) c->slowness[k] = pick(&rng, 6) ? between(&rng, 0.8, 1.2) : 8;
    c->whole = pick(&rng, 2);
    c->quiet_workers = pick(&rng, 6) == 0;
    const bool clean = pick(&rng, 4) == 0; // a network without faults
    const double latency = between(&rng, 0.001, 0.4);
    const size_t places = n_workers + pick(&rng, 3);
    gp_schedule schedule = {.rule = rule, .workers = n_workers, .follow_pace = seed / 7 % 2};
    schedule.max_delay = c->quiet_workers ? 0 : delays[pick(&rng, 7)];
    schedule.quorum = pick(&rng, 2) ? rule->quorum : quorums[pick(&rng, 4)];
    schedule.filter = c->quiet_workers ? 0 : filters[pick(&rng, 5)];
    schedule.steps = pick(&rng, 2) ? VERSIONS : 0;
    schedule.on_loss = pick(&rng, 6) ? GP_LOSS_REASSIGN : GP_LOSS_DROP;
    c->o = (gp_world_options){
        .seed = seed,
        .n_workers = n_workers,
        .rule_options = {.layout = layout,
                         .range = gp_range_all(layout),
                         .age_power = rule->age_power,
                         .natural_rate = 0.5,
                         .adam_rate = 0.03,
                         .decay = 0.9,
                         .epsilon = 1e-4},
        .server = {.schedule = schedule,
                   .theta = c->s->theta,
                   .n_shards = n_shards,
                   .shard_weight = c->weight,
                   .workers_max = places,
                   .run = {seed, 5},
                   .fingerprint = 42,
                   .lost_after = c->quiet_workers || pick(&rng, 2) ? 8 : 4}, // the latter gives up some who live
        .computer = {.ctx = c, .compute = compute},
        .resend = 2,
        .heartbeat = 1,
        .any_place = !c->quiet_workers && pick(&rng, 5) == 0,
        .begin_after = 30,
        .restart_refused = 1,
        .checkpoint_chance = 0.02,
        .costs = {.compute = 1,
                  .spread = 0.5,
                  .slowness = c->slowness,
                  .link = {.latency = latency,
                           .jitter = pick(&rng, 2) * latency,
                           .bandwidth = pick(&rng, 2) ? 1e5 : 0,
                           .loss = clean || pick(&rng, 2) ? 0 : between(&rng, 0, 0.2),
                           .duplication = clean || pick(&rng, 2) ? 0 : between(&rng, 0, 0.3),
                           .reorder = clean || pick(&rng, 2) ? 0 : between(&rng, 0, 0.3)},
                  .server_message = 1e-3,
                  .server_step = 0.02},
        .versions = VERSIONS,
        .collect = true,
        .seconds = 1e5,
        .stall = 400,
        .check_copies = true};
    if (!c->quiet_workers && pick(&rng, 8) == 0) c->failing = 0.003, c->not_finite = 0.003;
    if (!c->quiet_workers && pick(&rng, 8) == 0) c->lying = 0.01;
    if (horizon > 0) {
        random_faults(c, &rng, horizon);
        return;
    }
    c->o.costs.link.loss = c->o.costs.link.duplication = c->o.costs.link.reorder = 0;
    c->failing = c->not_finite = c->lying = 0;
    c->o.any_place = false;
    c->o.resend = c->o.heartbeat = c->o.server.lost_after = 0; // nothing needs to be said twice
}

// ---- one seed -------------------------------------------------------------------------------------------------------

typedef struct outcome {
    bool good, exact; // exact: it had to have the bits of the fault-free run
    bool compared;
    gp_law broken;
    double apart; // from the fault-free run's bound, as a share of what that gained
    size_t rule;
    char text[600];
} outcome;

static void show(const cluster *c, const gp_world_outcome *out, const outcome *v)
{
    const gp_world_options *o = &c->o;
    printf("seed %" PRIu64 ": %s, %zu workers, tau %zd, quorum %g, filter %g, %s, %s; %zu faults, loss %.2f, "
           "duplication %.2f, reorder %.2f\n",
           o->seed, o->server.schedule.rule->name, o->n_workers, (ssize_t)o->server.schedule.max_delay,
           o->server.schedule.quorum, o->server.schedule.filter, c->whole ? "whole" : "batches",
           o->server.schedule.on_loss == GP_LOSS_DROP ? "drop" : "reassign", o->n_faults, o->costs.link.loss,
           o->costs.link.duplication, o->costs.link.reorder);
    for (size_t i = 0; i < o->n_faults; i++)
        printf("  %s %u at %.2f s%s for %.2f s\n", (const char *[]){"crash", "cut", "server"}[o->faults[i].kind],
               o->faults[i].worker, o->faults[i].at,
               o->faults[i].kind == GP_FAULT_CRASH && o->faults[i].after_push ? ", after a push," : "",
               o->faults[i].seconds);
    printf("  %.1f s, version %" PRIu64 ", %" PRIu64 " events, server %.1f %% busy, %zu restarts, %" PRIu64
           " shards moved, hash %016" PRIx64 "\n  lost %" PRIu64 ", joined %" PRIu64 ", duplicates %" PRIu64
           ", dropped %" PRIu64 ", refused %" PRIu64 ", rolled back %" PRIu64 "\n  %s%s, apart %.6f%s\n",
           out->seconds, out->version, out->events, 100 * out->server_busy / out->seconds, out->restarts, out->moved,
           out->hash, out->counts.lost, out->counts.joined, out->counts.duplicates, out->counts.dropped,
           out->counts.refused, out->counts.rolled_back, v->good ? "good" : "BAD: ", v->text, v->apart,
           v->exact ? ", to be exact" : "");
}

static void compare(outcome *v, const cluster *c, const gp_world_outcome *out, const gp_world_outcome *ideal)
{
    const double bound = bound_of(c->s, ideal->theta);
    v->apart = (bound_of(c->s, out->theta) - bound) / (bound_of(c->s, c->s->theta) - bound);
    // At tau = 0, if nobody was lost, nobody came twice and no shard moved, nothing that happened may show.
    v->exact = c->o.server.schedule.max_delay == 0 && !(c->o.server.schedule.filter > 0) && !c->o.any_place &&
               !out->counts.lost && !out->moved && !out->counts.rolled_back &&
               out->counts.joined == c->o.n_workers * (out->restarts + 1);
    if (v->exact && memcmp(out->theta, ideal->theta, out->size * sizeof(double)) != 0) {
        v->good = false;
        snprintf(v->text, sizeof v->text, "EXACT: tau is 0 and nobody was lost, yet the parameters are others");
    }
    // Rows that were given up, and shorter steps after a roll-back, are allowed to show.
    v->compared = !out->counts.rolled_back && !(c->o.server.schedule.on_loss == GP_LOSS_DROP && out->counts.lost);
    if (v->compared && !(v->apart <= distance[v->rule])) {
        v->good = false;
        snprintf(v->text, sizeof v->text, "BOUND: it lost %g of what the run without faults gained", v->apart);
    }
}

static outcome run_seed(uint64_t seed, setting *settings, planted_bug bug, bool shown)
{
    outcome v = {0};
    advgp_error err = {0};
    gp_world_outcome out, ideal;
    cluster c;
    cluster_of(&c, seed, settings, 0);
    must(gp_world_run(&c.o, &ideal, &err), &err, "without faults");
    cluster_of(&c, seed, settings, ideal.seconds);
    planted = bug;
    const advgp_status st = gp_world_run(&c.o, &out, &err);
    planted = BUG_NONE;
    const bool all_given_up = st == ADVGP_ECLUSTER && !out.broken && c.o.server.schedule.on_loss == GP_LOSS_DROP;
    v.broken = out.broken;
    v.rule = c.o.server.schedule.rule == gp_rules[1];
    v.good = (st == ADVGP_OK && out.end == GP_END_VERSIONS) || all_given_up;
    if (!v.good) snprintf(v.text, sizeof v.text, "%s", st == ADVGP_OK ? "TIME: it did not end" : err.text);
    if (st == ADVGP_OK) compare(&v, &c, &out, &ideal);
    if (shown) show(&c, &out, &v);
    gp_world_outcome_fini(&out);
    gp_world_outcome_fini(&ideal);
    return v;
}

static int run_seeds(setting *settings, uint64_t first, uint64_t count, bool shown)
{
    uint64_t failed = 0, exact = 0;
    size_t n[2] = {0};
    double *apart[2] = {doubles(count), doubles(count)};
    for (uint64_t seed = first; seed < first + count; seed++) {
        const outcome v = run_seed(seed, settings, BUG_NONE, shown);
        exact += v.exact;
        if (v.compared) apart[v.rule][n[v.rule]++] = v.apart;
        if (v.good) continue;
        failed++;
        printf("seed %" PRIu64 " failed: %s\n  again: SIM_FIRST=%" PRIu64
               " SIM_SEEDS=1 SIM_SHOW=1 build/tests/sim_seeds\n",
               seed, v.text, seed);
    }
    printf("%" PRIu64 " seeds, %" PRIu64 " failed, %" PRIu64 " had to be exact\n", count, failed, exact);
    for (size_t r = 0; r < 2; r++) {
        gp_sort(apart[r], n[r]);
        if (n[r])
            printf("%s: lost of the fault-free run's gain: median %.4f, 99 %% %.4f, most %.4f, allowed %g\n",
                   gp_rules[r]->name, apart[r][n[r] / 2], apart[r][n[r] * 99 / 100], apart[r][n[r] - 1], distance[r]);
        free(apart[r]);
    }
    return failed ? 1 : 0;
}

static int run_bugs(setting *settings, uint64_t count)
{
    static const struct {
        planted_bug bug;
        gp_law law;
        const char *name;
    } bugs[] = {{BUG_DELAY_OFF_BY_ONE, GP_LAW_DELAY, "delay rule off by one"},
                {BUG_DOUBLE_COUNT, GP_LAW_TWICE, "double count"},
                {BUG_LOST_SHARD, GP_LAW_SHARD, "lost shard"},
                {BUG_STALE_AFTER_REJOIN, GP_LAW_STALE, "stale push after rejoin"},
                {BUG_BELIEVES, GP_LAW_ABSURD, "an absurd push believed"},
                {BUG_BELIEVES, GP_LAW_WEIGHTS, "weights of other rows believed"},
                {BUG_LACKING_SHARD, GP_LAW_ALL, "sum without a shard that moved"}};
    int missed = 0;
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) {
        gp_law law = GP_LAW_NONE;
        uint64_t seed = 0;
        for (; seed < count && law != bugs[i].law; seed++) law = run_seed(seed, settings, bugs[i].bug, false).broken;
        printf("%s: %s %s in %" PRIu64 " seeds\n", bugs[i].name, gp_law_name(bugs[i].law),
               law == bugs[i].law ? "was broken" : "WAS NOT BROKEN", seed);
        missed += law != bugs[i].law;
    }
    return missed ? 1 : 0;
}

int main(int argc, char **argv)
{
    return sim_main(argc, argv, run_seeds, run_bugs);
}
