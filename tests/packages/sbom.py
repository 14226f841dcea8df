"""Checks bills of materials with the schema of CycloneDX, in the implementation of its authors."""

import sys

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

validator = JsonStrictValidator(SchemaVersion.V1_5)
for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as file:
        error = validator.validate_str(file.read())
    assert error is None, f"{name}: {error}"
