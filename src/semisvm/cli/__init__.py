"""The command line ``semisvm``: one file per command, heavy imports inside the commands."""
