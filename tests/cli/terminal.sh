#!/usr/bin/env bash
# terminal.sh ADVGP: what the program prints on a terminal fits it, at 80, 60 and 40 columns, while the window is resized,
# and without colours where none are wanted; names are as wide as they look. Needs tmux.
command -v tmux >/dev/null || { echo "skipped: tmux is not installed"; exit 77; }
source "$(dirname "$0")/train_common.sh"
unset NO_COLOR COLUMNS
export LC_ALL=C.UTF-8
command -v locale >/dev/null && ! locale -a 2>/dev/null | grep -qi 'c\.utf-\?8' && { echo "skipped: no locale C.UTF-8"; exit 77; }
socket=advgp-$$
tm() { tmux -L "$socket" -f /dev/null "$@"; }
trap 'tm kill-server 2>/dev/null; finish' EXIT

tm new-session -d -x 80 -y 5 -s keep "sleep 100000" || { echo "skipped: tmux does not start"; exit 77; } # the server stays
# Columns of every kind of name, thirty of them with gaps.
awk 'BEGIN { srand(5); printf "température (°C),温度計,é,a_rather_long_name_of_a_column_that_goes_on_and_on"
  for (k = 1; k <= 30; k++) printf ",gap%02d", k
  print ",y"
  for (i = 0; i < 700; i++) { a = rand(); b = rand(); printf "%.4f,%.4f,%.4f,%.4f", a, b, rand(), rand()
    for (k = 1; k <= 30; k++) if (rand() < 0.1) printf ","; else printf ",%.3f", rand()
    printf ",%.5f\n", 3 + sin(6 * a) + b + 0.2 * rand() } }' >in/wide.csv
table 60000 >in/long.csv

at_the_end() { tm capture-pane -p -S - -t t >screen; grep -q '^the end: ' screen; }
# on COLUMNS COMMAND...: runs it in a window of that width, with a mark behind, and leaves what stood there in screen
on() {
  local columns=$1 i
  shift
  tm kill-session -t t 2>/dev/null
  tm new-session -d -x "$columns" -y 50 -s t "cd '$scratch'; $*; echo \"the end: \$?\"; sleep 100000" || { tell "no tmux"; return 1; }
  until_true at_the_end
  grep -q '^the end: 0' screen || tell "$* at $columns columns: $(tail -n 3 screen)"
}
# A terminal breaks what is too wide: then two lines of the screen are one line of the program (capture-pane -J joins them).
fits() { # NAME COLUMNS COMMAND...
  n_cases=$((n_cases + 1))
  local name=$1 columns=$2
  shift
  on "$@"
  tm capture-pane -p -J -S - -t t | sed 's/ *$//' >joined
  awk 'NF' screen | sed 's/ *$//' >rows
  awk 'NF' joined >lines
  cmp -s rows lines || tell "$name at $columns columns has lines that do not fit: $(diff rows lines | head -n 4)"
}

"$advgp" train in/wide.csv --target y --method linear -o out/wide --quiet >said.out 2>said.err || tell "no model: $(cat said.err)"
"$advgp" train in/long.csv --target y --method advgp --components 4 -m 20 --epochs 1 --cells 4 -o out/long --quiet >said.out 2>said.err || tell "no model: $(cat said.err)"
for columns in 80 60 40; do
  fits help $columns "'$advgp' train --help" # option_test has the others
  fits inspect $columns "'$advgp' inspect out/wide"
  fits "inspect of cells" $columns "'$advgp' inspect out/long --all"
  fits evaluate $columns "'$advgp' evaluate out/wide in/wide.csv"
  fits explain $columns "'$advgp' explain out/wide in/wide.csv --rows 1-2"
  fits info $columns "'$advgp' info"
done
fits "evaluate by" 80 "'$advgp' evaluate out/long in/long.csv --by x1"
fits compare 80 "'$advgp' compare in/wide.csv --target y --methods linear,advgp-natural,mean --epochs 1 -m 8"
fits compare 60 "'$advgp' compare in/wide.csv --target y --methods linear,mean,svigp --epochs 1 -m 8"
fits train 80 "'$advgp' train in/long.csv --target y --components 1 -m 20 --epochs 3 --cells 4 -o out/m"
grep -qE '^(steps|finish|cells|reading|noise)' screen && tell "the live line is still there: $(cat screen)"
fits "train, wide" 60 "'$advgp' train in/wide.csv --target y --method linear -o out/m"
[[ $(grep -c 'missing' screen) -le 2 ]] && grep -q '30 columns have missing values' screen || tell "30 columns with gaps are $(grep -c note: screen) notes: $(cat screen)"

# Names are as wide as they look: the numbers behind them stand in one column.
n_cases=$((n_cases + 1))
on 80 "'$advgp' inspect out/wide"
sed -n '/^  column /,/less relevant/p' screen >names
perl -CSD -ne 'next if /less relevant/; next unless /^  (\S.*?\S)\s\s+\S/ || /^  (.{20,})\s/; my $w = 0;
  for (split //) { last if /\n/; $w += /\p{East_Asian_Width=Wide}/ ? 2 : /\p{Mn}/ ? 0 : 1 } print "$w\n"' names | sort -u >widths
(($(grep -c . widths) <= 1)) || tell "lines of different width in the table of inspect: $(cat names)"
grep -q '20 of 6[0-9] columns are shown: --all' screen || tell "inspect shows all columns: $(tail -n 4 screen)"
grep -q '温度計' screen && grep -q '(°C)' screen || tell "names are lost: $(cat names)"

# A bar, a share and the time left are there while it runs; nothing is left of it when the window becomes narrower.
n_cases=$((n_cases + 1))
tm kill-session -t t 2>/dev/null
tm new-session -d -x 80 -y 50 -s t "cd '$scratch'; '$advgp' train in/long.csv --target y --components 1 -m 60 --epochs 40 --batch 60000 --patience inf --workers 1 --delay-worker 0:0.08 --cells none --noise constant -o out/m; echo \"the end: \$?\"; sleep 100000"
seen= width=80
for ((i = 0; i < 10 * hang; i++)); do
  tm capture-pane -p -t t >screen
  grep -q '^the end' screen && break
  grep -qE '^steps  .* [0-9]+ %  .*left  .*rows/s' screen && seen=yes
  (($(grep -cE '^(steps|finish|reading|pilot)' screen) <= 1)) || tell "several live lines at $width columns: $(cat screen)"
  ((i == 12)) && width=50 && tm resize-window -t t -x 50 -y 50
  ((i == 18)) && width=70 && tm resize-window -t t -x 70 -y 50
  sleep 0.1
done
[[ $seen ]] || tell "no live line with a share, the time left and rows a second"
grep -qE '^(steps|finish)' screen && tell "resized: the live line is still there: $(cat screen)"

# No escape where no terminal is, or a dumb one, or no colours are wanted.
n_cases=$((n_cases + 1))
"$advgp" train in/long.csv --target y --components 1 -m 20 --epochs 1 --cells none -o out/m >said.out 2>said.err
grep -q $'\033' said.out said.err && tell "escapes in a file"
script=$(command -v script) && {
  for setting in TERM=dumb NO_COLOR=1; do
    env $setting "$script" -qec "'$advgp' train in/long.csv --target y --components 1 -m 20 --epochs 2 --cells none -o out/m" /dev/null </dev/null >out/typed 2>&1
    [[ $setting == NO_COLOR=1 ]] && grep -q $'\033\[3' out/typed && tell "$setting: there are colours"
    [[ $setting == TERM=dumb ]] && grep -q $'\033' out/typed && tell "$setting: there are escapes"
  done
}
end_report 25
