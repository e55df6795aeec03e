// sim_trainings.c: whole trainings of random clusters with random faults, one a seed: a lead, workers and servers of
// ranges as processes (sim/sim_training.h), with real gradients on small data. Every law of sim/laws.h holds after
// every event, the training ends, and at delay 0 with the bits of the one without faults, if no worker was lost.
//
//     SIM_SEEDS=2000 SIM_FIRST=0 build/tests/sim_trainings          the seeds 0 .. 1999
//     SIM_FIRST=17 SIM_SEEDS=1 SIM_SHOW=1 build/tests/sim_trainings one of them again, with what was said
//     build/tests/sim_trainings bugs                                each deliberate mistake is caught by its law
#include "sim/sim_training.h"
#include "sim_setting.h"

#include <inttypes.h>

enum { STAGES = 3 };

typedef struct cluster {
    setting *s;
    size_t first[MAX_SHARDS + 1]; // rows of shard i
    uint64_t rows[MAX_SHARDS];
    double weight[MAX_SHARDS], slowness[MAX_WORKERS];
    bool whole;         // a push is of all rows of the worker, else of one of its shards
    bool quiet_workers; // nothing happens to a worker: at tau = 0 nothing else may show
    double *sum;        // of all rows, for comparison
    gp_job job;
    gp_sim_training_stage stages[STAGES];
    gp_sim_training_fault faults[MAX_FAULTS];
    gp_sim_training_options o;
} cluster;

static advgp_status compute(void *ctx, const gp_work *work, double *push, gp_work_done *done, advgp_error *err)
{
    cluster *c = ctx;
    const bool all = c->whole || work->flags & GP_FLAG_ALL_ROWS;
    return sum_rows(c->s, c->job.schedule.rule, c->first, work, all ? ALL_SHARDS : a_shard_of(work), push, done, err);
}

// A sum over all rows has every row once, whoever had it.
static bool is_whole(void *ctx, const double *theta, const double *sum)
{
    cluster *c = ctx;
    uint32_t shards[MAX_SHARDS];
    for (uint32_t i = 0; i < c->o.server.n_shards; i++) shards[i] = i;
    const gp_work work = {.theta = theta, .n_shards = c->o.server.n_shards, .shards = shards};
    gp_work_done done;
    advgp_error err;
    if (sum_rows(c->s, c->job.schedule.rule, c->first, &work, ALL_SHARDS, c->sum, &done, &err) != ADVGP_OK)
        return false;
    double size = 0, far = 0;
    for (size_t i = 0; i < done.n_values; i++)
        size = fmax(size, fabs(c->sum[i])), far = fmax(far, fabs(c->sum[i] - sum[i]));
    return far <= 1e-9 * size || c->o.server.schedule.on_loss == GP_LOSS_DROP;
}

// ---- one seed -------------------------------------------------------------------------------------------------------

// Faults fall into the time that the training takes without them. Whoever must be there comes back.
static void random_faults(cluster *c, gp_rng *rng, double horizon)
{
    static const double longest[] = {0.5, 5, 40};
    const size_t n_workers = c->o.n_workers, servers = c->o.lead.servers;
    const size_t n = pick(rng, 5) ? 1 + pick(rng, MAX_FAULTS) : 0;
    for (size_t i = 0; i < n; i++) {
        gp_sim_training_fault *f = &c->faults[i];
        const size_t who = pick(rng, 3);
        *f = (gp_sim_training_fault){.kind = (gp_sim_training_fault_kind)pick(rng, 4),
                                     .at = between(rng, 0, horizon),
                                     .seconds = between(rng, 0.01, longest[pick(rng, 3)])};
        if (who == 1 && !c->quiet_workers) f->who = 1 + pick(rng, n_workers);
        if (who == 2 && servers) f->who = 1 + n_workers + pick(rng, servers);
        if (!f->who && f->kind == GP_SIM_LEAVE) f->kind = GP_SIM_CRASH;
        const bool last = f->who == n_workers; // of the workers: it always comes back
        if (f->who && f->who < n_workers && !last && f->kind == GP_SIM_CRASH && pick(rng, 4) == 0)
            f->seconds = INFINITY;
    }
    c->o.faults = c->faults;
    c->o.n_faults = n;
}

static void add_tasks(cluster *c)
{
    gp_rng rng = gp_rng_seeded(c->o.seed, 178);
    for (size_t i = 0; i < STAGES; i++)
        if (pick(&rng, 2)) c->stages[i].tasks = 1 + pick(&rng, 12);
    c->o.lead_works = pick(&rng, 2);
    c->o.task_failures = c->o.lead_works && pick(&rng, 4) == 0 ? 0.2 : 0;
}

// horizon: what random_faults needs; 0: a perfect network, and nothing happens
static void cluster_of(cluster *c, uint64_t seed, setting *settings, double horizon)
{
    static const size_t delays[] = {0, 0, 0, 2, 8, GP_DELAY_ANY};
    gp_rng rng = gp_rng_seeded(seed, 177);
    *c = (cluster){.s = &settings[seed % PROBLEMS]};
    const gp_theta_layout layout = c->s->p.layout;
    const size_t servers = pick(&rng, 3) ? 2 + pick(&rng, 2) : 0;
    const size_t n_workers = 1 + pick(&rng, 5),
                 n_shards = pick(&rng, 6) ? 6 + pick(&rng, 9) : 1 + pick(&rng, n_workers);
    const gp_rule_ops *rule = servers ? &gp_rule_prox : gp_rules[pick(&rng, 2)];
    for (size_t i = 0; i <= n_shards; i++) c->first[i] = i * ROWS / n_shards;
    for (size_t i = 0; i < n_shards; i++) {
        c->rows[i] = c->first[i + 1] - c->first[i];
        c->weight[i] = (double)c->rows[i];
    }
    for (size_t k = 0; k < n_workers; k++) c->slowness[k] = pick(&rng, 6) ? between(&rng, 0.8, 1.2) : 6;
    c->whole = pick(&rng, 2);
    c->quiet_workers = pick(&rng, 4) == 0;
    const bool clean = c->quiet_workers || pick(&rng, 3) == 0;
    const double latency = between(&rng, 0.0005, 0.1);
    c->stages[0] = (gp_sim_training_stage){.versions = 2 + pick(&rng, 4), .every = 4};
    c->stages[1] = (gp_sim_training_stage){.versions = 2 + pick(&rng, 4), .every = 4};
    c->stages[2] = (gp_sim_training_stage){
        .versions = 6 + pick(&rng, 12), .every = 3 + pick(&rng, 4), .split = servers > 0, .collect = true};
    c->job = (gp_job){.claims = {.spec = c->s->p.spec}, .data = "rows", .fingerprint = 42, .heartbeat = 1};
    c->sum = doubles(rule->push_size(layout, gp_range_all(layout)));
    c->o = (gp_sim_training_options){
        .seed = seed,
        .n_workers = n_workers,
        .lead = {.workers = n_workers,
                 .workers_min = 1,
                 .workers_max = n_workers + 2 + pick(&rng, 3),
                 .together = pick(&rng, 2),
                 .wait = 400,
                 .heartbeat = 1,
                 .lost_after = c->quiet_workers ? 60 : 8,
                 .stuck_after = 120,
                 .servers = servers},
        .give_up = 500,
        .job = &c->job,
        .rule_options = {.layout = layout,
                         .range = gp_range_all(layout),
                         .age_power = rule->age_power,
                         .natural_rate = 0.5,
                         .adam_rate = 0.03,
                         .decay = 0.9,
                         .epsilon = 1e-4},
        .server = {.schedule = {.rule = rule,
                                .batch = 10,
                                .max_delay = delays[pick(&rng, 6)],
                                .quorum = rule->quorum,
                                .follow_pace = seed / 7 % 2,
                                .filter = pick(&rng, 5) ? 0 : 1e-3,
                                .on_loss = pick(&rng, 8) ? GP_LOSS_REASSIGN : GP_LOSS_DROP},
                   .theta = c->s->theta,
                   .n_shards = n_shards,
                   .shard_weight = c->weight},
        .shard_rows = c->rows,
        .computer = {.ctx = c, .compute = compute},
        .push_size = rule->push_size(layout, gp_range_all(layout)),
        .compute = 0.5,
        .spread = 0.5,
        .slowness = c->slowness,
        .evaluation = pick(&rng, 4) ? 1 : 30,
        .opening = pick(&rng, 4) ? 0.1 : 4,
        .link = {.latency = latency,
                 .jitter = pick(&rng, 2) * latency,
                 .loss = clean || pick(&rng, 2) ? 0 : between(&rng, 0, 0.15),
                 .duplication = clean || pick(&rng, 2) ? 0 : between(&rng, 0, 0.2),
                 .reorder = clean || pick(&rng, 2) ? 0 : between(&rng, 0, 0.2)},
        .n_stages = STAGES,
        .stages = c->stages,
        .stall = 1500,
        .seconds = 2e4,
        .collected = is_whole,
        .ctx = c};
    c->job.schedule = c->o.server.schedule;
    if (seed % 2 == 0) add_tasks(c);
    if (horizon > 0)
        random_faults(c, &rng, horizon);
    else
        c->o.link.loss = c->o.link.duplication = c->o.link.reorder = 0;
}

typedef struct outcome {
    bool good, exact; // exact: it had to have the bits of the fault-free training
    gp_law broken;
    size_t restarts, abandoned, tasks, own_tasks;
    char text[600];
} outcome;

static void show(const cluster *c, const gp_sim_training_outcome *out, const outcome *v)
{
    static const char *const kinds[] = {"crash", "leave", "pause", "cut"};
    const gp_sim_training_options *o = &c->o;
    printf("seed %" PRIu64 ": %s, %zu workers, %zu servers, %zu shards, tau %zd, loss %.2f, duplication %.2f, "
           "reorder %.2f\n",
           o->seed, c->job.schedule.rule->name, o->n_workers, o->lead.servers, o->server.n_shards,
           (ssize_t)o->server.schedule.max_delay, o->link.loss, o->link.duplication, o->link.reorder);
    for (size_t i = 0; i < o->n_faults; i++)
        printf("  %s of %zu at %.2f s for %.2f s\n", kinds[o->faults[i].kind], o->faults[i].who, o->faults[i].at,
               o->faults[i].seconds);
    printf("  %.1f s, version %" PRIu64 ", %" PRIu64 " events, %zu restarts, %zu intervals, %zu given up, lost %" PRIu64
           ", moved %" PRIu64 ", hash %016" PRIx64 "\n  %s%s%s\n",
           out->seconds, out->version, out->events, out->restarts, out->intervals, out->abandoned, out->lost,
           out->moved, out->hash, v->good ? "good" : "BAD: ", v->text, v->exact ? ", to be exact" : "");
}

static outcome run_seed(uint64_t seed, setting *settings, const gp_sim_tampering *tampering, bool shown)
{
    outcome v = {0};
    advgp_error err = {0};
    gp_sim_training_outcome out, ideal;
    cluster c;
    cluster_of(&c, seed, settings, 0);
    must(gp_sim_training_run(&c.o, &ideal, &err), &err, "without faults");
    free(c.sum);
    cluster_of(&c, seed, settings, ideal.seconds);
    c.o.tampering = tampering;
    c.o.shown = shown;
    const advgp_status st = gp_sim_training_run(&c.o, &out, &err);
    v.broken = out.broken;
    v.restarts = out.restarts, v.abandoned = out.abandoned;
    v.tasks = out.tasks, v.own_tasks = out.own_tasks;
    // Rows that are given up with their workers may be all of them.
    const bool drop = c.o.server.schedule.on_loss == GP_LOSS_DROP && out.lead == ADVGP_ECLUSTER;
    v.good = st == ADVGP_OK && (out.lead == ADVGP_OK || drop);
    if (!v.good) snprintf(v.text, sizeof v.text, "%s", st == ADVGP_OK ? out.why : err.text);
    v.exact = v.good && out.lead == ADVGP_OK && c.o.server.schedule.max_delay == 0 &&
              !(c.o.server.schedule.filter > 0) && !out.lost && !out.moved && !out.fewer && !ideal.fewer &&
              c.o.server.n_shards >= c.o.n_workers;
    if (v.exact && memcmp(out.theta, ideal.theta, out.size * sizeof(double)) != 0) {
        v.good = false;
        snprintf(v.text, sizeof v.text, "EXACT: tau is 0 and nobody was lost, yet the parameters are others");
    }
    if (shown) show(&c, &out, &v);
    gp_sim_training_outcome_fini(&out);
    gp_sim_training_outcome_fini(&ideal);
    free(c.sum);
    return v;
}

static int run_seeds(setting *settings, uint64_t first, uint64_t count, bool shown)
{
    uint64_t failed = 0, exact = 0, restarts = 0, abandoned = 0, tasks = 0, own_tasks = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        const outcome v = run_seed(seed, settings, NULL, shown);
        exact += v.exact, restarts += v.restarts, abandoned += v.abandoned;
        tasks += v.tasks, own_tasks += v.own_tasks;
        if (v.good) continue;
        failed++;
        printf("seed %" PRIu64 " failed: %s\n  again: SIM_FIRST=%" PRIu64
               " SIM_SEEDS=1 SIM_SHOW=1 build/tests/sim_trainings\n",
               seed, v.text, seed);
    }
    printf("%" PRIu64 " trainings, %" PRIu64 " failed, %" PRIu64 " had to be exact; the lead was started again %" PRIu64
           " times, %" PRIu64 " intervals were given up; of %" PRIu64 " tasks the lead did %" PRIu64 "\n",
           count, failed, exact, restarts, abandoned, tasks, own_tasks);
    return failed ? 1 : 0;
}

// ---- deliberate mistakes --------------------------------------------------------------------------------------------

// The lead takes the values of any interval for those of the present one; or the result of a task for one of the
// present.
static bool takes_any(const uint64_t present[2], gp_message *m)
{
    const bool former = m->run[0] != present[0] || m->run[1] != present[1];
    memcpy(m->run, present, sizeof m->run);
    return former;
}

static bool takes_any_values(void *ctx, const uint64_t interval[2], gp_message *m)
{
    (void)ctx;
    return m->flags & GP_FLAG_SERVES && takes_any(interval, m);
}

static bool takes_any_result(void *ctx, const uint64_t act[2], gp_message *m)
{
    (void)ctx;
    return !(m->flags & GP_FLAG_SERVES) && takes_any(act, m);
}

// A follower does not repeat its question. ctx: the last token of each.
static bool asks_once(void *ctx, size_t who, const gp_message *m)
{
    uint64_t *asked = (uint64_t *)ctx + who;
    if (!who || m->kind != GP_ASK) return true;
    const bool again = m->token == *asked;
    *asked = m->token;
    return !again;
}

// The lead tells nobody that an interval was given up.
static bool keeps_the_end_to_itself(void *ctx, size_t who, const gp_message *m)
{
    (void)ctx;
    return who || m->kind != GP_BYE || m->flags & GP_FLAG_LAST || m->worker != GP_ANY_WORKER;
}

static int run_bugs(setting *settings, uint64_t count)
{
    uint64_t asked[1 + 2 * MAX_WORKERS];
    // By which law, or, where it is a training that should have ended well, by what the lead says.
    const struct {
        gp_sim_tampering bug;
        const char *law, *name;
    } bugs[] = {{{.hears = takes_any_values}, "SUCCESSION", "values of a former interval taken"},
                {{.hears = takes_any_result}, "ALL", "the result of a former task taken"},
                {{.sends = asks_once, .ctx = asked}, "workers have come", "a question not repeated"},
                {{.sends = keeps_the_end_to_itself}, "ENDS", "nobody told that an interval was given up"},
                {{.beats_outlive = true}, "WAITS", "signs of life of the dead"}};
    int missed = 0;
    for (size_t i = 0; i < sizeof bugs / sizeof *bugs; i++) {
        bool caught = false;
        uint64_t seed = 0;
        for (; seed < count && !caught; seed++) {
            memset(asked, 0, sizeof asked);
            const outcome v = run_seed(seed, settings, &bugs[i].bug, false);
            caught = !v.good && strstr(v.text, bugs[i].law);
            if (!v.good && !caught && getenv("SIM_SHOW")) printf("  %s: %s\n", bugs[i].name, v.text);
        }
        printf("%s: %s in %" PRIu64 " seeds (%s)\n", bugs[i].name, caught ? "caught" : "NOT CAUGHT", seed, bugs[i].law);
        missed += !caught;
    }
    return missed ? 1 : 0;
}

int main(int argc, char **argv)
{
    return sim_main(argc, argv, run_seeds, run_bugs);
}
