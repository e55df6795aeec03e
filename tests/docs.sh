#!/usr/bin/env bash
# Help, man pages and completion scripts show every option of the table, and the tools that read them do not complain;
# docs/recipe.md has the numbers of src/recipe/table.h.
#   docs.sh GENDOCS BUILD_FOLDER       prints what is missing, and fails if anything is
set -uo pipefail
gendocs=$1 build=$2 bad=0 seen=0
miss() { echo "$*"; bad=1; }
unskipped() { command -v "$1" >/dev/null && return; echo "skipped: $2 ($1 is not installed)"; return 1; }

declare -A help man
while read -r verb name letter alias kind; do
  seen=$((seen + 1))
  [[ -n ${help[$verb]+x} ]] || { help[$verb]=$("$gendocs" help "$verb"); man[$verb]=$(<"$build/man/advgp-$verb.1"); }
  grep -qE -- "(^|[ ,])--$name( |\$)" <<<"${help[$verb]}" || miss "help of $verb lacks --$name"
  roff="\\fB\\-\\-${name//-/\\-}\\fR"
  [[ ${man[$verb]} == *"$roff"* ]] || miss "advgp-$verb.1 lacks --$name"
  sed -n "/^    $verb) names=/p" "$build/completion/advgp.bash" | grep -- "--$name " >/dev/null || miss "bash completion of $verb lacks --$name"
  sed -n "/^    $verb)\$/,/;;/p" "$build/completion/_advgp" | grep -- "'\*\?--$name[=[]" >/dev/null || miss "zsh completion of $verb lacks --$name"
  grep -q -- "from $verb' -l $name\( \|\$\)" "$build/completion/advgp.fish" || miss "fish completion of $verb lacks --$name"
  if [[ $alias != - ]]; then
    grep -q -- "--$alias" <<<"${help[$verb]}" || miss "help of $verb lacks --$alias"
    for file in man/advgp-$verb.1 completion/advgp.bash completion/_advgp completion/advgp.fish; do
      grep -qF -e "$alias" -e "${alias//-/\\-}" "$build/$file" || miss "$file lacks $alias"
    done
  fi
  if [[ $letter != - ]]; then
    [[ ${help[$verb]} == *"-$letter, --$name"* && ${man[$verb]} == *"\\fB\\-$letter\\fR"* ]] || miss "help or man of $verb lacks -$letter"
  fi
done < <("$gendocs" options)
(( seen > 40 )) || miss "only $seen options were listed"

# the pages: no warning of the formatter
if unskipped man "formatting the man pages"; then
  for page in "$build"/man/*.1; do
    said=$(MANWIDTH=80 LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
    [[ -z $said ]] || miss "$page: $said"
  done
fi
if unskipped mandoc "a second opinion on the man pages"; then
  for page in "$build"/man/*.1; do
    said=$(mandoc -T lint -W warning "$page" 2>&1 | grep -v 'missing date')
    [[ -z $said ]] || miss "$said"
  done
fi

# the scripts: what a shell really offers behind a few words
ask_bash() { # words... : the completions of the last one
  bash -c 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _advgp; echo "${COMPREPLY[*]}"' "$build/completion/advgp.bash" "$@"
}
expect() { [[ $2 == "$3" ]] || miss "$1 offers '$2', not '$3'"; }
expect "bash: advgp p" "$(ask_bash advgp p)" "predict pack"
expect "bash: --kernel mat" "$(ask_bash advgp train --kernel mat)" "matern32 matern52"
expect "bash: --kernel = mat" "$(ask_bash advgp train --kernel = mat)" "matern32 matern52"
expect "bash: predict --in" "$(ask_bash advgp predict --in)" "--interval"
expect "bash: train --no-j" "$(ask_bash advgp train --no-j)" "--no-json"
expect "bash: train --inducing" "$(ask_bash advgp train --inducing '')" ""
if unskipped fish "asking fish"; then
  ask_fish() { fish --no-config -c "source '$build/completion/advgp.fish'; complete -C '$1'" | cut -f1 | tr '\n' ' '; }
  expect "fish: advgp p" "$(ask_fish 'advgp p')" "pack predict "
  expect "fish: --kernel mat" "$(ask_fish 'advgp train --kernel mat')" "matern32 matern52 "
  expect "fish: predict --in" "$(ask_fish 'advgp predict --in')" "--interval "
fi
grep -q -- "--kernel=.*(ard-rbf matern32 matern52)" "$build/completion/_advgp" || miss "zsh: --kernel offers no kernel"
if unskipped zsh "loading the zsh script"; then
  said=$(zsh -f -c "autoload -Uz compinit && compinit -D -u && source '$build/completion/_advgp' && echo \$_comps[advgp]" 2>&1)
  expect "zsh: the script registers" "$said" "_advgp"
fi

# docs/recipe.md repeats the numbers of src/recipe/table.h: both have the same
numbers_of_table() { # [TABLE_H]: a size class, a trial or a name with its numbers a line
  sed -e 's|//.*||' -e 's|/\*[^*]*\*/||g' "$@" | awk '
    function numbers(text) { gsub(/[{}]/, "", text); gsub(/ *, */, " ", text); return text }
    { line = $0 }
    /gp_size_classes\[\] = / { classes = 1; next }
    classes && /^};/ { classes = 0 }
    classes { while (match(line, /[{][^}]*[}]/)) { print "class", numbers(substr(line, RSTART, RLENGTH)); line = substr(line, RSTART + RLENGTH) } next }
    match(line, /X\([A-Z]+, "[a-z]+", [^,]+,/) && line !~ /define/ {
      split(substr(line, RSTART, RLENGTH), part, /, */); gsub(/"/, "", part[2])
      print "trial", part[2], 100 * (part[3] in value ? value[part[3]] : part[3]); next }
    { while (match(line, /(GP|gp)_[A-Za-z_]+ = ([{][0-9., ]+[}]|[0-9.]+)/)) {
        split(substr(line, RSTART, RLENGTH), part, / = /); value[part[1]] = part[2]
        print "number", part[1], numbers(part[2]); line = substr(line, RSTART + RLENGTH) } }'
}
numbers_of_page() { # [PAGE]: the same of its tables
  sed -E -e ':again; s/([0-9]),([0-9]{3})/\1\2/; t again' "$@" | awk -F ' *[|] *' '
    /^\| [0-9]+ \| (all|[0-9]+) \|/ { sub(/all/, 0, $3); print "class", $2, $3, $4, $5, $6, $7, $8 }
    /^\| `[a-z]+` \|.* % \|/ { gsub(/`/, "", $2); sub(/ %/, "", $5); print "trial", $2, $5 }
    /^\| `(GP|gp)_[A-Za-z_]+` \|/ { gsub(/`/, "", $2); gsub(/ *, */, " ", $3); print "number", $2, $3 }'
}
differ() { # NUMBERS_OF_TABLE NUMBERS_OF_PAGE: prints what does; names may stand in any order, classes and trials not
  diff <(grep -v '^number' <<<"$1"; grep '^number' <<<"$1" | sort) <(grep -v '^number' <<<"$2"; grep '^number' <<<"$2" | sort) |
    sed -n 's/^</in table.h:  /p; s/^>/in recipe.md:/p'
}
table=$(dirname "$0")/../src/recipe/table.h page=$(dirname "$0")/../docs/recipe.md
in_table=$(numbers_of_table "$table") in_page=$(numbers_of_page "$page")
said=$(differ "$in_table" "$in_page")
[[ -z $said ]] || miss "docs/recipe.md and src/recipe/table.h have other numbers:"$'\n'"$said"
for kind in class trial number; do
  (( $(grep -c "^$kind " <<<"$in_table") > 2 )) || miss "table.h: no $kind was found"
done
# the check itself: a number that changes alone, on either side, is seen
sees() { # FILE SED_SCRIPT
  if [[ $1 == "$table" ]]; then said=$(differ "$(sed -E "$2" "$1" | numbers_of_table)" "$in_page")
  else said=$(differ "$in_table" "$(sed -E "$2" "$1" | numbers_of_page)"); fi
  [[ -n $said ]] || miss "the check of numbers does not see $2 in ${1##*/}"
}
while read -r kind name rest; do
  case $kind in
    class) sees "$table" "s/\{$name, /{9$name, /" ;;
    trial) sees "$table" "s/(\"$name\", )[^,]+/\10.07/"; sees "$page" "s/^(\| \`$name\` (\|[^|]*){2}\| )[0-9.]+/\17/" ;;
    number) sees "$table" "s/($name = \{?)/\19/"; sees "$page" "s/^(\| \`$name\` \| )/\19/" ;;
  esac
done <<<"$in_table"
sees "$page" 's/^(\| 10,000 \|.*) 600 /\1 700 /'
(( bad == 0 )) && echo "$seen options, each in help, man page and three completion scripts; $(wc -l <<<"$in_table") lines of the recipe"
exit $bad
