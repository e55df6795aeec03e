#!/usr/bin/env bash
# A double becomes a whole number by base/whole.h alone, which knows what to do with NaN and with what does not fit. clang's
# intermediate code of a file has one instruction for such a conversion, however it was written.    casts.sh PROJECT_ROOT BUILD_DIR
set -euo pipefail
command -v clang >/dev/null || { echo "skipped: no clang"; exit 77; }
root=$(cd "$1" && pwd)
python3 - "$root" "$2" <<'PYTHON'
import concurrent.futures, json, os, re, shlex, subprocess, sys

root, build = sys.argv[1:]
commands = {}
for entry in json.load(open(os.path.join(build, "compile_commands.json"))):
    inside = os.path.relpath(entry["file"], root)
    if inside.startswith("src/") and not inside.endswith("_test.c"):
        commands[entry["file"]] = entry


def arguments(entry):
    """What the preprocessor needs of the command: definitions and folders."""
    words, kept = shlex.split(entry["command"]), []
    for i, word in enumerate(words):
        if word in ("-I", "-isystem"):
            kept += [word, words[i + 1]]
        elif word.startswith(("-I", "-D", "-std=")):
            kept.append(word)
    return kept


def conversions(entry):
    run = subprocess.run(["clang", "-O0", "-gline-tables-only", "-w", "-S", "-emit-llvm", "-o", "-", *arguments(entry), entry["file"]],
                         cwd=entry["directory"], capture_output=True, text=True)
    if run.returncode:
        return {f"{entry['file']}: clang cannot read it: {run.stderr.splitlines()[0]}"}
    nodes = dict(re.findall(r"^!(\d+) = (.*)$", run.stdout, re.M))
    part = lambda node, name: re.search(rf"\b{name}: !?\"?([^,\")]*)", nodes[node])[1]
    found = set()
    for place in re.findall(r"fpto[su]i.*!dbg !(\d+)", run.stdout):
        file = part(part(part(place, "scope"), "file"), "filename")
        if not file.endswith("base/whole.h"):
            found.add(f"{os.path.relpath(file, root)}:{part(place, 'line')}: a double is cast to a whole number: use base/whole.h")
    return found


with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
    bad = sorted(set().union(*pool.map(conversions, commands.values())))
print("\n".join(bad) or f"{len(commands)} files, no such cast")
sys.exit(bool(bad) or not commands)
PYTHON
