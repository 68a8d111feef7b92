"""Tests of what models/ligandmpnn and models/pdb_file.py read and know."""

import os
import sys
import tempfile
import unittest

import numpy as np

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models")
sys.path[:0] = [MODELS, os.path.join(MODELS, "ligandmpnn")]
import export  # noqa: E402
import pdb_file  # noqa: E402


def line(kind, name, residue, chain, number, x):
    return f"{kind:6}    1 {name:<4} {residue:>3} {chain}{number:4}    {x:8.3f}{1:8.3f}{2:8.3f}  1.00\n"


class ElementsTest(unittest.TestCase):
    def test_groups_and_periods(self):
        wanted = {0: (0, 0), 1: (1, 1), 2: (18, 1), 3: (1, 2), 5: (13, 2), 10: (18, 2), 16: (16, 3), 21: (3, 4),
                  26: (8, 4), 30: (12, 4), 53: (17, 5), 57: (3, 6), 71: (3, 6), 72: (4, 6), 103: (3, 7), 118: (18, 7)}
        self.assertEqual({element: export.group_and_period(element) for element in wanted}, wanted)

    def test_a_row_is_the_sum_of_its_columns(self):
        weight = np.zeros((1, 147), np.float32)
        weight[0, [6, 120 + 14, 139 + 2]] = 1, 2, 4  # carbon
        self.assertEqual(export.element_rows(weight)[6], 7)
        self.assertEqual(export.element_rows(weight)[8], 4)  # oxygen: the period alone


class PdbFileTest(unittest.TestCase):
    def setUp(self):
        with tempfile.NamedTemporaryFile("w", suffix=".pdb", delete=False) as file:
            for chain, number, residue in (("A", 7, "GLY"), ("B", 3, "TRP")):
                for i, name in enumerate(("N", "CA", "C", "O", "CB")):
                    file.write(line("ATOM", name, residue, chain, number, i))
            file.write(line("HETATM", "S1", "LIG", "A", 90, 5))
            file.write(line("HETATM", "H2", "LIG", "A", 90, 6))
            file.write(line("HETATM", "O", "HOH", "A", 91, 7))
        self.path = file.name
        self.addCleanup(os.remove, self.path)

    def test_backbone(self):
        found = pdb_file.read_backbone(self.path)
        np.testing.assert_array_equal(found["coords"][0, :, :, 0], [[0, 1, 2, 3]] * 2)
        for name, wanted in (("tokens", [5, 18]), ("number", [7, 3]), ("chain", [1, 2]), ("mask", [1, 1])):
            np.testing.assert_array_equal(found[name], [wanted])

    def test_ligand_without_water_and_hydrogen(self):
        positions, elements = pdb_file.read_ligand(self.path)
        np.testing.assert_array_equal(positions, [[5, 1, 2]])
        np.testing.assert_array_equal(elements, [16])


if __name__ == "__main__":
    unittest.main()
