"""``python -m semisvm`` is the command line."""

from semisvm.cli.entry import main

if __name__ == "__main__":
    main()
