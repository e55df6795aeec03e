#!/usr/bin/env bash
# Every Markdown file is wrapped at 120 columns, tables and code apart, and its links to files lead somewhere.
#     markdown.sh PROJECT_ROOT
set -euo pipefail
export LC_ALL=C.UTF-8 # columns are characters, not bytes
cd "$1"
bad=0
complain() { echo "$*"; bad=1; }

check_lines() { # FILE
    local line number=0 fence= before=blank
    while IFS= read -r line || [[ $line ]]; do
        number=$((number + 1))
        if [[ $line =~ ^[[:space:]]*(\`\`\`|~~~) ]]; then
            if [[ $fence ]]; then fence=; else fence=yes; fi
        elif [[ $fence || $line == '|'* ]]; then
            before=text
        elif [[ $line =~ ^[[:space:]]*$ ]]; then
            [[ $before == code ]] || before=blank
        elif [[ $line == '    '* && $before != text ]]; then
            before=code
        else
            before=text
            ((${#line} <= 120)) || complain "$1:$number: ${#line} columns, 120 are the most: wrap it"
        fi
    done <"$1"
}

check_links() { # FILE
    local number target
    while IFS=: read -r number target; do
        target=${target#'('} target=${target%')'} target=${target%%#*}
        case $target in '' | *://* | mailto:*) continue ;; esac
        [[ -e $(dirname "$1")/$target ]] || complain "$1:$number: there is no $target"
    done < <(grep -noP '\]\K\([^()\s]+\)' "$1" || true)
}

files=$(git ls-files '*.md')
[[ $files ]] || { echo "no Markdown files in $1"; exit 1; }
for file in $files; do
    check_lines "$file"
    check_links "$file"
done

# The check itself: a long line and a dead link are found, what is code or a table is not asked.
if [[ ${2-} != sample ]]; then
    sample=$(mktemp -d)
    trap 'rm -rf "$sample"' EXIT
    long=$(printf 'x%.0s' {1..121})
    git init -q "$sample"
    printf '# A\n\n    %s\n\n| %s |\n\n```\n%s\n```\n[here](b.md#c), [there](https://example.org/%s)\n' \
        "$long" "$long" "$long" x >"$sample/a.md"
    echo "text" >"$sample/b.md"
    git -C "$sample" add .
    "$0" "$sample" sample || complain "the check refuses a sample that is sound"
    echo "$long" >>"$sample/b.md"
    ! "$0" "$sample" sample >/dev/null || complain "the check does not see a long line"
    echo "[gone](c.md)" >"$sample/b.md"
    ! "$0" "$sample" sample >/dev/null || complain "the check does not see a dead link"
fi
exit $bad
