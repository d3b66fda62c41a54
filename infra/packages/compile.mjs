// Compiles a folder with the CPython that Pyodide is: node compile.mjs PYODIDE FOLDER PREFIX
// PREFIX is where the folder will lie when it runs: what tracebacks name.
import { pathToFileURL } from "node:url";

const [pyodide, folder, prefix] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${pyodide}/pyodide.mjs`));
// A fixed seed: nothing that is written may hang on the order of a set.
const python = await loadPyodide({ env: { HOME: "/", PYTHONHASHSEED: "0" } });
python.FS.mkdirTree("/folder");
python.FS.mount(python.FS.filesystems.NODEFS, { root: folder }, "/folder");
python.globals.set("prefix", prefix);
const done = python.runPython(`
import compileall
from py_compile import PycInvalidationMode

compileall.compile_dir(
    "/folder",
    maxlevels=64,
    ddir=prefix,
    force=True,
    quiet=1,
    invalidation_mode=PycInvalidationMode.UNCHECKED_HASH,
)
`);
process.exit(done ? 0 : 1);
