"""Packs the wheel: the package, the shared libraries that it needs, and their licences.

    wheel.py LIBADVGP DUCKDB_FOLDER OUTPUT_FOLDER       prints the path of the wheel

A wheel is a zip file with three texts about itself, so nothing but Python, ldd and objdump is needed. The same files
give the same bytes.
"""

import base64
import hashlib
import platform
import re
import subprocess
import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
VERSION = re.search(r'__version__ = "(.*?)"', (HERE / "advgp" / "_library.py").read_text()).group(1)

# Part of every Linux for which the tag below is true (the list of PEP 600); all else travels with us.
SYSTEM = re.compile(r"(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s))\.so.*")

METADATA = f"""Metadata-Version: 2.1
Name: advgp
Version: {VERSION}
Summary: Gaussian process regression for tables of any size
License: Apache-2.0
Requires-Python: >=3.9
Requires-Dist: numpy>=1.20
Provides-Extra: sklearn
Requires-Dist: scikit-learn>=1.0; extra == "sklearn"
Description-Content-Type: text/markdown

"""


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def libraries(advgp, duckdb):
    """libadvgp and all that it needs, by the name under which it is needed."""
    found = {"libadvgp.so.0": advgp.resolve()}
    for line in run("env", f"LD_LIBRARY_PATH={duckdb}", "ldd", str(advgp)).splitlines():
        name, _, path = line.strip().partition(" => ")
        if not path or SYSTEM.fullmatch(name):
            continue
        if path.startswith("not found"):
            sys.exit(f"package-wheel: {name}, which {advgp} needs, is not there")
        found[name] = Path(path.split(" (")[0]).resolve()
    return found


def tag(paths):
    """py3-none-manylinux_2_NN_MACHINE: of the newest C library whose functions are called."""
    called = "".join(run("objdump", "-T", str(path)) for path in paths)
    newest = max(map(int, re.findall(r"\bGLIBC_2\.(\d+)", called)))
    return f"py3-none-manylinux_2_{newest}_{platform.machine()}"


def licence(path):
    """The Debian package of a library, and what it says about its licence; None: it is of no package."""
    answer = subprocess.run(["dpkg", "-S", f"*/{path.name}"], capture_output=True, text=True)  # /lib may be /usr/lib
    for line in answer.stdout.splitlines():
        package, _, file = line.partition(": ")
        text = Path("/usr/share/doc", package.partition(":")[0], "copyright")
        if Path(file).resolve() == path and text.exists():
            return text.parent.name, text.read_bytes()
    return None


def contents(advgp, duckdb):
    """Every file of the wheel by its name in it, but for RECORD."""
    info, found = f"advgp-{VERSION}.dist-info", libraries(advgp, duckdb)
    files = {f"advgp/{path.name}": path.read_bytes() for path in sorted((HERE / "advgp").iterdir()) if path.is_file()}
    for name, path in sorted(found.items()):
        folder = "advgp/lib" if name == "libadvgp.so.0" else "advgp/lib/advgp"  # where the library looks for them
        files[f"{folder}/{name}"] = path.read_bytes()
        theirs = licence(path)
        if theirs:
            files[f"{info}/licenses/{theirs[0]}"] = theirs[1]
        elif name not in ("libadvgp.so.0", "libduckdb.so"):
            sys.exit(f"package-wheel: {path} is of no Debian package: which licence has it?")
    files[f"{info}/licenses/LICENSE"] = (HERE.parent / "LICENSE").read_bytes()
    files[f"{info}/licenses/duckdb"] = (duckdb / "LICENSE").read_bytes()
    vega = Path(advgp).parent / "page/vega.licence"  # inside of the library, for the pages of reports
    if vega.exists() and vega.stat().st_size:
        files[f"{info}/licenses/vega"] = vega.read_bytes()
    files[f"{info}/METADATA"] = (METADATA + (HERE.parent / "docs" / "python.md").read_text()).encode()
    kind = tag(found.values())
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: advgp\nRoot-Is-Purelib: false\nTag: {kind}\n".encode()
    return kind, info, files


def write(into, advgp, duckdb):
    kind, info, files = contents(advgp, duckdb)
    record = ""
    into.mkdir(parents=True, exist_ok=True)
    path = into / f"advgp-{VERSION}-{kind}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            record += f"{name},sha256={digest},{len(content)}\n"
            put(wheel, name, content)
        put(wheel, f"{info}/RECORD", f"{record}{info}/RECORD,,\n".encode())
    return path


def put(wheel, name, content):
    entry = zipfile.ZipInfo(name)  # of 1980: the hour of packing is nobody's business
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    wheel.writestr(entry, content)


if __name__ == "__main__":
    print(write(Path(sys.argv[3]), Path(sys.argv[1]), Path(sys.argv[2]).resolve()))
