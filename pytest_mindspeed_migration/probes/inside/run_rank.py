"""One rank of a distributed run, as torchrun starts it: `run_rank.py REQUEST.json`.

`sys.path[0]` is this folder: it must hold nothing whose name a target could want to import.
"""

import sys

from migration_probe.rank import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
