#!/bin/sh
# Formatting and static checks of all files that git knows (or would know).
set -eu
cd "$(dirname "$0")/.."
files() { git ls-files --cached --others --exclude-standard "$@"; }
status=0
files '*.cpp' '*.h' | xargs -r clang-format-22 --dry-run -Werror || status=1
files '*.py' | xargs -r .venv/bin/ruff format --check || status=1
files '*.py' | xargs -r .venv/bin/ruff check || status=1
exit $status
