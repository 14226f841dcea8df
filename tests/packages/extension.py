"""Checks that an extension has what its manifests name, in one version."""

import json
import re
import sys
import xml.etree.ElementTree as tree
import zipfile

path = sys.argv[1]
archive = zipfile.ZipFile(path)
assert archive.testzip() is None
package = json.loads(archive.read("extension/package.json"))
space = {"v": "http://schemas.microsoft.com/developer/vsx-schema/2011"}
manifest = tree.fromstring(archive.read("extension.vsixmanifest"))
identity = manifest.find("v:Metadata/v:Identity", space)
version = re.search(r"-(\d+\.\d+\.\d+[^/]*)\.vsix$", path)[1]
assert identity.get("Version") == package["version"] == version, version
assert identity.get("Id") == package["name"]
assets = [asset.get("Path") for asset in manifest.find("v:Assets", space)]
assert set(assets) <= set(archive.namelist()), assets
assert "extension/" + package["main"].removeprefix("./") in archive.namelist()
assert "extension/package.json" in assets
