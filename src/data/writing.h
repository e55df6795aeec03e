// writing.h: numbers and dates as people write them: 1,200.50 and 1.200,50, $1,200, 5.1 %; 31.12.2020 14:00,
// 12/31/2020 2:00 PM, 15-Nov-2020, November 15, 2020, 2020-W46, Nov 2020; 2:15 PM. A column is written in one way;
// which one is settled by all its values (readings.c) and kept in the schema, since 01/02/2020 alone does not tell.
#pragma once
#include "data/source.h"

typedef enum gp_writing {
    GP_WRITING_PLAIN,  // as a program writes it
    GP_WRITING_POINT,  // a number; a point before decimals, commas between thousands
    GP_WRITING_COMMA,  // a number; the other way round
    GP_WRITING_YMD,    // a date; year, month, day
    GP_WRITING_DMY,    // day first
    GP_WRITING_MDY,    // month first
    GP_WRITING_FORMAT, // a date; by a format of strptime
    GP_WRITING_CLOCK,  // a number; a time of day
    GP_WRITING_KINDS
} gp_writing;

const char *gp_writing_name(gp_writing as); // in JSON: "plain", "point", "dmy", ...
bool gp_writing_is_date(gp_writing as);

// The whole text, blanks around it allowed. A number may have a sign, a currency sign before or behind it, a percent
// sign (which is dropped) and groups of three digits set apart by a comma, a blank or an apostrophe. A date may have a
// time behind it, with seconds, AM or PM, Z, UTC, GMT or an offset; its value is in seconds since 2000-01-01 00:00.
// Months have names or numbers, years four digits or two (69 to 99 are in the last century); of a month, a quarter or
// an ISO week it is the first day. A time of day is in seconds since midnight.
bool gp_writing_read(gp_text text, gp_writing as, const char *format, double *value);

// A date, as that: is its year one of two digits?
bool gp_writing_has_short_year(gp_text text, gp_writing as, const char *format);

// In which order most of the texts are dates: YMD before others, and where day and month could change places, *unsure,
// as people write slashes (month first) and points. PLAIN where none of them is a date.
gp_writing gp_writing_order(const gp_text *texts, size_t n, bool *unsure);

// What stands behind the number in "34.46Sq. Meter" or "998 CC": letters and signs without a digit. Nothing (p is set,
// n is 0) behind a plain number; p is NULL where no number begins the text.
enum { GP_UNIT_BYTES = 16 };
gp_text gp_writing_unit(gp_text text);

// A number (POINT or COMMA) with that unit behind it (NULL or "": none), or a range of two, whose middle it then is.
typedef enum gp_rough { GP_ROUGH_NONE, GP_ROUGH_NUMBER, GP_ROUGH_RANGE } gp_rough;
gp_rough gp_writing_read_rough(gp_text text, gp_writing as, const char *unit, double *value);
