// writing.c: small parsers, by hand: what they take does not depend on the locale.
#define _GNU_SOURCE // strptime, memmem
#include "data/writing.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum { NUMBER_BYTES = 64, DATE_BYTES = 128 };

const char *gp_writing_name(gp_writing as)
{
    static const char *const names[] = {"plain", "point", "comma", "ymd", "dmy", "mdy", "format", "clock"};
    return names[as];
}

bool gp_writing_is_date(gp_writing as)
{
    return as >= GP_WRITING_YMD && as <= GP_WRITING_FORMAT;
}

static gp_text trim(gp_text t)
{
    while (t.n && isspace((unsigned char)*t.p)) t.p++, t.n--;
    while (t.n && isspace((unsigned char)t.p[t.n - 1])) t.n--;
    return t;
}

// ---- numbers --------------------------------------------------------------------------------------------------------
static bool drop_front(gp_text *t, const char *word)
{
    const size_t n = strlen(word);
    if (t->n < n || strncasecmp(t->p, word, n) != 0) return false;
    t->p += n, t->n -= n;
    *t = trim(*t);
    return true;
}

static bool drop_back(gp_text *t, const char *word)
{
    const size_t n = strlen(word);
    if (t->n < n || strncasecmp(t->p + t->n - n, word, n) != 0) return false;
    t->n -= n;
    *t = trim(*t);
    return true;
}

// Signs of units that say nothing about the number.
static void drop_units(gp_text *t)
{
    static const char *const words[] = {"$", "€", "£", "¥", "₹", "USD", "EUR", "GBP", "JPY", "CHF"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (drop_front(t, words[i])) break;
    if (drop_back(t, "%")) return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (drop_back(t, words[i])) return;
}

// A minus before or behind it, as typography or accountants write it; a plus says nothing.
static bool drop_minus(gp_text *t)
{
    if (drop_front(t, "-") || drop_front(t, "−") || drop_back(t, "-")) return true;
    (void)drop_front(t, "+");
    if (t->n <= 2 || t->p[0] != '(' || t->p[t->n - 1] != ')') return false;
    *t = trim((gp_text){.p = t->p + 1, .n = t->n - 2});
    return true;
}

// The blanks that typography puts between thousands; how many bytes one takes.
static size_t blank_bytes(gp_text t, size_t i)
{
    if (t.p[i] == ' ' || t.p[i] == '\'') return 1;
    if (i + 1 < t.n && memcmp(t.p + i, "\xc2\xa0", 2) == 0) return 2;
    return i + 2 < t.n && memcmp(t.p + i, "\xe2\x80\xaf", 3) == 0 ? 3 : 0;
}

static size_t count_digits(gp_text t, size_t i)
{
    size_t n = 0;
    while (i + n < t.n && isdigit((unsigned char)t.p[i + n])) n++;
    return n;
}

// Groups of three behind a first one of one to three, all set apart alike; *i moves behind them.
static bool copy_groups(gp_text t, size_t *i, char thousands, char *out, size_t *n)
{
    size_t digits = count_digits(t, *i), apart = 0;
    if (digits == 0 || *n + digits >= NUMBER_BYTES) return false;
    memcpy(out + *n, t.p + *i, digits);
    *n += digits, *i += digits;
    const char *separator = *i < t.n ? t.p + *i : NULL;
    if (separator) apart = *separator == thousands ? 1 : blank_bytes(t, *i);
    if (!apart || digits > 3) return true;
    while (*i + apart <= t.n && memcmp(t.p + *i, separator, apart) == 0) {
        if (count_digits(t, *i + apart) != 3 || *n + 3 >= NUMBER_BYTES) return false;
        memcpy(out + *n, t.p + *i + apart, 3);
        *n += 3, *i += apart + 3;
    }
    return true;
}

static bool read_number(gp_text t, char point, char thousands, double *value)
{
    char digits[NUMBER_BYTES + 2];
    size_t n = 0, i = 0;
    bool negative = drop_minus(&t);
    drop_units(&t);
    if (!negative) negative = drop_minus(&t);
    if (t.n == 0 || t.n >= NUMBER_BYTES) return false;
    if (t.p[0] != point && !copy_groups(t, &i, thousands, digits, &n)) return false;
    if (i < t.n && t.p[i] == point) {
        digits[n++] = '.';
        const size_t m = count_digits(t, ++i);
        if ((m == 0 && n == 1) || n + m >= NUMBER_BYTES) return false;
        memcpy(digits + n, t.p + i, m);
        n += m, i += m;
    }
    if (i < t.n && (t.p[i] == 'e' || t.p[i] == 'E')) {
        while (i < t.n && n < NUMBER_BYTES && strchr("eE+-0123456789", t.p[i])) digits[n++] = t.p[i++];
    }
    if (i != t.n || n == 0) return false;
    digits[n] = 0;
    char *end;
    *value = strtod(digits, &end);
    if (negative) *value = -*value;
    return *end == 0 && isfinite(*value);
}

// ---- dates ----------------------------------------------------------------------------------------------------------
typedef struct cursor {
    const char *p, *end;
} cursor;

static void skip_blanks(cursor *c)
{
    while (c->p < c->end && isspace((unsigned char)*c->p)) c->p++;
}

static bool take_digits(cursor *c, int *value, int *n)
{
    for (*value = *n = 0; c->p < c->end && isdigit((unsigned char)*c->p) && *n < 4; c->p++, ++*n)
        *value = 10 * *value + (*c->p - '0');
    return *n > 0 && !(c->p < c->end && isdigit((unsigned char)*c->p));
}

static bool take_char(cursor *c, const char *any)
{
    if (c->p >= c->end || !strchr(any, *c->p)) return false;
    c->p++;
    return true;
}

// A whole word, in small letters.
static bool take_word(cursor *c, const char *word)
{
    const size_t n = strlen(word);
    if ((size_t)(c->end - c->p) < n || strncasecmp(c->p, word, n) != 0) return false;
    if (c->p + n < c->end && isalpha((unsigned char)c->p[n])) return false;
    c->p += n;
    return true;
}

// Jan, January, Sept; 0 where it is none.
static int take_month_name(cursor *c)
{
    static const char *const names[] = {"january", "february", "march",     "april",   "may",      "june",
                                        "july",    "august",   "september", "october", "november", "december"};
    size_t n = 0;
    while (c->p + n < c->end && isalpha((unsigned char)c->p[n])) n++;
    for (int m = 0; n >= 3 && m < 12; m++) {
        if (n > strlen(names[m]) || strncasecmp(c->p, names[m], n) != 0) continue;
        if (n != 3 && n != strlen(names[m]) && !(m == 8 && n == 4)) continue;
        c->p += n;
        (void)take_char(c, ".");
        return m + 1;
    }
    return 0;
}

static void skip_weekday(cursor *c)
{
    static const char *const names[] = {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"};
    size_t n = 0;
    while (c->p + n < c->end && isalpha((unsigned char)c->p[n])) n++;
    for (size_t i = 0; n >= 3 && i < 7; i++) {
        if (n > strlen(names[i]) || strncasecmp(c->p, names[i], n) != 0) continue;
        if (n != 3 && n != strlen(names[i])) continue;
        c->p += n;
        (void)take_char(c, ".,");
        (void)take_char(c, ",");
        skip_blanks(c);
        return;
    }
}

static double days_of(int year, int month, int day) // since 2000-01-01
{
    const int y = year - (month <= 2), era = (y >= 0 ? y : y - 399) / 400, yoe = y - era * 400;
    const int doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    const int doe = yoe * 365 + yoe / 4 - yoe / 100 + doy;
    return (double)era * 146097 + doe - 730425;
}

static bool is_day(int year, int month, int day)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

static bool days_until(int year, int month, int day, double *days)
{
    if (!is_day(year, month, day)) return false;
    *days = days_of(year, month, day);
    return true;
}

static int whole_year(int year, int digits)
{
    return digits == 4 ? year : year + (year < 69 ? 2000 : 1900);
}

static bool take_year(cursor *c, int *year)
{
    int digits = 0;
    if (!take_digits(c, year, &digits) || (digits != 4 && digits != 2)) return false;
    *year = whole_year(*year, digits);
    return true;
}

static bool take_long_year(cursor *c, int *year)
{
    int digits = 0;
    return take_digits(c, year, &digits) && digits == 4;
}

static bool take_day(cursor *c, int *day) // 8, 08 or 8th
{
    static const char *const endings[] = {"st", "nd", "rd", "th"};
    int n = 0;
    if (!take_digits(c, day, &n) || n > 2) return false;
    for (size_t i = 0; i < 4 && !take_word(c, endings[i]); i++) {}
    return true;
}

// What stands between the parts of a date with a name in it.
static bool take_gap(cursor *c)
{
    const bool apart = take_char(c, "-/,. ");
    skip_blanks(c);
    return apart;
}

// "15-Nov-2020", "15 November 2020", "November 15th, 2020", "2020-Nov-15": the order is plain to see.
static bool take_named_date(cursor *c, gp_writing as, double *days)
{
    int year = 0, month = 0, day = 0;
    if (as == GP_WRITING_YMD) {
        if (!take_long_year(c, &year) || !take_gap(c)) return false;
        month = take_month_name(c);
        return month && take_gap(c) && take_day(c, &day) && days_until(year, month, day, days);
    }
    if (as == GP_WRITING_DMY) {
        if (!take_day(c, &day)) return false;
        (void)take_gap(c); // 15Nov2020
    }
    month = take_month_name(c);
    (void)take_gap(c);
    if (!month || (as == GP_WRITING_MDY && (!take_day(c, &day) || !take_gap(c)))) return false;
    return take_year(c, &year) && days_until(year, month, day, days);
}

static bool take_numeric_date(cursor *c, gp_writing as, double *days)
{
    int value[3], digits[3];
    if (!take_digits(c, &value[0], &digits[0]) || c->p >= c->end || !strchr("-/. ", *c->p)) return false;
    const char separator[2] = {*c->p, 0};
    for (int i = 1; i < 3; i++)
        if (!take_char(c, separator) || !take_digits(c, &value[i], &digits[i])) return false;
    const int y = as == GP_WRITING_YMD ? 0 : 2, m = as == GP_WRITING_DMY ? 1 : as == GP_WRITING_MDY ? 0 : 1;
    const int d = 3 - y - m;
    if (digits[m] > 2 || digits[d] > 2 || (digits[y] != 4 && (digits[y] != 2 || as == GP_WRITING_YMD))) return false;
    if (*separator == '.' && digits[y] == 2 && digits[m] + digits[d] != 4) return false;   // 1.12.10 is a version
    if (*separator == ' ' && (digits[y] != 4 || digits[m] + digits[d] != 4)) return false; // 5 10 15 is a list
    return days_until(whole_year(value[y], digits[y]), value[m], value[d], days);
}

// "20201115", before a time: without one it is a number.
static bool take_compact_date(cursor *c, gp_writing as, double *days)
{
    int value = 0, n = 0;
    for (; c->p < c->end && isdigit((unsigned char)*c->p) && n < 8; c->p++, n++) value = 10 * value + (*c->p - '0');
    return as == GP_WRITING_YMD && n == 8 && c->p < c->end && strchr("Tt ", *c->p) &&
           days_until(value / 10000, value / 100 % 100, value % 100, days);
}

// "2020-W46", "2020-W46-7" (ISO 8601): weeks begin on Mondays, and the first one has January 4 in it.
static bool take_week(cursor *c, gp_writing as, double *days)
{
    int year = 0, week = 0, day = 1, n = 0;
    if (as != GP_WRITING_YMD || !take_long_year(c, &year)) return false;
    (void)take_char(c, "-");
    if (!take_char(c, "Ww") || !take_digits(c, &week, &n) || n != 2 || week < 1 || week > 53) return false;
    if (take_char(c, "-") && (!take_digits(c, &day, &n) || day < 1 || day > 7)) return false;
    const double fourth = days_of(year, 1, 4),
                 weekday = fourth + 5 - 7 * floor((fourth + 5) / 7); // 2000-01-01: Saturday
    *days = fourth - weekday + 7 * (week - 1) + day - 1;
    return true;
}

static int take_quarter(cursor *c) // its first month, or 0
{
    int quarter = 0, n = 0;
    const bool is = take_char(c, "Qq") && take_digits(c, &quarter, &n) && n == 1 && quarter >= 1 && quarter <= 4;
    return is ? 3 * quarter - 2 : 0;
}

static int take_month(cursor *c)
{
    int month = 0, n = 0;
    return take_digits(c, &month, &n) && n <= 2 ? month : 0;
}

// "2020-11", "2020-Q4", "2020Q4", "11/2020", "Nov 2020", "Q4 2020": the first day of it.
static bool take_period(cursor *c, gp_writing as, double *days)
{
    int year = 0, month = 0;
    if (as == GP_WRITING_YMD) {
        if (!take_long_year(c, &year)) return false;
        const bool apart = take_char(c, "-/");
        month = c->p < c->end && !isdigit((unsigned char)*c->p) ? take_quarter(c) : apart ? take_month(c) : 0;
        return days_until(year, month, 1, days);
    }
    if (as != GP_WRITING_MDY || c->p >= c->end) return false;
    if (isdigit((unsigned char)*c->p))
        month = take_month(c);
    else if (!(month = take_month_name(c)))
        month = take_quarter(c);
    return take_gap(c) && take_long_year(c, &year) && days_until(year, month, 1, days);
}

static bool take_compact_time(cursor *c, int *hour, int *minute, double *second)
{
    int value = 0;
    if (c->end - c->p < 6) return false;
    for (int i = 0; i < 6; i++) {
        if (!isdigit((unsigned char)c->p[i])) return false;
        value = 10 * value + (c->p[i] - '0');
    }
    c->p += 6;
    *hour = value / 10000, *minute = value / 100 % 100, *second = value % 100;
    return true;
}

// "14:00", "14:00:05.25", "140005", "2 PM", "2:00 p.m.", then Z, UTC, GMT or an offset. Nothing at all is midnight.
static bool take_time(cursor *c, double *seconds)
{
    int hour = 0, minute = 0, n = 0;
    double second = 0;
    *seconds = 0;
    if (c->p == c->end) return true;
    if (!take_char(c, "Tt")) (void)take_char(c, ",");
    skip_blanks(c);
    if (take_word(c, "at")) skip_blanks(c);
    const bool compact = take_compact_time(c, &hour, &minute, &second);
    if (!compact && (!take_digits(c, &hour, &n) || n > 2)) return false;
    const bool minutes = compact || take_char(c, ":");
    if (minutes && !compact && (!take_digits(c, &minute, &n) || n != 2)) return false;
    if (minutes && !compact && take_char(c, ":")) {
        int whole;
        if (!take_digits(c, &whole, &n) || n != 2) return false;
        second = whole;
        if (take_char(c, ".,"))
            for (double unit = 0.1; c->p < c->end && isdigit((unsigned char)*c->p); unit /= 10)
                second += unit * (*c->p++ - '0');
    }
    skip_blanks(c);
    bool half = false;
    if (c->p < c->end && strchr("aApP", *c->p)) {
        const bool after = *c->p == 'p' || *c->p == 'P';
        c->p++;
        (void)take_char(c, ".");
        if (!take_char(c, "mM") || hour < 1 || hour > 12) return false;
        (void)take_char(c, ".");
        hour = hour % 12 + (after ? 12 : 0);
        half = true;
    }
    if (!minutes && !half) return false;
    if (hour > 24 || minute > 59 || second >= 61 || (hour == 24 && (minute || second > 0))) return false;
    *seconds = 3600.0 * hour + 60.0 * minute + second;
    skip_blanks(c);
    if (take_word(c, "z") || take_word(c, "utc") || take_word(c, "gmt") || c->p == c->end) return c->p == c->end;
    const bool ahead = *c->p == '+';
    int off = 0, off_minutes = 0;
    if (!take_char(c, "+-") || !take_digits(c, &off, &n)) return false;
    if (n == 4)
        off_minutes = off % 100, off /= 100;
    else if (n != 2 || (take_char(c, ":") && (!take_digits(c, &off_minutes, &n) || n != 2)))
        return false;
    *seconds -= (ahead ? 1 : -1) * (3600.0 * off + 60.0 * off_minutes);
    return c->p == c->end && off <= 15 && off_minutes <= 59;
}

// "Mon Apr 8 20:11:00 UTC 2019", as programs of old write it: the year behind the time.
static bool read_late_year(cursor c, gp_writing as, double *value)
{
    int year = 0, day = 0;
    double days, seconds;
    const int month = as == GP_WRITING_MDY ? take_month_name(&c) : 0;
    if (!month || !take_gap(&c) || !take_day(&c, &day)) return false;
    cursor time = c;
    while (time.end > time.p && !isspace((unsigned char)time.end[-1])) time.end--;
    c.p = time.end;
    while (time.end > time.p && isspace((unsigned char)time.end[-1])) time.end--;
    if (time.p == time.end || !take_long_year(&c, &year) || c.p != c.end) return false;
    if (!days_until(year, month, day, &days) || !take_time(&time, &seconds)) return false;
    *value = 86400 * days + seconds;
    return true;
}

static bool take_pair(const char *p, int most, int *value)
{
    *value = 10 * (p[0] - '0') + p[1] - '0';
    return isdigit((unsigned char)p[0]) && isdigit((unsigned char)p[1]) && *value <= most;
}

// "2020-11-15", "2020-11-15 14:00", "2020-11-15T14:00:05": most dates of most files, in few instructions.
static bool read_iso(gp_text t, double *value)
{
    int century, year, month, day, part[3] = {0};
    const char *p = t.p;
    if (t.n != 10 && t.n != 16 && t.n != 19) return false;
    if (!take_pair(p, 99, &century) || !take_pair(p + 2, 99, &year) || p[4] != '-' || p[7] != '-') return false;
    if (!take_pair(p + 5, 12, &month) || !take_pair(p + 8, 31, &day) || (t.n > 10 && p[10] != ' ' && p[10] != 'T'))
        return false;
    for (size_t i = 0; 13 + 3 * i <= t.n; i++)
        if (!take_pair(p + 11 + 3 * i, i ? 59 : 23, &part[i]) || (i && p[10 + 3 * i] != ':')) return false;
    if (!is_day(100 * century + year, month, day)) return false;
    *value = 86400 * days_of(100 * century + year, month, day) + 3600.0 * part[0] + 60.0 * part[1] + part[2];
    return true;
}

static bool read_date(gp_text t, gp_writing as, double *value)
{
    if (as == GP_WRITING_YMD && read_iso(t, value)) return true;
    static bool (*const takes[])(cursor *, gp_writing, double *) = {take_numeric_date, take_named_date,
                                                                    take_compact_date, take_week, take_period};
    cursor start = {.p = t.p, .end = t.p + t.n};
    skip_weekday(&start);
    for (size_t i = 0; i < sizeof takes / sizeof *takes; i++) {
        cursor c = start;
        double days, seconds;
        if (!takes[i](&c, as, &days) || !take_time(&c, &seconds)) continue;
        *value = 86400 * days + seconds;
        return true;
    }
    return read_late_year(start, as, value);
}

// "2:15 PM": seconds since midnight. "10:00-12:00" is no time with an offset.
static bool read_clock(gp_text t, double *value)
{
    cursor c = {.p = t.p, .end = t.p + t.n};
    const bool zone = memchr(t.p, '-', t.n) || memchr(t.p, '+', t.n);
    return isdigit((unsigned char)*t.p) && !zone && take_time(&c, value);
}

static bool read_format(gp_text t, const char *format, double *value)
{
    char text[DATE_BYTES];
    if (!format || t.n == 0 || t.n >= sizeof text || memchr(t.p, 0, t.n)) return false;
    memcpy(text, t.p, t.n);
    text[t.n] = 0;
    struct tm tm = {.tm_mday = 1};
    const char *end = strptime(text, format, &tm);
    if (!end || *end) return false;
    const int year = tm.tm_year + 1900;
    if (!is_day(year, tm.tm_mon + 1, tm.tm_mday)) return false;
    *value = 86400 * days_of(year, tm.tm_mon + 1, tm.tm_mday) + 3600.0 * tm.tm_hour + 60.0 * tm.tm_min + tm.tm_sec;
    return true;
}

bool gp_writing_read(gp_text text, gp_writing as, const char *format, double *value)
{
    const gp_text t = trim(text);
    if (t.n == 0) return false;
    switch (as) {
    case GP_WRITING_PLAIN:
    case GP_WRITING_POINT:
        return read_number(t, '.', ',', value);
    case GP_WRITING_COMMA:
        return read_number(t, ',', '.', value);
    case GP_WRITING_YMD:
    case GP_WRITING_DMY:
    case GP_WRITING_MDY:
        return t.n < DATE_BYTES && read_date(t, as, value);
    case GP_WRITING_FORMAT:
        return read_format(t, format, value);
    case GP_WRITING_CLOCK:
        return t.n < DATE_BYTES && read_clock(t, value);
    case GP_WRITING_KINDS:
        break;
    }
    return false;
}

bool gp_writing_has_short_year(gp_text text, gp_writing as, const char *format)
{
    size_t run = 0;
    if (as == GP_WRITING_FORMAT) return strstr(format, "%y") != NULL;
    for (size_t i = 0; i < text.n; i++) {
        run = isdigit((unsigned char)text.p[i]) ? run + 1 : 0;
        if (run == 4) return false;
    }
    return true;
}

gp_writing gp_writing_order(const gp_text *texts, size_t n, bool *unsure)
{
    size_t ymd = 0, dmy = 0, mdy = 0, slashes = 0, differ = 0;
    for (size_t i = 0; i < n; i++) {
        double day_first = 0, month_first = 0, ignored;
        if (!texts[i].p) continue;
        const bool is_dmy = gp_writing_read(texts[i], GP_WRITING_DMY, NULL, &day_first);
        const bool is_mdy = gp_writing_read(texts[i], GP_WRITING_MDY, NULL, &month_first);
        ymd += gp_writing_read(texts[i], GP_WRITING_YMD, NULL, &ignored);
        dmy += is_dmy, mdy += is_mdy;
        differ += is_dmy && is_mdy && day_first != month_first;
        slashes += memchr(texts[i].p, '/', texts[i].n) != NULL;
    }
    *unsure = false;
    if (!ymd && !dmy && !mdy) return GP_WRITING_PLAIN;
    if (ymd >= dmy && ymd >= mdy) return GP_WRITING_YMD;
    if (dmy != mdy) return dmy > mdy ? GP_WRITING_DMY : GP_WRITING_MDY;
    *unsure = differ > 0;
    return 2 * slashes > n ? GP_WRITING_MDY : GP_WRITING_DMY;
}

// ---- columns with slips ---------------------------------------------------------------------------------------------
gp_text gp_writing_unit(gp_text text)
{
    const gp_text t = trim(text);
    size_t end = t.n;
    if (t.n == 0 || !strchr("+-.0123456789", *t.p)) return (gp_text){0};
    while (end && !isdigit((unsigned char)t.p[end - 1])) end--;
    const gp_text unit = trim((gp_text){.p = t.p + end, .n = t.n - end});
    const bool good = end && unit.n && unit.n < GP_UNIT_BYTES && (isalpha((unsigned char)*unit.p) || *unit.p < 0);
    return good ? unit : (gp_text){.p = t.p + end, .n = 0};
}

// "385 - 440": between two numbers, of which the second is the larger, stands a dash.
static bool read_range(gp_text t, gp_writing as, double *value)
{
    static const char *const dashes[] = {"-", "\xe2\x80\x93", "to"};
    for (size_t i = 0; i < sizeof dashes / sizeof *dashes; i++) {
        const char *dash = t.n > 2 ? memmem(t.p + 1, t.n - 2, dashes[i], strlen(dashes[i])) : NULL;
        if (!dash) continue;
        double from, to;
        const gp_text before = trim((gp_text){.p = t.p, .n = (size_t)(dash - t.p)});
        const char *behind = dash + strlen(dashes[i]);
        const gp_text after = trim((gp_text){.p = behind, .n = (size_t)(t.p + t.n - behind)});
        if (!before.n || !after.n || !gp_writing_read(before, as, NULL, &from) ||
            !gp_writing_read(after, as, NULL, &to) || from < 0 || to < from)
            return false;
        *value = from + (to - from) / 2;
        return true;
    }
    return false;
}

gp_rough gp_writing_read_rough(gp_text text, gp_writing as, const char *unit, double *value)
{
    gp_text t = trim(text);
    const size_t n = unit ? strlen(unit) : 0;
    if (n) {
        if (t.n <= n || strncasecmp(t.p + t.n - n, unit, n) != 0) return GP_ROUGH_NONE;
        t = trim((gp_text){.p = t.p, .n = t.n - n});
    }
    if (!t.n) return GP_ROUGH_NONE;
    if (gp_writing_read(t, as, NULL, value)) return GP_ROUGH_NUMBER;
    return read_range(t, as, value) ? GP_ROUGH_RANGE : GP_ROUGH_NONE;
}
