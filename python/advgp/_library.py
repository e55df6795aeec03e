"""The C library libadvgp, by ctypes: where it is, what its functions take, and its errors as exceptions."""

import ctypes
import os
import json
import platform
import sys
import threading
from pathlib import Path
from typing import Any, List, Optional, Tuple

__version__ = "0.1.0"  # of this package; the library must agree in its first two numbers

STATUS_NAMES = ("OK", "EINVAL", "ENOMEM", "EIO", "EDATA", "EFILE", "ENUMERIC", "ECLUSTER", "ESTOPPED")
OK, EINVAL, ENOMEM, EIO, EDATA, EFILE, ENUMERIC, ECLUSTER, ESTOPPED = range(len(STATUS_NAMES))


class AdvgpError(RuntimeError):
    """What the library says about a failure. `status` is its name for the kind: "EIO", "ENUMERIC", ..."""

    def __init__(self, text: str, status: str = "EINVAL"):
        super().__init__(text)
        self.status = status

    def __reduce__(self) -> Any:  # so that it comes back whole from another process
        return type(self), (str(self), self.status)


class AdvgpValueError(AdvgpError, ValueError):
    """An option, a table or a file that cannot be used: "EINVAL", "EDATA" or "EFILE"."""


class AdvgpMemoryError(AdvgpError, MemoryError):
    """Memory is exhausted: "ENOMEM"."""


for _kind in (AdvgpError, AdvgpValueError, AdvgpMemoryError):
    _kind.__module__ = "advgp"  # where people find them

EXCEPTIONS = {EINVAL: AdvgpValueError, EDATA: AdvgpValueError, EFILE: AdvgpValueError, ENOMEM: AdvgpMemoryError}


# ---- what the header declares ---------------------------------------------------------------------------------------


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("text", ctypes.c_char * 512)]


class Column(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("type", ctypes.c_int), ("values", ctypes.c_void_p),
                ("stride", ctypes.c_ssize_t)]


FLOAT64, FLOAT32, INT64, INT32, BOOLEAN, TIME, TEXT = range(7)  # advgp_type
KINDS = ("number", "boolean", "time", "category")  # advgp_kind


class CProgress(ctypes.Structure):
    _fields_ = [(name, ctypes.c_double)
                for name in ("seconds", "seconds_left", "epoch", "epochs", "rmse", "mnlp", "bound")]


TEXT_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
PROGRESS_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(CProgress))
STOPPING_CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class Watch(ctypes.Structure):
    _fields_ = [("ctx", ctypes.c_void_p), ("note", TEXT_CALLBACK), ("progress", PROGRESS_CALLBACK),
                ("log", TEXT_CALLBACK), ("stopping", STOPPING_CALLBACK), ("stop", ctypes.POINTER(ctypes.c_int))]


_int, _size, _text, _any = ctypes.c_int, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
_out, _error, _real = ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(Error), ctypes.c_double
_rows = [_any, _any, _any, _size, _size]  # model, workspace, rows, n_rows, stride

# Every function of advgp.h: what it returns, then what it takes.
PROTOTYPES = {
    "status_name": (_text, [_int]),
    "status_text": (_text, [_int]),
    "version": (_text, []),
    "options_new": (_int, [_text, _out, _error]),
    "options_free": (None, [_any]),
    "options_set": (_int, [_any, _text, _text, _error]),
    "data_free": (None, [_any]),
    "data_files": (_int, [ctypes.POINTER(_text), _size, _out, _error]),
    "data_new": (_int, [_size, _out, _error]),
    "data_add": (_int, [_any, ctypes.POINTER(Column), _error]),
    "data_append": (_int, [_any, _any, _error]),
    "data_arrow": (_int, [_any, _out, _error]),
    "data_rows": (_size, [_any]),
    "train": (_int, [_any, _any, ctypes.POINTER(Watch), _out, _error]),
    "model_load": (_int, [_text, _out, _error]),
    "model_load_trusted": (_int, [_text, _out, _error]),
    "model_load_memory": (_int, [ctypes.c_char_p, _size, _out, _error]),
    "model_save": (_int, [_any, _text, _error]),
    "model_free": (None, [_any]),
    "model_inspect": (_int, [_any, _out, _error]),
    "model_describe": (_int, [_any, _out, _error]),
    "text_free": (None, [_any]),
    "model_target": (_text, [_any]),
    "model_inputs": (_size, [_any]),
    "model_input": (_text, [_any, _size, ctypes.POINTER(_int)]),
    "model_category": (_real, [_any, _size, _text]),
    "workspace_new": (_int, [_any, _out, _error]),
    "workspace_free": (None, [_any]),
    "predict_mean": (_int, [*_rows, _any, _error]),
    "predict_sd": (_int, [*_rows, _any, _any, _any, _error]),
    "predict_interval": (_int, [*_rows, _real, _any, _any, _any, _error]),
    "predict_quantiles": (_int, [*_rows, _any, _size, _any, _error]),
    "predict_exceeds": (_int, [*_rows, _real, _any, _error]),
    "predict_data": (_int, [_any, _any, _any, ctypes.POINTER(Watch), _out, _error]),
    "answer_rows": (_size, [_any]),
    "answer_columns": (_size, [_any]),
    "answer_name": (_text, [_any, _size]),
    "answer_values": (_any, [_any, _size]),
    "answer_free": (None, [_any]),
    "evaluate": (_int, [_any, _any, _any, ctypes.POINTER(Watch), _out, _error]),
    "explain": (_int, [_any, _any, _any, ctypes.POINTER(Watch), _out, _error]),
    "config_json": (_int, [_out, _error]),
    "config_text": (_int, [_out, _error]),
}


# ---- finding it -----------------------------------------------------------------------------------------------------

_package = Path(__file__).resolve().parent


def _places() -> List[str]:
    """Where the library may be, the first that exists wins: named by hand, in this wheel, in this source tree's build
    folder, or where the system keeps its libraries."""
    by_hand = os.environ.get("ADVGP_LIBRARY")
    if by_hand:
        return [by_hand]
    in_wheel, root = _package / "lib" / "libadvgp.so.0", _package.parent.parent
    in_build = root / "build" / "libadvgp.so"
    if in_wheel.exists():
        return [str(in_wheel)]
    if (root / "include" / "advgp.h").exists() and in_build.exists():
        return [str(in_build)]
    return ["libadvgp.so.0", "libadvgp.0.dylib"]


CORE, CORE_WAS = "OPENBLAS_CORETYPE", "ADVGP_CORE_WAS"  # src/linalg/blas_core.h

_MACHINES = {3: "i386", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}  # e_machine of an ELF file


def _built_for(path: str) -> Optional[str]:
    """The machine a library file was compiled for; None: no such file, or not of Linux."""
    try:
        with open(path, "rb") as file:
            head = file.read(20)
    except OSError:
        return None
    if head[:4] != b"\x7fELF":
        return None
    number = int.from_bytes(head[18:20], "little")
    return _MACHINES.get(number, f"machine {number}")


def _why_not(path: str, reason: OSError) -> str:
    """Why this library could not be loaded, and what to do."""
    here, built = f"{platform.system()} {platform.machine()}", _built_for(path)
    if built and (platform.system() != "Linux" or built != platform.machine()):
        return f"{path} was built for Linux {built}, and this is {here}: build advgp on this platform"
    if os.environ.get("ADVGP_LIBRARY"):
        return f"ADVGP_LIBRARY names {path}, which cannot be loaded ({reason})"
    if built:
        return f"{path} cannot be loaded: {reason}"
    return (f"libadvgp was not found for {here} ({reason}): install a wheel made by scripts/package-wheel or the "
            "Debian package, build the source tree (scripts/setup), or let ADVGP_LIBRARY name libadvgp.so")


def _better_core() -> Optional[Tuple[str, str]]:
    """The core with which OpenBLAS would compute, and one that uses more of this CPU; None: there is none better.
    Asked of a process that ends then, for what is loaded here stays: so only where nobody has loaded numpy, whose
    OpenBLAS would be the one, and where there are no threads that a copy of this process would lack."""
    if sys.platform != "linux" or "numpy" in sys.modules or os.environ.get(CORE) or threading.active_count() > 1:
        return None
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = ctypes.c_void_p()
            ctypes.CDLL(_places()[0]).advgp_config_json(ctypes.byref(text), None)
            os.write(write, ctypes.string_at(text.value or 0))
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    try:
        core = json.loads(said)["core"]
    except (ValueError, KeyError):  # there is no such library, which _load says better
        return None
    return (core["name"], core["better"]) if core["better"] else None


def _load_at_best() -> ctypes.CDLL:
    """numpy, then the library: where both bring an OpenBLAS, the first one serves both. It reads its core when it is
    loaded; afterwards the environment is as it was."""
    better = _better_core()
    if better:
        os.environ[CORE_WAS], os.environ[CORE] = better
    try:
        import numpy  # noqa: F401
        return _load()
    finally:
        if better:
            del os.environ[CORE_WAS], os.environ[CORE]


def _load() -> ctypes.CDLL:
    failure = ""
    for path in _places():
        try:
            library = ctypes.CDLL(path)
        except OSError as reason:
            failure = failure or _why_not(path, reason)
        else:
            _declare(library, path)
            return library
    raise ImportError(failure)


def _declare(library: ctypes.CDLL, path: str) -> None:
    for name, (returns, takes) in PROTOTYPES.items():
        try:
            function = getattr(library, "advgp_" + name)
        except AttributeError:
            raise ImportError(f"{path} lacks advgp_{name}: it is not the libadvgp of advgp {__version__}") from None
        function.restype, function.argtypes = returns, takes
    version = library.advgp_version().decode()
    if version.split(".")[:2] != __version__.split(".")[:2]:
        raise ImportError(f"{path} is libadvgp {version}, and this package is advgp {__version__}: install one of both")


lib = _load_at_best()


# ---- calling it -----------------------------------------------------------------------------------------------------


def exception_of(error: Error) -> AdvgpError:
    name = STATUS_NAMES[error.status] if 0 <= error.status < len(STATUS_NAMES) else "?"
    kind = EXCEPTIONS.get(error.status, AdvgpError)
    return kind(error.text.decode("utf-8", "replace") or lib.advgp_status_text(error.status).decode(), name)


def call(name: str, *arguments: Any) -> None:
    """Calls a function that can fail, without its last argument, and raises what it says."""
    error = Error()
    if getattr(lib, "advgp_" + name)(*arguments, ctypes.byref(error)) != OK:
        raise exception_of(error)


def made_by(name: str, *arguments: Any) -> int:
    """The same for a function whose last argument but one is what it makes."""
    out = ctypes.c_void_p()
    call(name, *arguments, ctypes.byref(out))
    return out.value or 0


def text_taken(text: int) -> str:
    """A text that the library made, and frees."""
    try:
        return ctypes.string_at(text).decode()
    finally:
        lib.advgp_text_free(text)


def text_made_by(name: str, *arguments: Any) -> str:
    return text_taken(made_by(name, *arguments))


def encode(text: str) -> bytes:
    """As the library reads texts. What no text may hold (half a surrogate pair) becomes a question mark, and what
    would end it early is an error."""
    if "\0" in text:
        raise ValueError(f"embedded null character in {text!r}")
    return text.encode("utf-8", "replace")
