"""Pyodide: CPython 3.13 as WebAssembly, which Node runs."""

from __future__ import annotations

from infra.packages.npm import Package

PYODIDE = Package(
    name="pyodide",
    version="0.29.5",
    sha512=(
        "4e462b52ff66f1099f2260032919a9c19ba52f8f04d2e51a0523be76f4502b20"
        "09734aa1f60bbb8e7f1bb721cf8773599b5af6207d98ac9848afb43607dbab03"
    ),
)
