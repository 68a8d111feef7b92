"""Tests of models/checkpoint.py, on checkpoints written here without PyTorch."""

import collections
import io
import os
import pickle
import sys
import types
import unittest
import zipfile

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models"))
import checkpoint  # noqa: E402


def _stand_in(module, name):
    """A function that pickles as module.name, as PyTorch's would."""

    def function(*_):
        raise AssertionError(f"{module}.{name} was called")

    function.__module__, function.__qualname__, function.__name__ = module, name, name
    setattr(sys.modules.setdefault(module, types.ModuleType(module)), name, function)
    return function


REBUILD_TENSOR = _stand_in("torch._utils", "_rebuild_tensor_v2")
FLOAT_STORAGE = _stand_in("torch", "FloatStorage")


class Storage:
    def __init__(self, key, count):
        self.key, self.count = key, count


class Tensor:
    def __init__(self, storage, offset, size, strides):
        self.arguments = (storage, offset, size, strides, False, collections.OrderedDict())

    def __reduce__(self):
        return REBUILD_TENSOR, self.arguments


class Pickler(pickle.Pickler):
    def persistent_id(self, value):
        if isinstance(value, Storage):
            return ("storage", FLOAT_STORAGE, value.key, "cpu", value.count)
        return None


def written(content, numbers=(), byteorder=b"little"):
    """The bytes of a checkpoint that holds `content`; storage "0" holds `numbers`."""
    description, file = io.BytesIO(), io.BytesIO()
    Pickler(description, protocol=2).dump(content)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("model/data.pkl", description.getvalue())
        archive.writestr("model/byteorder", byteorder)
        archive.writestr("model/data/0", np.array(numbers, "<f4").tobytes())
    file.seek(0)
    return file


class CheckpointTest(unittest.TestCase):
    def test_reads_a_tensor_by_offset_and_strides(self):
        transposed = Tensor(Storage("0", 7), 1, (2, 3), (1, 2))
        read = checkpoint.read(written(collections.OrderedDict(w=transposed), range(7)))
        np.testing.assert_array_equal(read["w"], [[1, 3, 5], [2, 4, 6]])
        self.assertTrue(read["w"].flags.owndata)

    def test_reads_a_scalar_and_an_empty_tensor(self):
        content = {"s": Tensor(Storage("0", 2), 1, (), ()), "e": Tensor(Storage("0", 2), 0, (0, 4), (4, 1))}
        read = checkpoint.read(written(content, [5, 6]))
        self.assertEqual(read["s"], 6)
        self.assertEqual(read["e"].shape, (0, 4))

    def test_refuses_a_tensor_outside_its_storage(self):
        for offset, size, strides in (
            (0, (3,), (1,)),
            (0, (2,), (5,)),
            (-1, (1,), (1,)),
            (0, (2, 2), (3, -1)),
            (0, (-1,), (1,)),
            (0, (2,), ()),
        ):
            tensor = Tensor(Storage("0", 2), offset, size, strides)
            with self.assertRaisesRegex(checkpoint.CheckpointError, "reads element|has offset"):
                checkpoint.read(written(tensor, [5, 6]))

    def test_refuses_a_storage_shorter_than_it_says(self):
        with self.assertRaises(checkpoint.CheckpointError):
            checkpoint.read(written(Tensor(Storage("0", 9), 0, (9,), (1,)), [5, 6]))

    def test_refuses_every_other_name_and_runs_no_code(self):
        class Attack:
            def __reduce__(self):
                return os.mkdir, ("/nonexistent/attack",)

        with self.assertRaisesRegex(checkpoint.CheckpointError, "refused to load posix.mkdir"):
            checkpoint.read(written({"w": Attack()}))

    def test_refuses_what_is_no_checkpoint(self):
        damaged = written({})
        with zipfile.ZipFile(damaged, "a") as archive:
            archive.writestr("data.pkl", b"\x80\x02}.")
        for content in (b"", b"no zip at all", written({}).getvalue()[:-30], damaged.getvalue()):
            with self.assertRaises(checkpoint.CheckpointError):
                checkpoint.read(io.BytesIO(content))
        with self.assertRaisesRegex(checkpoint.CheckpointError, "big-endian"):
            checkpoint.read(written({}, byteorder=b"big"))

    def test_names_the_wheel_that_lacks_a_member(self):
        with self.assertRaisesRegex(checkpoint.CheckpointError, "has no file absent.bin"):
            checkpoint.read_from_wheel(written({}), "absent.bin")


if __name__ == "__main__":
    unittest.main()
