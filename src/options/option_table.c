// option_table.c: every verb and every option of advgp, once. A row is a promise: what stands here works, with the
// default, the range and the words given, on the command line, in a config file and as a key of the library. Choices
// that are members of a family (kernels, maps, methods, rules, transports) come from its table, limits from whoever
// enforces them. What else holds of an option (facets, its value in older logs) stands in its row, too.
#include "options/option.h"

#include "cluster/job.h"
#include "data/encoding.h"
#include "feature/map.h"
#include "kernel/kernel.h"
#include "learn/learner.h"
#include "method/method.h"
#include "ps/rule.h"
#include "ps/server.h"
#include "score/distribution.h"
#include "shards/shards.h"
#include "store/modelfile.h"
#include "transport/transport.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRAIN = 1,
    PREDICT = 2,
    EVALUATE = 4,
    INSPECT = 8,
    PACK = 16,
    INFO = 32,
    REPLAY = 64,
    SIMULATE = 128,
    COMPARE = 256,
    WORK = 512,
    KEYGEN = 1024,
    EXPLAIN = 2048,
    REPORT = 4096,
    ALL = 8191,
    FITS = TRAIN | COMPARE,
    TABLES = FITS | PACK | SIMULATE, // learn how a table is read
    ANSWERS = PREDICT | EVALUATE | EXPLAIN,
    MODELS = ANSWERS | INSPECT,
    READERS = TABLES | ANSWERS | REPORT // of files with rows
};

enum { ROWS_EXPLAINED_MAX = 10000 }; // of one range: whoever wants more wants predict

const gp_verb gp_verbs[] = {
    {"train", TRAIN, "fit a model to a table and say how good it is", "DATA...",
     "CSV, TSV, Parquet or JSON-lines files (also compressed), folders or globs that form one table, a packed folder, "
     "or - for standard input",
     1, SIZE_MAX, "advgp train flights.parquet --target delay -o flights.safetensors",
     "Fits arrival delays and prints error, likelihood and coverage on held-out rows beside the baselines."},
    {"predict", PREDICT, "mean, standard deviations and interval for every row of a table", "MODEL DATA...",
     "a model file, then data as for train; every input row gives one output row, in order, but those that a query in "
     "the model drops, which are counted",
     2, SIZE_MAX, "advgp predict flights.safetensors tomorrow.csv --interval 0.9 --keep flight -o forecast.csv",
     "Writes the column flight with mean, sd_f, sd_y, lo and hi for each row of tomorrow.csv."},
    {"evaluate", EVALUATE, "error, likelihood and coverage of a model on a table with known targets", "MODEL DATA...",
     "a model file, then data as for train, with the target column", 2, SIZE_MAX,
     "advgp evaluate flights.safetensors last-week.parquet --json",
     "Prints RMSE, MAE, MNLP, R2 and the coverage table as one JSON object."},
    {"explain", EXPLAIN, "why single rows are predicted as they are: what adds up, and how far they are from the data",
     "MODEL DATA...", "a model file, then data as for predict", 2, SIZE_MAX,
     "advgp explain flights.safetensors tomorrow.csv --rows 1,17-19",
     "Tells of four rows what adds up to the mean, and how much the data say there."},
    {"inspect", INSPECT, "what a model is: columns, scales, length-scales, relevance, training record", "MODEL",
     "a model file", 1, 1, "advgp inspect flights.safetensors",
     "Lists the columns by relevance, with length-scales in their own units."},
    {"report", REPORT, "one page that says what a model is worth, with charts, to open in a browser", "MODEL [LOG...]",
     "a model file, then logs of trainings or comparisons whose course is drawn", 1, SIZE_MAX,
     "advgp report flights.safetensors run.jsonl --data last-week.parquet -o report.html",
     "Writes one HTML file that needs no network: errors, intervals, what matters, the course of the training."},
    {"pack", PACK, "turn a table into packed shards for fast, repeated or clustered training", "DATA...",
     "data as for train", 1, SIZE_MAX, "advgp pack 'flights/*.parquet' --target delay -o flights.packed",
     "Then: advgp train flights.packed"},
    {"compare", COMPARE, "several methods on the same rows, with the same scales and start, in one table", "DATA...",
     "data as for train", 1, SIZE_MAX,
     "advgp compare flights.parquet --target delay --methods advgp,svigp,linear --inducing 50,100",
     "Prints time, bound, error, likelihood and coverage of each method and number of inducing points."},
    {"replay", REPLAY, "compute an asynchronous run again from its log, bit for bit", "LOG",
     "the log that train wrote; the inputs it names must be where they were", 1, 1,
     "advgp replay run.jsonl -o again.safetensors",
     "Ends with the same model, and says so; on another CPU or BLAS the last bits may differ."},
    {"simulate", SIMULATE, "the cluster in virtual time: how fast a training would be, and with which delay",
     "[DATA...]",
     "data as for train: then gradients are real, and errors are told; without data only costs are, or with --rmse "
     "generated rows are fitted",
     0, SIZE_MAX, "advgp simulate --workers 4,16,64 --speeds 20 --max-delay 0,20,inf -m 100",
     "Shows what one worker that is 20 times slower costs, with costs measured on this machine."},
    {"work", WORK, "join a training of several processes as a worker", "", "", 0, 0,
     "advgp work --rendezvous /shared/flights.run",
     "Finds the lead by the file that it wrote there, computes for it, and ends when it has ended."},
    {"keygen", KEYGEN, "make the keys by which a lead and workers on other machines know each other", "DIR",
     "the folder for them, made if it is not there; keys that are there already are never replaced", 1, 1,
     "advgp keygen cluster-keys",
     "Makes server.key, server.pub, worker.key, worker.pub and allow, the list of workers that the lead lets in."},
    {"info", INFO, "versions, linear algebra, transports and CPU features in use", "", "", 0, 0, "advgp info --json",
     "Prints the same as one JSON object."},
};
const size_t gp_verbs_size = sizeof gp_verbs / sizeof *gp_verbs;

const gp_exit_code gp_exit_codes[] = {
    {"0", "done"},
    {"1", "failed at run time: memory is exhausted, or an output cannot be written"},
    {"2", "usage: an option or argument is wrong, or an output would replace what is read or what is of another kind"},
    {"3",
     "an input is not there, may not be read or cannot be used: data, model, log, checkpoint and config file alike"},
    {"4", "a model or other advgp file is there, and damaged or foreign"},
    {"5", "the computation lost its numbers"},
    {"6", "workers or the lead of a cluster were lost"},
    {"129, 130, 143",
     "stopped by SIGHUP, SIGINT or SIGTERM: a training has written its model and a checkpoint; a second signal ends it "
     "at once"},
    {"141", "who read standard output has gone, as SIGPIPE would say; files that were asked for are written"},
};
const size_t gp_exit_codes_size = sizeof gp_exit_codes / sizeof *gp_exit_codes;

const char *const gp_group_titles[GP_N_GROUPS] = {
    [GP_GROUP_DATA] = "Data",       [GP_GROUP_MODEL] = "Model",     [GP_GROUP_METHOD] = "Method",
    [GP_GROUP_RUN] = "Run",         [GP_GROUP_CLUSTER] = "Cluster", [GP_GROUP_OUTPUT] = "Output",
    [GP_GROUP_GENERAL] = "General",
};

// ---- what kind and range cannot say ---------------------------------------------------------------------------------

static bool is_named_file(const char *value)
{
    const char *equals = strchr(value, '=');
    return equals && equals > value && equals[1];
}

static bool is_bounds(const char *item)
{
    gp_bounds_are are;
    gp_limits bounds;
    return gp_bounds_parse(item, &are, &bounds, NULL) == ADVGP_OK;
}

static bool is_delimiter(const char *item)
{
    return (strlen(item) == 1 && *item > 0 && !strchr("\"'\r\n", *item)) || strcmp(item, "tab") == 0 ||
           strcmp(item, "\\t") == 0 || strcmp(item, "space") == 0;
}

static bool is_between(const char *item, double least, double most)
{
    double value;
    return gp_text_real(item, &value) && value >= least && value <= most;
}

static bool is_level(const char *item)
{
    double level;
    return gp_text_real(item, &level) && gp_level_is_good(level);
}

// "7" or "3-5".
static bool is_rows(const char *item)
{
    char *end;
    if (*item < '1' || *item > '9') return false;
    const unsigned long long first = strtoull(item, &end, 10);
    if (!*end) return first < SIZE_MAX;
    if (*end != '-' || end[1] < '1' || end[1] > '9') return false;
    const unsigned long long last = strtoull(end + 1, &end, 10);
    return !*end && last >= first && last < SIZE_MAX && last - first < ROWS_EXPLAINED_MAX;
}

static bool is_quantile(const char *item)
{
    double quantile;
    return gp_text_real(item, &quantile) && gp_quantile_is_good(quantile);
}

static bool is_threshold(const char *item)
{
    return is_between(item, -1e300, 1e300);
}

static bool is_encoding(const char *item)
{
    const char *equals = strrchr(item, '=');
    return equals && equals > item && gp_encoding_is_asked(equals + 1);
}

// K:SECONDS
static bool is_worker_delay(const char *item)
{
    double worker, seconds;
    char head[16];
    const char *colon = strchr(item, ':');
    const size_t n = colon ? (size_t)(colon - item) : 0;
    if (n < 1 || n >= sizeof head) return false;
    memcpy(head, item, n);
    head[n] = 0;
    return gp_text_real(head, &worker) && worker >= 0 && worker < GP_WORKERS_MAX && worker == floor(worker) &&
           gp_text_real(colon + 1, &seconds) && seconds >= 0 && seconds <= 60;
}

// Numbers from least to 1e6 with commas between, at least one.
static bool is_number_list(const char *text, double least)
{
    for (const char *end; *text; text = end + (*end == ',')) {
        char item[32];
        double value;
        end = text + strcspn(text, ",");
        const size_t n = (size_t)(end - text);
        if (n < 1 || n >= sizeof item || (*end == ',' && !end[1])) return false;
        memcpy(item, text, n);
        item[n] = 0;
        if (!gp_text_real(item, &value) || !(value >= least && value <= 1e6)) return false;
        if (!*end) return true;
    }
    return false;
}

static bool is_speeds(const char *text)
{
    if (!strcmp(text, "equal") || !strcmp(text, "random")) return true;
    return strncmp(text, "sleep:", 6) == 0 ? is_number_list(text + 6, 0) : is_number_list(text, 1e-6);
}

static bool is_fraction(const char *text, double least)
{
    double value;
    return gp_text_real(text, &value) && value >= least && value <= 0.5;
}

// A fraction, last:F, group:COL or a file. What reads as a number must be a good fraction: nobody means a file named 5.
static bool is_validation(const char *text)
{
    double number;
    if (gp_text_real(text, &number)) return is_fraction(text, 0);
    if (strncmp(text, "last:", 5) == 0) return is_fraction(text + 5, 1e-9);
    if (strncmp(text, "group:", 6) == 0) return text[6] != 0;
    return true;
}

// ---- families -------------------------------------------------------------------------------------------------------

#define FAMILY(name_, members_)                                   \
    static const char *name_(size_t i, const char **summary)      \
    {                                                             \
        *summary = (members_)[i] ? (members_)[i]->summary : NULL; \
        return (members_)[i] ? (members_)[i]->name : NULL;        \
    }
FAMILY(kernel, gp_kernels)
FAMILY(map, gp_maps)
FAMILY(method, gp_methods)
FAMILY(rule, gp_rules)

// Those that a run can be over.
static const char *transport(size_t i, const char **summary)
{
    for (const gp_transport *const *t = gp_transports; *t; t++) {
        if ((*t)->simulated || i--) continue;
        *summary = (*t)->summary;
        return (*t)->name;
    }
    *summary = NULL;
    return NULL;
}

static void encodings(gp_buffer *out)
{
    gp_encoding_choices("", " or ", out);
}

static void encodings_of_columns(gp_buffer *out)
{
    gp_encoding_choices("COL=", " or ", out);
}

static void delays_of_rules(gp_buffer *out)
{
    for (size_t i = 0; gp_rules[i]; i++)
        gp_buffer_add(out, "%s%zu (%s)", i ? ", " : "", gp_rules[i]->max_delay, gp_rules[i]->name);
}

static void quorums_of_rules(gp_buffer *out)
{
    for (size_t i = 0; gp_rules[i]; i++)
        gp_buffer_add(out, "%s%g (%s)", i ? ", " : "", gp_rules[i]->quorum, gp_rules[i]->name);
}

// ---- the table ------------------------------------------------------------------------------------------------------

// A row begins with name, group, and the verbs and facets it is of, then what its kind needs, then help; what only some
// rows have follows by name.
#define ROW(kind_, name_, group_, of_, ...)                                                         \
    {                                                                                               \
        .name = name_, .kind = GP_OPTION_##kind_, .group = GP_GROUP_##group_, .verbs = ALL & (of_), \
        .facets = (of_) & ~(unsigned)ALL, __VA_ARGS__                                               \
    }
#define FLAG(name_, group_, of_, ...) ROW(FLAG, name_, group_, of_, .fallback = "false", .help = __VA_ARGS__)
#define FLAG_OR(name_, group_, of_, words_, fallback_, ...) \
    ROW(FLAG, name_, group_, of_, .words = words_, .fallback = fallback_, .help = __VA_ARGS__)
#define CHOICE(name_, group_, of_, words_, fallback_, ...) \
    ROW(CHOICE, name_, group_, of_, .words = words_, .fallback = fallback_, .help = __VA_ARGS__)
#define MEMBER(name_, group_, of_, family_, fallback_, ...) \
    ROW(CHOICE, name_, group_, of_, .family = family_, .fallback = fallback_, .help = __VA_ARGS__)
#define COUNT(name_, group_, of_, value_, fallback_, min_, max_, ...)                                  \
    ROW(INTEGER, name_, group_, of_, .value = value_, .fallback = fallback_, .min = min_, .max = max_, \
        .help = __VA_ARGS__)
#define NUMBER(name_, group_, of_, value_, fallback_, min_, max_, ...) \
    ROW(REAL, name_, group_, of_, .value = value_, .fallback = fallback_, .min = min_, .max = max_, .help = __VA_ARGS__)
#define TEXT(name_, group_, of_, value_, ...)   ROW(TEXT, name_, group_, of_, .value = value_, .help = __VA_ARGS__)
#define PATH(name_, group_, of_, value_, ...)   ROW(FILE, name_, group_, of_, .value = value_, .help = __VA_ARGS__)
#define FOLDER(name_, group_, of_, value_, ...) ROW(DIR, name_, group_, of_, .value = value_, .help = __VA_ARGS__)
#define LIST(name_, group_, of_, value_, ...)   ROW(LIST, name_, group_, of_, .value = value_, .help = __VA_ARGS__)

// Options whose rows differ by verb in a word or two.
#define OUTPUT(verb_, fallback_, help_) \
    PATH("output", OUTPUT, (verb_) | GP_OF_PROCESS, "FILE", help_, .fallback = (fallback_), .letter = 'o')
#define FORCE(verbs_, what_) \
    FLAG("force", OUTPUT, (verbs_) | GP_OF_PROCESS | GP_OF_ONCE, "write " what_ "; what is read is never written over")
#define SEED(verbs_, help_)      COUNT("seed", GENERAL, verbs_, "N", "0", 0, 0x1p53, help_) // 2^53: a JSON number keeps it
#define COST(name_, max_, help_) NUMBER(name_, RUN, SIMULATE, "SECONDS", "auto", 0, max_, help_, .words = "auto")

const gp_option gp_option_table[] = {
    TEXT("target", DATA, TABLES, "COL", "the column to predict; packed data know theirs"),
    LIST("features", DATA, TABLES | GP_OF_PACKED, "COLS", "the columns to predict from, instead of all others"),
    LIST("exclude", DATA, TABLES | GP_OF_PACKED, "COLS", "columns to leave out"),
    TEXT("sql", DATA, TABLES | GP_OF_FILES | GP_OF_PACKED, "QUERY",
         "a query over the files, each a table named by its stem, a single one also data; kept in the model for "
         "predict"),
    NUMBER("spool-limit", DATA, READERS, "GB", "64", 0.000001, 1000000,
           "how much of standard input or a pipe is copied to the temporary folder (TMPDIR) at most",
           .unit = "gigabytes"),
    CHOICE("header", DATA, READERS | GP_OF_FILES | GP_OF_PACKED, "auto|yes|no", "auto",
           "whether the first line of CSV files has the names of the columns; without they are c1, c2, ..."),
    TEXT("delimiter", DATA, READERS | GP_OF_FILES | GP_OF_PACKED, "CHAR",
         "what stands between the values of CSV files, where the first lines do not show it", .check = is_delimiter,
         .allowed = "one character, tab or space"),
    LIST("na", DATA, READERS | GP_OF_FILES | GP_OF_PACKED, "TEXT",
         "a text that means a missing value in CSV files, beside an empty one, NA, N/A, NULL, NaN, None and ?"),
    LIST("table", DATA, ANSWERS | REPORT | GP_OF_PROGRAM | GP_OF_READS, "NAME=FILE",
         "a further file, for the table NAME of the model's query; files without a name are the tables of their stems, "
         "then the others in the order of the query",
         .check = is_named_file, .allowed = "NAME=FILE"),
    LIST("data", DATA, REPORT | GP_OF_READS, "FILE",
         "rows with known targets, as for evaluate; without them the page has what model and logs know"),
    PATH("test", DATA, FITS | GP_OF_READS, "FILE", "a table to report the final figures on"),
    PATH("validation", DATA, TABLES | GP_OF_PACKED | GP_OF_READS, "ROWS",
         "rows held out to stop training and to calibrate: a fraction, last:F, group:COL or a file", .fallback = "0.05",
         .check = is_validation,
         .allowed =
             "a fraction of the rows from 0 to 0.5, last:F for the last ones, group:COL for whole groups, or a file"),
    TEXT("weights", DATA, TABLES | GP_OF_PACKED, "COL", "the column of row weights, 0 or more"),
    CHOICE("weights-are", DATA, TABLES | GP_OF_PACKED, "importance|counts", "importance",
           "weights say how much a row matters, and are scaled to mean 1, or how many rows it stands for",
           .before = "counts"),
    CHOICE("missing", DATA, TABLES | GP_OF_PACKED, "impute|drop|error", "impute",
           "a missing input becomes the mean and an indicator, drops its row, or is an error"),
    CHOICE("dirty", DATA, TABLES | GP_OF_PACKED, "read|error", "read",
           "a few texts among numbers or dates become missing values, and ranges such as 385 - 440 their middle; or "
           "they are an error"),
    CHOICE("outliers", DATA, TABLES | GP_OF_PACKED, "clip|keep", "clip",
           "values far beyond the bulk of a number column are taken as at its end, or kept as they are",
           .before = "keep"),
    CHOICE("warp", DATA, TABLES | GP_OF_PACKED, "auto|none|ranks", "auto",
           "number columns of long tails are mapped to their ranks; auto: where a pilot on a sample of the rows shows "
           "that it pays",
           .before = "none"),
    COUNT("directions", DATA, TABLES | GP_OF_PACKED, "N", "auto", 1, GP_DIRECTIONS_MAX,
          "sums of columns beside the columns, along which the target changes most; auto: three, where a pilot on a "
          "sample of the rows shows that they pay",
          .words = "auto|none", .before = "none"),
    LIST("encode", DATA, TABLES | GP_OF_PACKED, "COL=HOW",
         "how a column becomes numbers, where the choice by its values is not wanted: ", .check = is_encoding,
         .allows = encodings_of_columns, .more = encodings),
    LIST("date-format", DATA, TABLES | GP_OF_PACKED, "[COL=]FORMAT",
         "how dates are written, as in %d.%m.%Y %H:%M (the letters of strptime), of one column or of all that it fits; "
         "most are recognised without it"),
    FLAG_OR("log-target", DATA, TABLES | GP_OF_PACKED, "auto", "auto",
            "fit the logarithm of a target that is never negative; auto: where the target is skewed and a pilot on a "
            "sample of the rows shows that it pays"),
    TEXT("bounds", DATA, TABLES | GP_OF_PACKED, "LO:HI|auto|none",
         "where means, intervals and quantiles are cut; auto: at 0, if the target is never negative in 1,000 rows and "
         "comes near 0",
         .fallback = "auto", .check = is_bounds,
         .allowed = "auto, none or LO:HI, of which one may be empty, as in 0:100 or 0:", .before = "none"),
    FOLDER("cache", DATA, FITS | SIMULATE | GP_OF_FILES, "DIR",
           "where the rows are packed, for a table larger than memory; the same data and options take them from there "
           "again"),
    FOLDER("cache", DATA, REPLAY, "DIR",
           "where the rows are packed, of a run with --cache; without it they are taken from the folder that the log "
           "names, and nothing is written there"),
    COUNT("shards", DATA, PACK, "K", "64", 1, GP_SHARDS_MAX,
          "how many files the rows are scattered over; a shard is what moves between workers"),
    CHOICE("values", DATA, PACK, "float32|float64", "float32", "how packed numbers are kept"),

    COUNT("inducing", MODEL, TRAIN | SIMULATE, "M", "200", 1, GP_MODEL_INDUCING_MAX,
          "inducing points, in all components together; where nobody says how many, more on large tables that have "
          "cells and are not mostly noise (docs/recipe.md)",
          .letter = 'm'),
    LIST("inducing", MODEL, COMPARE, "M,...", "inducing points; every method is run with each", .letter = 'm',
         .fallback = "200", .min = 1, .max = GP_MODEL_INDUCING_MAX),
    COUNT("components", MODEL, FITS, "J", "auto", 1, GP_COMPONENTS_MAX,
          "kernels that are added up; auto: short pilots choose", .words = "auto"),
    COUNT("components", MODEL, SIMULATE, "J", "1", 1, GP_COMPONENTS_MAX, "kernels that are added up"),
    COUNT("cells", MODEL, FITS, "N", "auto", 1, GP_CELLS_MAX,
          "local processes in so many cells of the input space beside the global one; auto: on larger tables, unless "
          "validation rows are better without them (docs/recipe.md); none: one smooth surface",
          .words = "auto|none"),
    COUNT("columns", MODEL, SIMULATE | GP_OF_GENERATED, "D", "8", 1, 1000,
          "inputs of generated rows; DATA has its own"),
    MEMBER("kernel", MODEL, FITS | SIMULATE, kernel, "ard-rbf", "covariance; all have one length-scale a column"),
    MEMBER("map", MODEL, FITS, map, "cholesky",
           "how inducing points become features; the default is best unless there is a reason (docs/maps.md)"),
    COUNT("rank", MODEL, FITS, "R", "full", 1, GP_MODEL_INDUCING_MAX,
          "nystrom: eigenvectors kept, in all components together", .words = "full"),
    COUNT("groups", MODEL, FITS, "Q", "auto", 1, GP_MODEL_INDUCING_MAX,
          "ensemble: groups of inducing points in each component; auto: 4", .words = "auto"),
    CHOICE("trend", MODEL, FITS | SIMULATE, "linear|constant|none", "linear", "what the process varies around"),
    CHOICE(
        "noise", MODEL, FITS, "auto|constant|varying", "auto",
        "one spread for all rows, or one that depends on the row; auto: whichever is better on rows it has not seen"),

    MEMBER("method", METHOD, TRAIN, method, "auto", "how it is fitted"),
    LIST("methods", METHOD, COMPARE, "NAMES",
         "the methods of train, and advgp-natural, advgp-prox for its two optimizers",
         .fallback = "advgp,svigp,distgp-lbfgs,linear,mean"),
    FLAG("tune-delay", METHOD, COMPARE, "choose the delay of advgp among 0, 8, 16, 24, 32 and 40 by the held-out rows"),
    NUMBER("cpu-time", METHOD, COMPARE, "SECONDS", "inf", 0.1, 1e9,
           "CPU time of every method; schedules are made to fit", .words = "inf"),
    MEMBER("optimizer", METHOD, FITS | SIMULATE, rule, "natural", "how steps are made of what workers push"),
    COUNT("batch", METHOD, FITS, "ROWS", "auto", 1, 1e9,
          "rows a step, of all workers together; auto: by the size of the table", .words = "auto|full"),
    COUNT("batch", METHOD, SIMULATE, "ROWS", "full", 1, 1e9, "rows of a push of one worker; full: all it has",
          .words = "full"),
    CHOICE("precision", METHOD, FITS, "mixed|double", "mixed",
           "of the natural rule's pushes of 4,096 rows and more: the product that a batch's gradient takes most of its "
           "time for in single precision, whose error is a ten-thousandth of the batch's own, or all in double; the "
           "posterior, the bound and every prediction are in double either way",
           .before = "double"),
    NUMBER("step", METHOD, FITS | SIMULATE, "X", "auto", 1e-6, 1, "first step size", .words = "auto"),
    PATH("start", METHOD, TRAIN | GP_OF_START, "MODEL",
         "where the inducing points start: centres of clusters, rows that explain the others best, any rows, or with "
         "everything else at the parameters of a model of the same columns",
         .fallback = "kmeans", .words = "kmeans|greedy|random"),
    CHOICE("start", METHOD, COMPARE, "kmeans|greedy|random", "kmeans",
           "where the inducing points of all methods start: centres of clusters, rows that explain the others best, or "
           "any rows"),
    COUNT("start-rows", METHOD, TRAIN, "N", "20000", 1, 1e8, "rows that are looked at to choose the start",
          .unit = "rows"),
    COUNT("start-rows", METHOD, COMPARE, "N", "2000000", 1, 1e8, "rows that are looked at to choose the start",
          .unit = "rows"),
    COUNT("epochs", METHOD, FITS, "N", "auto", 1, 1e6, "passes over the rows at most; auto: by the size of the table",
          .words = "auto"),
    NUMBER("time", METHOD, FITS | GP_OF_PROCESS, "SECONDS", "inf", 0.001, 1e9,
           "end at the next evaluation after this time", .words = "inf"),
    NUMBER("time", METHOD, SIMULATE, "SECONDS", "auto", 1e-6, 1e9,
           "virtual time to simulate; auto: that of 200 pushes of an ordinary worker", .words = "auto"),
    COUNT("versions", METHOD, SIMULATE, "N", "inf", 1, 1e9,
          "end at this version, and let steps shrink towards it as train does; inf: steps stay as they are",
          .words = "inf"),
    NUMBER("rmse", METHOD, SIMULATE, "X", NULL, 1e-12, 1e300,
           "say when this error on held-out rows is reached, in the target's own units, and end there"),
    COUNT("patience", METHOD, FITS, "N", "auto", 1, 1e6,
          "stop after this many without improvement on held-out rows; auto: 20, half of those of a run",
          .alias = "early-stopping-rounds", .words = "auto|inf", .unit = "evaluations"),

    COUNT("workers", RUN, TRAIN | GP_OF_PROCESS, "N", "auto", 1, GP_WORKERS_MAX,
          "worker threads, or with --transport processes; auto: one a core, fewer for small tables; of processes as "
          "many as the launcher has started",
          .words = "auto"),
    COUNT("workers", RUN, COMPARE, "N", "auto", 1, GP_WORKERS_MAX,
          "worker threads; auto: one a core, fewer for small tables", .words = "auto"),
    COUNT("max-delay", RUN, TRAIN | GP_OF_PROCESS, "T", "auto", 0, 1e6,
          "how old a worker's push may be; 0: workers wait for each other, and a run repeats bit for bit; auto: 0 in "
          "one process, between processes ",
          .alias = "tau", .words = "auto|inf", .unit = "versions", .more = delays_of_rules),
    COUNT("max-delay", RUN, COMPARE, "T", "0", 0, 1e6,
          "how old a worker's push may be; 0: workers wait for each other, and a run repeats bit for bit",
          .alias = "tau", .words = "inf", .unit = "versions"),
    LIST("workers", RUN, SIMULATE, "N,...", "numbers of workers to simulate", .fallback = "4,16,64", .min = 1,
         .max = GP_WORKERS_MAX),
    LIST("max-delay", RUN, SIMULATE, "T,...",
         "how old a worker's push may be, each tried with each number of workers; 0: workers wait for each other",
         .alias = "tau", .fallback = "0,5,20,80,inf", .words = "inf", .min = 0, .max = 1e6, .unit = "versions"),
    TEXT("speeds", RUN, SIMULATE, "HOW",
         "equal; random: 0.5 to 2 times the ordinary time of a push; 20: the last worker takes 20 times as long; "
         "1,1,4: such times in turn; sleep:0,10,20: workers sleep so many seconds more, drawn for each",
         .fallback = "equal", .check = is_speeds,
         .allowed = "equal, random, a number for one slow worker, a list like 1,1,4 or sleep:0,10,20"),
    NUMBER("spread", RUN, SIMULATE, "F", "0.1", 0, 0.99, "a push takes 1 - F to 1 + F times its time, each as likely"),
    NUMBER("latency", RUN, SIMULATE, "SECONDS", "0.0001", 0, 3600, "that a message is under way, beside its bytes"),
    NUMBER("bandwidth", RUN, SIMULATE, "BYTES", "1.25e9", 1, 1e15,
           "of the server's line, in and out, and of each worker's; 1.25e9 is 10 Gbit/s", .words = "inf",
           .unit = "bytes a second"),
    COUNT("rows", RUN, SIMULATE | GP_OF_GENERATED, "N", "700000", 10, 1e12,
          "rows in all, where they do not come from DATA", .unit = "rows"),
    FLAG("weak", RUN, SIMULATE, "--rows is of each worker, not of all: weak scaling"),
    COST("row-seconds", 1e6,
         "a worker's time for a row; auto, as with the four below: measured on this machine, one core"),
    COST("push-seconds", 1e6, "a worker's time for a push beside its rows"),
    COST("message-seconds", 1e6, "the server's time for a message beside its bytes"),
    COST("byte-seconds", 1, "the server's time for a byte of a message"),
    COST("step-seconds", 1e6, "the server's time for a version"),
    NUMBER("quorum", RUN, FITS | SIMULATE, "F", "auto", 0, 1,
           "share of the workers that must have pushed before a step; auto: of those that are about equally fast, as "
           "measured, ",
           .words = "auto", .more = quorums_of_rules),
    FLAG("theorem-steps", RUN, FITS | SIMULATE,
         "with a delay, divide steps by 1 + the mean age of the pushes, as the paper's Theorem 4.1 has them, in place "
         "of its root"),
    NUMBER("filter", RUN, FITS | SIMULATE, "C", "0", 0, 1e6,
           "send a worker only parameters that changed by more than C / version; 0: all"),
    LIST("delay-worker", RUN, TRAIN | GP_OF_PROCESS, "K:SECONDS",
         "worker K sleeps before every push of a batch, to study delays", .check = is_worker_delay,
         .allowed = "K:SECONDS, workers counted from 0, up to 60 seconds"),
    PATH("checkpoint", RUN, TRAIN | GP_OF_PROCESS | GP_OF_ONCE, "FILE",
         "where the state is saved: on the way, after the steps and when interrupted; else beside the model, until it "
         "is done"),
    NUMBER("checkpoint-every", RUN, TRAIN | GP_OF_PROCESS | GP_OF_ONCE, "SECONDS", "60", 1, 1e6,
           "time between two checkpoints"),
    PATH("resume", RUN, TRAIN | GP_OF_PROCESS | GP_OF_ONCE, "FILE",
         "go on from a checkpoint, to the same result as without the stop; auto: from that of --checkpoint, if there "
         "is one",
         .words = "auto"),
    FLAG("dry-run", RUN, TRAIN | GP_OF_PROGRAM | GP_OF_PROCESS, "read the data, say what would be done, and end"),

    MEMBER("transport", CLUSTER, TRAIN | GP_OF_PROCESS, transport, "inproc", "how lead and workers reach each other"),
    CHOICE("transport", CLUSTER, WORK, "zmq", "zmq",
           "how to reach the lead; with MPI the launcher starts all of them as advgp train"),
    CHOICE("role", CLUSTER, TRAIN | GP_OF_PROCESS, "auto|server|worker", "auto",
           "what this process is; auto: the launcher's first task is the server, the others are workers"),
    TEXT("listen", CLUSTER, TRAIN | GP_OF_PROCESS, "ADDRESS",
         "where the server can be reached: HOST:PORT, an interface or a port; else this machine alone, or under Slurm "
         "on several nodes the name of this one"),
    TEXT("server", CLUSTER, TRAIN | WORK | GP_OF_PROCESS, "HOST:PORT", "where the server is, for a worker"),
    PATH("rendezvous", CLUSTER, TRAIN | WORK | GP_OF_PROCESS, "FILE",
         "a file on a shared disk by which workers find the server, also after it was started again elsewhere; under "
         "Slurm advgp-JOB.rendezvous"),
    FOLDER("keys", CLUSTER, TRAIN | WORK | GP_OF_PROCESS, "DIR",
           "keys that advgp keygen made; without them a rendezvous file carries keys of its own"),
    COUNT("min-workers", CLUSTER, TRAIN | GP_OF_PROCESS, "N", "1", 1, GP_WORKERS_MAX,
          "with fewer the run does not begin, nor go on"),
    COUNT("max-workers", CLUSTER, TRAIN | GP_OF_PROCESS, "N", "auto", 1, GP_WORKERS_MAX,
          "places for workers, late ones too; auto: twice --workers and 16", .words = "auto"),
    NUMBER("wait", CLUSTER, TRAIN | GP_OF_PROCESS, "SECONDS", "60", 1, 1e6,
           "for workers to come; then it begins with those that are there, or ends with a checkpoint where they are "
           "fewer than --min-workers. A worker ends after so long without a word from the server, not before a minute; "
           "where it is not given, after ten"),
    NUMBER("wait", CLUSTER, WORK, "SECONDS", "600", 1, 1e6, "without a word from the server after which a worker ends"),
    CHOICE("on-loss", CLUSTER, TRAIN, "reassign|drop|stop", "reassign",
           "when a worker is lost: its shards go to the others, are left out, or the run stops with a checkpoint"),
    NUMBER("heartbeat", CLUSTER, TRAIN | GP_OF_PROCESS, "SECONDS", "2", 0.05, 3,
           "between two signs of life, 3 at most"), // transports take a silence of a few of these for a sign of trouble
    NUMBER("lost-after", CLUSTER, TRAIN | GP_OF_PROCESS, "SECONDS", "30", 0.2, 1e5,
           "without a sign of life after which a worker is lost"),
    NUMBER(
        "stuck-after", CLUSTER, TRAIN | GP_OF_PROCESS, "SECONDS", "600", 1, 1e6,
        "for one push after which a worker is lost though it gives signs of life; more where it has shown to be slow"),
    COUNT("servers", CLUSTER, TRAIN | GP_OF_PROCESS, "S", "1", 1, GP_SERVERS_MAX,
          "processes that keep the parameters, a range each; 1: the lead does. More need --optimizer prox; the "
          "launcher's tasks after the first are these"),
    TEXT("serve", CLUSTER, WORK, "ADDRESS",
         "hold a part of the parameters for a lead (its --servers), instead of being a worker, and listen there: "
         "HOST:PORT, an interface or a port"),
    FOLDER("data", CLUSTER, WORK, "DIR", "the packed folder, where it has another name here than the server's"),
    COUNT("id", CLUSTER, WORK, "K", "any", 0, 4095,
          "which worker to be, counted from 0: it takes the place of another of that number", .words = "any"),

    OUTPUT(TRAIN, "model.safetensors", "the model file"),
    OUTPUT(REPLAY, "replay.safetensors", "the model file"),
    OUTPUT(PREDICT, "-", "a .csv, .parquet or .jsonl file; - is CSV on standard output"),
    OUTPUT(REPORT, "report.html", "the page; - is standard output"),
    PATH("report", OUTPUT, TRAIN | GP_OF_PROCESS, "FILE",
         "the page of advgp report on the new model, by its held-out rows"),
    FOLDER("output", OUTPUT, PACK, "DIR", "the folder of the shards", .letter = 'o', .required = true),
    FORCE(TRAIN | REPLAY, "the model (log, checkpoint, report) over a file that is none"),
    FORCE(PREDICT, "over a file that is no table of predictions"),
    FORCE(COMPARE, "the log over a file that is none"),
    FORCE(REPORT, "the page over a file that is none"),
    TEXT("by", OUTPUT, EVALUATE, "COL", "figures for each value of this column, too"),
    LIST("rows", OUTPUT, EXPLAIN, "N,N-M,...", "which rows of the table", .fallback = "1", .check = is_rows,
         .allowed = "the number of a row, from 1, or a range of up to 10000 such as 3-5"),
    COUNT("near", OUTPUT, EXPLAIN, "N", "3", 0, 1000,
          "inducing inputs shown, the nearest first; of an exact process training rows"),
    FLAG("all", OUTPUT, EXPLAIN | INSPECT, "all columns, not only the most relevant ones"),
    LIST("interval", OUTPUT, PREDICT, "P,...",
         "level of the calibrated interval lo, hi; of several the columns are lo_P, hi_P", .fallback = "0.9",
         .check = is_level, .allowed = "a number from 0.001 to 0.999, or several"),
    LIST("quantiles", OUTPUT, PREDICT, "U,...", "quantiles of what a row may turn out to be, in columns q_U",
         .check = is_quantile, .allowed = "a number from 0.0001 to 0.9999, or several"),
    LIST("exceeds", OUTPUT, PREDICT, "T,...",
         "the probability that the target is above T, in a column p_exceeds; of several p_exceeds_T",
         .check = is_threshold, .allowed = "a number, or several"),
    COUNT("draws", OUTPUT, PREDICT, "N", "0", 0, 1000,
          "values drawn from the distribution of each row, independently, in columns draw_1 to draw_N"),
    LIST("keep", OUTPUT, PREDICT | GP_OF_PROGRAM, "COLS", "input columns to copy to the output"),
    FLAG("mean-only", OUTPUT, PREDICT, "only the mean, several times faster"),
    PATH("log", OUTPUT, FITS | GP_OF_PROCESS, "FILE",
         "JSON lines: a manifest of the run, then its events; an older one is replaced when the training begins, and "
         "gone on with by --resume"),
    TEXT("worker", RUN, KEYGEN, "NAME",
         "add a key of its own for one more worker to the keys in DIR: NAME.key, NAME.pub and a line in allow"),
    FLAG("json", OUTPUT, ALL | GP_OF_PROGRAM | GP_OF_PROCESS, "print the result as one JSON object on standard output"),

    SEED(PREDICT, "of --draws: the same seed gives the same values"),
    SEED(TABLES, "of all that is random: the same seed and number of workers give the same result"),
    SEED(REPORT, "of the rows that are drawn of many"),
    FLAG("trust", GENERAL, MODELS | REPORT | TRAIN | GP_OF_PROCESS,
         "load a model whatever memory and arithmetic it asks for; else a quarter of the memory and 10 seconds are the "
         "most"),
    PATH("config", GENERAL, (ALL & ~INFO) | GP_OF_READS | GP_OF_COMMAND_LINE, "FILE",
         "read options from a file of key = value lines; the command line wins"),
    FLAG("quiet", GENERAL, (ALL & ~(KEYGEN | INFO)) | GP_OF_PROGRAM | GP_OF_PROCESS,
         "no progress and no notes, only results and errors", .letter = 'q'),
    FLAG("help", GENERAL, ALL | GP_OF_COMMAND_LINE, "show this and end", .letter = 'h'),
};
const size_t gp_option_table_size = sizeof gp_option_table / sizeof *gp_option_table;
