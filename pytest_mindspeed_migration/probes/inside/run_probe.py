"""Run one probe by hand, or keep an interpreter warm for many.

    python run_probe.py REQUEST.json          one probe: facts to stdout as JSON lines, all else to stderr
    python run_probe.py --serve SOCKET        import the target's packages once and fork a clean child for each request

`sys.path[0]` is this folder: it must hold nothing whose name a target could want to import.
"""

import sys

from migration_probe.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
