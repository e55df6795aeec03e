// inputs.h: what a user's path arguments mean: which files, of which kind, in which encoding, with which delimiter. No
// database here; duckdb.c is told the result.
#pragma once
#include "base/status.h"
#include "data/notes.h"
#include "data/strings.h"
#include "files/files.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum gp_file_kind { GP_FILE_CSV, GP_FILE_PARQUET, GP_FILE_JSON } gp_file_kind;

typedef struct gp_words {
    char **items;
    size_t n;
} gp_words;

typedef struct gp_input_file {
    char *path;  // what is opened; for a spooled copy a path of /proc/self/fd
    char *shown; // what messages say
    gp_file_kind kind;
    const char *compression; // "none", "gzip" or "zstd"
    int spool;               // descriptor of the unlinked copy, or -1
    // CSV only
    bool latin1;        // else UTF-8; UTF-16 was spooled as UTF-8
    bool plain_quotes;  // " it is, doubled inside: say so, lest an apostrophe is taken for one, or the first for text
    bool decimal_comma; // 1,5 between semicolons
    bool rare_missing;  // a field of its first lines is one of gp_rare_missing
    char delimiter;     // 0: not seen yet (compressed)
    bool no_header;     // its first line is a row of numbers; columns are called c1, c2, ...
    size_t n_header;    // names in the header line, or cells of that row; 0: not seen yet
    size_t skip;        // lines before the header: comments that begin with #, and sep= of Excel
    bool comments;      // there are such lines between the rows too
    bool mixed_ends;    // some lines end with CR LF, others with LF
    gp_file_dates dates;
    bool hive;        // a folder above it, below the one that was named, is called COLUMN=VALUE
    gp_header header; // as asked for, as the next two
    char asked_delimiter;
    const struct gp_words *na;
} gp_input_file;

typedef struct gp_input_table {
    char *name;            // the stem, or what gp_file_options.names says
    bool named;            // the latter
    size_t first, n_files; // in gp_inputs.files
} gp_input_table;

typedef struct gp_inputs {
    gp_input_file *files;
    size_t n_files, capacity;
    gp_input_table *tables; // one a path argument
    size_t n_tables;
    gp_words *na; // of all files
} gp_inputs;

// Every file that a path argument means: itself, those of a folder in the order of their names, those that match. A
// status of visit other than OK ends the walk. EDATA where nothing matches or a folder cannot be read.
typedef advgp_status (*gp_inputs_visit)(void *ctx, const char *path, advgp_error *err);
advgp_status gp_inputs_walk(const char *path, gp_inputs_visit visit, void *ctx, advgp_error *err);

// Expands, spools and sniffs. On failure *out is empty. EDATA for everything wrong with a file.
advgp_status gp_inputs_open(const gp_file_options *options, gp_notes *notes, gp_inputs *out, advgp_error *err);
void gp_inputs_fini(gp_inputs *inputs);

// ---- spool.c: copies that a second pass can read --------------------------------------------------------------------
typedef struct gp_spool_source {
    int fd;                // may be non-blocking
    const char *shown;     // what messages say
    const char *temporary; // as in gp_file_options, as the next three
    double limit_bytes;
    int (*stop)(void *ctx);
    void *stop_ctx;
} gp_spool_source;
// Copies fd to its end into an unlinked temporary file; *copy is its descriptor. ESTOPPED within a tenth of a second of
// stop() saying so; EDATA beyond the limit; EIO where the disk would have less than a gigabyte left (a twentieth of
// what was free, where that is less).
advgp_status gp_spool(const gp_spool_source *from, int *copy, advgp_error *err);
// The same from UTF-16 to UTF-8. A lone surrogate becomes U+FFFD.
advgp_status gp_spool_utf16(const gp_spool_source *from, bool big_endian, int *copy, advgp_error *err);

// ---- compressed.c ---------------------------------------------------------------------------------------------------
// EDATA where a file of compression "gzip" or "zstd" is cut off, or a gzip file does not match its checksums. Reads it
// all, wherever fd stands. ESTOPPED where options->stop says so.
advgp_status gp_compressed_check(int fd, const char *compression, const char *shown, const gp_file_options *options,
                                 advgp_error *err);

// ---- sniff.c: what the first bytes tell -----------------------------------------------------------------------------
enum { GP_HEAD_BYTES = 1 << 18 };
typedef enum gp_utf16 { GP_NOT_UTF16, GP_UTF16_LE, GP_UTF16_BE } gp_utf16;
gp_utf16 gp_sniff_utf16(const unsigned char *head, size_t n);
extern const char *const gp_rare_missing[]; // texts that seldom stand for a missing value, infinities among them
extern const size_t gp_rare_missing_size;
bool gp_is_missing_word(gp_text text); // one of them
// EDATA: two columns have names that are the same, but perhaps for capitals.
advgp_status gp_refuse_twins(const char *shown, size_t column, const char *name, size_t other_column, const char *other,
                             const char *way_out, advgp_error *err);
// EDATA where the file is of a kind that is not read, with a way to one that is: workbooks, archives, bzip2 and xz.
advgp_status gp_refuse_foreign(const char *shown, const unsigned char *head, size_t n, advgp_error *err);
// Kind and compression from the bytes and, where they do not tell, the name.
void gp_sniff_kind(gp_input_file *file, const unsigned char *head, size_t n);
// Delimiter, quotes, decimal comma, header. EDATA on binary junk and duplicate column names. Notes a missing header.
advgp_status gp_sniff_csv(gp_input_file *file, const unsigned char *head, size_t n, gp_notes *notes, advgp_error *err);

// ---- read_sql.c: the same in DuckDB's SQL ---------------------------------------------------------------------------
// Columns whose type is dictated to the CSV reader: sniffing a sample takes 1, 2, 3 for integers and then stumbles
// over 4.5.
typedef struct gp_forced_types {
    const char *const *names, *const *types;
    size_t n;
} gp_forced_types;
void gp_sql_read(gp_buffer *sql, const gp_input_file *files, size_t n, gp_forced_types forced); // "SELECT * FROM ..."
void gp_sql_path(gp_buffer *sql, const char *path); // a literal by which DuckDB opens this file and no other
void gp_sql_diagnose(gp_buffer *sql,
                     const gp_input_file *csv); // reads all as text with the header's width: finds the ragged line
void gp_sql_parquet_names(gp_buffer *sql, const gp_input_file *parquet); // name and num_children of its schema's nodes
void gp_sql_json_texts(gp_buffer *sql, const gp_input_file *json);       // its values as texts, one column
void gp_sql_head(gp_buffer *sql, const gp_input_file *csv); // first lines of a compressed file, one text column

// ---- file_error.c ---------------------------------------------------------------------------------------------------
// Turns DuckDB's message (several lines, addressed to SQL authors) into one sentence for the owner of the file.
advgp_status gp_file_error(const gp_inputs *inputs, bool user_sql, const char *message, advgp_error *err);
// Is the message that a value does not fit the kind of its column? Then both are told.
enum { GP_PIECE_BYTES = 160 };
bool gp_file_stumbled(const char *message, char column[GP_PIECE_BYTES], char value[GP_PIECE_BYTES]);
// Do some lines end with LF and others with CR LF? The same.
bool gp_file_mixes_ends(const gp_input_file *file);
// Is the CSV file, read as UTF-8 so far, none in its middle? Reads all of it; for when reading has failed.
bool gp_file_turns_latin1(const gp_input_file *file);
// The file of a message "Invalid unicode ... file = PATH", or NULL.
gp_input_file *gp_file_not_utf8(gp_inputs *inputs, const char *message);
