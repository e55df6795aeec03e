#!/usr/bin/env bash
# The recipes of CONTRIBUTING.md, followed: in a copy of the tree a kernel, a map, a method, a metric, a source, an encoding, a
# verb with an option, an option of a run and a transport are added, each by the steps that its recipe names and no others;
# the copy is built, and the newcomers work: help lists them, the program takes them, the tests of their families ask them.
#     recipes.sh PROJECT_ROOT
set -euo pipefail
root=$(cd "$1" && pwd)
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
fail() { echo "recipes: $*"; exit 1; }

(cd "$root" && git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2>/dev/null | tar cf - -T -) | tar xf - -C "$copy"
[[ ! -e $root/deps ]] || ln -s "$root/deps" "$copy/deps"
cd "$copy"

# behind FILE LINE TEXT: puts the text behind the one line that contains LINE.    before: in front of it.
behind() { [[ $(grep -cF -- "$2" "$1") == 1 ]] || fail "$1: not one line has: $2"
  NEW=$3 OLD=$2 awk '{ print } index($0, ENVIRON["OLD"]) { print ENVIRON["NEW"] }' "$1" >new && mv new "$1"; }
before() { [[ $(grep -cF -- "$2" "$1") == 1 ]] || fail "$1: not one line has: $2"
  NEW=$3 OLD=$2 awk 'index($0, ENVIRON["OLD"]) { print ENVIRON["NEW"] } { print }' "$1" >new && mv new "$1"; }
# within FILE OLD NEW: replaces the one occurrence.
within() { [[ $(grep -cF -- "$2" "$1") == 1 ]] || fail "$1: not one line has: $2"
  NEW=$3 OLD=$2 awk '{ i = index($0, ENVIRON["OLD"]); if (i) $0 = substr($0, 1, i - 1) ENVIRON["NEW"] substr($0, i + length(ENVIRON["OLD"])); print }' \
    "$1" >new && mv new "$1"; }

# ---- a kernel: Matern 3/2 with another constant: t = sqrt(4 s), slope -2 exp(-t) ------------------------------------------
sed 's/matern32/yours/g; s/Matern 3\/2/Yours/; s/3 \* s/4 * s/; s/-1\.5/-2.0/' src/kernel/matern32.c >src/kernel/yours.c
within src/kernel/kernel.h 'X(matern52)' 'X(matern52) X(yours)'
within tests/reference.h 'REF_MATERN52 }' 'REF_MATERN52, REF_YOURS }'
before tests/reference.c '} else if (kernel == REF_MATERN32) {' '    } else if (kernel == REF_YOURS) {
        const real t = sqrtl(4 * s);
        *value = (1 + t) * expl(-t);
        *slope = -2 * expl(-t);'
before tests/fixture.c 'if (kernel == &gp_kernel_matern32)' '    if (kernel == &gp_kernel_yours) return REF_YOURS;'

# ---- a map: rvm by another name, so that the reference knows its formulas ------------------------------------------------
sed 's/rvm/yours/g' src/feature/rvm.c >src/feature/yours.c
within src/feature/map.h 'X(rvm)' 'X(rvm) X(yours)'
within tests/fixture.c 'c->map == &gp_map_rvm' 'c->map == &gp_map_rvm || c->map == &gp_map_yours'

# ---- a method: linear, by another name ------------------------------------------------------------------------------------
sed '/^static advgp_status train_mean/,/^}/d; /^const gp_method gp_method_mean/,/^};/d; s/gp_method_linear/gp_method_yours/
     s/"linear"/"yours"/; s/train_linear/train_yours/' src/method/method_linear.c >src/method/method_yours.c
within src/method/method.h 'X(exact)' 'X(exact) X(yours)'

# ---- a metric: the mean of errors -----------------------------------------------------------------------------------------
within src/score/metric.h 'ONE(mae) ' 'ONE(mae) ONE(yours) '
behind src/score/metric.c 'ADDS(mae, ' 'ADDS(yours, r->error * r->w)'
behind src/score/metric.c 'const gp_metric gp_metrics[GP_N_METRICS] = {' '    ROW(yours, .label = "Yours", .means = "mean error", .unit = GP_UNIT_TARGET, .ends_training = true, .by_group = true,
        .add = yours_add),'
behind src/score/metric_test.c 'PLAIN(mae, ' 'PLAIN(yours, r->y - r->mean)'
behind src/score/metric_test.c '{"mae", mae, NULL, 1e-12},' '             {"yours", yours, NULL, 1e-12},'

# ---- a source: synthetic, by another name ---------------------------------------------------------------------------------
sed 's/gp_source_synthetic/gp_source_yours/g; s/"synthetic"/"yours"/' src/shards/synthetic.c >src/data/yours.c
behind src/data/source.h 'extern const gp_source_ops gp_source_memory' 'extern const gp_source_ops gp_source_yours;
advgp_status gp_source_yours_open(size_t n_rows, size_t d, uint64_t seed, gp_source **out, advgp_error *err);'
within src/files/source_table.c '&gp_source_synthetic,' '&gp_source_synthetic, &gp_source_yours,'
within src/data/source_test.c '{&gp_source_memory, open_memory, 0},' '{&gp_source_memory, open_memory, 0}, {&gp_source_yours, open_yours, 0},'
before src/data/source_test.c 'static gp_source *open_csv(' 'static gp_source *open_yours(size_t n, size_t chunk)
{
    (void)chunk;
    gp_source *s = NULL;
    ASSERT_OK(gp_source_yours_open(n, 3, 42, &s, err));
    return s;
}
'

# ---- an encoding: the logarithm of a number's size, and its sign -----------------------------------------------------------
cat >src/data/encoding_yours.c <<'END'
// encoding_yours.c: the logarithm of a number's size with its sign, and whether it is negative. Its own: the unit of the
// size, which is the first number.
#include "base/alloc.h"
#include "data/encoding_kit.h"

#include <math.h>

static double log_of(double value, const double *unit)
{
    return copysign(log1p(fabs(value) / *unit), value);
}

static advgp_status observe(gp_fit *f, gp_candidate *c, const gp_chunk *chunk, advgp_error *err)
{
    const double *values;
    double *unit = c->own;
    size_t n;
    const advgp_status st = gp_fit_numbers(f, c, chunk, &values, &n, err);
    if (st != ADVGP_OK || n == 0) return st;
    if (!unit) {
        c->own = unit = gp_alloc(1, sizeof *unit);
        if (!unit) return gp_no_memory(err);
        *unit = f->x[0] != 0 ? fabs(f->x[0]) : 1;
    }
    gp_moments_add(&c->moments[2], n, f->x, f->w);
    for (size_t i = 0; i < n; i++) f->x[i] = log_of(f->x[i], unit);
    gp_moments_add(&c->moments[0], n, f->x, f->w);
    for (size_t i = 0; i < n; i++) f->x[i] = f->x[i] < 0;
    gp_moments_add(&c->moments[1], n, f->x, f->w);
    return ADVGP_OK;
}

static advgp_status fill(const gp_fit *f, gp_candidate *c, gp_input *input, advgp_error *err)
{
    (void)f, (void)err;
    input->range = (gp_limits){.lo = c->moments[2].least, .hi = c->moments[2].most};
    input->own = c->own; // moved
    c->own = NULL;
    return ADVGP_OK;
}

static advgp_status scale(const gp_candidate *c, const gp_input *input, gp_schema *s, advgp_error *err)
{
    (void)err;
    for (size_t k = 0; k < 2; k++)
        gp_fit_scale(s, input->first + k, c->moments[k].mean, c->moments[k].m2 / s->n_weight);
    return ADVGP_OK;
}

static size_t width(const gp_input *input)
{
    (void)input;
    return 2;
}

static void name_column(const gp_input *input, size_t k, gp_buffer *out)
{
    (void)input;
    if (k) gp_buffer_add(out, " (negative)");
}

static void encode(const gp_input *input, gp_input_scale scale, gp_picked v, double *x, size_t stride, gp_oddities *odd)
{
    for (size_t k = 0; k < v.n; k++, x += stride) {
        const double value = v.numbers[v.rows[k]];
        const bool there = isfinite(value);
        x[0] = there ? log_of(value, input->own) : scale.mean[0];
        x[1] = there ? value < 0 : scale.mean[1];
        odd->n_outside += there && (value < input->range.lo || value > input->range.hi);
        gp_encode_end(input, scale, !there, x);
    }
}

static double decode(const gp_schema *s, const gp_input *input, const double *x)
{
    const double encoded = gp_schema_input(s, input->first, x[input->first]);
    return copysign(*(const double *)input->own * expm1(fabs(encoded)), encoded);
}

static void show(const gp_input *input, double value, gp_buffer *out)
{
    (void)input;
    gp_buffer_add(out, "%.6g", value);
}

static bool remark(const gp_schema *s, const gp_input *input, const double *x, gp_remark *out)
{
    const double value = decode(s, input, x), rounding = 1e-6 * (1 + fabs(value));
    *out = (gp_remark){"outside", value, input->range};
    return value < input->range.lo - rounding || value > input->range.hi + rounding;
}

static bool write(const gp_input *input, json_t *o)
{
    return json_object_set_new(o, "size", json_real(*(const double *)input->own)) == 0;
}

static advgp_status read(const json_t *o, gp_input *input, advgp_error *err)
{
    double *unit = input->own = gp_alloc(1, sizeof *unit);
    if (!unit) return gp_no_memory(err);
    const bool ok = gp_json_number(json_object_get(o, "size"), unit) && gp_scale_is_usable(*unit);
    return ok ? ADVGP_OK : gp_schema_damaged("the size of an input", err);
}

const gp_encoding gp_encoding_yours = {.name = "yours",
                                       .described = "a sample",
                                       .kind = ADVGP_KIND_NUMBER,
                                       .asked = true,
                                       .types = 1u << GP_NUMBER | 1u << GP_TEXT,
                                       .unit = 1,
                                       .free_own = gp_free,
                                       .observe = observe,
                                       .is_constant = gp_number_is_constant,
                                       .fill = fill,
                                       .scale = scale,
                                       .width = width,
                                       .name_column = name_column,
                                       .encode = encode,
                                       .decode = decode,
                                       .show = show,
                                       .remark = remark,
                                       .write = write,
                                       .read = read};
END
within src/data/encoding.h 'X(time)' 'X(time) X(yours)'
within src/data/encoding_test.c '{&gp_encoding_number, GP_NUMBER, NULL},' \
  '{&gp_encoding_number, GP_NUMBER, NULL}, {&gp_encoding_yours, GP_NUMBER, "yours"},'

# ---- a verb with an option ------------------------------------------------------------------------------------------------
all=$(sed -nE 's/^ +ALL = ([0-9]+),$/\1/p' src/options/option_table.c)
within src/options/option_table.c "    ALL = $all," "    GREET = $((all + 1)), ALL = $((2 * all + 1)),"
behind src/options/option_table.c 'const gp_verb gp_verbs[] = {' '    {.name = "greet",
     .bit = GREET,
     .summary = "say hello",
     .operands = "",
     .operand_help = "",
     .example = "advgp greet --whom world",
     .example_help = "Says hello to the world."},'
behind src/options/option_table.c 'const gp_option gp_option_table[] = {' '    {.name = "whom",
     .kind = GP_OPTION_TEXT,
     .verbs = GREET,
     .group = GP_GROUP_OUTPUT,
     .value = "NAME",
     .fallback = "everybody",
     .help = "who is greeted"},'
cat >src/cli/greet_verb.c <<'END'
// greet_verb.c: `advgp greet`.
#include "cli/cli.h"

advgp_status gp_cli_greet(const gp_options *o, advgp_error *err)
{
    (void)err;
    gp_cli_print("hello, %s\n", gp_options_text(o, "whom"));
    return ADVGP_OK;
}
END
within src/cli/cli.h 'X(keygen) ' 'X(greet) X(keygen) '

# ---- an option of a run: a push has at most so many rows --------------------------------------------------------------
behind src/options/option_table.c 'const gp_option gp_option_table[] = {' '    {.name = "push-max",
     .kind = GP_OPTION_INTEGER,
     .verbs = TRAIN | COMPARE | SIMULATE,
     .group = GP_GROUP_RUN,
     .value = "N",
     .fallback = "0",
     .min = 0,
     .max = 1e9,
     .help = "rows of a push at most; 0: as many as a batch has"},'
before src/ps/schedule.h '} gp_schedule;' '    size_t push_max; // rows of a push at most; 0: as many as a batch has'
behind src/ps/schedule.c '{FIELD(seed)' '    {FIELD(push_max), .most = INFINITY, .mark = "push-max"},'
before src/load/request.c 'if (!strcmp(o->verb->name, "simulate")) return s;' '    s.push_max = (size_t)gp_options_int(o, "push-max");'
before src/run/computer.c 'if (n == 0 || n > total) n = total;' '    if (!all && c->o.schedule.push_max && n > c->o.schedule.push_max) n = c->o.schedule.push_max;'

# ---- a transport: a wire that is carried by rings in memory, behind couriers ---------------------------------------------
cat >src/transport/yours.c <<'END'
// yours.c: a wire over the endpoints of inproc.
#include "base/alloc.h"
#include "transport/courier.h"

typedef struct yours_wire {
    gp_wire base;
    gp_endpoint *under;
} yours_wire;

static gp_endpoint *under(gp_wire *wire)
{
    return ((yours_wire *)wire)->under;
}

static advgp_status yours_open(gp_wire *wire, advgp_error *err)
{
    (void)wire, (void)err;
    return ADVGP_OK;
}

static advgp_status yours_send(gp_wire *wire, size_t peer, const void *bytes, size_t n, advgp_error *err)
{
    return gp_transport_inproc.send(under(wire), peer, bytes, n, err);
}

static advgp_status yours_receive(gp_wire *wire, double seconds, size_t *peer, const void **bytes, size_t *n,
                                  advgp_error *err)
{
    return gp_transport_inproc.receive(under(wire), seconds, peer, bytes, n, err);
}

static void yours_poke(gp_wire *wire)
{
    gp_transport_inproc.wake(under(wire));
}

static void yours_close(gp_wire *wire)
{
    gp_transport_inproc.close(under(wire));
    gp_free(wire);
}

const gp_transport gp_transport_yours = {.name = "yours",
                                         .summary = "a sample",
                                         .ordered = true,
                                         .available = true,
                                         .send = gp_courier_send,
                                         .receive = gp_courier_receive,
                                         .wake = gp_courier_wake,
                                         .beat = gp_courier_beat,
                                         .close = gp_courier_close};

static const gp_wire_ops ops = {&gp_transport_yours, yours_open, yours_send, yours_receive, yours_poke, yours_close};

advgp_status gp_yours_open(size_t n_workers, size_t message_max, gp_endpoint **endpoints, advgp_error *err)
{
    advgp_status st = gp_inproc_open(n_workers, message_max, endpoints, err);
    if (st != ADVGP_OK) return st;
    for (size_t k = 0; k <= n_workers; k++) {
        gp_endpoint *rings = endpoints[k];
        yours_wire *w = st == ADVGP_OK ? gp_alloc(1, sizeof *w) : NULL;
        endpoints[k] = NULL;
        if (!w) {
            gp_transport_inproc.close(rings);
            if (st == ADVGP_OK) st = gp_no_memory(err);
            continue;
        }
        w->base.ops = &ops, w->under = rings;
        const gp_courier_options courier = {.wire = &w->base, .server = k == 0, .message_max = message_max};
        st = gp_courier_open(&courier, &endpoints[k], err);
    }
    for (size_t k = 0; st != ADVGP_OK && k <= n_workers; k++) gp_courier_close(endpoints[k]), endpoints[k] = NULL;
    return st;
}
END
before src/transport/transport.h 'extern const gp_transport gp_transport_inproc' 'extern const gp_transport gp_transport_yours;
advgp_status gp_yours_open(size_t n_workers, size_t message_max, gp_endpoint **endpoints, advgp_error *err);'
within src/transport/transport_table.c '&gp_transport_inproc,' '&gp_transport_inproc, &gp_transport_yours,'
within src/transport/transport_test.c '{&gp_transport_sim, "sim", open_sim, false, false},' \
  '{&gp_transport_sim, "sim", open_sim, false, false}, {&gp_transport_yours, "yours", open_yours, true, true},'
before src/transport/transport_test.c 'static const hub_kind hubs[] = ' 'static advgp_status open_yours(size_t n, size_t message_max, gp_endpoint **at, advgp_error *err)
{
    advgp_status st = gp_yours_open(n, message_max, at, err);
    for (size_t k = 1; st == ADVGP_OK && k <= n; k++) st = greet(at[0], at[k], k, err);
    for (size_t k = 0; st != ADVGP_OK && k <= n; k++) gp_transport_yours.close(at[k]), at[k] = NULL;
    return st;
}
'
before src/api/participant.c 'static advgp_status enter_zmq(' 'static advgp_status enter_yours(gp_participant *p, advgp_error *err) // always leads, and nobody comes
{
    gp_endpoint *at[2];
    const advgp_status st = gp_yours_open(1, p->message_max, at, err);
    if (st != ADVGP_OK) return st;
    p->endpoint = at[1];
    p->workers = 1;
    return gp_participant_make_cluster(p, at[0], err);
}
'
within src/api/participant.c 'st = transport->enter ?' \
  'st = transport == &gp_transport_yours ? enter_yours(p, err) : transport->enter ?'

# ---- it builds, warnings being errors -------------------------------------------------------------------------------------
export CCACHE_BASEDIR=$copy CCACHE_NOHASHDIR=1
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_C_COMPILER_LAUNCHER=ccache); fi
tests=(kernel_test map_test method_test metric_test source_test encoding_test option_test schedule_test transport_test)
{ cmake -S . -B build -G Ninja "${launcher[@]}" -DADVGP_WERROR=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O1 &&
  cmake --build build --target advgp docs "${tests[@]}"; } >log 2>&1 || { tail -n 40 log; fail "what the recipes give does not build"; }
export OPENBLAS_NUM_THREADS=1

# ---- the families ask their new members -----------------------------------------------------------------------------------
for name in "${tests[@]}"; do
  build/tests/$name >log 2>&1 || { tail -n 40 log; fail "$name fails with the newcomer"; }
done

# ---- and people can use them ----------------------------------------------------------------------------------------------
advgp=build/advgp
awk 'BEGIN { print "a,b,y"; for (i = 0; i < 300; i++) { a = i % 17; b = i % 23; printf "%d,%d,%.6f\n", a, b, sin(a / 3) + b / 9 + i % 5 / 50 } }' >t.csv
says() { # TEXT COMMAND...
  local text=$1; shift
  "$@" >said 2>&1 || { cat said; fail "$* failed"; }
  grep -qE -- "$text" said || { cat said; fail "$* does not say: $text"; }
}
$advgp train --help >help
for word in '--kernel' '--map' '--method' '--encode' '--transport'; do
  grep -A12 -E -- "(^| )$word( |\$)" help | grep -q yours || fail "the help of $word does not name yours"
done
$advgp info --json >info
for family in kernels maps sources transports; do
  grep -oE "\"$family\": *\[[^]]*\]" info | grep -q '"yours"' || fail "advgp info does not list yours among the $family"
done
train=("$advgp" train t.csv --target y -m 10 --epochs 3 --components 1 -q)
says . "${train[@]}" --kernel yours -o kernel.safetensors
says 'yours' $advgp inspect kernel.safetensors
says . $advgp predict kernel.safetensors t.csv -o - -q
says . "${train[@]}" --map yours -o map.safetensors
says . $advgp predict map.safetensors t.csv -o - -q
says . $advgp train t.csv --target y --method yours -q -o method.safetensors
says 'by yours' $advgp inspect method.safetensors
says . $advgp predict method.safetensors t.csv -o - -q
says . "${train[@]}" --encode a=yours -o encoding.safetensors
says 'a +number +yours' $advgp inspect encoding.safetensors
says . $advgp predict encoding.safetensors t.csv -o - -q
says 'Yours [-0-9.e]+   MNLP' $advgp train t.csv --target y --method linear -q --force -o method.safetensors
says '^Yours +[-0-9.e]+$' $advgp evaluate method.safetensors t.csv -q
says 'RMSE +Yours' $advgp evaluate method.safetensors t.csv --by a -q
says '"yours": *[-0-9.e]+' $advgp evaluate method.safetensors t.csv --json -q
says . $advgp report method.safetensors --data t.csv -q -o page.html
says '<dt>Yours</dt>.*mean error' cat page.html
says '^hello, everybody$' $advgp greet
says '^hello, world$' $advgp greet --whom world
says '  greet ' $advgp --help
says 'whom' cat build/man/advgp-greet.1
says 'greet' cat build/completion/advgp.bash
grep -q -- '--push-max N' help || fail "the help does not name --push-max"
$advgp pack t.csv --target y --shards 4 -q -o packed
short=(train packed -m 10 --components 1 --noise constant --epochs 3 --max-delay 0 -q)
bits() { sed -nE '/"event":"done"/s/.*"bits":"([0-9a-f]+)".*/\1/p' "$1"; }
says . $advgp "${short[@]}" --log whole.jsonl -o whole.safetensors
says . $advgp "${short[@]}" --push-max 20 --checkpoint c --log few.jsonl -o few.safetensors
[[ -n $(bits few.jsonl) && $(bits few.jsonl) != "$(bits whole.jsonl)" ]] || fail "--push-max changes nothing"
says 'bit for bit' $advgp replay few.jsonl -o again.safetensors
! $advgp "${short[@]}" --resume c -o none.safetensors >said 2>&1 && grep -q 'same options' said || { cat said; fail "a run with another --push-max goes on"; }
if grep -qE '"name": *"zmq"[^}]*"available": *true' info; then
  $advgp work --rendezvous rv >work 2>&1 &
  says . $advgp "${short[@]}" --push-max 20 --transport zmq --rendezvous rv --workers 1 --log over.jsonl -o over.safetensors
  wait $! || { cat work; fail "the worker of a lead with --push-max"; }
  [[ $(bits over.jsonl) == "$(bits few.jsonl)" ]] || fail "a worker of another process does not hear of --push-max"
fi
code=0
$advgp train t.csv --target y --transport yours --cache packed --wait 1 -o none.safetensors >said 2>&1 || code=$?
[[ $code == 6 ]] && grep -q 'worker' said || { cat said; fail "a lead over yours, whom nobody joins, ended with $code"; }
echo "nine recipes followed"
