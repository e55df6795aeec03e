#!/usr/bin/env bash
# Help, man pages and completion scripts show every option of the table, and the tools that read them do not complain.
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
(( bad == 0 )) && echo "$seen options, each in help, man page and three completion scripts"
exit $bad
