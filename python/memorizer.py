# SPDX-License-Identifier: BSD-2-Clause
"""Read Memorizer's recordings: events, tables and names, through libmemorizer.

    import memorizer

    with memorizer.open("trace.cmt") as a:
        for ev in a.events():              # one pass; the sums are kept on the way
            ...
        print(a.totals()["peak_bytes"])
        for row in a.ask("sites"):         # any question of enum mz_question
            print(row["where"], row["at_peak"])
        frame = a.ask("sites").dataframe() # where pandas is installed

Only the standard library is needed. Errors are memorizer.Error, an OSError; a file that is
not there is a FileNotFoundError as well. The library is looked for beside this file's prefix,
then by the dynamic linker; MEMORIZER_LIBRARY names another. Threads may share an Analysis:
each call waits for the one before it.
"""
import ctypes
import errno as _errno
import os as _os
import threading as _threading
from ctypes import (POINTER, Structure, byref, c_char, c_char_p, c_double, c_int, c_int16,
                    c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_bool, c_void_p)

__all__ = ["open", "Analysis", "Table", "Event", "Frame", "Error", "questions"]

_LOSSES = 16  # the slots of mz_totals.lost_by


class Error(OSError):
    """An error that the library reported; errno is set."""


# OSError chooses such a class by itself, but not for classes that are made from it
class _NotFound(Error, FileNotFoundError):
    __doc__ = Error.__doc__


class _NotAllowed(Error, PermissionError):
    __doc__ = Error.__doc__


for _class in _NotFound, _NotAllowed:
    _class.__name__ = _class.__qualname__ = "Error"
_ERRORS = {_errno.ENOENT: _NotFound, _errno.EACCES: _NotAllowed, _errno.EPERM: _NotAllowed}


class _CError(Structure):
    _fields_ = [("code", c_int), ("offset", c_uint64), ("line", c_uint64),
                ("has_offset", c_bool), ("text", c_char * 480)]


class _CEvent(Structure):
    _fields_ = [("time", c_uint64), ("addr", c_uint64), ("old_addr", c_uint64),
                ("object", c_uint64), ("old_object", c_uint64), ("size", c_uint64),
                ("given", c_uint64), ("arg", c_uint64), ("site", c_uint32),
                ("cache", c_uint32), ("pid", c_uint32), ("tid", c_uint32),
                ("flags", c_uint32), ("cpu", c_int16), ("node", c_int16), ("has", c_uint16),
                ("kind", c_uint8), ("call", c_uint8), ("unit", c_uint32)]


class _COptions(Structure):
    _fields_ = [("size", c_size_t), ("symbols", c_char_p), ("want", c_uint32),
                ("by", c_uint32), ("skip_bad", c_uint32), ("flags", c_uint32),
                ("kind", c_uint32), ("by_exactly", c_uint32), ("names", c_uint32),
                ("no_default_suppressions", c_uint32), ("progress", c_void_p),
                ("progress_arg", c_void_p), ("suppressions", c_char_p)]


class _CFrame(Structure):
    _fields_ = [("size", c_size_t), ("function", c_char_p), ("file", c_char_p),
                ("module", c_char_p), ("offset", c_uint64), ("line", c_uint32),
                ("inlined", c_uint32)]


_TOTALS = ("events", "lost", "blocks", "bytes", "peak_bytes", "peak_blocks", "peak_event",
           "peak_time", "live_blocks", "live_bytes", "temporary_blocks", "waste_bytes",
           "waste_at_peak", "failed", "null_frees", "unknown_frees", "over_live", "threads",
           "first_time", "last_time")


class _CTotals(Structure):
    _fields_ = ([("size", c_size_t)] + [(name, c_uint64) for name in _TOTALS] +
                [("lost_by", c_uint64 * _LOSSES), ("files_cut", c_uint64)])


class _CCompare(Structure):
    _fields_ = [("size", c_size_t), ("by", c_uint32), ("reserved", c_uint32),
                ("sort", c_char_p)]


# name: (result, arguments)
_FUNCTIONS = {
    "mz_analysis_open": (c_void_p, [POINTER(c_char_p), c_size_t, POINTER(_COptions),
                                    POINTER(_CError)]),
    "mz_analysis_close": (None, [c_void_p]),
    "mz_analysis_kind": (c_int, [c_void_p]),
    "mz_analysis_error": (POINTER(_CError), [c_void_p]),
    "mz_analysis_text": (c_char_p, [c_void_p, c_char_p]),
    "mz_analysis_number": (c_uint64, [c_void_p, c_char_p]),
    "mz_analysis_next": (c_int, [c_void_p, POINTER(_CEvent)]),
    "mz_analysis_run": (c_int, [c_void_p]),
    "mz_analysis_stack": (POINTER(c_uint64), [c_void_p, c_uint32, POINTER(c_size_t)]),
    "mz_analysis_string": (c_void_p, [c_void_p, c_uint32, POINTER(c_size_t)]),
    "mz_analysis_frame": (c_int, [c_void_p, c_uint64, c_size_t, POINTER(_CFrame)]),
    "mz_analysis_totals": (c_int, [c_void_p, POINTER(_CTotals)]),
    "mz_analysis_ask": (c_void_p, [c_void_p, c_int, c_char_p, POINTER(_CError)]),
    "mz_analysis_compare": (c_void_p, [c_void_p, c_void_p, POINTER(_CCompare),
                                       POINTER(_CError)]),
    "mz_question_name": (c_char_p, [c_int]),
    "mz_recording_kind_name": (c_char_p, [c_int]),
    "mz_kind_name": (c_char_p, [c_int]),
    "mz_call_name": (c_char_p, [c_int]),
    "mz_loss_name": (c_char_p, [c_int]),
    "mz_result_free": (None, [c_void_p]),
    "mz_result_heading": (c_char_p, [c_void_p]),
    "mz_result_rows": (c_size_t, [c_void_p]),
    "mz_result_columns": (c_size_t, [c_void_p]),
    "mz_result_key": (c_char_p, [c_void_p, c_size_t]),
    "mz_result_title": (c_char_p, [c_void_p, c_size_t]),
    "mz_result_type_of": (c_int, [c_void_p, c_size_t]),
    "mz_result_number": (c_uint64, [c_void_p, c_size_t, c_size_t]),
    "mz_result_share": (c_double, [c_void_p, c_size_t, c_size_t]),
    "mz_result_string": (c_char_p, [c_void_p, c_size_t, c_size_t]),
}


def _candidates():
    """PREFIX/lib/python3/dist-packages/memorizer.py: the library is in PREFIX/lib."""
    if "MEMORIZER_LIBRARY" in _os.environ:
        yield _os.environ["MEMORIZER_LIBRARY"]
        return
    folder = _os.path.dirname(_os.path.abspath(__file__))
    for up in ("../..", "../../.."):
        path = _os.path.normpath(_os.path.join(folder, up, "libmemorizer.so.0"))
        if _os.path.exists(path):
            yield path
    yield "libmemorizer.so.0"


def _load():
    path = next(_candidates())
    library = ctypes.CDLL(path)
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


_lib = _load()


def _names(function):
    """The names of an enum, from the library itself."""
    names = []
    while True:
        name = function(len(names))
        if name is None:
            return names
        names.append(name.decode())


_KINDS = _names(_lib.mz_kind_name)
_CALLS = _names(_lib.mz_call_name)
_LOSS_NAMES = _names(_lib.mz_loss_name)
_QUESTIONS = _names(_lib.mz_question_name)
_BY = ("dir", "file", "function", "cache", "pid", "site")
_COMPARE = ("function", "line", "stack", "file", "module", "object", "whole")
_WANT = {"sums": 1, "timeline": 2, "layout": 4, "threads": 8}
_HAS = (("addr", 1), ("time", 2), ("cpu", 4), ("node", 8), ("pid", 16), ("tid", 32),
        ("given", 64), ("flags", 128), ("site", 256), ("cache", 512))


def questions():
    """The names of all questions, for Analysis.ask()."""
    return list(_QUESTIONS)


def _text(value):
    return None if value is None else value.decode("utf-8", "backslashreplace")


def _fail(error):
    raise _ERRORS.get(error.code, Error)(error.code, error.text.decode("utf-8", "backslashreplace"))


def _bytes(what, value):
    """A text for the library, which would end at a NUL."""
    value = _os.fsencode(value)
    if b"\0" in value:
        raise ValueError("%s with a NUL in it: %r" % (what, value))
    return value


def _choose(what, value, names):
    if value not in names:
        raise ValueError("%s: %r is not one of %s" % (what, value, ", ".join(names)))
    return value


def _index(what, value, names):
    return list(names).index(_choose(what, value, names))


def _pandas():
    try:
        import pandas
    except ImportError as e:
        raise ImportError("data frames need pandas, which is not installed "
                          "(Debian: python3-pandas)", name="pandas") from e
    return pandas


def _number(value, bits):
    """ctypes would take it modulo 2 ** bits."""
    if not 0 <= value < 1 << bits:
        raise ValueError("%r is not a %d-bit number" % (value, bits))
    return value


class Event:
    """One event. A field that the recording does not know is None."""
    __slots__ = ("kind", "call", "size", "object", "old_object", "arg", "old_addr", "unit",
                 "addr", "time", "cpu", "node", "pid", "tid", "given", "flags", "site",
                 "cache")

    def __init__(self, ev):
        has = ev.has
        self.kind, self.call = _KINDS[ev.kind], _CALLS[ev.call]
        self.size, self.arg, self.unit = ev.size, ev.arg, ev.unit
        self.object, self.old_object = ev.object, ev.old_object
        self.old_addr = ev.old_addr if has & 1 else None
        for name, bit in _HAS:
            setattr(self, name, getattr(ev, name) if has & bit else None)

    def __repr__(self):
        known = ((n, getattr(self, n)) for n in self.__slots__)
        return "Event(%s)" % ", ".join("%s=%r" % p for p in known if p[1] is not None)


class Frame:
    """A function at an address; inlined: the next frame of the same address called it."""
    __slots__ = ("address", "function", "file", "line", "module", "offset", "inlined")

    def __init__(self, address, frame):
        self.address, self.offset = address, frame.offset
        self.function, self.file = _text(frame.function), _text(frame.file)
        self.line, self.module = frame.line or None, _text(frame.module)
        self.inlined = bool(frame.inlined)

    def __repr__(self):
        place = " (%s:%d)" % (self.file, self.line) if self.file and self.line else ""
        return "<%s%s>" % (self.function or "%#x" % self.address, place)


class Table:
    """The answer to a question: an iterator of rows, each a dict by column."""

    def __init__(self, name, handle):
        self.name, self._handle = name, handle
        self.heading = _lib.mz_result_heading(handle).decode()
        n = _lib.mz_result_columns(handle)
        self.columns = [_lib.mz_result_key(handle, i).decode() for i in range(n)]
        self.titles = [_lib.mz_result_title(handle, i).decode() for i in range(n)]
        get = (_lib.mz_result_string, _lib.mz_result_number, _lib.mz_result_number,
               _lib.mz_result_share)
        self._get = [get[_lib.mz_result_type_of(handle, i)] for i in range(n)]

    def __del__(self):
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            _lib.mz_result_free(handle)

    def __len__(self):
        return _lib.mz_result_rows(self._handle)

    def _row(self, i):
        values = (get(self._handle, i, c) for c, get in enumerate(self._get))
        return {k: _text(v) if isinstance(v, bytes) else v
                for k, v in zip(self.columns, values)}

    def __getitem__(self, i):
        n = len(self)
        if not -n <= i < n:
            raise IndexError(i)
        return self._row(i % n)

    def __iter__(self):
        return (self._row(i) for i in range(len(self)))

    def dataframe(self):
        """The table as a pandas.DataFrame."""
        return _pandas().DataFrame(list(self), columns=self.columns)


class Analysis:
    """A recording that is open; see memorizer.open()."""

    def __init__(self, paths, symbols=None, want=None, by="dir", skip_bad=False,
                 allow_large=False, suppressions=None, default_suppressions=True):
        self._lock = _threading.RLock()
        self._handle = None
        names = [paths] if isinstance(paths, (str, bytes, _os.PathLike)) else list(paths)
        names = [_bytes("a path", p) for p in names]
        bits = 0
        for name in [want] if isinstance(want, str) else want or ():
            bits |= _WANT[_choose("want", name, _WANT)]
        options = _COptions(ctypes.sizeof(_COptions),
                            _bytes("symbols", symbols) if symbols else None,
                            bits, _index("by", by, _BY), bool(skip_bad), bool(allow_large),
                            no_default_suppressions=not default_suppressions,
                            suppressions=_bytes("suppressions", suppressions)
                            if suppressions else None)
        error = _CError()
        self._handle = _lib.mz_analysis_open((c_char_p * len(names))(*names), len(names),
                                             byref(options), byref(error))
        if not self._handle:
            _fail(error)

    def close(self):
        with self._lock:
            handle, self._handle = self._handle, None
            if handle:
                _lib.mz_analysis_close(handle)

    def __del__(self):
        if getattr(self, "_handle", None):
            self.close()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()

    def _open(self):
        """With the lock held, and for as long as it is."""
        if not self._handle:
            raise ValueError("the analysis is closed")
        return self._handle

    def _failed(self):
        _fail(_lib.mz_analysis_error(self._handle).contents)

    @property
    def kind(self):
        """"user", "kernel", "kmap" or "sums"."""
        with self._lock:
            return _lib.mz_recording_kind_name(_lib.mz_analysis_kind(self._open())).decode()

    def text(self, key):
        """A text that describes the recording: "command", "host", ...; None = it has none."""
        with self._lock:
            return _text(_lib.mz_analysis_text(self._open(), _bytes("a key", key)))

    def number(self, key):
        with self._lock:
            return _lib.mz_analysis_number(self._open(), _bytes("a key", key))

    def events(self):
        """The events that were not read yet, in order of time."""
        ev = _CEvent()
        while True:
            with self._lock:
                ret = _lib.mz_analysis_next(self._open(), byref(ev))
                if ret < 0:
                    self._failed()
            if not ret:
                return
            yield Event(ev)

    def events_dataframe(self):
        """The events that were not read yet, as a pandas.DataFrame."""
        pandas = _pandas()
        rows = ([getattr(e, n) for n in Event.__slots__] for e in self.events())
        return pandas.DataFrame(list(rows), columns=list(Event.__slots__))

    def stack(self, number):
        """The addresses of a stack, innermost first."""
        depth = c_size_t()
        with self._lock:
            ips = _lib.mz_analysis_stack(self._open(), _number(number or 0, 32), byref(depth))
            return [ips[i] for i in range(depth.value)] if ips else []

    def string(self, number):
        """A string by its number: the cache of an event, the text of a mark."""
        n = c_size_t()
        with self._lock:
            s = _lib.mz_analysis_string(self._open(), _number(number or 0, 32), byref(n))
            return _text(ctypes.string_at(s, n.value)) if s else None

    def frames(self, address):
        """The functions at a return address, innermost first; one at least."""
        frames, frame = [], _CFrame()
        frame.size = ctypes.sizeof(frame)
        _number(address, 64)
        with self._lock:
            while True:
                ret = _lib.mz_analysis_frame(self._open(), address, len(frames), byref(frame))
                if ret < 0:
                    self._failed()
                if not ret:
                    return frames
                frames.append(Frame(address, frame))

    def totals(self):
        """Sums over the whole recording, as a dict; "lost_by" is by cause, "files_cut" counts
        the files that end early (a live block of such a recording need not be a leak)."""
        t = _CTotals()
        t.size = ctypes.sizeof(t)
        with self._lock:
            if _lib.mz_analysis_totals(self._open(), byref(t)) < 0:
                self._failed()
        totals = {name: getattr(t, name) for name in _TOTALS}
        totals["lost_by"] = {name: t.lost_by[i] for i, name in enumerate(_LOSS_NAMES) if t.lost_by[i]}
        totals["files_cut"] = t.files_cut
        return totals

    def ask(self, question, pattern=None):
        """The answer to a question (memorizer.questions()), as a Table."""
        error = _CError()
        number = _index("question", question, _QUESTIONS)
        pattern = _bytes("a pattern", pattern) if pattern is not None else None
        with self._lock:
            handle = _lib.mz_analysis_ask(self._open(), number, pattern, byref(error))
        if not handle:
            _fail(error)
        return Table(question, handle)

    def compare(self, later, by="function", sort=None):
        """What changed from this recording to a later one, as a Table: "place", and each
        value of both, such as "peak_bytes_a" and "peak_bytes_b". by: "function", "line",
        "stack", "file", "module", "object" (KMAPs) or "whole"; sort: a value, such as
        "peak_bytes"."""
        error = _CError()
        options = _CCompare(ctypes.sizeof(_CCompare), _index("by", by, _COMPARE), 0,
                            _bytes("sort", sort) if sort is not None else None)
        # in one order, or two threads that compare a with b and b with a would wait forever
        first, second = sorted((self, later), key=id)
        with first._lock, second._lock:
            handle = _lib.mz_analysis_compare(self._open(), later._open(), byref(options),
                                              byref(error))
        if not handle:
            _fail(error)
        return Table("changes", handle)


def open(paths, **options):
    """Open a recording: a file ("-": standard input), a folder, or several files of a
    kernel trace. Options: symbols (files of a kernel, with commas between), want (of
    "sums", "timeline", "layout", "threads"), by (the level of a KMAP's matrix), skip_bad (leave
    out lines of a KMAP that cannot be parsed), allow_large (no limit for the memory that it
    takes), suppressions (a file with rules for blocks that a program never frees on purpose),
    default_suppressions (False: only the rules of that file hold)."""
    return Analysis(paths, **options)
