"""Checks bills of materials with the schema of CycloneDX, in the implementation of its authors, and
that the first one has all packages of which the program has a path of a source file:

    python sbom.py PROGRAM FILE...
"""

import json
import re
import sys
from pathlib import Path

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

program, *files = sys.argv[1:]
validator = JsonStrictValidator(SchemaVersion.V1_5)
for name in files:
    error = validator.validate_str(Path(name).read_text(encoding="utf-8"))
    assert error is None, f"{name}: {error}"
components = json.loads(Path(files[0]).read_text(encoding="utf-8"))["components"]
required = {f"{c['name']}-{c['version']}" for c in components if c["scope"] == "required"}
paths = re.findall(rb"/registry/src/[^/]+/([A-Za-z0-9_.+-]+)/", Path(program).read_bytes())
found = {path.decode() for path in paths}
assert len(found) > 20, f"{program} has paths of {len(found)} packages"
assert found <= required, f"{files[0]} lacks {found - required}"
