"""Tests of tools/dev/fused.py, with a program that explains one plan whatever the model."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
HEAD = "# A comment.\n"
AGREES = "\nm.onnx --shape x=1x2\n  structures: attention 1, gelu 2\n  steps: 3, Attention 1, Map 2\n"
PROGRAM = """#!/bin/sh
[ "$3 $4" = "--shape x=1x2" ] || exit 2
echo '{"structures": {"gelu": 2, "attention": 1}, "steps": [{"op": "Map"}, {"op": "Attention"}, {"op": "Map"}]}'
"""


class FusedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.put("plica", PROGRAM)
        os.chmod(self.path("plica"), 0o700)
        self.put("m.onnx", "")

    def path(self, name):
        return os.path.join(self.folder, name)

    def put(self, name, text):
        with open(self.path(name), "w", encoding="ascii") as file:
            file.write(text)

    def run_on(self, text, *options):
        """The exit code and what was printed for a fused.txt with this text."""
        self.put("fused.txt", text)
        command = [sys.executable, os.path.join(ROOT, "tools/dev/fused.py"), "--plica", self.path("plica")]
        environment = {**os.environ, "PLICA_TEST_DEVICE": ""}
        ended = subprocess.run([*command, self.path("fused.txt"), *options], capture_output=True, text=True,
                               env=environment)
        return ended.returncode, ended.stdout + ended.stderr

    def test_says_nothing_where_all_agrees(self):
        self.assertEqual(self.run_on(HEAD + AGREES), (0, ""))

    def test_more_steps_than_said_are_named(self):
        self.assertEqual(self.run_on(AGREES.replace("3,", "9,").replace("Map 2", "Map 1")), (0, ""))
        code, text = self.run_on(AGREES.replace("3,", "2,").replace("Attention 1, M", "Attention 0, M"))
        self.assertEqual(code, 1)
        self.assertIn("m.onnx: found 3 steps; wanted 2 at most", text)
        self.assertIn("m.onnx: found 1 steps of Attention; wanted 0 at most", text)

    def test_structures_are_to_be_exact(self):
        for wanted in ("attention 2, gelu 2", "attention 1", "attention 1, gelu 2, rotary 1"):
            code, text = self.run_on(AGREES.replace("attention 1, gelu 2", wanted))
            self.assertEqual(code, 1)
            self.assertIn(f"found structures attention 1, gelu 2; wanted {wanted}", text)

    def test_an_absent_model_is_passed_over_and_skips_where_none_is_there(self):
        absent = AGREES.replace("m.onnx", "absent.onnx")
        self.assertEqual(self.run_on(absent)[0], 77)
        code, text = self.run_on(AGREES + absent)
        self.assertEqual(code, 0)
        self.assertIn("skipped: absent.onnx is absent", text)
        self.assertIn("absent.onnx is absent", self.run_on(absent, "--write")[1])

    def test_a_program_that_fails_is_named(self):
        code, text = self.run_on(AGREES.replace("1x2", "7"))
        self.assertEqual(code, 1)
        self.assertIn("ended with 2", text)

    def test_writes_what_is_found(self):
        self.assertEqual(self.run_on(HEAD + "\nm.onnx --shape x=1x2\n", "--write"), (0, ""))
        with open(self.path("fused.txt"), encoding="ascii") as file:
            self.assertEqual(file.read(), HEAD + AGREES)


if __name__ == "__main__":
    unittest.main()
