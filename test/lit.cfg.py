"""lit: the .mlir and .test files under test/. Python tests there belong to pytest.

HETHUB_ROUND_TRIP=1 makes every hh-opt of the suite also print and parse what it read (text and bytecode).
"""

import os

import lit.formats
from lit.llvm import llvm_config
from lit.llvm.subst import ToolSubst

config.name = "HetHub"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Backend", "EndToEnd", "Inputs", "Python", "Runtime", "support"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.hethub_build_dir, "test")

llvm_config.with_system_environment(["HOME", "TMP", "TEMP", "TMPDIR"])
llvm_config.use_default_substitutions()

# Expectations are written against plain text; %named-hh-opt is the tool as users have it.
plain = ["--mlir-print-debuginfo=false", "--mlir-use-nameloc-as-prefix=false"]
round_trip = ["--verify-roundtrip"] if os.environ.get("HETHUB_ROUND_TRIP") else []
tools = [
    ToolSubst("hh-opt", extra_args=plain + round_trip, unresolved="fatal"),
    ToolSubst("%named-hh-opt", command=os.path.join(config.hethub_tools_dir, "hh-opt"), unresolved="fatal"),
    ToolSubst("hh-translate", unresolved="fatal"),
    ToolSubst("hh-compile", unresolved="fatal"),
    ToolSubst("hh-split", unresolved="fatal"),
    ToolSubst("hh-plan", unresolved="fatal"),
    ToolSubst("hh-simulate", unresolved="fatal"),
    ToolSubst("%python", command=config.hethub_python, unresolved="fatal"),
]
llvm_config.add_tool_substitutions(tools, [config.hethub_tools_dir, config.llvm_tools_dir])
config.substitutions.append(("%source", config.hethub_source_dir))

if lit_config.params.get("wide"):
    config.available_features.add("wide")
